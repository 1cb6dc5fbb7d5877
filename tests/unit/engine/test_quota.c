/* A full table: who is still remembered, who makes room, where the others go; and the share of one source. */
#include "farm.h"

enum { T0 = 1000000, ROOM = 1000 };

static struct farm *farm(uint32_t source_entries)
{
	return farm_fill(farm_with((struct hf_engine_conf){.load_factor_milli = 1250, .max_entries = ROOM, .source_entries = source_entries}, T0), 5, T0);
}

static struct hf_answer start(struct farm *f, uint64_t k, uint64_t source, unsigned flags, uint64_t now)
{
	struct hf_question q = {.key = {.fp = farm_fp(k)}, .life = HF_LIFE_START, .life_s = 1000, .flags = flags, .source = source};
	struct hf_answer a;

	hf_engine_choose(f->e, &q, &a, now);
	return a;
}

static uint16_t home(struct farm *f, uint64_t k) { return hf_engine_owner(f->e, slot_of(f->e, farm_fp(k))); }

/* A session that is not remembered goes where its slot says, full or not, with all that follows: a spill of it would part it from its next
 * message. Without the second place_new in choose_new it would. */
static void full_goes_home(void **state)
{
	struct farm *f = farm(0);

	(void)state;
	for (uint64_t k = 0; farm_counts(f).entries < ROOM; k++) /* all at the first server: it is far above its cap */
		(void)farm_learn(f, farm_fp(k), f->id[0], HF_LIFE_START, 1000, HF_COUNTED, T0);
	for (uint64_t k = 5000; k < 6000; k++) {
		struct hf_answer a = start(f, k, 0, HF_COUNTED | HF_TENTATIVE, T0);

		assert_true(a.full && !a.known && a.server == home(f, k) && a.why == HF_WHY_HOME);
		a = farm_ask(f, farm_fp(k), HF_LIFE_TOUCH, 100, HF_COUNTED, T0);
		assert_true(!a.known && a.server == home(f, k));
		a = farm_ask(f, farm_fp(k), HF_LIFE_NONE, 0, 0, T0);
		assert_true(!a.known && a.server == home(f, k));
	}
	assert_int_equal(farm_counts(f).entries, ROOM);
	assert_int_equal(farm_counts(f).counted, ROOM);
	farm_check(f);
	farm_free(f);
}

/* A firm entry takes a tentative one's place; a tentative one takes nobody's; an expired one's place is anybody's. */
static void who_makes_room(void **state)
{
	struct farm *f = farm(0);
	unsigned firm = 0;

	(void)state;
	for (uint64_t k = 0; k < ROOM; k++)
		assert_false(start(f, k, 0, HF_COUNTED | HF_TENTATIVE, T0).full);
	for (uint64_t k = 2000; k < 2500; k++) {
		assert_true(start(f, k, 0, HF_COUNTED | HF_TENTATIVE, T0).full);
		assert_false(start(f, k, 0, HF_COUNTED, T0).full);
	}
	assert_int_equal(farm_counts(f).entries, ROOM);
	for (uint64_t k = 2000; k < 2500; k++)
		firm += farm_ask(f, farm_fp(k), HF_LIFE_NONE, 0, 0, T0).known;
	assert_int_equal(firm, 500);
	farm_check(f);
	for (uint64_t k = 3000; k < 3100; k++)
		assert_false(start(f, k, 0, HF_COUNTED | HF_TENTATIVE, T0 + 1001 * 1000 + 4000).full);
	farm_check(f);
	farm_free(f);
}

/* Nobody is bounded while there is room; then a source has its share of 32 s, to the entry, and others have theirs. */
static void a_source_has_its_share(void **state)
{
	struct farm *f = farm(200);
	unsigned over = 0, others = 0;

	(void)state;
	for (uint64_t k = 0; k < 750; k++)
		assert_false(start(f, k, 7, HF_COUNTED | HF_TENTATIVE, T0).over);
	for (uint64_t k = 750; k < 900; k++) { /* it has had 750 */
		struct hf_answer a = start(f, k, 7, HF_COUNTED | HF_TENTATIVE, T0);

		assert_true(a.over && !a.full && !a.known && a.server == home(f, k));
		over++;
	}
	assert_int_equal(farm_counts(f).entries, 750);
	for (uint64_t k = 2000; k < 2200; k++)
		others += !start(f, k, 8 + k % 20, HF_COUNTED | HF_TENTATIVE, T0).over;
	assert_int_equal(others, 200);
	assert_int_equal(farm_counts(f).entries, 950);
	assert_false(start(f, 3000, 0, HF_COUNTED, T0).over);                          /* a server's */
	assert_int_equal(farm_learn(f, farm_fp(800), f->id[0], HF_LIFE_START, 1000, HF_COUNTED, T0), HF_OK); /* confirmed by its server */
	farm_check(f);
	farm_free(f);
}

/* 200 in 32 s: one more each 160 ms. */
static void a_share_comes_back(void **state)
{
	struct farm *f = farm(200);
	uint64_t k = 0;

	(void)state;
	for (; k < 750; k++)
		(void)start(f, k, 1 + k, HF_COUNTED, T0);
	for (unsigned i = 0; i < 200; i++)
		assert_false(start(f, k++, 5000, HF_COUNTED, T0).over);
	assert_true(start(f, k, 5000, HF_COUNTED, T0).over);
	assert_true(start(f, k, 5000, HF_COUNTED, T0 + 159).over);
	assert_false(start(f, k++, 5000, HF_COUNTED, T0 + 160).over);
	assert_true(start(f, k, 5000, HF_COUNTED, T0 + 319).over);
	assert_false(start(f, k++, 5000, HF_COUNTED, T0 + 320).over);
	assert_false(start(f, k - 1, 5000, HF_COUNTED, T0 + 320).over); /* its retransmission is known */
	farm_check(f);
	farm_free(f);
}

/* A flood from one source, or from two hundred, leaves a thousand others theirs but for chance: both counters of one are rarely of the flood. */
static void strangers_are_spared(void **state)
{
	(void)state;
	for (unsigned flood = 1; flood <= 200; flood += 199) {
		struct farm *f = farm(20);
		unsigned hit = 0;

		for (uint64_t k = 0; k < 750; k++)
			(void)farm_learn(f, farm_fp(k), f->id[0], HF_LIFE_START, 1000, HF_COUNTED, T0);
		for (uint64_t k = 0; k < 20000; k++)
			(void)quota_over(f->e, 1000 + k % flood, false, T0);
		for (uint64_t s = 0; s < 1000; s++)
			hit += quota_over(f->e, 50000 + s, false, T0);
		assert_true(hit <= (flood == 1 ? 1u : 25u)); /* 200 of 2048 in each row: 9 of 1000 */
		assert_true(quota_over(f->e, 1000, false, T0));
		farm_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(full_goes_home), cmocka_unit_test(who_makes_room), cmocka_unit_test(a_source_has_its_share),
		cmocka_unit_test(a_share_comes_back), cmocka_unit_test(strangers_are_spared)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
