/* Writing a state file; see file.h. A snapshot gets its name only when all of it is on the disk, so that a kill or a power cut at any moment
 * leaves the former file or the new one. It knows records and nothing of what they hold. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool file_path(char *path, size_t n, const char *dir, const char *pool, enum file_name which)
{
	static const char *const ends[] = {"", ".new", ".aside"};

	return (size_t)snprintf(path, n, "%s/%s.state%s", dir, pool, ends[which]) < n;
}

static bool flush(struct hf_disk_out *f)
{
	for (size_t at = 0; at < f->buf->n;) {
		ssize_t got = write(f->fd, f->buf->p + at, f->buf->n - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got == 0 ? ENOSPC : errno;
			return false;
		}
		at += (size_t)got;
		f->octets += (size_t)got;
	}
	f->buf->n = 0;
	return true;
}

bool file_begin(struct hf_disk_out *f)
{
	char path[PATH_MAX];

	file_close(f);
	if (!file_path(path, sizeof path, f->dir, f->pool, FILE_NEW)) {
		errno = ENAMETOOLONG;
		return false;
	}
	f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	f->is_new = f->fd >= 0;
	if (f->fd >= 0)
		salvage_head(f->buf, f->check);
	return f->fd >= 0;
}

bool hf_disk_put(struct hf_disk_out *f, uint16_t type, struct hf_bytes payload)
{
	HF_BUG_ON(type < HF_DISK_TYPE_MIN);
	if (f->buf->cap - f->buf->n < RECORD_HEAD + payload.n + RECORD_TAIL && !flush(f))
		return false;
	record_write(f->buf, f->key, type, payload);
	return true;
}

static bool sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), e;
	bool ok;

	if (fd < 0)
		return false;
	ok = fsync(fd) == 0;
	e = errno;
	close(fd);
	errno = e;
	return ok;
}

static bool give_name(struct hf_disk_out *f)
{
	char from[PATH_MAX], to[PATH_MAX];

	if (!file_path(from, sizeof from, f->dir, f->pool, FILE_NEW) || !file_path(to, sizeof to, f->dir, f->pool, FILE_STATE) || rename(from, to) != 0)
		return false;
	f->is_new = false;
	f->snapshot = f->octets;
	return sync_dir(f->dir);
}

bool file_commit(struct hf_disk_out *f)
{
	if (!flush(f))
		return false;
	if (f->octets > f->durable && fdatasync(f->fd) != 0)
		return false;
	f->durable = f->octets;
	return !f->is_new || give_name(f);
}

void file_close(struct hf_disk_out *f)
{
	char path[PATH_MAX];

	if (f->fd >= 0)
		close(f->fd);
	if (f->is_new && file_path(path, sizeof path, f->dir, f->pool, FILE_NEW))
		unlink(path); /* a full disk is not kept full by it */
	f->fd = -1;
	f->is_new = false;
	f->octets = f->durable = f->snapshot = 0;
	f->buf->n = 0;
	f->buf->full = false;
}
