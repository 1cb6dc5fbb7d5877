/* Lending: a socket a worker is what a busy gateway needs, but each worker that wakes costs as much as the messages it wakes for. So while all there is to
 * do fits well into one worker, the first one reads the others' sockets in the pause that it makes anyway (gather.c); half as many wake, and nothing
 * that a transaction's two sides tell each other crosses threads. With more to do, each has its own again.
 * A peer's datagrams keep their order: a socket changes hands between two turns of who reads it, with nothing read and not dealt with. What was held
 * before is found by its tag (keepers.h). Where datagrams are flows nothing is lent. Knows no protocol. */
#include "lend.h"

#include "holdfast/clock.h"
#include "udp.h"

enum { /* of a processor, in thousandths */
	LEND_MOST = 250,     /* two workers lend when they do no more than this together ... */
	KEEP_MOST = 500,     /* ... and have their own again from here on: what comes may double at any time, and must not wait */
	UNKNOWN = 1000000,
};
enum {
	LOOK_US = 100000,    /* over which effort is measured: some dozen turns */
	BETWEEN_MS = 500,    /* from one lending to the next, so that the first is measured with what it has got */
	AGAIN_MS = 5000,     /* behind a return because of too much to do */
};

/* After a time without turns nothing is known until the next look. */
static unsigned effort(struct worker *w)
{
	struct effort *e = &w->effort;
	uint64_t us = w->now_us - e->since_us, cpu_us;

	if (us >= LOOK_US) {
		cpu_us = hf_clock_thread_us();
		atomic_store_explicit(&e->permille, us < 2 * LOOK_US ? (unsigned)((cpu_us - e->cpu_us) * 1000 / us) : UNKNOWN, memory_order_relaxed);
		e->since_us = w->now_us;
		e->cpu_us = cpu_us;
	}
	return atomic_load_explicit(&e->permille, memory_order_relaxed);
}

static void wait_for(struct hf_net *net, uint64_t ms) { atomic_store_explicit(&net->lend_at_ms, ms, memory_order_relaxed); }

/* False: it was nobody's to give. */
static bool take_back(struct socks *s, unsigned i)
{
	bool lent = true;

	return atomic_compare_exchange_strong(&s->lent[i], &lent, false);
}

static void give_back(struct listening *l, uint64_t again_ms)
{
	struct hf_net *net = l->w->net;

	for (unsigned i = 1; i < net->n_workers; i++)
		if (lend_is_lent(l, i) && take_back(l->socks, i)) {
			wait_for(net, l->w->now_ms + again_ms);
			worker_wake(&net->workers[i]);
		}
}

/* One at a time, wherever. */
static bool may_lend(struct listening *l, unsigned own)
{
	struct hf_net *net = l->w->net;
	uint64_t at = atomic_load_explicit(&net->lend_at_ms, memory_order_relaxed);

	return l->gather.pause_ms && l->w->now_ms >= at && atomic_load(&l->socks->paused) &&
	       own + atomic_load_explicit(&net->workers[0].effort.permille, memory_order_relaxed) <= LEND_MOST &&
	       atomic_compare_exchange_strong(&net->lend_at_ms, &at, l->w->now_ms + BETWEEN_MS);
}

/* The first worker may stop to pause at any moment: it says so and then gives back; here it is lent and then looked whether it has said so. One of
 * the two sees the other. */
static void lend(struct listening *l)
{
	unsigned i = l->w->index;

	atomic_store(&l->socks->lent[i], true);
	if (!atomic_load(&l->socks->paused) && take_back(l->socks, i))
		return;
	l->away = true;
	watch_set(&l->watch, 0);
	timer_stop(&l->gather.timer);
}

void lend_turn(struct listening *l, const struct snap_service *s)
{
	struct worker *w = l->w;
	bool flows = s->rt->front->datagram_flows; /* since a reload, maybe: a flow never changes worker */
	bool pauses = l->gather.pause_ms != 0 && !flows;
	unsigned own;

	if (w->net->n_workers == 1)
		return;
	own = effort(w);
	if (w->index) {
		if (!flows && may_lend(l, own))
			lend(l);
		return;
	}
	if (atomic_load_explicit(&l->socks->paused, memory_order_relaxed) != pauses)
		atomic_store(&l->socks->paused, pauses);
	if (!pauses)
		give_back(l, BETWEEN_MS);
	else if (own > KEEP_MOST && own != UNKNOWN)
		give_back(l, AGAIN_MS);
}

void lend_look(struct worker *w)
{
	for (unsigned i = 0; i < w->n_open; i++) {
		struct listening *l = w->open[i];

		if (!l->away || lend_is_lent(l, w->index))
			continue;
		l->away = false;
		l->gather = (struct gather){.since_ms = w->now_ms, .timer = l->gather.timer};
		udp_readable(l, HF_READ);
	}
}

void lend_end(struct listening *l)
{
	if (hf_transport_is_stream(l->socks->transport))
		return;
	if (l->w->index)
		(void)take_back(l->socks, l->w->index);
	else
		give_back(l, BETWEEN_MS);
}
