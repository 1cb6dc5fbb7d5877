/* A shard's table of entries: 12 octets each, sorted by fingerprint (private to the engine).
 *
 * Robin Hood order: an entry's home place is a linear map of its fingerprint, entries stand in order of their fingerprints
 * at or behind their homes, and no place between home and entry is empty. So a search is a short walk, and a slot's
 * entries are one run. Insert and delete shift a run by one place.
 *
 * The table uses a prefix of its memory and doubles it when it fills, so that few entries touch few pages; it never shrinks, as pages once
 * touched do not come back. How many homes are in use stands beside it in the mapping (`extent`).
 *
 * An entry's copies are complete before what they copy goes (entries.c, put): a process that dies at any instruction leaves all entries in
 * order, one perhaps twice or not in its place, and entries_open makes a sound table of that. What no process leaves (memory that changed by
 * itself) costs the entries that are out of order, and no other.
 *
 * The table keeps order and nothing else: loads, exceptions and lives belong to its caller, who holds the shard's lock. */
#ifndef HF_ENGINE_ENTRIES_H
#define HF_ENGINE_ENTRIES_H

#include <stdatomic.h>

#include "holdfast/affinity.h"

#define TICK_MS 4000       /* the unit of an expiry */
#define TICK_BITS 18
#define TICK_MASK ((1u << TICK_BITS) - 1)
/* Longest life, in ticks: 11.4 days. An expiry wraps after 12.1; what lies between is how late a sweep may come (18 hours). */
#define LIFE_MAX ((1u << TICK_BITS) - (1u << 14))

/* Places a shard has behind its last home, for what is pushed over the end (at load 0.87 more than 64 is one in 1e9). */
#define ENTRIES_SLACK 96
#define ENTRIES_FIRST 64 /* homes a table begins with, and up to twice as many: with its slack it fits a page */

/* As it stands in a place. hi, lo: fingerprint 60, flags 4; rest: server 14, expiry 18. Server 0 is an empty place. Words are read and written
 * each at once, because who only looks holds no lock (spin.h). */
struct packed {
	_Atomic uint32_t hi, lo, rest;
};

struct entry {
	uint64_t fp;
	unsigned flags; /* HF_COUNTED, HF_TENTATIVE, HF_BOND */
	uint16_t server;
	uint32_t expiry; /* tick, modulo 2^18 */
};

struct entries {
	uint32_t used;
	uint8_t apart[28];      /* what is hardly ever written is on a line of its own in struct shard */
	struct packed *at;
	_Atomic uint32_t homes, places; /* in use; places = homes + ENTRIES_SLACK; behind them all is empty */
	uint8_t skip;           /* leading bits of a fingerprint that all entries of the shard have in common */
	uint32_t whole;         /* homes there is memory for: homes are whole / 1, 2, 4 ... */
	uint32_t limit;         /* entries above which homes double */
};

static inline uint32_t word_of(const _Atomic uint32_t *w) { return atomic_load_explicit(w, memory_order_acquire); }

static inline uint64_t packed_head(const struct packed *p) { return (uint64_t)word_of(&p->hi) << 32 | word_of(&p->lo); }
static inline uint64_t packed_fp(const struct packed *p) { return packed_head(p) >> 4; }
static inline uint16_t packed_server(const struct packed *p) { return (uint16_t)(word_of(&p->rest) >> TICK_BITS); }
static inline bool packed_empty(const struct packed *p) { return word_of(&p->rest) >> TICK_BITS == 0; }

static inline struct entry entry_unpack(const struct packed *p)
{
	uint64_t head = packed_head(p);
	uint32_t rest = word_of(&p->rest);

	return (struct entry){head >> 4, head & 15, (uint16_t)(rest >> TICK_BITS), rest & TICK_MASK};
}

/* The entry of fp in a place that others may write meanwhile: read twice and the same. A place is emptied before it gets another entry (entries.c, put),
 * so a mixture of two would take three writes of it between seven reads, two of them each within some nanoseconds. */
static inline bool entry_steady(const struct packed *p, uint64_t fp, struct entry *x)
{
	uint32_t rest = word_of(&p->rest);
	uint64_t head = packed_head(p);

	*x = (struct entry){head >> 4, head & 15, (uint16_t)(rest >> TICK_BITS), rest & TICK_MASK};
	return x->fp == fp && x->server && word_of(&p->rest) == rest && packed_head(p) == head && word_of(&p->rest) == rest;
}

/* Of one fingerprint. */
static inline bool entry_same(const struct entry *a, const struct entry *b)
{
	return a->flags == b->flags && a->server == b->server && a->expiry == b->expiry;
}

static inline uint32_t entries_homes(const struct entries *t) { return word_of(&t->homes); }
static inline uint32_t entries_places(const struct entries *t) { return word_of(&t->places); }

static inline uint32_t entries_home(const struct entries *t, uint64_t fp)
{
	uint32_t top = (uint32_t)(fp << (64 - HF_FP_BITS + t->skip) >> 32);

	return (uint32_t)((uint64_t)top * entries_homes(t) >> 32);
}

/* The tick at which a life of `life_s` seconds ends: never sooner than asked, at most LIFE_MAX from now. */
static inline uint32_t tick_of_life(uint64_t now_ms, uint32_t life_s)
{
	uint64_t now = now_ms / TICK_MS, end = (now_ms + (uint64_t)life_s * 1000 + TICK_MS - 1) / TICK_MS;

	if (end == now)
		end++;
	return (uint32_t)(end - now > LIFE_MAX ? now + LIFE_MAX : end) & TICK_MASK;
}

/* Ticks left at `now_ms`; 0: it is over. */
static inline uint32_t tick_left(uint32_t expiry, uint64_t now_ms)
{
	uint32_t left = (expiry - (uint32_t)(now_ms / TICK_MS)) & TICK_MASK;

	return left > LIFE_MAX ? 0 : left;
}

/* Whether the place holds a fingerprint whose upper 32 bits are below `hi`. */
static inline uint32_t below(const struct packed *p, uint32_t hi)
{
	return (uint32_t)(word_of(&p->hi) < hi) & (uint32_t)(word_of(&p->rest) > TICK_MASK);
}

struct spot {
	uint32_t place;
	bool found;
};

/* The place of fp, or the place where it would go. Without the lock: any answer, but no crash, and right if nobody wrote meanwhile.
 * Four places at once and without a branch, as a guess at each of them would be wrong too often: what stands behind an empty place or behind
 * a greater fingerprint is greater itself, so that the sum is how far to go. */
static inline struct spot entries_seek(const struct entries *t, uint64_t fp)
{
	uint32_t i = entries_home(t, fp), places = entries_places(t), hi = (uint32_t)(fp >> 28), n = 4;
	uint64_t here = 0;

	while (n == 4 && i + 4 <= places) {
		const struct packed *p = &t->at[i];

		n = below(p, hi) + below(p + 1, hi) + below(p + 2, hi) + below(p + 3, hi);
		i += n;
	}
	for (; i < places && !packed_empty(&t->at[i]); i++) { /* equal upper bits, or the table's last three */
		here = packed_fp(&t->at[i]);
		if (here >= fp)
			break;
	}
	return (struct spot){i, here == fp};
}

/* An empty table over memory of `whole` homes and the slack, or what a former one left there with `extent` homes: then mended; what is out of
 * order goes. An extent that no table has, or no memory to find the order: it is cleared. */
void entries_open(struct entries *t, struct packed *at, uint32_t whole, uint8_t skip, uint32_t *extent);
/* Twice the homes, in place; false: it has them all. Any place known before is another one after. */
bool entries_grow(struct entries *t, uint32_t *extent);
/* Other values for the entry at place, of the same fingerprint. */
void entries_set(struct entries *t, uint32_t place, const struct entry *x);
/* At the place that seek gave for a fingerprint that is not there. False: the run has no room to grow. */
bool entries_insert(struct entries *t, uint32_t place, const struct entry *x) HF_MUST_USE;
void entries_remove(struct entries *t, uint32_t place);
/* The first place at or behind `place` whose entry has a fingerprint of from..to; t->places: none. */
uint32_t entries_next(const struct entries *t, uint32_t place, uint64_t from, uint64_t to);
/* Whether order, homes and count are as described above. */
bool entries_sound(const struct entries *t);

#endif
