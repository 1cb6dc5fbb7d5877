/* A lock for sections of a few hundred nanoseconds (private to the engine). It yields after a short spin, so that a holder
 * that lost its core gets it back. Zero is unlocked.
 *
 * The word counts: odd is locked, and each section leaves it higher. So who looks for what is not there need not lock: it reads the word, then what the
 * lock guards (atomically), then the word again; the same even number means that nobody wrote in between. */
#ifndef HF_ENGINE_SPIN_H
#define HF_ENGINE_SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

struct spin {
	_Atomic unsigned count;
};

#define SPIN_HELD 1u    /* a word of a lock that is held: never still */
#define SPIN_TRIES 100 /* about a microsecond: longer than a section at rest */

static inline void spin_lock(struct spin *s)
{
	unsigned tries = 0;

	/* The first touch is the one that takes it: a look before would fetch the line twice where another core has it. */
	while (atomic_fetch_or_explicit(&s->count, 1, memory_order_acquire) & 1)
		do {
			if (++tries > SPIN_TRIES)
				sched_yield();
		} while (atomic_load_explicit(&s->count, memory_order_relaxed) & 1);
}

static inline void spin_unlock(struct spin *s)
{
	atomic_store_explicit(&s->count, atomic_load_explicit(&s->count, memory_order_relaxed) + 1, memory_order_release);
}

/* Before looking; what is looked at is read with acquire and written with release, so that the words order it. */
static inline unsigned spin_peek(const struct spin *s) { return atomic_load_explicit(&s->count, memory_order_acquire); }
static inline bool spin_still(const struct spin *s, unsigned then)
{
	return !(then & 1) && atomic_load_explicit(&s->count, memory_order_relaxed) == then;
}

#endif
