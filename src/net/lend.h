/* Whose socket is read by whom (private to net): while there is little to do, the first worker reads the datagrams of the others, too. */
#ifndef NET_LEND_H
#define NET_LEND_H

#include "inside.h"

/* Behind each turn of a socket. May give this worker's socket away, or others' back. */
void lend_turn(struct listening *l, const struct snap_service *s);
/* Is worker i's socket for the first worker to read? */
static inline bool lend_is_lent(const struct listening *l, unsigned i) { return atomic_load_explicit(&l->socks->lent[i], memory_order_acquire); }
/* A worker that was woken: sockets of its own that it has back are read again. */
void lend_look(struct worker *w);
/* Before a listening ends: whoever takes its place begins with each worker at its own. */
void lend_end(struct listening *l);

#endif
