/* Which worker keeps what has a tag (private to net; hold.c writes, ask.c looks). What a client sends of a held request - the request again, its CANCEL,
 * its ACK - may come to another worker: over another connection, or as datagrams are read by somebody else now (lend.c). Any thread; a gateway of one
 * worker has none of it (NULL is fine in all calls). */
#ifndef NET_KEEPERS_H
#define NET_KEEPERS_H

#include <stdint.h>

struct worker;
struct keepers *keepers_new(void);
void keepers_free(struct keepers *k);
/* What cannot be written for want of memory is found by its own worker alone. */
void keepers_put(struct keepers *k, uint64_t tag, struct worker *w);
void keepers_take(struct keepers *k, uint64_t tag, const struct worker *w);
/* One that keeps something with the tag, other than w. NULL: nobody. */
struct worker *keepers_find(struct keepers *k, uint64_t tag, const struct worker *w);

#endif
