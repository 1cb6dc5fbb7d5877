/* Deciding and lives, one rule a test; the calls are literal and so are the times (milliseconds). */
#include "farm.h"

enum { T0 = 1000000 };

/* A session starts at its slot's owner and stays known; without ledger_add's insert the second question is not known. */
static void starts_at_home(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 1000, T0);

	(void)state;
	for (uint64_t k = 0; k < 300; k++) {
		uint64_t fp = farm_fp(k);
		struct hf_answer a = farm_ask(f, fp, HF_LIFE_START, 100, HF_COUNTED, T0), b;

		assert_true(a.server >= 1 && a.server <= 3);
		assert_false(a.known);
		assert_int_equal(a.why == HF_WHY_HOME, a.server == hf_engine_owner(f->e, (uint32_t)(fp >> 44)));
		b = farm_ask(f, fp, HF_LIFE_NONE, 0, 0, T0);
		assert_true(b.known);
		assert_int_equal(b.server, a.server);
		assert_int_equal(b.why, HF_WHY_ENTRY);
	}
	assert_int_equal(farm_counts(f).counted, 300);
	farm_check(f);
	farm_free(f);
}

/* The digest through the whole engine equals the frozen one: slot owners are what the method says. */
static void digest_is_golden(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 10, 1500, 1000, T0), *g = farm_empty(HF_MODE_AUTO, 0, 10, T0);

	(void)state;
	assert_int_equal(hf_engine_digest(f->e), 0x9f71de8e7a80fa13u);
	farm_free(f);
	g->n = 3;
	for (unsigned i = 0; i < 3; i++) {
		snprintf(g->m[i].name, sizeof g->m[i].name, "pbx%u", 3 - i);
		g->m[i].weight = i == 0 ? 50 : 100;
	}
	assert_int_equal(farm_apply(g, T0), HF_OK);
	assert_int_equal(hf_engine_digest(g->e), 0x2f1747deb2b9d218u);
	assert_int_equal(farm_server(g, hf_engine_find(g->e, HF_LIT("pbx3"))).slots, 13070);
	farm_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(starts_at_home), cmocka_unit_test(digest_is_golden)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
