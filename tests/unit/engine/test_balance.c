/* Balances of a table: turns, the fewest sessions, draws; by weight, within caps and bounds, and where they are never asked. */
#include "farm.h"

enum { T0 = 1000000 };

static struct farm *table(enum hf_balance balance, unsigned n, uint32_t factor)
{
	return farm_fill(farm_with((struct hf_engine_conf){.mode = HF_MODE_TABLE, .balance = balance, .load_factor_milli = factor, .max_entries = 20000}, T0), n, T0);
}

static struct hf_answer start(struct farm *f, uint64_t k) { return farm_ask(f, farm_fp(k), HF_LIFE_OPEN, 1000, HF_COUNTED, T0); }

static void weigh(struct farm *f, const uint32_t *w)
{
	for (unsigned i = 0; i < f->n; i++)
		hf_engine_weigh(f->e, f->id[i], w[i], T0);
	farm_settle(f, T0);
}

/* Equal weights go round strictly, and a known user takes no turn: the turn word moved on by a look, or not at all, fails here. */
static void turns(void **state)
{
	struct farm *f = table(HF_BALANCE_ROUND_ROBIN, 4, 0);
	struct hf_where w;
	struct hf_answer a;

	(void)state;
	for (uint64_t k = 0; k < 40; k++) {
		hf_engine_where(f->e, farm_fp(k), &w, T0);
		assert_true(w.server == k % 4 + 1 && w.why == HF_WHY_BALANCE && w.runner_up == (k + 1) % 4 + 1);
		a = start(f, k);
		assert_true(a.server == k % 4 + 1 && a.why == HF_WHY_BALANCE && !a.known);
		a = start(f, k / 2);
		assert_true(a.server == k / 2 % 4 + 1 && a.known);
	}
	farm_check(f);
	farm_free(f);
}

/* Turns by weight: exact over one round of the weights, and evenly within it; who is full is passed over and takes nobody's turn. */
static void weighted_turns(void **state)
{
	static const uint32_t w[] = {10, 20, 70};
	struct farm *f = farm_with((struct hf_engine_conf){.mode = HF_MODE_TABLE, .balance = HF_BALANCE_ROUND_ROBIN, .max_entries = 20000}, T0);
	unsigned got[4] = {0};

	(void)state;
	f->n = 3;
	for (unsigned i = 0; i < 3; i++)
		farm_name(f, i, w[i]);
	assert_int_equal(farm_apply(f, T0), HF_OK);
	for (uint64_t k = 0; k < 400; k++) {
		got[start(f, k).server]++;
		for (unsigned i = 0; i < 3; i++) {
			double off = got[i + 1] - (double)(k + 1) * w[i] / 100;

			assert_true(off < 1.5 && off > -1.5);
		}
	}
	assert_true(got[1] == 40 && got[2] == 80 && got[3] == 280);
	f->m[2].max = 280;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	for (uint64_t k = 400; k < 430; k++)
		got[start(f, k).server]++;
	assert_true(got[1] == 50 && got[2] == 100 && got[3] == 280);
	farm_free(f);
}

/* A server that was away comes back into the round; it has saved up no turns. Without balance_join it would have one at once, and one too many;
 * one that was full is next, once: without `now` in turn_of it never would be. */
static void back_from_away(void **state)
{
	struct farm *f = table(HF_BALANCE_ROUND_ROBIN, 4, 0);
	unsigned got[5] = {0};

	(void)state;
	hf_engine_mark(f->e, 2, HF_MARK_DOWN, true, T0);
	for (uint64_t k = 0; k < 33; k++)
		assert_int_not_equal(start(f, k).server, 2);
	hf_engine_mark(f->e, 2, HF_MARK_DOWN, false, T0);
	for (uint64_t k = 100; k < 108; k++)
		got[start(f, k).server]++;
	assert_true(got[1] == 2 && got[2] == 2 && got[3] == 2 && got[4] == 2);
	f->m[0].max = farm_server(f, 1).sessions;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	for (uint64_t k = 200; k < 233; k++)
		assert_int_not_equal(start(f, k).server, 1);
	f->m[0].max = 0;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	memset(got, 0, sizeof got);
	for (uint64_t k = 300; k < 308; k++)
		got[start(f, k).server]++;
	assert_true(got[1] == 2 || got[1] == 3);
	farm_free(f);
}

/* Who weighs more than before waits no longer than its weight asks now: its turn was set by the former one. Without balance_grown it
 * waits two hundred turns. */
static void heavier(void **state)
{
	static const uint32_t light[] = {100, 100, 1}, even[] = {100, 100, 100};
	struct farm *f = table(HF_BALANCE_ROUND_ROBIN, 3, 0);
	unsigned got = 0;
	uint64_t k = 0;

	(void)state;
	weigh(f, light);
	while (k < 20)
		got += start(f, k++).server == f->id[2];
	assert_int_equal(got, 1);
	weigh(f, even);
	while (k < 50)
		got += start(f, k++).server == f->id[2];
	assert_in_range(got, 10, 11);
	farm_free(f);
}

/* The fewest sessions for its weight: after any number of starts nobody is more than one session from its share. */
static void fewest(void **state)
{
	static const uint32_t w[] = {7, 50, 100, 256};
	struct farm *f = table(HF_BALANCE_LEAST, 4, 0);

	(void)state;
	weigh(f, w);
	for (uint64_t k = 0; k < 2000; k++) {
		assert_int_equal(start(f, k).why, HF_WHY_BALANCE);
		for (unsigned i = 0; i < 4; i++) {
			double off = farm_server(f, f->id[i]).sessions - (double)(k + 1) * w[i] / 413;

			assert_true(off < 3 && off > -3);
		}
	}
	for (uint64_t k = 0; k < 2000; k++) /* all who are at the third leave it: it is next */
		if (farm_ask(f, farm_fp(k), HF_LIFE_NONE, 0, 0, T0).server == f->id[2])
			(void)farm_learn(f, farm_fp(k), 0, HF_LIFE_END, 0, 0, T0);
	for (uint64_t k = 5000; k < 5400; k++)
		assert_int_equal(start(f, k).server, f->id[2]);
	farm_check(f);
	farm_free(f);
}

/* Draws are by weight (chi-square, 3 degrees of freedom), the same for the same key and time, and others at another time. */
static void draws(void **state)
{
	static const uint32_t w[] = {10, 40, 150, 200};
	struct farm *f[2] = {table(HF_BALANCE_RANDOM, 4, 0), table(HF_BALANCE_RANDOM, 4, 0)}, *later;
	double got[4] = {0}, chi = 0;
	unsigned same = 0;

	(void)state;
	later = farm_fill(farm_with((struct hf_engine_conf){.mode = HF_MODE_TABLE, .balance = HF_BALANCE_RANDOM, .max_entries = 20000}, T0 + 77777), 4, T0 + 77777);
	weigh(f[0], w);
	weigh(f[1], w);
	weigh(later, w);
	for (uint64_t k = 0; k < 10000; k++) {
		struct hf_where at;
		struct hf_answer a;

		hf_engine_where(f[0]->e, farm_fp(k), &at, T0);
		a = start(f[0], k);
		assert_int_equal(a.server, at.server);
		assert_int_equal(a.server, start(f[1], k).server);
		assert_int_equal(a.why, HF_WHY_BALANCE);
		same += a.server == farm_ask(later, farm_fp(k), HF_LIFE_OPEN, 1000, HF_COUNTED, T0 + 77777).server;
		got[a.server - 1]++;
	}
	for (unsigned i = 0; i < 4; i++)
		chi += (got[i] - 25.0 * w[i]) * (got[i] - 25.0 * w[i]) / (25.0 * w[i]);
	assert_true(chi < 30); /* p > 1e-6 */
	assert_true(same < 4500); /* 4006 expected of strangers */
	for (int i = 0; i < 2; i++)
		farm_free(f[i]);
	farm_free(later);
}

/* The cap as the documents write it binds each of them, and nobody is refused while another has room. `fits` without `under` fails here. */
static void capped(void **state)
{
	(void)state;
	for (enum hf_balance b = HF_BALANCE_LEAST; b <= HF_BALANCE_RANDOM; b++)
		for (uint32_t factor = 1000; factor <= 1500; factor += 250) {
			static const uint32_t w[] = {1, 10, 100, 256, 33};
			struct farm *f = table(b, 5, factor);
			uint64_t seed = 3 + b, m = 0;
			static bool live[500];

			memset(live, 0, sizeof live);
			weigh(f, w);
			for (unsigned i = 0; i < 6000; i++) {
				uint64_t k = farm_random(&seed) % 500;
				struct hf_answer a;

				if (live[k]) {
					assert_int_equal(farm_learn(f, farm_fp(k), 0, HF_LIFE_END, 0, 0, T0), HF_OK);
					live[k] = false;
					m--;
					continue;
				}
				a = start(f, k);
				assert_true(a.server && a.why == HF_WHY_BALANCE);
				assert_true((farm_server(f, a.server).sessions - 1) * 400000ull < factor * (m + 1) * w[a.server - 1]);
				live[k] = true;
				m++;
			}
			farm_check(f);
			farm_free(f);
		}
}

/* Bounds bind them too; who was tried already is not taken again; all full is nobody. */
static void bounds(void **state)
{
	(void)state;
	for (enum hf_balance b = HF_BALANCE_LEAST; b <= HF_BALANCE_RANDOM; b++) {
		struct farm *f = table(b, 3, 1250);
		struct hf_question q = {.key = {.fp = 77}, .life = HF_LIFE_OPEN, .life_s = 100, .flags = HF_COUNTED, .avoid = f->id, .n_avoid = 2};
		struct hf_answer a;

		for (unsigned i = 0; i < 3; i++)
			f->m[i].max = 10 + i;
		assert_int_equal(farm_apply(f, T0), HF_OK);
		hf_engine_choose(f->e, &q, &a, T0);
		assert_true(a.server == f->id[2] && a.why == HF_WHY_BALANCE);
		for (uint64_t k = 0; k < 32; k++)
			assert_int_not_equal(start(f, k).server, 0);
		assert_int_equal(start(f, 99).server, 0);
		farm_check(f);
		farm_free(f);
	}
}

/* What only the fallback places goes by it, whatever the balance, and is remembered; by source it is the source's slot, within caps. */
static void unplaced(void **state)
{
	struct farm *f = table(HF_BALANCE_ROUND_ROBIN, 4, 1000);
	struct hf_question q = {.unplaced = true, .life = HF_LIFE_OPEN, .life_s = 100, .flags = HF_COUNTED};
	struct hf_answer a;
	uint16_t home;

	(void)state;
	farm_tune(f, 1000, HF_FALLBACK_SOURCE);
	q.spread = 99;
	q.key.fp = farm_fp(0);
	hf_engine_choose(f->e, &q, &a, T0);
	home = a.server;
	assert_int_equal(a.why, HF_WHY_FALLBACK);
	farm_tune(f, 0, HF_FALLBACK_SOURCE);
	for (uint64_t k = 0; k < 20; k++) {
		q.key.fp = farm_fp(k);
		hf_engine_choose(f->e, &q, &a, T0);
		assert_true(a.server == home && a.known == (k == 0));
	}
	farm_tune(f, 1000, HF_FALLBACK_SOURCE); /* 20 of 20 are there: nobody more */
	q.key.fp = farm_fp(20);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.server != home && a.why == HF_WHY_FALLBACK);
	q.key.fp = 0; /* nothing would remember it elsewhere */
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.server == home && a.why == HF_WHY_FALLBACK);
	farm_check(f);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns), cmocka_unit_test(weighted_turns), cmocka_unit_test(back_from_away), cmocka_unit_test(heavier),
		cmocka_unit_test(fewest), cmocka_unit_test(draws), cmocka_unit_test(capped), cmocka_unit_test(bounds), cmocka_unit_test(unplaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
