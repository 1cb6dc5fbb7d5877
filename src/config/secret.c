/* The cluster secret: read strictly, or made whole; see holdfast/config.h. Knows no other file. Called by app at start and at a reload. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holdfast/config.h"

#define SECRET_MAX 1024 /* three lines of at most 40 octets, and room for a word too many */
#define KEY 16

static enum hf_err fail(struct hf_writer *why, enum hf_err e, const char *path, const char *what)
{
	hf_w_printf(why, "%s: %s%s%s", path, what, e == HF_EIO ? ": " : "", e == HF_EIO ? strerror(errno) : "");
	return e;
}

static enum hf_err fail_line(struct hf_writer *why, const char *path, unsigned line, const char *what)
{
	hf_w_printf(why, "%s:%u: %s", path, line, what);
	return HF_EINVAL;
}

/* `WORD HEX` with one blank; the first line is the hash key, then come one or two sign keys. */
static enum hf_err read_lines(const char *path, struct hf_bytes text, struct hf_site *site, struct hf_writer *why)
{
	static const struct { struct hf_bytes word; const char *form; } want[] = {
		{{(const uint8_t *)"hash ", 5}, "hash and 32 hex digits, one blank between"},
		{{(const uint8_t *)"sign ", 5}, "sign and 32 hex digits, one blank between"},
	};
	uint8_t *keys[] = {site->hash_key, site->sign[0], site->sign[1]};
	unsigned n = 0;

	for (unsigned no = 1; text.n; no++) {
		size_t end = hf_bytes_find(text, '\n');
		struct hf_bytes line = hf_bytes_sub(text, 0, end);

		text = hf_bytes_sub(text, end + 1, text.n);
		if (n == 3)
			return fail_line(why, path, no, "nothing may follow the second sign line");
		if (!hf_bytes_starts(line, want[n > 0].word) || hf_read_hex(hf_bytes_sub(line, 5, line.n), keys[n], KEY) != HF_OK)
			return fail_line(why, path, no, want[n > 0].form);
		n++;
	}
	if (n < 2)
		return fail_line(why, path, n + 1, want[n > 0].form);
	site->n_sign = n - 1;
	return HF_OK;
}

static enum hf_err read_file(const char *path, int fd, struct hf_site *site, struct hf_writer *why)
{
	uint8_t buf[SECRET_MAX + 1];
	struct hf_site got = *site;
	struct stat st;
	ssize_t n = read(fd, buf, sizeof buf);
	enum hf_err e;

	if (n < 0 || fstat(fd, &st) != 0)
		return fail(why, HF_EIO, path, "cannot be read");
	if ((size_t)n > SECRET_MAX)
		e = fail(why, HF_EINVAL, path, "too long to be a cluster secret");
	else
		e = read_lines(path, hf_bytes_of(buf, (size_t)n), &got, why);
	explicit_bzero(buf, sizeof buf);
	if (e == HF_OK) {
		*site = got;
		if (st.st_mode & (S_IRWXO | S_IWGRP))
			hf_w_printf(why, "%s: others may read or change it: chmod 0600", path);
	}
	explicit_bzero(&got, sizeof got);
	return e;
}

/* The directory of path into dir ("." when there is none); false: too long. */
static bool dir_of(const char *path, char *dir, size_t cap)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 1;

	if (n + 1 >= cap)
		return false;
	memcpy(dir, slash ? path : ".", n);
	dir[n] = 0;
	if (slash == path) {
		dir[0] = '/';
		dir[1] = 0;
	}
	return true;
}

static bool write_keys(int fd)
{
	uint8_t raw[2 * KEY], text[128];
	struct hf_writer w = hf_writer_on(text, sizeof text);
	bool ok;

	if (getentropy(raw, sizeof raw) != 0)
		return false;
	hf_w_str(&w, "hash ");
	hf_w_hex(&w, hf_bytes_of(raw, KEY));
	hf_w_str(&w, "\nsign ");
	hf_w_hex(&w, hf_bytes_of(raw + KEY, KEY));
	hf_w_str(&w, "\n");
	ok = write(fd, text, w.n) == (ssize_t)w.n && fsync(fd) == 0;
	explicit_bzero(raw, sizeof raw);
	explicit_bzero(text, sizeof text);
	return ok;
}

/* Whole or not at all, and never over a file that is there: link(2) refuses what rename(2) would replace. */
static enum hf_err make(const char *path, struct hf_writer *why)
{
	char dir[1200], temp[1300];
	enum hf_err e = HF_OK;
	uint32_t nonce = 0;
	int fd, dirfd;

	if (!dir_of(path, dir, sizeof dir))
		return fail(why, HF_EINVAL, path, "the path is too long");
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return fail(why, HF_EIO, dir, "cannot be made");
	if (getentropy(&nonce, sizeof nonce) != 0)
		return fail(why, HF_EIO, path, "there are no random octets");
	snprintf(temp, sizeof temp, "%s/.cluster.secret.%08x", dir, (unsigned)nonce);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(why, HF_EIO, temp, "cannot be made");
	if (!write_keys(fd) || (link(temp, path) != 0 && errno != EEXIST))
		e = fail(why, HF_EIO, path, "cannot be written");
	close(fd);
	unlink(temp);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (e == HF_OK && (dirfd < 0 || fsync(dirfd) != 0))
		e = fail(why, HF_EIO, dir, "cannot be synced");
	if (dirfd >= 0)
		close(dirfd);
	return e;
}

enum hf_err hf_secret_load(const char *path, bool may_make, struct hf_site *site, struct hf_writer *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum hf_err e;

	if (fd < 0 && errno == ENOENT && may_make) {
		e = make(path, why);
		if (e != HF_OK)
			return e;
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return errno == ENOENT ? fail(why, HF_ENOENT, path, "there is no such file; copy cluster.secret out of the state-dir of another gateway of the cluster")
				       : fail(why, HF_EIO, path, "cannot be opened");
	e = read_file(path, fd, site, why);
	close(fd);
	return e;
}
