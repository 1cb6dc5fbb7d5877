/* Places in a queue by turn: a treap, so that a million who wait cost no step more than some dozen looks (private to net). */
#ifndef NET_TURNS_H
#define NET_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "holdfast/front.h"

struct turns_place {
	struct turns_place *side[2]; /* of earlier turns, of later ones */
	struct hf_flow_name name;
	uint32_t turn;         /* nobody else's; they may wrap, what is there at one time spans less than half of them */
};

struct turns {
	struct turns_place *root;
	_Atomic uint32_t n;    /* looked at without the lock that the rest is under */
};

/* False: no memory. */
bool turns_put(struct turns *p, struct hf_flow_name name, uint32_t turn) HF_MUST_USE;
/* The place of this turn, which is there. */
void turns_take(struct turns *p, uint32_t turn);
/* NULL: there is none. */
const struct turns_place *turns_first(const struct turns *p);
const struct turns_place *turns_after(const struct turns *p, uint32_t turn);
void turns_free(struct turns *p);

#endif
