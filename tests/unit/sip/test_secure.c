/* TLS as the front sees it: what our headers say, what sips: may go over, where a server's request to such a URI goes. */
#include "stream_bench.h"

#define TLS_PHONE "192.0.2.51:40003"

static struct line tls;

/* UDP, TCP and TLS at 192.0.2.1; a phone on TLS. */
static int secure(void **state)
{
	setup(state);
	kit_listener(&k, 2, "tls://192.0.2.1:5061", false);
	line_open(&tls, &k, &k.listeners[2], TLS_PHONE, 5);
	tls.ev.transport = HF_TLS;
	return 0;
}

static int end(void **state)
{
	line_close(&tls);
	return teardown(state);
}

static void over_tls(void)
{
	k.chosen.transport = HF_TLS;
	k.chosen.out = &k.listeners[2];
	k.chosen.out_addr = k.listeners[2].addr;
}

static const char *invite(const char *uri)
{
	return kit_request((struct kit_request){.method = "INVITE", .uri = uri, .via = "SIP/2.0/TLS 192.0.2.51;branch=z9hG4bK1"});
}

static void has(const char *part)
{
	if (!kit_says(&k, part))
		fail_msg("no \"%s\" in:\n%s", part, k.out);
}

/* Fails when a port is left out, or a side is named by what the other side speaks (case b23; RFC 3261 16.6 steps 4 and 8, RFC 5658). */
static void headers(void **state)
{
	(void)state;
	line_feed(&tls, invite("sip:bob@example.com"));
	has("Via: SIP/2.0/UDP 192.0.2.1:5060;");
	has("@192.0.2.1:5060;lr>" CRLF "Record-Route: <sip:hfd-");
	has("@192.0.2.1:5061;transport=tls;lr>" CRLF);
	over_tls();
	line_feed(&tls, invite("sip:bob@example.com"));
	has("Via: SIP/2.0/TLS 192.0.2.1:5061;");
	has("@192.0.2.1:5061;transport=tls;lr>" CRLF "Via:"); /* one */
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE", .via = TCP_VIA}));
	has("@192.0.2.1:5061;transport=tls;lr>" CRLF "Record-Route: <sip:hfd-");
	has("@192.0.2.1:5060;transport=tcp;lr>" CRLF);
}

/* Fails when the usual port of what came over TLS is not 5061 (RFC 3261 18.2.2, 19.1.2). */
static void the_way_back(void **state)
{
	struct hf_addr fallback = kit_addr("192.0.2.51:5061");

	(void)state;
	line_feed(&tls, invite("sip:bob@example.com"));
	kit_feed(&k, PBX1, answer("200 OK"));
	line_is_flow(&k, &tls);
	assert_int_equal(k.send.transport, HF_TLS);
	assert_true(hf_addr_eq(&k.send.addr, &fallback));
}

/* A reload took the listener away: over the connection, and when that is gone nowhere, since it would be in the clear. */
static void its_listener_is_gone(void **state)
{
	(void)state;
	line_feed(&tls, invite("sip:bob@example.com"));
	k.ctx.n_listeners = 2;
	kit_feed(&k, PBX1, answer("200 OK"));
	line_is_flow(&k, &tls);
	assert_int_equal(k.send.addr.port, 0);
}

/* Each line falls without the check of one hop (RFC 3261 26.2.2). */
static void sips(void **state)
{
	static const struct { bool from_tls, to_tls; uint64_t option; const char *out; } t[] = {
		{true, true, SIP_SIPS_TLS, "INVITE sips:"}, {true, false, SIP_SIPS_TLS, "SIP/2.0 416 "}, {false, true, SIP_SIPS_TLS, "SIP/2.0 416 "}, {false, false, SIP_SIPS_TLS, "SIP/2.0 416 "},
		{true, false, SIP_SIPS_TRUSTED, "INVITE sips:"}, {false, true, SIP_SIPS_TRUSTED, "SIP/2.0 416 "},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		k.conf.sips = t[i].option;
		kit_choose(&k, "pbx1", "192.0.2.101:5061");
		if (t[i].to_tls)
			over_tls();
		line_feed(t[i].from_tls ? &tls : &phone, invite("sips:bob@example.com"));
		if (strncmp(k.out, t[i].out, strlen(t[i].out)) != 0)
			fail_msg("%u: %s", i, k.out);
	}
}

/* Fails when we are called safe on a side that is not, or not on one that is (RFC 3261 16.6 step 4). */
static void record_route_is_sips(void **state)
{
	(void)state;
	over_tls();
	line_feed(&tls, invite("sips:bob@example.com"));
	has("Record-Route: <sips:hfd-");
	has("@192.0.2.1:5061;lr>" CRLF "Via:");
	k.conf.sips = SIP_SIPS_TRUSTED;
	kit_choose(&k, "pbx1", "192.0.2.101:5060");
	line_feed(&tls, invite("sips:bob@example.com"));
	has("@192.0.2.1:5060;lr>" CRLF "Record-Route: <sips:hfd-");
	assert_null(strstr(strstr(k.out, "<sips:hfd-") + 1, "<sips:hfd-"));
}

/* A dialog over sips: comes back to its server by the Route that it was given. */
static void sips_route_is_ours(void **state)
{
	char route[200];

	(void)state;
	over_tls();
	line_feed(&tls, invite("sips:bob@example.com"));
	kit_route(&k, route, sizeof route);
	line_feed(&tls, kit_request((struct kit_request){.method = "BYE", .uri = "sips:bob@192.0.2.101", .to_tag = "b1", .extra = route, .via = "SIP/2.0/TLS 192.0.2.51;branch=z9hG4bK2"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	assert_false(kit_says(&k, "Route:"));
	line_feed(&tls, kit_request((struct kit_request){.method = "INVITE", .extra = "Route: <sip:192.0.2.1;transport=tls;lr>" CRLF, .via = "SIP/2.0/TLS 192.0.2.51;branch=z9hG4bK3"}));
	assert_false(kit_says(&k, CRLF "Route:")); /* ours, at the usual port */
}

/* Where a server's request goes: each line falls without its row of what a URI is reached over (RFC 3263 4.1). */
static void next_hops(void **state)
{
	static const struct { const char *uri, *to; enum hf_transport over; unsigned reason; } t[] = {
		{"sip:alice@192.0.2.51;transport=tls", "192.0.2.51:5061", HF_TLS, 0}, {"sip:alice@192.0.2.51:7;transport=TLS", "192.0.2.51:7", HF_TLS, 0},
		{"sips:alice@192.0.2.51", "192.0.2.51:5061", HF_TLS, 0}, {"sips:alice@192.0.2.51;transport=tcp", "192.0.2.51:5061", HF_TLS, 0},
		{"sips:alice@192.0.2.51;transport=udp", NULL, HF_UDP, SIP_R_UNREACHABLE}, {"sip:alice@192.0.2.51", "192.0.2.51:5060", HF_UDP, 0},
		{"sips:alice@192.0.2.1", NULL, HF_UDP, 0},
	};

	(void)state;
	line_dialled(&link, &k, &k.listeners[2], "192.0.2.101:5061", "pbx1", 9);
	link.ev.transport = HF_TLS;
	over_tls();
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = t[i].uri, .from_tag = "s1", .via = "SIP/2.0/TLS 192.0.2.101;branch=z9hG4bKs"}));
		if (t[i].to) {
			kit_sent_to(&k, HF_TO_NEXT_HOP, t[i].to);
			assert_int_equal(k.send.transport, t[i].over);
		} else if (t[i].reason) {
			assert_int_equal(k.reason, t[i].reason);
		} else {
			assert_int_equal(k.send.to, HF_TO_SERVER); /* ourselves: balanced */
		}
	}
}

/* Without an inner hop that is safe a server's sips: request goes outward only where the operator trusts it, and then over TLS. */
static void outward_from_a_trusted_hop(void **state)
{
	(void)state;
	for (unsigned trusted = 0; trusted < 2; trusted++) {
		k.conf.sips = trusted ? SIP_SIPS_TRUSTED : SIP_SIPS_TLS;
		kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sips:alice@192.0.2.51", .from_tag = "s1", .via = "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKs"}));
		assert_int_equal(strncmp(k.out, trusted ? "INVITE sips:" : "SIP/2.0 416 ", 12), 0);
		assert_true(!trusted || k.send.transport == HF_TLS);
	}
}

int main(void)
{
#define S(name) cmocka_unit_test_setup_teardown(name, secure, end)
	const struct CMUnitTest tests[] = {S(headers), S(the_way_back), S(its_listener_is_gone), S(sips), S(record_route_is_sips), S(sips_route_is_ours), S(next_hops), S(outward_from_a_trusted_hop)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
