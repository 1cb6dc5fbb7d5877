/* From which sources a record's live flows are, and were of late (private to the engine; DESIGN 5). Plain data under the lock of the record's shard.
 * It knows no time and no entry; whoever counts the record's flows calls it with each. */
#ifndef HF_ENGINE_HOLDERS_H
#define HF_ENGINE_HOLDERS_H

#include "holdfast/engine.h"

#define HOLDERS ((unsigned)HF_SOURCES_MAX) /* three devices are one person's; one more is enough to tell that they are not */

struct holders {
	uint32_t from[HOLDERS];  /* folded sources, the one that came last at the end; 0: none yet */
	uint16_t flows[HOLDERS]; /* live ones; 0: it had some. UINT16_MAX: not counted any more, until none is left of all */
};

/* A number of a source in half the room. */
static inline uint32_t source_folded(uint64_t source) { return (uint32_t)(source ^ source >> 32); }

/* A live flow more or less of a source; 0 is nobody. A fifth source beside four live ones is not noted. */
void holders_open(struct holders *h, uint64_t source);
void holders_close(struct holders *h, uint64_t source);
/* No flow is live any more. Who had one is still known. */
void holders_rest(struct holders *h);
/* Flows of `max` sources are live, 1..HOLDERS, and this one neither has nor had any. */
bool holders_full(const struct holders *h, uint64_t source, unsigned max);

#endif
