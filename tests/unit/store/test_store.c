/* Regions in files (store/store.c): what a former process left comes back; what it may not have left does not; nobody shares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "holdfast/store.h"

#define N 100000u
#define CHECK 0x1122334455667788u

static char dir[64], path[96];
static uint8_t said[512];
static struct hf_writer why;

static enum hf_err get(size_t n, struct hf_region *r)
{
	why = hf_writer_on(said, sizeof said - 1);
	memset(said, 0, sizeof said);
	return hf_store_open(dir, "pbx", n, CHECK, r, &why);
}

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/hf-store-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof path, "%s/pbx.tables", dir);
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	unlink(path);
	rmdir(dir);
	return 0;
}

/* A first region with a mark in it, closed. */
static void leave(size_t n)
{
	struct hf_region r;

	assert_int_equal(get(n, &r), HF_OK);
	memcpy(r.p, "left", 4);
	((uint8_t *)r.p)[n - 1] = 7;
	hf_store_close(&r);
}

/* Fails when `kept` is always false, or the region does not begin behind the head. */
static void comes_back(void **state)
{
	struct hf_region r;

	(void)state;
	leave(N);
	assert_int_equal(get(N, &r), HF_OK);
	assert_true(r.kept && !r.lost);
	assert_memory_equal(r.p, "left", 4);
	assert_int_equal(((uint8_t *)r.p)[N - 1], 7);
	assert_int_equal((uintptr_t)r.p % 4096, 0);
	hf_store_close(&r);
}

static void is_new(void)
{
	struct hf_region r;
	static const uint8_t zero[4];

	assert_int_equal(get(N, &r), HF_OK);
	assert_false(r.kept);
	assert_true(r.lost); /* who opens it can say so */
	assert_memory_equal(r.p, zero, 4);
	assert_int_equal(((uint8_t *)r.p)[N - 1], 0);
	hf_store_close(&r);
}

/* Fails when the size is not compared. */
static void another_size(void **state)
{
	(void)state;
	leave(N / 2);
	is_new();
	leave(2 * N);
	is_new();
}

/* An octet of the head is another: another boot, form or size. Fails when the head is not compared. */
static void another_boot(void **state)
{
	static const off_t places[] = {0, 17, 32, 40, 80};

	(void)state;
	for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
		int fd;

		leave(N);
		fd = open(path, O_WRONLY);
		assert_int_equal(pwrite(fd, "!", 1, places[i]), 1);
		close(fd);
		is_new();
	}
}

/* Fails without the lock. */
static void not_shared(void **state)
{
	struct hf_region a, b;

	(void)state;
	assert_int_equal(get(N, &a), HF_OK);
	assert_int_equal(get(N, &b), HF_EEXIST);
	assert_non_null(strstr((char *)said, "give each its own run-dir"));
	hf_store_close(&a);
	assert_int_equal(get(N, &b), HF_OK);
	hf_store_close(&b);
}

/* A file system that is full is told at the start, with the file's name. Fails when nothing is allocated ahead. */
static void no_room(void **state)
{
	struct rlimit old, small = {.rlim_cur = 50000};
	struct hf_region r;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_not_equal(get(N, &r), HF_OK);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_non_null(strstr((char *)said, path));
}

/* Tables of another hash key are not used and not lost, and ours that follow are found again. Fails when the check is not compared, or the
 * file is begun anew in its place. */
static void another_key(void **state)
{
	char aside[128];
	struct hf_region r;

	(void)state;
	leave(N);
	assert_int_equal(hf_store_open(dir, "pbx", N, CHECK + 1, &r, &why), HF_OK);
	assert_true(!r.kept && r.aside && ((uint8_t *)r.p)[N - 1] == 0);
	hf_store_close(&r);
	assert_int_equal(hf_store_open(dir, "pbx", N, CHECK + 1, &r, &why), HF_OK);
	assert_true(r.kept && !r.aside);
	hf_store_close(&r);
	snprintf(aside, sizeof aside, "%s.aside", path);
	assert_int_equal(rename(aside, path), 0);
	assert_int_equal(get(N, &r), HF_OK);
	assert_true(r.kept && ((uint8_t *)r.p)[N - 1] == 7);
	hf_store_close(&r);
}

static void refused(void **state)
{
	struct hf_region r;

	(void)state;
	why = hf_writer_on(said, sizeof said - 1);
	assert_int_equal(hf_store_open("/nowhere/at/all", "pbx", N, CHECK, &r, &why), HF_EIO);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(get(N, &r), HF_EIO); /* a link is not followed */
	unlink(path);
}

static void in_memory(void **state)
{
	struct hf_region r;

	(void)state;
	assert_int_equal(hf_store_open(NULL, "pbx", N, CHECK, &r, &why), HF_OK);
	assert_false(r.kept);
	assert_int_equal(r.fd, -1);
	memset(r.p, 1, N);
	hf_store_close(&r);
	assert_null(r.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(comes_back, make_dir, drop_dir), cmocka_unit_test_setup_teardown(another_size, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(another_boot, make_dir, drop_dir), cmocka_unit_test_setup_teardown(another_key, make_dir, drop_dir), cmocka_unit_test_setup_teardown(not_shared, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(no_room, make_dir, drop_dir), cmocka_unit_test_setup_teardown(refused, make_dir, drop_dir), cmocka_unit_test(in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
