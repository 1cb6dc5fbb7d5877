/* Which server a new session goes to: the slot's owner while it is under its cap, else the runner-up of lowest cost that is; or by the table's
 * balance (balance.c). scope.h says who may take a new session at all. Nothing here knows entries; the engine's other files call it. */
#include "scope.h"

#define PLACE_TRIES 16 /* lost races for a last free place before the cap gives way to "nobody is refused" */

static struct scope scope_by(const struct place *p, uint32_t factor, int64_t m, uint64_t w, bool sharp)
{
	return (struct scope){p, factor != 0, sharp, factor * ((m > 0 ? (uint64_t)m : 0) + 1), w * 1000};
}

/* m and W over those that are eligible: kept by the members' marks, summed anew only where this placement sees fewer. */
static struct scope scope_of(const struct hf_engine *e, const struct place *p)
{
	uint32_t factor = p->home || p->uncapped ? 0 : atomic_load_explicit(&e->load_factor, memory_order_relaxed);
	uint64_t w = atomic_load_explicit(&e->open_parts, memory_order_relaxed);
	int64_t m = 0;

	if (!factor || (!p->n_avoid && !atomic_load_explicit(&e->limited, memory_order_relaxed)))
		return scope_by(p, factor, factor ? sums_all(&e->sums).open : 0, w, true);
	w = 0;
	for (uint16_t id = 1; id <= last_id(e); id++) {
		uint32_t sessions = LOAD_COUNTED(load_word(e, id));

		if (!open_to(e, p, id, sessions))
			continue;
		m += sessions;
		w += parts_of(e, id);
	}
	return scope_by(p, factor, m, w, true);
}

/* The caps of the least that m may be, without asking other threads for theirs: who is under such a cap is under its own. */
static struct scope scope_least(const struct hf_engine *e, const struct place *p)
{
	uint32_t factor = atomic_load_explicit(&e->load_factor, memory_order_relaxed);
	int64_t off, m;

	if (!factor || p->home || p->uncapped || p->n_avoid || p->trace || atomic_load_explicit(&e->limited, memory_order_relaxed))
		return scope_of(e, p);
	m = sums_known(&e->sums, &off).open;
	return scope_by(p, factor, m - off, atomic_load_explicit(&e->open_parts, memory_order_relaxed), off == 0);
}

/* The caps as they are. False: they were so. */
static bool sharpen(const struct hf_engine *e, struct scope *s)
{
	bool was = s->sharp;

	if (!was)
		*s = scope_of(e, s->p);
	return !was;
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
	if (open_to(e, s->p, id, LOAD_COUNTED(before)) && under(e, s, id, LOAD_COUNTED(before)) &&
	    (hf_rate_take(&e->load[id].rate, rate_of(e, id), s->p->now_ms) || s->p->home)) {
		*taken = before & LOAD_OPEN ? TAKEN_OPEN : TAKEN;
		return true;
	}
	left = !!(before & LOAD_OPEN) - !!(ledger_load(e, id, -1, -1) & LOAD_OPEN);
	if (left) /* it went up or down meanwhile, and took this one into m or out of it */
		sums_add(&e->sums, left, 0);
	return false;
}

bool place_by_name(struct hf_engine *e, uint16_t a, uint16_t b)
{
	bool first;

	spin_lock(&e->names_lock);
	first = strcmp(name_of(e, a), name_of(e, b)) < 0;
	spin_unlock(&e->names_lock);
	return first;
}

static uint16_t cheapest(struct hf_engine *e, const struct scope *s)
{
	const struct lot l = place_lot(e, s->p->slot);

	return scope_cheapest(e, s, &l, place_cost);
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

static enum hf_balance balance_of(const struct hf_engine *e, const struct place *p) { return p->by_slot || p->home ? HF_BALANCE_HASH : e->conf.balance; }

static uint16_t next(struct hf_engine *e, const struct scope *s)
{
	switch (e->conf.balance) {
	case HF_BALANCE_ROUND_ROBIN:
		return balance_turn(e, s);
	case HF_BALANCE_RANDOM:
		return balance_random(e, s);
	default:
		return balance_least(e, s, s->p->slot);
	}
}

/* By the table's balance; false: nobody has room. */
static bool balanced(struct hf_engine *e, const struct scope *s, struct placed *to)
{
	for (int i = 0; i < PLACE_TRIES && (to->server = next(e, s)) != 0; i++)
		if (reserve(e, s, to->server, &to->taken)) {
			if (s->p->trace)
				trace_step(e, s->p->trace, HF_STEP_BALANCE, to->server, HF_VERDICT_TAKEN);
			to->why = HF_WHY_BALANCE;
			return true;
		}
	return false;
}

/* At the slot's owner, or why not. */
static enum hf_verdict at_owner(struct hf_engine *e, struct scope *s, uint16_t owner, enum taken *taken)
{
	enum hf_verdict v;

	*taken = TAKEN_NOT;
	do {
		v = owner == NO_OWNER ? HF_VERDICT_MISSING : verdict(e, s, owner);
		if (v == HF_VERDICT_TAKEN && !reserve(e, s, owner, taken))
			v = HF_VERDICT_CAP; /* another worker took the last place */
	} while (v == HF_VERDICT_CAP && sharpen(e, s));
	return v;
}

/* By the slot: its owner, or the first runner-up that has room. */
static bool slotted(struct hf_engine *e, struct scope *s, uint16_t owner, struct placed *to)
{
	enum hf_verdict v;

	*to = (struct placed){owner, HF_WHY_HOME, TAKEN_NOT};
	v = at_owner(e, s, owner, &to->taken);
	if (s->p->trace)
		trace_owner(e, s, owner, v);
	if (v == HF_VERDICT_TAKEN)
		return true;
	(void)sharpen(e, s);
	to->why = v == HF_VERDICT_BOUND || v == HF_VERDICT_RATE || v == HF_VERDICT_CAP ? HF_WHY_SPILL : HF_WHY_FAILOVER;
	for (int i = 0; i < PLACE_TRIES && (to->server = cheapest(e, s)) != 0; i++)
		if (reserve(e, s, to->server, &to->taken)) {
			if (s->p->trace)
				trace_walk(e, s, to->server);
			return true;
		}
	if (s->p->trace)
		trace_walk(e, s, 0);
	return false;
}

struct placed place_session(struct hf_engine *e, const struct place *p)
{
	bool by_slot = balance_of(e, p) == HF_BALANCE_HASH;
	uint16_t owner = by_slot ? SLOT_OWNER(slot_word(e, p->slot)) : NO_OWNER;
	struct placed to = {0, HF_WHY_BALANCE, TAKEN_NOT};
	struct scope s = by_slot ? scope_least(e, p) : scope_of(e, p);

	if (by_slot ? slotted(e, &s, owner, &to) : balanced(e, &s, &to))
		return to;
	s.capped = false; /* other workers took the last places: over its cap is better than refused */
	for (int i = 0; i < PLACE_TRIES && (to.server = balance_least(e, &s, p->slot)) != 0; i++)
		if (reserve(e, &s, to.server, &to.taken)) {
			if (p->trace)
				trace_step(e, p->trace, HF_STEP_LAST, to.server, HF_VERDICT_TAKEN);
			to.why = to.server == owner ? HF_WHY_HOME : to.why;
			return to;
		}
	return (struct placed){0, HF_WHY_NONE, TAKEN_NOT};
}

struct placed place_fallback(struct hf_engine *e, const struct hf_question *q, bool remembered)
{
	struct place p = {.avoid = q->avoid, .n_avoid = q->n_avoid, .trace = q->trace};
	struct scope s = scope_of(e, &p);
	uint16_t id = 0;

	switch (atomic_load_explicit(&e->fallback, memory_order_relaxed)) {
	case HF_FALLBACK_ROUND_ROBIN:
		id = balance_turn(e, &s);
		break;
	case HF_FALLBACK_SOURCE:
		/* A source's number may be small or regular: multiplied by an odd constant its top bits are not. */
		p.slot = (uint32_t)((q->spread ^ q->spread >> 32) * 0x9E3779B97F4A7C15u >> (64 - e->conf.slot_bits));
		p.by_slot = true;
		p.home = !remembered; /* then a source stays only where no load moves it */
		id = place_session(e, &p).server;
		break;
	default:
		id = balance_least(e, &s, balance_draw(e, &p));
	}
	if (!id && s.capped) { /* all are at their caps for an instant */
		s.capped = false;
		id = balance_least(e, &s, 0);
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
		cap = (s.limit * parts_of(e, id) + s.total - 1) / s.total;
	if (bound && bound < cap)
		cap = bound;
	return cap < UINT32_MAX ? (uint32_t)cap : UINT32_MAX;
}
