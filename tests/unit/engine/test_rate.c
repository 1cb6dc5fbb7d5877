/* Sessions that a server is given a second (max_per_s): who is over it is passed over for the next runner-up, in every mode and by every balance. */
#include "farm.h"

enum { T0 = 1000000 };

/* n servers, of which the first `limited` are given `per_s`. */
static struct farm *limited_farm(struct hf_engine_conf c, unsigned n, unsigned limited, uint32_t per_s)
{
	static struct hf_member_conf m[16];
	struct farm *f = farm_with(c, T0);

	f->n = n;
	for (unsigned i = 0; i < n; i++) {
		farm_name(f, i, 100);
		m[i] = (struct hf_member_conf){.name = hf_bytes_str(f->m[i].name), .weight = 100, .max_per_s = i < limited ? per_s : 0};
	}
	assert_int_equal(hf_engine_apply(f->e, m, n, f->id, T0), HF_OK);
	farm_settle(f, T0);
	return f;
}

static struct hf_answer call(struct farm *f, uint64_t n, unsigned flags, bool urgent, uint64_t now)
{
	struct hf_question q = {.key = {.fp = farm_fp(n)}, .life = HF_LIFE_START, .life_s = 1000, .flags = flags, .urgent = urgent};
	struct hf_answer a;

	hf_engine_choose(f->e, &q, &a, now);
	return a;
}

/* Five a second in bursts of five; the others take the rest. Fails without hf_rate_take in reserve(), in each of the balances. */
static void spills(void **state)
{
	(void)state;
	for (enum hf_mode mode = HF_MODE_AUTO; mode <= HF_MODE_HASH; mode++)
		for (enum hf_balance b = HF_BALANCE_HASH; b <= (mode == HF_MODE_TABLE ? HF_BALANCE_RANDOM : HF_BALANCE_HASH); b++) {
			struct farm *f = limited_farm((struct hf_engine_conf){.mode = mode, .balance = b, .max_entries = 10000}, 3, 1, 5);
			unsigned at[5] = {0}, spilled = 0;
			uint64_t n = 0;

			for (uint64_t t = T0; t < T0 + 4000; t += 10) {
				struct hf_answer a = call(f, n++, HF_COUNTED | HF_TENTATIVE, false, t);

				assert_true(a.server);
				at[a.server]++;
				spilled += a.why == HF_WHY_SPILL;
				assert_int_equal(call(f, n - 1, HF_COUNTED, false, t).server, a.server); /* it is known: nothing is taken */
			}
			assert_in_range(at[f->id[0]], 23, 25);
			assert_true(b != HF_BALANCE_HASH || spilled > 80);
			farm_check(f);
			farm_free(f);
		}
}

/* All are over: nobody, until time has passed, nor what only names a session. What does not count, what is urgent, and what is known are served all the same. */
static void all_over(void **state)
{
	struct farm *f = limited_farm((struct hf_engine_conf){.mode = HF_MODE_AUTO, .load_factor_milli = 1500, .max_entries = 10000}, 2, 2, 3);
	uint64_t n = 0;
	struct hf_trace t;
	struct hf_question q = {.key = {.fp = farm_fp(500)}, .life = HF_LIFE_START, .flags = HF_COUNTED};
	struct hf_answer a;
	unsigned over = 0;

	(void)state;
	while (n < 6)
		assert_true(call(f, n++, HF_COUNTED, false, T0).server);
	assert_int_equal(call(f, 100, HF_COUNTED, false, T0).server, 0);
	hf_engine_explain(f->e, &q, &a, &t, T0);
	assert_int_equal(a.server, 0);
	for (unsigned i = 0; i < t.n; i++)
		over += t.step[i].verdict == HF_VERDICT_RATE;
	assert_int_equal(over, 2);
	assert_true(call(f, 101, 0, false, T0).server);
	assert_true(call(f, 102, HF_COUNTED, true, T0).server);
	q.life = HF_LIFE_START;
	q.at_home = true;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_equal(a.server, 0);
	assert_true(call(f, 3, HF_COUNTED, false, T0).known);
	assert_true(call(f, 103, HF_COUNTED, false, T0 + 334).server);
	assert_int_equal(farm_counts(f).counted, 8);
	farm_check(f);
	farm_free(f);
}

/* A change of the file takes hold at once, and no limit is none. Fails when adopt() forgets it. */
static void changed(void **state)
{
	struct farm *f = limited_farm((struct hf_engine_conf){.mode = HF_MODE_AUTO, .max_entries = 10000}, 1, 1, 2);
	struct hf_member_conf m = {.name = hf_bytes_str(f->m[0].name), .weight = 100};
	struct hf_server_view v;

	(void)state;
	assert_true(hf_engine_server(f->e, f->id[0], &v) && v.max_per_s == 2);
	assert_true(call(f, 1, HF_COUNTED, false, T0).server && call(f, 2, HF_COUNTED, false, T0).server && !call(f, 3, HF_COUNTED, false, T0).server);
	assert_int_equal(hf_engine_apply(f->e, &m, 1, f->id, T0), HF_OK);
	for (uint64_t n = 10; n < 60; n++)
		assert_true(call(f, n, HF_COUNTED, false, T0).server);
	assert_int_equal(f->e->limited, 0);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(spills), cmocka_unit_test(all_over), cmocka_unit_test(changed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
