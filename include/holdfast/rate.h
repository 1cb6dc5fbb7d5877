/* So many a second: a bucket that holds a second's worth and fills at that rate, in one word (base floor). Integers only; the times are given.
 * Zero is a full bucket. Any thread at once; of threads whose clocks differ by some ms the later one decides. O(1). */
#ifndef HOLDFAST_RATE_H
#define HOLDFAST_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HF_RATE_MAX 1000000u /* a second: a step has still a thousandth of its value in precision */
#define HF_RATE_BITS 20      /* of a millisecond: one taken may stand for less than one */

/* Until when what was taken stands for: each moves it on by a second / rate, and it may be a second ahead of now. */
struct hf_rate {
	_Atomic uint64_t until;
};

/* Is there none left? per_s 0: there is no limit. */
static inline bool hf_rate_full(const struct hf_rate *r, uint32_t per_s, uint64_t now_ms)
{
	const uint64_t now = now_ms << HF_RATE_BITS, second = (uint64_t)1000 << HF_RATE_BITS;

	return per_s && atomic_load_explicit(&r->until, memory_order_relaxed) + second / per_s > now + second;
}

/* Takes one. False: there was none. */
static inline bool hf_rate_take(struct hf_rate *r, uint32_t per_s, uint64_t now_ms)
{
	const uint64_t now = now_ms << HF_RATE_BITS, second = (uint64_t)1000 << HF_RATE_BITS;
	uint64_t old = atomic_load_explicit(&r->until, memory_order_relaxed), next;

	if (!per_s)
		return true;
	do {
		next = (old > now ? old : now) + second / per_s;
		if (next > now + second)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&r->until, &old, next, memory_order_relaxed, memory_order_relaxed));
	return true;
}

#endif
