/* The table of flows of a worker: slots with generations, so that a name of a flow that is gone finds nothing; and its buffers. */
#include "gate.h"

#include <stdlib.h>

struct flows {
	struct flow **slot;
	uint32_t *generation;
	uint32_t n, cap, free_slot; /* free slots are chained through generation's twin */
	uint32_t *next_free;
};

#define NO_SLOT UINT32_MAX
#define SLOTS_MAX (1u << 24) /* a flow's name has 24 bits for it */

struct flows *flows_new(void)
{
	struct flows *fs = calloc(1, sizeof *fs);

	if (fs)
		fs->free_slot = NO_SLOT;
	return fs;
}

void flows_free(struct worker *w)
{
	struct flows *fs = w->flows;

	if (!fs)
		return;
	for (uint32_t i = 0; i < fs->n; i++)
		if (fs->slot[i])
			conn_close(fs->slot[i], HF_R_SHUTDOWN);
	free(fs->slot);
	free(fs->generation);
	free(fs->next_free);
	free(fs);
	w->flows = NULL;
}

void flows_end_off(struct worker *w)
{
	struct flows *fs = w->flows;

	for (uint32_t i = 0; i < fs->n; i++) {
		struct flow *f = fs->slot[i];

		if (!f || !f->held || !hf_engine_cuts(f->pool->engine, f->server))
			continue;
		if (f->rt->front->framed) /* a link */
			stream_end_later(f, HF_R_SERVER_OFF);
		else if (f->side[HF_SERVER].fd >= 0)
			conn_close(f, HF_R_SERVER_OFF);
	}
}

static bool grow(struct flows *fs)
{
	uint32_t cap = fs->cap ? fs->cap * 2 : 64;
	struct flow **slot = realloc(fs->slot, cap * sizeof *slot);
	uint32_t *generation, *next;

	if (slot)
		fs->slot = slot;
	generation = realloc(fs->generation, cap * sizeof *generation);
	if (generation)
		fs->generation = generation;
	next = realloc(fs->next_free, cap * sizeof *next);
	if (next)
		fs->next_free = next;
	if (!slot || !generation || !next || cap > SLOTS_MAX)
		return false;
	fs->cap = cap;
	return true;
}

static uint32_t take_slot(struct flows *fs)
{
	uint32_t i = fs->free_slot;

	if (i != NO_SLOT) {
		fs->free_slot = fs->next_free[i];
		return i;
	}
	if (fs->n == fs->cap && !grow(fs))
		return NO_SLOT;
	fs->slot[fs->n] = NULL;
	fs->generation[fs->n] = 0;
	return fs->n++;
}

struct flow *flow_new(struct worker *w, bool framed)
{
	struct flow *f = calloc(1, sizeof *f + (framed ? sizeof *f->stream : 0));
	uint32_t i = f ? take_slot(w->flows) : NO_SLOT;

	if (i == NO_SLOT) {
		free(f);
		return NULL;
	}
	f->w = w;
	f->stream = framed ? (struct stream *)(f + 1) : NULL;
	f->slot = i;
	f->generation = ++w->flows->generation[i];
	f->side[HF_CLIENT].fd = f->side[HF_SERVER].fd = -1;
	w->flows->slot[i] = f;
	return f;
}

void flow_at(struct flow *f, struct pool_rt *pool, const struct snap_member *m)
{
	if (!m || f->pool != pool || f->server != m->id) {
		gate_leave(f);
		f->turn = 0;
	}
	if (f->held)
		hf_engine_hold(f->pool->engine, f->server, -1);
	f->pool = pool;
	f->server = m ? m->id : HF_NO_SERVER;
	f->server_hash = m ? m->hash : 0;
	f->held = m != NULL;
	if (f->held)
		hf_engine_hold(pool->engine, f->server, 1);
}

void flow_free(struct flow *f)
{
	struct flows *fs = f->w->flows;

	flow_at(f, f->pool, NULL);
	fs->slot[f->slot] = NULL;
	fs->next_free[f->slot] = fs->free_slot;
	fs->free_slot = f->slot;
	for (int i = 0; i < 2; i++) {
		buf_free(&f->side[i].in);
		buf_free(&f->side[i].out);
	}
	if (f->stream)
		free(f->stream->carried);
	free(f);
}

const struct snap_pool *flow_pool(const struct flow *f) { return f->w->snap ? snap_pool(f->w->snap, f->pool) : NULL; }

void flow_ctx(struct flow *f, struct parcel *p)
{
	if (!f->placed && p->service)
		f->pool = p->service->pool->rt; /* a reload may have given the service another since it was accepted */
	p->pool = f->pool;
	p->at = p->service ? flow_pool(f) : NULL;
	deliver_ctx(f->w, p->service, &p->ctx);
	if (p->at)
		net_ctx_pool(p->service, p->at, &p->ctx);
}

struct flow *flow_find(struct worker *w, uint32_t slot, uint32_t generation)
{
	struct flows *fs = w->flows;
	struct flow *f = slot < fs->n ? fs->slot[slot] : NULL;

	return f && f->generation == generation ? f : NULL;
}

bool buf_room(struct buf *b, size_t n, size_t max)
{
	struct block *k = b->b;
	size_t have = buf_len(b), cap = k ? k->cap : 64;

	if (n > max || have > max - n)
		return false;
	if (k && k->at && k->n + n > k->cap) {
		memmove(k->p, k->p + k->at, have);
		k->n = (uint32_t)have;
		k->at = 0;
	}
	if (k && k->n + n <= k->cap)
		return true;
	while (cap < have + n) /* what was dealt with has just gone */
		cap *= 2;
	k = realloc(k, sizeof *k + cap);
	if (!k)
		return false;
	if (!b->b)
		*k = (struct block){0};
	k->p = (uint8_t *)(k + 1);
	k->cap = (uint32_t)cap;
	b->b = k;
	return true;
}

bool buf_add(struct buf *b, const void *p, size_t n, size_t max)
{
	if (!buf_room(b, n, max))
		return false;
	if (n)
		memcpy(b->b->p + b->b->n, p, n);
	b->b->n += (uint32_t)n;
	return true;
}

void buf_free(struct buf *b)
{
	free(b->b);
	b->b = NULL;
}
