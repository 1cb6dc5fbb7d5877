/* Counts of connections by source address; any thread. */
#ifndef NET_SOURCES_H
#define NET_SOURCES_H

#include "holdfast/addr.h"

struct sources;
enum source_verdict { SOURCE_COUNTED, SOURCE_UNCOUNTED, SOURCE_REFUSED };

/* key: so that nobody can choose addresses that meet in one shard. NULL: no memory. */
struct sources *sources_new(const uint8_t key[16]) HF_MUST_USE;
void sources_free(struct sources *s);
/* One connection more, its opening not complete. A limit of 0 is none. Only what is COUNTED is to leave, by the place that *at then is. */
enum source_verdict sources_enter(struct sources *s, const struct hf_addr *a, uint64_t max_open, uint64_t max_opening, uint32_t *at) HF_MUST_USE;
void sources_opened(struct sources *s, uint32_t at);              /* its opening is complete */
void sources_leave(struct sources *s, uint32_t at, bool opening); /* it has ended, before (opening) or after that */

#endif
