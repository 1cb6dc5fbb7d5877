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
#define FORM "holdfast tables 3\n"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct head {
	char form[32];
	char boot[48];
	uint64_t n;
	uint64_t check; /* of the hash key */
};

static void wanted(struct head *h, size_t n, uint64_t check)
{
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);

	memset(h, 0, sizeof *h);
	memcpy(h->form, FORM, sizeof FORM);
	h->n = n;
	h->check = check;
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

/* The tables of a hash key that somebody may bring back are kept while there is room for both. */
static bool prepare_beside(struct hf_region *r, const struct head *want, const char *path)
{
	char aside[PATH_MAX + 16];

	if (prepare(r, want))
		return true;
	if (errno != ENOSPC || !r->aside)
		return false;
	snprintf(aside, sizeof aside, "%s.aside", path);
	return unlink(aside) == 0 && prepare(r, want);
}

static enum hf_err map_file(struct hf_region *r, const char *path, const struct head *want, struct hf_writer *why)
{
	char text[160];

	if (!prepare_beside(r, want, path)) {
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
	memcpy(r->base, want, sizeof *want);
	r->p = (uint8_t *)r->base + HEAD;
	return HF_OK;
}

static enum hf_err open_file(struct hf_region *r, const char *path, struct hf_writer *why)
{
	r->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (r->fd < 0)
		return fail(r, path, HF_EIO, strerror(errno), why);
	if (flock(r->fd, LOCK_EX | LOCK_NB) != 0)
		return fail(r, path, HF_EEXIST, "another gateway has it: give each its own run-dir", why);
	return HF_OK;
}

static bool of_other_key(int fd, const struct head *want)
{
	struct head have;

	return pread(fd, &have, sizeof have, 0) == (ssize_t)sizeof have && memcmp(have.form, want->form, sizeof have.form) == 0 &&
	       memcmp(have.boot, want->boot, sizeof have.boot) == 0 && have.check != want->check;
}

static enum hf_err from_file(struct hf_region *r, const char *path, uint64_t check, struct hf_writer *why)
{
	enum hf_err e = open_file(r, path, why);
	char aside[PATH_MAX + 16];
	struct head want;

	wanted(&want, r->n, check);
	snprintf(aside, sizeof aside, "%s.aside", path);
	if (e == HF_OK && of_other_key(r->fd, &want) && rename(path, aside) == 0) {
		close(r->fd);
		e = open_file(r, path, why);
		r->aside = e == HF_OK;
	}
	return e == HF_OK ? map_file(r, path, &want, why) : e;
}

enum hf_err hf_store_open(const char *dir, const char *pool, size_t n, uint64_t check, struct hf_region *out, struct hf_writer *why)
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
		e = from_file(&r, path, check, why);
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
