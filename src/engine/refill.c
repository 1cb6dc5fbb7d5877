/* Changes of the pool for methods whose owners follow from all servers together: the slots are filled anew into a scratch, in steps, and then
 * given their new owners one by one. What is queued meanwhile waits for the fill after this one, so that changes never starve each other;
 * the last of them leaves what a fresh fill would give. Control thread only; it writes owners through the ledger and knows no entry. */
#include "refill.h"

#include <limits.h>
#include <stdlib.h>

#include "inside.h"

#define STEP_WORK 2 /* of a fill, in scores */

enum phase { RESTS, FILLS, MOVES };

struct refill {
	enum phase phase;
	uint64_t begun;   /* e->visits when this fill began; it ends n_slots later */
	struct filling f;
	struct rival r[HF_SERVERS_MAX];
	struct part part[HF_SERVERS_MAX];
	uint16_t queue[HF_SERVERS_MAX];
	uint16_t owner[]; /* of all slots */
};

size_t refill_size(uint32_t n_slots) { return sizeof(struct refill) + n_slots * sizeof(uint16_t); }

uint64_t refill_from(const struct hf_engine *e)
{
	const struct refill *f = e->refill;

	return f->phase == RESTS ? e->visits : f->begun + e->n_slots;
}

static void begin(struct hf_engine *e, struct refill *f)
{
	f->begun = e->visits;
	f->f = (struct filling){.r = f->r, .n = change_rivals(e, f->r), .ground = e->ground, .owner = f->owner, .part = f->part, .queue = f->queue};
	for (uint32_t j = 0; j < e->n_slots; j++)
		f->owner[j] = NO_OWNER;
	e->method->begin(&f->f);
	f->phase = FILLS;
}

/* Gives slots their new owners, until all have them; returns the work it took. */
static unsigned move(struct hf_engine *e, struct refill *f, unsigned work)
{
	unsigned done = 0;

	for (; e->visits < f->begun + e->n_slots && done < work; e->visits++) {
		uint32_t j = (uint32_t)(e->visits - f->begun);

		done += change_own(e, j, f->owner[j]);
	}
	if (e->visits == f->begun + e->n_slots)
		f->phase = RESTS;
	return done;
}

unsigned refill_tick(struct hf_engine *e, unsigned work)
{
	struct refill *f = e->refill;

	if (f->phase == RESTS)
		begin(e, f);
	if (f->phase == MOVES)
		return move(e, f, work);
	if (e->method->go_on(&f->f, work / STEP_WORK))
		f->phase = MOVES;
	return work;
}

void refill_all(struct hf_engine *e)
{
	struct refill *f = e->refill;

	begin(e, f);
	(void)e->method->go_on(&f->f, UINT64_MAX);
	(void)move(e, f, UINT_MAX);
}
