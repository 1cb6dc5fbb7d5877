/* Threads that begin, move and end sessions while another keeps a copy: when all rest, one more look makes it whole. Run under the thread sanitizer
 * too. Marks that are cleared a word at a time, or a drop that sets none, are lost here. */
#include <pthread.h>

#include "farm.h"

enum { T0 = 1000000, KEYS = 4000, WORKERS = 2, ROUNDS = 5 };

static struct farm *f;
static _Atomic bool stop;
static uint16_t known[KEYS];
static uint64_t sorted[KEYS];

static int by_fp(const void *a, const void *b) { return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b; }

static unsigned first_at(uint64_t fp) /* of the sorted keys */
{
	unsigned lo = 0, hi = KEYS;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (sorted[mid] < fp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void *work(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	unsigned acts = farm_full() ? 2000000 : 60000;

	for (unsigned i = 0; i < acts; i++) {
		uint64_t fp = sorted[farm_random(&seed) % KEYS];

		if (farm_random(&seed) % 3)
			(void)farm_learn(f, fp, (uint16_t)(1 + farm_random(&seed) % 4), HF_LIFE_START, 3600, HF_COUNTED, T0);
		else
			(void)farm_learn(f, fp, 0, HF_LIFE_END, 0, 0, T0);
	}
	return NULL;
}

static void take(bool all)
{
	static struct hf_record room[HF_COPY_MAX];
	static uint8_t texts[HF_COPY_MAX][HF_TEXT_MAX];
	struct hf_copy c = {0, room, texts};
	struct hf_range r;

	for (uint64_t from = 0, end; !(from >> HF_FP_BITS) && (all ? hf_engine_whole(f->e, from, &r) : hf_engine_changed(f->e, from, &r)); from = end + 1)
		for (end = r.to; r.from <= end; r.from = r.to + 1) {
			r.to = end;
			hf_engine_copy(f->e, &r, &c, T0);
			for (unsigned i = first_at(r.from); i < KEYS && sorted[i] <= r.to; i++)
				known[i] = 0;
			for (unsigned i = 0; i < c.n; i++)
				known[first_at(c.r[i].fp)] = c.r[i].server;
		}
}

static void *keep(void *arg)
{
	(void)arg;
	take(true);
	while (!atomic_load(&stop))
		take(false);
	return NULL;
}

static void beside_all_others(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KEYS; i++)
		sorted[i] = farm_fp(i);
	qsort(sorted, KEYS, sizeof *sorted, by_fp);
	for (unsigned round = 0; round < ROUNDS; round++) {
		pthread_t worker[WORKERS], keeper;
		unsigned n = 0;

		f = farm_new(HF_MODE_TABLE, 4, 0, 20000, T0);
		assert_int_equal(hf_engine_track(f->e), HF_OK);
		atomic_store(&stop, false);
		memset(known, 0, sizeof known);
		for (uintptr_t i = 0; i < WORKERS; i++)
			assert_int_equal(pthread_create(&worker[i], NULL, work, (void *)(i + 1 + round * 10)), 0);
		assert_int_equal(pthread_create(&keeper, NULL, keep, NULL), 0);
		for (unsigned i = 0; i < WORKERS; i++)
			pthread_join(worker[i], NULL);
		atomic_store(&stop, true);
		pthread_join(keeper, NULL);
		take(false);
		for (unsigned i = 0; i < KEYS; i++) {
			struct hf_where w;

			hf_engine_where(f->e, sorted[i], &w, T0);
			assert_int_equal(known[i], w.known ? w.server : 0);
			n += known[i] != 0;
		}
		assert_int_equal(n, farm_counts(f).entries);
		farm_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(beside_all_others)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
