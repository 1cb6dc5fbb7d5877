/* Bonds of users (`key = user`): what registrars' answers and servers' requests bind, to whom, and for how long. */
#include "front_kit.h"

static struct kit k;
static int setup(void **state) { (void)state; kit_init(&k); kit_custom(&k, "key", "user call-id"); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PHONE "192.0.2.51:5060"
#define PBX1 "192.0.2.101:5060"
#define PBX2 "192.0.2.102:5060"

static uint64_t user(const char *name) { return hf_fingerprint(k.site.hash_key, HF_LIT("user"), hf_bytes_str(name), 80); }

/* The lessons about a user's key in the last step. */
static unsigned lessons(const struct hf_act **first, const struct hf_act **last)
{
	unsigned n = 0;

	*first = *last = &k.learnt[0];
	for (unsigned i = 0; i < k.n_learnt; i++) {
		if (!(k.learnt[i].learn.flags & HF_BOND))
			continue;
		*last = &k.learnt[i];
		if (n++ == 0)
			*first = &k.learnt[i];
	}
	return n;
}

static uint64_t registration(const char *call_id_cseq) { return hf_fingerprint(k.site.hash_key, HF_LIT("register"), hf_bytes_str(call_id_cseq), SIZE_MAX); }

/* The last step makes a key's entry at pbx2, for 32 s, that counts nothing. */
static bool remembers(uint64_t key)
{
	for (unsigned i = 0; i < k.n_learnt; i++) {
		const struct hf_act *a = &k.learnt[i];

		if (a->learn.key.fp == key)
			return a->learn.life == HF_LIFE_START && a->learn.life_s == 32 && !a->learn.flags && a->learn.server == kit_server(&k, "pbx2");
	}
	return false;
}

/* An answer to a REGISTER or the like of bob's, from its server. */
static void answered(const char *method, const char *status, const char *extra)
{
	kit_choose(&k, "pbx2", PBX2);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = method, .uri = "sip:example.com", .extra = "Contact: <sip:bob@192.0.2.51>" CRLF "Expires: 7200" CRLF}));
	kit_feed(&k, PBX2, kit_answer(&k, status, "t", extra));
	assert_int_equal(k.n_sent, 1);
}

/* A bond of `seconds` at pbx2, exactly. */
static void bound(const char *status, const char *extra, uint32_t seconds)
{
	const struct hf_act *sets, *makes;

	answered("REGISTER", status, extra);
	if (lessons(&sets, &makes) != 2)
		fail_msg("%s: %u lessons", extra, k.n_learnt);
	assert_int_equal(sets->learn.life, HF_LIFE_LINGER);
	assert_int_equal(makes->learn.life, HF_LIFE_START);
	assert_true(makes->learn.key.fp == user("bob") && sets->learn.key.fp == user("bob") && hf_bytes_eq(makes->learn.key.text, HF_LIT("user:bob")));
	assert_true(makes->learn.server == kit_server(&k, "pbx2") && makes->learn.move && makes->learn.flags == HF_BOND);
	assert_int_equal(k.ask.key.fp, registration("c1 1")); /* what renews goes by the bond, what is sent again does not */
	if (makes->learn.life_s != seconds || sets->learn.life_s != seconds)
		fail_msg("%s: %u s", extra, makes->learn.life_s);
}

/* The life is what the 200 grants, the longest Contact's, never what was asked for (7200 here); fails where the header's is taken first. */
static void b145_granted_expiry(void **state)
{
	const struct hf_act *one, *last;

	(void)state;
	bound("200 OK", "Contact: <sip:bob@192.0.2.51>;expires=30" CRLF, 62);
	bound("200 OK", "Contact: <sip:bob@192.0.2.51>;expires=30" CRLF "Expires: 600" CRLF, 62);
	bound("200 OK", "m: \"B, o;expires=9\" <sip:bob@192.0.2.51;expires=8>;q=0.5;Expires=120 , <sip:b@h>;expires=90" CRLF, 152);
	bound("200 OK", "Contact: <sip:b@h>;expires=90" CRLF "Contact: <sip:bob@192.0.2.51>" CRLF " ;expires=100" CRLF, 132);
	bound("200 OK", "Contact: <sip:bob@192.0.2.51>" CRLF "Expires: 600" CRLF, 632);
	bound("200 OK", "Contact: sip:bob@192.0.2.51;expires=45" CRLF, 77);
	bound("200 OK", "Contact: <sip:bob@192.0.2.51>" CRLF, 3632);
	bound("200 OK", "Expires: 60" CRLF, 92);
	bound("200 OK", "Contact: <sip:bob@192.0.2.51;expires=5" CRLF "Expires: 60" CRLF, 92); /* not of the form, and registered all the same */
	bound("200 OK", "Contact: <sip:bob@192.0.2.51>;expires=99999999999" CRLF, 86400);

	answered("REGISTER", "200 OK", ""); /* nobody is registered any more */
	assert_int_equal(lessons(&one, &last), 1);
	assert_true(one->learn.life == HF_LIFE_LINGER && one->learn.life_s == 32 && one->learn.key.fp == user("bob"));
	answered("REGISTER", "200 OK", "Contact: <sip:bob@192.0.2.51>;expires=0" CRLF);
	assert_int_equal(lessons(&one, &last), 1);
	assert_true(one->learn.life == HF_LIFE_LINGER && one->learn.life_s == 32);
	k.ctx.hash_mode = true;
	bound("200 OK", "Contact: <sip:bob@192.0.2.51>;expires=300" CRLF, 32);
}

/* Whatever the phone's Call-ID, the request behind a challenge finds the challenger; refusals and other answers bind nobody. */
static void challenges(void **state)
{
	static const char *const none[] = {"100 Trying", "403 Forbidden", "404 Not Found", "503 Service Unavailable"};
	const struct hf_act *a, *b;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		answered("REGISTER", i ? "407 Proxy Authentication Required" : "401 Unauthorized", "WWW-Authenticate: Digest realm=\"x\", nonce=\"1\"" CRLF);
		assert_int_equal(lessons(&a, &b), 1);
		assert_true(a->learn.life == HF_LIFE_START && a->learn.life_s == 32 && a->learn.server == kit_server(&k, "pbx2") && !a->learn.move);
		assert_true(remembers(registration("c1 2")) && k.ask.key.fp == registration("c1 1")); /* whoever knows the nonce */
	}
	for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
		answered("REGISTER", none[i], "");
		assert_int_equal(lessons(&a, &b), 0);
	}
	answered("MESSAGE", "200 OK", "Expires: 60" CRLF);
	assert_int_equal(lessons(&a, &b), 0);
	kit_custom(&k, "key", "to-user");
	answered("REGISTER", "200 OK", "Contact: <sip:bob@192.0.2.51>;expires=30" CRLF); /* only users are bound */
	assert_int_equal(lessons(&a, &b), 0);
}

/* What a server publishes for a user binds him too, and never shortens what a registration holds. */
static void publications(void **state)
{
	const struct hf_act *a, *b;

	(void)state;
	answered("PUBLISH", "200 OK", "SIP-ETag: 1" CRLF "Expires: 300" CRLF);
	assert_int_equal(lessons(&a, &b), 1);
	assert_true(a->learn.life == HF_LIFE_START && a->learn.life_s == 332 && !a->learn.move && a->learn.server == kit_server(&k, "pbx2"));
	answered("PUBLISH", "200 OK", "Expires: 0" CRLF);
	assert_int_equal(lessons(&a, &b), 0);
}

/* A phone's registration and a call to it are placed by one key, whatever their Call-IDs; by call-id they are two. */
static void b08_registration_and_call(void **state)
{
	(void)state;
	for (unsigned by_user = 0; by_user < 2; by_user++) {
		uint64_t reg, call;

		kit_custom(&k, "key", by_user ? "user" : "call-id");
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "REGISTER", .uri = "sip:example.com", .call_id = "r1"}));
		reg = k.ask.place ? k.ask.place : k.ask.key.fp;
		kit_feed(&k, "192.0.2.52:5060", kit_request((struct kit_request){.method = "INVITE", .call_id = "i1"}));
		call = k.ask.place ? k.ask.place : k.ask.key.fp;
		assert_int_equal(reg == call, by_user);
		assert_int_equal(k.ask.key.fp, hf_fingerprint(k.site.hash_key, HF_LIT("call-id"), HF_LIT("i1"), SIZE_MAX));
	}
}

/* A server's own call, subscription or message binds whom it is for, for its life and the answered call's; what he then sends comes to that
 * server. Pings and what stands in a dialog bind nobody. */
static void b144_what_a_server_opens(void **state)
{
	static const struct { const char *method, *to_tag; uint32_t seconds; } rows[] = {
		{"INVITE", NULL, 200}, {"SUBSCRIBE", NULL, 32}, {"MESSAGE", NULL, 32}, {"REFER", NULL, 32}, {"OPTIONS", NULL, 0}, {"NOTIFY", NULL, 0}, {"INVITE", "b1", 0},
	};
	const struct hf_act *a, *b;

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_feed(&k, PBX1, kit_request((struct kit_request){.method = rows[i].method, .to_tag = rows[i].to_tag, .uri = "sip:bob@192.0.2.52:5062"}));
		kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.52:5062");
		assert_int_equal(lessons(&a, &b), rows[i].seconds ? 1 : 0);
		if (rows[i].seconds)
			assert_true(a->learn.key.fp == user("bob") && a->learn.server == kit_server(&k, "pbx1") && a->learn.life == HF_LIFE_START &&
				    a->learn.life_s == rows[i].seconds && !a->learn.move);
	}
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@192.0.2.52:5062"}));
	kit_feed(&k, "192.0.2.52:5062", kit_answer(&k, "200 OK", "b1", NULL));
	assert_int_equal(lessons(&a, &b), 1);
	assert_true(a->learn.key.fp == user("bob") && a->learn.server == 0 && a->learn.life == HF_LIFE_START && a->learn.life_s == 14400);
	kit_feed(&k, "192.0.2.52:5062", kit_request((struct kit_request){.method = "INVITE", .uri = "sip:carol@example.com", .call_id = "new"}));
	assert_true(k.ask.place == user("carol") && k.ask.place_else == user("alice"));

	kit_custom(&k, "key", "call-id");
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@192.0.2.52:5062"}));
	assert_int_equal(lessons(&a, &b), 0);
}

/* Without memory for the key's text the bond is learnt all the same, or nothing is; the answer goes back in any case. */
static void without_memory(void **state)
{
	char text[4096];

	(void)state;
	answered("REGISTER", "200 OK", "Contact: <sip:bob@192.0.2.51>;expires=30" CRLF);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "REGISTER", .uri = "sip:example.com"}));
	strcpy(text, kit_answer(&k, "200 OK", "t", "Contact: <sip:bob@192.0.2.51>;expires=30" CRLF));
	for (long at = 1;; at++) {
		const struct hf_act *a, *b;

		k.arena.fail_at = at;
		kit_feed(&k, PBX2, text);
		if (k.arena.fail_at)
			break;
		if (lessons(&a, &b))
			assert_int_equal(b->learn.key.fp, user("bob"));
	}
	k.arena.fail_at = 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(b145_granted_expiry), T(challenges), T(publications), T(b08_registration_and_call), T(b144_what_a_server_opens), T(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
