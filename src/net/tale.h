/* What is told of a session when it has ended: one line of the session log (private to net). Two kinds: a flow whose sides are joined carries its
 * tale; sessions of messages, of which net knows no more than keys, have theirs in a table that all workers share. Nothing is kept and nothing costs
 * while nobody wants the log. Lines are written where the session ends, and handed to the store's thread. */
#ifndef NET_TALE_H
#define NET_TALE_H

#include "inside.h"

struct tales;
struct tale;

struct tales *tales_new(void) HF_MUST_USE; /* NULL: no memory */
void tales_free(struct tales *t);          /* what has not ended is not told */

/* A flow begins. NULL: nobody wants to know, or no memory. */
struct tale *tale_flow(struct worker *w);
/* An event of a flow: a WAKE while it is relayed says that it has proved itself. */
void tale_proved(struct tale *t);
/* Something that is counted on the way of a flow; NULL is fine. */
void tale_fact(struct tale *t, unsigned reason);
/* The engine has answered, or was taught, of a parcel's key. */
void tale_asked(struct parcel *p, const struct hf_ask *a, const struct hf_answer *answer);
void tale_learnt(struct parcel *p, const struct hf_act *act, uint16_t server);
/* A flow ends; frees its tale. Only a flow that asked for a server has a line. */
void tale_end(struct flow *f, unsigned reason);
/* Control thread, now and then: sessions whose time is over. A call looks at a part of them, about 16 calls at all. */
void tales_sweep(struct hf_net *net, uint64_t now_ms);

#endif
