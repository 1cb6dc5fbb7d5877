/* A hash table of lists through the flows themselves, in shards; see peers.h. */
#include "peers.h"

#include <stdlib.h>

#include "holdfast/hash.h"

#define SHARDS 64
#define BUCKETS 256 /* of a shard: 16384 in all, so that 100,000 phones are six to a list */

struct shard {
	pthread_mutex_t lock;
	struct flow *bucket[BUCKETS];
};

struct peers {
	uint8_t key[16]; /* clients choose their ports */
	struct shard shard[SHARDS];
};

struct peers *peers_new(const uint8_t key[16])
{
	struct peers *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	memcpy(p->key, key, 16);
	for (int i = 0; i < SHARDS; i++)
		pthread_mutex_init(&p->shard[i].lock, NULL);
	return p;
}

void peers_free(struct peers *p)
{
	for (int i = 0; p && i < SHARDS; i++)
		pthread_mutex_destroy(&p->shard[i].lock);
	free(p);
}

static struct flow **list_of(struct peers *p, const struct hf_addr *a, struct shard **sh)
{
	uint8_t at[18];
	uint64_t h;

	memcpy(at, a->ip, 16);
	hf_put16(at + 16, a->port);
	h = hf_sip13(p->key, hf_bytes_of(at, sizeof at));
	*sh = &p->shard[h % SHARDS];
	return &(*sh)->bucket[h / SHARDS % BUCKETS];
}

void peers_enter(struct peers *p, struct flow *f)
{
	struct shard *sh;
	struct flow **list = list_of(p, &f->source, &sh);

	if (f->stream->listed)
		return;
	f->stream->listed = true;
	pthread_mutex_lock(&sh->lock);
	f->stream->next_peer = *list;
	*list = f;
	pthread_mutex_unlock(&sh->lock);
}

void peers_leave(struct peers *p, struct flow *f)
{
	struct shard *sh;
	struct flow **at = list_of(p, &f->source, &sh);

	if (!f->stream->listed)
		return;
	f->stream->listed = false;
	pthread_mutex_lock(&sh->lock);
	while (*at != f)
		at = &(*at)->stream->next_peer;
	*at = f->stream->next_peer;
	pthread_mutex_unlock(&sh->lock);
}

static bool same_kind(enum hf_transport a, enum hf_transport b) { return a == b || (hf_transport_is_web(a) && hf_transport_is_web(b)); }

bool peers_find(struct peers *p, uint16_t service, const struct hf_addr *to, enum hf_transport t, struct hf_flow_name *out)
{
	struct shard *sh;
	const struct flow *f = NULL;
	struct flow **list = list_of(p, to, &sh);

	pthread_mutex_lock(&sh->lock);
	for (f = *list; f; f = f->stream->next_peer)
		if (f->service == service && hf_addr_eq(&f->source, to) && same_kind((enum hf_transport)f->transport, t)) {
			*out = conn_name(f);
			break;
		}
	pthread_mutex_unlock(&sh->lock);
	return f != NULL;
}
