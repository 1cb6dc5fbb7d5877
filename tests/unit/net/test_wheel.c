/* Deadlines in a wheel (net/wheel.c) by literal times: each is due in its own millisecond, the earliest first, however far ahead it was set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wheel.h"

#define N 3000u
#define START 1000003u /* of no level's round numbers */

static struct wheel wheel;
static struct wheel_item item[N];

static int up(void **state)
{
	(void)state;
	wheel = (struct wheel){0};
	for (unsigned i = 0; i < N; i++)
		item[i] = (struct wheel_item){0};
	return 0;
}

/* How many are due by then; all at once when the clock was not looked at for long. */
static unsigned due_by(uint64_t ms)
{
	struct wheel_item *i;
	uint64_t last = 0;
	unsigned n = 0;

	while ((i = wheel_due(&wheel, ms))) {
		assert_true(i->due_ms <= ms && i->due_ms >= last);
		last = i->due_ms;
		wheel_stop(&wheel, i);
		n++;
	}
	return n;
}

/* At the edges of each level, by one before and one behind. Fails when a level reaches a slot too far, or what stands in one does not come down. */
static void in_their_millisecond(void **state)
{
	static const uint32_t ahead[] = {1, 2, 255, 256, 257, 65535, 65536, 65537, 1u << 24, (1u << 24) + 1};

	(void)state;
	for (unsigned i = 0; i < sizeof ahead / sizeof *ahead; i++)
		wheel_set(&wheel, &item[i], START + ahead[i], START);
	for (unsigned i = 0; i < sizeof ahead / sizeof *ahead; i++) {
		assert_int_equal(due_by(START + ahead[i] - 1), 0);
		assert_ptr_equal(wheel_due(&wheel, START + ahead[i]), &item[i]);
		wheel_stop(&wheel, &item[i]);
	}
	assert_int_equal(wheel.n, 0);
}

/* Random ones, some moved and some stopped, against the number that must be due. Fails when a list loses who follows the one that is taken off. */
static void many(void **state)
{
	uint32_t x = 99;
	unsigned due = 0, all = 0, want = 0;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		x = x * 1664525u + 1013904223u;
		wheel_set(&wheel, &item[i], START + 1 + (x >> 8) % 90000, START);
	}
	for (unsigned i = 0; i < N; i += 3)
		wheel_set(&wheel, &item[i], item[i].due_ms + 70000, START);
	for (unsigned i = 1; i < N; i += 3)
		wheel_stop(&wheel, &item[i]);
	assert_int_equal(wheel.n, N - N / 3);
	for (uint64_t ms = START; ms < START + 170000; ms += 37) {
		want = 0;
		for (unsigned i = 0; i < N; i++)
			want += item[i].at && item[i].due_ms <= ms;
		due = due_by(ms);
		assert_int_equal(due, want);
		all += due;
	}
	assert_int_equal(all, N - N / 3);
}

/* Who has slept finds all that was due meanwhile, in order. Fails when only the present slot is looked at. */
static void after_a_long_sleep(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		wheel_set(&wheel, &item[i], START + 1 + i * 300, START);
	assert_int_equal(due_by(START + 1000000), 1000);
}

/* What is set for now is due in the next millisecond, also while what is due is walked through. Fails (for ever) when it is due at once. */
static void set_again(void **state)
{
	(void)state;
	wheel_set(&wheel, &item[0], START + 1, START);
	assert_ptr_equal(wheel_due(&wheel, START + 1), &item[0]);
	wheel_set(&wheel, &item[0], START + 1, START + 1);
	wheel_set(&wheel, &item[1], START, START + 1);
	assert_null(wheel_due(&wheel, START + 1));
	assert_int_equal(due_by(START + 2), 2);
}

/* Further than the last level reaches: it comes down into the last level again. Fails (outside of the array, or for ever) without the limit. */
static void beyond(void **state)
{
	const uint64_t far = START + (1ull << 32) + (1u << 25);
	struct wheel_item **before;

	(void)state;
	wheel_set(&wheel, &item[0], far, START);
	before = item[0].at;
	wheel.now_ms = ((START + (uint64_t)UINT32_MAX) & ~0xffffffull) - 1; /* its slot is about to begin */
	assert_null(wheel_due(&wheel, wheel.now_ms + 1));
	assert_int_equal(wheel.n, 1);
	assert_true(item[0].at != before);
	assert_int_equal(item[0].due_ms, far);
}

/* When to look again: at the first that is due, or where a level ends, else when asked to. Fails when a slot is passed over. */
static void looks_again(void **state)
{
	(void)state;
	wheel_set(&wheel, &item[0], 1024 + 30, 1024);
	assert_int_equal(wheel_next(&wheel, 1024, 50), 1024 + 30);
	assert_int_equal(wheel_next(&wheel, 1024, 20), 1024 + 20);
	wheel_stop(&wheel, &item[0]);
	wheel_set(&wheel, &item[1], 1280 + 100, 1270);
	assert_int_equal(wheel_next(&wheel, 1270, 50), 1280);
	assert_ptr_equal(wheel_any(&wheel), &item[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(in_their_millisecond, up), cmocka_unit_test_setup(many, up), cmocka_unit_test_setup(after_a_long_sleep, up),
		cmocka_unit_test_setup(set_again, up), cmocka_unit_test_setup(beyond, up), cmocka_unit_test_setup(looks_again, up)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
