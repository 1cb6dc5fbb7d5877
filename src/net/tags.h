/* Things found by a tag of 64 bits that is as good as random from its bit 32 on (private to net). The tags stand in the table itself, so that one which
 * nobody has is told from one line of it. Never more than half full. Several may have the same tag. */
#ifndef NET_TAGS_H
#define NET_TAGS_H

#include <stdbool.h>
#include <stdint.h>

struct tag_cell {
	uint64_t tag;
	void *of; /* NULL: free */
};

struct tags {
	struct tag_cell *cell;
	uint32_t mask;
};

/* Room for n, a power of two. False: no memory; nothing has changed. */
bool tags_widen(struct tags *t, uint32_t n);
void tags_put(struct tags *t, uint64_t tag, void *of);
bool tags_take(struct tags *t, uint64_t tag, const void *of); /* false: it is not there */

/* A walk over those that may have the tag, until a free one. */
static inline const struct tag_cell *tags_first(const struct tags *t, uint64_t tag) { return &t->cell[tag >> 32 & t->mask]; }
static inline const struct tag_cell *tags_next(const struct tags *t, const struct tag_cell *c) { return &t->cell[(uint32_t)(c + 1 - t->cell) & t->mask]; }

#endif
