/* What may stand before or in place of a request, where a service allows it; and what it asks of a request. */
#include "kit.h"
#include "opening.h"

enum { H1 = 0x11 };

/* MS-RDPEPS 2.2.1.2: version 1 with Id 5; 2.2.1.3: version 2 with the two characters "v1" and their end */
#define V1 "10000000 00000000 01000000 05000000"
#define V2 "18000000 00000000 02000000 00000000 0300 7600 3100 0000"
#define REQUEST "0300000b 06e00000000000"
#define HELLO "1603010005 01000001 ff"

static struct rdp_conf forwards = {.pre_connection = RDP_BLOB_FORWARD}, directs = {.direct_tls = RDP_DIRECT_SOURCE},
		       both = {.pre_connection = RDP_BLOB_FORWARD, .direct_tls = RDP_DIRECT_SOURCE}, none;

/* Each row whole and in every cut, which waits for no octet that the verdict does not need: none behind the blob's own, and of what is no TLS for the
 * second alone. */
static void r_blobs(void **state)
{
	static const struct { const struct rdp_conf *conf; const char *octets; unsigned end; size_t blob; bool direct; } rows[] = {
		{&forwards, V1 REQUEST, 0, 16, false}, {&forwards, V2 REQUEST, 0, 24, false}, {&forwards, REQUEST, 0, 0, false}, {&both, V2 HELLO, 0, 24, true},
		{&both, HELLO, 0, 0, true}, {&directs, HELLO, 0, 0, true}, {&directs, REQUEST, 0, 0, false},
		{&forwards, "03010000 00000000 02000000 00000000 7800 78*241 " REQUEST, RDP_R_BLOB, 0, false}, /* a first octet of 3: size 259, odd */
		{&forwards, "04010000 00000000 02000000 00000000 7900 78*242 " REQUEST, 0, 260, false},
		{&forwards, "10000000 00000000 02000000 05000000", RDP_R_BLOB, 0, false},  /* version 2 has no such size */
		{&forwards, "18000000 00000000 01000000 00000000 0300 7600 3100 0000", RDP_R_BLOB, 0, false},
		{&forwards, "18000000 00000000 02000000 00000000 0400 7600 3100 0000", RDP_R_BLOB, 0, false}, /* characters that are not there */
		{&forwards, "11000000 00000000 01000000 05000000 00", RDP_R_NOT_RDP, 0, false}, {&forwards, "02040000", RDP_R_TPKT_VERSION, 0, false}, /* 17; above the limit */
		{&forwards, V1 V1, RDP_R_NOT_RDP, 0, false}, {&forwards, V1 HELLO, RDP_R_NOT_RDP, 0, false}, {&forwards, V1 "0300000a", RDP_R_TPKT_LENGTH, 0, false},
		{&none, V1, RDP_R_NOT_RDP, 0, false}, {&none, HELLO, RDP_R_NOT_RDP, 0, false},
		{&directs, "1503010002 0228", RDP_R_NOT_RDP, 0, false}, {&directs, "1602", RDP_R_NOT_RDP, 0, false}, {&directs, "1603010005 02000001 ff", RDP_R_NOT_RDP, 0, false},
		{&directs, "1603012001 01000001 ff", RDP_R_NOT_RDP, 0, false}, {&directs, "1603010005 01000002 ff", RDP_R_NOT_RDP, 0, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes all = hex(rows[i].octets);
		struct opening o;
		size_t need;
		unsigned end = opening_read(rows[i].conf, all, &o, &need);

		if (end != rows[i].end || (!end && (o.blob != rows[i].blob || o.direct != rows[i].direct)))
			fail_msg("%s: %u, blob %zu", rows[i].octets, end, o.blob);
		for (size_t n = 0; n < all.n; n++) {
			uint8_t *p = malloc(n ? n : 1);
			unsigned early;

			memcpy(p, all.p, n);
			early = opening_read(rows[i].conf, hf_bytes_of(p, n), &o, &need);
			if (early == X224_WAIT ? need <= n || need > all.n : early != end)
				fail_msg("%s cut at %zu: %u, %zu more", rows[i].octets, n, early, need);
			free(p);
		}
		done(all);
	}
}

/* The blob goes with the request as it came, whose name is the key; it is read again likewise, whatever a reload has said meanwhile. */
static void forwarded(void **state)
{
	struct kit *k = kit_new();
	struct hf_bytes r = hex(V2 "0300002b 26e00000000000 \"Cookie: mstshash=alice\" 0d0a " NEG);

	(void)state;
	k->conf.pre_connection = RDP_BLOB_FORWARD;
	assert_true(kit_ask(k, r)->key.fp == fp(k, "user", "alice"));
	k->conf.pre_connection = RDP_BLOB_OFF;
	kit_choice(k, H1, HF_WHY_BOND);
	assert_true(!kit_act(k, HF_ACT_SEND)->send.base.p && !kit_act(k, HF_ACT_SEND)->send.n_splices);
	kit_fail(k);
	kit_wake(k);
	assert_true(kit_act(k, HF_ACT_ASK)->ask.key.fp == fp(k, "user", "alice"));
	kit_choice(k, H1, HF_WHY_BOND);
	kit_server(k, CONFIRM, false);
	assert_int_equal(kit_act(k, HF_ACT_RELAY)->relay.client_used, r.n);
	done(r);
	free(k);
}

/* TLS at once goes by its source; TLS that comes back is a session, and no host is told to the client by an octet that TLS does not have. */
static void direct(void **state)
{
	struct kit *k = kit_new();
	struct hf_bytes h = hex(HELLO);
	uint64_t source = fp(k, "source", "192.0.2.51");

	(void)state;
	k->conf.direct_tls = RDP_DIRECT_SOURCE;
	k->conf.require = RDP_REQUIRE_NLA; /* of which nothing can be seen here: not judged */
	assert_true(kit_ask(k, h)->key.fp == source);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_server(k, "16", false);
	assert_int_equal(kit_act(k, HF_ACT_RELAY)->relay.client_used, h.n);
	assert_int_equal(kit_act(k, HF_ACT_RELAY)->relay.mark, 1024);
	kit_end(k);
	assert_int_equal(learnt(k, source)->learn.flags, 0);

	kit_flow(k, "192.0.2.51:1"); /* an alert, say */
	kit_ask(k, h);
	kit_choice(k, H1, HF_WHY_HOME);
	kit_server(k, "15", false);
	assert_true(kit_counted(k, RDP_R_NO_CONFIRM) && kit_act(k, HF_ACT_RELAY)->relay.mark == 0);

	kit_flow(k, "192.0.2.51:1");
	kit_ask(k, h);
	kit_choice(k, 0, HF_WHY_NONE);
	assert_true(k->acts.n == 1 && kit_act(k, HF_ACT_CLOSE)->end.reason == HF_R_NO_SERVER);
	done(h);
	free(k);
}

/* r16: who offers too little is told by exactly 19 octets, then closed; who sent no negotiation block would not understand them. */
static void r16_require(void **state)
{
	static const struct { uint64_t require; const char *variable; int code; } rows[] = {
		{RDP_REQUIRE_NLA, "01000800 01000000", 5}, {RDP_REQUIRE_NLA, "01000800 00000000", 5}, {RDP_REQUIRE_NLA, "01000800 0b000000", 0}, {RDP_REQUIRE_NLA, "01000800 08000000", 0},
		{RDP_REQUIRE_NLA, "01000800 04000000", 0}, {RDP_REQUIRE_NLA, "01000800 10000000", 0}, {RDP_REQUIRE_TLS, "01000800 00000000", 1}, {RDP_REQUIRE_TLS, "01000800 01000000", 0},
		{RDP_REQUIRE_TLS, "01000800 02000000", 0}, {RDP_REQUIRE_TLS, "01000800 04000000", 0}, {RDP_REQUIRE_TLS, "01000800 08000000", 0}, {RDP_REQUIRE_TLS, "01000800 10000000", 0}, {RDP_REQUIRE_TLS, "", -1}, {RDP_REQUIRE_NLA, "", -1}, {RDP_REQUIRE_ANY, "", 0}, {RDP_REQUIRE_ANY, "01000800 00000000", 0},
	};
	struct kit *k = kit_new();

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t failure[19] = {3, 0, 0, 19, 14, 0xd0, 0, 0, 0x12, 0x34, 0, 3, 0, 8, 0, (uint8_t)rows[i].code};
		struct hf_bytes r = request(rows[i].variable), said;

		k->conf.require = rows[i].require;
		kit_flow(k, "192.0.2.51:1");
		kit_client(k, r, false);
		done(r);
		k->client = HF_NONE;
		if (!rows[i].code) {
			assert_non_null(kit_nth(k, HF_ACT_ASK, 0));
			continue;
		}
		assert_int_equal(k->acts.n, 2);
		said = k->acts.a[0].send.base;
		assert_true(k->acts.a[0].send.to == HF_TO_CLIENT && k->acts.a[1].end.reason == RDP_R_SECURITY);
		assert_true(hf_bytes_eq(said, rows[i].code > 0 ? hf_bytes_of(failure, sizeof failure) : hf_bytes_of(x224_refusal, sizeof x224_refusal)));
	}
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(r_blobs), cmocka_unit_test(forwarded), cmocka_unit_test(direct), cmocka_unit_test(r16_require)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
