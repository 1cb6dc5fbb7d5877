/* Slow start: caps at literal times, in every mode; who ramps and who does not; that it never touches the fill. */
#include "farm.h"

enum { T0 = 1000000, SPAN = 10000 };

static struct farm *farm(enum hf_mode mode, enum hf_balance balance, uint32_t slow_start)
{
	return farm_fill(farm_with((struct hf_engine_conf){.mode = mode, .balance = balance, .load_factor_milli = 1250, .max_entries = 20000, .slow_start_ms = slow_start}, T0), 10, T0);
}

static uint32_t cap(struct farm *f, unsigned i, uint64_t now)
{
	(void)hf_engine_tick(f->e, now);
	return farm_server(f, f->id[i]).cap;
}

static void load(struct farm *f, unsigned n)
{
	for (uint64_t k = 0; k < n; k++)
		assert_int_not_equal(farm_ask(f, farm_fp(k), HF_LIFE_START, 1000, HF_COUNTED, T0).server, 0);
}

static void flap(struct farm *f, unsigned i, enum hf_mark mark, uint64_t down, uint64_t up)
{
	hf_engine_mark(f->e, f->id[i], mark, true, down);
	farm_settle(f, down);
	hf_engine_mark(f->e, f->id[i], mark, false, up);
	farm_settle(f, up);
}

/* 999 sessions, so that m + 1 is 1000: a server's cap is ceil(1250 * parts / W). The ramping one has 320 of its 3200 parts at once, 640 after a
 * ninth of the time, all at its end; the others' caps are by the W of then. */
static void literal_caps(void **state)
{
	(void)state;
	for (enum hf_mode mode = HF_MODE_AUTO; mode <= HF_MODE_HASH; mode++) {
		struct farm *f = farm(mode, HF_BALANCE_HASH, SPAN);
		uint64_t digest = hf_engine_digest(f->e), up = T0 + 5000;

		load(f, 999);
		assert_int_equal(cap(f, 0, T0 + 100), 125); /* nobody ramps at the start */
		flap(f, 0, HF_MARK_DOWN, T0 + 1000, up);
		assert_int_equal(hf_engine_digest(f->e), digest);
		assert_int_equal(cap(f, 0, up), 14);           /* 1250 * 320 / 29120 = 13.7 */
		assert_int_equal(cap(f, 1, up), 138);          /* 1250 * 3200 / 29120 = 137.4 */
		assert_int_equal(cap(f, 0, up + 1000), 26);    /* 608 of 29408: 25.8 */
		assert_int_equal(cap(f, 0, up + 5000), 72);    /* 1760 of 30560: 72.0 */
		assert_int_equal(cap(f, 0, up + 9999), 125);   /* 3199 of 31999: 124.97 */
		assert_int_equal(f->e->open_parts, 31999);
		assert_int_equal(cap(f, 0, up + 10000), 125);
		assert_int_equal(f->e->open_parts, 32000);
		assert_int_equal(f->e->n_ramps, 0);
		farm_check(f);
		farm_free(f);
	}
}

/* From down, off and added, not from drain; off by default; ended by going down and by a change of the option. */
static void who_ramps(void **state)
{
	struct farm *f = farm(HF_MODE_AUTO, HF_BALANCE_HASH, SPAN);

	(void)state;
	load(f, 999);
	flap(f, 0, HF_MARK_DRAIN, T0 + 10, T0 + 20);
	assert_int_equal(cap(f, 0, T0 + 20), 125);
	flap(f, 1, HF_MARK_OFF, T0 + 10, T0 + 20);
	assert_int_equal(cap(f, 1, T0 + 20), 14);
	hf_engine_mark(f->e, f->id[1], HF_MARK_DOWN, true, T0 + 30);
	assert_int_equal(f->e->n_ramps, 0);
	hf_engine_mark(f->e, f->id[1], HF_MARK_DOWN, false, T0 + 9000); /* from its beginning again */
	assert_int_equal(cap(f, 1, T0 + 9000), 14);
	f->conf.slow_start_ms = 0;
	hf_engine_tune(f->e, &f->conf);
	assert_int_equal(cap(f, 1, T0 + 9001), 125);
	flap(f, 1, HF_MARK_DOWN, T0 + 9100, T0 + 9200);
	assert_int_equal(cap(f, 1, T0 + 9200), 125);
	f->conf.slow_start_ms = SPAN;
	hf_engine_tune(f->e, &f->conf);
	farm_name(f, f->n++, 50);
	assert_int_equal(farm_apply(f, T0 + 9300), HF_OK);
	assert_int_equal(cap(f, 10, T0 + 9300), 7);  /* 1250 * 160 / 32160 = 6.2 */
	hf_engine_weigh(f->e, f->id[10], 100, T0 + 9300); /* in the midst of it */
	assert_int_equal(cap(f, 10, T0 + 9300), 13); /* 320 of 32320 */
	assert_int_equal(cap(f, 10, T0 + 19300), 114); /* 3200 of 35200 */
	farm_check(f);
	farm_free(f);
}

/* No placement above the ramping cap, whatever the balance; what it cannot take spills to others, and nobody is refused. */
static void placed_within(void **state)
{
	(void)state;
	for (enum hf_balance b = HF_BALANCE_HASH; b <= HF_BALANCE_RANDOM; b++) {
		struct farm *f = farm(HF_MODE_TABLE, b, SPAN);
		unsigned got = 0;

		load(f, 1000);
		hf_engine_mark(f->e, f->id[3], HF_MARK_DOWN, true, T0);
		farm_settle(f, T0);
		for (uint64_t k = 0; k < 1000; k++)
			if (farm_ask(f, farm_fp(k), HF_LIFE_NONE, 0, 0, T0).server == f->id[3])
				(void)farm_learn(f, farm_fp(k), 0, HF_LIFE_END, 0, 0, T0);
		hf_engine_mark(f->e, f->id[3], HF_MARK_DOWN, false, T0);
		farm_settle(f, T0);
		for (uint64_t k = 2000; k < 3000; k++) {
			uint64_t m = farm_counts(f).counted;
			struct hf_answer a = farm_ask(f, farm_fp(k), HF_LIFE_START, 1000, HF_COUNTED, T0);

			assert_int_not_equal(a.server, 0);
			if (a.server != f->id[3])
				continue;
			assert_true((farm_server(f, a.server).sessions - 1) * 29120000ull < 1250 * (m + 1) * 320);
			got++;
		}
		assert_true(got >= 5 && got <= 28); /* at most the last cap, 1250 * 2000 / 91000 */
		farm_check(f);
		farm_free(f);
	}
}

/* All ramp at once: the caps are shares of what there is, so nobody is refused. */
static void all_at_once(void **state)
{
	struct farm *f = farm(HF_MODE_AUTO, HF_BALANCE_HASH, SPAN);

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		hf_engine_mark(f->e, f->id[i], HF_MARK_DOWN, true, T0);
	farm_settle(f, T0);
	for (unsigned i = 0; i < 10; i++)
		hf_engine_mark(f->e, f->id[i], HF_MARK_DOWN, false, T0 + 1);
	farm_settle(f, T0 + 1);
	load(f, 999);
	assert_int_equal(cap(f, 5, T0 + 1), 125);
	farm_check(f);
	farm_free(f);
}

/* An agent's percents: of the file's weight, in caps and balances, in a slow start too; the fill stays, and a weight by hand is taken as it is. Fails
 * when whole_of looks at no percent, has no upper end, or looks at one beside a weight by hand. */
static void percents(void **state)
{
	struct farm *f = farm(HF_MODE_TABLE, HF_BALANCE_LEAST, SPAN);
	uint64_t digest = hf_engine_digest(f->e);

	(void)state;
	load(f, 999);
	hf_engine_advise(f->e, f->id[0], 50, 0, T0);
	assert_int_equal(cap(f, 0, T0), 66);                /* 1250 * 1600 / 30400 = 65.8 */
	assert_int_equal(cap(f, 1, T0), 132);
	hf_engine_advise(f->e, f->id[0], 1, 0, T0);
	assert_int_equal(cap(f, 0, T0), 2);                 /* 32 of 28832 */
	hf_engine_advise(f->e, f->id[0], HF_PERCENT_MAX + 1, 0, T0);
	assert_int_equal(cap(f, 0, T0), 2);
	hf_engine_advise(f->e, f->id[0], HF_PERCENT_MAX, 0, T0);
	assert_int_equal(cap(f, 0, T0), 277);               /* 8192, as weight 256 has, of 36992 */
	hf_engine_advise(f->e, f->id[0], 50, 0, T0);
	hf_engine_weigh(f->e, f->id[0], 10, T0);
	assert_int_equal(cap(f, 0, T0), 14);                /* 320 of 29120 */
	hf_engine_weigh(f->e, f->id[0], HF_WEIGHT_FILE, T0);
	flap(f, 0, HF_MARK_DOWN, T0, T0 + 1);
	assert_int_equal(cap(f, 0, T0 + 1), 7);             /* a tenth of a half: 160 of 28960 */
	assert_int_equal(cap(f, 0, T0 + 20000), 66);
	hf_engine_advise(f->e, f->id[0], 0, 0, T0 + 20000);
	assert_int_equal(cap(f, 0, T0 + 20000), 125);
	assert_int_equal(hf_engine_digest(f->e), digest);
	farm_check(f);
	farm_free(f);
}

/* Who has a third of the weight gets a third of the sessions, and a bound of the agent's binds as max_sessions does, the lower of the two. */
static void shared_by_percents(void **state)
{
	struct farm *f = farm_fill(farm_with((struct hf_engine_conf){.mode = HF_MODE_TABLE, .balance = HF_BALANCE_LEAST, .max_entries = 20000}, T0), 2, T0);

	(void)state;
	hf_engine_advise(f->e, f->id[0], 50, 0, T0);
	load(f, 300);
	assert_int_equal(farm_server(f, f->id[0]).sessions, 100);
	hf_engine_advise(f->e, f->id[0], 50, 110, T0);
	for (uint64_t k = 1000; k < 1300; k++)
		(void)farm_ask(f, farm_fp(k), HF_LIFE_START, 1000, HF_COUNTED, T0);
	assert_int_equal(farm_server(f, f->id[0]).sessions, 110);
	assert_int_equal(farm_server(f, f->id[0]).max_sessions, 110);
	f->m[0].max = 50;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_int_equal(farm_server(f, f->id[0]).max_sessions, 50);
	hf_engine_advise(f->e, f->id[0], 50, 60, T0);
	assert_int_equal(farm_server(f, f->id[0]).max_sessions, 50);
	farm_check(f);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(literal_caps), cmocka_unit_test(who_ramps), cmocka_unit_test(placed_within), cmocka_unit_test(all_at_once),
		cmocka_unit_test(percents), cmocka_unit_test(shared_by_percents)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
