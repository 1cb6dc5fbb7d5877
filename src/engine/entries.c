/* The sorted table of entries; see entries.h. It must not know loads, slots or servers. */
#include "entries.h"

#include <stdlib.h>

/* Empty first, complete last, in this order: what dies in between has lost no entry, because the one that stood here has its copy already,
 * and the one that is written still stands where it came from. */
static inline void put(struct packed *to, uint32_t hi, uint32_t lo, uint32_t rest)
{
	atomic_store_explicit(&to->rest, 0, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&to->hi, hi, memory_order_release);
	atomic_store_explicit(&to->lo, lo, memory_order_release);
	atomic_store_explicit(&to->rest, rest, memory_order_release);
}

static inline void clear(struct packed *at) { atomic_store_explicit(&at->rest, 0, memory_order_release); }

static inline void copy(struct entries *t, uint32_t to, uint32_t from)
{
	const struct packed *p = &t->at[from];

	put(&t->at[to], word_of(&p->hi), word_of(&p->lo), word_of(&p->rest));
}

static inline void move(struct entries *t, uint32_t to, uint32_t from)
{
	if (to == from)
		return;
	copy(t, to, from);
	clear(&t->at[from]);
}

static uint32_t rest_of(const struct entry *x) { return (uint32_t)x->server << TICK_BITS | x->expiry; }

void entries_set(struct entries *t, uint32_t place, const struct entry *x)
{
	/* In this order: who looks in between sees a session that has moved and is not firm there yet, not one that was firm where it never was. */
	atomic_store_explicit(&t->at[place].rest, rest_of(x), memory_order_release);
	atomic_store_explicit(&t->at[place].lo, (uint32_t)(x->fp << 4 | x->flags), memory_order_release);
}

static void extend(struct entries *t, uint32_t homes)
{
	atomic_store_explicit(&t->homes, homes, memory_order_release);
	atomic_store_explicit(&t->places, homes + ENTRIES_SLACK, memory_order_release);
	t->limit = homes < t->whole ? (uint32_t)((uint64_t)homes * 55 / 64) : UINT32_MAX; /* 0.86 */
}

/* Every entry to its place by the homes of now: all to the end, then from the first on to where it belongs, which is never behind where it
 * stands. `end`: behind it all is empty. */
static void spread(struct entries *t, uint32_t end)
{
	uint32_t places = entries_places(t), first = places, next = 0;

	for (uint32_t i = end; i-- > 0;)
		if (!packed_empty(&t->at[i]))
			move(t, --first, i);
	for (uint32_t i = first; i < places; i++, next++) {
		uint32_t home = entries_home(t, packed_fp(&t->at[i]));

		next = home > next ? home : next;
		move(t, next, i);
	}
}

/* In order and all with room behind their homes; counts them. Of two copies of an entry one goes. */
static bool in_order(struct entries *t)
{
	uint64_t before = 0; /* 0 is no fingerprint */
	uint32_t places = entries_places(t), next = 0;

	t->used = 0;
	for (uint32_t i = 0; i < places; i++) {
		uint64_t fp = packed_fp(&t->at[i]);
		uint32_t home = entries_home(t, fp);

		if (packed_empty(&t->at[i]))
			continue;
		if (fp == before) {
			clear(&t->at[i]);
			continue;
		}
		next = home > next ? home : next;
		if (fp < before || next++ >= places)
			return false;
		before = fp;
		t->used++;
	}
	return true;
}

/* A longest run of rising fingerprints is kept, all else goes: an entry whose fingerprint changed takes no neighbour with it. tail[n] is the
 * last place of the best run of n + 1 entries so far, before[i] the place before i in the best run that ends there. */
static bool sort_out(struct entries *t)
{
	uint32_t places = entries_places(t), n = 0, *tail = malloc(2 * (size_t)places * sizeof *tail), *before = tail + places, next = 0;

	if (!tail)
		return false;
	for (uint32_t i = 0; i < places; i++) {
		uint64_t fp = packed_fp(&t->at[i]);
		uint32_t lo = 0, hi = n;

		while (!packed_empty(&t->at[i]) && lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (packed_fp(&t->at[tail[mid]]) < fp)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (packed_empty(&t->at[i]) || !fp)
			continue;
		before[i] = lo ? tail[lo - 1] : UINT32_MAX;
		tail[lo] = i;
		n += lo == n;
	}
	for (uint32_t i = places, keep = n ? tail[n - 1] : UINT32_MAX; i-- > 0;)
		if (i == keep)
			keep = before[i];
		else
			clear(&t->at[i]);
	free(tail);
	for (uint32_t i = 0; i < places; i++) { /* nor is there room for all who say that they are at home near the end */
		uint32_t home = entries_home(t, packed_fp(&t->at[i]));

		if (packed_empty(&t->at[i]))
			continue;
		next = home > next ? home : next;
		if (next++ >= places)
			clear(&t->at[i]);
	}
	return in_order(t);
}

static uint32_t stage(uint32_t whole, uint32_t least) /* the fewest homes that are at least so many */
{
	while (whole / 2 >= least)
		whole /= 2;
	return whole;
}

void entries_open(struct entries *t, struct packed *at, uint32_t whole, uint8_t skip, uint32_t *extent)
{
	*t = (struct entries){.at = at, .whole = whole, .skip = skip};
	extend(t, stage(whole, ENTRIES_FIRST));
	if (*extent >= entries_homes(t) && *extent == stage(whole, *extent)) {
		extend(t, *extent);
		if (in_order(t) || sort_out(t)) {
			if (!entries_sound(t))
				spread(t, entries_places(t));
			return;
		}
	}
	if (*extent)
		memset(at, 0, ((size_t)whole + ENTRIES_SLACK) * sizeof *at);
	extend(t, stage(whole, ENTRIES_FIRST));
	*extent = entries_homes(t);
	t->used = 0;
}

bool entries_grow(struct entries *t, uint32_t *extent)
{
	uint32_t end = entries_places(t), homes = entries_homes(t);

	if (homes == t->whole)
		return false;
	homes = stage(t->whole, homes + 1);
	extend(t, homes);
	*(volatile uint32_t *)extent = homes; /* before anything stands behind the old end */
	spread(t, end);
	return true;
}

bool entries_insert(struct entries *t, uint32_t place, const struct entry *x)
{
	uint32_t end = place, places = entries_places(t);

	while (end < places && !packed_empty(&t->at[end]))
		end++;
	if (end >= places)
		return false;
	for (; end > place; end--)
		copy(t, end, end - 1);
	put(&t->at[place], (uint32_t)(x->fp >> 28), (uint32_t)(x->fp << 4 | x->flags), rest_of(x));
	t->used++;
	return true;
}

void entries_remove(struct entries *t, uint32_t place)
{
	/* What stands behind its home moves one place towards it; the first that stands at home ends the run. */
	for (; place + 1 < entries_places(t); place++) {
		const struct packed *next = &t->at[place + 1];

		if (packed_empty(next) || entries_home(t, packed_fp(next)) > place)
			break;
		copy(t, place, place + 1);
	}
	clear(&t->at[place]);
	t->used--;
}

uint32_t entries_next(const struct entries *t, uint32_t place, uint64_t from, uint64_t to)
{
	uint32_t first = entries_home(t, from), last = entries_home(t, to), places = entries_places(t);

	if (!t->used) /* its pages stay untouched */
		return places;
	for (uint32_t i = place > first ? place : first; i < places; i++) {
		if (packed_empty(&t->at[i])) {
			if (i >= last)
				break;
			continue;
		}
		if (packed_fp(&t->at[i]) > to)
			break;
		if (packed_fp(&t->at[i]) >= from)
			return i;
	}
	return places;
}

bool entries_sound(const struct entries *t)
{
	uint64_t before = 0; /* 0 is no fingerprint */
	uint32_t places = entries_places(t), used = 0, gap = 0; /* gap: the place behind the last empty one */

	for (uint32_t i = 0; i < places; i++) {
		uint64_t fp = packed_fp(&t->at[i]);
		uint32_t home;

		if (packed_empty(&t->at[i])) {
			gap = i + 1;
			continue;
		}
		home = entries_home(t, fp);
		if (fp <= before || home > i || home < gap)
			return false;
		before = fp;
		used++;
	}
	return used == t->used;
}
