/* Explaining: it answers what choose then does, by the same code, says what was looked at, and leaves no trace of its own. */
#include "farm.h"

enum { T0 = 1000000, S = 1000 };

static struct hf_trace explain(struct farm *f, const struct hf_question *q, struct hf_answer *a, uint64_t now)
{
	struct hf_trace t;

	hf_engine_explain(f->e, q, a, &t, now);
	return t;
}

static void assert_step(const struct hf_step *s, enum hf_step_kind kind, uint16_t server, enum hf_verdict v)
{
	assert_string_equal(hf_step_name(s->kind), hf_step_name(kind));
	assert_string_equal(hf_verdict_name(s->verdict), hf_verdict_name(v));
	assert_int_equal(s->server, server);
}

/* A question of any form, over servers in any state: explain changes not an octet of the tables and no load, and choose then answers the
 * same. Without `look.life = HF_LIFE_NONE` in hf_engine_explain the tables differ; without the trace in place_session's verdict of the owner
 * the last step is not the server. */
static void same_as_choose(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 12, 1100, 4000, T0);
	uint8_t *before = malloc(f->need);
	struct load loads[13];
	uint64_t r = 42;
	unsigned why[HF_WHY_COUNT] = {0};

	(void)state;
	hf_engine_mark(f->e, f->id[1], HF_MARK_DRAIN, true, T0);
	hf_engine_mark(f->e, f->id[2], HF_MARK_OFF, true, T0);
	f->m[3].max = 20;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	for (unsigned n = 0; n < 4000; n++) {
		uint16_t tried[2] = {f->id[farm_random(&r) % 12], f->id[farm_random(&r) % 12]};
		uint64_t now = T0 + n * 20;
		struct hf_question q = {.key = {.fp = farm_fp(farm_random(&r) % 1500)}, .life = HF_LIFE_START, .life_s = 30, .flags = HF_COUNTED, .avoid = tried,
			.n_avoid = (unsigned)(farm_random(&r) % 3), .move = n & 1};
		struct hf_answer a, b;
		struct hf_trace t;

		if (n % 7 == 0)
			q.hint = (uint16_t)(farm_random(&r) % 13);
		if (n % 5 == 0)
			q.place = farm_fp(farm_random(&r) % 1500);
		if (n % 10 == 0)
			q.place_else = farm_fp(farm_random(&r) % 1500);
		q.renews = n % 3 == 0;
		q.unplaced = n % 13 == 0;
		if (n % 11 == 0)
			q.refs[n & 1] = farm_fp(farm_random(&r) % 1500);
		q.hint_why = HF_WHY_COOKIE;
		if (n % 500 == 0)
			hf_engine_mark(f->e, f->id[4], HF_MARK_DOWN, n & 512, now);
		(void)hf_engine_sweep(f->e, now, 10000); /* choose takes an expired entry of its key out, and its load with it */
		memcpy(before, f->mem, f->need);
		memcpy(loads, f->e->load, sizeof loads);
		t = explain(f, &q, &a, now);
		assert_memory_equal(before, f->mem, f->need);
		assert_memory_equal(loads, f->e->load, sizeof loads);
		hf_engine_choose(f->e, &q, &b, now);
		assert_int_equal(a.server, b.server);
		assert_int_equal(a.why, b.why);
		assert_int_equal(a.known, b.known);
		why[b.why]++;
		assert_in_range(t.n, 1, HF_TRACE_STEPS);
		for (unsigned i = 0, taken = 0; i < t.n; i++) {
			taken += t.step[i].verdict == HF_VERDICT_TAKEN && t.step[i].server == a.server;
			assert_true(taken || i + 1 < t.n);
		}
	}
	assert_true(why[HF_WHY_COOKIE] && why[HF_WHY_DIALOG] && why[HF_WHY_ENTRY] && why[HF_WHY_BOND] && why[HF_WHY_HOME] && why[HF_WHY_SPILL] && why[HF_WHY_FAILOVER]);
	farm_check(f);
	free(before);
	farm_free(f);
}

/* A table without room, one of whose entries may yield or not, and a source that has had its share: explain says so, as choose then finds it, and
 * names the server of the hash alone. Without ledger_room in choose_new a spill is told that will not be; without `look` in quota_over
 * explaining takes the source's share. */
static void same_when_full(void **state)
{
	struct farm *f = farm_fill(farm_with((struct hf_engine_conf){.load_factor_milli = 1250, .max_entries = 1000, .source_entries = 50}, T0), 5, T0);
	unsigned full = 0, over = 0, yields = 0, home = 0;

	(void)state;
	for (uint64_t k = 0; farm_counts(f).entries < 1000; k++)
		(void)farm_learn(f, farm_fp(k), f->id[k % 10 ? 0 : 1], HF_LIFE_START, 1000, HF_COUNTED | (k % 10 ? 0 : HF_TENTATIVE), T0);
	for (uint64_t k = 5000; k < 5400; k++) {
		struct hf_question q = {.key = {.fp = farm_fp(k)}, .life = HF_LIFE_START, .life_s = 30, .source = k % 4 ? 7 + k : 7,
			.flags = HF_COUNTED | (k & 1 ? HF_TENTATIVE : 0)};
		struct hf_answer a, b;

		for (unsigned i = 0; i < 3; i++) {
			struct hf_trace t = explain(f, &q, &a, T0);

			assert_int_equal(t.step[t.n - 1].server, a.server);
			assert_int_equal(t.step[0].kind, HF_STEP_ENTRY);
			assert_int_equal(t.step[1].kind, HF_STEP_OWNER);
			for (unsigned s = 2; s < t.n; s++)
				assert_int_equal(t.step[s].kind, HF_STEP_RIVAL);
		}
		hf_engine_choose(f->e, &q, &b, T0);
		assert_int_equal(a.server, b.server);
		assert_int_equal(a.why, b.why);
		assert_int_equal(a.full, b.full);
		assert_int_equal(a.over, b.over);
		full += b.full;
		over += b.over;
		home += b.why == HF_WHY_HOME;
		yields += !b.full && !b.over;
	}
	assert_int_equal(over, 50); /* of a hundred: none of its share went to who only asked */
	assert_true(full && yields && home);
	farm_check(f);
	farm_free(f);
}

/* The order of a slot's servers, as carp has it; the owner first. */
static unsigned order(struct farm *f, uint32_t slot, uint16_t *ids)
{
	const struct lot l = {&f->e->ground, slot, 0};
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++) {
		unsigned at = n++;
		uint64_t c = place_cost(f->e, f->id[i], &l);

		for (; at && c < place_cost(f->e, ids[at - 1], &l); at--)
			ids[at] = ids[at - 1];
		ids[at] = f->id[i];
	}
	return n;
}

/* Four runners-up are passed over, each for its reason, in the order of the slot. Without place_before in trace_walk
 * those behind the answer stand there too; without place_before in trace_rival they stand in the order of ids. */
static void each_is_passed_over_for_its_reason(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 8, 1250, 4000, T0);
	struct hf_question q = {.key = {.fp = farm_fp(4)}, .life = HF_LIFE_START, .life_s = 60, .flags = HF_COUNTED};
	uint32_t slot = slot_of(f->e, q.key.fp);
	uint16_t ids[8];
	struct hf_trace t;
	struct hf_answer a;

	(void)state;
	order(f, slot, ids);
	assert_int_equal(ids[0], hf_engine_owner(f->e, slot));
	for (uint64_t k = 0; k < 80; k++) /* 10 of 80 each, and the owner and one more as full as they may be */
		assert_int_equal(farm_learn(f, farm_fp(1000 + k), ids[k < 40 ? k % 8 : k % 2 ? 0 : 4], HF_LIFE_START, 60, HF_COUNTED, T0), HF_OK);
	hf_engine_mark(f->e, ids[1], HF_MARK_DOWN, true, T0);
	hf_engine_mark(f->e, ids[6], HF_MARK_DRAIN, true, T0); /* behind the answer: not looked at */
	q.avoid = &ids[2];
	q.n_avoid = 1;
	for (unsigned i = 0; i < 8; i++)
		if (f->id[i] == ids[3])
			f->m[i].max = 5;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	t = explain(f, &q, &a, T0);
	assert_int_equal(a.server, ids[5]);
	assert_int_equal(a.why, HF_WHY_SPILL);
	assert_int_equal(t.slot, slot);
	assert_int_equal(t.n, 7);
	assert_step(&t.step[0], HF_STEP_ENTRY, 0, HF_VERDICT_MISSING);
	assert_step(&t.step[1], HF_STEP_OWNER, ids[0], HF_VERDICT_CAP);
	assert_int_equal(t.step[1].sessions, 25);
	assert_step(&t.step[2], HF_STEP_RIVAL, ids[1], HF_VERDICT_STATE);
	assert_int_equal(t.step[2].state, HF_STATE_DOWN);
	assert_step(&t.step[3], HF_STEP_RIVAL, ids[2], HF_VERDICT_TRIED);
	assert_step(&t.step[4], HF_STEP_RIVAL, ids[3], HF_VERDICT_BOUND);
	assert_step(&t.step[5], HF_STEP_RIVAL, ids[4], HF_VERDICT_CAP);
	assert_step(&t.step[6], HF_STEP_RIVAL, ids[5], HF_VERDICT_TAKEN);
	assert_int_equal(t.passed, 4);
	farm_free(f);
}

/* A pool of hundreds of full servers: the steps stay bounded, all that were passed over are counted, and the last step is the answer.
 * Without the bound in trace_rival the memory behind the steps is written. */
static void many_are_counted(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 300, 0, 4000, T0);
	struct hf_question q = {.key = {.fp = farm_fp(9)}};
	uint16_t ids[300];
	struct hf_trace t;
	struct hf_answer a;

	(void)state;
	order(f, slot_of(f->e, q.key.fp), ids);
	for (unsigned i = 0; i < 299; i++)
		hf_engine_mark(f->e, ids[i], HF_MARK_DRAIN, true, T0);
	t = explain(f, &q, &a, T0);
	assert_int_equal(a.server, ids[299]);
	assert_int_equal(t.passed, 298);
	assert_int_equal(t.n, 2 + HF_TRACE_RIVALS);
	for (unsigned i = 1; i < HF_TRACE_RIVALS; i++)
		assert_step(&t.step[1 + i], HF_STEP_RIVAL, ids[i], HF_VERDICT_STATE);
	assert_step(&t.step[t.n - 1], HF_STEP_RIVAL, ids[299], HF_VERDICT_TAKEN);
	hf_engine_mark(f->e, ids[299], HF_MARK_DRAIN, true, T0);
	t = explain(f, &q, &a, T0);
	assert_int_equal(a.server, HF_NO_SERVER);
	assert_int_equal(t.passed, 299);
	farm_free(f);
}

/* The entry, where it ends and what it is; one at a server that is off is passed over. Without choose_traced's trace_entry there is no step. */
static void an_entry_is_told(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0);
	struct hf_question q = {.key = {.fp = farm_fp(1)}};
	struct hf_trace t;
	struct hf_answer a;

	(void)state;
	assert_int_equal(farm_learn(f, q.key.fp, f->id[2], HF_LIFE_START, 100, HF_COUNTED | HF_BOND, T0), HF_OK);
	t = explain(f, &q, &a, T0 + 20 * S);
	assert_int_equal(t.n, 1);
	assert_step(&t.step[0], HF_STEP_ENTRY, f->id[2], HF_VERDICT_TAKEN);
	assert_int_equal(t.step[0].expires_s, 80);
	assert_int_equal(t.step[0].flags, HF_COUNTED | HF_BOND);
	hf_engine_mark(f->e, f->id[2], HF_MARK_OFF, true, T0);
	t = explain(f, &q, &a, T0);
	assert_step(&t.step[0], HF_STEP_ENTRY, f->id[2], HF_VERDICT_OFF);
	assert_step(&t.step[1], HF_STEP_OWNER, hf_engine_owner(f->e, t.slot), t.n == 2 ? HF_VERDICT_TAKEN : HF_VERDICT_STATE);
	t = explain(f, &q, &a, T0 + 200 * S); /* over: as if it were not there */
	assert_step(&t.step[0], HF_STEP_ENTRY, 0, HF_VERDICT_MISSING);
	assert_int_equal(farm_counts(f).entries, 1);
	farm_free(f);
}

/* Explaining the fallback takes nobody's turn: a pool that is asked to explain all the time answers as its twin that never is.
 * Without `!p->trace` in by_turns (next_turn for least-sessions) it does not. */
static void no_turn_is_taken(void **state)
{
	static const enum hf_fallback each[] = {HF_FALLBACK_LEAST, HF_FALLBACK_ROUND_ROBIN, HF_FALLBACK_SOURCE};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0), *twin = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0);
		struct hf_question q = {.spread = 77};
		struct hf_answer a, b;
		struct hf_trace t;

		f->m[1].weight = twin->m[1].weight = 40; /* equals would gain alike */
		assert_true(farm_apply(f, T0) == HF_OK && farm_apply(twin, T0) == HF_OK);
		farm_tune(f, 1500, each[i]);
		farm_tune(twin, 1500, each[i]);
		for (unsigned n = 0; n < 9; n++) {
			q.spread = n;
			for (unsigned again = 0; again <= n % 3; again++)
				t = explain(f, &q, &a, T0);
			assert_step(&t.step[t.n - 1], HF_STEP_FALLBACK, a.server, HF_VERDICT_TAKEN);
			hf_engine_choose(f->e, &q, &b, T0);
			assert_int_equal(a.server, b.server);
			assert_int_equal(b.why, HF_WHY_FALLBACK);
			hf_engine_choose(twin->e, &q, &b, T0);
			assert_int_equal(a.server, b.server);
		}
		farm_free(f);
		farm_free(twin);
	}
}

/* A server of weight 0, listed so or while it still owns its slots, is passed over and costs the most. Where its cost is a division by its weight, the
 * process ends here. */
static void weightless(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 4, 1000, 1000, T0);
	struct hf_answer a;

	(void)state;
	f->m[1].weight = 0;
	assert_int_equal(farm_apply(f, T0), HF_OK); /* and no tick yet */
	for (unsigned i = 0; i < 400; i++) {
		struct hf_question q = {.key = {.fp = farm_fp(i)}};
		struct hf_trace t = explain(f, &q, &a, T0);

		assert_int_not_equal(a.server, f->id[1]);
		for (unsigned k = 0; k < t.n; k++)
			if (t.step[k].server == f->id[1])
				assert_true(t.step[k].verdict == HF_VERDICT_STATE && t.step[k].cost == UINT64_MAX);
	}
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_choose), cmocka_unit_test(same_when_full), cmocka_unit_test(each_is_passed_over_for_its_reason), cmocka_unit_test(many_are_counted),
		cmocka_unit_test(an_entry_is_told), cmocka_unit_test(no_turn_is_taken), cmocka_unit_test(weightless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
