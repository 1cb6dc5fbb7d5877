/* Bonds: what places a session before its slot does, and when a bond gives way. The calls are literal and so are the times (milliseconds). */
#include "farm.h"

enum { T0 = 1000000 };

static uint16_t other(const struct farm *f, uint16_t id) { return id == f->id[0] ? f->id[1] : f->id[0]; }
static struct hf_answer asked(struct farm *f, const struct hf_question *q)
{
	struct hf_answer a;

	hf_engine_choose(f->e, q, &a, T0);
	return a;
}

/* The first of two placing keys that has a bond places, and without one the first one's slot; without bond_of's second look-up b is not found.
 * A bond is not followed to a server that is down, but to one that drains. */
static void placed_by_bonds(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 10, 0, 100, T0);
	struct hf_question q = {.key = {.fp = farm_fp(1)}, .place = farm_fp(2), .place_else = farm_fp(3)};
	uint16_t owner = hf_engine_owner(f->e, slot_of(f->e, q.place)), b = other(f, owner);

	(void)state;
	assert_int_equal(asked(f, &q).server, owner);
	assert_int_equal(farm_learn(f, q.place_else, b, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	assert_int_equal(asked(f, &q).server, b);
	assert_int_equal(asked(f, &q).why, HF_WHY_BOND);
	hf_engine_mark(f->e, b, HF_MARK_DRAIN, true, T0);
	assert_int_equal(asked(f, &q).server, b);
	hf_engine_mark(f->e, b, HF_MARK_DOWN, true, T0);
	assert_int_equal(asked(f, &q).server, owner);
	assert_int_equal(asked(f, &q).why, HF_WHY_HOME);
	hf_engine_mark(f->e, b, HF_MARK_DOWN, false, T0);
	assert_int_equal(farm_learn(f, q.place, owner, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	assert_int_equal(asked(f, &q).server, owner);
	assert_int_equal(asked(f, &q).why, HF_WHY_BOND);
	farm_check(f);
	farm_free(f);
}

/* Without a placing key the second one's bond comes before the key's own slot; fails when a place of 0 ends the look-up, or is looked up itself. */
static void placed_by_the_second(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 10, 0, 100, T0);
	struct hf_question q = {.key = {.fp = farm_fp(1)}, .place_else = farm_fp(3)};
	uint16_t owner = hf_engine_owner(f->e, slot_of(f->e, q.key.fp)), b = other(f, owner);

	(void)state;
	assert_int_equal(asked(f, &q).server, owner);
	assert_int_equal(farm_learn(f, q.place_else, b, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	assert_int_equal(asked(f, &q).server, b);
	assert_int_equal(asked(f, &q).why, HF_WHY_BOND);
	assert_int_equal(farm_learn(f, q.key.fp, owner, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	assert_int_equal(asked(f, &q).server, owner);
	farm_check(f);
	farm_free(f);
}

/* What is renewed leaves a server that drains or is down, by bond, and by its own entry where nothing else places it; it stays where nobody else is, and
 * so does all else: what has begun by a bond that leaves (a request that is sent again) ends where it began. Without `!q->place` in evidence_stays that is
 * split; without evidence_leaves the server that drains answers. */
static void renewals_leave(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	struct hf_question q = {.key = {.fp = farm_fp(1)}, .place = farm_fp(2), .life = HF_LIFE_START, .life_s = 32};
	uint16_t at;

	(void)state;
	hf_engine_rule(f->e, &(struct hf_rules){.drain_moves = true});
	at = asked(f, &q).server;
	assert_int_equal(farm_learn(f, q.place, at, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	hf_engine_mark(f->e, at, HF_MARK_DRAIN, true, T0);
	assert_int_equal(asked(f, &q).server, at);
	q.renews = true;
	assert_int_equal(asked(f, &q).server, at);
	q.place = 0;
	assert_int_not_equal(asked(f, &q).server, at);
	q.renews = false; /* and the entry names the new one from then on */
	assert_int_not_equal(asked(f, &q).server, at);
	q = (struct hf_question){.key = {.fp = farm_fp(4)}, .place = farm_fp(2), .renews = true};
	assert_int_not_equal(asked(f, &q).server, at);
	for (unsigned i = 0; i < f->n; i++)
		hf_engine_mark(f->e, f->id[i], HF_MARK_DRAIN, true, T0);
	assert_int_equal(asked(f, &q).server, at);
	assert_int_equal(asked(f, &q).why, HF_WHY_BOND);
	farm_check(f);
	farm_free(f);
}

/* on_down_ms: what is bound stays for so long after its server went down, by entry, bond, hint and reference; then it is placed anew, and is
 * told so. The answer says for how long it holds. Without binding_ms it moves at once, or never. */
static void held_while_down(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0);
	struct hf_question of_entry = {.key = {.fp = farm_fp(1)}, .renews = true, .flags = HF_BOND, .life = HF_LIFE_START, .life_s = 900};
	struct hf_question of_bond = {.key = {.fp = farm_fp(3)}, .place = farm_fp(1), .renews = true}, of_hint = {.key = {.fp = farm_fp(4)}, .renews = true},
			   of_ref = {.key = {.fp = farm_fp(5)}, .refs = {farm_fp(6)}, .renews = true};
	struct hf_question *all[] = {&of_hint, &of_ref, &of_bond, &of_entry};
	uint16_t at = other(f, hf_engine_owner(f->e, slot_of(f->e, farm_fp(1))));
	struct hf_answer a;

	(void)state;
	hf_engine_rule(f->e, &(struct hf_rules){.on_down_ms = 60000});
	assert_int_equal(farm_learn(f, farm_fp(1), at, HF_LIFE_START, 900, HF_BOND, T0), HF_OK);
	assert_int_equal(farm_learn(f, farm_fp(6), at, HF_LIFE_START, 900, HF_BOND, T0), HF_OK);
	of_hint.hint = at;
	of_hint.hint_why = HF_WHY_TOKEN;
	for (unsigned i = 0; i < 4; i++) {
		hf_engine_choose(f->e, all[i], &a, T0);
		assert_true(a.server == at && a.hold_ms == 60000 && !a.left);
	}
	hf_engine_mark(f->e, at, HF_MARK_DOWN, true, T0 + 1000);
	for (unsigned i = 0; i < 4; i++) {
		hf_engine_choose(f->e, all[i], &a, T0 + 60999);
		assert_true(a.server == at && a.hold_ms == 1 && !a.left);
	}
	for (unsigned i = 0; i < 4; i++) {
		hf_engine_choose(f->e, all[i], &a, T0 + 61000);
		assert_true(a.server && a.server != at && a.hold_ms == 0 && a.left == (i != 2));
	}
	of_entry.renews = false; /* a session that goes on would have stayed; this one has moved for good */
	hf_engine_choose(f->e, &of_entry, &a, T0 + 61000);
	assert_true(a.server != at && a.why == HF_WHY_BOND && a.hold_ms == 0);
	farm_check(f);
	farm_free(f);
}

/* knocks: what would leave a server that is down names it once more, by entry, bond, hint and reference, where nobody could connect to it; not when it
 * is ill or its agent says down, not once it was tried, and not for who does not connect. Fails without evidence_knocks in evidence_gone or
 * without a condition of `knock` in members.c put. */
static void tried_once_more(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0);
	struct hf_question of_entry = {.key = {.fp = farm_fp(1)}, .renews = true, .knocks = true, .flags = HF_BOND, .life = HF_LIFE_OPEN, .life_s = 900};
	struct hf_question of_bond = {.key = {.fp = farm_fp(3)}, .place_else = farm_fp(1), .renews = true, .knocks = true};
	struct hf_question of_hint = {.key = {.fp = farm_fp(4)}, .renews = true, .knocks = true}, of_ref = {.key = {.fp = farm_fp(5)}, .refs = {farm_fp(6)}, .renews = true, .knocks = true};
	struct hf_question *all[] = {&of_hint, &of_ref, &of_bond, &of_entry};
	uint16_t at = other(f, hf_engine_owner(f->e, slot_of(f->e, farm_fp(1))));
	struct hf_answer a;

	(void)state;
	assert_int_equal(farm_learn(f, farm_fp(1), at, HF_LIFE_START, 900, HF_BOND | HF_COUNTED, T0), HF_OK);
	assert_int_equal(farm_learn(f, farm_fp(6), at, HF_LIFE_START, 900, HF_BOND, T0), HF_OK);
	of_hint.hint = at;
	of_hint.hint_why = HF_WHY_TOKEN;
	hf_engine_choose(f->e, &of_entry, &a, T0);
	assert_true(a.server == at && !a.knock);
	hf_engine_unreached(f->e, at, true, T0);
	hf_engine_mark(f->e, at, HF_MARK_DOWN, true, T0);
	for (unsigned i = 0; i < 4; i++) {
		hf_engine_choose(f->e, all[i], &a, T0 + 1000);
		assert_true(a.server == at && a.knock && a.hold_ms == 0 && !a.left);
	}
	of_hint.knocks = false;
	hf_engine_choose(f->e, &of_hint, &a, T0 + 1000);
	assert_true(a.server != at && !a.knock);
	of_hint.knocks = true;
	hf_engine_mark(f->e, at, HF_MARK_AGENT_DOWN, true, T0 + 2000);
	hf_engine_choose(f->e, &of_hint, &a, T0 + 2000);
	assert_true(a.server != at && !a.knock);
	hf_engine_mark(f->e, at, HF_MARK_AGENT_DOWN, false, T0 + 2000);
	hf_engine_unreached(f->e, at, false, T0 + 2000);
	hf_engine_choose(f->e, &of_hint, &a, T0 + 2000);
	assert_true(a.server != at && !a.knock);
	hf_engine_unreached(f->e, at, true, T0 + 2000);
	of_entry.avoid = &at; /* it was, in vain */
	of_entry.n_avoid = 1;
	of_entry.move = true;
	of_entry.life = HF_LIFE_START;
	hf_engine_choose(f->e, &of_entry, &a, T0 + 2000);
	assert_true(a.server && a.server != at && a.left && !a.knock);
	farm_check(f);
	farm_free(f);
}

/* r48: a host that drains keeps who is bound to it, and when it goes down as well `on-down` says for how long, as of any other: each rule for itself, whichever
 * came first. Fails when a drain is taken for the end of the wait, or ends it. */
static void drained_and_down(bool drained_first)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0);
	struct hf_question q[10];
	struct hf_answer a;
	uint16_t at = 2;

	for (unsigned i = 0; i < 10; i++) {
		q[i] = (struct hf_question){.key = {.fp = farm_fp(i + 1)}, .renews = true, .flags = HF_BOND | HF_COUNTED, .life = HF_LIFE_START, .life_s = 900};
		assert_int_equal(farm_learn(f, q[i].key.fp, at, HF_LIFE_START, 900, HF_BOND | HF_COUNTED, T0), HF_OK);
	}
	hf_engine_rule(f->e, &(struct hf_rules){.on_down_ms = 60000});
	hf_engine_mark(f->e, at, HF_MARK_DRAIN, drained_first, T0);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(asked(f, &q[i]).server, at);
	hf_engine_mark(f->e, at, HF_MARK_DOWN, true, T0 + 1000);
	hf_engine_mark(f->e, at, HF_MARK_DRAIN, true, T0 + 30000);
	for (unsigned i = 0; i < 10; i++) {
		hf_engine_choose(f->e, &q[i], &a, T0 + 60999);
		assert_true(a.server == at && a.hold_ms == 1 && !a.left);
	}
	for (unsigned i = 0; i < 9; i++) {
		hf_engine_choose(f->e, &q[i], &a, T0 + 61000);
		assert_true(a.server && a.server != at && a.left && a.known);
	}
	hf_engine_rule(f->e, &(struct hf_rules){.on_down_ms = 60000, .drain_moves = true}); /* the other rule: nobody is connected, so there is nothing to wait for */
	hf_engine_mark(f->e, at, HF_MARK_DOWN, false, T0 + 62000);
	hf_engine_choose(f->e, &q[9], &a, T0 + 62000);
	assert_true(a.server && a.server != at && a.left);
	farm_check(f);
	farm_free(f);
}

static void r48_drained_then_down(void **state)
{
	(void)state;
	drained_and_down(true);
	drained_and_down(false);
}

/* drain_moves: a bond without a live flow leaves a server that drains, one with a live flow does not; without the rule neither does. */
static void moved_by_a_drain(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0);
	struct hf_question q = {.key = {.fp = farm_fp(1)}, .renews = true, .flags = HF_BOND | HF_COUNTED, .life = HF_LIFE_OPEN, .life_s = 900}, look = q;
	struct hf_answer a;
	uint16_t at;

	(void)state;
	at = asked(f, &q).server;
	look.life = HF_LIFE_NONE;
	hf_engine_mark(f->e, at, HF_MARK_DRAIN, true, T0);
	hf_engine_rule(f->e, &(struct hf_rules){.drain_moves = true});
	assert_true(asked(f, &look).server == at && asked(f, &q).server == at); /* its first flow lives */
	assert_int_equal(farm_learn(f, q.key.fp, 0, HF_LIFE_CLOSE, 900, 0, T0), HF_OK);
	assert_int_equal(asked(f, &look).server, at);
	assert_int_equal(farm_learn(f, q.key.fp, 0, HF_LIFE_CLOSE, 900, 0, T0), HF_OK);
	hf_engine_rule(f->e, &(struct hf_rules){0});
	assert_int_equal(asked(f, &look).server, at);
	hf_engine_rule(f->e, &(struct hf_rules){.drain_moves = true});
	a = asked(f, &q);
	assert_true(a.server && a.server != at && a.left && a.known);
	q.renews = false;
	assert_int_equal(asked(f, &q).server, a.server);
	farm_check(f);
	farm_free(f);
}

/* hf_engine_rests: what is bound goes on trying a server that only seems ill, until it drains for another reason too, or rests no more; new ones do not.
 * Fails without `rests` in evidence_leaves, or when members.c put forgets the other reasons. */
static void tries_who_rests(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	struct hf_question q = {.key = {.fp = farm_fp(1)}, .renews = true}, new = {.key = {.fp = farm_fp(2)}};
	uint16_t at = hf_engine_owner(f->e, slot_of(f->e, farm_fp(1)));
	struct hf_answer a;

	(void)state;
	hf_engine_rule(f->e, &(struct hf_rules){.drain_moves = true});
	while (hf_engine_owner(f->e, slot_of(f->e, new.key.fp)) != at)
		new.key.fp += (uint64_t)1 << 40;
	assert_int_equal(farm_learn(f, farm_fp(1), at, HF_LIFE_START, 900, HF_BOND, T0), HF_OK);
	hf_engine_mark(f->e, at, HF_MARK_BUSY, true, T0);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.server != at && a.left);
	hf_engine_rests(f->e, at, true, T0);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_true(a.server == at && !a.left);
	hf_engine_choose(f->e, &new, &a, T0);
	assert_int_not_equal(a.server, at);
	hf_engine_mark(f->e, at, HF_MARK_DRAIN, true, T0);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_not_equal(a.server, at);
	hf_engine_mark(f->e, at, HF_MARK_DRAIN, false, T0);
	hf_engine_rests(f->e, at, false, T0);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_not_equal(a.server, at);
	farm_free(f);
}

/* A key that nothing places goes by the fallback, and is remembered all the same; without `unplaced` its own slot would place it. */
static void unplaced_keys(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 4, 0, 100, T0);
	unsigned got[8] = {0};

	(void)state;
	for (uint64_t k = 0; k < 40; k++) {
		struct hf_question q = {.key = {.fp = farm_fp(k)}, .unplaced = true, .life = HF_LIFE_START, .life_s = 60, .flags = HF_COUNTED};
		struct hf_answer a = asked(f, &q);

		assert_int_equal(a.why, HF_WHY_FALLBACK);
		assert_int_equal(asked(f, &q).server, a.server);
		assert_int_equal(asked(f, &q).why, HF_WHY_ENTRY);
		got[a.server]++;
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(got[f->id[i]], 10); /* least-sessions deals evenly */
	assert_int_equal(farm_counts(f).counted, 40);
	farm_check(f);
	farm_free(f);
}

/* The last of the placing keys leads where the others have no bond, and who was led is told by which; a key with an entry is not led, but placed
 * when it leaves a server that drains. Fails without `follow` in choose_known, or without led_by. */
static void led_by_the_last(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 10, 0, 100, T0);
	struct hf_question q = {.key = {.fp = farm_fp(1)}, .place_else = farm_fp(2), .place_last = farm_fp(3), .renews = true}, alone = q;
	uint16_t owner = hf_engine_owner(f->e, slot_of(f->e, q.key.fp)), b = other(f, owner), next;
	struct hf_answer a = asked(f, &q);

	(void)state;
	assert_true(a.server == owner && !a.led_by);
	assert_int_equal(farm_learn(f, q.place_last, b, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	a = asked(f, &q);
	assert_true(a.server == b && a.why == HF_WHY_BOND && a.led_by == q.place_last);
	assert_int_equal(farm_learn(f, q.place_else, owner, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	a = asked(f, &q);
	assert_true(a.server == owner && a.led_by == q.place_else);
	assert_int_equal(farm_learn(f, q.key.fp, owner, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	assert_int_equal(farm_learn(f, q.place_else, 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	a = asked(f, &q);
	assert_true(a.server == owner && a.known && !a.led_by);
	hf_engine_rule(f->e, &(struct hf_rules){.drain_moves = true});
	hf_engine_mark(f->e, owner, HF_MARK_DRAIN, true, T0);
	alone.place_else = alone.place_last = 0;
	next = asked(f, &alone).server;
	for (b = 1; b == owner || b == next;)
		b++;
	assert_int_equal(farm_learn(f, q.place_last, 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	assert_int_equal(farm_learn(f, q.place_last, b, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	a = asked(f, &q);
	assert_true(next && next != owner && a.server == next && a.left && !a.led_by);
	farm_check(f);
	farm_free(f);
}

/* max_flows: an entry with so many live flows answers nobody new, and nothing is made of the question; who is counted already, who is named
 * otherwise, and a table that counts no flows do not mind. Without crowded() the fourth is taken in. */
static void crowded(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0), *autos = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	struct hf_question q = {.key = {.fp = farm_fp(1)}, .life = HF_LIFE_OPEN, .life_s = 60, .flags = HF_COUNTED | HF_BOND, .max_flows = 3, .renews = true};
	struct hf_answer a = asked(f, &q);
	uint16_t at = a.server;
	struct hf_trace t;

	(void)state;
	for (unsigned i = 1; i < 3; i++)
		assert_true(!asked(f, &q).crowded);
	for (unsigned i = 0; i < 2; i++) {
		a = asked(f, &q);
		assert_true(a.crowded && a.known && !a.server);
		hf_engine_explain(f->e, &q, &a, &t, T0);
		assert_true(a.crowded && t.step[0].verdict == HF_VERDICT_FLOWS);
		q.life = HF_LIFE_NONE;
	}
	q.hint = other(f, at);
	a = asked(f, &q);
	assert_true(!a.crowded && a.server == q.hint);
	q.hint = 0;
	q.life = HF_LIFE_START;
	assert_int_equal(asked(f, &q).server, at);
	q.life = HF_LIFE_OPEN;
	assert_int_equal(farm_learn(f, q.key.fp, 0, HF_LIFE_CLOSE, 60, 0, T0), HF_OK); /* three were live, not four: one place is free */
	assert_int_equal(asked(f, &q).server, at);
	assert_true(asked(f, &q).crowded);
	for (unsigned i = 0; i < 5; i++)
		assert_true(asked(autos, &q).server);
	farm_check(f);
	farm_free(f);
	farm_free(autos);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(placed_by_bonds), cmocka_unit_test(placed_by_the_second), cmocka_unit_test(renewals_leave), cmocka_unit_test(held_while_down), cmocka_unit_test(tried_once_more), cmocka_unit_test(r48_drained_then_down), cmocka_unit_test(moved_by_a_drain), cmocka_unit_test(tries_who_rests),
					   cmocka_unit_test(unplaced_keys), cmocka_unit_test(led_by_the_last), cmocka_unit_test(crowded)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
