/* A worker's loop (net/poller.c): what is told, how often, and what is not told any more. A turn of the test is one of the loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "poller.h"

#define N 300 /* more than a turn tells */

struct end {
	struct watch watch;
	int fd, peer;
	unsigned told, what;
};
static struct poller *p;
static struct timer stop, late;
static struct end ends[N];
static unsigned total;
static void (*also)(struct end *e); /* what a call does beside */

static void tell(void *arg, unsigned what)
{
	struct end *e = arg;

	e->told++;
	e->what = what;
	total++;
	if (also)
		also(e);
}

static void stop_now(void *arg)
{
	(void)arg;
	poller_stop(p);
}

static void count_late(void *arg)
{
	(void)arg;
	total++;
}

/* One turn of what is ready now; how much was told. */
static unsigned turn(void)
{
	total = 0;
	timer_set(&stop, 0);
	poller_run(p);
	return total;
}

static void open_end(struct end *e)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	*e = (struct end){.fd = pair[0], .peer = pair[1]};
	watch_init(&e->watch, p, e->fd, tell, e);
}

static void close_end(struct end *e)
{
	watch_fini(&e->watch);
	close(e->fd);
	close(e->peer);
}

static int begin(void **state)
{
	(void)state;
	p = poller_new();
	assert_non_null(p);
	also = NULL;
	assert_true(timer_init(&stop, poller_timers(p), stop_now, NULL) && timer_init(&late, poller_timers(p), count_late, NULL));
	for (int i = 0; i < 2; i++)
		open_end(&ends[i]);
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		close_end(&ends[i]);
	timer_fini(&stop);
	timer_fini(&late);
	poller_free(p);
	return 0;
}

static void say(struct end *e) { assert_int_equal(send(e->peer, "x", 1, 0), 1); }

static void both_ready(unsigned what)
{
	for (int i = 0; i < 2; i++) {
		assert_true(watch_set(&ends[i].watch, what));
		say(&ends[i]);
	}
}

static struct end *other(struct end *e) { return e == &ends[0] ? &ends[1] : &ends[0]; }

/* ---- without edges ---- */

/* Each turn, until it is read or not watched any more. Fails when a change to 0 is no change, or edges are the rule. */
static void told_each_turn(void **state)
{
	(void)state;
	both_ready(HF_READ);
	assert_int_equal(turn(), 2);
	assert_int_equal(turn(), 2);
	assert_true(ends[0].what == HF_READ);
	assert_true(watch_set(&ends[0].watch, HF_READ | HF_WRITE));
	assert_int_equal(turn(), 2);
	assert_true(ends[0].what == (HF_READ | HF_WRITE));
	assert_true(watch_set(&ends[0].watch, HF_WRITE));
	assert_true(watch_set(&ends[1].watch, 0));
	assert_int_equal(turn(), 1);
	assert_true(ends[0].what == HF_WRITE);
	close(ends[0].peer);
	ends[0].peer = -1;
	assert_int_equal(turn(), 1);
	assert_true(ends[0].what == HF_WRITE); /* what it does not watch for is not told of an end either */
	assert_true(watch_set(&ends[0].watch, 0));
	assert_int_equal(turn(), 0);
}

/* ---- what a call does to the other ---- */

static void fini_other(struct end *e)
{
	watch_fini(&other(e)->watch);
	other(e)->watch.what = HF_READ; /* its memory is somebody else's */
}
static void mute_other(struct end *e) { watch_set(&other(e)->watch, 0); }

static void other_is_not_told(void (*how)(struct end *e), unsigned what)
{
	also = how;
	both_ready(what);
	assert_int_equal(turn(), 1);
	assert_int_equal(ends[0].told + ends[1].told, 1);
}

/* Fails without the loop of strike: the end would be told by memory that may be gone. */
static void ended_in_the_same_turn(void **state)
{
	(void)state;
	other_is_not_told(fini_other, HF_READ);
}
static void ended_in_the_same_turn_edges(void **state)
{
	(void)state;
	other_is_not_told(fini_other, HF_READ | WATCH_EDGES);
}
/* Fails when what is told is not what is watched for now. */
static void changed_in_the_same_turn(void **state)
{
	(void)state;
	other_is_not_told(mute_other, HF_READ);
}

static void close_other(struct end *e)
{
	struct end *o = other(e);
	int fd = o->fd, pair[2];

	if (!o->watch.of)
		return;
	watch_close(&o->watch);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pair[0], fd); /* the number is used again */
	close(o->peer);
	o->peer = pair[1];
	watch_init(&o->watch, p, fd, tell, o);
	assert_true(watch_set(&o->watch, HF_READ));
	also = NULL;
}

/* A descriptor closed and its number used again in the same turn: only the new one's is told, and it is watched. Fails without strike in watch_close. */
static void closed_and_used_again(void **state)
{
	struct end *first, *second;

	(void)state;
	other_is_not_told(close_other, HF_READ | WATCH_EDGES);
	first = ends[0].told ? &ends[0] : &ends[1];
	second = other(first);
	say(second);
	assert_int_equal(turn(), 1);
	assert_true(second->told == 1 && first->told == 1);
}

/* ---- with edges ---- */

/* Once for what comes; what is watched for is kept, and a change tells what is ready. Fails when bits are taken off, or each turn tells. */
static void told_once(void **state)
{
	struct end *e = &ends[0];

	(void)state;
	say(e);
	assert_true(watch_set(&e->watch, WATCH_EDGES | HF_READ));
	assert_int_equal(turn(), 1);
	assert_int_equal(turn(), 0);
	say(e);
	assert_int_equal(turn(), 1);
	assert_true(watch_set(&e->watch, WATCH_EDGES | HF_WRITE));
	assert_int_equal(turn(), 1);
	assert_true(e->what == (HF_READ | HF_WRITE));
	assert_true(watch_set(&e->watch, WATCH_EDGES));
	assert_true(e->watch.what == (WATCH_EDGES | HF_READ | HF_WRITE));
	assert_int_equal(turn(), 0);
	assert_true(watch_set(&e->watch, HF_READ)); /* each turn from now on */
	assert_true(turn() == 1 && turn() == 1 && e->what == HF_READ);
}

/* FIN is told as an end, also when octets come with it, and by itself. Fails without EPOLLRDHUP. */
static void told_of_the_end(void **state)
{
	(void)state;
	both_ready(WATCH_EDGES | HF_READ);
	shutdown(ends[0].peer, SHUT_WR);
	assert_int_equal(turn(), 2);
	assert_true(ends[0].what == (HF_READ | WATCH_END) && ends[1].what == HF_READ);
	shutdown(ends[1].peer, SHUT_WR);
	assert_int_equal(turn(), 1);
	assert_true(ends[1].what == (HF_READ | WATCH_END));
}

static void again_and_again(struct end *e) { watch_again(&e->watch); }

/* Asked for, it is told once more each time, and never twice for one; who asks in each call leaves the turn to others. Fails (for ever) when the
 * turn goes on while there are any, and when what is told as ready stays in the list. */
static void told_again(void **state)
{
	struct end *e = &ends[0];

	(void)state;
	assert_true(watch_set(&e->watch, WATCH_EDGES | HF_READ));
	watch_again(&e->watch);
	watch_again(&e->watch);
	assert_int_equal(turn(), 1);
	assert_int_equal(turn(), 0);
	watch_again(&e->watch);
	say(e);
	assert_int_equal(turn(), 1);
	also = again_and_again;
	watch_again(&e->watch);
	assert_int_equal(turn(), 1);
	assert_int_equal(turn(), 1);
	also = NULL;
}

static void fini_both(struct end *e)
{
	watch_fini(&e->watch);
	watch_fini(&other(e)->watch);
}

/* One of the list that another ends, or that ends itself, is not told. Fails without take_off in strike. */
static void ended_in_the_list(void **state)
{
	(void)state;
	watch_again(&ends[0].watch);
	watch_again(&ends[1].watch);
	also = fini_both;
	assert_int_equal(turn(), 1);
	also = NULL;
	assert_int_equal(turn(), 0);
}

/* ---- the end ---- */

static void stop_too(struct end *e)
{
	(void)e;
	poller_stop(p);
}

/* Behind the call that stops it nothing is told: what the others stand for may be gone. Fails without any of the three looks at `stop`. */
static void stopped(void **state)
{
	(void)state;
	also = stop_too;
	both_ready(HF_READ);
	watch_again(&ends[0].watch);
	timer_set(&late, 0);
	assert_int_equal(turn(), 1);
	also = NULL;
	watch_set(&ends[0].watch, 0);
	watch_set(&ends[1].watch, 0);
	watch_again(&ends[0].watch);
	watch_again(&ends[1].watch);
	timer_stop(&late);
	also = stop_too;
	assert_int_equal(turn(), 1);
}

/* ---- many, and none ---- */

/* More than a call of the system tells: each is told, once. Fails when a turn drops what it does not tell. */
static void many(void **state)
{
	unsigned sum = 0;

	(void)state;
	for (int i = 2; i < N; i++)
		open_end(&ends[i]);
	for (int i = 0; i < N; i++) {
		assert_true(watch_set(&ends[i].watch, WATCH_EDGES | HF_READ));
		say(&ends[i]);
	}
	for (int i = 0; i < 4; i++)
		sum += turn();
	assert_int_equal(sum, N);
	for (int i = 0; i < N; i++)
		assert_int_equal(ends[i].told, 1);
	for (int i = 2; i < N; i++)
		close_end(&ends[i]);
}

/* A file is nothing to poll: it says so, and the watch may be tried again. Fails when `what` is set all the same. */
static void refused(void **state)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), kept = dup(ends[0].fd);

	(void)state;
	assert_int_equal(dup2(file, ends[0].fd), ends[0].fd);
	assert_false(watch_set(&ends[0].watch, HF_READ));
	assert_int_equal(ends[0].watch.what, 0);
	assert_int_equal(dup2(kept, ends[0].fd), ends[0].fd);
	say(&ends[0]);
	assert_true(watch_set(&ends[0].watch, HF_READ));
	assert_int_equal(turn(), 1);
	watch_fini(&ends[0].watch);
	close(kept);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(told_each_turn, begin, end), cmocka_unit_test_setup_teardown(ended_in_the_same_turn, begin, end),
		cmocka_unit_test_setup_teardown(ended_in_the_same_turn_edges, begin, end), cmocka_unit_test_setup_teardown(changed_in_the_same_turn, begin, end),
		cmocka_unit_test_setup_teardown(closed_and_used_again, begin, end), cmocka_unit_test_setup_teardown(told_once, begin, end),
		cmocka_unit_test_setup_teardown(told_of_the_end, begin, end), cmocka_unit_test_setup_teardown(told_again, begin, end),
		cmocka_unit_test_setup_teardown(ended_in_the_list, begin, end), cmocka_unit_test_setup_teardown(many, begin, end),
		cmocka_unit_test_setup_teardown(stopped, begin, end), cmocka_unit_test_setup_teardown(refused, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
