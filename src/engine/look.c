/* Looking at an engine: where a key would go, its entries with their records, its counts, the fill. It changes nothing; any thread. */
#include "holdfast/hash.h"
#include "inside.h"

static uint32_t seconds_left(const struct entry *x, uint64_t now_ms) { return tick_left(x->expiry, now_ms) * (TICK_MS / 1000); }

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

void hf_engine_where(struct hf_engine *e, uint64_t fp, struct hf_where *w, uint64_t now_ms)
{
	struct hf_question q = {.key = {.fp = fp}};
	struct hf_answer a, next;
	struct hf_trace t;

	hf_engine_explain(e, &q, &a, &t, now_ms);
	*w = (struct hf_where){.fp = fp, .slot = t.slot, .owner = hf_engine_owner(e, t.slot), .server = a.server, .why = a.why, .known = a.known};
	if (a.known) {
		w->expires_s = t.step[0].expires_s;
		w->flows = flows_of(e, fp);
		if (a.why == HF_WHY_ENTRY && t.step[0].flags & HF_BOND)
			w->why = HF_WHY_BOND;
	}
	q.avoid = &w->server;
	q.n_avoid = 1;
	q.move = true;
	hf_engine_explain(e, &q, &next, &t, now_ms);
	w->runner_up = next.server;
}

static void show(const struct hf_engine *e, const struct shard *s, const struct entry *x, struct hf_record *out, uint64_t now_ms)
{
	const struct record *r = record_of(e, s, x->fp);

	*out = (struct hf_record){.fp = x->fp, .server = x->server, .flags = x->flags, .expires_s = seconds_left(x, now_ms)};
	if (!r)
		return;
	out->text = hf_bytes_of(r->text, r->text_n);
	out->flows = r->flows;
	out->why = (enum hf_why)r->why;
	out->since_ms = r->since_ms;
	out->seen_ms = r->seen_ms;
}

void hf_engine_each(struct hf_engine *e, bool (*each)(void *arg, const struct hf_record *r), void *arg, uint64_t now_ms)
{
	bool more = true;

	for (unsigned i = 0; i < e->n_shards && more; i++) {
		struct shard *s = &e->shard[i];

		spin_lock(&s->lock);
		for (uint32_t at = 0; s->t.used && at < s->t.places && more; at++) {
			struct entry x = entry_unpack(&s->t.at[at]);
			struct hf_record r;

			if (!x.server || ledger_over(e, s, &x, now_ms))
				continue;
			show(e, s, &x, &r, now_ms);
			more = each(arg, &r);
		}
		spin_unlock(&s->lock);
	}
}

void hf_engine_counts(struct hf_engine *e, struct hf_engine_counts *c)
{
	memset(c, 0, sizeof *c);
	c->entries = SUM_ENTRIES(atomic_load_explicit(&e->sums, memory_order_relaxed));
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
