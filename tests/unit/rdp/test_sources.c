/* Clients without a usable name: the bonds of their source, how many share one, and who claims a session of nobody known. */
#include "kit.h"

enum { H1 = 0x11, H2 = 0x22 };

#define AT "192.0.2.51"

/* A crowded bond is followed by the source's next one, counted once; the first alone goes where the source's users are. Behind the last each
 * connection is its own, and nobody is refused for want of one. Fails without `crowded` in ask_choice, or without the number in key_of_source. */
static void the_next_bond(void **state)
{
	struct kit *k = kit_new();
	const struct hf_ask *q = ask_for(k, AT ":7", NEG);
	unsigned counted = 0;

	(void)state;
	assert_true(q->max_flows == 4 && q->life_s == 900 && q->place == 0 && q->place_last == fp(k, "users-at", AT));
	for (unsigned nth = 2; nth <= RDP_BONDS + 1; nth++) {
		char text[64];

		if (nth <= RDP_BONDS)
			snprintf(text, sizeof text, "source:" AT "#%u", nth);
		else
			snprintf(text, sizeof text, "source-port:" AT ":7");
		kit_crowded(k);
		q = &k->acts.a[k->acts.n - 1].ask;
		assert_int_equal(k->acts.a[k->acts.n - 1].kind, HF_ACT_ASK);
		assert_octets(q->key.text, text);
		assert_int_equal(q->max_flows, nth <= RDP_BONDS ? 4 : 0);
		assert_true(q->life == HF_LIFE_OPEN && q->flags == (HF_BOND | HF_COUNTED | HF_TENTATIVE) && !q->place_last);
		counted += kit_counted(k, RDP_R_SOURCE_CROWDED);
	}
	assert_int_equal(counted, 1);
	forget(k);

	ask_for(k, AT ":7", NEG); /* what was asked for last is what is remembered */
	kit_crowded(k);
	kit_choice(k, H2, HF_WHY_HOME);
	kit_server(k, CONFIRM, false);
	kit_wake(k);
	assert_true(learnt(k, fp(k, "source", AT "#2"))->learn.life == HF_LIFE_TOUCH);
	kit_end(k);
	assert_true(learnt(k, fp(k, "source", AT "#2"))->learn.life == HF_LIFE_CLOSE && learnt(k, fp(k, "source", AT "#2"))->learn.life_s == 900);
	forget(k);

	k->conf.source_limit = 0; /* off */
	assert_int_equal(ask_for(k, AT ":7", NEG)->max_flows, 0);
	forget(k);
	assert_int_equal(ask_for(k, AT ":7", USER("alice"))->max_flows, 0);
	forget(k);
	free(k);
}

/* Whose token leads nowhere is a client without a name, too. */
static void a_token_of_no_use(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	assert_int_equal(ask_for(k, AT ":7", TOKEN("673059850.15629.0000"))->max_flows, 4);
	kit_crowded(k);
	assert_true(kit_act(k, HF_ACT_ASK)->ask.hint_addr.family == 4 && kit_act(k, HF_ACT_ASK)->ask.key.fp == fp(k, "source", AT "#2"));
	kit_choice(k, H1, HF_WHY_HOME);
	assert_int_equal(learnt(k, fp(k, "source", AT "#2"))->learn.life_s, 900);
	forget(k);
	ask_for(k, AT ":7", TOKEN("673059850.15629.0000")); /* its host takes no connection: the next bond is not asked for that host again */
	kit_choice(k, H1, HF_WHY_TOKEN);
	k->ctx.now_ms += 60000;
	k->conf.dial_limit = 120000;
	kit_fail(k);
	kit_crowded(k);
	assert_true(kit_act(k, HF_ACT_ASK)->ask.again && !kit_act(k, HF_ACT_ASK)->ask.hint_addr.family && kit_act(k, HF_ACT_ASK)->ask.key.fp == fp(k, "source", AT "#2"));
	forget(k);
	ask_for(k, AT ":7", TOKEN("673059850.15629.0000"));
	kit_choice(k, H1, HF_WHY_TOKEN); /* one that leads is no matter of the source: its life is the pool's */
	assert_int_equal(learnt(k, fp(k, "token", "Cookie: msts=673059850.15629.0000 " AT))->learn.life_s, 86400);
	kit_server(k, CONFIRM, false);
	assert_null(learnt(k, fp(k, "unclaimed", AT)));
	kit_end(k);
	assert_null(learnt(k, fp(k, "unclaimed", AT)));
	forget(k);
	free(k);
}

/* A session without a name waits for a user, while it lives and for source-linger; one that joins another, or that no host has confirmed, does not. */
static void a_session_of_nobody(void **state)
{
	struct kit *k = kit_new();
	uint64_t unclaimed = fp(k, "unclaimed", AT);
	const struct hf_act *a;

	(void)state;
	ask_for(k, AT ":1", NEG);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_server(k, CONFIRM, false);
	a = learnt(k, unclaimed);
	assert_true(a && a->learn.life == HF_LIFE_OPEN && a->learn.server == H1 && a->learn.flags == (HF_BOND | HF_TENTATIVE) && a->learn.life_s == 900);
	kit_wake(k);
	assert_int_equal(learnt(k, unclaimed)->learn.flags, HF_BOND);
	kit_end(k);
	a = learnt(k, unclaimed);
	assert_true(a && a->learn.life == HF_LIFE_CLOSE && a->learn.life_s == 900 && a->learn.server == 0);
	forget(k);

	ask_for(k, AT ":2", NEG); /* it joins */
	k->chosen.known = true;
	kit_choice(k, H1, HF_WHY_BOND);
	kit_server(k, CONFIRM, false);
	assert_null(learnt(k, unclaimed));
	kit_end(k);
	forget(k);
	assert_null(learnt(k, unclaimed));

	ask_for(k, AT ":4", NEG); /* its first host takes no connection: by then its own bond is there */
	kit_choice(k, H1, HF_WHY_HOME);
	kit_fail(k);
	k->chosen.known = true;
	kit_choice(k, H2, HF_WHY_FAILOVER);
	k->chosen.known = false;
	kit_server(k, CONFIRM, false);
	assert_true(learnt(k, unclaimed) && learnt(k, unclaimed)->learn.server == H2);
	kit_end(k);
	forget(k);

	ask_for(k, AT ":3", NEG);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_end(k);
	assert_null(learnt(k, unclaimed));
	forget(k);
	free(k);
}

/* The source's first user without a bond is taken there, and nobody after: what says so ends with the answer, and is given back when no host took
 * the user. Who has a bond, or is placed by his name, claims nothing. Fails without settle_claim, or without its condition. */
static void claimed_once(void **state)
{
	struct kit *k = kit_new();
	uint64_t unclaimed = fp(k, "unclaimed", AT), alice = fp(k, "user", "alice");
	const struct hf_act *a;

	(void)state;
	assert_true(ask_for(k, AT ":1", USER("alice"))->place_last == unclaimed);
	kit_led(k, H1, unclaimed);
	assert_true(learnt(k, unclaimed)->learn.life == HF_LIFE_END);
	kit_server(k, CONFIRM, false);
	assert_null(learnt(k, unclaimed));
	kit_wake(k); /* her bond was made for her, and has to prove itself */
	assert_int_equal(learnt(k, alice)->learn.flags, HF_BOND | HF_COUNTED);
	kit_end(k);
	assert_null(learnt(k, unclaimed));
	forget(k);

	ask_for(k, AT ":2", USER("alice"));
	kit_led(k, H1, unclaimed);
	kit_end(k);
	a = learnt(k, unclaimed);
	assert_true(a && a->learn.life == HF_LIFE_START && a->learn.server == H1 && a->learn.life_s == 900);
	assert_int_equal(learnt(k, alice)->learn.flags, HF_TENTATIVE);
	forget(k);

	for (unsigned home = 0; home < 2; home++) {
		ask_for(k, AT ":3", USER("alice"));
		kit_choice(k, H1, home ? HF_WHY_HOME : HF_WHY_BOND);
		assert_null(learnt(k, unclaimed));
		kit_end(k);
		assert_null(learnt(k, unclaimed));
		forget(k);
	}

	ask_for(k, AT ":3", USER("corp\\dora")); /* led by another spelling */
	kit_led(k, H1, kit_act(k, HF_ACT_ASK)->ask.place_else);
	assert_null(learnt(k, unclaimed));
	forget(k);

	ask_for(k, AT ":4", USER("alice")); /* the host is down: she is waited for, moves, and has claimed nothing that would be worth giving back */
	kit_led(k, H1, unclaimed);
	kit_down(k, 60000);
	k->chosen.hold_ms = 0;
	k->ctx.now_ms += 60000;
	k->conf.dial_limit = 120000;
	kit_fail(k);
	kit_choice(k, H2, HF_WHY_FAILOVER);
	kit_end(k);
	assert_null(learnt(k, unclaimed));
	forget(k);

	kit_key(k, "token user"); /* where sources are no evidence nothing is claimed */
	assert_int_equal(ask_for(k, AT ":5", USER("alice"))->place_last, 0);
	forget(k);
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_bond), cmocka_unit_test(a_token_of_no_use), cmocka_unit_test(a_session_of_nobody), cmocka_unit_test(claimed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
