/* The step of the RDP front, event by event: keys asked for, hosts dialled, bonds learnt. Names r01.. are fault classes seen in the field. */
#include "kit.h"

#define H1 0x11u
#define H2 0x22u

static void refused(const struct kit *k, unsigned reason)
{
	const struct hf_act *s = kit_act(k, HF_ACT_SEND);

	assert_int_equal(s->send.to, HF_TO_CLIENT);
	assert_int_equal(s->send.base.n, 11);
	assert_memory_equal(s->send.base.p, "\x03\0\0\x0b\x06\x80\0\0\0\0\0", 11);
	assert_int_equal(k->acts.a[k->acts.n - 1].kind, HF_ACT_CLOSE);
	assert_int_equal(k->acts.a[k->acts.n - 1].end.reason, reason);
}

/* ---- the life of a flow ---- */

/* V1 from the first octet to the end. Fails without any act of the way. */
static void test_life(void **state)
{
	struct kit *k = kit_new();
	const struct hf_ask *q = ask_for(k, "192.0.2.51:40000", USER("alice"));
	uint64_t alice = fp(k, "user", "alice"), source = fp(k, "users-at", "192.0.2.51"), leg = fp(k, "leg", "192.0.2.51");
	const struct hf_act *a;

	(void)state;
	assert_true(q->key.fp == alice && q->life == HF_LIFE_OPEN && q->life_s == 86400 && !q->again);
	assert_octets(q->key.text, "user:alice");
	assert_int_equal(q->flags, HF_BOND | HF_COUNTED | HF_TENTATIVE);
	assert_true(q->hint == 0 && q->hint_addr.family == 0 && q->refs[0].fp == 0 && q->spread != 0);

	kit_choice(k, H1, HF_WHY_HOME);
	assert_int_equal(k->acts.n, 1);
	a = kit_act(k, HF_ACT_SEND);
	assert_true(a->send.to == HF_TO_SERVER && a->send.server == H1 && !a->send.base.p && a->send.n_splices == 0);

	kit_server(k, "030000", false);
	assert_int_equal(kit_act(k, HF_ACT_MORE)->need, 4);
	kit_server(k, CONFIRM, false);
	a = kit_act(k, HF_ACT_RELAY);
	assert_true(a->relay.client_used == k->client.n && a->relay.server_used == 0 && a->relay.mark == 1024);
	a = learnt(k, source);
	assert_true(a && a->learn.life == HF_LIFE_OPEN && a->learn.server == H1 && a->learn.flags == (HF_BOND | HF_TENTATIVE) && !a->learn.move);
	assert_int_equal(a->learn.alias_of, alice);
	assert_octets(a->learn.key.text, "users-at:192.0.2.51");

	kit_wake(k);
	assert_int_equal(k->acts.n, 2);
	a = learnt(k, alice);
	assert_true(a && a->learn.life == HF_LIFE_TOUCH && a->learn.server == H1 && a->learn.flags == (HF_BOND | HF_COUNTED));
	a = learnt(k, source);
	assert_true(a && a->learn.life == HF_LIFE_START && a->learn.server == 0 && a->learn.flags == HF_BOND);

	k->ctx.conf = NULL; /* the service has been removed meanwhile */
	kit_end(k);
	assert_int_equal(k->acts.n, 3);
	a = learnt(k, alice);
	assert_true(a && a->learn.life == HF_LIFE_CLOSE && a->learn.life_s == 86400 && a->learn.server == 0 && a->learn.flags == 0);
	a = learnt(k, source);
	assert_true(a && a->learn.life == HF_LIFE_CLOSE && a->learn.server == 0 && a->learn.flags == 0);
	a = learnt(k, leg);
	assert_true(a && a->learn.life == HF_LIFE_START && a->learn.life_s == 10 && a->learn.server == H1 && a->learn.move && a->learn.flags == 0);
	forget(k);
	free(k);
}

/* r01, r04: requests without a cookie or without anything are whole at once and go by their source. */
static void r01_no_cookie(void **state)
{
	static const char *const variables[] = {NEG, ""};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct hf_ask *q = ask_for(k, "192.0.2.51:1", variables[i]);

		assert_true(q->key.fp == fp(k, "source", "192.0.2.51"));
		assert_octets(q->key.text, "source:192.0.2.51");
		assert_int_equal(q->flags, HF_BOND | HF_COUNTED | HF_TENTATIVE);
		forget(k);
	}
	assert_true(ask_for(k, "192.0.2.51:1", USER("dave"))->key.fp == fp(k, "user", "dave"));
	forget(k);
	free(k);
}

/* r13, r52: cut anywhere, the same question. Fails when a piece is taken for a whole. */
static void r13_cut(void **state)
{
	struct hf_bytes b = request(USER("alice"));
	struct kit *k = kit_new();

	(void)state;
	for (size_t n = 0; n < b.n; n++) {
		kit_client(k, hf_bytes_sub(b, 0, n), false);
		assert_int_equal(k->acts.n, 1);
		assert_true(kit_act(k, HF_ACT_MORE)->need > n);
	}
	assert_true(kit_ask(k, b)->key.fp == fp(k, "user", "alice"));
	done(b);
	free(k);
}

/* r14: octets behind the request belong to the session; they are part of what is sent, and counted so. */
static void r14_surplus(void **state)
{
	struct kit *k = kit_new();
	const struct hf_ask *q = ask_for(k, "192.0.2.51:1", USER("alice"));
	struct hf_bytes two = hex("0300000b 06e00000000000 1603*200");

	(void)state;
	assert_non_null(q);
	forget(k);
	kit_flow(k, "192.0.2.51:1");
	kit_ask(k, two);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_client(k, hf_bytes_sub(two, 0, two.n), false); /* more comes while the host is dialled: nothing to do yet */
	assert_int_equal(k->acts.n, 0);
	kit_server(k, CONFIRM, false);
	assert_int_equal(kit_act(k, HF_ACT_RELAY)->relay.client_used, two.n);
	done(two);
	free(k);
}

/* A request then FIN is whole; FIN before it is whole ends the flow; nonsense is closed with its reason. */
static void test_ends_of_openings(void **state)
{
	struct hf_bytes b = request(USER("alice")), tls = hex("160301");
	struct kit *k = kit_new();

	(void)state;
	kit_client(k, hf_bytes_sub(b, 0, 20), true);
	assert_int_equal(kit_act(k, HF_ACT_CLOSE)->end.reason, HF_R_CLIENT_CLOSED);
	kit_client(k, HF_NONE, true);
	assert_int_equal(kit_act(k, HF_ACT_CLOSE)->end.reason, HF_R_CLIENT_CLOSED);
	kit_client(k, tls, false);
	assert_int_equal(kit_act(k, HF_ACT_CLOSE)->end.reason, RDP_R_NOT_RDP);
	assert_null(kit_nth(k, HF_ACT_SEND, 0)); /* a malformed request gets no answer */
	kit_client(k, b, true);
	assert_non_null(kit_nth(k, HF_ACT_ASK, 0));
	kit_end(k);
	done(b);
	done(tls);
	free(k);
}

/* An end without an entry teaches nothing: no choice came, or there was no key. */
static void test_end_without_entry(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	ask_for(k, "192.0.2.51:1", USER("alice"));
	kit_choice(k, 0, HF_WHY_NONE);
	refused(k, HF_R_NO_SERVER);
	kit_end(k);
	assert_int_equal(k->acts.n, 0);
	forget(k);
	ask_for(k, "192.0.2.51:1", USER("alice")); /* a bond at a host that is off: this flow was counted there */
	k->chosen.known = true;
	kit_choice(k, 0, HF_WHY_NONE);
	refused(k, HF_R_NO_SERVER);
	kit_end(k);
	assert_true(k->acts.n == 1 && learnt(k, fp(k, "user", "alice"))->learn.life == HF_LIFE_CLOSE && learnt(k, fp(k, "user", "alice"))->learn.flags == 0);
	forget(k);
	kit_key(k, "user");
	assert_int_equal(ask_for(k, "192.0.2.51:1", NEG)->key.fp, 0);
	kit_choice(k, H1, HF_WHY_FALLBACK);
	kit_server(k, CONFIRM, false);
	kit_wake(k);
	assert_int_equal(k->acts.n, 0);
	kit_end(k);
	assert_int_equal(k->acts.n, 0);
	forget(k);
	free(k);
}

/* ---- keys ---- */

/* r17: login 2 without a cookie finds the host of login 1 by its source; login 3 follows its own name. */
static void r17_source_after_user(void **state)
{
	struct kit *k = kit_new();
	uint64_t learnt_fp;

	(void)state;
	kit_session(k, "192.0.2.51:1", USER("alice"), H1, HF_WHY_HOME);
	learnt_fp = kit_nth(k, HF_ACT_LEARN, 1)->learn.key.fp;
	assert_true(ask_for(k, "192.0.2.51:2", NEG)->place_last == learnt_fp);
	forget(k);
	assert_true(ask_for(k, "192.0.2.51:3", USER("bob"))->key.fp == fp(k, "user", "bob"));
	forget(k);
	free(k);
}

/* r18: nobody sends a cookie: bonds by source, no alias of them. */
static void r18_no_cookies_at_all(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	ask_for(k, "192.0.2.51:1", NEG); /* nothing is waited for: the step that has the last octet asks, and the answer is sent to */
	assert_true(k->acts.n == 1 && k->acts.a[0].kind == HF_ACT_ASK);
	kit_choice(k, H1, HF_WHY_HOME);
	assert_true(k->acts.n == 1 && k->acts.a[0].kind == HF_ACT_SEND);
	forget(k);
	kit_session(k, "192.0.2.51:1", NEG, H1, HF_WHY_HOME);
	assert_int_equal(k->acts.n, 2);
	assert_true(learnt(k, fp(k, "source", "192.0.2.51"))->learn.life == HF_LIFE_TOUCH);
	assert_true(learnt(k, fp(k, "unclaimed", "192.0.2.51"))->learn.life == HF_LIFE_START);
	free(k);
}

/* r20: the same nine octets from two sources are two keys, counted. */
static void r20_weak_names(void **state)
{
	struct kit *k = kit_new();
	const struct hf_ask *q = ask_for(k, "192.0.2.51:1", USER("CONTOSO\\a"));
	uint64_t first = q->key.fp;

	(void)state;
	assert_octets(q->key.text, "weak:contoso\\a 192.0.2.51");
	assert_true(kit_counted(k, RDP_R_KEY_WEAK));
	forget(k);
	assert_true(ask_for(k, "192.0.2.52:1", USER("CONTOSO\\a"))->key.fp != first);
	forget(k);
	assert_true(ask_for(k, "192.0.2.51:1", USER("a"))->key.fp != first);
	forget(k);
	free(k);
}

/* A name that is live from too many sources is asked for with the source, once and counted, and that is what is remembered; it follows no other. It is the
 * same key however the name is cut. A weak or signed one, or one with `off`, has no such bound. Fails without by_name, or without `crowded` in ask_choice. */
static void r20_shared_names(void **state)
{
	struct kit *k = kit_new();
	uint64_t name = fp(k, "user", "reception"), here = fp(k, "weak", "reception 192.0.2.54");
	const struct hf_ask *q = ask_for(k, "192.0.2.54:1", USER("CONTOSO\\Reception"));

	(void)state;
	assert_true(q->key.fp == name && q->max_sources == 3 && q->apart == here && q->max_flows == 0);
	assert_false(kit_counted(k, RDP_R_KEY_SHARED));
	kit_crowded(k);
	q = &kit_act(k, HF_ACT_ASK)->ask;
	assert_true(kit_counted(k, RDP_R_KEY_SHARED) && !kit_counted(k, RDP_R_SOURCE_CROWDED));
	assert_octets(q->key.text, "weak:reception 192.0.2.54");
	assert_true(q->key.fp == here && q->max_sources == 0 && q->apart == 0 && q->place == 0 && q->place_else == 0 && q->life == HF_LIFE_OPEN);
	assert_true(q->flags == (HF_BOND | HF_COUNTED | HF_TENTATIVE) && q->life_s == 86400);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_fail(k); /* the next host is asked for by the same key */
	assert_true(kit_act(k, HF_ACT_ASK)->ask.key.fp == here && kit_act(k, HF_ACT_ASK)->ask.life == HF_LIFE_START);
	kit_choice(k, H2, HF_WHY_HOME);
	kit_server(k, CONFIRM, false);
	kit_wake(k);
	assert_true(learnt(k, here)->learn.life == HF_LIFE_TOUCH);
	kit_end(k);
	assert_true(learnt(k, here)->learn.life == HF_LIFE_CLOSE && !learnt(k, name));
	forget(k);

	assert_true(ask_for(k, "192.0.2.54:1", USER("reception"))->apart == here);
	forget(k);
	q = ask_for(k, "192.0.2.54:1", USER("CONTOSO\\a"));
	assert_true(q->max_sources == 0 && q->apart == 0);
	forget(k);
	k->conf.user_sources = 0;
	q = ask_for(k, "192.0.2.54:1", USER("reception"));
	assert_true(q->max_sources == 0 && q->apart == 0);
	forget(k);
	k->conf.user_match = RDP_MATCH_FULL;
	k->conf.user_sources = 1;
	q = ask_for(k, "192.0.2.54:1", USER("reception"));
	assert_true(q->max_sources == 1 && q->apart == here);
	forget(k);
	for (unsigned i = 0; i < 2; i++) {
		q = ask_for(k, "192.0.2.54:1", i ? USER("reception-desk") : USER("kiosk")); /* no client has cut it */
		assert_true(q->max_sources == 0 && q->apart == 0);
		forget(k);
	}
	free(k);
}

/* Nine octets may be all of a name: without a bond of its own a weak one is placed by the bond of the name in it, and that name by what a weak one has
 * left. Neither is the other, and too little of a name leads nowhere. Fails without of_weak, of_name or open_other. */
static void test_short_names(void **state)
{
	struct kit *k = kit_new();
	uint64_t weak = fp(k, "weak", "corp\\anna 192.0.2.51"), name = fp(k, "user", "anna"), left = fp(k, "short", "anna");
	const struct hf_ask *q = ask_for(k, "192.0.2.51:1", USER("CORP\\Anna"));
	const struct hf_act *a;

	(void)state;
	assert_true(q->key.fp == weak && q->place == 0 && q->place_else == name && q->refs[0].fp == 0);
	kit_choice(k, H1, HF_WHY_HOME);
	assert_null(learnt(k, left)); /* only a host that has confirmed is worth following */
	kit_server(k, CONFIRM, false);
	a = learnt(k, left);
	assert_true(a && a->learn.life == HF_LIFE_OPEN && a->learn.life_s == 86400 && a->learn.server == H1 && a->learn.flags == (HF_BOND | HF_TENTATIVE) && !a->learn.move);
	assert_int_equal(a->learn.alias_of, weak);
	assert_null(learnt(k, name));
	forget(k);
	q = ask_for(k, "192.0.2.52:1", USER("anna"));
	assert_true(q->key.fp == name && q->place_else == left);
	kit_choice(k, H1, HF_WHY_BOND);
	kit_server(k, CONFIRM, false);
	assert_null(learnt(k, left));
	forget(k);
	assert_true(ask_for(k, "192.0.2.52:1", USER("annelies"))->place_else == 0);
	forget(k);
	assert_true(ask_for(k, "192.0.2.52:1", USER("CONTOSO\\a"))->place_else == 0);
	forget(k);
	free(k);
}

/* What a domain of ours leaves of a name is hers from where she is: it follows her, and she follows it; when the flow ends it lingers. Fails without
 * user_as_weak, or when open_other, session_firm or session_end leave it out. */
static void test_cut_names(void **state)
{
	struct kit *k = kit_new();
	uint64_t weak = fp(k, "weak", "corp\\anne 192.0.2.51"), name = fp(k, "user", "annelies");
	const struct hf_ask *q;
	const struct hf_act *a;

	(void)state;
	k->conf.own_domains = HF_LIT("LABORATORY lab, Corp");
	q = ask_for(k, "192.0.2.51:1", USER("Annelies@corp.example"));
	assert_true(q->key.fp == name && q->place_else == fp(k, "weak", "lab\\annel 192.0.2.51"));
	forget(k);
	k->conf.own_domains = HF_LIT("Corp");
	q = ask_for(k, "192.0.2.51:1", USER("Annelies@corp.example"));
	assert_true(q->key.fp == name && q->place_else == weak);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_server(k, CONFIRM, false);
	a = learnt(k, weak);
	assert_true(a && a->learn.life == HF_LIFE_OPEN && a->learn.server == H1 && a->learn.flags == (HF_BOND | HF_TENTATIVE) && !a->learn.move);
	kit_wake(k);
	assert_true(learnt(k, weak)->learn.life == HF_LIFE_START);
	kit_end(k);
	assert_true(learnt(k, weak)->learn.life == HF_LIFE_CLOSE && learnt(k, weak)->learn.flags == 0);
	forget(k);
	ask_for(k, "192.0.2.51:1", USER("Annelies@corp.example")); /* what no host has confirmed has one name, and that ends */
	kit_choice(k, H1, HF_WHY_HOME);
	kit_server(k, "0300000b 06800000000000", false);
	kit_end(k);
	assert_true(k->acts.n == 1 && learnt(k, name) && !learnt(k, weak));
	forget(k);
	assert_true(ask_for(k, "192.0.2.51:1", USER("CORP\\Anne"))->key.fp == weak);
	forget(k);
	q = ask_for(k, "192.0.2.51:1", USER("anne")); /* whole in nine octets: from wherever */
	assert_true(q->place_else == fp(k, "short", "anne"));
	forget(k);
	assert_true(ask_for(k, "192.0.2.51:1", USER("ann"))->place_else == fp(k, "short", "ann")); /* no domain of ours makes nine of it */
	forget(k);
	free(k);
}

/* r21, r22: names are compared on nine octets; the longer spelling is what is shown. user-match = full tells them apart. */
static void r22_nine_octets(void **state)
{
	struct kit *k = kit_new();
	const struct hf_ask *q = ask_for(k, "192.0.2.51:1", USER("CORP\\Christopher"));
	uint64_t nine = fp(k, "user", "christoph");

	(void)state;
	assert_true(q->key.fp == nine);
	assert_octets(q->key.text, "user:christopher");
	forget(k);
	assert_true(ask_for(k, "192.0.2.51:1", USER("christoph"))->key.fp == nine);
	forget(k);
	assert_true(ask_for(k, "192.0.2.51:1", USER("christophe@corp.example"))->key.fp == nine);
	forget(k);
	k->conf.user_match = RDP_MATCH_FULL;
	assert_true(ask_for(k, "192.0.2.51:1", USER("christopher"))->key.fp == fp(k, "user", "christopher"));
	forget(k);
	free(k);
}

/* r21: cut to nine by one client, whole from another, with its domain from a third: one bond. Fails without compared() or either half of bare. */
static void r21_one_bond(void **state)
{
	static const char *const spellings[] = {USER("Administr"), USER("administrator"), USER("CORP\\Administrator"), USER("Administrator@corp.example")};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		assert_true(ask_for(k, "192.0.2.51:1", spellings[i])->key.fp == fp(k, "user", "administr"));
		forget(k);
	}
	free(k);
}

/* r25: forty octets that differ at the end only: equal by the rule of nine, apart when all is compared. */
static void r25_long_names(void **state)
{
	static const char *const names[] = {USER("a2345678901234567890123456789012x"), USER("a2345678901234567890123456789012y")};
	struct kit *k = kit_new();
	uint64_t f[2][2];

	(void)state;
	for (unsigned full = 0; full < 2; full++)
		for (unsigned i = 0; i < 2; i++) {
			k->conf.user_match = full;
			f[full][i] = ask_for(k, "192.0.2.51:1", names[i])->key.fp;
			forget(k);
		}
	assert_true(f[0][0] == f[0][1]);
	assert_true(f[1][0] != f[1][1]);
	free(k);
}

/* Control octets and empty names are no key; the source decides. */
static void test_unusable_names(void **state)
{
	struct kit *k = kit_new();
	uint64_t source = fp(k, "source", "192.0.2.51");

	(void)state;
	assert_true(ask_for(k, "192.0.2.51:1", "\"Cookie: mstshash=a\" 1b \"b\" 0d0a" NEG)->key.fp == source);
	assert_true(kit_counted(k, RDP_R_KEY_CONTROL));
	forget(k);
	assert_true(ask_for(k, "192.0.2.51:1", USER(""))->key.fp == source);
	forget(k);
	free(k);
}

/* The chain's order is the service's; an IPv4 client of a dual-stack socket is the same source. */
static void test_chain(void **state)
{
	struct kit *k = kit_new();
	uint64_t source = fp(k, "source", "192.0.2.51");

	(void)state;
	kit_key(k, "source user");
	assert_true(ask_for(k, "[::ffff:192.0.2.51]:1", USER("alice"))->key.fp == source);
	forget(k);
	kit_key(k, "user");
	assert_int_equal(ask_for(k, "192.0.2.51:1", TOKEN("673059850.15629.0000"))->hint_addr.family, 0);
	forget(k);
	kit_key(k, "user token");
	assert_int_equal(ask_for(k, "192.0.2.51:1", TOKEN("673059850.15629.0000"))->hint_addr.family, 4);
	forget(k);
	kit_key(k, "user token source");
	assert_true(ask_for(k, "192.0.2.51:1", "\"Cookie: msts=7\" 0d0a" USER("alice"))->key.fp == fp(k, "user", "alice"));
	forget(k);
	kit_key(k, "token user");
	kit_session(k, "192.0.2.51:1", USER("alice"), H1, HF_WHY_HOME);
	assert_int_equal(k->acts.n, 1); /* the source is not asked for, so it is not learnt */
	free(k);
}

/* ---- tokens ---- */

/* V5, r29, r33: a member that a token names is hinted, and the leg is a counted session of that token and source. */
static void r33_address_token(void **state)
{
	struct kit *k = kit_new();
	const struct hf_ask *q = ask_for(k, "192.0.2.51:1", TOKEN("673059850.15629.0000"));
	uint64_t token = fp(k, "token", "Cookie: msts=673059850.15629.0000 192.0.2.51");
	const struct hf_act *a;

	(void)state;
	assert_true(q->hint_why == HF_WHY_TOKEN && q->hint_addr.port == 3389 && memcmp(q->hint_addr.ip, "\x0a\x14\x1e\x28", 4) == 0);
	assert_true(q->life == HF_LIFE_NONE && q->key.fp == fp(k, "source", "192.0.2.51") && !q->refs[0].fp && !q->refs[1].fp);
	kit_choice(k, H2, HF_WHY_TOKEN);
	a = learnt(k, token);
	assert_true(a && a->learn.life == HF_LIFE_OPEN && a->learn.server == H2 && a->learn.flags == (HF_BOND | HF_COUNTED | HF_TENTATIVE));
	kit_server(k, CONFIRM, false);
	kit_wake(k);
	assert_int_equal(k->acts.n, 1); /* whose token it is nobody can see: no alias */
	assert_true(learnt(k, token)->learn.flags == (HF_BOND | HF_COUNTED));
	kit_end(k);
	assert_int_equal(k->acts.n, 1);
	forget(k);
	free(k);
}

/* r37: who redirects names a member's address with another port than we know: told apart from a stranger's, and not followed either. Fails without the
 * second line of count_outside. */
static void r37_another_port(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	(void)ask_for(k, "192.0.2.51:1", TOKEN("158400715.47873.0000"));
	k->chosen.hint_port = 3390;
	kit_choice(k, H1, HF_WHY_HOME);
	assert_true(kit_counted(k, RDP_R_TOKEN_OUTSIDE) && kit_counted(k, RDP_R_TOKEN_PORT));
	assert_int_equal(kit_act(k, HF_ACT_SEND)->send.server, H1);
	forget(k);
	(void)ask_for(k, "192.0.2.51:1", TOKEN("158400715.47873.0000"));
	k->chosen.hint_port = 0;
	kit_choice(k, H1, HF_WHY_HOME);
	assert_true(kit_counted(k, RDP_R_TOKEN_OUTSIDE) && !kit_counted(k, RDP_R_TOKEN_PORT));
	forget(k);
	free(k);
}

/* r34, I6: an address outside the farm is a hint that names nobody; net does not find it, and the source decides. */
static void r34_foreign_token(void **state)
{
	struct kit *k = kit_new();
	const struct hf_ask *q = ask_for(k, "192.0.2.51:1", TOKEN("158400715.47873.0000"));
	const struct hf_act *a;

	(void)state;
	assert_int_equal(q->hint, 0);
	kit_choice(k, H1, HF_WHY_HOME);
	assert_true(kit_counted(k, RDP_R_TOKEN_OUTSIDE));
	a = learnt(k, fp(k, "source", "192.0.2.51"));
	assert_true(a && a->learn.life == HF_LIFE_OPEN && a->learn.server == H1 && a->learn.flags == (HF_BOND | HF_COUNTED | HF_TENTATIVE));
	assert_int_equal(kit_act(k, HF_ACT_SEND)->send.server, H1);
	forget(k);
	assert_int_equal(ask_for(k, "192.0.2.51:1", TOKEN("127.0.0.1:22"))->hint_addr.family, 0);
	assert_true(kit_counted(k, RDP_R_TOKEN_SYNTAX));
	forget(k);
	free(k);
}

/* I7: no wrap into a member. */
static void test_overflow(void **state)
{
	struct kit *k = kit_new();
	const struct hf_ask *q = ask_for(k, "192.0.2.51:1", TOKEN("99999999999.15629.0000"));

	(void)state;
	assert_true(q->hint_addr.family == 0 && q->refs[0].fp == 0 && q->refs[1].fp == 0 && q->key.fp == fp(k, "source", "192.0.2.51"));
	forget(k);
	free(k);
}

/* V7: a handle asks for itself, then for the leg that its source closed last; it is remembered where that led, uncounted. */
static void test_handle(void **state)
{
	struct kit *k = kit_new();
	uint64_t token = fp(k, "token", "Cookie: msts=2915407823 192.0.2.51"), leg = fp(k, "leg", "192.0.2.51"), source = fp(k, "source", "192.0.2.51");
	const struct hf_ask *q = ask_for(k, "192.0.2.51:1", TOKEN("2915407823"));
	const struct hf_act *a;

	(void)state;
	assert_true(q->refs[0].fp == token && q->refs[1].fp == leg && q->key.fp == source && q->life == HF_LIFE_NONE && !q->hint_addr.family);
	kit_choice(k, H2, HF_WHY_DIALOG);
	a = learnt(k, token);
	assert_true(a && a->learn.server == H2 && a->learn.flags == (HF_BOND | HF_TENTATIVE));
	kit_server(k, CONFIRM, false);
	kit_wake(k);
	assert_true(learnt(k, token)->learn.flags == HF_BOND);
	kit_end(k);
	assert_int_equal(k->acts.n, 1); /* no first leg of anything */
	assert_true(learnt(k, token)->learn.life == HF_LIFE_CLOSE);
	forget(k);
	ask_for(k, "192.0.2.51:1", TOKEN("2915407823"));
	kit_choice(k, H1, HF_WHY_BOND);
	assert_null(learnt(k, token));
	assert_non_null(learnt(k, source));
	assert_false(kit_counted(k, RDP_R_TOKEN_OUTSIDE));
	forget(k);
	free(k);
}

/* r05, r06, V8: any other line is a token that names nobody we know. */
static void r05_other_lines(void **state)
{
	static const char *const variables[] = {"\"tsv://MS Terminal Services Plugin.1.Sales\" 0d0a" NEG, "\"mth://x\" 0d0a" NEG, "\"some balance text\" 0d0a" NEG};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const struct hf_ask *q = ask_for(k, "192.0.2.51:1", variables[i]);

		assert_true(q->key.fp == fp(k, "source", "192.0.2.51") && !q->hint_addr.family && !q->refs[0].fp && !q->refs[1].fp);
		forget(k);
	}
	free(k);
}

/* I12: with both lines the token decides and the name is not believed, whichever comes first. */
static void test_token_and_cookie(void **state)
{
	static const char *const variables[] = {"\"Cookie: msts=673059850.15629.0000\" 0d0a" USER("alice"),
	                                        "\"Cookie: mstshash=alice\" 0d0a" TOKEN("673059850.15629.0000")};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct hf_ask *q = ask_for(k, "192.0.2.51:1", variables[i]);

		assert_true(q->hint_addr.family == 4 && q->key.fp == fp(k, "source", "192.0.2.51"));
		assert_true(kit_counted(k, RDP_R_TOKEN_AND_COOKIE));
		forget(k);
	}
	free(k);
}

/* ---- hosts that fail ---- */

/* r60: a new user's host refuses: the next candidate at once, one live flow however often it asks. */
static void r60_next_candidate(void **state)
{
	struct kit *k = kit_new();
	const struct hf_act *a;

	(void)state;
	ask_for(k, "192.0.2.51:1", USER("alice"));
	kit_choice(k, H1, HF_WHY_HOME);
	kit_fail(k);
	a = kit_act(k, HF_ACT_ASK);
	assert_true(a->ask.again && a->ask.life == HF_LIFE_START && a->ask.flags == (HF_BOND | HF_COUNTED | HF_TENTATIVE));
	k->chosen.known = true; /* by this flow itself */
	kit_choice(k, H2, HF_WHY_FAILOVER);
	assert_int_equal(kit_act(k, HF_ACT_SEND)->send.server, H2);
	kit_fail(k);
	assert_true(kit_act(k, HF_ACT_ASK)->ask.again);
	kit_choice(k, 0, HF_WHY_NONE);
	refused(k, HF_R_NO_SERVER);
	kit_end(k);
	assert_int_equal(learnt(k, fp(k, "user", "alice"))->learn.flags, HF_TENTATIVE);
	assert_int_equal(learnt(k, fp(k, "user", "alice"))->learn.life, HF_LIFE_CLOSE);
	forget(k);
	free(k);
}

/* The time for all candidates is bounded. */
static void test_dial_limit(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	ask_for(k, "192.0.2.51:1", USER("alice"));
	kit_choice(k, H1, HF_WHY_HOME);
	k->ctx.now_ms += 9999;
	kit_fail(k);
	assert_non_null(kit_nth(k, HF_ACT_ASK, 0));
	kit_choice(k, H2, HF_WHY_FAILOVER);
	k->ctx.now_ms += 1;
	kit_fail(k);
	refused(k, HF_R_DIAL_FAILED);
	forget(k);
	free(k);
}

/* A user whose host is down dials it once a second for ten seconds and is refused; he is not moved. */
static void test_hold(void **state)
{
	struct kit *k = kit_new();
	unsigned dials = 1;

	(void)state;
	ask_for(k, "192.0.2.51:1", USER("alice"));
	k->chosen.known = true;
	kit_choice(k, H1, HF_WHY_BOND);
	for (;; dials++) {
		kit_fail(k);
		if (!kit_nth(k, HF_ACT_HOLD, 0))
			break;
		assert_int_equal(kit_act(k, HF_ACT_HOLD)->hold.ms, 1000);
		kit_client(k, k->client, false); /* more octets while it waits */
		assert_int_equal(k->acts.n, 0);
		k->ctx.now_ms += 1000;
		kit_wake(k);
		assert_false(kit_act(k, HF_ACT_ASK)->ask.again);
		assert_int_equal(kit_act(k, HF_ACT_ASK)->ask.life, HF_LIFE_START);
		assert_int_equal(kit_act(k, HF_ACT_ASK)->ask.flags, HF_BOND | HF_COUNTED);
		kit_down(k, 5000 + 1000 * dials);
		kit_choice(k, H1, HF_WHY_BOND);
		assert_int_equal(kit_act(k, HF_ACT_SEND)->send.server, H1);
	}
	assert_int_equal(dials, 10);
	refused(k, HF_R_DIAL_FAILED);
	kit_end(k); /* the bond was there before: it stays, firm or not */
	assert_int_equal(learnt(k, fp(k, "user", "alice"))->learn.flags, 0);
	forget(k);
	free(k);
}

/* The host comes back while he waits: the session goes on as any other. */
static void test_hold_then_up(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	ask_for(k, "192.0.2.51:1", USER("alice"));
	kit_choice(k, H1, HF_WHY_BOND);
	kit_fail(k);
	k->ctx.now_ms += 1000;
	kit_wake(k);
	kit_choice(k, H1, HF_WHY_BOND);
	kit_server(k, CONFIRM, false);
	assert_int_equal(kit_act(k, HF_ACT_RELAY)->relay.client_used, k->client.n);
	assert_false(learnt(k, fp(k, "users-at", "192.0.2.51"))->learn.move);
	forget(k);
	free(k);
}

/* Down for longer than it is waited for, or not waited for at all: the bond moves, and the source's alias with it. */
static void test_move(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	for (unsigned move = 0; move < 2; move++) {
		ask_for(k, "192.0.2.51:1", USER("alice"));
		assert_true(kit_act(k, HF_ACT_ASK)->ask.renews && kit_act(k, HF_ACT_ASK)->ask.knocks);
		kit_down(k, move ? 60000 : 59000);
		kit_choice(k, H1, HF_WHY_BOND);
		if (!move) {
			k->ctx.now_ms += 999;
			kit_fail(k);
			assert_non_null(kit_nth(k, HF_ACT_HOLD, 0));
			kit_wake(k);
			kit_down(k, 59999);
			kit_choice(k, H1, HF_WHY_BOND);
			k->ctx.now_ms += 1; /* counted on while it was dialled */
		}
		kit_fail(k);
		assert_true(kit_act(k, HF_ACT_ASK)->ask.again);
		kit_down(k, 0);
		kit_choice(k, 0x33, HF_WHY_FAILOVER);
		kit_fail(k); /* he does not belong to this one: the next at once */
		assert_true(kit_act(k, HF_ACT_ASK)->ask.again);
		kit_choice(k, H2, HF_WHY_FAILOVER);
		kit_server(k, CONFIRM, false);
		assert_true(learnt(k, fp(k, "users-at", "192.0.2.51"))->learn.move);
		assert_int_equal(learnt(k, fp(k, "users-at", "192.0.2.51"))->learn.server, H2);
		forget(k);
	}
	free(k);
}

/* A token's host that is down is waited for too; then the token is forgotten and the source decides. */
static void test_token_host_down(void **state)
{
	struct kit *k = kit_new();
	uint64_t token = fp(k, "token", "Cookie: msts=673059850.15629.0000 192.0.2.51"), source = fp(k, "source", "192.0.2.51");

	(void)state;
	ask_for(k, "192.0.2.51:1", TOKEN("673059850.15629.0000"));
	kit_choice(k, H1, HF_WHY_TOKEN);
	kit_fail(k);
	assert_non_null(kit_nth(k, HF_ACT_HOLD, 0));
	kit_wake(k);
	assert_int_equal(kit_act(k, HF_ACT_ASK)->ask.hint_addr.family, 4);
	kit_down(k, 60000);
	kit_choice(k, H1, HF_WHY_TOKEN);
	kit_fail(k);
	assert_true(kit_act(k, HF_ACT_ASK)->ask.again);
	assert_int_equal(kit_act(k, HF_ACT_ASK)->ask.hint_addr.family, 0);
	kit_choice(k, H2, HF_WHY_BOND);
	assert_int_equal(learnt(k, token)->learn.life, HF_LIFE_CLOSE);
	assert_int_equal(learnt(k, source)->learn.life, HF_LIFE_OPEN);
	assert_false(kit_counted(k, RDP_R_TOKEN_OUTSIDE));
	kit_end(k);
	assert_non_null(learnt(k, source));
	assert_null(learnt(k, token));
	forget(k);
	free(k);
}

/* A token's host was passed over because it drains: the bond that is learnt goes to the new one, whoever has it. Fails without `left` in ask_choice. */
static void test_token_host_left(void **state)
{
	struct kit *k = kit_new();
	uint64_t source = fp(k, "source", "192.0.2.51");

	(void)state;
	for (unsigned left = 0; left < 2; left++) {
		ask_for(k, "192.0.2.51:1", TOKEN("673059850.15629.0000"));
		k->chosen.left = left;
		kit_choice(k, H2, HF_WHY_HOME);
		assert_int_equal(learnt(k, source)->learn.server, H2);
		assert_int_equal(learnt(k, source)->learn.move, left);
		assert_int_equal(kit_counted(k, RDP_R_TOKEN_OUTSIDE), !left);
		forget(k);
	}
	free(k);
}

/* A client that drops the token of a redirect comes back by its name, again and again: it is refused, and counted where its bond is, which stays. A flow is
 * brief when it came by its name alone, had proved itself, lasted 0.2 to 3 seconds, and ended neither by its host's connection nor by us. Fails without loops() or without a condition of close_entry. */
static void test_redirect_loop(void **state)
{
	static const struct { const char *variable; bool proves; unsigned reason; uint32_t lasts_ms, told; } rows[] = {
		{USER("alice"), true, HF_R_DONE, 2000, 2000}, {USER("alice"), true, HF_R_DONE, 200, 200}, {USER("alice"), true, HF_R_DONE, 199, 0},
		{USER("alice"), true, HF_R_DONE, 2999, 2999}, {USER("alice"), true, HF_R_DONE, 3000, 0}, {USER("alice"), false, HF_R_DONE, 2000, 0},
		{NEG, true, HF_R_DONE, 2000, 0}, {TOKEN("673059850.15629.0000"), true, HF_R_DONE, 2000, 0}, {USER("alice"), true, HF_R_CLIENT_ERROR, 2000, 2000},
		{USER("alice"), true, HF_R_SERVER_ERROR, 2000, 0}, {USER("alice"), true, HF_R_SHUTDOWN, 2000, 0},
	};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint64_t entry = ask_for(k, "192.0.2.51:1", rows[i].variable)->key.fp;

		kit_choice(k, H1, HF_WHY_HOME);
		kit_server(k, CONFIRM, false);
		if (rows[i].proves)
			kit_wake(k);
		k->ctx.now_ms += rows[i].lasts_ms;
		kit_step(k, (struct hf_event){.kind = HF_EV_END, .reason = rows[i].reason});
		assert_int_equal(learnt(k, entry)->learn.lasted_ms, rows[i].told);
		forget(k);
	}
	for (unsigned row = 4; row < 7; row++) {
		ask_for(k, "192.0.2.51:1", USER("alice"));
		k->chosen.known = true;
		k->chosen.row = row;
		kit_choice(k, H1, HF_WHY_BOND);
		if (row < 5) {
			assert_int_equal(kit_act(k, HF_ACT_SEND)->send.to, HF_TO_SERVER);
		} else {
			refused(k, RDP_R_REDIRECT_LOOP);
			kit_end(k);
			assert_true(k->acts.n == 1 && learnt(k, fp(k, "user", "alice"))->learn.life == HF_LIFE_CLOSE && !learnt(k, fp(k, "user", "alice"))->learn.flags);
		}
		forget(k);
	}
	k->conf.redirect_rounds = 0;
	ask_for(k, "192.0.2.51:1", USER("alice"));
	k->chosen.row = 200;
	kit_choice(k, H1, HF_WHY_BOND);
	assert_int_equal(kit_act(k, HF_ACT_SEND)->send.to, HF_TO_SERVER);
	forget(k);
	free(k);
}

/* A client that leaves while it is held is let go. */
static void test_leaves_while_held(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	ask_for(k, "192.0.2.51:1", USER("alice"));
	kit_choice(k, H1, HF_WHY_BOND);
	kit_fail(k);
	kit_client(k, k->client, true);
	assert_int_equal(kit_act(k, HF_ACT_CLOSE)->end.reason, HF_R_CLIENT_CLOSED);
	forget(k);
	free(k);
}

/* ---- what the host answers ---- */

/* h10: a host that refuses what the client offers says so to the client, octet for octet, and is who is counted; the bond that led there stays as it was, and
 * nobody else is asked. Fails without `found` in close_entry, or when another answer than a Confirm makes a bond firm. */
static void h10_refused_by_the_host(void **state)
{
	struct kit *k = kit_new();
	const struct hf_act *a;

	(void)state;
	ask_for(k, "192.0.2.51:1", "\"Cookie: mstshash=carol\" 0d0a 01020800 1b000000");
	k->chosen.known = true;
	kit_choice(k, H1, HF_WHY_BOND);
	assert_true(kit_act(k, HF_ACT_SEND)->send.server == H1 && !kit_act(k, HF_ACT_SEND)->send.base.p && !kit_act(k, HF_ACT_SEND)->send.n_splices);
	kit_server(k, "03000013 0ed00000123400 0300080002000000", false);
	assert_true(kit_counted(k, RDP_R_NEG_FAILURE) && !kit_nth(k, HF_ACT_ASK, 0) && !kit_nth(k, HF_ACT_LEARN, 0));
	assert_true(kit_act(k, HF_ACT_RELAY)->relay.mark == 0 && kit_act(k, HF_ACT_RELAY)->relay.server_used == 0);
	kit_end(k);
	a = learnt(k, fp(k, "user", "carol"));
	assert_true(k->acts.n == 1 && a && a->learn.life == HF_LIFE_CLOSE && a->learn.flags == 0 && !a->learn.move);
	forget(k);
	free(k);
}

/* r16, r50 and the mixed farm: refusals and strangers pass as they came and make no session; a bond made for them ends tentative. */
static void r50_no_session(void **state)
{
	static const struct { const char *octets; unsigned reason; bool eof; } rows[] = {
		{"03000013 0ed00000123400 0300080005000000", RDP_R_NEG_FAILURE, false}, {"0300000b 06800000000000", RDP_R_NO_CONFIRM, false},
		{"160301", RDP_R_NO_CONFIRM, false}, {"0300", RDP_R_NO_CONFIRM, true},
	};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		ask_for(k, "192.0.2.51:1", USER("alice"));
		kit_choice(k, H1, HF_WHY_HOME);
		kit_server(k, rows[i].octets, rows[i].eof);
		assert_true(kit_counted(k, rows[i].reason));
		assert_int_equal(kit_act(k, HF_ACT_RELAY)->relay.mark, 0);
		kit_end(k);
		assert_int_equal(k->acts.n, 1);
		assert_int_equal(k->acts.a[0].learn.life, HF_LIFE_CLOSE);
		assert_int_equal(k->acts.a[0].learn.flags, HF_TENTATIVE);
		forget(k);
	}
	ask_for(k, "192.0.2.51:1", USER("alice"));
	kit_choice(k, H1, HF_WHY_HOME);
	kit_server(k, "", true);
	assert_int_equal(kit_act(k, HF_ACT_CLOSE)->end.reason, HF_R_SERVER_CLOSED);
	forget(k);
	free(k);
}

/* ---- the rest of the contract ---- */

/* The linger in force when a flow ends is what counts, not that of its start. */
static void test_linger_reloaded(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	kit_session(k, "192.0.2.51:1", USER("alice"), H1, HF_WHY_HOME);
	k->conf.linger = 7000;
	kit_end(k);
	assert_int_equal(learnt(k, fp(k, "user", "alice"))->learn.life_s, 7);
	free(k);
}

static void test_hash_mode(void **state)
{
	struct kit *k = kit_new();

	(void)state;
	k->ctx.hash_mode = true;
	assert_int_equal(ask_for(k, "192.0.2.51:1", USER("alice"))->life_s, 32);
	forget(k);
	free(k);
}

static void test_probe(void **state)
{
	uint8_t buf[32];
	struct hf_writer w = hf_writer_on(buf, sizeof buf), small = hf_writer_on(buf, 18);
	static const struct { const char *octets; enum hf_probe_result is; } rows[] = {
		{"", HF_PROBE_MORE}, {CONFIRM, HF_PROBE_OK}, {"03000013 0ed00000123400 0300080005000000", HF_PROBE_OK}, {"0300000b 06800000000000", HF_PROBE_FAILED},
		{"\"SSH-2.0\"", HF_PROBE_FAILED},
	};
	struct hf_bytes v2 = hex("0300 0013 0EE0 0000 0000 0001 0008 000B 0000 00");

	(void)state;
	assert_true(hf_rdp_front.probe_write(NULL, NULL, &w));
	assert_true(hf_bytes_eq(hf_writer_view(&w), v2));
	done(v2);
	assert_false(hf_rdp_front.probe_write(NULL, NULL, &small));
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes b = hex(rows[i].octets);
		uint32_t busy;

		assert_int_equal(hf_rdp_front.probe_read(NULL, NULL, b, &busy), rows[i].is);
		done(b);
	}
}

/* What an operator types is the key that messages give, and what a table shows can be typed. */
static void test_key_read(void **state)
{
	static const struct { const char *text, *kind, *octets; } rows[] = {
		{"alice", "user", "alice"}, {"user:LAB\\alice", "user", "alice"}, {"USER:Alice@lab.example", "user", "alice"},
		{"user:christopher", "user", "christoph"}, {"source:192.0.2.51", "source", "192.0.2.51"}, {"source:2001:DB8::1", "source", "2001:db8::1"},
		{"weak:CONTOSO\\a 192.0.2.51", "weak", "contoso\\a 192.0.2.51"}, {"token:Cookie: msts=7 192.0.2.51", "token", "Cookie: msts=7 192.0.2.51"},
		{"a:b", "user", "a:b"}, {"", NULL, NULL}, {"user:LAB\\", NULL, NULL}, {"source:alice", NULL, NULL}, {"weak:a", NULL, NULL},
		{"weak: 192.0.2.51", NULL, NULL}, {"token:192.0.2.51", NULL, NULL},
	};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_key key = {0};
		enum hf_err e;

		hf_arena_reset(&k->arena);
		e = hf_rdp_front.key_read(&k->ctx, hf_bytes_str(rows[i].text), &key);
		if ((e == HF_OK) != (rows[i].kind != NULL) || (rows[i].kind && key.fp != fp(k, rows[i].kind, rows[i].octets)))
			fail_msg("'%s'", rows[i].text);
	}
	kit_key(k, "token source");
	hf_arena_reset(&k->arena);
	{
		struct hf_key key;

		/* a slip of a kind is no user; behind its kind it is */
		assert_int_equal(hf_rdp_front.key_read(&k->ctx, HF_LIT("usr:alice"), &key), HF_ENOENT);
		assert_true(hf_bytes_eq(key.text, HF_LIT("user")));
		assert_int_equal(hf_rdp_front.key_read(&k->ctx, HF_LIT("Soruce:192.0.2.51"), &key), HF_ENOENT);
		assert_true(hf_bytes_eq(key.text, HF_LIT("source")));
		assert_int_equal(hf_rdp_front.key_read(&k->ctx, HF_LIT("user:usr:alice"), &key), HF_OK);

		assert_int_equal(hf_rdp_front.key_read(&k->ctx, HF_LIT("192.0.2.51"), &key), HF_OK);
		assert_true(key.fp == fp(k, "source", "192.0.2.51"));
	}
	free(k);
}

/* A full arena costs the text of a key, never the way: fingerprints are the same. Fails when memory is taken for granted. */
static void test_starved(void **state)
{
	static const char *const variables[] = {USER("alice"), USER("CONTOSO\\a"), TOKEN("673059850.15629.0000"), TOKEN("2915407823"), NEG};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < sizeof variables / sizeof variables[0]; i++) {
		struct hf_bytes r = request(variables[i]);
		struct hf_ask full = *kit_ask(k, r);

		for (long n = 0; n <= 4; n++) {
			struct hf_ask q;

			kit_flow(k, "192.0.2.51:40000");
			k->arena.fail_at = n;
			k->arena.cap = n ? sizeof k->memory : 0;
			q = *kit_ask(k, r);
			assert_true(q.key.fp == full.key.fp && q.refs[0].fp == full.refs[0].fp && q.refs[1].fp == full.refs[1].fp);
			kit_choice(k, H1, HF_WHY_HOME);
			assert_non_null(kit_nth(k, HF_ACT_SEND, 0));
			kit_server(k, CONFIRM, false);
			kit_wake(k);
			kit_end(k);
			assert_non_null(kit_nth(k, HF_ACT_LEARN, 0));
			k->arena.fail_at = 0;
			k->arena.cap = sizeof k->memory;
		}
		kit_flow(k, "192.0.2.51:40000");
		done(r);
	}
	free(k);
}

/* What the front declares: reasons for all, a probe's name, its defaults. */
static void test_front(void **state)
{
	(void)state;
	assert_int_equal(hf_rdp_front.n_reasons, RDP_REASONS_N);
	assert_string_equal(hf_rdp_front.reasons[RDP_R_LI_MISMATCH - HF_REASON_FRONT].name, "li-mismatch");
	assert_string_equal(hf_rdp_front.probe_name, "confirm");
	assert_true(hf_rdp_front.port == 3389 && hf_rdp_front.server_transport == HF_TCP && !hf_rdp_front.datagrams);
	{ /* r61: nobody is knocked at unless asked for; r25: and who is away for nine hours is still a user of his host */
		const struct hf_option *linger = rdp_options;
		bool quiet = false;

		for (unsigned i = 0; i < hf_rdp_front.n_defaults; i++)
			quiet |= strcmp(hf_rdp_front.defaults[i].option, "probe") == 0 && strcmp(hf_rdp_front.defaults[i].value, "none") == 0;
		assert_true(quiet);
		while (strcmp(linger->name, "linger") != 0)
			linger++;
		assert_string_equal(linger->dflt, "24h");
	}
	{ /* r37: whose token can name a member by its address, and who looks at tokens at all. Fails without either half of hint_word */
		struct rdp_conf by_token = {.key = {.n = 2, .kind = {RDP_BY_USER, RDP_BY_TOKEN}}}, by_user = {.key = {.n = 1, .kind = {RDP_BY_USER}}};

		assert_true(hf_rdp_front.hint_word(&by_token, 4) && hf_rdp_front.hint_word(&by_token, 0));
		assert_true(!hf_rdp_front.hint_word(&by_token, 6) && !hf_rdp_front.hint_word(&by_user, 4));
	}
	assert_true(hf_rdp_front.max_opening >= X224_MAX && hf_rdp_front.conf_size == sizeof(struct rdp_conf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life), cmocka_unit_test(r01_no_cookie), cmocka_unit_test(r13_cut), cmocka_unit_test(r14_surplus),
		cmocka_unit_test(test_ends_of_openings), cmocka_unit_test(test_end_without_entry), cmocka_unit_test(r17_source_after_user),
		cmocka_unit_test(r18_no_cookies_at_all), cmocka_unit_test(r20_weak_names), cmocka_unit_test(r20_shared_names), cmocka_unit_test(test_short_names), cmocka_unit_test(test_cut_names), cmocka_unit_test(r21_one_bond), cmocka_unit_test(r22_nine_octets),
		cmocka_unit_test(r25_long_names), cmocka_unit_test(test_unusable_names), cmocka_unit_test(test_chain),
		cmocka_unit_test(r33_address_token), cmocka_unit_test(r34_foreign_token), cmocka_unit_test(r37_another_port), cmocka_unit_test(test_overflow), cmocka_unit_test(test_handle),
		cmocka_unit_test(r05_other_lines), cmocka_unit_test(test_token_and_cookie), cmocka_unit_test(r60_next_candidate),
		cmocka_unit_test(test_dial_limit), cmocka_unit_test(test_hold), cmocka_unit_test(test_hold_then_up), cmocka_unit_test(test_move),
		cmocka_unit_test(test_token_host_down), cmocka_unit_test(test_token_host_left), cmocka_unit_test(test_redirect_loop), cmocka_unit_test(test_leaves_while_held), cmocka_unit_test(h10_refused_by_the_host), cmocka_unit_test(r50_no_session),
		cmocka_unit_test(test_hash_mode), cmocka_unit_test(test_linger_reloaded), cmocka_unit_test(test_probe), cmocka_unit_test(test_key_read), cmocka_unit_test(test_starved),
		cmocka_unit_test(test_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
