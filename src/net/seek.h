/* Next hops by name, on a worker (private to net). */
#ifndef NET_SEEK_H
#define NET_SEEK_H

#include "inside.h"

#define SEEK_NAMES 1024 /* that a worker knows, or wants to know */

void seek_act(struct parcel *p, const struct hf_act *act);
/* FOUND, FORGET. */
void seek_letter(struct worker *w, const struct letter *l, struct hf_bytes body);
/* The time of one that waits is over; its hold ends with this. */
void seek_late(struct worker *w, struct hold *x);

#endif
