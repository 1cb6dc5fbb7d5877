/* Sums in parts; see sums.h. */
#include "sums.h"

#include <stdbool.h>

/* One word has both, so that they change together: entries below, and `open` above, of which a negative sum below has borrowed. */
static uint64_t word_of(int64_t open, int64_t entries) { return ((uint64_t)open << 32) + (uint64_t)entries; }

static struct sum sum_of(uint64_t word)
{
	int32_t entries = (int32_t)(uint32_t)word;

	return (struct sum){(int32_t)((word - (uint64_t)(int64_t)entries) >> 32), entries};
}

static bool is_much(struct sum x) { return x.open >= SUMS_UNTOLD || x.open <= -SUMS_UNTOLD || x.entries >= SUMS_UNTOLD || x.entries <= -SUMS_UNTOLD; }

static unsigned thread_number(void)
{
	static _Atomic unsigned threads;
	static _Thread_local unsigned number; /* from 1 on */

	if (!number)
		number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
	return number;
}

static void come(struct sums *s, unsigned number)
{
	uint32_t seen = atomic_load_explicit(&s->threads, memory_order_relaxed);

	while (seen < number && !atomic_compare_exchange_weak_explicit(&s->threads, &seen, number, memory_order_seq_cst, memory_order_relaxed))
		;
}

void sums_add(struct sums *s, int open, int entries)
{
	unsigned number = thread_number();
	struct sums_part *p = &s->part[(number - 1) % SUMS_PARTS];
	uint64_t by = word_of(open, entries), told, now;

	come(s, number);
	now = atomic_fetch_add_explicit(&p->own, by, memory_order_seq_cst) + by;
	told = atomic_load_explicit(&p->told, memory_order_relaxed);
	if (is_much(sum_of(now - told)) && atomic_compare_exchange_strong_explicit(&p->told, &told, now, memory_order_relaxed, memory_order_relaxed))
		atomic_fetch_add_explicit(&s->told, now - told, memory_order_relaxed);
}

static unsigned parts(const struct sums *s)
{
	uint32_t threads = atomic_load_explicit(&s->threads, memory_order_seq_cst);

	return threads < SUMS_PARTS ? threads : SUMS_PARTS;
}

struct sum sums_all(const struct sums *s)
{
	uint64_t all = 0;

	for (unsigned i = 0, n = parts(s); i < n; i++)
		all += atomic_load_explicit(&s->part[i].own, memory_order_seq_cst);
	return sum_of(all);
}

struct sum sums_known(const struct sums *s, int64_t *off)
{
	unsigned number = thread_number();
	const struct sums_part *p = &s->part[(number - 1) % SUMS_PARTS];
	uint64_t mine = atomic_load_explicit(&p->own, memory_order_relaxed) - atomic_load_explicit(&p->told, memory_order_relaxed);
	uint32_t threads = atomic_load_explicit(&s->threads, memory_order_relaxed);

	*off = (int64_t)(threads - (number <= threads)) * SUMS_UNTOLD;
	return sum_of(atomic_load_explicit(&s->told, memory_order_relaxed) + mine);
}
