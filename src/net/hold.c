/* Holds: parcels that a front asked to keep, each with a deadline and a few octets of the front's state, on the worker that keeps them.
 * Found by the front's tag, of which its name is made; the earliest deadline is found by a heap, one timer a worker.
 * Bounded in count and octets. Called by deliver.c, told.c and the worker. Knows no protocol. */
#include "inside.h"

#include <stdlib.h>

#include "holdfast/clock.h"

#define OCTETS_MAX (16u << 20) /* held octets a worker, whatever the count */
#define LOOK_MS 50             /* so often notes are read while anything is held: posting one wakes nobody */
#define FIRST 64u              /* places at first; doubled when there are no more */

struct hold {
	uint64_t due_ms, tag;
	struct service_rt *rt;
	struct hold *next;   /* of the same bucket; or the next free one */
	uint32_t heap_at;
	uint32_t listener;   /* hash: listeners change places on a reload */
	uint32_t member;
	bool from_servers, awake; /* awake: its deadline has come, and nothing has set a new one yet */
	enum hf_transport transport;
	struct hf_addr source, local;
	struct hf_flow_name flow; /* generation 0: a datagram */
	uint8_t state[HF_HOLD_STATE] __attribute__((aligned(8)));
	size_t n;
	uint8_t *octets;     /* NULL: let go */
};
/* A held request costs its octets and at most 512: its place, a place in each of two lists that may just have doubled, the heads of two allocations. */
_Static_assert(sizeof(struct hold) + 2 * 2 * sizeof(struct hold *) + 2 * 16 <= 512, "a hold is small");

struct holds {
	struct worker *w;
	struct timer timer;
	uint64_t timer_ms;   /* when it is due, 0: not set */
	struct hold **heap;  /* those in use, the earliest first */
	struct hold **bucket; /* by tag; as many as places in the heap */
	struct hold *free;   /* never freed before the end */
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
	if (timer_init(&h->timer, poller_timers(w->poller), wake, h))
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
		free(h->heap[i]->octets);
		free(h->heap[i]);
	}
	for (struct hold *x = h->free, *next; x; x = next) {
		next = x->next;
		free(x);
	}
	free(h->heap);
	free(h->bucket);
	timer_fini(&h->timer);
	free(h);
}

/* ---- the heap ---- */

static void put(struct holds *h, unsigned i, struct hold *x)
{
	h->heap[i] = x;
	x->heap_at = i;
}

static void swap(struct holds *h, unsigned a, unsigned b)
{
	struct hold *t = h->heap[a];

	put(h, a, h->heap[b]);
	put(h, b, t);
}

static bool before(const struct holds *h, unsigned a, unsigned b) { return h->heap[a]->due_ms < h->heap[b]->due_ms; }

static void rise(struct holds *h, unsigned i)
{
	for (; i && before(h, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

static void sink(struct holds *h, unsigned i)
{
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

static void take_out(struct holds *h, unsigned i)
{
	struct hold *last = h->heap[--h->n];

	if (i == h->n)
		return;
	put(h, i, last);
	rise(h, i);
	sink(h, last->heap_at);
}

/* ---- places and tags ---- */

static struct hold **bucket_of(struct holds *h, uint64_t tag) { return &h->bucket[tag >> 32 & (h->cap - 1)]; } /* what a name has of it as it is; there are never more than 2^20 */

static void link_tag(struct holds *h, struct hold *x)
{
	struct hold **at = bucket_of(h, x->tag);

	x->next = *at;
	*at = x;
}

static void unlink_tag(struct holds *h, const struct hold *x)
{
	struct hold **at = bucket_of(h, x->tag);

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
}

static bool widen(void *list, unsigned n)
{
	struct hold ***at = list, **p = realloc(*at, n * sizeof *p);

	if (p)
		*at = p;
	return p != NULL;
}

static bool grow(struct holds *h)
{
	unsigned cap = h->cap ? 2 * h->cap : FIRST;

	if (!widen(&h->heap, cap) || !widen(&h->bucket, cap))
		return false;
	memset(h->bucket, 0, cap * sizeof *h->bucket);
	h->cap = cap;
	for (unsigned i = 0; i < h->n; i++)
		if (h->heap[i]->tag)
			link_tag(h, h->heap[i]);
	return true;
}

/* A free place: h->free. */
static bool place(struct holds *h)
{
	struct hold *x;

	if (h->free)
		return true;
	if (h->n == h->cap && !grow(h))
		return false;
	x = calloc(1, sizeof *x);
	if (!x)
		return false;
	h->free = x;
	return true;
}

/* Made of 56 bits of the tag: what is sent again under a tag names the same hold, also when that has ended. Generation 0 is no name. */
static struct hf_flow_name name_of(const struct worker *w, uint64_t tag)
{
	if (!tag)
		return (struct hf_flow_name){0};
	return (struct hf_flow_name){(uint8_t)w->index, tag >> 32 & 0xffffff, (uint32_t)tag ? (uint32_t)tag : 1, w->net->site.boot};
}

static bool room(const struct holds *h, size_t n) { return h->n < h->w->snap->conf->gateway.max_holds && h->octets + n <= OCTETS_MAX; }

struct hf_flow_name hold_next(struct worker *w, size_t n, uint64_t tag)
{
	struct holds *h = w->holds;

	return room(h, n) && place(h) ? name_of(w, tag) : (struct hf_flow_name){0};
}

struct hf_flow_name hold_name(const struct worker *w, const struct hold *x) { return name_of(w, x->tag); }

struct hold *hold_find(struct worker *w, const struct service_rt *rt, const struct hf_flow_name *f)
{
	struct holds *h = w->holds;

	if (!h->n || f->worker != w->index || f->boot != w->net->site.boot)
		return NULL;
	for (struct hold *x = *bucket_of(h, (uint64_t)f->slot << 32); x; x = x->next)
		if (x->rt == rt && name_of(w, x->tag).slot == f->slot && name_of(w, x->tag).generation == f->generation)
			return x;
	return NULL;
}

struct hold *hold_tagged(struct worker *w, const struct service_rt *rt, uint64_t tag)
{
	struct holds *h = w->holds;

	if (!h->n)
		return NULL;
	for (struct hold *x = *bucket_of(h, tag); x; x = x->next)
		if (x->tag == tag && x->rt == rt)
			return x;
	return NULL;
}

/* ---- keeping ---- */

static void set_timer(struct holds *h)
{
	uint64_t now = h->w->now_ms, due;

	if (!h->n)
		return;
	due = h->heap[0]->due_ms < now + LOOK_MS ? h->heap[0]->due_ms : now + LOOK_MS;
	if (h->timer_ms && h->timer_ms <= due)
		return;
	h->timer_ms = due;
	timer_set(&h->timer, due > now ? due - now : 0);
}

static void let_go(struct holds *h, struct hold *x)
{
	h->octets -= x->n;
	free(x->octets);
	x->octets = NULL;
	x->n = 0;
}

/* At least the next tick: a front that holds again at once must not keep wake() for ever. */
static uint64_t due_in(const struct holds *h, uint32_t ms) { return h->w->now_ms + (ms ? ms : 1); }

struct hold *hold_keep(struct parcel *p, uint32_t ms, const uint8_t state[HF_HOLD_STATE], struct hf_bytes octets, uint64_t tag)
{
	struct holds *h = p->w->holds;
	uint8_t *copy;
	struct hold *x;

	if (!room(h, octets.n) || !place(h))
		return NULL;
	copy = malloc(octets.n ? octets.n : 1);
	if (!copy)
		return NULL;
	if (octets.n)
		memcpy(copy, octets.p, octets.n);
	x = h->free;
	h->free = x->next;
	*x = (struct hold){.due_ms = due_in(h, ms), .tag = tag, .rt = p->rt, .listener = p->ev.listener ? p->ev.listener->hash : 0,
		.member = p->ev.member, .from_servers = p->ev.from_servers, .transport = p->ev.transport, .source = p->ev.source, .local = p->ev.local,
		.flow = p->ev.flow_name, .n = octets.n, .octets = copy};
	memcpy(x->state, state, HF_HOLD_STATE);
	h->octets += octets.n;
	if (tag)
		link_tag(h, x);
	put(h, h->n, x);
	rise(h, h->n++);
	set_timer(h);
	return x;
}

void hold_again(struct worker *w, struct hold *x, uint32_t ms, const uint8_t state[HF_HOLD_STATE])
{
	struct holds *h = w->holds;

	if (state != x->state)
		memcpy(x->state, state, HF_HOLD_STATE);
	x->awake = false;
	x->due_ms = due_in(h, ms);
	rise(h, x->heap_at);
	sink(h, x->heap_at);
	set_timer(h);
}

void hold_shed(struct worker *w, struct hold *x) { let_go(w->holds, x); }

void hold_spare(struct worker *w, struct hold *x)
{
	if (w->holds->octets > OCTETS_MAX / 2)
		let_go(w->holds, x);
}

void hold_end(struct worker *w, struct hold *x)
{
	struct holds *h = w->holds;

	if (x->tag)
		unlink_tag(h, x);
	take_out(h, x->heap_at);
	let_go(h, x);
	x->awake = false;
	x->next = h->free;
	h->free = x;
}

/* ---- events ---- */

uint8_t *hold_state(struct hold *x) { return x->state; }

void hold_came(const struct hold *x, const struct snap_service *s, struct hf_event *ev)
{
	const struct hf_listener_info *l = snap_listener(s, x->listener, NULL);

	/* a listener that a reload took away leaves what came to it, as it leaves its connections */
	*ev = (struct hf_event){.kind = HF_EV_BYTES, .bytes = hf_bytes_of(x->octets, x->n), .listener = l ? l : &s->infos[0], .source = x->source, .local = x->local,
		.transport = x->transport, .member = x->member, .from_servers = x->from_servers, .flow_name = x->flow};
}

void hold_step(struct worker *w, struct hold *x, enum hf_event_kind kind, struct hf_bytes note)
{
	const struct snap_service *s = snap_service(w->snap, x->rt->id);
	struct parcel p = {.w = w, .service = s, .rt = x->rt};
	struct hf_event came;

	if (!s) {
		worker_count(w, x->rt, HF_R_SERVICE_REMOVED);
		hold_end(w, x);
		return;
	}
	p.pool = s->pool->rt;
	deliver_ctx(w, s, &p.ctx);
	hold_came(x, s, &p.ev);
	p.ev.kind = kind;
	if (kind == HF_EV_NOTE)
		p.ev.bytes = note;
	deliver_enter(&p, x, &came);
	deliver_run(&p);
}

static void wake(void *arg)
{
	struct holds *h = arg;
	struct worker *w = h->w;

	w->now_ms = hf_clock_ms();
	h->timer_ms = 0;
	if (w->snap)
		deliver_letters(w); /* what is known elsewhere comes before the deadline */
	while (h->n && h->heap[0]->due_ms <= w->now_ms) {
		struct hold *x = h->heap[0];

		x->awake = true;
		hf_arena_reset(&w->arena);
		hold_step(w, x, HF_EV_WAKE, HF_NONE);
		if (x->awake)
			hold_end(w, x);
	}
	worker_flush(w);
	set_timer(h);
}
