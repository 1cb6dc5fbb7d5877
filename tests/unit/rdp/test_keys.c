/* `key` beyond token, user and source: networks, ports, our address, ids of connections; what is refused; what an operator types. */
#include "kit.h"

enum { H1 = 0x11, H2 = 0x22 };

/* The example of MS-RDPBCGR's correlation block, in a request with flag 08. */
#define ID "a1b2c3d4e5f60718293a4b5c6d7e8f90"
#define WITH_ID "01080800 0b000000 06002400 " ID " 00*16"

/* Each kind, with both families; every row fails without its line of by_evidence or its prefix. */
static void kinds(void **state)
{
	static const struct { const char *key, *source, *variable, *kind, *octets; } rows[] = {
		{"source/24", "192.0.2.51:1", NEG, "source", "192.0.2.0/24"}, {"source/24", "[2001:db8:1:2::51]:1", NEG, "source", "2001:db8:1:2::51"},
		{"source/64", "[2001:db8:1:2::51]:1", NEG, "source", "2001:db8:1:2::/64"}, {"source/64", "192.0.2.51:1", NEG, "source", "192.0.2.51"},
		{"source/20/48", "192.0.31.51:1", NEG, "source", "192.0.16.0/20"}, {"source/20/48", "[2001:db8:1:2::51]:1", NEG, "source", "2001:db8:1::/48"},
		{"source/24", "[::ffff:192.0.2.51]:1", NEG, "source", "192.0.2.0/24"}, {"user source/24", "192.0.2.51:1", USER("alice"), "user", "alice"},
		{"source-port", "192.0.2.51:40000", NEG, "source-port", "192.0.2.51:40000"}, {"source-port", "[2001:db8::51]:7", NEG, "source-port", "[2001:db8::51]:7"},
		{"destination", "192.0.2.51:1", NEG, "destination", "192.0.2.1"}, {"user destination source", "192.0.2.51:1", NEG, "destination", "192.0.2.1"},
		{"correlation", "192.0.2.51:1", WITH_ID, "correlation", ID}, {"user correlation", "192.0.2.51:1", WITH_ID, "correlation", ID},
		{"correlation source", "192.0.2.51:1", NEG, "source", "192.0.2.51"}, {"correlation", "192.0.2.51:1", NEG, NULL, NULL},
	};
	struct kit *k = kit_new();

	(void)state;
	assert_int_equal(hf_addr_read(HF_LIT("192.0.2.1:3389"), 0, &k->listener.addr), HF_OK);
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct hf_ask *q;

		kit_key(k, rows[i].key);
		q = ask_for(k, rows[i].source, rows[i].variable);
		if (q->key.fp != (rows[i].kind ? fp(k, rows[i].kind, rows[i].octets) : 0))
			fail_msg("key = %s from %s: not %s", rows[i].key, rows[i].source, rows[i].octets ? rows[i].octets : "absent");
		forget(k);
	}
	free(k);
}

/* A user's second name is his network when the key says so. */
static void alias_of_a_network(void **state)
{
	struct kit *k = kit_new();
	struct hf_bytes r = request(USER("alice"));

	(void)state;
	kit_key(k, "token user source/24");
	kit_flow(k, "192.0.2.51:1");
	kit_ask(k, r);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_server(k, CONFIRM, false);
	assert_true(learnt(k, fp(k, "users-at", "192.0.2.0/24"))->learn.life == HF_LIFE_OPEN);
	done(r);
	free(k);
}

/* A token beside an id: a handle is looked up before it; free text is learnt by neither, wherever the id leads. And whose id came first is none of those who
 * are counted in a redirect's rounds, nor is one whose host says no known by it. Fails without `refs[0].fp` or `named` in ask.c, with a text that becomes a
 * token's key, or without `confirmed` at the end of an id. */
static void ids_and_others(void **state)
{
	struct kit *k = kit_new();
	uint64_t id = fp(k, "correlation", ID);
	const struct hf_ask *q;

	(void)state;
	kit_key(k, "token correlation user source");
	q = ask_for(k, "192.0.2.51:1", "\"Cookie: msts=7\" 0d0a " WITH_ID);
	assert_true(q->refs[0].fp == fp(k, "token", "Cookie: msts=7 192.0.2.51") && q->refs[1].fp == fp(k, "leg", "192.0.2.51"));
	forget(k);

	q = ask_for(k, "192.0.2.51:1", "\"Cookie: msts=free\" 0d0a " WITH_ID);
	assert_int_equal(q->refs[0].fp, id);
	kit_choice(k, H1, HF_WHY_DIALOG);
	assert_null(kit_nth(k, HF_ACT_LEARN, 0));
	forget(k);

	q = ask_for(k, "192.0.2.51:1", "\"Cookie: mstshash=alice\" 0d0a " WITH_ID);
	assert_true(q->refs[0].fp == id && q->key.fp == fp(k, "user", "alice"));
	k->chosen.row = 9;
	kit_choice(k, H1, HF_WHY_BOND);
	k->chosen.row = 0;
	assert_int_equal(kit_act(k, HF_ACT_SEND)->send.to, HF_TO_SERVER);
	kit_server(k, CONFIRM, false);
	kit_wake(k);
	k->ctx.now_ms += 2000;
	kit_end(k);
	assert_int_equal(learnt(k, fp(k, "user", "alice"))->learn.lasted_ms, 0);
	forget(k);

	kit_key(k, "user correlation source");
	ask_for(k, "192.0.2.51:1", "\"Cookie: mstshash=alice\" 0d0a " WITH_ID);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_server(k, "0300000b 06800000000000", false);
	kit_end(k);
	assert_null(learnt(k, id));
	forget(k);
	free(k);
}

/* An id comes after the user and before the source: it is looked up, the source is the key, and what decided counts the flow. */
static void ids(void **state)
{
	struct kit *k = kit_new();
	uint64_t id = fp(k, "correlation", ID), source = fp(k, "source", "192.0.2.51");
	const struct hf_ask *q;
	const struct hf_act *a;

	(void)state;
	kit_key(k, "token user correlation source");
	q = ask_for(k, "192.0.2.51:1", "\"Cookie: mstshash=alice\" 0d0a " WITH_ID);
	assert_true(q->refs[0].fp == 0 && q->key.fp == fp(k, "user", "alice") && q->life == HF_LIFE_OPEN);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_server(k, CONFIRM, false);
	a = learnt(k, id); /* as long as the session and a moment longer, never counted */
	assert_true(a->learn.life == HF_LIFE_OPEN && a->learn.server == H1 && a->learn.flags == HF_BOND && a->learn.life_s == 10);
	kit_end(k);
	assert_true(learnt(k, id)->learn.life == HF_LIFE_CLOSE && learnt(k, id)->learn.life_s == 10);
	forget(k);

	q = ask_for(k, "192.0.2.51:2", WITH_ID); /* the same connection's next leg, without a name */
	assert_true(q->refs[0].fp == id && q->key.fp == source && q->life == HF_LIFE_NONE);
	kit_choice(k, H1, HF_WHY_DIALOG);
	a = learnt(k, id);
	assert_true(a && !learnt(k, source) && a->learn.life == HF_LIFE_OPEN && a->learn.server == H1 && a->learn.life_s == 10 && a->learn.flags & HF_COUNTED);
	kit_server(k, CONFIRM, false);
	assert_null(learnt(k, id)); /* it is no second name of itself */
	kit_end(k);
	assert_true(learnt(k, id)->learn.life == HF_LIFE_CLOSE && learnt(k, id)->learn.life_s == 10);
	forget(k);

	ask_for(k, "192.0.2.51:3", WITH_ID); /* nobody knows the id: the source decides, and counts it */
	kit_choice(k, H2, HF_WHY_BOND);
	a = learnt(k, source);
	assert_true(a && !learnt(k, id) && a->learn.server == H2 && a->learn.flags & HF_COUNTED && a->learn.life_s == 900);
	kit_server(k, CONFIRM, false);
	assert_true(learnt(k, id)->learn.life == HF_LIFE_OPEN);
	forget(k);

	kit_key(k, "user correlation"); /* an id that is the key itself is of no use once the session is over */
	q = ask_for(k, "192.0.2.51:4", WITH_ID);
	assert_true(q->key.fp == id && q->refs[0].fp == 0 && q->life == HF_LIFE_OPEN && q->life_s == 10);
	forget(k);
	free(k);
}

/* ---- the words ---- */

static void words(void **state)
{
	static const char *const good[] = {"token user source", "user source/24/64 source-port destination correlation token", "SOURCE/1"};
	static const struct { const char *text, *said; } bad[] = {
		{"", "names no key"}, {"users", "nearest: user"}, {"corelation", "nearest: correlation"}, {"user user", "at most once"}, {"source source/24", "at most once"},
		{"user/24", "only source"}, {"source/0", "/1 to /32"}, {"source/129", "/33 to /128"}, {"source/33/64", "IPv4 first"}, {"source/24/", "IPv4 first"}, {"/24", "nearest"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof good / sizeof good[0] + sizeof bad / sizeof bad[0]; i++) {
		bool right = i < sizeof good / sizeof good[0];
		const char *text = right ? good[i] : bad[i - sizeof good / sizeof good[0]].text;
		char why[256] = "";
		struct hf_writer w = hf_writer_on(why, sizeof why - 1);
		struct rdp_chain c;
		enum hf_err e = rdp_options[0].read(hf_bytes_str(text), &c, &w);

		if (right != (e == HF_OK) || (!right && !strstr(why, bad[i - sizeof good / sizeof good[0]].said)))
			fail_msg("'%s': %s", text, why);
	}
}

static void typed(void **state)
{
	static const struct { const char *key, *text, *kind, *octets; } rows[] = {
		{"user source/24/64", "source:192.0.2.51", "source", "192.0.2.0/24"}, {"user source/24/64", "source:192.0.2.0/24", "source", "192.0.2.0/24"},
		{"source/24/64", "2001:db8:1:2::9", "source", "2001:db8:1:2::/64"}, {"source", "source:192.0.2.51/x", NULL, NULL}, {"source", "source:192.0.2.51:7", NULL, NULL},
		{"source/24", "source:192.0.2.9#2", "source", "192.0.2.0/24#2"}, {"source", "source:192.0.2.51#8", "source", "192.0.2.51#8"}, {"source", "source:192.0.2.51#9", NULL, NULL},
		{"source", "source:192.0.2.51#1", NULL, NULL}, {"source", "users-at:192.0.2.51#2", NULL, NULL}, {"source", "users-at:192.0.2.51", "users-at", "192.0.2.51"},
		{"source/24", "unclaimed:192.0.2.9", "unclaimed", "192.0.2.0/24"},
		{"source-port", "192.0.2.51:7", "source-port", "192.0.2.51:7"}, {"source-port", "192.0.2.51", NULL, NULL}, {"token destination", "192.0.2.1", "destination", "192.0.2.1"},
		{"user", "destination:192.0.2.1", "destination", "192.0.2.1"}, {"correlation", ID, "correlation", ID}, {"user", "CORRELATION:A1B2C3D4E5F60718293A4B5C6D7E8F90", "correlation", ID},
		{"user", "correlation:a1", NULL, NULL}, {"token", "192.0.2.51", "source", "192.0.2.51"},
	};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_key key = {0};
		enum hf_err e;

		kit_key(k, rows[i].key);
		hf_arena_reset(&k->arena);
		e = hf_rdp_front.key_read(&k->ctx, hf_bytes_str(rows[i].text), &key);
		if ((e == HF_OK) != (rows[i].kind != NULL) || (rows[i].kind && key.fp != fp(k, rows[i].kind, rows[i].octets)))
			fail_msg("'%s' with key = %s", rows[i].text, rows[i].key);
	}
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kinds), cmocka_unit_test(alias_of_a_network), cmocka_unit_test(ids), cmocka_unit_test(ids_and_others), cmocka_unit_test(words), cmocka_unit_test(typed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
