/* How servers leave: a drain or a removed server whose time is over becomes OFF, and a removed one that nobody names any more is forgotten.
 * Control thread, but for holding an id. */
#include "inside.h"

uint64_t leave_end(const struct hf_engine *e, const struct hf_member_record *r)
{
	uint64_t drain = r->drain_ms && e->drain_deadline_ms ? r->drain_ms + e->drain_deadline_ms : 0;
	uint64_t removed = r->removed_ms && e->removed_expiry_ms ? r->removed_ms + e->removed_expiry_ms : 0;

	if (r->marks & (1 << HF_MARK_OFF | 1 << HF_MARK_OVER))
		return 0;
	return !drain || (removed && removed < drain) ? removed : drain;
}

unsigned hf_engine_expire(struct hf_engine *e, uint16_t *ids, unsigned cap, uint64_t now_ms)
{
	unsigned n = 0;

	for (uint16_t id = 1; id <= last_id(e) && n < cap; id++) {
		uint64_t end = e->member[id].used ? leave_end(e, &e->kept[id]) : 0;

		if (!end || end > now_ms)
			continue;
		hf_engine_mark(e, id, HF_MARK_OVER, true, now_ms);
		ids[n++] = id;
	}
	return n;
}

void hf_engine_hold(struct hf_engine *e, uint16_t id, int by)
{
	atomic_fetch_add_explicit(&e->load[id].held, (uint32_t)by, memory_order_relaxed);
	if (e->conf.mode == HF_MODE_NONE)
		ledger_count(e, id, by);
}

/* An entry, somebody outside or a slot names it. */
static bool is_named(const struct hf_engine *e, uint16_t id)
{
	const struct member *m = &e->member[id];

	return LOAD_ENTRIES(load_word(e, id)) || atomic_load_explicit(&e->load[id].held, memory_order_relaxed) || m->gain || m->lose ||
	       atomic_load_explicit(&m->slots, memory_order_relaxed);
}

/* Nobody may be half-way into an entry at the id: who saw it serving holds a shard's lock until the entry is counted. */
static bool unused(struct hf_engine *e, uint16_t id)
{
	enum hf_state was = state_of(e, id);

	if (is_named(e, id))
		return false;
	e->member[id].used = false;
	atomic_store_explicit(&e->hot[id].state, HF_STATE_OFF, memory_order_release);
	for (unsigned i = 0; i < e->n_shards; i++) {
		spin_lock(&e->shard[i].lock);
		spin_unlock(&e->shard[i].lock);
	}
	if (!is_named(e, id))
		return true;
	e->member[id].used = true;
	atomic_store_explicit(&e->hot[id].state, (uint8_t)was, memory_order_release);
	return false;
}

unsigned hf_engine_reap(struct hf_engine *e, uint16_t *ids, unsigned cap)
{
	static const struct hf_member_record none;
	unsigned n = 0;

	for (uint16_t id = 1; id <= last_id(e) && n < cap; id++) {
		if (!e->member[id].used || !e->kept[id].removed_ms || !unused(e, id))
			continue;
		kept_write(e, id, &none);
		members_bound(e, id, 0);
		ids[n++] = id;
	}
	return n;
}
