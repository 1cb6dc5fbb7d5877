/* What a former gateway left in a state file; see holdfast/disk.h. Control thread, at the start of a pool. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "file.h"

static long read_fd(void *arg, uint8_t *p, size_t n)
{
	ssize_t got;

	do
		got = read(*(int *)arg, p, n);
	while (got < 0 && errno == EINTR);
	return (long)got;
}

static bool set_aside(const char *dir, const char *pool)
{
	char from[PATH_MAX], to[PATH_MAX];

	return file_path(from, sizeof from, dir, pool, FILE_STATE) && file_path(to, sizeof to, dir, pool, FILE_ASIDE) && rename(from, to) == 0;
}

enum hf_err hf_disk_load(const char *dir, const char *pool, const uint8_t hash_key[16], void (*each)(void *arg, uint16_t type, struct hf_bytes payload),
	void *arg, struct hf_disk_found *found)
{
	char path[PATH_MAX];
	int fd;
	struct salvage s = {.read = read_fd, .arg = &fd, .check = salvage_check(hash_key), .each = each, .each_arg = arg};
	enum hf_err e;

	*found = (struct hf_disk_found){0};
	if (!file_path(path, sizeof path, dir, pool, FILE_STATE))
		return HF_ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? HF_ENOENT : HF_EIO;
	found->there = true;
	salvage_key(hash_key, s.key);
	e = salvage_run(&s);
	close(fd);
	found->records = s.records;
	found->other_key = s.other_key;
	found->lost = s.lost;
	found->damaged = s.lost > 0;
	found->aside = (s.other_key || (s.lost && !s.records)) && set_aside(dir, pool);
	return e != HF_OK ? e : s.broken ? HF_EIO : HF_OK;
}

void hf_disk_forget(const char *dir, const char *pool)
{
	char path[PATH_MAX];

	for (unsigned i = FILE_STATE; i <= FILE_NEW; i++)
		if (file_path(path, sizeof path, dir, pool, (enum file_name)i))
			unlink(path);
}
