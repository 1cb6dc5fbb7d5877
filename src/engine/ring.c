/* The hash method `ring`: points on a ring of 2^32 steps. A server has one point in each of its equal segments, as many as its weight asks for;
 * slots lie evenly on the ring, and the server of the next point at or behind a slot owns it. The slots are the ring's jump table, and since
 * each segment is known by its number, a server's next point is found without the others': its distance is the cost.
 *
 * A point takes part of the gap it falls into, so that shares follow weights only roughly where few servers of unlike weights meet: of 100, 100
 * and 50 the last gets 17 % instead of 20. Ten equal ones: the peak is 1.10 of the mean on average, and 1.2 at worst.
 * FROZEN, as carp.c is. Golden digests: tests/unit/engine/test_methods.c. */
#include "method.h"

/* Points of a server, rounded, at least one. At most 2621. */
static uint32_t points_of(const struct ground *g, uint32_t weight)
{
	uint32_t points = (weight * g->ring_points + 50) / 100;

	return points ? points : 1;
}

static inline uint64_t start_of(uint32_t segment, uint32_t points) { return ((uint64_t)segment << 32) / points; }

/* The point in a segment; in a segment behind the last one, that of the first, a turn on. */
static uint64_t point_in(uint64_t seed, uint32_t segment, uint32_t points)
{
	uint32_t i = segment < points ? segment : 0;
	uint64_t start = start_of(i, points), length = start_of(i + 1, points) - start;

	return start + ((method_draw(seed, i) >> 32) * length >> 32) + ((uint64_t)(segment != i) << 32);
}

static uint64_t cost(const struct lot *l, uint64_t seed, uint32_t weight)
{
	uint32_t points = points_of(l->ground, weight), at = l->slot << (32 - l->ground->slot_bits), segment = (uint32_t)((uint64_t)at * points >> 32);
	uint64_t point = point_in(seed, segment, points);

	if (point < at)
		point = point_in(seed, segment + 1, points);
	return point - at;
}

/* Point by point over a block of slots: a division a point, not a slot. */
enum { BLOCK = 256 };

static void fill_one(const struct ground *g, const struct rival *r, uint32_t from, uint32_t count, uint64_t *best, uint16_t *owner)
{
	uint32_t points = points_of(g, r->weight), step = 32 - g->slot_bits;
	uint32_t segment = (uint32_t)(((uint64_t)from << step) * points >> 32);
	uint64_t point = point_in(r->seed, segment, points);

	for (uint32_t j = 0; j < count; j++) {
		uint64_t at = (uint64_t)(from + j) << step;

		while (point < at)
			point = point_in(r->seed, ++segment, points);
		if (point - at < best[j]) { /* rivals come by name: at equal distance the first stays */
			best[j] = point - at;
			owner[j] = r->id;
		}
	}
}

static void fill(const struct ground *g, const struct rival *r, unsigned n, uint32_t n_slots, uint16_t *owner)
{
	uint64_t best[BLOCK];

	for (uint32_t from = 0; from < n_slots; from += BLOCK) {
		uint32_t count = n_slots - from < BLOCK ? n_slots - from : BLOCK;

		for (uint32_t j = 0; j < count; j++) {
			best[j] = UINT64_MAX;
			owner[from + j] = NO_OWNER;
		}
		for (unsigned i = 0; i < n; i++)
			fill_one(g, &r[i], from, count, best, owner + from);
	}
}

const struct method ring_method = {method_no_tables, method_seed, cost, fill, .redraws = true};
