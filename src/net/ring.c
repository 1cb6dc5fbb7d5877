/* The last messages that passed a worker, in a ring of a fixed size: the worker writes, the control thread reads beside it without a lock. A record
 * has a number of its own, which is 0 while it is written: who reads one that changes meanwhile lets it go. It knows no message, only what notice.c
 * says of one. */
#include <stdlib.h>

#include "notice.h"

#define WORDS 8 /* a record is one line of the cache */

struct ring {
	uint64_t size;             /* records */
	_Atomic uint64_t next;     /* the number of the next one, from 1 */
	_Atomic uint64_t word[][WORDS];
};

struct ring *ring_new(uint64_t octets)
{
	uint64_t size = octets / (WORDS * 8);
	struct ring *r = size ? calloc(1, sizeof *r + size * sizeof r->word[0]) : NULL;

	if (r) {
		r->size = size;
		atomic_store(&r->next, 1);
	}
	return r;
}

void ring_free(struct ring *r) { free(r); }

uint64_t ring_session(struct hf_bytes s)
{
	uint64_t h = s.n, w = 0;

	for (size_t i = 0; i + 8 < s.n; i += 8) {
		memcpy(&w, s.p + i, 8);
		h = (h ^ w) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	if (s.n >= 8) /* the last 8, which may have been seen in part */
		memcpy(&w, s.p + s.n - 8, 8);
	else if (s.n)
		memcpy(&w, s.p, s.n);
	h = (h ^ w) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* number | time | session | address, 2 | port, family, transport, way, why, name | server, service, code, own port | its scope and the listener */
void ring_add(struct ring *r, const struct hf_passed *m)
{
	uint64_t n = atomic_load_explicit(&r->next, memory_order_relaxed), ip[2];
	_Atomic uint64_t *w = r->word[n % r->size];

	memcpy(ip, m->peer.ip, sizeof ip);
	atomic_store_explicit(&w[0], 0, memory_order_relaxed);
	atomic_store_explicit(&w[1], m->at_us, memory_order_release); /* release, as who sees one of these must see that 0 */
	atomic_store_explicit(&w[2], m->session, memory_order_release);
	atomic_store_explicit(&w[3], ip[0], memory_order_release);
	atomic_store_explicit(&w[4], ip[1], memory_order_release);
	atomic_store_explicit(&w[5], m->peer.port | (uint64_t)m->peer.family << 16 | (uint64_t)m->transport << 24 | (uint64_t)m->out << 32 | (uint64_t)m->why << 40 | (uint64_t)m->name << 48,
		memory_order_release);
	atomic_store_explicit(&w[6], m->server | (uint64_t)m->service << 16 | (uint64_t)m->code << 32 | (uint64_t)m->own_port << 48, memory_order_release);
	atomic_store_explicit(&w[7], m->octets, memory_order_release);
	atomic_store_explicit(&w[0], n, memory_order_release);
	atomic_store_explicit(&r->next, n + 1, memory_order_release);
}

/* False: it is not there, or was written anew meanwhile. */
static bool take(struct ring *r, uint64_t n, struct hf_passed *m)
{
	_Atomic uint64_t *at = r->word[n % r->size];
	uint64_t w[WORDS];

	for (unsigned i = 0; i < WORDS; i++)
		w[i] = atomic_load_explicit(&at[i], memory_order_acquire);
	if (w[0] != n || atomic_load_explicit(&at[0], memory_order_relaxed) != n)
		return false;
	*m = (struct hf_passed){.at_us = w[1], .number = n, .session = w[2], .peer = {.family = (uint8_t)(w[5] >> 16), .port = (uint16_t)w[5]}, .transport = (enum hf_transport)(w[5] >> 24 & 0xff),
		.out = w[5] >> 32 & 1, .why = (enum hf_why)(w[5] >> 40 & 0xff), .name = (uint16_t)(w[5] >> 48), .server = (uint16_t)w[6], .service = (uint16_t)(w[6] >> 16),
		.code = (uint16_t)(w[6] >> 32), .own_port = (uint16_t)(w[6] >> 48), .octets = (uint32_t)w[7]};
	memcpy(m->peer.ip, &w[3], 16);
	return true;
}

void hf_net_trace(struct hf_net *net, uint64_t octets)
{
	for (unsigned i = 0; i < net->n_workers && !net->workers[i].ring; i++)
		net->workers[i].ring = ring_new(octets);
}

unsigned hf_net_passed(const struct hf_net *net, struct hf_bytes session, struct hf_passed *out, unsigned cap)
{
	uint64_t wanted = ring_session(session);
	unsigned n = 0;

	for (unsigned i = 0; i < net->n_workers; i++) {
		struct ring *r = net->workers[i].ring;
		uint64_t end = r ? atomic_load_explicit(&r->next, memory_order_acquire) : 1, at = r && end > r->size ? end - r->size : 1;

		for (; at < end && n < cap; at++)
			if (take(r, at, &out[n]) && out[n].session == wanted) {
				out[n].worker = (uint8_t)i;
				n++;
			}
	}
	return n;
}
