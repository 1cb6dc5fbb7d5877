/* Which server a new session goes to: the slot's owner while it is under its cap, else the runner-up of lowest cost that is.
 * One predicate, open_to, says who may take a new session at all. Nothing here knows entries; the engine's other files call it. */
#include "inside.h"

#define PLACE_TRIES 16 /* lost races for a last free place before the cap gives way to "nobody is refused" */

struct scope { /* what a cap is computed from, for one placement */
	const struct place *p;
	bool capped;
	uint64_t limit; /* load factor * (m + 1), in thousandths */
	uint64_t total; /* W * 1000 */
};

static uint32_t weight_of(const struct hf_engine *e, uint16_t id) { return atomic_load_explicit(&e->hot[id].weight, memory_order_relaxed); }
static uint32_t bound_of(const struct hf_engine *e, uint16_t id) { return atomic_load_explicit(&e->hot[id].max_sessions, memory_order_relaxed); }

/* Eligible (TAKEN): up, not tried already, and below its max_sessions. */
static inline enum hf_verdict open_verdict(const struct hf_engine *e, const struct place *p, uint16_t id, uint32_t sessions)
{
	uint32_t bound = bound_of(e, id);

	if (state_of(e, id) != HF_STATE_UP)
		return HF_VERDICT_STATE;
	if (among(p->avoid, p->n_avoid, id))
		return HF_VERDICT_TRIED;
	return bound && sessions >= bound ? HF_VERDICT_BOUND : HF_VERDICT_TAKEN;
}

static inline bool open_to(const struct hf_engine *e, const struct place *p, uint16_t id, uint32_t sessions)
{
	return open_verdict(e, p, id, sessions) == HF_VERDICT_TAKEN;
}

/* sessions < ceil(c (m+1) w / W), without a division. At most 2^28 * 2^10 * 2^20 and 2^14 * 2^29 * 2^8. */
static inline bool under(const struct hf_engine *e, const struct scope *s, uint16_t id, uint32_t sessions)
{
	return !s->capped || sessions * s->total < s->limit * weight_of(e, id);
}

static inline enum hf_verdict verdict(const struct hf_engine *e, const struct scope *s, uint16_t id)
{
	uint32_t sessions = LOAD_COUNTED(load_word(e, id));
	enum hf_verdict v = open_verdict(e, s->p, id, sessions);

	return v == HF_VERDICT_TAKEN && !under(e, s, id, sessions) ? HF_VERDICT_CAP : v;
}

static inline bool fits(const struct hf_engine *e, const struct scope *s, uint16_t id) { return verdict(e, s, id) == HF_VERDICT_TAKEN; }

/* m and W over those that are eligible: kept by the members' marks, summed anew only where this placement sees fewer. */
static struct scope scope_of(const struct hf_engine *e, const struct place *p)
{
	uint32_t factor = atomic_load_explicit(&e->load_factor, memory_order_relaxed);
	int64_t m = SUM_OPEN(atomic_load_explicit(&e->sums, memory_order_relaxed));
	uint64_t w = atomic_load_explicit(&e->open_weight, memory_order_relaxed);

	if (factor && (p->n_avoid || atomic_load_explicit(&e->limited, memory_order_relaxed))) {
		m = 0;
		w = 0;
		for (uint16_t id = 1; id <= last_id(e); id++) {
			uint32_t sessions = LOAD_COUNTED(load_word(e, id));

			if (!open_to(e, p, id, sessions))
				continue;
			m += sessions;
			w += weight_of(e, id);
		}
	}
	return (struct scope){p, factor != 0, factor * ((m > 0 ? (uint64_t)m : 0) + 1), w * 1000};
}

/* Counts the session at the server, if it still fits when counted. */
static bool reserve(struct hf_engine *e, const struct scope *s, uint16_t id, enum taken *taken)
{
	uint64_t before;
	int left;

	*taken = TAKEN_NOT;
	if (!s->p->take)
		return true;
	before = ledger_load(e, id, 1, 1);
	if (open_to(e, s->p, id, LOAD_COUNTED(before)) && under(e, s, id, LOAD_COUNTED(before))) {
		*taken = before & LOAD_OPEN ? TAKEN_OPEN : TAKEN;
		return true;
	}
	left = !!(before & LOAD_OPEN) - !!(ledger_load(e, id, -1, -1) & LOAD_OPEN);
	if (left) /* it went up or down meanwhile, and took this one into m or out of it */
		ledger_sum(e, left, 0);
	return false;
}

bool place_before(struct hf_engine *e, uint16_t a, uint64_t cost_a, uint16_t b, uint64_t cost_b)
{
	bool first;

	if (cost_a != cost_b || a == b)
		return cost_a < cost_b;
	spin_lock(&e->names_lock);
	first = strcmp(name_of(e, a), name_of(e, b)) < 0;
	spin_unlock(&e->names_lock);
	return first;
}

static uint16_t cheapest(struct hf_engine *e, const struct scope *s)
{
	const struct lot l = place_lot(e, s->p->slot);
	uint64_t best_cost = 0;
	uint16_t best = 0;

	for (uint16_t id = 1; id <= last_id(e); id++) {
		uint64_t c;

		if (!fits(e, s, id))
			continue;
		c = place_cost(e, id, &l);
		if (!best || place_before(e, id, c, best, best_cost)) {
			best = id;
			best_cost = c;
		}
	}
	return best;
}

/* Who goes before `best` in the slot, and why it was not taken; then best, if there is one. */
static void trace_walk(struct hf_engine *e, const struct scope *s, uint16_t best)
{
	const struct lot l = place_lot(e, s->p->slot);
	uint16_t owner = hf_engine_owner(e, s->p->slot);
	uint64_t best_cost = best ? place_cost(e, best, &l) : 0;

	for (uint16_t id = 1; id <= last_id(e); id++) {
		enum hf_verdict v = verdict(e, s, id);
		uint64_t c = place_cost(e, id, &l);

		if (id != owner && e->member[id].used && v != HF_VERDICT_TAKEN && (!best || place_before(e, id, c, best, best_cost)))
			trace_rival(e, s->p->trace, id, c, v);
	}
	if (best)
		trace_step(e, s->p->trace, HF_STEP_RIVAL, best, HF_VERDICT_TAKEN)->cost = best_cost;
}

static void trace_owner(struct hf_engine *e, const struct scope *s, uint16_t owner, enum hf_verdict v)
{
	const struct lot l = place_lot(e, s->p->slot);
	struct hf_step *step;

	s->p->trace->slot = s->p->slot;
	step = trace_step(e, s->p->trace, HF_STEP_OWNER, owner == NO_OWNER ? 0 : owner, v);
	if (step->server)
		step->cost = place_cost(e, owner, &l);
}

/* The eligible server with the fewest sessions for its weight; the walk starts behind `after`, so that equals take turns. */
static uint16_t least(const struct hf_engine *e, const struct place *p, uint32_t after)
{
	uint32_t n = last_id(e);
	uint64_t best_load = 0;
	uint32_t best_weight = 1;
	uint16_t best = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint16_t id = (uint16_t)((after + i) % n + 1);
		uint64_t sessions = LOAD_COUNTED(load_word(e, id));

		if (!open_to(e, p, id, (uint32_t)sessions))
			continue;
		if (!best || sessions * best_weight < best_load * weight_of(e, id)) {
			best = id;
			best_load = sessions;
			best_weight = weight_of(e, id);
		}
	}
	return best;
}

struct placed place_session(struct hf_engine *e, const struct place *p)
{
	uint16_t owner = SLOT_OWNER(slot_word(e, p->slot)), id;
	struct scope s = scope_of(e, p);
	enum hf_verdict v = owner == NO_OWNER ? HF_VERDICT_MISSING : verdict(e, &s, owner);
	enum hf_why why = v == HF_VERDICT_BOUND || v == HF_VERDICT_CAP ? HF_WHY_SPILL : HF_WHY_FAILOVER;
	enum taken taken;

	if (p->trace)
		trace_owner(e, &s, owner, v);
	if (v == HF_VERDICT_TAKEN) {
		if (reserve(e, &s, owner, &taken))
			return (struct placed){owner, HF_WHY_HOME, taken};
		why = HF_WHY_SPILL; /* another worker took the last place */
	}
	for (int i = 0; i < PLACE_TRIES && (id = cheapest(e, &s)) != 0; i++)
		if (reserve(e, &s, id, &taken)) {
			if (p->trace)
				trace_walk(e, &s, id);
			return (struct placed){id, why, taken};
		}
	if (p->trace)
		trace_walk(e, &s, 0);
	s.capped = false; /* other workers took the last places: over its cap is better than refused */
	for (int i = 0; i < PLACE_TRIES && (id = least(e, p, p->slot)) != 0; i++)
		if (reserve(e, &s, id, &taken)) {
			if (p->trace)
				trace_step(e, p->trace, HF_STEP_LAST, id, HF_VERDICT_TAKEN);
			return (struct placed){id, id == owner ? HF_WHY_HOME : why, taken};
		}
	return (struct placed){0, HF_WHY_NONE, TAKEN_NOT};
}

/* Smooth weighted turns: each eligible server gains its weight, the richest goes and pays all of it. Equal weights alternate strictly. */
static uint16_t by_turns(struct hf_engine *e, const struct place *p)
{
	int64_t total = 0, most = 0;
	uint16_t best = 0;

	spin_lock(&e->turn_lock);
	for (uint16_t id = 1; id <= last_id(e); id++) {
		int64_t turn = e->member[id].turn + weight_of(e, id);

		if (!open_to(e, p, id, LOAD_COUNTED(load_word(e, id))))
			continue;
		if (!p->trace)
			e->member[id].turn = turn;
		total += weight_of(e, id);
		if (!best || turn > most) {
			best = id;
			most = turn;
		}
	}
	if (best && !p->trace)
		e->member[best].turn -= total;
	spin_unlock(&e->turn_lock);
	return best;
}

static uint32_t next_turn(struct hf_engine *e, const struct place *p)
{
	return p->trace ? atomic_load_explicit(&e->turns, memory_order_relaxed) : atomic_fetch_add_explicit(&e->turns, 1, memory_order_relaxed);
}

struct placed place_fallback(struct hf_engine *e, const struct hf_question *q)
{
	struct place p = {0, q->avoid, q->n_avoid, false, q->trace};
	uint16_t id = 0;

	switch (atomic_load_explicit(&e->fallback, memory_order_relaxed)) {
	case HF_FALLBACK_ROUND_ROBIN:
		id = by_turns(e, &p);
		break;
	case HF_FALLBACK_SOURCE:
		/* A source's number may be small or regular: multiplied by an odd constant its top bits are not. */
		p.slot = (uint32_t)((q->spread ^ q->spread >> 32) * 0x9E3779B97F4A7C15u >> (64 - e->conf.slot_bits));
		id = place_session(e, &p).server;
		break;
	default:
		id = least(e, &p, next_turn(e, &p));
	}
	if (q->trace)
		trace_step(e, q->trace, HF_STEP_FALLBACK, id, id ? HF_VERDICT_TAKEN : HF_VERDICT_MISSING);
	return (struct placed){id, id ? HF_WHY_FALLBACK : HF_WHY_NONE, TAKEN_NOT};
}

uint32_t place_cap(const struct hf_engine *e, uint16_t id)
{
	const struct place p = {0};
	struct scope s = scope_of(e, &p);
	uint32_t bound = bound_of(e, id);
	uint64_t cap = UINT32_MAX;

	if (state_of(e, id) != HF_STATE_UP)
		return 0;
	if (s.capped && s.total)
		cap = (s.limit * weight_of(e, id) + s.total - 1) / s.total;
	if (bound && bound < cap)
		cap = bound;
	return cap < UINT32_MAX ? (uint32_t)cap : UINT32_MAX;
}
