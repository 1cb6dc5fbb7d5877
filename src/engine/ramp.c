/* What a server weighs in W and in caps: less while it warms up (slow start), and as much as its agent says of its file's weight. The fill is by its whole weight all the time, as gateways that saw it
 * come up, or heard its agent, at different times would disagree otherwise. Control thread; it is told the time by ticks. members.c and change.c call it. */
#include "inside.h"

#define WEIGHT_MOST 256u
#define RAMP_FLOOR 10 /* it begins with a tenth: enough to be seen working, little enough not to fall over */

static uint64_t whole_of(const struct hf_engine *e, uint16_t id)
{
	uint64_t whole = (uint64_t)e->hot[id].weight * WEIGHT_PARTS;
	uint32_t percent = atomic_load_explicit(&e->member[id].percent, memory_order_relaxed);

	if (!percent || !whole || e->kept[id].run_weight != HF_WEIGHT_FILE) /* who weighs by hand means it */
		return whole;
	whole = whole * percent / 100;
	return whole < 1 ? 1 : whole > WEIGHT_MOST * WEIGHT_PARTS ? WEIGHT_MOST * WEIGHT_PARTS : whole;
}

static uint32_t parts_at(const struct hf_engine *e, uint16_t id, uint64_t now_ms)
{
	const struct member *m = &e->member[id];
	uint64_t whole = whole_of(e, id), span = e->slow_start_ms, gone = now_ms - m->ramp_from_ms, parts;

	if (!m->ramps || gone >= span)
		return (uint32_t)whole;
	parts = whole * (span + (RAMP_FLOOR - 1) * gone) / (RAMP_FLOOR * span);
	return parts ? (uint32_t)parts : 1;
}

static void end(struct hf_engine *e, struct member *m)
{
	e->n_ramps -= m->ramps;
	m->ramps = false;
}

void ramp_begin(struct hf_engine *e, uint16_t id, uint64_t now_ms)
{
	struct member *m = &e->member[id];

	end(e, m);
	m->ramps = e->slow_start_ms != 0;
	m->ramp_from_ms = now_ms;
	e->n_ramps += m->ramps;
}

void ramp_set(struct hf_engine *e, uint16_t id, uint64_t now_ms)
{
	struct member *m = &e->member[id];
	bool up = state_of(e, id) == HF_STATE_UP;
	uint32_t new, old;

	if (!up || now_ms - m->ramp_from_ms >= e->slow_start_ms)
		end(e, m);
	new = up ? parts_at(e, id, now_ms) : 0;
	old = atomic_exchange_explicit(&e->hot[id].parts, (uint16_t)new, memory_order_relaxed);
	atomic_fetch_add_explicit(&e->open_parts, new - old, memory_order_relaxed);
	if (old && new > old)
		balance_grown(e, id);
}

void ramp_tick(struct hf_engine *e, uint64_t now_ms)
{
	for (uint16_t id = 1; e->n_ramps && id <= last_id(e); id++)
		if (e->member[id].ramps)
			ramp_set(e, id, now_ms);
}
