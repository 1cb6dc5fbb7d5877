/* What a hash method is (private to the engine): a way to fill slots and to order a slot's runners-up. One file a method.
 * A method knows no state, load or entry: it sees seeds and weights of the servers that take part. Pure; any thread. */
#ifndef HF_ENGINE_METHOD_H
#define HF_ENGINE_METHOD_H

#include "holdfast/bytes.h"

#define NO_OWNER 65535 /* a slot's owner when no server takes part; frozen with the fill */

struct rival {
	uint64_t seed;   /* method->seed of the name; a listed method's: the name's place in the list */
	uint32_t weight; /* 1..256 */
	uint16_t id;
};

struct ground { /* what an engine's slots lie on; fixed with it */
	unsigned slot_bits;
	uint32_t ring_points; /* 1..1024 at weight 100 */
};

struct lot { /* the slot that servers are ordered for */
	const struct ground *ground;
	uint32_t slot;
	uint64_t owner_seed; /* of its owner; 0 without one */
};

/* A fill that is made in steps. Who begins it (refill.c) gives rivals and room; owners are NO_OWNER then. */
struct filling {
	const struct rival *r; /* sorted by name */
	unsigned n;
	struct ground ground;
	uint16_t *owner;       /* of all slots */
	uint32_t done;         /* slots that have got theirs */
	struct part {          /* working words, one of them a rival */
		uint32_t add, mul[2], next, taken;
	} *part;
	uint16_t *queue;       /* n of them */
};

struct method {
	void (*prepare)(void); /* builds the method's tables; any number of calls */
	uint64_t (*seed)(const uint8_t hash_key[16], struct hf_bytes name);
	/* The order of servers in a slot: the lowest first, at equal cost the name that sorts first. */
	uint64_t (*cost)(const struct lot *l, uint64_t seed, uint32_t weight);
	/* Either the lowest cost owns the slot, and this gives the owner ids of the first n_slots slots; rivals come sorted by name ... */
	void (*fill)(const struct ground *g, const struct rival *r, unsigned n, uint32_t n_slots, uint16_t *owner);
	/* ... or owners follow from all servers together: begin and go on, a step a slot or a look at one. True: it is whole. */
	void (*begin)(struct filling *f);
	bool (*go_on)(struct filling *f, uint64_t steps);
	bool redraws; /* another weight draws other slots: the server may gain and lose at once */
	bool listed;  /* seeds are places in the list of all names */
};

extern const struct method carp_method, ring_method, maglev_method, modulo_method;

/* SipHash-1-3 of `server:` and the name, under the cluster's hash key. */
uint64_t method_seed(const uint8_t hash_key[16], struct hf_bytes name);
void method_no_tables(void);

/* The i-th number of a seed. Frozen: all fills stand on it. */
static inline uint64_t method_draw(uint64_t seed, uint32_t i)
{
	uint64_t x = seed + i * 0x9E3779B97F4A7C15u;

	x ^= x >> 30;
	x *= 0xBF58476D1CE4E5B9u;
	x ^= x >> 27;
	x *= 0x94D049BB133111EBu;
	x ^= x >> 31;
	return x;
}

#endif
