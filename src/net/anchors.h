/* Relayed flows of all workers by the names that their front gave them: flows of datagrams begin beside them (path.h). By value: who finds one gets its
 * name and its server, and no pointer. Any worker; each call takes one lock for a moment: there is one where a flow begins or ends, and one for a datagram
 * that would open another, never one for what is relayed. */
#ifndef NET_ANCHORS_H
#define NET_ANCHORS_H

#include "flow.h"

struct anchors;
struct anchor;

/* Paths that one flow may have at a time: a client has two transports at most, and comes again from another port when one has failed. */
#define ANCHOR_PATHS 4u

struct anchors *anchors_new(const uint8_t key[16]) HF_MUST_USE; /* NULL: no memory. key: so that nobody can choose names that meet */
void anchors_free(struct anchors *t);                           /* when all flows have ended; NULL is fine */

/* The flow is found by these from now on, until it leaves; without memory, by none. Twice is once. */
void anchors_enter(struct anchors *t, struct flow *f, const uint64_t names[2]);
/* The workers that have paths beside it, a bit for each. One that has not entered is fine. */
uint64_t anchors_leave(struct anchors *t, struct flow *f);

/* The one flow of the service that has the first of these names (0: none) which any has. HF_R_NONE, or why there is none. */
unsigned anchors_find(struct anchors *t, uint16_t service, const uint64_t names[HF_BESIDE], struct beside *out) HF_MUST_USE;

/* One path more beside it, on this worker. False: it has ended, or has as many as it may. */
bool anchors_join(struct anchors *t, const struct beside *b, unsigned worker) HF_MUST_USE;
void anchors_part(struct anchors *t, const struct beside *b); /* one less */
bool anchors_lives(struct anchors *t, const struct beside *b) HF_MUST_USE;

#endif
