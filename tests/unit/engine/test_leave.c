/* How servers leave: deadlines of drains and of removed servers, also over a restart, and who keeps an id from being given anew. */
#include "farm.h"

enum { T0 = 1000000, S = 1000 };

static unsigned expire(struct farm *f, uint64_t now)
{
	uint16_t ids[4];

	return hf_engine_expire(f->e, ids, 4, now);
}

/* A drain by hand, or by weight 0, becomes off when its time is over; a server that is only busy does not. undrain, or a weight, ends that
 * too; `on` begins the drain's time anew. Without drain_ms, or with OVER left behind, it fails. */
static void drain_deadline(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 4, 0, 100, T0);

	(void)state;
	hf_engine_mark(f->e, 1, HF_MARK_DRAIN, true, T0);
	assert_int_equal(farm_server(f, 1).ends_ms, 0);
	hf_engine_rule(f->e, &(struct hf_rules){.drain_deadline_ms = 10 * S});
	hf_engine_weigh(f->e, 2, 0, T0 + S);
	hf_engine_mark(f->e, 3, HF_MARK_BUSY, true, T0);
	hf_engine_mark(f->e, 1, HF_MARK_DOWN, true, T0 + 5 * S); /* its state is another, its drain goes on */
	assert_true(farm_server(f, 1).ends_ms == T0 + 10 * S && farm_server(f, 2).ends_ms == T0 + 11 * S && farm_server(f, 3).ends_ms == 0);
	assert_int_equal(farm_apply(f, T0 + 9 * S), HF_OK);
	assert_int_equal(expire(f, T0 + 10 * S - 1), 0);
	assert_int_equal(expire(f, T0 + 10 * S), 1);
	assert_true(farm_server(f, 1).state == HF_STATE_OFF && farm_server(f, 1).ends_ms == 0 && farm_server(f, 1).since_ms == T0 + 10 * S);
	assert_int_equal(expire(f, T0 + 60 * S), 1);
	assert_true(farm_server(f, 2).state == HF_STATE_OFF && farm_server(f, 3).state == HF_STATE_DRAIN);
	hf_engine_mark(f->e, 1, HF_MARK_DOWN, false, T0 + 60 * S);
	hf_engine_mark(f->e, 1, HF_MARK_OFF, false, T0 + 61 * S);
	assert_true(farm_server(f, 1).state == HF_STATE_DRAIN && farm_server(f, 1).ends_ms == T0 + 71 * S);
	assert_int_equal(expire(f, T0 + 71 * S), 1);
	hf_engine_mark(f->e, 1, HF_MARK_DRAIN, false, T0 + 72 * S);
	hf_engine_weigh(f->e, 2, HF_WEIGHT_FILE, T0 + 72 * S);
	assert_true(farm_server(f, 1).state == HF_STATE_UP && farm_server(f, 2).state == HF_STATE_UP && farm_server(f, 1).marks == 0);
	hf_engine_mark(f->e, 4, HF_MARK_OFF, true, T0);
	hf_engine_mark(f->e, 4, HF_MARK_DRAIN, true, T0);
	assert_int_equal(expire(f, T0 + 1000 * S), 0); /* off by hand is off already */
	hf_engine_mark(f->e, 4, HF_MARK_DRAIN, false, T0);
	assert_int_equal(farm_server(f, 4).state, HF_STATE_OFF);
	farm_check(f);
	farm_free(f);
}

/* The time counts on while nobody runs. Fails when a start begins it anew. */
static void over_a_restart(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);

	(void)state;
	hf_engine_mark(f->e, 1, HF_MARK_DRAIN, true, T0);
	assert_int_equal(farm_learn(f, 5, 3, HF_LIFE_START, 900, HF_COUNTED, T0), HF_OK);
	f->n = 2;
	assert_int_equal(farm_apply(f, T0 + S), HF_OK);
	hf_engine_free(f->e);
	f->e = hf_engine_new(&f->conf, f->mem, T0 + 50 * S);
	hf_engine_rule(f->e, &(struct hf_rules){.drain_deadline_ms = 100 * S, .removed_expiry_ms = 200 * S});
	assert_int_equal(farm_apply(f, T0 + 50 * S), HF_OK);
	assert_true(farm_server(f, 1).ends_ms == T0 + 100 * S && farm_server(f, 3).ends_ms == T0 + 201 * S);
	assert_int_equal(expire(f, T0 + 201 * S), 2);
	hf_engine_free(f->e);
	f->e = hf_engine_new(&f->conf, f->mem, T0 + 300 * S);
	assert_true(farm_server(f, 1).state == HF_STATE_OFF && farm_server(f, 3).state == HF_STATE_OFF);
	farm_free(f);
}

/* A removed server whose time is over: its sessions are placed anew, its entries go with the sweep, and its id is free. */
static void removed_expiry(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	uint16_t gone[4];

	(void)state;
	hf_engine_rule(f->e, &(struct hf_rules){.removed_expiry_ms = 100 * S});
	for (uint64_t k = 1; k <= 20; k++)
		assert_int_equal(farm_learn(f, farm_fp(k), 3, HF_LIFE_START, 9000, HF_COUNTED, T0), HF_OK);
	f->n = 2;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	assert_int_equal(expire(f, T0 + 99 * S), 0);
	assert_int_equal(farm_ask(f, farm_fp(1), HF_LIFE_TOUCH, 9000, HF_COUNTED, T0 + 99 * S).server, 3);
	assert_int_equal(expire(f, T0 + 100 * S), 1);
	assert_true(farm_ask(f, farm_fp(1), HF_LIFE_START, 9000, HF_COUNTED, T0 + 100 * S).server < 3);
	assert_int_equal(hf_engine_reap(f->e, gone, 4), 0);
	assert_int_equal(hf_engine_sweep(f->e, T0 + 100 * S, 1000), 19);
	assert_int_equal(hf_engine_reap(f->e, gone, 4), 1);
	assert_int_equal(gone[0], 3);
	farm_check(f);
	farm_free(f);
}

/* A server that drained when it was taken out has two ends, and the first counts. Fails when either is preferred. */
static void whichever_is_first(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);

	(void)state;
	assert_int_equal(farm_learn(f, 5, 3, HF_LIFE_START, 900, HF_COUNTED, T0), HF_OK);
	hf_engine_mark(f->e, 3, HF_MARK_DRAIN, true, T0);
	f->n = 2;
	assert_int_equal(farm_apply(f, T0 + 10 * S), HF_OK);
	hf_engine_rule(f->e, &(struct hf_rules){.drain_deadline_ms = 100 * S, .removed_expiry_ms = 200 * S});
	assert_int_equal(farm_server(f, 3).ends_ms, T0 + 100 * S);
	hf_engine_rule(f->e, &(struct hf_rules){.drain_deadline_ms = 100 * S, .removed_expiry_ms = 50 * S});
	assert_int_equal(farm_server(f, 3).ends_ms, T0 + 60 * S);
	assert_int_equal(expire(f, T0 + 60 * S), 1);
	farm_free(f);
}

/* Whoever holds an id keeps it from the next server. */
static void held(void **state)
{
	struct farm *f = farm_new(HF_MODE_NONE, 3, 0, 100, T0);
	uint16_t gone[4];

	(void)state;
	hf_engine_hold(f->e, 3, 1);
	hf_engine_hold(f->e, 3, 1);
	f->n = 2;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	assert_int_equal(farm_server(f, 3).held, 2);
	hf_engine_hold(f->e, 3, -1);
	assert_int_equal(hf_engine_reap(f->e, gone, 4), 0);
	hf_engine_hold(f->e, 3, -1);
	assert_int_equal(hf_engine_reap(f->e, gone, 4), 1);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drain_deadline), cmocka_unit_test(over_a_restart), cmocka_unit_test(removed_expiry), cmocka_unit_test(whichever_is_first),
		cmocka_unit_test(held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
