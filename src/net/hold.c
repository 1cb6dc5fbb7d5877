/* Holds: parcels that a front asked to keep, each with a deadline and a few octets of the front's state, on the worker that keeps them.
 * Found by the front's tag, of which its name is made (tags.h); deadlines stand in a wheel (wheel.h), under one timer a worker.
 * Bounded in count and octets. Called by deliver.c, told.c and the worker. Knows no protocol. */
#include "inside.h"

#include <stdlib.h>

#include "holdfast/clock.h"
#include "keepers.h"
#include "tags.h"
#include "wheel.h"
#include "seek.h"

#define OCTETS_MAX (16u << 20) /* held octets a worker, whatever the count */
#define LOOK_MS 50             /* so often notes are read while anything is held: posting one wakes nobody */
#define FIRST 64u              /* places at first; doubled when there are no more */

struct hold { /* what finding and keeping it needs fills a line of the cache; next to it is what its steps need */
	struct wheel_item due;  /* the first, for what is due is a hold */
	uint64_t tag;
	struct service_rt *rt;
	uint8_t *octets;        /* NULL: let go */
	size_t n;
	struct hold *next_free;
	uint8_t state[HF_HOLD_STATE];
	bool seeks;             /* it waits for a name (seek.c) */
	bool awake, silent;     /* its deadline has come, and nothing has set a new one yet; then it ends without a step */
	bool races;             /* counted in net->races */
	bool from_servers;
	enum hf_transport transport;
	uint32_t listener;      /* hash: listeners change places on a reload */
	uint32_t member;
	struct hf_addr source, local;
	struct hf_flow_name flow; /* generation 0: a datagram */
};
/* A held request costs its octets and at most 512: its place, a place among the tags here and one among all workers', which may just have doubled, the
 * heads of two allocations. */
_Static_assert(sizeof(struct hold) + 2 * 2 * 2 * sizeof(struct tag_cell) + 2 * 16 <= 512, "a hold is small");

struct holds {
	struct worker *w;
	struct timer timer;
	uint64_t timer_ms;   /* when it is due, 0: not set */
	struct wheel wheel;  /* those in use */
	struct tags tags;
	struct hold *free;   /* never freed before the end */
	unsigned cap;
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
	struct wheel_item *i;

	if (!h)
		return;
	while ((i = wheel_any(&h->wheel))) {
		struct hold *x = (struct hold *)i;

		worker_count(h->w, x->rt, HF_R_SHUTDOWN);
		wheel_stop(&h->wheel, i);
		free(x->octets);
		free(x);
	}
	for (struct hold *x = h->free, *next; x; x = next) {
		next = x->next_free;
		free(x);
	}
	free(h->tags.cell);
	timer_fini(&h->timer);
	free(h);
}

/* ---- places and tags ---- */

static bool grow(struct holds *h)
{
	unsigned cap = h->cap ? 2 * h->cap : FIRST;

	if (!tags_widen(&h->tags, cap))
		return false;
	h->cap = cap;
	return true;
}

/* A free place: h->free. */
static bool place(struct holds *h)
{
	if (h->free)
		return true;
	if (h->wheel.n == h->cap && !grow(h))
		return false;
	h->free = calloc(1, sizeof *h->free);
	return h->free != NULL;
}

/* Made of 56 bits of the tag: what is sent again under a tag names the same hold, also when that has ended. Generation 0 is no name. */
static struct hf_flow_name name_of(const struct worker *w, uint64_t tag)
{
	if (!tag)
		return (struct hf_flow_name){0};
	return (struct hf_flow_name){(uint8_t)w->index, tag >> 32 & 0xffffff, (uint32_t)tag ? (uint32_t)tag : 1, w->net->site.boot};
}

static bool room(const struct holds *h, size_t n) { return h->wheel.n < h->w->snap->conf->gateway.max_holds && h->octets + n <= OCTETS_MAX; }

struct hf_flow_name hold_next(struct worker *w, size_t n, uint64_t tag)
{
	struct holds *h = w->holds;

	return room(h, n) && place(h) ? name_of(w, tag) : (struct hf_flow_name){0};
}

struct hf_flow_name hold_name(const struct worker *w, const struct hold *x) { return name_of(w, x->tag); }

struct hold *hold_find(struct worker *w, const struct service_rt *rt, const struct hf_flow_name *f)
{
	struct tags *t = &w->holds->tags;

	if (!t->cell || (f->worker != w->index && f->boot == w->net->site.boot)) /* of another boot: its worker then says nothing of where it is now */
		return NULL;
	for (const struct tag_cell *c = tags_first(t, (uint64_t)f->slot << 32); c->of; c = tags_next(t, c))
		if (name_of(w, c->tag).slot == f->slot && name_of(w, c->tag).generation == f->generation && ((struct hold *)c->of)->rt == rt)
			return c->of;
	return NULL;
}

struct hold *hold_tagged(struct worker *w, const struct service_rt *rt, uint64_t tag)
{
	struct tags *t = &w->holds->tags;

	if (!t->cell)
		return NULL;
	for (const struct tag_cell *c = tags_first(t, tag); c->of; c = tags_next(t, c))
		if (c->tag == tag && ((struct hold *)c->of)->rt == rt)
			return c->of;
	return NULL;
}

/* ---- keeping ---- */

static void look_at(struct holds *h, uint64_t due_ms)
{
	if (h->timer_ms && h->timer_ms <= due_ms)
		return;
	h->timer_ms = due_ms;
	timer_at(&h->timer, due_ms);
}

/* At least the next tick: a front that holds again at once must not keep wake() for ever. */
static void set_due(struct holds *h, struct hold *x, uint32_t ms)
{
	uint64_t now = h->w->now_ms, due = now + (ms ? ms : 1);

	wheel_set(&h->wheel, &x->due, due, now);
	look_at(h, ms < LOOK_MS ? due : now + LOOK_MS);
}

static void let_go(struct holds *h, struct hold *x)
{
	h->octets -= x->n;
	free(x->octets);
	x->octets = NULL;
	x->n = 0;
}

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
	h->free = x->next_free;
	*x = (struct hold){.tag = tag, .rt = p->rt, .listener = p->ev.listener ? p->ev.listener->hash : 0,
		.member = p->ev.member, .from_servers = p->ev.from_servers, .transport = p->ev.transport, .source = p->ev.source, .local = p->ev.local,
		.flow = p->ev.flow_name, .n = octets.n, .octets = copy};
	memcpy(x->state, state, HF_HOLD_STATE);
	h->octets += octets.n;
	if (tag) {
		tags_put(&h->tags, tag, x);
		keepers_put(h->w->net->keepers, tag, h->w);
	}
	set_due(h, x, ms);
	return x;
}

void hold_again(struct worker *w, struct hold *x, uint32_t ms, const uint8_t state[HF_HOLD_STATE], bool silent)
{
	if (state != x->state)
		memcpy(x->state, state, HF_HOLD_STATE);
	x->awake = false;
	x->silent = silent;
	set_due(w->holds, x, ms);
}

void hold_races(struct worker *w, struct hold *x, bool races)
{
	if (races == x->races)
		return;
	atomic_fetch_add(&w->net->races, races ? 1u : -1u);
	x->races = races;
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

	if (x->tag) {
		(void)tags_take(&h->tags, x->tag, x);
		keepers_take(w->net->keepers, x->tag, w);
	}
	if (x->races)
		hold_races(w, x, false);
	wheel_stop(&h->wheel, &x->due);
	let_go(h, x);
	x->awake = false;
	x->next_free = h->free;
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

bool hold_parcel(struct worker *w, const struct hold *x, struct parcel *p)
{
	const struct snap_service *s = snap_service(w->snap, x->rt->id);

	if (!s) {
		worker_count(w, x->rt, HF_R_SERVICE_REMOVED);
		return false;
	}
	*p = (struct parcel){.w = w, .service = s, .rt = x->rt, .pool = s->pool->rt, .at = s->pool};
	deliver_ctx(w, s, &p->ctx);
	hold_came(x, s, &p->ev);
	return true;
}

void hold_seeks(struct hold *x) { x->seeks = true; }

void hold_step(struct worker *w, struct hold *x, enum hf_event_kind kind, struct hf_bytes note)
{
	struct hf_event came;
	struct parcel p;

	if (!hold_parcel(w, x, &p)) {
		hold_end(w, x);
		return;
	}
	p.ev.kind = kind;
	if (kind == HF_EV_NOTE)
		p.ev.bytes = note;
	deliver_enter(&p, x, &came);
	deliver_run(&p);
}

static void come_due(struct worker *w, struct hold *x)
{
	if (x->seeks) {
		seek_late(w, x);
		return;
	}
	x->awake = true;
	if (!x->silent) {
		hf_arena_reset(&w->arena);
		hold_step(w, x, HF_EV_WAKE, HF_NONE);
	}
	if (x->awake)
		hold_end(w, x);
}

static void wake(void *arg)
{
	struct holds *h = arg;
	struct worker *w = h->w;
	struct wheel_item *i;

	worker_clock(w);
	h->timer_ms = 0;
	if (w->snap)
		deliver_letters(w); /* what is known elsewhere comes before the deadline */
	while ((i = wheel_due(&h->wheel, w->now_ms)))
		come_due(w, (struct hold *)i);
	worker_flush(w);
	if (h->wheel.n)
		look_at(h, wheel_next(&h->wheel, w->now_ms, LOOK_MS));
}
