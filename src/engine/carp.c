/* The hash method `carp`: weighted rendezvous in integers. Each server draws a number in each slot; the lowest minus
 * log2(draw) / weight owns it, so a change moves exactly the share it must and no third party's slot.
 *
 * FROZEN: one changed bit reshuffles the sessions of every farm, and gateways of two versions would disagree. Unsigned
 * 64-bit arithmetic only, so that every machine and compiler fills alike. Golden digests: tests/unit/engine/test_carp.c. */
#include "carp.h"

#include <pthread.h>

#define LOG_BITS 12 /* 4096 steps and a line between two of them: error below 8e-10 */
#define LOG_ONE 31  /* fraction bits of a logarithm */

static uint32_t table[(1 << LOG_BITS) + 1];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* Bit by bit: squaring doubles the logarithm, and each overflow past 2 is one bit of it. */
static void build(void)
{
	for (uint64_t i = 0; i < 1 << LOG_BITS; i++) {
		uint64_t y = ((1 << LOG_BITS) + i) << 19, t = 0;

		for (int bit = 0; bit < LOG_ONE; bit++) {
			y = y * y >> 31;
			t *= 2;
			if (y >> 32) {
				y >>= 1;
				t++;
			}
		}
		table[i] = (uint32_t)t;
	}
	table[1 << LOG_BITS] = 1u << LOG_ONE;
}

static void prepare(void) { pthread_once(&table_once, build); }

uint32_t carp_log(unsigned i)
{
	prepare();
	return table[i];
}

static inline uint64_t draw(uint64_t seed, uint32_t slot) { return method_draw(seed, slot) | 1; }

uint64_t carp_draw(uint64_t seed, uint32_t slot) { return draw(seed, slot); }

/* `scale` is 2^26 / weight, rounded down. */
static inline uint64_t cost_of(uint64_t seed, uint32_t scale, uint32_t slot)
{
	uint64_t x = draw(seed, slot);
	unsigned z = (unsigned)__builtin_clzll(x);
	uint64_t m = x << z;
	uint32_t i = (uint32_t)(m >> 51) & 4095, f = (uint32_t)(m >> 27) & 0xFFFFFF;
	uint64_t l = ((uint64_t)(63 - z) << LOG_ONE) + table[i] + ((uint64_t)(table[i + 1] - table[i]) * f >> 24);

	return (((uint64_t)1 << 37) - l) * scale;
}

static inline uint32_t scale_of(uint32_t weight) { return (1u << 26) / weight; }

static uint64_t cost(const struct lot *l, uint64_t seed, uint32_t weight) { return cost_of(seed, scale_of(weight), l->slot); }

/* Server by server over a block of slots, so that the inner loop holds one seed and scale in registers. */
enum { BLOCK = 256 };

static void fill_block(const struct rival *r, unsigned n, uint32_t from, uint32_t count, uint16_t *owner)
{
	uint64_t best[BLOCK];

	for (uint32_t j = 0; j < count; j++) {
		best[j] = UINT64_MAX;
		owner[j] = NO_OWNER;
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t seed = r[i].seed;
		uint32_t scale = scale_of(r[i].weight);

		for (uint32_t j = 0; j < count; j++) {
			uint64_t c = cost_of(seed, scale, from + j);

			if (c < best[j]) { /* rivals come by name: at equal cost the first stays */
				best[j] = c;
				owner[j] = r[i].id;
			}
		}
	}
}

static void fill(const struct ground *g, const struct rival *r, unsigned n, uint32_t n_slots, uint16_t *owner)
{
	(void)g;
	prepare();
	for (uint32_t j = 0; j < n_slots; j += BLOCK)
		fill_block(r, n, j, n_slots - j < BLOCK ? n_slots - j : BLOCK, owner + j);
}

const struct method carp_method = {.prepare = prepare, .seed = method_seed, .cost = cost, .fill = fill};
