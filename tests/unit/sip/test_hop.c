/* A server's next hop that is a name (hop.c): what is asked for it, where the answer leads, and what becomes of a request that has waited. */
#include "front_kit.h"

static struct kit k;
static int setup(void **state) { (void)state; kit_init(&k); kit_listener(&k, 1, "tcp://192.0.2.1:5060", false); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PBX1 "192.0.2.101:5060"
#define VIA "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKs"

static void call(const char *uri, const char *extra)
{
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = uri, .from_tag = "s1", .via = VIA, .extra = extra}));
}

static struct hf_found leads_to(const char *addr, enum hf_transport t) { return (struct hf_found){.n = 1, .place = {{kit_addr(addr), t}}}; }

enum { UDP = 1 << HF_UDP, TCP = 1 << HF_TCP, TLS = 1 << HF_TLS };

/* A port means an address, a transport its service, none the services of all that we could leave by (RFC 3263 4.1, 4.2); maddr and Route come before the
 * Request-URI. Fails for each line of ways_of and to_uri that is missing. */
static void asked(void **state)
{
	static const struct { const char *uri, *extra, *host; unsigned ways; uint16_t port; enum hf_transport transport; } rows[] = {
		{"sip:bob@example.net", NULL, "example.net", UDP | TCP, 5060, HF_UDP},
		{"sip:bob@example.net:5070", NULL, "example.net", 0, 5070, HF_UDP},
		{"sip:bob@Example.net;transport=tcp", NULL, "Example.net", TCP, 5060, HF_TCP},
		{"sip:bob@example.net;transport=UDP", NULL, "example.net", UDP, 5060, HF_UDP},
		{"sip:bob@example.net;transport=tls", NULL, "example.net", TLS, 5061, HF_TLS},
		{"sip:bob@example.net;transport=ws", NULL, "example.net", 0, 5060, HF_WS},
		{"sip:bob@example.net:5080;transport=tcp", NULL, "example.net", 0, 5080, HF_TCP},
		{"sip:bob@example.net;maddr=edge.example.net", NULL, "edge.example.net", UDP | TCP, 5060, HF_UDP},
		{"sip:bob@192.0.2.51", "Route: <sip:edge.example.net;lr>" CRLF, "edge.example.net", UDP | TCP, 5060, HF_UDP},
		{"sip:bob@192.0.2.51", "Route: <sip:192.0.2.1;lr>, <sip:edge.example.net:5062>" CRLF, "edge.example.net", 0, 5062, HF_UDP},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		call(rows[i].uri, rows[i].extra);
		assert_true(k.n_sought == 1 && k.n_sent + k.n_dropped + k.n_learnt == 0);
		if (!hf_bytes_eq(k.seek.host, hf_bytes_str(rows[i].host)) || k.seek.ways != rows[i].ways || k.seek.port != rows[i].port || k.seek.transport != rows[i].transport)
			fail_msg("%s asks %.*s, ways %u, port %u, transport %d", rows[i].uri, (int)k.seek.host.n, (const char *)k.seek.host.p, k.seek.ways, k.seek.port, k.seek.transport);
	}
	kit_listener(&k, 0, "tcp://192.0.2.1:5070", false); /* no datagram could leave */
	call("sip:bob@example.net", NULL);
	assert_int_equal(k.seek.ways, TCP);
	for (unsigned i = 0; i < SIP_N_WAYS; i++)
		assert_int_equal(sip_ways[i].transport, i);
}

/* Nobody is asked for a client, for what is ours, and for names that have no address. */
static void not_asked(void **state)
{
	static const char *const uris[] = {"sip:gw.example.com", "sip:bob@x.invalid", "sip:bob@x.INVALID.", "sip:bob@192.0.2.51", "sips:bob@example.net;transport=udp", "tel:+4930123"};

	(void)state;
	for (unsigned i = 0; i < sizeof uris / sizeof *uris; i++) {
		call(uris[i], NULL);
		assert_int_equal(k.n_sought, 0);
	}
	kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@example.net", .extra = "Route: <sip:example.net;lr>" CRLF}));
	assert_int_equal(k.n_sought, 0);
	assert_int_equal(k.send.to, HF_TO_SERVER);
}

/* At once or after it has waited, it goes out alike, as a literal address in its place would. Fails when found() does not look at what has waited, or
 * read_again leaves the side. */
static void goes_on(void **state)
{
	char at_once[4096], literal[4096];
	struct hf_found f = leads_to("192.0.2.51:5077", HF_UDP);

	(void)state;
	call("sip:bob@192.0.2.51:5077", "Record-Route: <sip:p1.example.net;lr>" CRLF);
	strcpy(literal, k.out);
	call("sip:bob@example.net", "Record-Route: <sip:p1.example.net;lr>" CRLF);
	kit_found(&k, &f, false);
	kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5077");
	assert_int_equal(k.n_learnt, 1);
	assert_true(hf_bytes_eq(k.send.host, HF_LIT("example.net")));
	strcpy(at_once, k.out);
	call("sip:bob@example.net", "Record-Route: <sip:p1.example.net;lr>" CRLF);
	kit_found(&k, &f, true);
	kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5077");
	assert_int_equal(k.n_learnt, 1);
	kit_wants(&k, at_once);
	assert_non_null(strstr(literal, "Record-Route: <sip:hfd-46"));
	assert_string_equal(strstr(literal, "Record-Route:"), strstr(at_once, "Record-Route:"));

	f.place[0].transport = HF_TCP; /* what SRV says of the transport is what our Via says */
	kit_found(&k, &f, true);
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.1:5060;") && kit_says(&k, "transport=tcp;lr>"));
	assert_int_equal(k.send.transport, HF_TCP);
}

/* The first place that can be reached; if one is ourselves the name is ours, and the request is balanced. Fails when sip_hop_found takes the first, and
 * when it looks no further than that. */
static void the_place(void **state)
{
	struct hf_found f = {.n = 3, .place = {{kit_addr("[2001:db8::51]:5060"), HF_UDP}, {kit_addr("224.0.1.75:5060"), HF_UDP}, {kit_addr("192.0.2.52:5060"), HF_UDP}}};

	(void)state;
	call("sip:bob@example.net", NULL);
	kit_found(&k, &f, true);
	kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.52:5060");
	f.place[1].addr = kit_addr("192.0.2.53:5060");
	f.place[2].addr = kit_addr("192.0.2.1:5060");
	for (int waited = 0; waited < 2; waited++) {
		call("sip:bob@example.net", NULL);
		kit_found(&k, &f, waited);
		assert_int_equal(k.n_asked, 1);
		assert_int_equal(k.send.to, HF_TO_SERVER);
	}
	f.n = 1;
	call("sip:bob@example.net", NULL);
	kit_found(&k, &f, true);
	assert_int_equal(k.reason, SIP_R_UNREACHABLE);
	assert_int_equal(strncmp(k.out, "SIP/2.0 503 ", 12), 0);
}

/* Nowhere: 503, to where it came from; an ACK is dropped (B66). What net says why is counted. */
static void nowhere(void **state)
{
	static const unsigned why[] = {HF_R_UNRESOLVED, HF_R_SEEK_LIMIT, HF_R_HOLD_LIMIT, HF_R_NOT_A_MEMBER};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof why / sizeof *why; i++) {
		const struct hf_found f = {.reason = why[i / 2]};

		call("sip:bob@example.net", NULL);
		kit_found(&k, &f, i % 2);
		assert_int_equal(k.reason, f.reason);
		assert_int_equal(strncmp(k.out, "SIP/2.0 503 ", 12), 0);
		kit_sent_to(&k, HF_TO_RETURN, PBX1);
		assert_int_equal(k.n_learnt, 0);
		kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "ACK", .uri = "sip:bob@example.net", .from_tag = "s1", .to_tag = "b9", .via = VIA}));
		kit_found(&k, &f, i % 2);
		assert_true(k.n_sent == 0 && k.reason == SIP_R_ACK);
	}
}

/* What is over a connection is answered over it after the wait, by its name. Fails when `late` is not kept for the steps behind FOUND. */
static void over_a_connection(void **state)
{
	const char *text = kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@example.net", .from_tag = "s1", .via = "SIP/2.0/TCP 192.0.2.101:5060;branch=z9hG4bKs"});
	struct hf_event ev = {.kind = HF_EV_BYTES, .bytes = hf_bytes_str(text), .listener = &k.listeners[1], .source = kit_addr(PBX1), .local = k.listeners[1].addr, .transport = HF_TCP,
		.member = kit_server(&k, "pbx1"), .from_servers = true, .flow_name = {1, 3, 7, k.site.boot}};
	const struct hf_found none = {.reason = HF_R_UNRESOLVED};
	struct hf_found own = leads_to("192.0.2.1:5060", HF_TCP);
	_Alignas(16) uint8_t flow[HF_FLOW_STATE] = {0};

	(void)state;
	k.ctx.flow = flow;
	kit_run(&k, &ev);
	k.ctx.flow = NULL; /* it is not at hand any more */
	assert_int_equal(k.n_sought, 1);
	kit_found(&k, &none, true);
	kit_sent_to(&k, HF_TO_RETURN, PBX1);
	assert_true(k.send.flow.slot == 3 && k.send.flow.generation == 7 && k.send.transport == HF_TCP);
	kit_choose(&k, NULL, NULL);
	kit_found(&k, &own, true);
	assert_int_equal(k.n_asked, 1);
	assert_int_equal(k.reason, HF_R_NO_SERVER);
	kit_sent_to(&k, HF_TO_RETURN, PBX1);
	assert_int_equal(k.send.flow.generation, 7);
}

/* What is long for who is reached by UDP goes by a connection that is open, and what follows an INVITE asks how that went: to where the name led, and no
 * name is asked for again. Fails when outward.c looks for its hop anew. */
static void by_length(void **state)
{
	struct hf_found f = leads_to("192.0.2.51:5077", HF_UDP);
	const char *const pad = "Subject: a subject of so many octets that it is longer than what may be a datagram here, whatever else stands in the message" CRLF;

	(void)state;
	k.conf.udp_to_tcp = 400;
	for (int waited = 0; waited < 2; waited++) {
		kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "MESSAGE", .uri = "sip:bob@example.net", .from_tag = "s1", .via = VIA, .extra = pad}));
		kit_found(&k, &f, waited);
		kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5077");
		assert_true(k.send.if_open && k.send.transport == HF_TCP);
		kit_fail(&k, k.came, HF_R_DIAL_FAILED);
		kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5077");
		assert_true(!k.send.if_open && k.send.transport == HF_UDP);
		kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "CANCEL", .uri = "sip:bob@example.net", .from_tag = "s1", .via = VIA}));
		kit_found(&k, &f, waited);
		assert_true(k.n_asked == 1 && k.n_sought == 0);
		kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5077");
		assert_int_equal(k.send.transport, HF_UDP);
	}
}

/* Copies of one request have one tag, its CANCEL another; a dialog's requests go one way. */
static void tags(void **state)
{
	uint64_t invite, spread;

	(void)state;
	call("sip:bob@example.net", NULL);
	invite = k.seek.tag;
	spread = k.seek.spread;
	assert_true(invite && spread);
	call("sip:bob@example.net", NULL);
	assert_true(k.seek.tag == invite && k.seek.spread == spread);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "CANCEL", .uri = "sip:bob@example.net", .from_tag = "s1", .via = VIA}));
	assert_true(k.seek.tag && k.seek.tag != invite && k.seek.spread == spread);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@example.net", .from_tag = "s1", .via = VIA "2", .call_id = "c2"}));
	assert_true(k.seek.tag != invite && k.seek.spread != spread);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {T(asked), T(not_asked), T(goes_on), T(the_place), T(nowhere), T(over_a_connection), T(by_length), T(tags)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
