/* Bonds of one user under several keys: they leave a server together, and a second name leads where its bond is. The calls are literal and so are
 * the times (milliseconds). */
#include "farm.h"

enum { T0 = 1000000, ALICE = 1, USERS, SOURCE, SHORT, WEAK, BOB };
#define LINGER_S 86400

struct yard {
	struct farm *f;
	uint16_t at; /* where alice's bond was made */
};

/* As the RDP front asks for a user, and for a client of her source that has no name. */
static struct hf_question named(unsigned key, unsigned lead)
{
	return (struct hf_question){.key = {.fp = farm_fp(key)}, .place_else = lead ? farm_fp(lead) : 0, .renews = true, .life = HF_LIFE_OPEN, .life_s = LINGER_S,
				    .flags = HF_BOND | HF_COUNTED};
}
static struct hf_question nameless(void)
{
	struct hf_question q = named(SOURCE, 0);

	q.place_last = farm_fp(USERS);
	return q;
}
static uint16_t ask(struct farm *f, struct hf_question q, uint64_t now)
{
	struct hf_answer a;

	hf_engine_choose(f->e, &q, &a, now);
	return a.server;
}
static void end_flow(struct farm *f, unsigned key, uint64_t now)
{
	assert_int_equal(farm_learn(f, farm_fp(key), 0, HF_LIFE_CLOSE, LINGER_S, HF_BOND, now), HF_OK);
}
/* A flow, from its beginning to its end. */
static uint16_t visit(struct farm *f, struct hf_question q, uint64_t now)
{
	uint16_t at = ask(f, q, now);

	if (at)
		assert_int_equal(hf_engine_learn(f->e, &(struct hf_lesson){.key = q.key, .life = HF_LIFE_CLOSE, .life_s = LINGER_S}, now), HF_OK);
	return at;
}
static void second_name(struct farm *f, unsigned key, unsigned of, uint16_t at, bool move, uint64_t now)
{
	const struct hf_lesson l = {.key = {.fp = farm_fp(key)}, .server = at, .life = HF_LIFE_START, .life_s = LINGER_S, .flags = HF_BOND, .why = HF_WHY_BOND, .move = move,
				    .alias_of = of ? farm_fp(of) : 0};

	assert_int_equal(hf_engine_learn(f->e, &l, now), HF_OK);
}
static uint16_t server_of(struct farm *f, unsigned key)
{
	struct hf_where w;

	hf_engine_where(f->e, farm_fp(key), &w, T0);
	return w.known ? w.server : 0;
}

/* Alice was there by her name; her source is a second name of her bond. Whoever of the two keys has to be placed by its own slot goes elsewhere. */
static struct yard begin(enum hf_balance balance)
{
	struct farm *f = farm_with((struct hf_engine_conf){.mode = HF_MODE_TABLE, .balance = balance, .load_factor_milli = 0, .max_entries = 1000}, T0);
	struct yard y = {farm_fill(f, 10, T0), 0};

	y.at = visit(f, named(ALICE, 0), T0);
	second_name(f, USERS, ALICE, y.at, false, T0);
	return y;
}

/* Her host is down: whichever comes first decides, for both. Without `bring` the second one goes to its own slot's server, as does the first that is not
 * followed without rename and alias_of. */
static void both_orders(void **state)
{
	(void)state;
	for (unsigned nameless_first = 0; nameless_first < 2; nameless_first++)
		for (unsigned b = HF_BALANCE_HASH; b <= HF_BALANCE_ROUND_ROBIN; b++) {
			struct yard y = begin((enum hf_balance)b);
			uint16_t one, two;

			hf_engine_mark(y.f->e, y.at, HF_MARK_DOWN, true, T0);
			one = ask(y.f, nameless_first ? nameless() : named(ALICE, 0), T0 + 1000);
			two = ask(y.f, nameless_first ? named(ALICE, 0) : nameless(), T0 + 1100);
			assert_true(one && one != y.at && one == two);
			assert_int_equal(server_of(y.f, USERS), one);
			hf_engine_mark(y.f->e, y.at, HF_MARK_DOWN, false, T0 + 2000);
			assert_int_equal(ask(y.f, nameless(), T0 + 2100), one);
			assert_int_equal(ask(y.f, named(ALICE, 0), T0 + 2100), one);
			farm_check(y.f);
			farm_free(y.f);
		}
}

/* A bond that was made as a second name said goes after it once nothing of it is live, though its own server is up again; what an operator moves is its
 * own from then on. Without kin_follows it stays at the old one, without the clearing in rename_after it comes back from ts of the operator's. */
static void goes_after(void **state)
{
	struct yard y = begin(HF_BALANCE_HASH);
	uint16_t to, third;

	(void)state;
	assert_int_equal(ask(y.f, nameless(), T0), y.at); /* live */
	hf_engine_mark(y.f->e, y.at, HF_MARK_DOWN, true, T0);
	to = visit(y.f, named(ALICE, 0), T0 + 1000);
	hf_engine_mark(y.f->e, y.at, HF_MARK_DOWN, false, T0 + 2000);
	assert_int_equal(ask(y.f, nameless(), T0 + 2000), y.at);
	end_flow(y.f, SOURCE, T0 + 3000);
	end_flow(y.f, SOURCE, T0 + 3000);
	assert_int_equal(visit(y.f, nameless(), T0 + 3000), to);
	for (third = 1; third == to || third == y.at;)
		third++;
	second_name(y.f, SOURCE, 0, third, true, T0 + 4000);
	assert_int_equal(visit(y.f, nameless(), T0 + 4000), third);
	second_name(y.f, ALICE, 0, y.at, true, T0 + 5000); /* and who is moved is followed by her second names */
	assert_int_equal(visit(y.f, named(ALICE, 0), T0 + 5000), y.at);
	second_name(y.f, SOURCE, 0, 0, false, T0 + 5000);
	assert_int_equal(farm_learn(y.f, farm_fp(SOURCE), 0, HF_LIFE_END, 0, 0, T0 + 5000), HF_OK);
	assert_int_equal(visit(y.f, nameless(), T0 + 5000), y.at);
	farm_check(y.f);
	farm_free(y.f);
}

/* Her host drains and lets bonds go, but she is live there: who comes by her second name is not sent elsewhere. Fails when settle does not ask for flows. */
static void live_while_it_drains(void **state)
{
	struct yard y = begin(HF_BALANCE_HASH);

	(void)state;
	hf_engine_rule(y.f->e, &(struct hf_rules){.drain_moves = true});
	assert_int_equal(ask(y.f, named(ALICE, 0), T0), y.at);
	hf_engine_mark(y.f->e, y.at, HF_MARK_DRAIN, true, T0);
	assert_int_equal(visit(y.f, nameless(), T0 + 1000), y.at);
	end_flow(y.f, ALICE, T0 + 2000);
	assert_int_not_equal(visit(y.f, nameless(), T0 + 3000), y.at);
	assert_int_equal(server_of(y.f, ALICE), server_of(y.f, SOURCE));
	farm_check(y.f);
	farm_free(y.f);
}

/* Two spellings with a bond each, and a second name of the one: in either order they leave together. Without HF_COUNTED in
 * follow_up the weak one goes alone. */
static void two_spellings(void **state)
{
	(void)state;
	for (unsigned weak_first = 0; weak_first < 2; weak_first++) {
		struct yard y = begin(HF_BALANCE_HASH);
		uint16_t one, two;

		assert_int_equal(visit(y.f, named(WEAK, ALICE), T0), y.at);
		second_name(y.f, SHORT, WEAK, y.at, false, T0);
		hf_engine_mark(y.f->e, y.at, HF_MARK_DOWN, true, T0);
		one = visit(y.f, weak_first ? named(WEAK, ALICE) : named(ALICE, SHORT), T0 + 1000);
		two = visit(y.f, weak_first ? named(ALICE, SHORT) : named(WEAK, ALICE), T0 + 2000);
		assert_true(one && one != y.at && one == two);
		assert_int_equal(visit(y.f, nameless(), T0 + 3000), one);
		farm_check(y.f);
		farm_free(y.f);
	}
}

/* Whose entry holds asks nobody: what is bound to a server that is down stays, for its own user to be placed. Fails without is_led. */
static void nobody_elses(void **state)
{
	struct yard y = begin(HF_BALANCE_HASH);
	uint16_t at = y.at == 1 ? 2 : 1;

	(void)state;
	assert_int_equal(farm_learn(y.f, farm_fp(WEAK), at, HF_LIFE_START, LINGER_S, HF_BOND | HF_COUNTED, T0), HF_OK);
	hf_engine_mark(y.f->e, y.at, HF_MARK_DOWN, true, T0);
	assert_int_equal(visit(y.f, named(WEAK, ALICE), T0 + 1000), at);
	assert_int_equal(server_of(y.f, ALICE), y.at);
	farm_free(y.f);
}

/* The first bond leads as long as it lives; then the next one that is at the same server has the name. Fails without the glance in rename_after. */
static void first_leads(void **state)
{
	struct yard y = begin(HF_BALANCE_HASH);

	(void)state;
	assert_int_equal(farm_learn(y.f, farm_fp(BOB), y.at, HF_LIFE_START, LINGER_S, HF_BOND | HF_COUNTED, T0), HF_OK);
	second_name(y.f, USERS, BOB, y.at, false, T0);
	second_name(y.f, ALICE, 0, y.at == 1 ? 2 : 1, true, T0);
	assert_int_equal(visit(y.f, nameless(), T0), y.at == 1 ? 2 : 1);
	assert_int_equal(farm_learn(y.f, farm_fp(SOURCE), 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	assert_int_equal(farm_learn(y.f, farm_fp(ALICE), 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	assert_int_equal(ask(y.f, nameless(), T0), y.at == 1 ? 2 : 1); /* hers is over: the name says where it was */
	assert_int_equal(farm_learn(y.f, farm_fp(SOURCE), 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	second_name(y.f, BOB, 0, y.at == 1 ? 2 : 1, true, T0);
	second_name(y.f, USERS, BOB, y.at == 1 ? 2 : 1, false, T0);
	second_name(y.f, BOB, 0, y.at == 3 ? 4 : 3, true, T0);
	assert_int_equal(ask(y.f, nameless(), T0), y.at == 3 ? 4 : 3);
	farm_free(y.f);
}

/* A name that was led by another spelling's: its source goes with it while it is live, and with the other one then. Fails when one_up does not
 * ask for flows. */
static void three_in_a_row(void **state)
{
	struct yard y = begin(HF_BALANCE_HASH);
	uint16_t to = y.at == 1 ? 2 : 1;

	(void)state;
	assert_int_equal(farm_learn(y.f, farm_fp(USERS), 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	assert_int_equal(visit(y.f, named(WEAK, ALICE), T0), y.at);
	second_name(y.f, SHORT, WEAK, y.at, false, T0);
	assert_int_equal(ask(y.f, named(BOB, SHORT), T0), y.at);
	second_name(y.f, USERS, BOB, y.at, false, T0);
	second_name(y.f, WEAK, 0, to, true, T0);
	assert_int_equal(visit(y.f, nameless(), T0), y.at);
	end_flow(y.f, BOB, T0);
	assert_int_equal(visit(y.f, nameless(), T0), to);
	assert_int_equal(visit(y.f, named(BOB, SHORT), T0), to);
	farm_check(y.f);
	farm_free(y.f);
}

/* Explaining says what asking does, and changes nothing. Fails when settle writes under a trace. */
static void explained(void **state)
{
	struct yard y = begin(HF_BALANCE_ROUND_ROBIN);
	struct hf_question q = nameless();
	struct hf_answer a, b;
	struct hf_trace t;

	(void)state;
	hf_engine_mark(y.f->e, y.at, HF_MARK_DOWN, true, T0);
	hf_engine_explain(y.f->e, &q, &a, &t, T0 + 1000);
	assert_int_equal(server_of(y.f, ALICE), y.at);
	assert_int_equal(server_of(y.f, USERS), y.at);
	assert_true(t.n > 1 && t.step[0].kind == HF_STEP_BOND && t.step[0].fp == farm_fp(ALICE) && t.step[0].verdict == HF_VERDICT_LEAVES);
	hf_engine_choose(y.f->e, &q, &b, T0 + 1000);
	assert_true(a.server == b.server && a.why == HF_WHY_BOND && b.why == HF_WHY_BOND && a.led_by == farm_fp(USERS) && b.led_by == a.led_by);
	farm_check(y.f);
	farm_free(y.f);
}

/* One user by three keys through two hundred outages, asked in any order: all keys always have the same answer. */
static void never_apart(void **state)
{
	uint64_t rnd = 20261130;

	(void)state;
	for (unsigned b = HF_BALANCE_HASH; b <= HF_BALANCE_ROUND_ROBIN; b++) {
		struct yard y = begin((enum hf_balance)b);
		uint64_t now = T0;

		(void)visit(y.f, named(WEAK, ALICE), now);
		second_name(y.f, SHORT, WEAK, server_of(y.f, WEAK), false, now);
		for (unsigned i = 0; i < 200; i++) {
			uint16_t got[3], id = (uint16_t)(1 + farm_random(&rnd) % 10);
			unsigned first = farm_random(&rnd) % 3;

			hf_engine_mark(y.f->e, id, HF_MARK_DOWN, farm_random(&rnd) & 1, now);
			for (unsigned k = 0; k < 3; k++) {
				const struct hf_question q[] = {named(ALICE, SHORT), nameless(), named(WEAK, ALICE)};

				got[k] = visit(y.f, q[(first + k) % 3], now += 5000);
			}
			assert_true(got[0] && got[0] == got[1] && got[1] == got[2]);
		}
		farm_check(y.f);
		farm_free(y.f);
	}
}

/* Of the last entries before a kill no record is left. Who comes by one again has it anew: his flow is counted, and what is learnt
 * as a second name is one, or was led to the same server, goes after it, so that all leave together. Fails without wish_record in choose_known, or in
 * learn_locked, or without kin_again. */
static void kill_and_leave(bool other)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0);
	struct hf_question alice = named(ALICE, 0);
	struct hf_where w;
	uint16_t at, new;

	alice.key.text = hf_bytes_str("user:alice");
	at = visit(f, alice, T0);
	second_name(f, USERS, ALICE, at, false, T0);
	assert_int_equal(visit(f, nameless(), T0), at);
	hf_engine_free(f->e);
	f->e = hf_engine_new(&f->conf, f->mem, T0 + 1000);
	assert_non_null(f->e);
	assert_int_equal(farm_apply(f, T0 + 1000), HF_OK);
	assert_int_equal(ask(f, alice, T0 + 2000), at);
	second_name(f, USERS, ALICE, at, false, T0 + 2000);
	hf_engine_where(f->e, farm_fp(ALICE), &w, T0 + 2000);
	assert_true(w.known && w.flows == 1);
	end_flow(f, ALICE, T0 + 3000);
	assert_int_equal(visit(f, nameless(), T0 + 3000), at);
	hf_engine_mark(f->e, at, HF_MARK_DOWN, true, T0 + 4000);
	new = visit(f, other ? alice : nameless(), T0 + 5000);
	assert_true(new && new != at);
	hf_engine_mark(f->e, at, HF_MARK_DOWN, false, T0 + 6000);
	assert_int_equal(visit(f, other ? nameless() : alice, T0 + 7000), new);
	farm_check(f);
	farm_free(f);
}

static void after_a_kill(void **state)
{
	(void)state;
	kill_and_leave(false);
	kill_and_leave(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_a_kill),
		cmocka_unit_test(both_orders), cmocka_unit_test(goes_after), cmocka_unit_test(live_while_it_drains), cmocka_unit_test(two_spellings),
		cmocka_unit_test(nobody_elses), cmocka_unit_test(first_leads), cmocka_unit_test(three_in_a_row), cmocka_unit_test(explained), cmocka_unit_test(never_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
