/* So many a second: by literal times, for every rate, and with threads that take at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <cmocka.h>

#include "holdfast/rate.h"

static unsigned take(struct hf_rate *r, uint32_t per_s, uint64_t from_ms, uint64_t to_ms, unsigned tries_ms)
{
	unsigned got = 0;

	for (uint64_t t = from_ms; t < to_ms; t++)
		for (unsigned i = 0; i < tries_ms; i++) {
			bool full = hf_rate_full(r, per_s, t);

			assert_int_equal(hf_rate_take(r, per_s, t), !full);
			got += !full;
		}
	return got;
}

/* A burst of a second's worth, then the rate; what was not used is kept for a second, and no longer. Fails when the span or the step is another. */
static void by_time(void **state)
{
	static const uint32_t rates[] = {1, 3, 7, 10, 100, 999, 1000, 7919, HF_RATE_MAX};

	(void)state;
	for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
		struct hf_rate r = {0};
		uint32_t n = rates[i];
		unsigned tries = n / 1000 + 2, got;

		got = take(&r, n, 5000, 5001, n + 10);
		assert_in_range(got, n, n + n / 1000 + 1);
		got = take(&r, n, 5001, 15001, tries);
		assert_in_range(got, 10 * (uint64_t)n - n / 1000 - 1, 10 * (uint64_t)n + n / 100 + 1);
		got = take(&r, n, 100000, 100001, n + 10);
		assert_in_range(got, n, n + n / 1000 + 1);
	}
}

static void no_limit(void **state)
{
	struct hf_rate r = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_true(!hf_rate_full(&r, 0, 7) && hf_rate_take(&r, 0, 7));
	assert_int_equal(r.until, 0);
}

/* A thread whose clock is behind takes nothing twice. */
static void clocks_differ(void **state)
{
	struct hf_rate r = {0};

	(void)state;
	assert_int_equal(take(&r, 10, 5000, 5001, 20), 10);
	assert_int_equal(take(&r, 10, 4990, 5000, 2), 0);
	assert_true(hf_rate_take(&r, 10, 5100));
}

enum { THREADS = 4, TRIES = 50000, RATE = 40000 };
static struct hf_rate shared;

static void *taker(void *arg)
{
	unsigned *got = arg;

	for (unsigned i = 0; i < TRIES; i++)
		*got += hf_rate_take(&shared, RATE, 9000);
	return NULL;
}

/* Fails when a take that lost its race counts all the same. */
static void threads(void **state)
{
	pthread_t t[THREADS];
	unsigned got[THREADS] = {0}, sum = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, taker, &got[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += got[i];
	}
	assert_in_range(sum, RATE, RATE + RATE / 1000 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(by_time), cmocka_unit_test(no_limit), cmocka_unit_test(clocks_differ), cmocka_unit_test(threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
