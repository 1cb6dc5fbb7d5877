/* A hash table of names, each in the list of its bucket; see anchors.h. Knows no protocol: names are numbers. */
#include "anchors.h"

#include <stdlib.h>

#include "holdfast/hash.h"

#define BUCKETS 16384u /* 100,000 desktops with two names each are a dozen to a list */

struct link { /* a name of an anchor */
	uint64_t name;         /* 0: it has no second one */
	struct link *next, **at;
	struct anchor *of;
};

struct anchor {
	struct link link[2];
	struct hf_flow_name flow;
	uint64_t workers;      /* that had paths beside it */
	uint32_t server;
	struct pool_rt *pool;
	uint16_t service, paths;
};
_Static_assert(NET_WORKERS_MAX <= 64, "a bit a worker");

struct anchors {
	uint8_t key[16];
	pthread_mutex_t lock;
	struct link *bucket[BUCKETS];
};

struct anchors *anchors_new(const uint8_t key[16])
{
	struct anchors *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	memcpy(t->key, key, 16);
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void anchors_free(struct anchors *t)
{
	if (t)
		pthread_mutex_destroy(&t->lock);
	free(t);
}

static struct link **bucket_of(struct anchors *t, uint64_t name)
{
	return &t->bucket[hf_sip13(t->key, hf_bytes_of(&name, sizeof name)) % BUCKETS];
}

static void list(struct anchors *t, struct link *l)
{
	struct link **at = bucket_of(t, l->name);

	l->next = *at;
	l->at = at;
	if (l->next)
		l->next->at = &l->next;
	*at = l;
}

void anchors_enter(struct anchors *t, struct flow *f, const uint64_t names[2])
{
	struct anchor *a = !f->anchor && (names[0] || names[1]) ? calloc(1, sizeof *a) : NULL;

	if (!a)
		return;
	f->anchor = a;
	a->flow = conn_name(f);
	a->server = f->server_hash;
	a->pool = f->pool;
	a->service = f->service;
	pthread_mutex_lock(&t->lock);
	for (int i = 0; i < 2; i++) {
		a->link[i] = (struct link){.name = names[i], .of = a};
		if (names[i] && (i == 0 || names[i] != names[0]))
			list(t, &a->link[i]);
	}
	pthread_mutex_unlock(&t->lock);
}

uint64_t anchors_leave(struct anchors *t, struct flow *f)
{
	struct anchor *a = f->anchor;
	uint64_t workers;

	if (!a)
		return 0;
	f->anchor = NULL;
	pthread_mutex_lock(&t->lock);
	for (int i = 0; i < 2; i++) {
		struct link *l = &a->link[i];

		if (l->at)
			*l->at = l->next;
		if (l->at && l->next)
			l->next->at = l->at;
	}
	workers = a->workers;
	pthread_mutex_unlock(&t->lock);
	free(a);
	return workers;
}

/* The flows of a service that have this name, two at most: more are as many as two. */
static unsigned count(struct anchors *t, uint16_t service, uint64_t name, struct anchor **one)
{
	unsigned n = 0;

	for (struct link *l = *bucket_of(t, name); l && n < 2; l = l->next)
		if (l->name == name && l->of->service == service) {
			*one = l->of;
			n++;
		}
	return n;
}

unsigned anchors_find(struct anchors *t, uint16_t service, const uint64_t names[HF_BESIDE], struct beside *out)
{
	struct anchor *a = NULL;
	unsigned n = 0;

	pthread_mutex_lock(&t->lock);
	for (unsigned i = 0; n == 0 && i < HF_BESIDE; i++) {
		n = names[i] ? count(t, service, names[i], &a) : 0;
		if (n == 1)
			*out = (struct beside){a->flow, names[i], a->server, a->pool};
	}
	pthread_mutex_unlock(&t->lock);
	return n == 1 ? HF_R_NONE : n ? HF_R_MANY_SESSIONS : HF_R_NO_SESSION;
}

static struct anchor *get(struct anchors *t, const struct beside *b)
{
	for (struct link *l = *bucket_of(t, b->name); l; l = l->next)
		if (l->name == b->name && l->of->flow.worker == b->flow.worker && l->of->flow.slot == b->flow.slot && l->of->flow.generation == b->flow.generation)
			return l->of;
	return NULL;
}

bool anchors_join(struct anchors *t, const struct beside *b, unsigned worker)
{
	struct anchor *a;
	bool may;

	pthread_mutex_lock(&t->lock);
	a = get(t, b);
	may = a && a->paths < ANCHOR_PATHS;
	if (may) {
		a->paths++;
		a->workers |= UINT64_C(1) << worker;
	}
	pthread_mutex_unlock(&t->lock);
	return may;
}

void anchors_part(struct anchors *t, const struct beside *b)
{
	struct anchor *a;

	pthread_mutex_lock(&t->lock);
	a = get(t, b);
	if (a && a->paths)
		a->paths--;
	pthread_mutex_unlock(&t->lock);
}

bool anchors_lives(struct anchors *t, const struct beside *b)
{
	bool lives;

	pthread_mutex_lock(&t->lock);
	lives = get(t, b) != NULL;
	pthread_mutex_unlock(&t->lock);
	return lives;
}
