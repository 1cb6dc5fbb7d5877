/* Deadlines of many things that hardly ever come: set, moved and taken off without a look at any other but its neighbours (private to net).
 * In milliseconds that only grow; a wheel of 0 is empty. Who owns the items walks through what is due. */
#ifndef NET_WHEEL_H
#define NET_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

enum { WHEEL_LEVELS = 4, WHEEL_SLOTS = 256 }; /* 49 days: as far as a hold may be set */

struct wheel_item {
	uint64_t due_ms;
	struct wheel_item *next, **at; /* at NULL: not set */
};

/* The slots of a level are as long as all of the level below; what stands in one comes down when its time begins. */
struct wheel {
	uint64_t now_ms; /* what is due until then, and no more, stands in its slot of the first level */
	unsigned n;
	struct wheel_item *slot[WHEEL_LEVELS][WHEEL_SLOTS];
};

/* Sets or moves it; what is due already is due in the next millisecond. */
void wheel_set(struct wheel *w, struct wheel_item *i, uint64_t due_ms, uint64_t now_ms);
void wheel_stop(struct wheel *w, struct wheel_item *i); /* one that is not set is fine */
/* The first that is due, the earliest first; it stays until it is stopped or moved. NULL: none is any more. */
struct wheel_item *wheel_due(struct wheel *w, uint64_t now_ms);
/* When to ask again: `within` ms from now, or before if something is due then, or comes down. */
uint64_t wheel_next(const struct wheel *w, uint64_t now_ms, unsigned within);
/* Any, until none is left. */
struct wheel_item *wheel_any(const struct wheel *w);

#endif
