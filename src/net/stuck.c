/* A letter that found its box full: the client of the flow that sent it is not read until it is posted; nobody else waits. */
#include <stdlib.h>

#include "flow.h"

#define STUCK_MS 10 /* so often it is tried again */

struct stuck {
	struct timer timer;
	struct flow *f;
	struct letter head;
	unsigned worker;
	size_t n;
	uint8_t octets[];
};

void stuck_free(struct flow *f)
{
	if (!f->stuck)
		return;
	timer_fini(&f->stuck->timer);
	free(f->stuck);
	f->stuck = NULL;
}

static void try_again(void *arg)
{
	struct stuck *k = arg;
	struct flow *f = k->f;

	if (!letter_post(&f->w->net->workers[k->worker], &k->head, hf_bytes_of(k->octets, k->n))) {
		timer_set(&k->timer, STUCK_MS);
		return;
	}
	stuck_free(f);
	worker_clock(f->w);
	if (!f->rt->front->framed) {
		conn_watch(f);
		return;
	}
	stream_again(f);
	worker_flush(f->w);
}

void conn_stuck(struct flow *f, const struct letter *l, unsigned worker, struct hf_bytes body)
{
	struct stuck *k = f->stuck ? NULL : malloc(sizeof *k + body.n); /* one a flow: a second in the same step is dropped */

	if (k) {
		*k = (struct stuck){.f = f, .head = *l, .worker = worker, .n = body.n};
		memcpy(k->octets, body.p, body.n);
	}
	if (!k || !timer_init(&k->timer, poller_timers(f->w->poller), try_again, k)) {
		free(k);
		worker_count(f->w, f->rt, HF_R_LETTER_BOX_FULL);
		return;
	}
	f->stuck = k;
	timer_set(&k->timer, STUCK_MS);
}
