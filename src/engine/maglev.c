/* The hash method `maglev`: each server has its own order of all slots, a permutation; servers take turns as their weights say, and whose turn
 * it is takes the first slot of its order that is still free. Shares are even to a slot or so; a change also moves a few slots of third parties.
 * A slot's runners-up are those in whose order it stands first, by weight.
 *
 * The permutation of k bits: exclusive or, times an odd number, folded onto its lower half, and both again; each step can be taken back, so that
 * a slot's rank in it needs no table.
 * FROZEN, as carp.c is. Golden digests: tests/unit/engine/test_methods.c. */
#include "method.h"

static inline uint32_t mask_of(const struct ground *g) { return (1u << g->slot_bits) - 1; }
static inline uint32_t fold(const struct ground *g, uint32_t x) { return x ^ x >> (g->slot_bits + 1) / 2; } /* is its own inverse */

/* x * y = 1 modulo 2^32, for odd x: right in 3 bits, and twice as many with each round. */
static uint32_t inverse(uint32_t x)
{
	uint32_t y = x;

	for (int i = 0; i < 4; i++)
		y *= 2 - x * y;
	return y;
}

static struct part part_of(uint64_t seed)
{
	uint64_t a = method_draw(seed, 0), b = method_draw(seed, 1);

	return (struct part){.add = (uint32_t)(a >> 32), .mul = {(uint32_t)b | 1, (uint32_t)(b >> 32) | 1}};
}

static uint64_t cost(const struct lot *l, uint64_t seed, uint32_t weight)
{
	struct part p = part_of(seed);
	uint32_t mask = mask_of(l->ground), x = (l->slot ^ p.add) & mask;

	x = fold(l->ground, x * p.mul[0] & mask);
	x = fold(l->ground, x * p.mul[1] & mask);
	return (x + (uint64_t)1) * ((1u << 26) / weight);
}

/* The slot of a rank: cost's way back; mul[] holds the inverses. */
static inline uint32_t slot_at(const struct ground *g, const struct part *p, uint32_t rank)
{
	uint32_t mask = mask_of(g), x = fold(g, rank) * p->mul[1] & mask;

	x = fold(g, x) * p->mul[0] & mask;
	return (x ^ p->add) & mask;
}

/* Whether rival a's turn comes before b's: its t-th at (2t + 1) / weight, the rule of odd numbers, which favours neither great nor small. */
static bool before(const struct filling *f, uint16_t a, uint16_t b)
{
	uint64_t at_a = (uint64_t)(2 * f->part[a].taken + 1) * f->r[b].weight, at_b = (uint64_t)(2 * f->part[b].taken + 1) * f->r[a].weight;

	return at_a != at_b ? at_a < at_b : a < b; /* rivals come by name */
}

/* The queue is a heap: the first is next; `i` may have become later than what is below it. */
static void sink(struct filling *f, unsigned i)
{
	for (unsigned c; (c = 2 * i + 1) < f->n; i = c) {
		uint16_t x = f->queue[i];

		if (c + 1 < f->n && before(f, f->queue[c + 1], f->queue[c]))
			c++;
		if (!before(f, f->queue[c], x))
			return;
		f->queue[i] = f->queue[c];
		f->queue[c] = x;
	}
}

static void begin(struct filling *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		f->part[i] = part_of(f->r[i].seed);
		f->part[i].mul[0] = inverse(f->part[i].mul[0]);
		f->part[i].mul[1] = inverse(f->part[i].mul[1]);
		f->queue[i] = (uint16_t)i;
	}
	for (unsigned i = f->n / 2; i-- > 0;)
		sink(f, i);
}

static bool go_on(struct filling *f, uint64_t steps)
{
	uint32_t n_slots = f->n ? mask_of(&f->ground) + 1 : 0;

	for (; f->done < n_slots && steps; steps--) {
		uint16_t i = f->queue[0];
		uint32_t slot = slot_at(&f->ground, &f->part[i], f->part[i].next++);

		if (f->owner[slot] != NO_OWNER)
			continue;
		f->owner[slot] = f->r[i].id;
		f->part[i].taken++;
		f->done++;
		sink(f, 0);
	}
	return f->done == n_slots;
}

const struct method maglev_method = {method_no_tables, method_seed, cost, .begin = begin, .go_on = go_on};
