/* How many new entries a source may have in a while, so that one that makes up keys does not take the room of all. Counters by a keyed hash of
 * the source: bounded memory, and a source that shares one with a flood has another row's. Any thread; choose.c asks. */
#include "inside.h"

enum { ROWS = 2, BUCKETS = 2048, FRACTION_BITS = 20 }; /* of a millisecond, as a quota may be a thousand entries in one */

/* A bucket says until when the entries counted in it stand for: each moves it on by QUOTA_S / quota, and it may be QUOTA_S ahead of now. */
struct quota {
	_Atomic uint64_t until[ROWS][BUCKETS];
};

size_t quota_size(void) { return sizeof(struct quota); }

static _Atomic uint64_t *bucket(const struct hf_engine *e, uint64_t source, uint32_t row)
{
	uint64_t secret;

	memcpy(&secret, e->conf.hash_key, sizeof secret);
	return &e->quota->until[row][method_draw(source ^ secret, row) % BUCKETS];
}

static bool count(_Atomic uint64_t *until, uint64_t now, uint64_t span, uint64_t step, bool look)
{
	uint64_t old = atomic_load_explicit(until, memory_order_relaxed), next;

	do {
		next = (old > now ? old : now) + step;
		if (next > now + span)
			return false;
	} while (!look && !atomic_compare_exchange_weak_explicit(until, &old, next, memory_order_relaxed, memory_order_relaxed));
	return true;
}

bool quota_over(const struct hf_engine *e, uint64_t source, bool look, uint64_t now_ms)
{
	uint32_t n = atomic_load_explicit(&e->source_entries, memory_order_relaxed);
	uint64_t span = (uint64_t)QUOTA_S * 1000 << FRACTION_BITS;
	bool room = false;

	for (uint32_t row = 0; n && source && row < ROWS; row++)
		room |= count(bucket(e, source, row), now_ms << FRACTION_BITS, span, span / n, look);
	return n && source && !room;
}
