/* Sources of a bond's live flows: who may come to it, who finds it again, and that they are counted as the flows are. */
#include "farm.h"

#define T0 1000000u
#define KEY 7u
#define APART 8u

static struct hf_answer come(struct farm *f, uint64_t source, uint32_t max)
{
	struct hf_question q = {.key = {.fp = KEY}, .life = HF_LIFE_OPEN, .life_s = 60, .flags = HF_COUNTED | HF_BOND, .source = source, .max_sources = max, .renews = true};
	struct hf_answer a;

	hf_engine_choose(f->e, &q, &a, T0);
	return a;
}

static void go(struct farm *f, uint64_t source)
{
	(void)hf_engine_learn(f->e, &(struct hf_lesson){.key = {.fp = KEY}, .life = HF_LIFE_CLOSE, .life_s = 60, .source = source}, T0);
}

static bool taken(struct farm *f, uint64_t source) { return !come(f, source, 3).crowded; }

static const struct record *kept(struct farm *f) { return records_find(&shard_of(f->e, KEY)->records, KEY); }

/* Three may be live at once, however many flows they have; nothing is made of a fourth, who is told so once and comes in when one has left. Fails
 * without holders_full in crowded(), or without flow_opens for the entry that is there or is made. */
static void three_at_once(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0), *autos = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	struct hf_question q = {.key = {.fp = KEY}, .life = HF_LIFE_OPEN, .life_s = 60, .flags = HF_COUNTED | HF_BOND, .source = 54, .max_sources = 3};
	struct hf_answer a;
	struct hf_trace t;

	(void)state;
	assert_true(taken(f, 51) && taken(f, 52) && taken(f, 53) && taken(f, 51) && taken(f, 53));
	hf_engine_explain(f->e, &q, &a, &t, T0);
	assert_true(a.crowded && !a.news && t.step[0].verdict == HF_VERDICT_SOURCES);
	q.life = HF_LIFE_NONE;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.crowded && !a.news);
	a = come(f, 54, 3);
	assert_true(a.crowded && a.known && !a.server && a.news);
	a = come(f, 55, 3);
	assert_true(a.crowded && !a.news);
	assert_int_equal(kept(f)->flows, 5);
	assert_true(!come(f, 0, 3).crowded && !come(f, 54, 4).crowded && !come(f, 52, 1).crowded);
	go(f, 54);
	go(f, 51); /* it has one more */
	assert_false(taken(f, 55));
	go(f, 51);
	assert_true(taken(f, 55) && !taken(f, 56));
	for (unsigned i = 0; i < 6; i++)
		assert_true(taken(autos, 50 + i));
	farm_check(f);
	farm_free(f);
	farm_free(autos);
}

/* Who has held it finds it again, though it is live from three others, until four newer ones have; also when nobody was live in between. */
static void found_again(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0);

	(void)state;
	for (unsigned i = 51; i < 54; i++)
		assert_true(taken(f, i));
	go(f, 51);
	assert_true(taken(f, 54) && taken(f, 51)); /* four now */
	assert_true(!taken(f, 55));
	for (unsigned i = 51; i < 55; i++)
		go(f, i);
	assert_int_equal(kept(f)->flows, 0);
	for (unsigned i = 61; i < 64; i++) /* 52, 53 and 54 give way, who came before 51 did again */
		assert_true(taken(f, i));
	assert_true(!taken(f, 53) && taken(f, 51));
	farm_free(f);
}

/* A START of who is counted, and a hint, do not ask; a key apart that has an entry is the answer for who asks by it, whoever is live. */
static void apart(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0);
	struct hf_question q = {.key = {.fp = KEY}, .life = HF_LIFE_OPEN, .life_s = 60, .flags = HF_COUNTED | HF_BOND, .source = 54, .max_sources = 3, .apart = APART, .renews = true};
	struct hf_answer a;
	struct hf_trace t;

	(void)state;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.server && !a.crowded);
	go(f, 54);
	assert_int_equal(farm_learn(f, APART, f->id[1], HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.crowded && !a.server && !a.news && kept(f)->flows == 0);
	hf_engine_explain(f->e, &q, &a, &t, T0);
	assert_true(a.crowded && t.n == 1 && t.step[0].verdict == HF_VERDICT_SOURCES && t.step[0].fp == APART && t.step[0].server == f->id[1]);
	q.life = HF_LIFE_START;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.server && !a.crowded);
	q.life = HF_LIFE_OPEN;
	q.hint = f->id[2];
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.server == f->id[2] && !a.crowded);
	q.hint = 0;
	assert_int_equal(farm_learn(f, APART, 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.server && !a.crowded);
	farm_free(f);
}

/* Whatever comes and goes, nobody has more flows here than there are, and none when there are none. Without holders_rest what ended untold stays. */
static void no_drift(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0);
	unsigned live[8] = {0}, all = 0;
	uint64_t seed = 4711;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t r = farm_random(&seed);
		unsigned who = r % 8, sum = 0;

		if (r >> 8 & 1 || !live[who]) {
			assert_false(come(f, 51 + who, 0).crowded);
			live[who]++;
			all++;
		} else {
			go(f, 51 + who);
			live[who]--;
			all--;
		}
		for (unsigned h = 0; h < HOLDERS; h++) {
			const struct holders *x = &kept(f)->holders;

			sum += x->flows[h];
			if (x->from[h])
				assert_true(x->flows[h] <= live[x->from[h] - 51]);
		}
		assert_true(kept(f)->flows == all && sum <= all);
	}
	for (unsigned who = 0; who < 8; who++)
		while (live[who]--)
			go(f, 51 + who);
	for (unsigned h = 0; h < HOLDERS; h++)
		assert_int_equal(kept(f)->holders.flows[h], 0);
	go(f, 51); /* once too often */
	assert_true(kept(f)->flows == 0 && taken(f, 60) && taken(f, 61) && taken(f, 62) && !taken(f, 63));
	for (unsigned i = 0; i < 3; i++)
		go(f, 0); /* whose they were is no longer told */
	assert_true(kept(f)->flows == 0 && taken(f, 63));
	farm_free(f);
}

/* A count that has reached its end stays there, until nobody is live. */
static void saturates(void **state)
{
	struct holders h = {{0}, {0}};

	(void)state;
	for (unsigned i = 0; i < UINT16_MAX + 2u; i++)
		holders_open(&h, 51);
	for (unsigned i = 0; i < UINT16_MAX + 1u; i++)
		holders_close(&h, 51);
	assert_true(holders_full(&h, 52, 1) && !holders_full(&h, 51, 1) && !holders_full(&h, 52, 2));
	holders_rest(&h);
	assert_false(holders_full(&h, 52, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(three_at_once), cmocka_unit_test(found_again), cmocka_unit_test(apart), cmocka_unit_test(no_drift), cmocka_unit_test(saturates)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
