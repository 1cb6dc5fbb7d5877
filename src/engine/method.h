/* What a hash method is (private to the engine): a way to fill slots and to order a slot's runners-up. One file a method.
 * A method knows no state, load or entry: it sees seeds and weights of the servers that take part. Pure; any thread. */
#ifndef HF_ENGINE_METHOD_H
#define HF_ENGINE_METHOD_H

#include "holdfast/bytes.h"

#define NO_OWNER 65535 /* a slot's owner when no server takes part; frozen with the fill */

struct rival {
	uint64_t seed;   /* method->seed of the name */
	uint32_t weight; /* 1..256 */
	uint16_t id;
};

struct method {
	void (*prepare)(void); /* builds the method's tables; any number of calls */
	uint64_t (*seed)(const uint8_t hash_key[16], struct hf_bytes name);
	/* The order of servers in a slot: the lowest first, at equal cost the name that sorts first. The lowest owns the slot. */
	uint64_t (*cost)(uint64_t seed, uint32_t weight, uint32_t slot);
	/* Owner ids of all n_slots slots; rivals come sorted by name. */
	void (*fill)(const struct rival *r, unsigned n, uint32_t n_slots, uint16_t *owner);
};

extern const struct method carp_method;

#endif
