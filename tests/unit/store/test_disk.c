/* The store's thread with a disk that fills, breaks, turns read-only or takes its time: what it leaves, what it says and how it comes back.
 * The files are compiled into this program with calls that fail when they are told to; the thread's turns are made one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct { int on_write, on_sync, on_open, on_rename; long room; uint64_t late_ms, now_ms; unsigned writes, syncs, snapshots; } disk;
static char lines[4096];

static ssize_t bad_write(int fd, const void *p, size_t n)
{
	disk.writes++;
	if (disk.on_write)
		return errno = disk.on_write, -1;
	if (disk.room >= 0) {
		if (!disk.room)
			return errno = ENOSPC, -1;
		n = n < (size_t)disk.room ? n : (size_t)disk.room;
		disk.room -= (long)n;
	}
	return write(fd, p, n);
}

static int bad_fdatasync(int fd)
{
	disk.syncs++;
	disk.now_ms += disk.late_ms;
	return disk.on_sync ? (errno = disk.on_sync, -1) : fdatasync(fd);
}

static int bad_open(const char *path, int flags, ...)
{
	if (disk.on_open && flags & O_CREAT)
		return errno = disk.on_open, -1;
	disk.snapshots += (flags & O_CREAT) != 0;
	return open(path, flags, 0600);
}

static int bad_rename(const char *a, const char *b) { return disk.on_rename ? (errno = disk.on_rename, -1) : rename(a, b); }
static uint64_t at_ms(void) { return disk.now_ms; }
static void hear(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void hear(const char *fmt, ...)
{
	size_t n = strlen(lines);
	va_list args;

	va_start(args, fmt);
	vsnprintf(lines + n, sizeof lines - n, fmt, args);
	va_end(args);
	strncat(lines, "\n", sizeof lines - strlen(lines) - 1);
}

#include "holdfast/clock.h"
#include "holdfast/log.h"
#define write bad_write
#define fdatasync bad_fdatasync
#define open bad_open
#define rename bad_rename
#define hf_clock_ms at_ms
#define hf_log(level, ...) hear(__VA_ARGS__)
#include "file.c"
#undef write
#include "disk.c"
#undef open
#undef rename
#undef fdatasync

static const uint8_t key[16] = {5};
static char dir[64];
static uint8_t said_why[256];
static struct hf_writer why = {said_why, 0, sizeof said_why - 1, false};

/* A table of numbers for tests: all of them, or those that were added since. */
static struct { unsigned n, told; enum hf_disk_wrote say; unsigned again; size_t octets; } source;

static enum hf_disk_wrote tell(void *arg, struct hf_disk_out *out, bool all)
{
	uint8_t buf[60000] = {0};

	(void)arg;
	if (source.again && source.again--)
		return HF_DISK_AGAIN;
	for (unsigned i = all ? 0 : source.told; i < source.n; i++) {
		hf_put32(buf, i);
		if (!hf_disk_put(out, 16, hf_bytes_of(buf, source.octets ? source.octets : 4)))
			return HF_DISK_REFUSED;
	}
	source.told = source.n;
	return HF_DISK_WROTE;
}

static unsigned loaded;

static void each(void *arg, uint16_t type, struct hf_bytes b)
{
	(void)arg;
	assert_int_equal(type, 16);
	assert_int_equal(hf_get32(b.p), loaded);
	loaded++;
}

/* What a start would find. */
static unsigned on_disk(struct hf_disk_found *f)
{
	struct hf_disk_found mine;

	loaded = 0;
	return hf_disk_load(dir, "farm", key, each, NULL, f ? f : &mine) == HF_OK ? loaded : 0;
}

static unsigned files(void)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static unsigned said(const char *what)
{
	unsigned n = 0;

	for (const char *p = lines; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static struct hf_disk *begin(void)
{
	struct hf_disk *d;

	memset(&disk, 0, sizeof disk);
	memset(&source, 0, sizeof source);
	memset(lines, 0, sizeof lines);
	disk.room = -1;
	disk.now_ms = 1000000;
	snprintf(dir, sizeof dir, "/tmp/hf-disk-XXXXXX");
	assert_non_null(mkdtemp(dir));
	d = hf_disk_new(dir, key, &why);
	assert_non_null(d);
	assert_int_equal(hf_disk_add(d, "farm", tell, NULL), HF_OK);
	return d;
}

static void end(struct hf_disk *d)
{
	char path[128];

	assert_true(hf_disk_stop(d));
	for (unsigned i = FILE_STATE; i <= FILE_ASIDE; i++) {
		assert_true(file_path(path, sizeof path, dir, "farm", (enum file_name)i));
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

/* The thread's turn, an interval later. */
static struct hf_disk_view turn_of(struct hf_disk *d)
{
	struct table *t = atomic_load(&d->tables);
	struct hf_disk_view v;

	disk.now_ms += 1000;
	if (!t->wait_ms || hf_clock_ms() >= t->retry_ms)
		keep(t, 1000);
	assert_true(hf_disk_view(d, "farm", &v));
	return v;
}

/* A snapshot, then changes behind it; what was not changed costs nothing; when changes outgrow the snapshot, it is made anew. Fails when
 * nothing-to-do syncs, when the new file has its name too soon, and when the log is never compacted. */
static void follows(void **state)
{
	struct hf_disk *d = begin();
	struct hf_disk_view v;
	unsigned syncs;

	(void)state;
	assert_null(hf_disk_new(dir, key, &why)); /* nobody else writes there meanwhile */
	assert_non_null(strstr((char *)said_why, "give each its own state-dir"));
	assert_true(hf_disk_view(d, "farm", &v) && v.condition == HF_DISK_STARTING);
	assert_false(hf_disk_view(d, "pbx", &v));
	source.n = 100;
	v = turn_of(d);
	assert_true(v.condition == HF_DISK_OK && v.age_ms == 0 && v.log_octets == 0 && v.file_octets > 100 * 24);
	assert_true(on_disk(NULL) == 100 && files() == 1);
	source.n = 130;
	v = turn_of(d);
	assert_true(v.log_octets == 30 * 24 && on_disk(NULL) == 130 && disk.snapshots == 1);
	syncs = disk.syncs;
	v = turn_of(d);
	assert_true(v.age_ms == 0 && disk.syncs == syncs);
	source.octets = 60000;
	for (unsigned i = 0; i < 40 && disk.snapshots == 1; i++) {
		source.n++;
		v = turn_of(d);
	}
	source.octets = 4;
	assert_int_equal(disk.snapshots, 2);
	assert_true(v.log_octets == 0 && on_disk(NULL) == source.n && files() == 1);
	assert_int_equal(strlen(lines), 0);
	end(d);
}

/* Each way to fail, at each step: one line, however often it is tried; the former file stays; and it comes back by itself with all. Fails when a
 * failure is not remembered until the next snapshot, or the lines are a try's. */
static void fails(void **state)
{
	static const struct { int *at, error; const char *name; enum hf_disk_condition is; } ways[] = {
		{&disk.on_write, ENOSPC, "condition=full", HF_DISK_FULL}, {&disk.on_write, EFBIG, "condition=full", HF_DISK_FULL},
		{&disk.on_write, EIO, "condition=failing", HF_DISK_FAILING}, {&disk.on_sync, EIO, "condition=failing", HF_DISK_FAILING},
		{&disk.on_open, EROFS, "condition=read-only", HF_DISK_READ_ONLY}, {&disk.on_rename, EIO, "condition=failing", HF_DISK_FAILING},
		{&disk.on_write, EROFS, "condition=read-only", HF_DISK_READ_ONLY}, {&disk.on_open, EACCES, "condition=failing", HF_DISK_FAILING},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++)
		for (unsigned first = 0; first < 2; first++) {
			struct hf_disk *d = begin();
			bool on_snapshot = ways[i].at == &disk.on_open || ways[i].at == &disk.on_rename;
			struct hf_disk_view v;

			if (!first) {
				source.n = 50;
				turn_of(d);
				if (on_snapshot) /* only the next snapshot meets it */
					file_close(&atomic_load(&d->tables)->out);
			}
			source.n = 60;
			*ways[i].at = ways[i].error;
			for (unsigned k = 0; k < 100; k++)
				v = turn_of(d);
			assert_true(v.condition == ways[i].is && v.age_ms >= 99000);
			assert_true(said("condition=") == 1 && said(ways[i].name) == 1);
			assert_true(on_disk(NULL) >= (first ? 0 : 50) && files() <= 1);
			source.n = 70;
			*ways[i].at = 0;
			for (unsigned k = 0; k < 31; k++) /* the longest wait */
				v = turn_of(d);
			assert_true(v.condition == HF_DISK_OK && v.age_ms == 0 && v.log_octets == 0);
			assert_true(said("condition=") == 2 && said("condition=ok") == 1 && on_disk(NULL) == 70);
			end(d);
		}
}

/* A disk that fills in the middle of a snapshot or of a change: nothing half is read, nothing is left behind, tries become rare. */
static void fills_up(void **state)
{
	(void)state;
	for (long room = 0; room < 2600; room += 13) {
		struct hf_disk *d = begin();
		struct hf_disk_found f;
		unsigned before;

		source.n = 50;
		if (room % 2) {
			disk.room = room;
			turn_of(d);
			assert_true(on_disk(NULL) == (room < 28 + 50 * 24 ? 0 : 50) && files() == (room < 28 + 50 * 24 ? 0 : 1));
		} else {
			turn_of(d);
			disk.room = room;
			source.n = 100;
			turn_of(d);
			assert_int_equal(on_disk(&f), 50 + (room / 24 < 50 ? room / 24 : 50)); /* all that is whole */
			assert_false(f.aside);
		}
		before = disk.writes;
		disk.room = 0;
		source.n = 101;
		for (unsigned k = 0; k < 300; k++)
			turn_of(d);
		assert_true(disk.writes - before <= 5 + 300 / 30 + 2);
		disk.room = -1;
		for (unsigned k = 0; k < 31; k++)
			turn_of(d);
		assert_true(on_disk(NULL) == 101);
		end(d);
	}
}

/* Slow is said when it begins and when it ends, and seen while a sync hangs. */
static void is_slow(void **state)
{
	struct hf_disk *d = begin();
	struct hf_disk_view v;
	struct table *t;

	(void)state;
	source.n = 1;
	disk.late_ms = SLOW_MS + 1;
	v = turn_of(d);
	assert_true(v.condition == HF_DISK_SLOW && v.age_ms == SLOW_MS + 1);
	source.n = 2;
	v = turn_of(d);
	assert_true(v.condition == HF_DISK_SLOW && said("condition=slow") == 1);
	disk.late_ms = 0;
	source.n = 3;
	v = turn_of(d);
	assert_true(v.condition == HF_DISK_OK && said("condition=ok") == 1 && said("condition=") == 2);
	t = atomic_load(&d->tables);
	atomic_store(&t->begun_ms, disk.now_ms); /* a turn that does not end */
	disk.now_ms += SLOW_MS + 1;
	assert_true(hf_disk_view(d, "farm", &v) && v.condition == HF_DISK_SLOW && v.age_ms == SLOW_MS + 1);
	atomic_store(&t->begun_ms, 0);
	end(d);
}

/* A table that cannot say it by changes is asked for all at once; one that never can is no failure and no file. */
static void again(void **state)
{
	struct hf_disk *d = begin();

	(void)state;
	source.n = 10;
	turn_of(d);
	source.n = 20;
	source.again = 1;
	turn_of(d);
	assert_true(disk.snapshots == 2 && on_disk(NULL) == 20);
	source.again = 3;
	source.n = 30;
	turn_of(d);
	assert_true(on_disk(NULL) == 20 && files() == 1);
	turn_of(d);
	assert_true(on_disk(NULL) == 30 && strlen(lines) == 0);
	end(d);
}

/* What cannot be used gets another name, once; what is forgotten is gone; a stop writes what is left. */
static void ends(void **state)
{
	static const uint8_t other[16] = {6};
	struct hf_disk *d = begin();
	struct hf_disk_found f;

	(void)state;
	assert_int_equal(hf_disk_load(dir, "farm", key, each, NULL, &f), HF_ENOENT);
	source.n = 10;
	assert_int_equal(hf_disk_start(d), HF_OK);
	assert_int_equal(hf_disk_start(d), HF_OK);
	assert_true(hf_disk_stop(d));
	assert_int_equal(on_disk(&f), 10);
	assert_false(f.aside || f.damaged);
	assert_int_equal(hf_disk_load(dir, "farm", other, each, NULL, &f), HF_OK);
	assert_true(f.other_key && f.aside && f.records == 0);
	assert_int_equal(hf_disk_load(dir, "farm", key, each, NULL, &f), HF_ENOENT);
	assert_int_equal(files(), 1);
	d = hf_disk_new(dir, key, &why);
	assert_int_equal(hf_disk_add(d, "farm", tell, NULL), HF_OK);
	turn_of(d);
	assert_int_equal(files(), 2);
	hf_disk_forget(dir, "farm");
	assert_int_equal(files(), 1);
	end(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows), cmocka_unit_test(fails), cmocka_unit_test(fills_up), cmocka_unit_test(is_slow), cmocka_unit_test(again), cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
