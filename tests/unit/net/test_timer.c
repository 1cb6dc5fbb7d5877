/* Timers of a worker (net/timer.c): called in the order of their times, by literal times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timer.h"

#define N 500u

static struct timers ts;
static struct timer timer[N];
static unsigned called[N], n_called, order[4 * N];
static struct timer *also; /* what a call ends */

static void call(void *arg)
{
	unsigned i = (unsigned)((struct timer *)arg - timer);

	called[i]++;
	order[n_called++] = i;
	if (also)
		timer_fini(also);
	also = NULL;
}

static void call_again(void *arg)
{
	struct timer *t = arg;

	call(arg);
	timer_at(t, t->due_ms);
}

static int begin(void **state)
{
	(void)state;
	n_called = 0;
	also = NULL;
	for (unsigned i = 0; i < N; i++) {
		called[i] = 0;
		assert_true(timer_init(&timer[i], &ts, call, &timer[i]));
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N; i++)
		timer_fini(&timer[i]);
	timers_fini(&ts);
	return 0;
}

/* Set, moved to earlier and later, stopped: what is left comes in order, and nothing before its time. Fails when a moved timer is not settled
 * both ways, or a stopped one leaves its place to the last one unsettled. */
static void in_order(void **state)
{
	uint64_t x = 88172645463325252u, due[N];

	(void)state;
	for (unsigned round = 0; round < 4; round++)
		for (unsigned i = 0; i < N; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			due[i] = 1000 + x % 1000;
			if (x % 5)
				timer_at(&timer[i], due[i]);
			else
				timer_stop(&timer[i]);
		}
	for (uint64_t now = 1000; now < 2000; now += 50) {
		unsigned before = n_called;

		timers_run(&ts, now);
		for (unsigned i = before; i < n_called; i++)
			assert_true(timer[order[i]].due_ms <= now && (now == 1000 || timer[order[i]].due_ms > now - 50));
	}
	timers_run(&ts, 2000);
	assert_int_equal(ts.n, 0);
	for (unsigned i = 1; i < n_called; i++)
		assert_true(timer[order[i - 1]].due_ms <= timer[order[i]].due_ms);
	for (unsigned i = 0; i < N; i++)
		assert_true(called[i] <= 1);
	assert_in_range(n_called, N / 2, N - 1);
}

/* A day at most, 0 for what is late, and for ever when none is set. Fails without the first or the last of timers_wait. */
static void waits(void **state)
{
	(void)state;
	assert_int_equal(timers_wait(&ts, 5), -1);
	timer_at(&timer[0], 900);
	timer_at(&timer[1], 800);
	assert_int_equal(timers_wait(&ts, 100), 700);
	assert_int_equal(timers_wait(&ts, 801), 0);
	timer_stop(&timer[1]);
	assert_int_equal(timers_wait(&ts, 801), 99);
	timer_at(&timer[0], UINT64_MAX);
	assert_int_equal(timers_wait(&ts, 0), 86400000);
}

/* One that a call has ended is not called. Fails when those that are due are listed before. */
static void ended_by_another(void **state)
{
	(void)state;
	timer_at(&timer[0], 10);
	timer_at(&timer[1], 11);
	timer_at(&timer[2], 12);
	also = &timer[1];
	timers_run(&ts, 20);
	assert_true(called[0] == 1 && called[1] == 0 && called[2] == 1);
}

/* Those that set themselves anew at once are called once each time, however many others are set, and do not keep the loop. Fails (for ever) when
 * what is set in timers_run may be due in it. */
static void at_once_again(void **state)
{
	(void)state;
	timer[0].fn = timer[1].fn = call_again;
	timer_at(&timer[0], 10);
	timer_at(&timer[1], 10);
	for (unsigned i = 2; i < 20; i++)
		timer_at(&timer[i], 1000);
	for (unsigned run = 1; run < 4; run++) {
		timers_run(&ts, 10 + run);
		assert_true(called[0] == run && called[1] == run);
	}
	assert_int_equal(ts.n, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_order, begin, end), cmocka_unit_test_setup_teardown(waits, begin, end),
		cmocka_unit_test_setup_teardown(ended_by_another, begin, end), cmocka_unit_test_setup_teardown(at_once_again, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
