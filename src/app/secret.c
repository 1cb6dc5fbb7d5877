/* The cluster secret at start and reload, and its check value in state-dir.
 * The hash key decides where every session goes: one that changed by accident would move them all, so a start with another key
 * than the last one is refused unless it is asked for. The check value is a keyed hash of a constant and gives nothing away. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway.h"
#include "holdfast/hash.h"
#include "report.h"

#define CHECK_OCTETS 17 /* 16 hex digits and the end of the line */

static void check_value(const struct hf_site *site, char out[CHECK_OCTETS + 1])
{
	snprintf(out, CHECK_OCTETS + 1, "%016llx\n", (unsigned long long)hf_sip24(site->hash_key, HF_LIT("holdfast hash key check")));
}

static bool check_path(const struct places *p, char *path, size_t n, const char *end)
{
	return (size_t)snprintf(path, n, "%s/hash.check%s", p->state, end) < n;
}

/* Written aside and renamed, so that a crash leaves the old one or the new one. */
static enum hf_err check_write(const struct places *p, const char *path, const char *value, struct hf_writer *why)
{
	char aside[PATH_MAX + 16];
	bool ok = false;
	int fd = -1;

	if (check_path(p, aside, sizeof aside, ".new"))
		fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		ok = write(fd, value, CHECK_OCTETS) == CHECK_OCTETS && fsync(fd) == 0 && (!places_change_user(p) || fchown(fd, p->uid, p->gid) == 0);
		close(fd);
	}
	if (ok && rename(aside, path) == 0)
		return HF_OK;
	hf_w_printf(why, "cannot write %.800s: %s", path, strerror(errno));
	return HF_EIO;
}

static enum hf_err check_compare(const struct places *p, const struct hf_site *site, bool write_it, bool accept, struct hf_writer *why)
{
	char path[PATH_MAX + 16], now[CHECK_OCTETS + 1], then[CHECK_OCTETS + 1];
	ssize_t n = -1;
	int fd;

	check_value(site, now);
	if (!check_path(p, path, sizeof path, ""))
		return HF_EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, then, sizeof then);
		close(fd);
	} else if (errno != ENOENT) {
		hf_w_printf(why, "cannot read %.800s: %s", path, strerror(errno));
		return HF_EINVAL;
	}
	if (n == CHECK_OCTETS && memcmp(now, then, CHECK_OCTETS) == 0)
		return HF_OK;
	if (fd >= 0 && !accept) {
		hf_w_printf(why, "%.900s: this is not the hash key of the last start; with another key every session moves: bring the old one back, or start once with --accept-new-hash",
			p->secret);
		return HF_EINVAL;
	}
	return write_it ? check_write(p, path, now, why) : HF_OK;
}

static enum hf_err read_secret(const struct places *p, bool write_it, bool accept, struct hf_site *site, struct hf_writer *why, struct hf_findings *f)
{
	enum hf_err e;

	if (!write_it && p->secret_ours && access(p->secret, F_OK) < 0 && errno == ENOENT)
		return HF_OK; /* a start would make it */
	e = hf_secret_load(p->secret, write_it && p->secret_ours, site, why);
	if (e == HF_OK && why->n) { /* a file that others may read is taken, and said */
		report_add(f, false, hf_writer_view(why));
		why->n = 0;
	}
	if (e == HF_OK && write_it && p->secret_ours && places_change_user(p) && chown(p->secret, p->uid, p->gid) < 0)
		hf_log(HF_LOG_WARN, "event=secret-chown file=%s error=\"%m\"", p->secret); /* only a reload wants to read it again */
	if (e != HF_OK)
		return e == HF_EIO ? HF_EIO : HF_EINVAL;
	return check_compare(p, site, write_it, accept, why);
}

enum hf_err secret_open(const struct places *p, bool write_it, bool accept, struct hf_site *site, struct hf_findings *f)
{
	uint8_t buf[2048];
	struct hf_writer why = hf_writer_on(buf, sizeof buf);
	enum hf_err e = read_secret(p, write_it, accept, site, &why, f);

	if (e != HF_OK)
		report_add(f, true, hf_writer_view(&why));
	return e;
}

enum hf_err secret_same(const struct places *p, const struct hf_site *site, struct hf_findings *f)
{
	uint8_t buf[1024];
	struct hf_writer why = hf_writer_on(buf, sizeof buf);
	struct hf_site next = *site;

	if (access(p->secret, R_OK) < 0) {
		hf_w_printf(&why, "%.800s is what it was at the start, for all that can be seen: it cannot be read any more: %s", p->secret, strerror(errno));
		report_add(f, false, hf_writer_view(&why));
		return HF_OK;
	}
	if (hf_secret_load(p->secret, false, &next, &why) == HF_OK) {
		why.n = 0;
		if (memcmp(next.hash_key, site->hash_key, sizeof next.hash_key) != 0)
			hf_w_printf(&why, "the hash line of %.800s has changed; the hash key never changes in service", p->secret);
		else if (next.n_sign != site->n_sign || memcmp(next.sign, site->sign, next.n_sign * sizeof next.sign[0]) != 0)
			hf_w_printf(&why, "the sign lines of %.800s have changed; they take hold at a restart", p->secret);
		else
			return HF_OK;
	}
	report_add(f, true, hf_writer_view(&why));
	return HF_EINVAL;
}
