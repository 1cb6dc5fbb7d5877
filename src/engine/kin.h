/* Bonds that are one user's, under several keys (private to the engine): choose.c asks where they lead. */
#ifndef HF_ENGINE_KIN_H
#define HF_ENGINE_KIN_H

#include "inside.h"

#define KIN_HOPS 3 /* a source's, of a name's, of the same name in another spelling */

struct bond {
	uint16_t server; /* where it leads; 0: nowhere */
	bool leaves;     /* it has to be left, and could not be placed anew */
	bool alias;      /* it is a second name */
	uint64_t by;     /* the placing key whose entry it is */
	uint64_t of;     /* whose bond that is: its own, if that counts, or what it is a second name of in the end; 0: it is not known to be anybody's */
	uint64_t on_the_way[KIN_HOPS]; /* ... and of what before; 0: nothing more */
};

/* The first of the question's placing keys that has an entry. A second name leads where its bond is. Where the question renews, has no `place` and is
 * led, a bond that has to be left is placed here and now, as its own key would, so that whoever comes by another name of it finds the same server.
 * Takes locks of shards, one after the other: the caller holds none. */
struct bond kin_bond(struct hf_engine *e, const struct hf_question *q, uint64_t now_ms);

/* The entry of `r`, which has no live flow, was led by that bond when it was made. */
static inline bool kin_follows(const struct bond *b, const struct record *r, uint16_t server)
{
	uint64_t of = record_alias(r);
	bool its = b->of == of;

	for (unsigned i = 0; i < KIN_HOPS; i++)
		its |= b->on_the_way[i] == of;
	return of && its && !r->flows && b->server && b->server != server && !b->leaves;
}

/* The bond that an entry goes after which is made by this answer; 0: none. */
static inline uint64_t kin_made(const struct bond *b, const struct hf_answer *a)
{
	return b->alias && a->why == HF_WHY_BOND && a->server == b->server ? b->of : 0;
}

/* ... of one that is at `server` already, and nothing tells any more what it goes after. */
static inline uint64_t kin_again(const struct bond *b, uint16_t server) { return b->alias && b->server == server ? b->of : 0; }

#endif
