/* Two workers that decide at the same moment (net/lend.c): the first begins and ends to pause while the second gives its socket away and has it back. Whatever
 * they meet in, in the end somebody reads it. Fails when lend() does not look again whether the first pauses; to the thread sanitizer
 * when who reads is no atomic. */
#include <pthread.h>
#include <sched.h>

#include "rig.h"
#include "lend.h"
#include "udp.h"

enum { LENT = 100, MOST_MS = 2000 }; /* so often it is lent, or as often as that time allows */

static struct socks *socks;
static struct listening *l[2];
static atomic_bool over;
static atomic_uint lent, turns;
static unsigned lost;

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts) { (void)ctx, (void)ev, (void)acts; }

static void turn(struct listening *at, uint64_t pause_ms)
{
	struct worker *w = at->w;

	w->now_us += 1000;
	w->now_ms++;
	w->effort.since_us = w->now_us; /* nothing is measured: each does little */
	w->effort.permille = 0;
	at->gather.pause_ms = pause_ms;
	lend_turn(at, &rig.service);
}

/* The second has ended the turn that it was at. */
static void settle(void)
{
	unsigned from = atomic_load(&turns);

	for (unsigned spins = 1; atomic_load(&turns) - from < 2; spins++)
		if (spins % 4096 == 0)
			sched_yield(); /* there may be one processor */
}

static void *first(void *arg)
{
	const uint64_t end_ms = hf_clock_ms() + MOST_MS;

	(void)arg;
	for (int i = 0; atomic_load(&lent) < LENT && hf_clock_ms() < end_ms; i++) {
		turn(l[0], 2);
		for (int wait = i % 512; wait; wait--) /* the second is at another place each time */
			atomic_load(&turns);
		turn(l[0], 0);
		settle();
		lost += lend_is_lent(l[0], 1);
	}
	atomic_store(&over, true);
	return NULL;
}

static void *second(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		atomic_store(&rig.net->lend_at_ms, 0);
		if (!l[1]->away)
			turn(l[1], 2);
		atomic_fetch_add(&lent, l[1]->away);
		lend_look(l[1]->w);
		atomic_fetch_add(&turns, 1);
	}
	return NULL;
}

static void up(void)
{
	struct hf_addr at = {.family = 4, .ip = {127, 0, 0, 1}};

	rig_step = step;
	rig_workers = 2;
	rig_up(NULL);
	rig.conf.gateway.udp_gather = 2;
	socks = calloc(1, sizeof *socks + 2 * sizeof(int));
	for (unsigned i = 0; i < 2; i++) {
		struct worker *w = &rig.net->workers[i];

		socks->fd[i] = sock_listen(&at, false, 0);
		at = sock_local(socks->fd[i]);
		l[i] = calloc(1, sizeof *l[i]);
		*l[i] = (struct listening){.w = w, .socks = socks, .service = 1};
		watch_init(&l[i]->watch, w->poller, socks->fd[i], udp_readable, l[i]);
		assert_true(socks->fd[i] >= 0 && watch_set(&l[i]->watch, HF_READ));
		w->open = calloc(1, sizeof *w->open);
		w->open[0] = l[i];
		w->n_open = 1;
	}
	rig.info.transport = HF_UDP;
	rig.info.addr = at;
}

static void somebody_reads(void **state)
{
	struct socks *s;
	pthread_t t[2];

	up();
	s = socks;
	assert_int_equal(pthread_create(&t[0], NULL, first, NULL), 0);
	assert_int_equal(pthread_create(&t[1], NULL, second, NULL), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert_false(lend_is_lent(l[0], 1));
	lend_look(l[1]->w);
	assert_false(l[1]->away);
	assert_int_equal(l[1]->watch.what, HF_READ);
	assert_int_equal(lost, 0);
	rig_down(state);
	for (int i = 0; i < 2; i++)
		close(s->fd[i]);
	free(s);
	if (!lent) /* one processor: they never meet */
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(somebody_reads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
