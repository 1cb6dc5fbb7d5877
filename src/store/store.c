/* Regions for the engine's tables: files of run-dir, mapped; see holdfast/store.h. Knows files and mappings, and nothing of what lives in them.
 * Pages that nobody touched are not resident, so an idle gateway stays small whatever `max-entries` says. */
#include "holdfast/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD 4096 /* a page, so that the region begins on one */
#define FORM "holdfast tables 2\n"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct head {
	char form[32];
	char boot[48];
	uint64_t n;
};

static void wanted(struct head *h, size_t n)
{
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);

	memset(h, 0, sizeof *h);
	memcpy(h->form, FORM, sizeof FORM);
	h->n = n;
	if (fd < 0)
		return;
	if (read(fd, h->boot, sizeof h->boot - 1) <= 0) /* without a boot id: all processes are of one boot */
		h->boot[0] = 0;
	close(fd);
}

static enum hf_err fail(struct hf_region *r, const char *path, enum hf_err e, const char *what, struct hf_writer *why)
{
	hf_w_printf(why, "%s: %s", path, what);
	hf_store_close(r);
	return e;
}

static enum hf_err of_system(void) { return errno == ENOMEM || errno == ENOSPC ? HF_ENOMEM : HF_EIO; }

static enum hf_err in_memory(size_t n, struct hf_region *out, struct hf_writer *why)
{
	out->base = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (out->base == MAP_FAILED) {
		out->base = NULL;
		hf_w_str(why, "no memory for the tables");
		return HF_ENOMEM;
	}
	out->p = out->base;
	return HF_OK;
}

/* The file's size and head as they must be; what is not so is thrown away. False: the system refused. */
static bool prepare(struct hf_region *r, const struct head *want)
{
	struct head have = {0};
	struct stat st;
	int e;

	if (fstat(r->fd, &st) != 0)
		return false;
	r->kept = st.st_size == (off_t)(HEAD + r->n) && pread(r->fd, &have, sizeof have, 0) == (ssize_t)sizeof have && memcmp(&have, want, sizeof have) == 0;
	r->lost = !r->kept && st.st_size > 0;
	if (!r->kept && ftruncate(r->fd, 0) != 0)
		return false;
	e = posix_fallocate(r->fd, 0, (off_t)(HEAD + r->n));
	if (e == 0)
		return true;
	errno = e;
	return false;
}

static enum hf_err map_file(struct hf_region *r, const char *path, struct hf_writer *why)
{
	struct head want;
	char text[160];

	wanted(&want, r->n);
	if (!prepare(r, &want)) {
		if (errno != ENOSPC)
			return fail(r, path, of_system(), strerror(errno), why);
		snprintf(text, sizeof text, "it needs %zu MiB, and there is no room: lower max-entries, or give run-dir a larger file system", (HEAD + r->n + (1 << 20) - 1) >> 20);
		return fail(r, path, HF_ENOMEM, text, why);
	}
	r->base = mmap(NULL, HEAD + r->n, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->base == MAP_FAILED) {
		r->base = NULL;
		return fail(r, path, of_system(), strerror(errno), why);
	}
	(void)madvise(r->base, HEAD + r->n, MADV_RANDOM); /* keys are hashes: what lies beside one is not wanted next, and would only stay resident */
	memcpy(r->base, &want, sizeof want);
	r->p = (uint8_t *)r->base + HEAD;
	return HF_OK;
}

enum hf_err hf_store_open(const char *dir, const char *pool, size_t n, struct hf_region *out, struct hf_writer *why)
{
	struct hf_region r = {.n = n, .fd = -1};
	char path[PATH_MAX];
	enum hf_err e;

	if (!dir) {
		e = in_memory(n, &r, why);
	} else if (snprintf(path, sizeof path, "%s/%s.tables", dir, pool) >= (int)sizeof path) {
		hf_w_str(why, "run-dir: the path is too long");
		e = HF_EINVAL;
	} else {
		r.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (r.fd < 0)
			return fail(&r, path, HF_EIO, strerror(errno), why);
		if (flock(r.fd, LOCK_EX | LOCK_NB) != 0)
			return fail(&r, path, HF_EEXIST, "another gateway has it: give each its own run-dir", why);
		e = map_file(&r, path, why);
	}
	if (e == HF_OK)
		*out = r;
	return e;
}

void hf_store_close(struct hf_region *r)
{
	if (r->base)
		munmap(r->base, r->fd >= 0 ? HEAD + r->n : r->n);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct hf_region){.fd = -1};
}
