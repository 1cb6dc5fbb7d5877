/* Phones that only their own flow leads to: WebSockets (RFC 7118) and phones behind NAT (RFC 5626). Literal octets in and out. */
#include "stream_kit.h"

static struct kit k;
static struct line page;

#define PBX1 "192.0.2.101:5060"
#define PAGE_VIA "SIP/2.0/WS ff4a8b.invalid;branch=z9hG4bKweb"
#define CONTACT "Contact: <sip:alice@ff4a8b.invalid;transport=ws;ob>" CRLF

static void at_listener(const char *uri)
{
	kit_listener(&k, 1, uri, false);
	line_open(&page, &k, &k.listeners[1], "198.51.100.7:40001", 3);
}

static int up(void **state)
{
	(void)state;
	kit_init(&k);
	at_listener("ws://192.0.2.1:8080");
	return 0;
}

static int down(void **state)
{
	(void)state;
	line_close(&page);
	kit_fini(&k);
	return 0;
}

static const char *from_page(const char *method, const char *extra)
{
	return kit_request((struct kit_request){.method = method, .via = PAGE_VIA, .extra = extra});
}

/* Both Record-Routes of what went out as Route lines of the peer that gets them (reversed: of the one that sent it). */
static const char *routes(bool reversed)
{
	static char buf[600];
	const char *p = strstr(k.out, "Record-Route: ") + 14, *q = strstr(p, "Record-Route: ") + 14;
	const char *first = reversed ? q : p, *second = reversed ? p : q;

	snprintf(buf, sizeof buf, "Route: %.*s, %.*s" CRLF, (int)(strstr(first, CRLF) - first), first, (int)(strstr(second, CRLF) - second), second);
	return buf;
}

static bool begins(const char *text) { return strncmp(k.out, text, strlen(text)) == 0; }

static void to_page(void)
{
	kit_sent_to(&k, HF_TO_RETURN, "198.51.100.7:0"); /* port 0: nobody dials it */
	assert_int_equal(k.send.transport, k.listeners[1].transport);
	line_is_flow(&k, &page);
}

/* B27. A call of a page: a server is told how it reaches us, and the flow; what it sends later goes down the WebSocket, though nothing resolves .invalid.
 * Fails when either Record-Route is the other's, and when a name is looked at before the flow. */
static void b27_a_call_of_a_page(void **state)
{
	char both[600];

	(void)state;
	line_message(&page, from_page("INVITE", CONTACT));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_true(kit_says(&k, "Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK"));
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF "Record-Route: <sip:hff-"));
	assert_true(kit_says(&k, "@192.0.2.1:8080;transport=ws;lr>" CRLF));
	assert_true(strstr(k.out, "Record-Route: <sip:hfd-") < strstr(k.out, "Record-Route: <sip:hff-"));
	assert_true(kit_says(&k, "Via: " PAGE_VIA ";received=198.51.100.7" CRLF));
	snprintf(both, sizeof both, "%s", routes(false));

	kit_feed(&k, PBX1, kit_answer(&k, "200 OK", "b1", "Contact: <sip:bob@192.0.2.101>" CRLF));
	to_page();
	assert_true(begins("SIP/2.0 200 OK" CRLF) && kit_says(&k, "Via: " PAGE_VIA) && !kit_says(&k, ";hf="));

	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@ff4a8b.invalid;transport=ws;ob", .via = "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKs",
		.from_tag = "b1", .to_tag = "a1", .extra = both}));
	to_page();
	assert_true(begins("BYE sip:alice@ff4a8b.invalid;transport=ws;ob SIP/2.0" CRLF "Via: SIP/2.0/WS 192.0.2.1:8080;branch="));
	assert_false(kit_says(&k, CRLF "Route:"));
	assert_int_equal(k.n_asked, 0);

	k.site.boot++; /* the WebSocket died with the gateway of then */
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@ff4a8b.invalid;transport=ws;ob", .via = "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKt",
		.from_tag = "b1", .to_tag = "a1", .extra = both}));
	assert_true(begins("SIP/2.0 430 Flow Failed" CRLF));
}

/* Pages come to another port than the one that is listened at, as before a port forward: Record-Route names what they come to, and knows it again; ACKs go as
 * their dialog does, from the page to its server and from the server down the WebSocket. Fails when Record-Route is made of the listener's own port. */
static void b27_another_port_outside(void **state)
{
	char callers[600], callees[600];

	(void)state;
	k.listeners[1].advertise = HF_LIT("gw.example.net:443");
	line_message(&page, from_page("INVITE", CONTACT));
	assert_true(kit_says(&k, "@gw.example.net:443;transport=ws;lr>" CRLF));
	assert_false(kit_says(&k, ":8080"));
	snprintf(callees, sizeof callees, "%s", routes(false));
	snprintf(callers, sizeof callers, "%s", routes(true));
	line_message(&page, kit_request((struct kit_request){.method = "ACK", .uri = "sip:bob@192.0.2.101", .via = PAGE_VIA "2", .to_tag = "b1", .extra = callers}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	assert_false(kit_says(&k, CRLF "Route:"));
	line_message(&page, kit_request((struct kit_request){.method = "ACK", .uri = "sip:bob@192.0.2.101", .via = PAGE_VIA "3", .to_tag = "b1", .extra = "Route: <sip:gw.example.net:443;transport=ws;lr>" CRLF}));
	assert_false(kit_says(&k, CRLF "Route:"));
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "ACK", .uri = "sip:alice@ff4a8b.invalid;transport=ws;ob", .via = "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKs",
		.from_tag = "b1", .to_tag = "a1", .extra = callees}));
	to_page();
	assert_true(begins("ACK sip:alice@ff4a8b.invalid;transport=ws;ob SIP/2.0" CRLF "Via: SIP/2.0/WS gw.example.net:443;branch="));
}

/* The page's own later requests find their server by the cookie, which stands behind the flow. */
static void later_requests_of_a_page(void **state)
{
	char both[600];

	(void)state;
	line_message(&page, from_page("INVITE", CONTACT));
	snprintf(both, sizeof both, "%s", routes(true));
	assert_true(strncmp(both, "Route: <sip:hff-", 16) == 0);
	line_message(&page, kit_request((struct kit_request){.method = "BYE", .uri = "sip:bob@192.0.2.101", .via = PAGE_VIA "2", .to_tag = "b1", .extra = both}));
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_false(kit_says(&k, CRLF "Route:"));
	assert_int_equal(k.n_counted, 0);
}

/* A page's registration, and a call to it by its Path: the flow stands in the page's Record-Route, the cookie in the server's. */
static void a_call_to_a_page(void **state)
{
	char path[200], route[220], both[600];

	(void)state;
	line_message(&page, from_page("REGISTER", "Supported: path,gruu,outbound" CRLF CONTACT));
	kit_header(&k, "Path: ", path, sizeof path);
	assert_non_null(strstr(path, "@192.0.2.1:5060;lr;ob>")); /* as the server reaches us */
	snprintf(route, sizeof route, "Route: %s" CRLF, path + 6);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@ff4a8b.invalid;transport=ws", .via = "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKs",
		.from_tag = "s1", .call_id = "s-call", .extra = route}));
	to_page();
	assert_true(kit_says(&k, "@192.0.2.1:8080;transport=ws;lr>" CRLF "Record-Route: <sip:hfd-"));
	assert_true(strstr(k.out, "Record-Route: <sip:hff-") < strstr(k.out, "Record-Route: <sip:hfd-"));
	snprintf(both, sizeof both, "%s", routes(false)); /* its callee's route set is in order */
	line_message(&page, kit_request((struct kit_request){.method = "BYE", .uri = "sip:s@192.0.2.101", .via = PAGE_VIA, .from_tag = "b1", .to_tag = "s1", .call_id = "s-call", .extra = both}));
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
}

/* No length is needed where messages are kept apart, and a server that is sent a stream gets one; a length that is not true is refused, and nothing ends
 * the connection (RFC 7118 5). Fails when framing is by Content-Length. */
static void messages_are_kept_apart(void **state)
{
	static const char head[] = "OPTIONS sip:bob@example.com SIP/2.0" CRLF "Via: " PAGE_VIA CRLF "From: <sip:alice@example.com>;tag=a1" CRLF "To: <sip:bob@example.com>" CRLF
				   "Call-ID: c1" CRLF "CSeq: 1 OPTIONS" CRLF;
	char text[600];

	(void)state;
	snprintf(text, sizeof text, "%s" CRLF "body", head);
	k.chosen.transport = HF_TCP;
	line_message(&page, text);
	assert_true(kit_says(&k, "Content-Length: 4" CRLF CRLF "body"));
	snprintf(text, sizeof text, "%sContent-Length: 5" CRLF CRLF "body", head);
	line_message(&page, text);
	assert_true(begins("SIP/2.0 400 "));
	assert_int_equal(k.send.to, HF_TO_SOURCE);
	snprintf(text, sizeof text, "%sContent-Length: 3" CRLF CRLF "body", head);
	line_message(&page, text);
	assert_true(kit_says(&k, "Content-Length: 3" CRLF CRLF "bod"));
	assert_int_equal(k.out[k.out_n - 1], 'd');
	line_message(&page, "no message at all");
	assert_int_equal(k.n_sent, 0);
	line_message(&page, CRLF CRLF);
	assert_string_equal(k.out, CRLF);
	assert_int_equal(k.send.to, HF_TO_SOURCE);
	line_message(&page, CRLF);
	assert_int_equal(k.n_sent, 0);
}

/* Every allocation failing once: what goes out is whole or not at all, and the connection stays (line_message looks). Fails when the end of a message is
 * taken to be lost with the room for it. */
static void every_allocation_failing(void **state)
{
	static char texts[3][2048], whole[8192];

	(void)state;
	strcpy(texts[0], from_page("INVITE", CONTACT));
	strcpy(texts[1], from_page("REGISTER", "Supported: path, outbound" CRLF CONTACT));
	strcpy(texts[2], kit_request((struct kit_request){.method = "INVITE", .via = PAGE_VIA, .extra = "Proxy-Require: foo" CRLF}));
	for (unsigned i = 0; i < 3; i++)
		for (long at = 1, failed = 1; failed; at++) {
			line_message(&page, texts[i]);
			strcpy(whole, k.out);
			page.notes_n = 0;
			k.arena.fail_at = at;
			line_message(&page, texts[i]);
			failed = k.arena.fail_at == 0;
			k.arena.fail_at = 0;
			if (k.n_sent && strcmp(k.out, whole) != 0 && !begins("SIP/2.0 "))
				fail_msg("message %u, allocation %ld: changed by it:\n%s", i, at, k.out);
			page.notes_n = 0;
		}
}

static void call_to(const char *contact)
{
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = contact, .via = "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKs", .from_tag = "s1", .call_id = "s-call"}));
}

/* Without a Path: nobody is asked where an .invalid is, and an address is left to net, which knows who is connected. */
static void without_a_path(void **state)
{
	(void)state;
	call_to("sip:alice@ff4a8b.invalid;transport=ws");
	assert_true(begins("SIP/2.0 503 Next hop not reachable" CRLF));
	call_to("sip:alice@ff4a8b.INVALID");
	assert_int_equal(k.reason, SIP_R_UNREACHABLE);
	call_to("sip:alice@phone.example.com");
	assert_int_equal(k.n_sought, 1);
	call_to("sip:alice@198.51.100.7:40001;transport=ws");
	kit_sent_to(&k, HF_TO_NEXT_HOP, "198.51.100.7:40001");
	assert_int_equal(k.send.transport, HF_WS);
	assert_true(kit_says(&k, "Via: SIP/2.0/WS 192.0.2.1:8080;"));
	k.ctx.n_listeners = 1; /* no listener that it could have come by */
	call_to("sip:alice@198.51.100.7:40001;transport=ws");
	assert_int_equal(k.reason, SIP_R_UNREACHABLE);
}

/* There is no transport=wss; a server over TCP without a listener of its own is not told to come by WebSocket. */
static void names_of_transports(void **state)
{
	(void)state;
	at_listener("wss://192.0.2.1:8443");
	k.chosen.transport = HF_TCP;
	line_message(&page, from_page("INVITE", CONTACT));
	assert_true(kit_says(&k, "@192.0.2.1:8443;transport=ws;lr>" CRLF));
	assert_true(kit_says(&k, "Record-Route: <sip:hfd-"));
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF));
}

/* Which calls of phones get their flow into Record-Route: `ob`, or Via and Contact that name the same place, which is not where it comes from.
 * Each row fails when its half of the rule goes. */
static void phones_behind_nat(void **state)
{
	static const struct { const char *listen, *from, *via, *contact; bool flow; } rows[] = {
		{"udp", "198.51.100.7:40001", "SIP/2.0/UDP 10.1.1.1:5060;rport;branch=z9hG4bK1", "Contact: <sip:alice@10.1.1.1:5060>" CRLF, true},
		{"udp", "198.51.100.7:40001", "SIP/2.0/UDP 10.1.1.1:5060;rport;branch=z9hG4bK1", "m: \"A, B\" <sip:alice@10.1.1.1:5060>;q=1" CRLF, true},
		{"udp", "198.51.100.7:40001", "SIP/2.0/UDP 10.1.1.1:5060;rport;branch=z9hG4bK1", "Contact: <sip:alice@198.51.100.9>" CRLF, false},
		{"udp", "198.51.100.7:40001", "SIP/2.0/UDP 10.1.1.1:5060;rport;branch=z9hG4bK1", "", false},
		{"udp", "198.51.100.7:5060", "SIP/2.0/UDP 198.51.100.7;rport;branch=z9hG4bK1", "Contact: <sip:alice@198.51.100.7>" CRLF, false},
		{"udp", "198.51.100.7:40001", "SIP/2.0/UDP 10.1.1.1;rport;branch=z9hG4bK1", "Contact: <sip:alice@198.51.100.7:40001;ob>" CRLF, true},
		{"tcp", "198.51.100.7:40001", "SIP/2.0/TCP 198.51.100.7;branch=z9hG4bK1", "Contact: <sip:alice@198.51.100.7:40001;transport=tcp;ob>" CRLF, true},
		{"tcp", "198.51.100.7:40001", "SIP/2.0/TCP 198.51.100.7;branch=z9hG4bK1", "Contact: <sip:alice@198.51.100.7:40001;transport=tcp>" CRLF, false},
		{"tcp", "198.51.100.7:40001", "SIP/2.0/TCP 198.51.100.7;branch=z9hG4bK1" CRLF "Via: SIP/2.0/TCP 10.1.1.1;branch=z9hG4bK0", "Contact: <sip:alice@10.1.1.1;transport=tcp;ob>" CRLF, false},
		{"tcp", "198.51.100.7:40001", "SIP/2.0/TCP 10.1.1.1;branch=z9hG4bK1", "Contact: <sip:alice@10.1.1.1;transport=tcp>" CRLF, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *text = kit_request((struct kit_request){.method = "INVITE", .via = rows[i].via, .extra = rows[i].contact});

		if (rows[i].listen[0] == 'u') {
			kit_feed(&k, rows[i].from, text);
		} else {
			at_listener("tcp://192.0.2.1:5060");
			line_feed(&page, text);
		}
		if (kit_says(&k, "Record-Route: <sip:hff-") != rows[i].flow)
			fail_msg("row %u:\n%s", i, k.out);
		if (rows[i].flow && rows[i].listen[0] == 'u') {
			char both[600];

			snprintf(both, sizeof both, "%s", routes(false));
			kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@10.1.1.1", .from_tag = "b1", .to_tag = "a1", .extra = both}));
			kit_sent_to(&k, HF_TO_RETURN, rows[i].from);
		}
	}
}

/* One that is longer than any may be comes cut (RFC 6455 7.4.1 ends its connection behind it): it is told so, whatever length it says, and goes nowhere.
 * Fails when frame() looks at the length first: 400, or a call that begins with what its client takes for refused. */
static void too_long(void **state)
{
	static char text[SIP_MESSAGE_MAX + 2];
	static const char *const lengths[] = {"70000", "3", "x"};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		int n = snprintf(text, sizeof text, "%.*sContent-Length: %s" CRLF CRLF, (int)(strstr(from_page("INVITE", CONTACT), "Content-Length") - from_page("INVITE", CONTACT)), from_page("INVITE", CONTACT),
				 lengths[i]);

		memset(text + n, 'v', sizeof text - 1 - (size_t)n);
		line_message(&page, text);
		assert_true(begins(i < 2 ? "SIP/2.0 513 Message Too Large" CRLF : "SIP/2.0 400 "));
		assert_int_equal(k.send.to, HF_TO_SOURCE);
		assert_int_equal(k.n_asked, 0);
	}
	memset(text, 'x', sizeof text - 1);
	line_message(&page, text);
	assert_int_equal(k.n_sent, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(b27_a_call_of_a_page), T(b27_another_port_outside), T(later_requests_of_a_page), T(a_call_to_a_page), T(messages_are_kept_apart), T(too_long), T(every_allocation_failing), T(without_a_path), T(names_of_transports),
		T(phones_behind_nat)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
