/* A shard's table of entries: 12 octets each, sorted by fingerprint (private to the engine).
 *
 * Robin Hood order: an entry's home place is a linear map of its fingerprint, entries stand in order of their fingerprints
 * at or behind their homes, and no place between home and entry is empty. So a search is a short walk, and a slot's
 * entries are one run. Insert and delete shift a run by one place.
 *
 * The table keeps order and nothing else: loads, exceptions and lives belong to its caller, who holds the shard's lock. */
#ifndef HF_ENGINE_ENTRIES_H
#define HF_ENGINE_ENTRIES_H

#include "holdfast/affinity.h"

#define TICK_MS 4000       /* the unit of an expiry */
#define TICK_BITS 18
#define TICK_MASK ((1u << TICK_BITS) - 1)
/* Longest life, in ticks: 11.4 days. An expiry wraps after 12.1; what lies between is how late a sweep may come (18 hours). */
#define LIFE_MAX ((1u << TICK_BITS) - (1u << 14))

/* Places a shard has behind its last home, for what is pushed over the end (at load 0.87 more than 64 is one in 1e9). */
#define ENTRIES_SLACK 96

struct packed { /* hi, lo: fingerprint 60, flags 4; rest: server 14, expiry 18. Server 0 is an empty place. */
	uint32_t hi, lo, rest;
};

struct entry {
	uint64_t fp;
	unsigned flags; /* HF_COUNTED, HF_TENTATIVE, HF_BOND */
	uint16_t server;
	uint32_t expiry; /* tick, modulo 2^18 */
};

struct entries {
	struct packed *at;
	uint32_t homes, places; /* places = homes + ENTRIES_SLACK */
	uint32_t used;
	uint8_t skip;           /* leading bits of a fingerprint that all entries of the shard have in common */
};

static inline uint64_t packed_fp(const struct packed *p) { return ((uint64_t)p->hi << 32 | p->lo) >> 4; }
static inline uint16_t packed_server(const struct packed *p) { return (uint16_t)(p->rest >> TICK_BITS); }
static inline bool packed_empty(const struct packed *p) { return p->rest >> TICK_BITS == 0; }

static inline struct entry entry_unpack(const struct packed *p)
{
	return (struct entry){packed_fp(p), p->lo & 15, packed_server(p), p->rest & TICK_MASK};
}

static inline struct packed entry_pack(const struct entry *x)
{
	uint64_t a = x->fp << 4 | x->flags;

	return (struct packed){(uint32_t)(a >> 32), (uint32_t)a, (uint32_t)x->server << TICK_BITS | x->expiry};
}

static inline uint32_t entries_home(const struct entries *t, uint64_t fp)
{
	uint32_t top = (uint32_t)(fp << (64 - HF_FP_BITS + t->skip) >> 32);

	return (uint32_t)((uint64_t)top * t->homes >> 32);
}

/* Ticks that a life of `life_s` seconds ends after: never sooner than asked, at most LIFE_MAX. */
uint32_t tick_of_life(uint64_t now_ms, uint32_t life_s);
/* Ticks left at `now_ms`; 0: it is over. */
uint32_t tick_left(uint32_t expiry, uint64_t now_ms);

/* The place of fp, or the place where it would go. */
uint32_t entries_seek(const struct entries *t, uint64_t fp, bool *found);
/* At the place that seek gave for a fingerprint that is not there. False: the run has no room to grow. */
bool entries_insert(struct entries *t, uint32_t place, const struct entry *x) HF_MUST_USE;
void entries_remove(struct entries *t, uint32_t place);
/* The first place at or behind `place` whose entry has a fingerprint of from..to; t->places: none. */
uint32_t entries_next(const struct entries *t, uint32_t place, uint64_t from, uint64_t to);
/* Whether order, homes and count are as described above. */
bool entries_sound(const struct entries *t);

#endif
