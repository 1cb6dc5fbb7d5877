/* A twin of an engine: the members, marks, weights and slots of another, in memory of its own, for foresee.c to change and ask. It has no entry
 * yet. Control thread of the engine that it is made of; see holdfast/engine.h. */
#include "inside.h"

static uint32_t room_of(struct hf_engine *e, uint32_t more)
{
	uint64_t n = sums_entries(&e->sums) + more + 1;

	return n > 1u << 28 ? 1u << 28 : (uint32_t)n;
}

static struct hf_engine_conf conf_of(struct hf_engine *e, uint32_t more)
{
	struct hf_engine_conf c = e->conf;

	c.load_factor_milli = atomic_load_explicit(&e->load_factor, memory_order_relaxed);
	c.fallback = (enum hf_fallback)atomic_load_explicit(&e->fallback, memory_order_relaxed);
	c.max_entries = room_of(e, more);
	c.slow_start_ms = c.source_entries = 0;
	return c;
}

size_t hf_engine_twin_need(struct hf_engine *e, uint32_t more)
{
	struct hf_engine_conf c = conf_of(e, more + more / 8); /* entries go on coming until the twin is made */

	return hf_engine_need(&c);
}

static void copy_members(struct hf_engine *e, struct hf_engine *t)
{
	uint16_t last = last_id(e);

	memcpy(t->kept, e->kept, (last + 1u) * sizeof e->kept[0]);
	memcpy(t->hot, e->hot, (last + 1u) * sizeof e->hot[0]);
	memcpy(t->member, e->member, (last + 1u) * sizeof e->member[0]);
	for (uint16_t id = 1; id <= last; id++) {
		t->load[id].word = load_word(e, id) & LOAD_OPEN;
		t->load[id].turn = atomic_load_explicit(&e->load[id].turn, memory_order_relaxed);
		if (t->conf.mode == HF_MODE_NONE)
			hf_engine_hold(t, id, (int)LOAD_COUNTED(load_word(e, id)));
	}
	t->turn = atomic_load_explicit(&e->turn, memory_order_relaxed);
	t->draws = atomic_load_explicit(&e->draws, memory_order_relaxed);
	t->head->last_id = last;
	t->last_id = last;
	t->open_parts = e->open_parts;
	t->limited = e->limited;
}

struct hf_engine *hf_engine_twin(struct hf_engine *e, void *mem, uint32_t more, uint64_t now_ms)
{
	struct hf_engine_conf c = conf_of(e, more);
	struct hf_engine *t = hf_engine_new(&c, mem, now_ms);

	if (!t)
		return NULL;
	t->on_down_ms = e->on_down_ms;
	t->drain_moves = e->drain_moves;
	copy_members(e, t);
	for (uint16_t id = 1; id <= last_id(t); id++) { /* what begins slowly has begun */
		t->member[id].ramps = false;
		ramp_set(t, id, now_ms);
	}
	for (uint32_t j = 0; j < e->n_slots; j++)
		t->slot[j] = SLOT_WORD(SLOT_OWNER(slot_word(e, j)), 0);
	t->filled = e->filled && !atomic_load_explicit(&e->changing, memory_order_relaxed); /* else who foresees fills it: on its own time */
	return t;
}
