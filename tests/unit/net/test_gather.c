/* When a socket is read at each arrival and when once a pause (net/gather.c): by literal times and counts of datagrams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "udp.h"

const struct hf_front *const hf_fronts[] = {NULL};

static struct hf_conf conf;
static struct hf_snapshot snap = {.conf = &conf};
static struct worker w = {.snap = &snap};
static struct listening l = {.w = &w};
static int pair[2];

static void nothing(void *arg, unsigned what) { (void)arg, (void)what; }

static int begin(void **state)
{
	(void)state;
	conf.gateway.udp_gather = 1;
	w.poller = poller_new();
	w.now_ms = 1000;
	l.gather = (struct gather){0};
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	watch_init(&l.watch, w.poller, pair[0], nothing, NULL);
	assert_true(watch_set(&l.watch, HF_READ));
	return 0;
}

static int end(void **state)
{
	(void)state;
	gather_free(&l);
	watch_fini(&l.watch);
	poller_free(w.poller);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

/* `ms` turns a millisecond apart with so many datagrams each; whether the socket is gathered from then on. */
static bool turns(unsigned ms, unsigned got)
{
	for (unsigned i = 0; i < ms; i++) {
		w.now_ms++;
		gather_turn(&l, got, false);
	}
	return l.gather.pause_ms != 0;
}

/* Three a millisecond begin it, two keep it, less ends it: fails when BEGIN and END are the same, or the window is not begun anew. */
static void begins_and_ends(void **state)
{
	(void)state;
	assert_false(turns(40, 2));
	assert_true(turns(16, 3));
	assert_true(turns(40, 2));
	assert_false(turns(16, 1));
}

/* While it is gathered only the pause wakes, but for a socket that was not read empty: the rest has waited already. Fails when no timer is set, the watch stays, or
 * when what is left waits for the pause. */
static void only_pauses_wake(void **state)
{
	(void)state;
	assert_int_equal(l.watch.what, HF_READ);
	assert_true(turns(16, 5));
	assert_true(l.gather.timer.place && l.gather.timer.due_ms == w.now_ms + 1);
	assert_int_equal(l.watch.what, 0);
	gather_turn(&l, 256, true);
	assert_int_equal(l.watch.what, HF_READ);
	gather_turn(&l, 10, false);
	assert_int_equal(l.watch.what, 0);
	assert_false(turns(40, 0));
	assert_int_equal(l.watch.what, HF_READ);
}

/* A burst after silence is none of a rate: fails when a window is as long as its last datagram. */
static void burst(void **state)
{
	(void)state;
	w.now_ms = 100000;
	gather_turn(&l, 32, false);
	assert_false(l.gather.pause_ms);
	w.now_ms += 500;
	gather_turn(&l, 32, false);
	assert_false(l.gather.pause_ms);
}

static void off(void **state)
{
	(void)state;
	conf.gateway.udp_gather = 0;
	assert_false(turns(40, 30));
	conf.gateway.udp_gather = 1; /* a reload */
	assert_true(turns(16, 30));
	conf.gateway.udp_gather = 0;
	assert_false(turns(16, 30));
}

/* With 4 ms, three in 4 ms are enough: fails when datagrams are counted by the millisecond. */
static void longer(void **state)
{
	(void)state;
	conf.gateway.udp_gather = 4;
	w.now_ms += 4 * 100;
	for (int i = 0; i < 10; i++) {
		w.now_ms += 4;
		gather_turn(&l, 3, false);
	}
	assert_true(l.gather.pause_ms);
}

/* A socket that cannot be watched again (here: a file has its number, which no poll takes) goes on being read once a pause, until it can be: else nobody
 * would read it any more. Fails when the pauses end before the watch has begun. */
static void cannot_be_watched(void **state)
{
	int kept = dup(pair[0]), file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(turns(16, 5));
	assert_int_equal(dup2(file, pair[0]), pair[0]);
	assert_true(turns(40, 0));
	assert_int_equal(dup2(kept, pair[0]), pair[0]);
	assert_false(turns(16, 0));
	close(kept);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(begins_and_ends, begin, end), cmocka_unit_test_setup_teardown(only_pauses_wake, begin, end),
		cmocka_unit_test_setup_teardown(burst, begin, end),
		cmocka_unit_test_setup_teardown(off, begin, end), cmocka_unit_test_setup_teardown(longer, begin, end),
		cmocka_unit_test_setup_teardown(cannot_be_watched, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
