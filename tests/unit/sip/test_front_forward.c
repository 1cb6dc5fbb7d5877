/* What a forwarded message looks like, octet for octet, and where it goes. Each test compares whole messages. */
#include "front_kit.h"

static struct kit k;

static int setup(void **state) { (void)state; kit_init(&k); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define EXAMPLE_VIA "Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKnade5nvlg79s8;hf=6265k5u0ro4u7ru6dflo87nuqt9avg0008ph7h17j38goi9l909g" CRLF
#define EXAMPLE_COOKIE "hfd-4266nqs43qbt8jfuo7d17p0"
#define EXAMPLE_HEAD "From: Alice <sip:alice@example.com>;tag=1928301774" CRLF "To: Bob <sip:bob@example.com>"
#define EXAMPLE_TAIL CRLF "Call-ID: a84b4c76e66710@192.0.2.51" CRLF

/* The published example: fails when the Via, Record-Route or Max-Forwards edit changes, or any other octet. */
static void an_invite(void **state)
{
	(void)state;
	kit_feed(&k, "192.0.2.51:5060", "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK776asdhds" CRLF
		 "max-forwards :  0070" CRLF EXAMPLE_HEAD EXAMPLE_TAIL "CSeq: 314159 INVITE" CRLF "X-Odd:\tkept , as it  is" CRLF "Content-Length: 4" CRLF CRLF "v=0\n");
	kit_wants(&k, "INVITE sip:bob@example.com SIP/2.0" CRLF EXAMPLE_VIA "Record-Route: <sip:" EXAMPLE_COOKIE "@192.0.2.1:5060;lr>" CRLF
		  "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK776asdhds" CRLF
		  "max-forwards :  69" CRLF EXAMPLE_HEAD EXAMPLE_TAIL "CSeq: 314159 INVITE" CRLF "X-Odd:\tkept , as it  is" CRLF "Content-Length: 4" CRLF CRLF "v=0\n");
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(k.send.server, kit_server(&k, "pbx1"));
}

/* Fails when more than our value is popped, or the response goes elsewhere than to the signed address. */
static void its_answer(void **state)
{
	(void)state;
	kit_feed(&k, "192.0.2.101:5060", "SIP/2.0 200 OK" CRLF EXAMPLE_VIA "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK776asdhds" CRLF EXAMPLE_HEAD ";tag=b1" EXAMPLE_TAIL
		 "CSeq: 314159 INVITE" CRLF CRLF);
	kit_wants(&k, "SIP/2.0 200 OK" CRLF "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK776asdhds" CRLF EXAMPLE_HEAD ";tag=b1" EXAMPLE_TAIL "CSeq: 314159 INVITE" CRLF CRLF);
	kit_sent_to(&k, HF_TO_RETURN, "192.0.2.51:5060");
	assert_int_equal(k.send.listener, k.listeners[0].hash);
}

/* Fails when the cookie is not read, or our Route stays. */
static void a_bye_with_the_cookie(void **state)
{
	(void)state;
	kit_feed(&k, "192.0.2.51:5060", "BYE sip:bob@192.0.2.101 SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bKbye" CRLF "Max-Forwards: 70" CRLF
		 "Route: <sip:" EXAMPLE_COOKIE "@192.0.2.1:5060;lr>, <sip:edge.example.net;lr>" CRLF EXAMPLE_HEAD ";tag=b1" EXAMPLE_TAIL "CSeq: 314160 BYE" CRLF CRLF);
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	assert_int_equal(k.ask.life, HF_LIFE_LINGER);
	assert_true(kit_says(&k, CRLF "Route: <sip:edge.example.net;lr>" CRLF));
	assert_false(kit_says(&k, "Record-Route"));
	assert_false(kit_says(&k, EXAMPLE_COOKIE));
}

/* A phone's preloaded Route goes, on REGISTER too; a name counts when it is one of ours. */
static void preloaded_routes_go(void **state)
{
	static const char *const routes[] = {"Route: <sip:192.0.2.1;lr>" CRLF, "Route: <sip:192.0.2.1:5060;lr>" CRLF, "Route: <sip:gw.example.com;lr=on>" CRLF, "route :\r\n <sip:GW.example.com:5060>" CRLF};
	static const char *const methods[] = {"REGISTER", "INVITE"};

	(void)state;
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 2; j++) {
			kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = methods[j], .extra = routes[i]}));
			assert_int_equal(k.send.to, HF_TO_SERVER);
			assert_false(kit_says(&k, CRLF "Route") || kit_says(&k, "\nroute"));
		}
	kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "INVITE", .extra = "Route: <sip:192.0.2.1:5070;lr>" CRLF}));
	assert_true(kit_says(&k, CRLF "Route: <sip:192.0.2.1:5070;lr>" CRLF)); /* another program on our host */
	assert_int_equal(k.send.to, HF_TO_SERVER);
}

/* Fails when the insertion of Max-Forwards goes (RFC 3261 16.6 step 3). */
static void max_forwards_is_added(void **state)
{
	(void)state;
	kit_feed(&k, "192.0.2.51:5060", "OPTIONS sip:bob@example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bKx" CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>" CRLF
		 "Call-ID: c" CRLF "CSeq: 1 OPTIONS" CRLF CRLF);
	assert_true(kit_says(&k, CRLF "Max-Forwards: 70" CRLF "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bKx" CRLF));
}

static unsigned record_routes(void)
{
	unsigned n = 0;

	for (const char *p = k.out; (p = strstr(p, CRLF "Record-Route: ")); p += 2)
		n++;
	return n;
}

/* Both Record-Routes as Route lines: of who got them, or reversed of who sent the request. */
static const char *route_lines(bool reversed)
{
	static char buf[600];
	const char *p = strstr(k.out, "Record-Route: ") + 14, *q = strstr(p, "Record-Route: ") + 14;
	const char *first = reversed ? q : p, *second = reversed ? p : q;

	snprintf(buf, sizeof buf, "Route: %.*s" CRLF "Route: %.*s" CRLF, (int)strcspn(first, CRLF), first, (int)strcspn(second, CRLF), second);
	return buf;
}

/* Two sockets, two names, whatever tells them apart: the side it leaves by on top, and Via names that (RFC 3261 16.6 steps 4 and 8, RFC 5658 5). One socket,
 * one name. Fails when write_record_routes compares less than transport, address and port. */
static void b20_two_sockets_two_names(void **state)
{
	static const struct { const char *out; enum hf_transport t; const char *via, *end; } rows[] = {
		{"udp://192.0.2.1:5062", HF_UDP, "Via: SIP/2.0/UDP 192.0.2.1:5062;", "@192.0.2.1:5062;lr>"},
		{"udp://192.0.2.2:5060", HF_UDP, "Via: SIP/2.0/UDP 192.0.2.2:5060;", "@192.0.2.2:5060;lr>"},
		{"udp://[2001:db8::1]:5060", HF_UDP, "Via: SIP/2.0/UDP [2001:db8::1]:5060;", "@[2001:db8::1]:5060;lr>"},
		{"tcp://192.0.2.1:5060", HF_TCP, "Via: SIP/2.0/TCP 192.0.2.1:5060;", "@192.0.2.1:5060;transport=tcp;lr>"},
		{"udp://10.0.0.1:5062", HF_UDP, "Via: SIP/2.0/UDP 10.0.0.1:5062;", "@10.0.0.1:5062;lr>"},
	};
	char line[200];

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_listener(&k, 1, rows[i].out, true);
		k.chosen.transport = rows[i].t;
		k.chosen.out = &k.listeners[1];
		k.chosen.out_addr = k.listeners[1].addr;
		kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "INVITE"}));
		assert_int_equal(record_routes(), 2);
		assert_non_null(strstr(kit_header(&k, "Via: ", line, sizeof line), rows[i].via));
		assert_non_null(strstr(kit_header(&k, "Record-Route: ", line, sizeof line), rows[i].end));
		assert_non_null(strstr(strstr(k.out, rows[i].end), CRLF "Record-Route: <sip:hfd-"));
		assert_non_null(strstr(strstr(k.out, rows[i].end) + strlen(rows[i].end), "@192.0.2.1:5060;lr>" CRLF));
	}
	kit_choose(&k, "pbx1", "192.0.2.101:5060");
	kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "INVITE"}));
	assert_int_equal(record_routes(), 1);
}

/* Each side's BYE comes to its own socket and leaves by the other side's, though a third one would do: a phone's firewall knows no other. The same of the
 * addresses of one wildcard socket. Fails without listener_named: the first of the listeners that do not face the servers is taken. */
static void b20_each_side_by_its_own(void **state)
{
	static const struct { const char *phones, *local; } rows[] = {{"udp://192.0.2.1:5080", "192.0.2.1:5080"}, {"udp://192.0.2.3:5060", "192.0.2.3:5060"}, {"udp://0.0.0.0:5090", "192.0.2.4:5090"}};
	char callers[600], callees[600], via[80];

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hf_event ev;

		kit_listener(&k, 1, "udp://10.0.0.1:5062", true);
		kit_listener(&k, 2, rows[i].phones, false);
		k.own[2] = kit_addr("192.0.2.5:5090");
		k.own[3] = kit_addr(rows[i].local);
		k.ctx.n_own = 4;
		k.chosen.out = &k.listeners[1];
		k.chosen.out_addr = k.listeners[1].addr;
		ev = (struct hf_event){.kind = HF_EV_BYTES, .listener = &k.listeners[2], .source = kit_addr("192.0.2.51:5060"), .local = kit_addr(rows[i].local)};
		ev.bytes = hf_bytes_str(kit_request((struct kit_request){.method = "INVITE"}));
		kit_run(&k, &ev);
		assert_int_equal(record_routes(), 2);
		strcpy(callees, route_lines(false));
		strcpy(callers, route_lines(true));

		ev.bytes = hf_bytes_str(kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .cseq = "2", .extra = callers}));
		kit_run(&k, &ev);
		assert_int_equal(k.send.to, HF_TO_SERVER);
		assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
		assert_true(kit_says(&k, "Via: SIP/2.0/UDP 10.0.0.1:5062;") && !kit_says(&k, CRLF "Route:"));

		k.at = &k.listeners[1];
		kit_feed(&k, "192.0.2.101:5060", kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@192.0.2.51", .from_tag = "b1", .to_tag = "a1", .extra = callees}));
		kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5060");
		assert_int_equal(k.send.listener, k.listeners[2].hash);
		assert_true(!k.listeners[2].wildcard || hf_addr_ip_eq(&k.send.local, &ev.local));
		snprintf(via, sizeof via, "Via: SIP/2.0/UDP %s;branch=", rows[i].local);
		assert_true(kit_says(&k, via) && !kit_says(&k, CRLF "Route:"));
	}
	memcpy(strstr(callees, "192.0.2.4:5090"), "192.0.2.9:5090", 14); /* the token is ours and the address, which anybody may write there, is not */
	kit_feed(&k, "192.0.2.101:5060", kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@192.0.2.51", .from_tag = "b1", .to_tag = "a1", .extra = callees}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5060");
	assert_false(kit_says(&k, "192.0.2.9"));
	assert_false(hf_addr_ip_eq(&k.send.local, &(struct hf_addr){.family = 4, .ip = {192, 0, 2, 9}}));
}

/* What the operator advertises stands in Via and Record-Route, with a port. */
static void advertised_names(void **state)
{
	(void)state;
	k.listeners[0].advertise = HF_LIT("gw.example.net");
	kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "INVITE"}));
	assert_true(kit_says(&k, "Via: SIP/2.0/UDP gw.example.net:5060;branch="));
	assert_true(kit_says(&k, "@gw.example.net:5060;lr>" CRLF));
	kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "INVITE", .extra = "Route: <sip:gw.example.net;lr>" CRLF}));
	assert_false(kit_says(&k, CRLF "Route:"));
}

static void record_route_can_be_left_off(void **state)
{
	(void)state;
	k.conf.record_route = false;
	kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "INVITE"}));
	assert_false(kit_says(&k, "Record-Route"));
}

/* On a wildcard socket the local address travels in the Via parameter, so that the response leaves from it. */
static void a_wildcard_socket_answers_from_where_it_was_asked(void **state)
{
	struct hf_addr local = kit_addr("192.0.2.1:0");

	(void)state;
	kit_listener(&k, 0, "udp://0.0.0.0:5060", false);
	k.own[0] = kit_addr("192.0.2.1:5060");
	k.chosen.out_addr = kit_addr("192.0.2.1:5060");
	kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "INVITE"}));
	assert_true(kit_says(&k, "Via: SIP/2.0/UDP 192.0.2.1:5060;"));
	kit_feed(&k, "192.0.2.101:5060", kit_answer(&k, "180 Ringing", "b1", NULL));
	kit_sent_to(&k, HF_TO_RETURN, "192.0.2.51:5060");
	assert_true(hf_addr_eq(&k.send.local, &local));
}

/* A registration that can use it gets a Path; the server's request with it goes back down the flow (RFC 3327, RFC 5626 5.3). */
static void path_and_the_way_back(void **state)
{
	char line[200], route[220];

	(void)state;
	kit_feed(&k, "192.0.2.77:40001", kit_request((struct kit_request){.method = "REGISTER", .uri = "sip:example.com", .extra = "Supported: path, outbound" CRLF "Path: <sip:edge;lr>" CRLF}));
	assert_non_null(strstr(kit_header(&k, "Path: ", line, sizeof line), "Path: <sip:hff-"));
	assert_non_null(strstr(k.out, "@192.0.2.1:5060;lr;ob>" CRLF));
	assert_true(strstr(k.out, "Path: <sip:hff-") < strstr(k.out, "Path: <sip:edge;lr>"));
	snprintf(route, sizeof route, "Route: %s" CRLF, line + 6);
	kit_feed(&k, "192.0.2.101:5060", kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@10.1.1.1:5099", .from_tag = "s1", .call_id = "s-call", .extra = route}));
	kit_sent_to(&k, HF_TO_RETURN, "192.0.2.77:40001");
	assert_false(kit_says(&k, CRLF "Route:"));
	assert_int_equal(k.n_asked, 0);

	kit_feed(&k, "192.0.2.77:40001", kit_request((struct kit_request){.method = "REGISTER"}));
	assert_false(kit_says(&k, "Path:"));
	kit_feed(&k, "192.0.2.77:40001", kit_request((struct kit_request){.method = "REGISTER", .extra = "Supported: path" CRLF}));
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF)); /* no word of outbound: none of ours */
	kit_feed(&k, "192.0.2.77:40001", kit_request((struct kit_request){.method = "REGISTER", .extra = "Supported: path, outbound" CRLF "Via: SIP/2.0/UDP 10.1.1.1;branch=z9hG4bKx" CRLF}));
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF)); /* we are not its first hop (RFC 5626 5.1) */
	k.conf.path = SIP_PATH_ALWAYS; /* fails where only Supported counts, or of a server's request */
	kit_feed(&k, "192.0.2.77:40001", kit_request((struct kit_request){.method = "REGISTER"}));
	assert_true(kit_says(&k, "Path: <sip:hff-") && !kit_says(&k, "Supported:"));
	kit_feed(&k, "192.0.2.77:40001", kit_request((struct kit_request){.method = "SUBSCRIBE"}));
	assert_false(kit_says(&k, "Path:"));
	k.conf.path = SIP_PATH_NO;
	kit_feed(&k, "192.0.2.77:40001", kit_request((struct kit_request){.method = "REGISTER", .extra = "Supported: path" CRLF}));
	assert_false(kit_says(&k, "Path:"));
}

/* A strict router before us left its target at the end of Route, on the same line or another (RFC 3261 16.4). */
static void sent_by_a_strict_router(void **state)
{
	static const struct { const char *routes, *left; } rows[] = {
		{"Route: <sip:bob@192.0.2.101:5060>" CRLF, NULL},
		{"Route: <sip:192.0.2.1;lr>, <sip:bob@192.0.2.101:5060>" CRLF, NULL},
		{"Route: <sip:192.0.2.1;lr>" CRLF "Route: <sip:bob@192.0.2.101:5060>" CRLF, NULL},
		{"Route: <sip:p.example.net;lr> , <sip:bob@192.0.2.101:5060>" CRLF, CRLF "Route: <sip:p.example.net;lr> " CRLF},
		{"Route: <sip:192.0.2.1;lr>, <sip:p.example.net;lr>, <sip:bob@192.0.2.101:5060>" CRLF, CRLF "Route: <sip:p.example.net;lr>" CRLF},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "BYE", .uri = "sip:gw.example.com;lr", .to_tag = "b1", .extra = rows[i].routes}));
		assert_int_equal(strncmp(k.out, "BYE sip:bob@192.0.2.101:5060 SIP/2.0" CRLF, 38), 0);
		if (rows[i].left)
			assert_true(kit_says(&k, rows[i].left));
		else
			assert_false(kit_says(&k, CRLF "Route"));
		assert_int_equal(k.send.to, HF_TO_SERVER);
	}
}

/* What becomes the Request-URI is judged as one: by its scheme, and it has no headers (RFC 3261 19.1.1, 26.2.2). Fails when check.c looks at
 * the URI that came, or the scanner lets a Route have headers: the server then got what we refuse from anybody. */
static void a_strict_router_leaves_no_odd_target(void **state)
{
	static const struct { const char *route, *answer; } rows[] = {
		{"Route: <sips:bob@192.0.2.101>" CRLF, "SIP/2.0 416 "}, {"Route: <sip:192.0.2.?1;lr>" CRLF, "SIP/2.0 400 "}, {"Route: <sip:bob@192.0.2.101>" CRLF, "BYE sip:bob@192.0.2.101 "},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_feed(&k, "192.0.2.51:5060", kit_request((struct kit_request){.method = "BYE", .uri = "sip:192.0.2.1;lr", .to_tag = "b1", .extra = rows[i].route}));
		assert_int_equal(strncmp(k.out, rows[i].answer, strlen(rows[i].answer)), 0);
	}
}

/* A server's request to a strict router: its URI in front, the Request-URI at the end of Route (RFC 3261 16.6 step 6). */
static void to_a_strict_router(void **state)
{
	(void)state;
	kit_feed(&k, "192.0.2.101:5060", kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@203.0.113.9", .to_tag = "b1",
										      .extra = "Route: <sip:192.0.2.1;lr>, <sip:203.0.113.7:5080>, <sip:p2;lr>" CRLF}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "203.0.113.7:5080");
	assert_int_equal(strncmp(k.out, "BYE sip:203.0.113.7:5080 SIP/2.0" CRLF, 34), 0);
	assert_true(kit_says(&k, CRLF "Route: <sip:p2;lr>" CRLF "Route: <sip:alice@203.0.113.9>" CRLF));
}

/* The version is sent as it should be, however it came (RFC 3261 7.1). */
static void the_version_is_written_right(void **state)
{
	(void)state;
	kit_feed(&k, "192.0.2.51:5060", "OPTIONS sip:b@b sip/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bKx" CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>" CRLF
		 "Call-ID: c" CRLF "CSeq: 1 OPTIONS" CRLF CRLF);
	assert_int_equal(strncmp(k.out, "OPTIONS sip:b@b SIP/2.0" CRLF, 25), 0);
}

/* Octets behind the announced body are not sent on (RFC 3261 18.3). */
static void what_follows_the_body_stays(void **state)
{
	(void)state;
	kit_feed(&k, "192.0.2.51:5060", "\r\n\r\nOPTIONS sip:b@b SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bKx" CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>" CRLF
		 "Call-ID: c" CRLF "CSeq: 1 OPTIONS" CRLF "l:2" CRLF CRLF "okINVITE sip:x SIP/2.0" CRLF);
	assert_int_equal(strncmp(k.out, "OPTIONS", 7), 0);
	assert_int_equal(strcmp(k.out + k.out_n - 4, CRLF "ok"), 0);
}

static void keep_alives(void **state)
{
	static const uint8_t stun[] = "\x00\x01\x00\x00\x21\x12\xa4\x42HOLDFASTTEST";
	static const uint8_t answer[] = "\x01\x01\x00\x0c\x21\x12\xa4\x42HOLDFASTTEST\x00\x20\x00\x08\x00\x01\x32\xd6\xe1\x12\xa6\x71";

	(void)state;
	kit_octets(&k, "192.0.2.51:5060", HF_LIT("\r\n\r\n"));
	assert_int_equal(k.reason, SIP_R_PING);
	kit_octets(&k, "192.0.2.51:5060", HF_LIT("\0\0\0\0"));
	assert_int_equal(k.reason, SIP_R_PING);
	kit_octets(&k, "192.0.2.51:5060", hf_bytes_of(stun, 20));
	assert_int_equal(k.reason, SIP_R_STUN);
	assert_int_equal(k.send.to, HF_TO_SOURCE);
	assert_int_equal(k.out_n, 32);
	assert_memory_equal(k.out, answer, 32);
	kit_octets(&k, "192.0.2.51:5060", hf_bytes_of(answer, 32)); /* no request */
	assert_int_equal(k.n_sent, 0);
	kit_octets(&k, "192.0.2.51:5060", HF_LIT("\x00\x01\x00\x08\x21\x12\xa4\x42HOLDFASTTEST")); /* it says more than there is */
	assert_int_equal(k.n_sent, 0);
	kit_octets(&k, "192.0.2.51:5060", hf_bytes_of(stun, 19));
	assert_int_equal(k.reason, SIP_R_GARBAGE);
	assert_int_equal(k.n_sent, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_invite), T(its_answer), T(a_bye_with_the_cookie), T(preloaded_routes_go), T(max_forwards_is_added), T(b20_two_sockets_two_names), T(b20_each_side_by_its_own),
		T(advertised_names), T(record_route_can_be_left_off), T(a_wildcard_socket_answers_from_where_it_was_asked), T(path_and_the_way_back),
		T(sent_by_a_strict_router), T(a_strict_router_leaves_no_odd_target), T(to_a_strict_router), T(the_version_is_written_right), T(what_follows_the_body_stays), T(keep_alives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
