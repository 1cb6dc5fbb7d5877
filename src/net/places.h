/* Places in a queue by turn: a treap, so that a million who wait cost no step more than some dozen looks (private to net). */
#ifndef NET_PLACES_H
#define NET_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "holdfast/front.h"

struct place {
	struct place *side[2]; /* of earlier turns, of later ones */
	struct hf_flow_name name;
	uint32_t turn;         /* nobody else's; they may wrap, what is there at one time spans less than half of them */
};

struct places {
	struct place *root;
	_Atomic uint32_t n;    /* looked at without the lock that the rest is under */
};

/* False: no memory. */
bool places_put(struct places *p, struct hf_flow_name name, uint32_t turn) HF_MUST_USE;
/* The place of this turn, which is there. */
void places_take(struct places *p, uint32_t turn);
/* NULL: there is none. */
const struct place *places_first(const struct places *p);
const struct place *places_after(const struct places *p, uint32_t turn);
void places_free(struct places *p);

#endif
