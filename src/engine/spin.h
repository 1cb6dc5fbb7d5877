/* A lock for sections of a few hundred nanoseconds (private to the engine). It yields after a short spin, so that a holder
 * that lost its core gets it back. Zero is unlocked. */
#ifndef HF_ENGINE_SPIN_H
#define HF_ENGINE_SPIN_H

#include <sched.h>
#include <stdatomic.h>

struct spin {
	_Atomic unsigned held;
};

#define SPIN_TRIES 100 /* about a microsecond: longer than a section at rest */

static inline void spin_lock(struct spin *s)
{
	unsigned tries = 0;

	while (atomic_exchange_explicit(&s->held, 1, memory_order_acquire))
		while (atomic_load_explicit(&s->held, memory_order_relaxed))
			if (++tries > SPIN_TRIES)
				sched_yield();
}

static inline void spin_unlock(struct spin *s) { atomic_store_explicit(&s->held, 0, memory_order_release); }

#endif
