/* Changes of the pool as changes of the slots: a server's part in the fill grows or shrinks, and the owners follow, slot by slot.
 *
 * A cursor goes round the slots. A change stays queued at its server until the cursor has gone once round from where it was; a visit of
 * a slot deals with all that is queued, by what is in force now, and leaves exactly the owner that a fresh fill would give. So changes
 * compose in any number and order. Gaining: one score against the owner's. Losing: the server's own slots are scored anew.
 * Methods whose owners have no scores of their own are filled anew, by refill.c; what is queued is told in visits there too.
 * Control thread only; it writes owners through the ledger and knows no entry. */
#include <stdlib.h>

#include "holdfast/hash.h"
#include "inside.h"

/* A tick's work is counted in scores, of some 3 ns each, and 10 where others take the memory: 0.04 to 0.13 ms, whatever the method, the servers and the sessions. */
#define TICK_WORK 12288
#define LOOK_WORK 1  /* a slot that is looked at */
#define OWN_WORK 32  /* a slot that gets another owner: a lock and the lines of its word and its first entries; each entry is another 1 */

void change_queue(struct hf_engine *e, uint16_t id, bool gain, bool lose)
{
	struct member *m = &e->member[id];

	if (!gain && !lose)
		return;
	atomic_store_explicit(&e->head->fill, 0, memory_order_release); /* before any slot changes, for who comes after a kill */
	m->gain |= gain;
	m->lose |= lose;
	m->until = (e->refill ? refill_from(e) : e->visits) + e->n_slots;
	atomic_store_explicit(&e->changing, true, memory_order_relaxed);
}

/* What a fill follows from, in any order of the members; never 0. */
static uint64_t fill_mark(const struct hf_engine *e)
{
	uint64_t mark = 0;
	struct hf_sip s;

	hf_sip_init(&s, e->conf.hash_key, 1, 3);
	hf_sip_u32(&s, (uint32_t)e->conf.method);
	hf_sip_u32(&s, e->ground.ring_points);
	mark = hf_sip_end(&s);
	for (uint16_t id = 1; id <= last_id(e); id++) {
		bool up = state_of(e, id) == HF_STATE_UP;

		if (!up && !(e->method->listed && e->member[id].used))
			continue;
		hf_sip_init(&s, e->conf.hash_key, 1, 3);
		hf_sip_u32(&s, up ? e->hot[id].weight : 0);
		hf_sip_u32(&s, id); /* slots hold ids */
		hf_sip_add(&s, hf_bytes_str(name_of(e, id)));
		mark += hf_sip_end(&s);
	}
	return mark ? mark : 1;
}

static void settle(struct hf_engine *e)
{
	bool left = false;

	for (uint16_t id = 1; id <= last_id(e); id++) {
		struct member *m = &e->member[id];

		if (m->until <= e->visits)
			m->gain = m->lose = false;
		left |= m->gain || m->lose;
	}
	atomic_store_explicit(&e->changing, left, memory_order_relaxed);
	if (!left)
		atomic_store_explicit(&e->head->fill, fill_mark(e), memory_order_release);
}

/* Lists who is up and who is gaining, for the visits up to the one at which the first queued change is done. */
static uint64_t plan(struct hf_engine *e)
{
	uint64_t until = UINT64_MAX;

	e->n_up = e->n_gains = 0;
	for (uint16_t id = 1; id <= last_id(e); id++) {
		struct member *m = &e->member[id];
		bool up = state_of(e, id) == HF_STATE_UP;

		if (up)
			e->up[e->n_up++] = id;
		if (up && m->gain)
			e->gains[e->n_gains++] = id;
		if ((m->gain || m->lose) && m->until < until)
			until = m->until;
	}
	return until;
}

static uint16_t lowest(struct hf_engine *e, uint16_t best, const uint16_t *ids, unsigned n, uint32_t slot)
{
	const struct lot l = place_lot(e, slot);
	uint64_t best_cost = best == NO_OWNER ? 0 : place_cost(e, best, &l);

	for (unsigned i = 0; i < n; i++) {
		uint64_t c = place_cost(e, ids[i], &l);

		if (best == NO_OWNER || place_before(e, ids[i], c, best, best_cost)) {
			best = ids[i];
			best_cost = c;
		}
	}
	return best;
}

unsigned change_own(struct hf_engine *e, uint32_t slot, uint16_t owner)
{
	return owner == SLOT_OWNER(slot_word(e, slot)) ? LOOK_WORK : OWN_WORK + ledger_own(e, slot, owner);
}

/* Returns the work it took. */
static unsigned visit(struct hf_engine *e, uint32_t slot)
{
	uint16_t old = SLOT_OWNER(slot_word(e, slot)), owner;
	bool anew = old == NO_OWNER || e->member[old].lose || e->n_gains >= e->n_up;
	unsigned scores = anew ? e->n_up : e->n_gains ? e->n_gains + 1 : 0;

	if (!scores && !anew)
		return LOOK_WORK;
	owner = anew ? lowest(e, NO_OWNER, e->up, e->n_up, slot) : lowest(e, old, e->gains, e->n_gains, slot);
	return scores + change_own(e, slot, owner);
}

bool hf_engine_tick(struct hf_engine *e, uint64_t now_ms)
{
	e->work = 0;
	ramp_tick(e, now_ms);
	if (e->refill && atomic_load_explicit(&e->changing, memory_order_relaxed)) {
		e->work = refill_tick(e, TICK_WORK);
		settle(e);
		return atomic_load_explicit(&e->changing, memory_order_relaxed);
	}
	while (atomic_load_explicit(&e->changing, memory_order_relaxed) && e->work < TICK_WORK) {
		uint64_t until = plan(e);

		for (; e->visits < until && e->work + e->n_up < TICK_WORK; e->visits++)
			e->work += visit(e, (uint32_t)(e->visits & (e->n_slots - 1)));
		settle(e);
		if (e->visits < until)
			break;
	}
	return atomic_load_explicit(&e->changing, memory_order_relaxed);
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct hf_engine *e = arg;

	return strcmp(name_of(e, ((const struct rival *)a)->id), name_of(e, ((const struct rival *)b)->id));
}

unsigned change_rivals(struct hf_engine *e, struct rival *r)
{
	unsigned n = 0;

	for (uint16_t id = 1; id <= last_id(e); id++)
		if (state_of(e, id) == HF_STATE_UP)
			r[n++] = (struct rival){e->hot[id].seed, e->hot[id].weight, id};
	qsort_r(r, n, sizeof *r, by_name, e);
	return n;
}

static int id_by_name(const void *a, const void *b, void *arg)
{
	const struct hf_engine *e = arg;

	return strcmp(name_of(e, *(const uint16_t *)a), name_of(e, *(const uint16_t *)b));
}

void change_names(struct hf_engine *e)
{
	unsigned n = 0;

	if (!e->method->listed)
		return;
	for (uint16_t id = 1; id <= last_id(e); id++)
		if (e->member[id].used)
			e->up[n++] = id; /* nobody else uses it with such a method */
	qsort_r(e->up, n, sizeof *e->up, id_by_name, e);
	while (n--)
		atomic_store_explicit(&e->hot[e->up[n]].seed, n, memory_order_relaxed);
}

static void done(struct hf_engine *e)
{
	for (uint16_t id = 1; id <= last_id(e); id++)
		e->member[id].until = 0;
	settle(e);
}

static enum hf_err fill_at_once(struct hf_engine *e)
{
	struct rival *r = malloc((last_id(e) + 1u) * sizeof *r);
	uint16_t *owner = malloc(e->n_slots * sizeof *owner);
	enum hf_err err = r && owner ? HF_OK : HF_ENOMEM;

	if (err != HF_OK)
		goto out;
	e->method->fill(&e->ground, r, change_rivals(e, r), e->n_slots, owner);
	for (uint32_t j = 0; j < e->n_slots; j++)
		(void)change_own(e, j, owner[j]);
out:
	free(owner);
	free(r);
	return err;
}

enum hf_err change_fill(struct hf_engine *e)
{
	enum hf_err err = HF_OK;

	if (e->kept_fill && e->kept_fill == fill_mark(e))
		;
	else if (e->refill)
		refill_all(e);
	else
		err = fill_at_once(e);
	if (err == HF_OK)
		done(e);
	return err;
}
