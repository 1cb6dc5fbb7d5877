/* Who may take a new session, for one placement (private to the engine): place.c and balance.c walk the members by it. */
#ifndef HF_ENGINE_SCOPE_H
#define HF_ENGINE_SCOPE_H

#include "inside.h"

struct scope { /* what a cap is computed from */
	const struct place *p;
	bool capped;
	bool sharp;     /* limit is by all of m; else by the least that it may be */
	uint64_t limit; /* load factor * (m + 1), in thousandths */
	uint64_t total; /* W * 1000, in parts of a weight */
};

static inline uint32_t parts_of(const struct hf_engine *e, uint16_t id) { return atomic_load_explicit(&e->hot[id].parts, memory_order_relaxed); }
static inline uint32_t bound_of(const struct hf_engine *e, uint16_t id) { return atomic_load_explicit(&e->hot[id].max_sessions, memory_order_relaxed); }

static inline uint32_t rate_of(const struct hf_engine *e, uint16_t id) { return atomic_load_explicit(&e->load[id].max_per_s, memory_order_relaxed); }

/* Eligible (TAKEN): up, not tried already, below its max_sessions, and given less than max_per_s in this second. */
static inline enum hf_verdict open_verdict(const struct hf_engine *e, const struct place *p, uint16_t id, uint32_t sessions)
{
	uint32_t bound = bound_of(e, id);

	if (state_of(e, id) != HF_STATE_UP)
		return HF_VERDICT_STATE;
	if (among(p->avoid, p->n_avoid, id))
		return HF_VERDICT_TRIED;
	if (p->home)
		return HF_VERDICT_TAKEN;
	if (p->counts && hf_rate_full(&e->load[id].rate, rate_of(e, id), p->now_ms))
		return HF_VERDICT_RATE;
	return bound && sessions >= bound ? HF_VERDICT_BOUND : HF_VERDICT_TAKEN;
}

static inline bool open_to(const struct hf_engine *e, const struct place *p, uint16_t id, uint32_t sessions)
{
	return open_verdict(e, p, id, sessions) == HF_VERDICT_TAKEN;
}

/* sessions < ceil(c (m+1) w / W), without a division. At most 2^28 * 2^25 * 2^10 and 2^14 * 2^29 * 2^13. */
static inline bool under(const struct hf_engine *e, const struct scope *s, uint16_t id, uint32_t sessions)
{
	return !s->capped || sessions * s->total < s->limit * parts_of(e, id);
}

static inline enum hf_verdict verdict(const struct hf_engine *e, const struct scope *s, uint16_t id)
{
	uint32_t sessions = LOAD_COUNTED(load_word(e, id));
	enum hf_verdict v = open_verdict(e, s->p, id, sessions);

	return v == HF_VERDICT_TAKEN && !under(e, s, id, sessions) ? HF_VERDICT_CAP : v;
}

static inline bool fits(const struct hf_engine *e, const struct scope *s, uint16_t id) { return verdict(e, s, id) == HF_VERDICT_TAKEN; }

/* Of those that fit, who costs least; equals by their names. Whether it fits is asked of who would be the best one alone: a guess that is hard to make, of
 * few. Inlined for its cost, which is a constant wherever it counts. */
static inline __attribute__((always_inline)) uint16_t scope_cheapest(struct hf_engine *e, const struct scope *s, const struct lot *l,
	uint64_t (*cost)(const struct hf_engine *e, uint16_t id, const struct lot *l))
{
	uint64_t best_cost = UINT64_MAX;
	uint16_t best = 0;

	for (uint16_t id = 1; id <= last_id(e); id++) {
		uint64_t c = cost(e, id, l);

		if (c > best_cost || !fits(e, s, id) || (best && !place_before(e, id, c, best, best_cost)))
			continue;
		best = id;
		best_cost = c;
	}
	return best;
}

/* ---- balance.c: who is next where no slot decides ---- */

/* The server with the fewest sessions for its weight; the walk starts behind `after`, so that equals take turns. 0: none fits. */
uint16_t balance_least(const struct hf_engine *e, const struct scope *s, uint32_t after);
/* A number for who begins or draws; the next one is another, but for an explanation. */
uint32_t balance_draw(struct hf_engine *e, const struct place *p);
uint16_t balance_turn(struct hf_engine *e, const struct scope *s);
uint16_t balance_random(struct hf_engine *e, const struct scope *s);

#endif
