/* See leads.h. Pure: it reads no clock and asks nobody. Called by seek.c and search.c. */
#include "leads.h"

#include <stdlib.h>

#include "holdfast/hash.h"

#define BUCKETS 256

struct leads {
	uint8_t key[16];        /* peers choose the names */
	unsigned n, max;
	struct lead *bucket[BUCKETS];
};

struct leads *leads_new(const uint8_t key[16], unsigned max)
{
	struct leads *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	memcpy(t->key, key, sizeof t->key);
	t->max = max;
	return t;
}

void leads_free(struct leads *t)
{
	for (unsigned i = 0; t && i < BUCKETS; i++)
		for (struct lead *p; (p = t->bucket[i]) != NULL;) {
			t->bucket[i] = p->next;
			free(p);
		}
	free(t);
}

static unsigned bucket_of(const struct leads *t, const struct lead_name *name) { return hf_sip13(t->key, hf_bytes_str(name->host)) % BUCKETS; }

struct lead *leads_find(const struct leads *t, const struct lead_name *name)
{
	for (struct lead *p = t->bucket[bucket_of(t, name)]; p; p = p->next)
		if (p->name.service == name->service && p->name.ways == name->ways && strcmp(p->name.host, name->host) == 0)
			return p;
	return NULL;
}

void leads_each(struct leads *t, void (*fn)(void *arg, struct lead *p), void *arg)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct lead *p = t->bucket[i]; p; p = p->next)
			fn(arg, p);
}

/* Whose answer ends first goes. */
static bool make_room(struct leads *t)
{
	struct lead **least = NULL, *gone;

	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct lead **at = &t->bucket[i]; *at; at = &(*at)->next)
			if (!(*at)->asked && (!least || (*at)->until_ms < (*least)->until_ms))
				least = at;
	if (!least)
		return false;
	gone = *least;
	*least = gone->next;
	free(gone);
	t->n--;
	return true;
}

struct lead *leads_add(struct leads *t, const struct lead_name *name)
{
	struct lead *p;

	if (t->n >= t->max && !make_room(t))
		return NULL;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->name = *name;
	p->next = t->bucket[bucket_of(t, name)];
	t->bucket[bucket_of(t, name)] = p;
	t->n++;
	return p;
}

static void forget(void *arg, struct lead *p)
{
	(void)arg;
	p->until_ms = 0;
}

void leads_forget(struct leads *t) { leads_each(t, forget, NULL); }

/* ---- the order of an answer ---- */

static int by_place(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->addr.family != y->addr.family)
		return x->addr.family < y->addr.family ? -1 : 1;
	if (x->addr.port != y->addr.port)
		return x->addr.port < y->addr.port ? -1 : 1;
	return memcmp(x->addr.ip, y->addr.ip, sizeof x->addr.ip);
}

void spots_take(struct spots *out, struct spot *all, unsigned n)
{
	qsort(all, n, sizeof *all, by_place);
	out->n = n < HF_PLACES_MAX ? n : HF_PLACES_MAX;
	memcpy(out->spot, all, out->n * sizeof *all);
}

/* Spots from `at` on that are as good as the first of them. */
static unsigned equals(const struct spots *s, unsigned at)
{
	unsigned n = at;

	while (n < s->n && s->spot[n].priority == s->spot[at].priority && s->spot[n].addr.family == s->spot[at].addr.family)
		n++;
	return n - at;
}

/* One of n whose weights are shares of what a number is drawn from; each has at least a small one. */
static unsigned draw(const struct spot *s, unsigned n, uint64_t number)
{
	uint32_t sum = 0, at;

	for (unsigned i = 0; i < n; i++)
		sum += 1u + s[i].weight;
	at = (uint32_t)(number % sum);
	for (unsigned i = 0; i + 1 < n; i++) {
		if (at < 1u + s[i].weight)
			return i;
		at -= 1u + s[i].weight;
	}
	return n - 1;
}

/* splitmix64 of Steele, Lea and Flood: the numbers of one asker */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

void spots_order(const struct spots *s, const struct hf_seek *q, struct hf_found *out)
{
	struct spots left = *s;

	*out = (struct hf_found){.reason = s->n ? HF_R_NONE : HF_R_UNRESOLVED};
	for (unsigned at = 0; at < left.n; at++) {
		unsigned i = at + draw(&left.spot[at], equals(&left, at), mix(q->spread + at * 0x9e3779b97f4a7c15u));
		struct spot it = left.spot[i];
		struct hf_place *p = &out->place[out->n++];

		memmove(&left.spot[at + 1], &left.spot[at], (i - at) * sizeof it);
		left.spot[at] = it;
		*p = (struct hf_place){it.addr, it.transport == HF_TRANSPORTS ? q->transport : (enum hf_transport)it.transport};
		if (it.transport == HF_TRANSPORTS)
			p->addr.port = q->port;
	}
}
