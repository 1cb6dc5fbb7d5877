/* Nearest names, and the default of run-dir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "holdfast/nearest.h"
#include "holdfast/rundir.h"

static unsigned edits(const char *a, const char *b)
{
	return hf_edits(hf_bytes_str(a), hf_bytes_str(b));
}

static void counts_edits(void **state)
{
	(void)state;
	assert_int_equal(edits("", ""), 0);
	assert_int_equal(edits("", "abc"), 3);
	assert_int_equal(edits("abc", ""), 3);
	assert_int_equal(edits("drain", "drain"), 0);
	assert_int_equal(edits("DRAIN", "drain"), 0);   /* hf_lower */
	assert_int_equal(edits("drian", "drain"), 1);   /* the swap; 2 without it */
	assert_int_equal(edits("dran", "drain"), 1);
	assert_int_equal(edits("draiin", "drain"), 1);
	assert_int_equal(edits("drxin", "drain"), 1);
	assert_int_equal(edits("kitten", "sitting"), 3);
}

/* The cut at 64 octets: without it the rows overflow, which the sanitizer sees. */
static void long_names_are_cut(void **state)
{
	char a[300], b[300];

	(void)state;
	memset(a, 'a', sizeof a);
	memset(b, 'b', sizeof b);
	assert_int_equal(hf_edits(hf_bytes_of(a, sizeof a), hf_bytes_of(a, sizeof a)), 0);
	assert_int_equal(hf_edits(hf_bytes_of(a, sizeof a), hf_bytes_of(b, sizeof b)), 64);
}

static void keeps_the_three_nearest_in_order(void **state)
{
	static const char *const names[] = {"zebra", "pbx1", "gateway", "pbx2", "pbx", "pbx12"};
	struct hf_nearest near = {.wanted = HF_LIT("pbx")};
	char t[64];
	struct hf_writer w = hf_writer_on(t, sizeof t);

	(void)state;
	hf_w_nearest(&w, &near);
	assert_int_equal(w.n, 0);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		hf_nearest_add(&near, hf_bytes_str(names[i]));
	hf_w_nearest(&w, &near);
	assert_int_equal(w.n, 15);
	assert_memory_equal(t, "pbx, pbx1, pbx2", 15); /* equals in the order they came */
}

static void run_dir_is_found(void **state)
{
	char dir[64], want[64];

	(void)state;
	unsetenv("RUNTIME_DIRECTORY");
	hf_run_dir(HF_LIT("/a/b"), HF_LIT("/s"), dir, sizeof dir);
	assert_string_equal(dir, "/a/b");
	hf_run_dir(HF_NONE, HF_LIT("/var/lib/holdfast"), dir, sizeof dir);
	snprintf(want, sizeof want, "/dev/shm/holdfast-%lu-", (unsigned long)getuid());
	assert_int_equal(strncmp(dir, want, strlen(want)), 0);
	assert_int_equal(strlen(dir), strlen(want) + 8);
	hf_run_dir(HF_NONE, HF_LIT("/var/lib/other"), want, sizeof want);
	assert_string_not_equal(dir, want); /* two gateways of one user do not meet */
	setenv("RUNTIME_DIRECTORY", "/run/one:/run/two", 1);
	hf_run_dir(HF_NONE, HF_LIT("/s"), dir, sizeof dir);
	assert_string_equal(dir, "/run/one"); /* the colon */
	hf_run_dir(HF_LIT("/a"), HF_LIT("/s"), dir, sizeof dir);
	assert_string_equal(dir, "/a");
	unsetenv("RUNTIME_DIRECTORY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_edits), cmocka_unit_test(long_names_are_cut), cmocka_unit_test(keeps_the_three_nearest_in_order),
		cmocka_unit_test(run_dir_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
