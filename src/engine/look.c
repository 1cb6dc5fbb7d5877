/* Looking at an engine: where a key would go, its servers, its entries with their records, its counts, the fill. It changes nothing; any thread. */
#include "holdfast/hash.h"
#include "inside.h"

static uint32_t flows_of(struct hf_engine *e, uint64_t fp)
{
	struct shard *s = shard_of(e, fp);
	struct record *r;
	uint32_t n;

	spin_lock(&s->lock);
	r = record_of(e, s, fp);
	n = r ? r->flows : 0;
	spin_unlock(&s->lock);
	return n;
}

/* Of a key that has one: bonds of who places it may stand before it. */
static const struct hf_step *entry_step(const struct hf_trace *t)
{
	unsigned i = 0;

	while (i + 1 < t->n && t->step[i].kind != HF_STEP_ENTRY)
		i++;
	return &t->step[i];
}

void hf_engine_where_by(struct hf_engine *e, uint64_t fp, uint64_t place, struct hf_where *w, uint64_t now_ms)
{
	struct hf_question q = {.key = {.fp = fp}, .place = place, .unplaced = !place, .life = HF_LIFE_START};
	struct hf_answer a, next;
	struct hf_trace t;

	hf_engine_explain(e, &q, &a, &t, now_ms);
	t.slot = place ? t.slot : UINT32_MAX;
	*w = (struct hf_where){.fp = fp, .slot = t.slot, .owner = hf_engine_owner(e, t.slot), .server = a.server, .why = a.why, .known = a.known};
	if (a.known) {
		const struct hf_step *entry = entry_step(&t);

		w->expires_s = entry->expires_s;
		w->flows = flows_of(e, fp);
		if (a.why == HF_WHY_ENTRY && entry->flags & HF_BOND)
			w->why = HF_WHY_BOND;
	}
	q.avoid = &w->server;
	q.n_avoid = 1;
	q.move = true;
	hf_engine_explain(e, &q, &next, &t, now_ms);
	w->runner_up = next.server;
}

void hf_engine_where(struct hf_engine *e, uint64_t fp, struct hf_where *w, uint64_t now_ms) { hf_engine_where_by(e, fp, fp, w, now_ms); }

uint16_t hf_engine_last_id(const struct hf_engine *e) { return last_id(e); }

enum hf_state hf_engine_state(const struct hf_engine *e, uint16_t id, uint64_t *since_ms)
{
	if (!id || id > last_id(e))
		return HF_STATE_OFF;
	if (since_ms)
		*since_ms = atomic_load_explicit(&e->member[id].since_ms, memory_order_relaxed);
	return state_of(e, id);
}

bool hf_engine_cuts(const struct hf_engine *e, uint16_t id)
{
	return !id || id > last_id(e) || atomic_load_explicit(&e->hot[id].cuts, memory_order_relaxed);
}

bool hf_engine_server(struct hf_engine *e, uint16_t id, struct hf_server_view *v)
{
	struct hf_member_record r;

	memset(v, 0, sizeof *v);
	if (!hf_engine_record(e, id, &r))
		return false;
	memcpy(v->name, r.name, sizeof v->name);
	memcpy(v->was, r.was, sizeof v->was);
	memcpy(v->at, r.at, sizeof v->at);
	v->id = id;
	v->state = state_of(e, id);
	v->marks = r.marks;
	v->removed = r.removed_ms != 0;
	v->weight = members_weight(&r);
	v->file_weight = r.file_weight;
	v->max_sessions = atomic_load_explicit(&e->hot[id].max_sessions, memory_order_relaxed);
	v->percent = atomic_load_explicit(&e->member[id].percent, memory_order_relaxed);
	v->max_per_s = atomic_load_explicit(&e->load[id].max_per_s, memory_order_relaxed);
	v->sessions = LOAD_COUNTED(load_word(e, id));
	v->cap = place_cap(e, id);
	v->slots = atomic_load_explicit(&e->member[id].slots, memory_order_relaxed);
	v->since_ms = r.since_ms;
	v->ends_ms = leave_end(e, &r);
	v->held = atomic_load_explicit(&e->load[id].held, memory_order_relaxed);
	return true;
}

void hf_engine_each(struct hf_engine *e, bool (*each)(void *arg, const struct hf_record *r), void *arg, uint64_t now_ms)
{
	uint8_t text[HF_COPY_MAX][HF_TEXT_MAX];
	struct hf_record r[HF_COPY_MAX];
	struct hf_copy c = {.r = r, .text = text};
	unsigned low = HF_FP_BITS - e->shard_bits;

	for (uint64_t i = 0; i < e->n_shards; i++)
		for (struct hf_range part = {i << low, 0}; part.from >> low == i; part.from = part.to + 1) {
			part.to = ((i + 1) << low) - 1;
			hf_engine_copy(e, &part, &c, now_ms);
			for (unsigned k = 0; k < c.n; k++)
				if (!each(arg, &r[k]))
					return;
		}
}

void hf_engine_counts(struct hf_engine *e, struct hf_engine_counts *c)
{
	memset(c, 0, sizeof *c);
	c->entries = sums_entries(&e->sums);
	for (unsigned i = 0; i < e->n_shards; i++) {
		c->exceptions += atomic_load_explicit(&e->shard[i].exceptions, memory_order_relaxed);
		c->places += entries_places(&e->shard[i].t);
	}
	for (uint16_t id = 1; id <= last_id(e); id++)
		c->counted += LOAD_COUNTED(load_word(e, id));
	c->max_entries = e->conf.max_entries;
	c->slots = e->n_slots;
	c->changing = atomic_load_explicit(&e->changing, memory_order_relaxed);
}

uint64_t hf_engine_sessions(const struct hf_engine *e)
{
	int64_t n = sums_all(&e->sums).open;

	for (uint16_t id = 1; id <= last_id(e); id++) {
		uint64_t w = state_of(e, id) == HF_STATE_UP ? LOAD_OPEN : load_word(e, id);

		n += w & LOAD_OPEN ? 0 : LOAD_COUNTED(w);
	}
	return n > 0 ? (uint64_t)n : 0;
}

uint16_t hf_engine_owner(const struct hf_engine *e, uint32_t slot)
{
	uint16_t id = slot < e->n_slots ? SLOT_OWNER(slot_word(e, slot)) : NO_OWNER;

	return id == NO_OWNER ? 0 : id;
}

uint64_t hf_engine_digest(const struct hf_engine *e)
{
	static const uint8_t zero[16];
	struct spin *names = (struct spin *)&e->names_lock;
	struct hf_sip s;

	hf_sip_init(&s, zero, 2, 4);
	spin_lock(names);
	for (uint32_t j = 0; j < e->n_slots; j++) {
		const char *name = name_of(e, hf_engine_owner(e, j)); /* id 0 has no name */

		hf_sip_add(&s, hf_bytes_of(name, strlen(name) + 1));
	}
	spin_unlock(names);
	return hf_sip_end(&s);
}
