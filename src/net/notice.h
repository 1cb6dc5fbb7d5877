/* What passes, seen by who watches: counters, and the ring of the last messages (private to net). A front says what a message is (struct hf_seen), net
 * knows where it came from and goes to. Every table here is as large as the protocol's own names and the pool's members make it: no peer can add a row. */
#ifndef NET_NOTICE_H
#define NET_NOTICE_H

#include "flow.h"

/* The tally of a member on a worker: begun anew when its id has become another server's. NULL: there is none. */
struct tally *notice_tally(const struct worker *w, const struct pool_rt *pool, const struct snap_member *m);

/* A message has come and the front's first step has said what it is. */
void notice_came(struct parcel *p);
/* A message, or a flow's opening, goes to a member. */
void notice_placed(struct parcel *p, const struct snap_member *m);
/* A message has been handed over for sending, from an address of ours (family 0: unknown) and its port there. to: port 0, only its connection is known. */
void notice_out(struct parcel *p, const struct hf_send *s, enum hf_transport t, const struct hf_addr *from, uint16_t own_port, const struct hf_addr *to);
static inline void notice_sent(struct parcel *p, const struct hf_send *s, enum hf_transport t, const struct hf_addr *from, uint16_t own_port, const struct hf_addr *to)
{
	if ((p->w->ring || p->w->exporting) && (s->name | s->code ? s->name : p->ctx.seen.name))
		notice_out(p, s, t, from, own_port, to);
}

/* ---- ring.c: the last messages of a worker ---- */

struct ring;
struct ring *ring_new(uint64_t octets); /* NULL: 0 octets, or no memory */
void ring_free(struct ring *r);
/* A number of the octets that a session's messages share: quick, and not for anything that a stranger could gain by. */
uint64_t ring_session(struct hf_bytes session);
/* The worker. */
void ring_add(struct ring *r, const struct hf_passed *m);

#endif
