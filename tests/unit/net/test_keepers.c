/* Who keeps what has a tag (net/keepers.c), told by tag and worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "keepers.h"

static struct keepers *k;
static char octets[3]; /* never looked at: a worker is its address here */
#define W(i) ((struct worker *)(void *)&octets[i])

static int up(void **state)
{
	(void)state;
	k = keepers_new();
	return k ? 0 : -1;
}

static int down(void **state)
{
	(void)state;
	keepers_free(k);
	return 0;
}

/* Never who asks. Fails when keepers_find does not compare the worker, or the tag. */
static void others_only(void **state)
{
	(void)state;
	assert_null(keepers_find(k, 5, W(0)));
	keepers_put(k, 5, W(0));
	assert_null(keepers_find(k, 5, W(0)));
	assert_ptr_equal(keepers_find(k, 5, W(1)), W(0));
	assert_null(keepers_find(k, 6, W(1)));
	keepers_put(k, 5, W(1));
	assert_ptr_equal(keepers_find(k, 5, W(0)), W(1));
	keepers_take(k, 5, W(0));
	assert_null(keepers_find(k, 5, W(1)));
	assert_ptr_equal(keepers_find(k, 5, W(0)), W(1));
}

/* As many as there are: each is there once it has been put, and gone once it has been taken. Fails when room() does not widen, or does not count. */
static void many(void **state)
{
	enum { N = 50000 };
	const uint64_t step = 0x9e3779b97f4a7c15u;

	(void)state;
	for (uint64_t i = 1; i <= N; i++)
		keepers_put(k, i * step, W(i % 3));
	for (uint64_t i = 1; i <= N; i++) {
		assert_ptr_equal(keepers_find(k, i * step, W((i + 1) % 3)), W(i % 3));
		if (i % 2)
			keepers_take(k, i * step, W(i % 3));
	}
	for (uint64_t i = 1; i <= N; i++)
		assert_ptr_equal(keepers_find(k, i * step, W((i + 1) % 3)), i % 2 ? NULL : W(i % 3));
}

/* What was never put, for want of memory, may be taken. Fails when tags_take does not end at a free place. */
static void never_put(void **state)
{
	(void)state;
	keepers_take(k, 9, W(0));
	keepers_put(k, 9, W(0));
	keepers_take(k, 9, W(1));
	assert_ptr_equal(keepers_find(k, 9, W(1)), W(0));
}

/* One worker needs none. */
static void none(void **state)
{
	(void)state;
	keepers_put(NULL, 1, W(0));
	keepers_take(NULL, 1, W(0));
	assert_null(keepers_find(NULL, 1, W(1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(others_only, up, down), cmocka_unit_test_setup_teardown(many, up, down),
		cmocka_unit_test_setup_teardown(never_put, up, down), cmocka_unit_test(none)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
