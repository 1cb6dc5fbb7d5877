/* What is kept of a pool's members: run-time overrides and health over the next engine, until the server's own line changes; where a removed
 * server was; a record that its writer died over; and records that were kept elsewhere. */
#include "farm.h"

enum { T0 = 1000000 };

static void next_engine(struct farm *f, uint64_t now)
{
	hf_engine_free(f->e);
	f->e = hf_engine_new(&f->conf, f->mem, now);
	assert_non_null(f->e);
}

/* Weight, drain, off, down, busy and what agents said are there after a restart, before any apply and after one of the same list, with the times they began
 * at. Without members_wake, or with marks cleared by apply, it fails. */
static void overrides(void **state)
{
	static const enum hf_mark marks[] = {HF_MARK_DOWN, HF_MARK_DRAIN, HF_MARK_BUSY, HF_MARK_OFF, HF_MARK_AGENT_DOWN, HF_MARK_AGENT_DRAIN, HF_MARK_AGENT_OFF};
	static const enum hf_state states[] = {HF_STATE_DOWN, HF_STATE_DRAIN, HF_STATE_DRAIN, HF_STATE_OFF, HF_STATE_DOWN, HF_STATE_DRAIN, HF_STATE_OFF};
	const unsigned n = sizeof marks / sizeof marks[0];
	struct farm *f = farm_new(HF_MODE_AUTO, n + 2, 1250, 100, T0), *g;

	(void)state;
	for (unsigned i = 0; i < n; i++)
		hf_engine_mark(f->e, f->id[i], marks[i], true, T0 + i);
	hf_engine_weigh(f->e, f->id[n], 10, T0 + 9);
	for (int after = 0; after < 2; after++) {
		next_engine(f, T0 + 1000);
		if (after)
			assert_int_equal(farm_apply(f, T0 + 1000), HF_OK);
		for (unsigned i = 0; i < n; i++) {
			struct hf_server_view v = farm_server(f, f->id[i]);

			assert_true(v.state == states[i] && v.marks == 1 << marks[i] && v.since_ms == T0 + i && !v.removed);
		}
		assert_true(farm_server(f, f->id[n]).weight == 10 && farm_server(f, f->id[n]).file_weight == 100);
		assert_true(farm_server(f, f->id[n + 1]).state == HF_STATE_UP && farm_server(f, f->id[n + 1]).since_ms == T0);
	}
	farm_check(f);
	g = farm_new(HF_MODE_AUTO, n + 2, 1250, 100, T0); /* the fill is what the overrides make it */
	for (unsigned i = 0; i < n; i++)
		hf_engine_mark(g->e, g->id[i], marks[i], true, T0);
	hf_engine_weigh(g->e, g->id[n], 10, T0);
	farm_settle(g, T0);
	assert_int_equal(hf_engine_digest(f->e), hf_engine_digest(g->e));
	farm_free(f);
	farm_free(g);
}

/* They end with a change of the server's own line, in weight, bound or place, also over a restart; a rename, another server's line, or a
 * former name that the line does not tell any more end nothing. Health is no override. Without other_line it fails. */
static void own_line(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 4, 0, 100, T0);
	struct hf_server_view v;

	(void)state;
	for (unsigned what = 0; what < 3; what++) {
		hf_engine_mark(f->e, f->id[0], HF_MARK_DRAIN, true, T0);
		hf_engine_mark(f->e, f->id[0], HF_MARK_DOWN, true, T0);
		hf_engine_weigh(f->e, f->id[0], 7, T0);
		f->m[1].weight++; /* another's */
		next_engine(f, T0);
		assert_int_equal(farm_apply(f, T0), HF_OK);
		assert_true(farm_server(f, f->id[0]).marks == (1 << HF_MARK_DRAIN | 1 << HF_MARK_DOWN) && farm_server(f, f->id[0]).weight == 7);
		f->m[0].weight += what == 0;
		f->m[0].max += what == 1;
		f->m[0].at += what == 2;
		next_engine(f, T0);
		assert_int_equal(farm_apply(f, T0), HF_OK);
		v = farm_server(f, f->id[0]);
		assert_true(v.marks == 1 << HF_MARK_DOWN && v.weight == v.file_weight && v.state == HF_STATE_DOWN);
	}
	hf_engine_mark(f->e, f->id[3], HF_MARK_OFF, true, T0);
	strcpy(f->m[3].was, "s4");
	strcpy(f->m[3].name, "new");
	assert_int_equal(farm_apply(f, T0), HF_OK);
	f->m[3].was[0] = 0;
	next_engine(f, T0);
	assert_int_equal(farm_apply(f, T0), HF_OK);
	v = farm_server(f, f->id[3]);
	assert_true(v.state == HF_STATE_OFF && f->id[3] == 4);
	assert_string_equal(v.was, "s4"); /* its old cookies may come yet */
	farm_check(f);
	farm_free(f);
}

/* A removed server is still removed after a restart, and where it was is known; one that returns is as its line says. */
static void removed(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	struct hf_server_view v;

	(void)state;
	f->m[2].at = 77;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_int_equal(farm_learn(f, 5, 3, HF_LIFE_START, 60, HF_COUNTED, T0), HF_OK);
	hf_engine_mark(f->e, 3, HF_MARK_OFF, true, T0);
	hf_engine_mark(f->e, 3, HF_MARK_OFF, false, T0);
	f->n = 2;
	assert_int_equal(farm_apply(f, T0 + 5), HF_OK);
	hf_engine_weigh(f->e, 3, 9, T0 + 6);
	next_engine(f, T0 + 50);
	assert_int_equal(farm_apply(f, T0 + 50), HF_OK);
	v = farm_server(f, 3);
	assert_true(v.removed && v.state == HF_STATE_DRAIN && v.since_ms == T0 + 5 && v.at[0] == 77 && v.sessions == 1);
	assert_int_equal(farm_ask(f, 5, HF_LIFE_TOUCH, 60, HF_COUNTED, T0 + 50).server, 3);
	f->n = 3;
	next_engine(f, T0 + 60);
	assert_int_equal(farm_apply(f, T0 + 60), HF_OK);
	v = farm_server(f, 3);
	assert_true(!v.removed && v.state == HF_STATE_UP && v.weight == 100 && f->id[2] == 3);
	farm_check(f);
	farm_free(f);
}

/* A plan says the ids and changes nothing; what does not fit is refused before anything is changed. */
static void planned(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	struct hf_member_conf m[2] = {{.name = HF_LIT("s3"), .weight = 5}, {.name = HF_LIT("x"), .weight = 6}};
	uint64_t digest = hf_engine_digest(f->e);
	uint16_t ids[2];

	(void)state;
	assert_int_equal(hf_engine_plan(f->e, m, 2, ids), HF_OK);
	assert_true(ids[0] == 3 && ids[1] == 4 && hf_engine_last_id(f->e) == 3 && !hf_engine_tick(f->e, T0));
	assert_true(hf_engine_digest(f->e) == digest && farm_server(f, 3).weight == 100);
	hf_engine_enact(f->e, m, 2, ids, T0);
	assert_true(farm_server(f, 3).weight == 5 && farm_server(f, 4).weight == 6 && farm_server(f, 1).removed);
	farm_check(f);
	farm_free(f);
}

/* A process that dies while it writes a record leaves the new one: whatever half of it stands there. Without the redo area the name is torn. */
static void died_over_a_record(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	struct hf_member_record r;

	(void)state;
	assert_int_equal(farm_learn(f, 5, 2, HF_LIFE_START, 60, HF_COUNTED, T0), HF_OK);
	assert_true(hf_engine_record(f->e, 2, &r));
	memset(r.name, 0, sizeof r.name);
	strcpy(r.name, "renamed");
	r.run_weight = 30;
	f->e->head->redo = r;
	f->e->head->redo_id = 2;
	memcpy(f->e->kept[2].name, "re", 3);
	next_engine(f, T0);
	assert_string_equal(farm_server(f, 2).name, "renamed");
	assert_int_equal(farm_server(f, 2).weight, 30);
	assert_int_equal(farm_ask(f, 5, HF_LIFE_NONE, 0, 0, T0).server, 2);
	assert_int_equal(f->e->head->redo_id, 0);
	f->e->head->redo_id = HF_SERVERS_MAX + 1; /* nothing that an engine left */
	memset(f->e->kept[2].name, 'x', sizeof r.name);
	f->e->kept[3].file_weight = 257;
	next_engine(f, T0);
	assert_int_equal(farm_counts(f).entries, 0);
	assert_true(farm_server(f, 1).weight == 100 && hf_engine_find(f->e, HF_LIT("s3")) == 0);
	farm_check(f);
	farm_free(f);
}

/* Records that were kept elsewhere make the same members in a fresh engine. */
static void restored(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0), *g = farm_empty(HF_MODE_AUTO, 0, 100, T0);
	struct hf_member_record r;

	(void)state;
	hf_engine_mark(f->e, 1, HF_MARK_DRAIN, true, T0 + 3);
	hf_engine_weigh(f->e, 2, 20, T0 + 4);
	f->n = 2;
	assert_int_equal(farm_apply(f, T0 + 5), HF_OK);
	for (uint16_t id = 3; id; id--) {
		assert_true(hf_engine_record(f->e, id, &r));
		assert_int_equal(hf_engine_restore(g->e, id, &r, T0 + 9), HF_OK);
		assert_int_equal(hf_engine_restore(g->e, id, &r, T0 + 9), HF_EEXIST);
	}
	assert_int_equal(hf_engine_restore(g->e, 0, &r, T0), HF_EINVAL);
	assert_int_equal(hf_engine_restore(g->e, HF_SERVERS_MAX + 1, &r, T0), HF_EINVAL);
	r.name[0] = 0;
	assert_int_equal(hf_engine_restore(g->e, 9, &r, T0), HF_EINVAL);
	assert_false(hf_engine_record(g->e, 4, &r));
	assert_int_equal(farm_learn(g, 5, 3, HF_LIFE_START, 60, HF_COUNTED, T0), HF_OK);
	g->n = 2;
	memcpy(g->m, f->m, sizeof g->m);
	assert_int_equal(farm_apply(g, T0 + 9), HF_OK);
	for (uint16_t id = 1; id <= 3; id++) {
		struct hf_server_view a = farm_server(f, id), b = farm_server(g, id);

		assert_true(a.state == b.state && a.marks == b.marks && a.weight == b.weight && a.removed == b.removed && a.since_ms == b.since_ms);
	}
	farm_settle(f, T0);
	assert_int_equal(hf_engine_digest(f->e), hf_engine_digest(g->e));
	farm_check(g);
	farm_free(f);
	farm_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overrides), cmocka_unit_test(own_line), cmocka_unit_test(removed), cmocka_unit_test(planned),
		cmocka_unit_test(died_over_a_record), cmocka_unit_test(restored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
