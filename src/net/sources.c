/* What each source address has open: connections in all, and those whose opening is not complete. One table for all workers, in shards.
 * An IPv6 source is its /64: whoever holds one address there holds them all. When a shard is full a new source is not counted, and not
 * refused: the limits of all connections still hold. */
#include "sources.h"

#include <pthread.h>
#include <stdlib.h>

#include "holdfast/hash.h"

#define SHARDS 64
#define PLACES 1024 /* sources a shard; with all shards as many as two thirds of the ports of an address could ever serve */
#define NEAR 16     /* places that are looked at for one source */

struct source {
	uint8_t ip[16];
	uint32_t open, opening;
};

struct shard {
	pthread_mutex_t lock;
	struct source at[PLACES];
};

struct sources {
	uint8_t key[16];
	struct shard shard[SHARDS];
};

struct sources *sources_new(const uint8_t key[16])
{
	struct sources *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	memcpy(s->key, key, 16);
	for (int i = 0; i < SHARDS; i++)
		pthread_mutex_init(&s->shard[i].lock, NULL);
	return s;
}

void sources_free(struct sources *s)
{
	for (int i = 0; s && i < SHARDS; i++)
		pthread_mutex_destroy(&s->shard[i].lock);
	free(s);
}

static void key_of(const struct hf_addr *a, uint8_t ip[16])
{
	memset(ip, 0, 16);
	memcpy(ip, a->ip, a->family == 6 ? 8 : 4);
	ip[15] = a->family;
}

/* The source's place in its shard, which it keeps while it has one open; a free one for a new source; NULL: none. The lock is held. */
static struct source *place(struct shard *sh, uint64_t h, const uint8_t ip[16])
{
	struct source *empty = NULL;

	for (unsigned i = 0; i < NEAR; i++) {
		struct source *x = &sh->at[((h >> 8) + i) % PLACES];

		if (x->open && memcmp(x->ip, ip, 16) == 0)
			return x;
		if (!x->open && !empty)
			empty = x;
	}
	if (!empty)
		return NULL;
	memcpy(empty->ip, ip, 16);
	empty->opening = 0;
	return empty;
}

/* The shard of an address, locked; its hash and form. */
static struct shard *lock(struct sources *s, const struct hf_addr *a, uint8_t ip[16], uint64_t *h)
{
	struct shard *sh;

	key_of(a, ip);
	*h = hf_sip13(s->key, hf_bytes_of(ip, 16));
	sh = &s->shard[*h % SHARDS];
	pthread_mutex_lock(&sh->lock);
	return sh;
}

enum source_verdict sources_enter(struct sources *s, const struct hf_addr *a, uint64_t max_open, uint64_t max_opening, uint32_t *at)
{
	enum source_verdict v = SOURCE_COUNTED;
	uint8_t ip[16];
	uint64_t h;
	struct shard *sh = lock(s, a, ip, &h);
	struct source *x = place(sh, h, ip);

	if (!x)
		v = SOURCE_UNCOUNTED;
	else if ((max_open && x->open >= max_open) || (max_opening && x->opening >= max_opening))
		v = SOURCE_REFUSED;
	if (v == SOURCE_COUNTED) {
		x->open++;
		x->opening++;
		*at = (uint32_t)(sh - s->shard) * PLACES + (uint32_t)(x - sh->at);
	}
	pthread_mutex_unlock(&sh->lock);
	return v;
}

static void less(struct sources *s, uint32_t at, bool opening, bool open)
{
	struct shard *sh = &s->shard[at / PLACES];
	struct source *x = &sh->at[at % PLACES];

	pthread_mutex_lock(&sh->lock);
	x->opening -= opening;
	x->open -= open;
	pthread_mutex_unlock(&sh->lock);
}

void sources_opened(struct sources *s, uint32_t at) { less(s, at, true, false); }
void sources_leave(struct sources *s, uint32_t at, bool opening) { less(s, at, opening, true); }
