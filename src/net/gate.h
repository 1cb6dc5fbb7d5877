/* The gate of a server: so many connections are being opened towards it at once, the others wait for their turn in the order in which they came
 * (private to net). Being opened is from the dial until the server's answer is there. */
#ifndef NET_GATE_H
#define NET_GATE_H

#include "flow.h"

enum gate_pass { GATE_PASSED, GATE_QUEUED, GATE_FULL };

/* A flow that flow_at has brought to its server wants to dial it. One whose dial failed has kept its pass, or its turn, as long as it is there. */
enum gate_pass gate_enter(struct flow *f) HF_MUST_USE;
/* Its dial has failed: it keeps its pass, and is woken (conn_turn) as soon as another gets through. Without a limit of connections only as many are as may wait. */
void gate_failed(struct flow *f);
/* Its connection stands, its answer is to come. */
void gate_through(struct flow *f);
/* A queued one: has its turn come? True: it has passed. */
bool gate_turn(struct flow *f) HF_MUST_USE;
/* Its connection stands, or it goes elsewhere, or ends: the next one is told. Nothing for one that is not at a gate. */
void gate_leave(struct flow *f);
void gate_free(struct gate *g);
/* What is at a gate now; any thread. */
static inline unsigned gate_opening(const struct member_rt *m) { return atomic_load_explicit(&m->gate.opening, memory_order_relaxed); }
static inline unsigned gate_waiting(const struct member_rt *m) { return atomic_load_explicit(&m->gate.waits.n, memory_order_relaxed); }

#endif
