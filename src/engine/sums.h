/* Two numbers that every start and end changes, kept so that workers do not wait for each other's (private to the engine): m, the counted sessions of
 * servers that are up, and all entries. A thread adds to a part of its own and tells of it now and then; who must know exactly adds the parts up.
 * Any thread, no lock. ledger.c changes them. */
#ifndef HF_ENGINE_SUMS_H
#define HF_ENGINE_SUMS_H

#include <stdatomic.h>
#include <stdint.h>

#define SUMS_PARTS 32 /* two kilobytes; more threads than these share some */
#define SUMS_UNTOLD 16 /* a thread keeps less than so much to itself: starts and ends nearly cancel out, and a cap at a hundred sessions a server is sure without asking all of a dozen threads */

struct sums_part { /* a cache line each: its own threads write it */
	_Alignas(64) _Atomic uint64_t own; /* all that they have added */
	_Atomic uint64_t told;             /* so much of it is in `told` of all */
};

struct sums {
	_Alignas(64) _Atomic uint64_t told;
	_Alignas(64) _Atomic uint32_t threads; /* that have added; read by all, hardly ever written */
	struct sums_part part[SUMS_PARTS];
};

/* Both are below 0 for an instant, as a part alone may be for ever: an end on another thread than the start. */
struct sum {
	int64_t open, entries;
};

void sums_add(struct sums *s, int open, int entries);
/* Exact, but for what other threads are about to add: O(threads). */
struct sum sums_all(const struct sums *s);
static inline uint64_t sums_entries(const struct sums *s)
{
	int64_t n = sums_all(s).entries;

	return n > 0 ? (uint64_t)n : 0;
}
/* What is known without asking: never off by more than *off, which is 0 while one thread has added all. O(1). */
struct sum sums_known(const struct sums *s, int64_t *off);

#endif
