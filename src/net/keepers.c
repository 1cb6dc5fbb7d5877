/* Which worker keeps what has a tag; see keepers.h. Shards by the highest bits of the tag, so that two workers seldom meet at one; in each a table of
 * tags as a worker has it of its own. Knows no hold and no protocol. */
#include "keepers.h"

#include <pthread.h>
#include <stdlib.h>

#include "tags.h"

#define SHARD_BITS 6
#define FIRST 64u /* places at first; doubled when there are no more */

struct shard {
	pthread_mutex_t lock;
	struct tags tags;
	uint32_t n, cap;
} __attribute__((aligned(64)));

struct keepers {
	struct shard shard[1 << SHARD_BITS];
};

struct keepers *keepers_new(void)
{
	struct keepers *k = aligned_alloc(64, sizeof *k);

	for (unsigned i = 0; k && i < sizeof k->shard / sizeof k->shard[0]; i++)
		k->shard[i] = (struct shard){.lock = PTHREAD_MUTEX_INITIALIZER};
	return k;
}

void keepers_free(struct keepers *k)
{
	for (unsigned i = 0; k && i < sizeof k->shard / sizeof k->shard[0]; i++) {
		free(k->shard[i].tags.cell);
		pthread_mutex_destroy(&k->shard[i].lock);
	}
	free(k);
}

static struct shard *enter(struct keepers *k, uint64_t tag)
{
	struct shard *s = &k->shard[tag >> (64 - SHARD_BITS)];

	pthread_mutex_lock(&s->lock);
	return s;
}

static void leave(struct shard *s) { pthread_mutex_unlock(&s->lock); }

static bool room(struct shard *s)
{
	uint32_t cap = s->cap ? 2 * s->cap : FIRST;

	if (s->n < s->cap)
		return true;
	if (!tags_widen(&s->tags, cap))
		return false;
	s->cap = cap;
	return true;
}

void keepers_put(struct keepers *k, uint64_t tag, struct worker *w)
{
	struct shard *s;

	if (!k)
		return;
	s = enter(k, tag);
	if (room(s)) {
		tags_put(&s->tags, tag, w);
		s->n++;
	}
	leave(s);
}

void keepers_take(struct keepers *k, uint64_t tag, const struct worker *w)
{
	struct shard *s;

	if (!k)
		return;
	s = enter(k, tag);
	if (s->n && tags_take(&s->tags, tag, w))
		s->n--;
	leave(s);
}

struct worker *keepers_find(struct keepers *k, uint64_t tag, const struct worker *w)
{
	struct worker *found = NULL;
	struct shard *s;

	if (!k)
		return NULL;
	s = enter(k, tag);
	for (const struct tag_cell *c = s->n ? tags_first(&s->tags, tag) : NULL; c && c->of && !found; c = tags_next(&s->tags, c))
		if (c->tag == tag && c->of != w)
			found = c->of;
	leave(s);
	return found;
}
