/* The hash method `modulo`: a list of the servers by name in which each stands as often as its weight says; a slot's number, scrambled, modulo
 * the list's length is its place in it. This is plain hashing, for comparison: another length, and most slots change hands.
 * The runners-up are the next servers in the list behind the slot's owner.
 * FROZEN, as carp.c is. Golden digests: tests/unit/engine/test_methods.c. */
#include "method.h"

/* The list runs on: behind the last name stands the first, and the owner itself is the last of all. */
static uint64_t cost(const struct lot *l, uint64_t seed, uint32_t weight)
{
	(void)weight;
	return seed - l->owner_seed - 1;
}

/* next: the place behind the server's last. */
static void begin(struct filling *f)
{
	uint32_t end = 0;

	for (unsigned i = 0; i < f->n; i++)
		f->part[i].next = end += f->r[i].weight;
}

static unsigned rival_at(const struct filling *f, uint32_t place)
{
	unsigned low = 0, high = f->n - 1;

	while (low < high) {
		unsigned mid = (low + high) / 2;

		if (place < f->part[mid].next)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static bool go_on(struct filling *f, uint64_t steps)
{
	uint32_t n_slots = f->n ? 1u << f->ground.slot_bits : 0;

	for (; f->done < n_slots && steps; steps--, f->done++) {
		uint32_t place = (uint32_t)(method_draw(0, f->done + 1) % f->part[f->n - 1].next);

		f->owner[f->done] = f->r[rival_at(f, place)].id;
	}
	return f->done == n_slots;
}

const struct method modulo_method = {method_no_tables, method_seed, cost, .begin = begin, .go_on = go_on, .listed = true};
