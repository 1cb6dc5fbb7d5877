/* Lines to a file that is full, missing, rotated or blocked: none is torn, none is told twice, and who hands them over never waits. The file is
 * compiled into this program with calls that fail when they are told to; the thread's turns are made one by one, but for the last test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct { int on_write, on_open; long room; unsigned writes, waits; } disk;

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

static int bad_open(const char *path, int flags, ...) { return disk.on_open ? (errno = disk.on_open, -1) : open(path, flags, 0600); }

/* A wait is over at once, as if its time had passed. */
static int no_wait(void)
{
	disk.waits++;
	return 0;
}
static uint64_t clock_now = 1000;
static uint64_t next_ms(void) { return clock_now += 300; }

#define write bad_write
#define open bad_open
#define hf_clock_ms next_ms
#define pthread_cond_wait(c, l) no_wait()
#define pthread_cond_timedwait(c, l, t) ((void)(t), (void)(l), no_wait())
#include "lines.c"
#undef write
#undef open
#undef hf_clock_ms
#undef pthread_cond_wait
#undef pthread_cond_timedwait

static char dir[64], path[80], other[80];
static struct hf_lines *l;

static int up(void **state)
{
	(void)state;
	memset(&disk, 0, sizeof disk);
	disk.room = -1;
	snprintf(dir, sizeof dir, "/tmp/hf-lines-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/a.log", dir);
	snprintf(other, sizeof other, "%s/b.log", dir);
	l = hf_lines_new("test-log");
	assert_non_null(l);
	hf_log_set_level(HF_LOG_ERROR);
	return 0;
}

static int down(void **state)
{
	(void)state;
	assert_true(hf_lines_stop(l));
	unlink(path);
	unlink(other);
	rmdir(dir);
	return 0;
}

static void turns(unsigned n)
{
	pthread_mutex_lock(&l->lock);
	while (n--)
		(void)turn(l);
	pthread_mutex_unlock(&l->lock);
}

static void holds(const char *file, const char *text)
{
	char got[4096] = "";
	FILE *f = fopen(file, "r");
	size_t n = f ? fread(got, 1, sizeof got - 1, f) : 0;

	if (f)
		fclose(f);
	got[n] = 0;
	assert_string_equal(got, text);
}

static struct hf_lines_view view(void)
{
	struct hf_lines_view v;

	hf_lines_view(l, &v);
	return v;
}

/* Fails without the newline of put, and without the counts of put_out. */
static void writes(void **state)
{
	(void)state;
	assert_false(hf_lines_wanted(l));
	assert_int_equal(view().condition, HF_LINES_OFF);
	assert_int_equal(hf_lines_open(l, hf_bytes_str(path)), HF_OK);
	assert_true(hf_lines_wanted(l));
	assert_true(hf_lines_put(l, HF_LIT("one")));
	assert_true(hf_lines_put(l, HF_LIT("two")));
	turns(2);
	holds(path, "one\ntwo\n");
	assert_int_equal(view().written, 2);
	assert_int_equal(view().lost, 0);
	assert_int_equal(view().condition, HF_LINES_OK);
	assert_int_equal(disk.writes, 1); /* what is there goes at once */
}

/* A rotated file is let go of: fails when open_anew keeps the descriptor. */
static void reopened(void **state)
{
	(void)state;
	assert_int_equal(hf_lines_open(l, hf_bytes_str(path)), HF_OK);
	assert_true(hf_lines_put(l, HF_LIT("one")));
	turns(2);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(hf_lines_open(l, hf_bytes_str(path)), HF_OK);
	assert_true(hf_lines_put(l, HF_LIT("two")));
	turns(2);
	holds(other, "one\n");
	holds(path, "two\n");
}

/* The disk fills in the middle of a line and is emptied again: the line goes on where it was cut. Fails when a retry begins with the chunk. */
static void full_and_well(void **state)
{
	(void)state;
	assert_int_equal(hf_lines_open(l, hf_bytes_str(path)), HF_OK);
	assert_true(hf_lines_put(l, HF_LIT("one")));
	assert_true(hf_lines_put(l, HF_LIT("two")));
	disk.room = 6;
	turns(3);
	holds(path, "one\ntw");
	assert_int_equal(view().condition, HF_LINES_FULL);
	assert_true(hf_lines_put(l, HF_LIT("three")));
	disk.room = -1;
	turns(3);
	holds(path, "one\ntwo\nthree\n");
	assert_int_equal(view().condition, HF_LINES_OK);
	assert_int_equal(view().written, 3);
	assert_int_equal(view().lost, 0);
}

/* A line that was cut in the old file is whole in the new one. Fails without the step back in open_anew. */
static void cut_and_rotated(void **state)
{
	(void)state;
	assert_int_equal(hf_lines_open(l, hf_bytes_str(path)), HF_OK);
	assert_true(hf_lines_put(l, HF_LIT("one")));
	assert_true(hf_lines_put(l, HF_LIT("two")));
	disk.room = 6;
	turns(3);
	disk.room = -1;
	assert_int_equal(hf_lines_open(l, hf_bytes_str(other)), HF_OK);
	turns(2);
	holds(other, "two\n");
	assert_int_equal(view().written, 2);
}

/* A file that cannot be opened is tried again, and nothing is lost meanwhile. Fails when turn forgets to ask for it anew. */
static void missing(void **state)
{
	(void)state;
	disk.on_open = EACCES;
	assert_int_equal(hf_lines_open(l, hf_bytes_str(path)), HF_OK);
	assert_true(hf_lines_put(l, HF_LIT("one")));
	turns(3);
	assert_int_equal(view().condition, HF_LINES_FAILING);
	disk.on_open = 0;
	turns(3);
	holds(path, "one\n");
}

/* The queue has an end: what is beyond is counted, what was in it is written whole, over the ring's seam too. Fails without the bound in put,
 * and when take or ring_add forget the seam. */
static void bounded(void **state)
{
	char line[1000], got[1001];
	unsigned n = 0, lost = 0;
	FILE *f;

	(void)state;
	assert_int_equal(hf_lines_open(l, hf_bytes_str(path)), HF_OK);
	for (int round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 1200; i++) {
			memset(line, 'a' + (int)(n % 26), sizeof line);
			if (hf_lines_put(l, hf_bytes_of(line, sizeof line - (n % 7))))
				n++;
			else
				lost++;
		}
		turns(40);
	}
	assert_true(lost > 300);
	assert_int_equal(view().lost, lost);
	assert_int_equal(view().written, n);
	assert_int_equal(view().waiting, 0);
	f = fopen(path, "r");
	assert_non_null(f);
	for (unsigned i = 0; i < n; i++) {
		size_t want = sizeof line - (i % 7);

		assert_int_equal(fread(got, 1, want + 1, f), want + 1);
		assert_int_equal(got[0], 'a' + (int)(i % 26));
		assert_int_equal(got[want - 1], got[0]);
		assert_int_equal(got[want], '\n');
	}
	fclose(f);
}

/* Switched off: what waits is gone and counted, and nothing is written any more. Fails without that in turn. */
static void off(void **state)
{
	(void)state;
	assert_int_equal(hf_lines_open(l, hf_bytes_str(path)), HF_OK);
	turns(1);
	assert_int_equal(hf_lines_open(l, HF_NONE), HF_OK);
	assert_true(hf_lines_put(l, HF_LIT("late")));
	turns(3);
	assert_int_equal(view().condition, HF_LINES_OFF);
	assert_int_equal(view().lost, 1);
	holds(path, "");
}

/* A call that does not come back shows. Fails without begun_ms. */
static void blocked(void **state)
{
	(void)state;
	atomic_store(&l->condition, HF_LINES_OK);
	atomic_store(&l->begun_ms, clock_now - SLOW_MS);
	assert_int_equal(view().condition, HF_LINES_BLOCKED);
	atomic_store(&l->begun_ms, 0);
	assert_int_equal(view().condition, HF_LINES_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(writes, up, down), cmocka_unit_test_setup_teardown(reopened, up, down),
		cmocka_unit_test_setup_teardown(full_and_well, up, down), cmocka_unit_test_setup_teardown(cut_and_rotated, up, down),
		cmocka_unit_test_setup_teardown(missing, up, down), cmocka_unit_test_setup_teardown(bounded, up, down),
		cmocka_unit_test_setup_teardown(off, up, down), cmocka_unit_test_setup_teardown(blocked, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
