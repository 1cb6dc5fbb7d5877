/* Sums in parts: exact when all parts are asked, near enough to be sure when they are not, and placement by them is as if one thread had done all. Threads
 * run one after the other here, so that each step is known; test_threads.c has them at once. */
#include <pthread.h>

#include "farm.h"

enum { T0 = 1000000 };

struct adding {
	struct sums *s;
	int open, entries, times;
};

static void *adds(void *arg)
{
	const struct adding *a = arg;

	for (int i = 0; i < a->times; i++)
		sums_add(a->s, a->open, a->entries);
	return NULL;
}

static void apart(void *(*run)(void *), void *arg)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, run, arg), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
}

static void all_is(const struct sums *s, int64_t open, int64_t entries)
{
	struct sum all = sums_all(s), known;
	int64_t off;

	known = sums_known(s, &off);
	assert_true(all.open == open && all.entries == entries);
	assert_true(known.open - off <= open && open <= known.open + off && known.entries - off <= entries && entries <= known.entries + off);
}

/* Below 0 the lower half borrows from the upper one: without the subtraction in sum_of `open` is 1 less. */
static void below_zero(void **state)
{
	struct sums s = {0};

	(void)state;
	sums_add(&s, 5, 7);
	all_is(&s, 5, 7);
	sums_add(&s, -8, -9);
	all_is(&s, -3, -2);
	sums_add(&s, 1 << 28, 1 << 28);
	all_is(&s, (1 << 28) - 3, (1 << 28) - 2);
}

/* What a thread has not told is less than SUMS_UNTOLD, and *off covers all of them. Without the telling in sums_add the last one is outside. */
static void known_is_near(void **state)
{
	struct sums s = {0};
	struct adding a = {&s, 1, 1, SUMS_UNTOLD - 1};
	int64_t off;

	(void)state;
	sums_add(&s, 1, 1);
	apart(adds, &a);
	all_is(&s, SUMS_UNTOLD, SUMS_UNTOLD);
	assert_int_equal(sums_known(&s, &off).open, 1); /* its own, and nothing of the other's yet */
	assert_true(off >= SUMS_UNTOLD);
	a.times = 100000;
	apart(adds, &a);
	all_is(&s, 100000 + SUMS_UNTOLD, 100000 + SUMS_UNTOLD);
	a = (struct adding){&s, -1, 0, 70000}; /* what others have added */
	apart(adds, &a);
	all_is(&s, 30000 + SUMS_UNTOLD, 100000 + SUMS_UNTOLD);
}

/* More threads than parts: they share. */
static void many_threads(void **state)
{
	struct sums s = {0};
	struct adding a = {&s, 2, 3, 7};

	(void)state;
	for (int i = 1; i <= 3 * SUMS_PARTS; i++) {
		apart(adds, &a);
		all_is(&s, 14 * i, 21 * i);
	}
}

enum { KEYS = 400 };

struct asking {
	struct farm *f;
	uint64_t from, to;
	enum hf_life life;
	struct hf_answer a[KEYS];
};

static void *asks(void *arg)
{
	struct asking *q = arg;

	for (uint64_t k = q->from; k < q->to; k++)
		if (q->life == HF_LIFE_START)
			q->a[k] = farm_ask(q->f, farm_fp(k), HF_LIFE_START, 9000, HF_COUNTED, T0);
		else
			assert_int_equal(farm_learn(q->f, farm_fp(k), 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	return NULL;
}

/* Of n keys from `from` on, on a thread of its own or here; and all here in the other. */
static void both(struct asking *q, struct asking *alone, enum hf_life life, uint64_t from, uint64_t n, bool here)
{
	q->life = alone->life = life;
	q->from = alone->from = from;
	q->to = alone->to = from + n;
	if (here)
		asks(q);
	else
		apart(asks, q);
	asks(alone);
	for (uint64_t k = from; k < from + n; k++)
		assert_true(q->a[k].server == alone->a[k].server && q->a[k].why == alone->a[k].why && !q->a[k].full);
}

/* Caps are exact to the session whichever threads started and ended the others: the answers are those of one thread. Without sharpen sessions spill too
 * early, and without the owner's second look as if it had been full; without the `off` in scope_least some are placed above a cap that ends on
 * another thread have lowered. */
static void caps_of_threads(void **state)
{
	static struct asking q, alone;

	(void)state;
	q.f = farm_new(HF_MODE_AUTO, 5, 1000, 10000, T0);
	alone.f = farm_new(HF_MODE_AUTO, 5, 1000, 10000, T0);
	for (uint64_t k = 0; k < KEYS; k += 20) {
		both(&q, &alone, HF_LIFE_START, k, SUMS_UNTOLD, false); /* all told ... */
		both(&q, &alone, HF_LIFE_START, k + SUMS_UNTOLD, 20 - SUMS_UNTOLD, true);
		both(&q, &alone, HF_LIFE_END, k + 4, 10, false); /* ... and of these none */
		both(&q, &alone, HF_LIFE_START, k + 4, 6, true);
		farm_check(q.f);
	}
	farm_free(alone.f);
	farm_free(q.f);
}

/* The last free place is found, and none behind it. Without the second look in the ledger's claim a table with room refuses. */
static void room_of_threads(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 5, 0, 20, T0);
	static struct asking q;

	(void)state;
	q = (struct asking){.f = f, .to = 10, .life = HF_LIFE_START};
	apart(asks, &q);
	for (uint64_t k = 10; k < 20; k++)
		assert_false(farm_ask(f, farm_fp(k), HF_LIFE_START, 9000, HF_COUNTED, T0).full);
	assert_int_equal(farm_counts(f).entries, 20);
	assert_true(farm_ask(f, farm_fp(20), HF_LIFE_START, 9000, HF_COUNTED, T0).full);
	q = (struct asking){.f = f, .from = 3, .to = 4, .life = HF_LIFE_END};
	apart(asks, &q);
	assert_false(farm_ask(f, farm_fp(20), HF_LIFE_START, 9000, HF_COUNTED, T0).full);
	assert_int_equal(farm_counts(f).entries, 20);
	farm_check(f);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(below_zero), cmocka_unit_test(known_is_near), cmocka_unit_test(many_threads), cmocka_unit_test(caps_of_threads), cmocka_unit_test(room_of_threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
