/* Holds: datagrams that a front asked to keep, each with a deadline, woken on the worker that keeps them.
 * Bounded in count and octets; the earliest deadline is found by a heap, one timer a worker. */
#include "inside.h"

#include <stdlib.h>

#include "holdfast/clock.h"

#define OCTETS_MAX (16u << 20) /* held octets a worker, whatever the count */

struct hold {
	uint64_t due_ms;
	struct service_rt *rt;
	uint32_t listener;   /* hash: listeners change places on a reload */
	uint32_t member;
	struct hf_addr source, local;
	uint8_t state[HF_HOLD_STATE];
	size_t n;
	uint8_t octets[];
};

struct holds {
	struct worker *w;
	struct hf_timer *timer;
	struct hold **heap;  /* the earliest first */
	unsigned n, cap;
	size_t octets;
};

static void wake(void *arg);

struct holds *holds_new(struct worker *w)
{
	struct holds *h = calloc(1, sizeof *h);

	if (!h)
		return NULL;
	h->w = w;
	h->timer = hf_timer_new(w->loop, wake, h);
	if (h->timer)
		return h;
	free(h);
	return NULL;
}

void holds_free(struct holds *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < h->n; i++) {
		worker_count(h->w, h->heap[i]->rt, HF_R_SHUTDOWN);
		free(h->heap[i]);
	}
	free(h->heap);
	hf_timer_free(h->timer);
	free(h);
}

static void swap(struct holds *h, unsigned a, unsigned b)
{
	struct hold *t = h->heap[a];

	h->heap[a] = h->heap[b];
	h->heap[b] = t;
}

static bool before(const struct holds *h, unsigned a, unsigned b) { return h->heap[a]->due_ms < h->heap[b]->due_ms; }

static void rise(struct holds *h, unsigned i)
{
	for (; i && before(h, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

static void sink(struct holds *h)
{
	unsigned i = 0;

	for (;;) {
		unsigned least = i, l = 2 * i + 1, r = l + 1;

		if (l < h->n && before(h, l, least))
			least = l;
		if (r < h->n && before(h, r, least))
			least = r;
		if (least == i)
			return;
		swap(h, i, least);
		i = least;
	}
}

static bool room(struct holds *h)
{
	unsigned cap = h->cap ? 2 * h->cap : 64;
	struct hold **heap;

	if (h->n < h->cap)
		return true;
	heap = realloc(h->heap, cap * sizeof *heap);
	if (!heap)
		return false;
	h->heap = heap;
	h->cap = cap;
	return true;
}

static void set_timer(struct holds *h)
{
	uint64_t now = h->w->now_ms;

	if (h->n)
		hf_timer_set(h->timer, h->heap[0]->due_ms > now ? h->heap[0]->due_ms - now : 0);
}

enum hf_err hold_keep(struct parcel *p, uint32_t ms, const uint8_t state[HF_HOLD_STATE])
{
	struct holds *h = p->w->holds;
	size_t n = p->ev.bytes.n;
	struct hold *x;

	if (h->n >= p->w->snap->conf->gateway.max_holds || h->octets + n > OCTETS_MAX || !room(h))
		return HF_EFULL;
	x = malloc(sizeof *x + n);
	if (!x)
		return HF_ENOMEM;
	/* at least the next tick: a front that holds again at once must not keep wake() for ever */
	*x = (struct hold){.due_ms = p->w->now_ms + (ms ? ms : 1), .rt = p->rt, .listener = p->ev.listener ? p->ev.listener->hash : 0, .member = p->ev.member,
		.source = p->ev.source, .local = p->ev.local, .n = n};
	memcpy(x->state, state, HF_HOLD_STATE);
	if (n)
		memcpy(x->octets, p->ev.bytes.p, n);
	h->octets += n;
	h->heap[h->n++] = x;
	rise(h, h->n - 1);
	if (h->heap[0] == x)
		set_timer(h);
	return HF_OK;
}

static void wake_one(struct worker *w, struct hold *x)
{
	const struct snap_service *s = snap_service(w->snap, x->rt->id);
	struct parcel p = {.w = w, .service = s, .rt = x->rt};

	if (!s) {
		worker_count(w, x->rt, HF_R_SERVICE_REMOVED);
		return;
	}
	p.pool = s->pool->rt;
	hf_arena_reset(&w->arena);
	deliver_ctx(w, s, &p.ctx);
	p.ev = (struct hf_event){.kind = HF_EV_WAKE, .bytes = hf_bytes_of(x->octets, x->n), .listener = snap_listener(s, x->listener, NULL), .source = x->source,
		.local = x->local, .member = x->member, .hold = x->state};
	deliver_run(&p);
}

static void wake(void *arg)
{
	struct holds *h = arg;

	h->w->now_ms = hf_clock_ms();
	while (h->n && h->heap[0]->due_ms <= h->w->now_ms) {
		struct hold *x = h->heap[0];

		h->heap[0] = h->heap[--h->n];
		sink(h);
		h->octets -= x->n;
		wake_one(h->w, x);
		free(x);
	}
	worker_flush(h->w);
	set_timer(h);
}
