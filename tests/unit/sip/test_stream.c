/* Connections: what goes out over them and back, literal octets in and out. The kit's gateway takes UDP and TCP at 192.0.2.1:5060. */
#include "stream_kit.h"

static struct kit k;
static struct line phone, other, link;

#define PHONE "192.0.2.51:40001"
#define UDP_PHONE "192.0.2.51:5060"
#define PBX1 "192.0.2.101:5060"
#define TCP_VIA "SIP/2.0/TCP 192.0.2.51:5062;branch=z9hG4bK776asdhds"
#define HEAD "From: Alice <sip:alice@example.com>;tag=1928301774" CRLF "To: Bob <sip:bob@example.com>"
#define TAIL CRLF "Call-ID: a84b4c76e66710@192.0.2.51" CRLF
#define COOKIE "hfd-4266nqs43qbt8jfuo7d17p0"

static int setup(void **state)
{
	(void)state;
	kit_init(&k);
	kit_listener(&k, 1, "tcp://192.0.2.1:5060", false);
	line_open(&phone, &k, &k.listeners[1], PHONE, 3);
	line_open(&other, &k, &k.listeners[1], "192.0.2.51:40002", 4);
	line_dialled(&link, &k, &k.listeners[1], PBX1, "pbx1", 9);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	line_close(&phone);
	line_close(&other);
	line_close(&link);
	kit_fini(&k);
	return 0;
}

/* The server is reached over TCP, and takes what comes back at our TCP listener. */
static void over_tcp(void)
{
	k.chosen.transport = HF_TCP;
	k.chosen.out = &k.listeners[1];
	k.chosen.out_addr = k.listeners[1].addr;
}

static const char *answer(const char *status) { return kit_answer(&k, status, "b1", NULL); }

/* The Route lines that a dialog's Record-Routes give to the caller (reversed) or to the callee. */
static const char *routes(bool reversed)
{
	static char buf[600];
	char one[200], two[200] = "";
	const char *p = strstr(k.out, "Record-Route: "), *q = strstr(p + 1, "Record-Route: ");

	snprintf(one, sizeof one, "%.*s", (int)(strstr(p, CRLF) - p - 7 + 2), p + 7);
	if (q)
		snprintf(two, sizeof two, "%.*s", (int)(strstr(q, CRLF) - q - 7 + 2), q + 7);
	snprintf(buf, sizeof buf, "%s%s", reversed ? two : one, reversed ? one : two);
	return buf;
}

/* ---- there and back ---- */

/* Fails when the Via names the transport it came by, the connection is not in the parameter, or the edits are not of the message alone. */
static void from_a_connection_to_udp(void **state)
{
	struct sip_hf hf;

	(void)state;
	line_feed(&phone, "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: " TCP_VIA CRLF "Max-Forwards: 70" CRLF HEAD TAIL "CSeq: 314159 INVITE" CRLF "l: 4" CRLF CRLF "v=0\n");
	kit_wants(&k, "INVITE sip:bob@example.com SIP/2.0" CRLF
		  "Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKqdor0s2o4ovf4;hf=6i65k5u0rqvufi9mdflo87nuqt9avg0008ph7hg100006000003kk9eegij00252" CRLF
		  "Record-Route: <sip:" COOKIE "@192.0.2.1:5060;lr>" CRLF "Record-Route: <sip:" COOKIE "@192.0.2.1:5060;transport=tcp;lr>" CRLF
		  "Via: " TCP_VIA CRLF "Max-Forwards: 69" CRLF HEAD TAIL "CSeq: 314159 INVITE" CRLF "l: 4" CRLF CRLF "v=0\n");
	assert_int_equal(k.send.to, HF_TO_SERVER);
	hf = line_hf(&k);
	assert_true(hf.has_connection && hf.opening && !hf.has_hold && !hf.local.family);
	assert_int_equal(hf.listener, k.listeners[1].hash);
	assert_int_equal(hf.connection.worker, 1);
	assert_int_equal(hf.connection.slot, 3);
	assert_int_equal(hf.connection.generation, 7);
	assert_int_equal(hf.source.port, 5062); /* the sent-by's: nobody listens at 40001 */
}

/* Fails when the answer does not go over the connection, or a UDP server's answer goes to a stream without a length (RFC 3261 18.3). */
static void its_answer_over_the_connection(void **state)
{
	struct hf_addr fallback = kit_addr("192.0.2.51:5062");

	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE", .via = "SIP/2.0/TCP 192.0.2.51:5062;rport;branch=z9hG4bK1"}));
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.51:5062;rport=40001;branch=z9hG4bK1;received=192.0.2.51" CRLF));
	{
		char text[4096], *length;
		size_t n;

		snprintf(text, sizeof text, "%s", answer("200 OK"));
		length = strstr(text, "Content-Length: 0" CRLF);
		n = (size_t)snprintf(length, 16, CRLF "v=0\r\n") + (size_t)(length - text);
		kit_octets(&k, PBX1, hf_bytes_of((const uint8_t *)text, n));
	}
	assert_int_equal(k.send.to, HF_TO_RETURN);
	line_is_flow(&k, &phone);
	assert_int_equal(k.send.listener, k.listeners[1].hash);
	assert_int_equal(k.send.transport, HF_TCP);
	assert_true(hf_addr_eq(&k.send.addr, &fallback)); /* when the connection is gone */
	assert_non_null(strstr(k.out, "To: <sip:bob@example.com>;tag=b1" CRLF "Content-Length: 5" CRLF CRLF "v=0\r\n"));
	assert_int_equal(strncmp(strstr(k.out, "Via: "), "Via: SIP/2.0/TCP 192.0.2.51:5062;", 33), 0);
}

/* One that has a length gets no second; and a listener that a reload has taken away leaves its connections. */
static void when_the_listener_is_gone(void **state)
{
	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS"}));
	k.ctx.n_listeners = 1;
	kit_feed(&k, PBX1, answer("200 OK"));
	line_is_flow(&k, &phone);
	assert_int_equal(k.send.transport, HF_TCP);
	assert_null(strstr(strstr(k.out, "Content-Length") + 1, "Content-Length"));
}

/* Fails when a connection of another start is believed to be there, or the default port is not 5060. */
static void after_a_restart_only_the_address_is_left(void **state)
{
	char text[4096];

	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS", .via = "SIP/2.0/TCP phone.example.net;rport;branch=z9hG4bK1"}));
	snprintf(text, sizeof text, "%s", answer("200 OK"));
	k.site.boot++;
	line_feed(&link, text);
	kit_sent_to(&k, HF_TO_RETURN, "192.0.2.51:5060");
	assert_int_equal(k.send.transport, HF_TCP);
	assert_int_equal(k.send.flow.generation, 0);
}

/* Fails when the length is not added, or the transport of the Via is not the real one. */
static void from_udp_to_a_connection(void **state)
{
	(void)state;
	over_tcp();
	kit_feed(&k, UDP_PHONE, "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK776asdhds" CRLF "Max-Forwards: 70" CRLF HEAD TAIL
		 "CSeq: 314159 INVITE" CRLF "Content-Type: application/sdp" CRLF CRLF "v=0\r\n\r\n");
	kit_wants(&k, "INVITE sip:bob@example.com SIP/2.0" CRLF
		  "Via: SIP/2.0/TCP 192.0.2.1:5060;branch=z9hG4bKnade5nvlg79s8;hf=6265k5u0ro4u7ru6dflo87nuqt9avg0008ph7h17j38goi9l909g" CRLF
		  "Record-Route: <sip:" COOKIE "@192.0.2.1:5060;transport=tcp;lr>" CRLF "Record-Route: <sip:" COOKIE "@192.0.2.1:5060;lr>" CRLF
		  "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK776asdhds" CRLF "Max-Forwards: 69" CRLF HEAD TAIL "CSeq: 314159 INVITE" CRLF
		  "Content-Type: application/sdp" CRLF "Content-Length: 7" CRLF CRLF "v=0\r\n\r\n");
	line_feed(&link, answer("180 Ringing"));
	kit_sent_to(&k, HF_TO_RETURN, UDP_PHONE);
	assert_int_equal(k.send.transport, HF_UDP);
	assert_int_equal(k.send.flow.generation, 0);
	kit_choose(&k, "pbx1", PBX1); /* from datagram to datagram nothing is added */
	kit_feed(&k, UDP_PHONE, "OPTIONS sip:b@b SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bKx" CRLF HEAD TAIL "CSeq: 1 OPTIONS" CRLF CRLF);
	assert_false(kit_says(&k, "Content-Length"));
}

/* One transport on both sides: one Record-Route, which names it. */
static void from_a_connection_to_a_connection(void **state)
{
	(void)state;
	over_tcp();
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE"}));
	assert_true(kit_says(&k, "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: SIP/2.0/TCP 192.0.2.1:5060;branch="));
	assert_null(strstr(strstr(k.out, "Record-Route: ") + 1, "Record-Route: "));
	assert_true(kit_says(&k, "@192.0.2.1:5060;transport=tcp;lr>" CRLF));
	assert_null(strstr(strstr(k.out, "Content-Length") + 1, "Content-Length"));
}

/* Both go again, from either side, and each side's request leaves by its own transport. Fails when only the first is taken off. */
static void both_record_routes_come_back(void **state)
{
	char caller[600], callee[600];

	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE", .via = TCP_VIA}));
	snprintf(callee, sizeof callee, "%s", routes(false));
	snprintf(caller, sizeof caller, "%s", routes(true));

	line_feed(&phone, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .cseq = "2", .extra = caller}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	assert_false(kit_says(&k, CRLF "Route:") || kit_says(&k, "hfd-"));

	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@192.0.2.51:40001;transport=tcp", .via = "SIP/2.0/UDP 192.0.2.101;branch=z9hG4bKb",
							    .from_tag = "b1", .to_tag = "a1", .extra = callee}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
	assert_int_equal(k.send.transport, HF_TCP);
	assert_int_equal(k.send.listener, k.listeners[1].hash);
	assert_false(kit_says(&k, CRLF "Route:") || kit_says(&k, "hfd-"));
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.1:5060;branch="));
}

/* A gateway without a listener of the server's transport is reached where the client reaches it. */
static void no_listener_of_the_servers_transport(void **state)
{
	(void)state;
	kit_listener(&k, 1, "udp://10.0.0.1:5060", true);
	k.chosen.transport = HF_TCP;
	k.chosen.out = &k.listeners[1];
	k.chosen.out_addr = k.listeners[1].addr;
	kit_feed(&k, UDP_PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 10.0.0.1:5060;branch="));
	assert_null(strstr(strstr(k.out, "Record-Route: ") + 1, "Record-Route: "));
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF));
	link.ev.listener = &k.listeners[1];
	line_feed(&link, answer("200 OK"));
	kit_sent_to(&k, HF_TO_RETURN, UDP_PHONE);
	/* and a call that this server opens: its own side is not named by a transport that is not there */
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51", .from_tag = "s1", .call_id = "s-call"}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, UDP_PHONE);
	assert_null(strstr(strstr(k.out, "Record-Route: ") + 1, "Record-Route: "));
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF));
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51;transport=tcp", .from_tag = "s1"}));
	assert_int_equal(k.send.transport, HF_TCP);
	assert_int_equal(k.send.listener, 0); /* a socket for datagrams sends no stream */
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.1:5060;branch="));
}

static void over_ipv6(void **state)
{
	char line[300];

	(void)state;
	kit_listener(&k, 0, "udp://[2001:db8::1]:5060", false);
	kit_listener(&k, 1, "tcp://[2001:db8::1]:5070", false);
	over_tcp();
	k.chosen.addr = kit_addr("[2001:db8::101]:5060");
	line_open(&phone, &k, &k.listeners[1], "[2001:db8::51]:40001", 3);
	line_feed(&phone, kit_request((struct kit_request){.method = "REGISTER", .via = "SIP/2.0/TCP [2001:db8::77]:5062;rport;branch=z9hG4bK1", .extra = "Supported: path" CRLF}));
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP [2001:db8::1]:5070;branch=z9hG4bK"));
	assert_true(kit_says(&k, ";rport=40001;branch=z9hG4bK1;received=2001:db8::51" CRLF));
	assert_non_null(strstr(kit_header(&k, "Path: ", line, sizeof line), "@[2001:db8::1]:5070;transport=tcp;lr>"));
	link.ev.source = k.chosen.addr;
	line_feed(&link, answer("200 OK"));
	kit_sent_to(&k, HF_TO_RETURN, "[2001:db8::51]:5062");
	line_is_flow(&k, &phone);
	line_feed(&link, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:alice@[2001:db8::52]:5066;transport=TCP", .from_tag = "s1"}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "[2001:db8::52]:5066");
	assert_int_equal(k.send.transport, HF_TCP);
}

/* A wildcard listener's local address travels with the connection. */
static void a_wildcard_listener(void **state)
{
	(void)state;
	kit_listener(&k, 1, "tcp://0.0.0.0:5060", false);
	line_open(&phone, &k, &k.listeners[1], PHONE, 3);
	phone.ev.local = kit_addr("192.0.2.1:5060");
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE"}));
	assert_true(kit_says(&k, "@192.0.2.1:5060;transport=tcp;lr>" CRLF));
	assert_true(hf_addr_ip_eq(&phone.ev.local, &(struct hf_addr){.family = 4, .ip = {192, 0, 2, 1}}));
	assert_int_equal(line_hf(&k).local.ip[3], 1);
}

/* ---- messages of one connection ---- */

/* Each dialog of a connection has its own cookie (B10). Fails when anything of a message is kept in the connection. */
static void dialogs_of_one_connection(void **state)
{
	static const char *const server[] = {"pbx1", "pbx2", "pbx1"};
	char all[8192] = "", call[8];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		char route[200];
		struct sip_cookie c;

		kit_choose(&k, server[i], PBX1);
		snprintf(call, sizeof call, "call-%u", i);
		line_feed(&phone, kit_request((struct kit_request){.method = "INVITE", .call_id = call}));
		kit_route(&k, route, sizeof route);
		assert_true(sip_cookie_read(&k.site, hf_bytes_of((const uint8_t *)strstr(route, "hfd-"), SIP_COOKIE_LEN), hf_bytes_str(call), HF_LIT("a1"), &c));
		assert_int_equal(c.server, kit_server(&k, server[i]));
		strcat(all, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .call_id = call, .extra = route}));
	}
	line_feed(&phone, all);
	assert_int_equal(phone.n_sent, 6);
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	line_feed(&phone, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .call_id = "call-1"}));
	assert_int_equal(k.ask.hint, 0); /* no Route: nothing is left of the one before */
}

/* One call is one key, whatever it comes over (B12); and each request's Via says what that request went by (B81). */
static void one_call_over_two_transports(void **state)
{
	struct hf_key key;

	(void)state;
	over_tcp();
	kit_feed(&k, UDP_PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	key = k.ask.key;
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.1:5060;"));
	kit_choose(&k, "pbx1", PBX1);
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE", .to_tag = "b1", .cseq = "2"}));
	assert_true(k.ask.key.fp && k.ask.key.fp == key.fp);
	assert_true(kit_says(&k, "Via: SIP/2.0/UDP 192.0.2.1:5060;"));
}

/* Keep-alives, messages and half of one in a segment (B46). Fails when a segment's end is taken for a message's. */
static void segments_are_no_messages(void **state)
{
	char text[8192], half[4096];
	size_t n;

	(void)state;
	snprintf(half, sizeof half, "%s", kit_request((struct kit_request){.method = "INVITE", .call_id = "c3"}));
	n = (size_t)snprintf(text, sizeof text, CRLF CRLF "%s", kit_request((struct kit_request){.method = "REGISTER", .call_id = "c1"}));
	n += (size_t)snprintf(text + n, sizeof text - n, CRLF CRLF "%s", kit_request((struct kit_request){.method = "OPTIONS", .call_id = "c2"}));
	snprintf(text + n, sizeof text - n, "%.60s", half);
	line_feed(&phone, text);
	assert_int_equal(phone.n_sent, 4); /* two pongs, two requests */
	assert_int_equal(strncmp(phone.notes, "[learnt=0 reason", 16), 0);
	assert_int_equal(phone.n, 60);
	line_feed(&phone, half + 60);
	assert_int_equal(phone.n_sent, 5);
	assert_true(kit_says(&k, "Call-ID: c3" CRLF));
	assert_int_equal(phone.n, 0);
}

/* A lone CRLF is no ping, and nothing waits for a second one. */
static void pings(void **state)
{
	(void)state;
	line_feed(&phone, CRLF);
	assert_int_equal(phone.n + phone.n_sent + phone.need, 0);
	line_feed(&phone, "\r");
	assert_int_equal(phone.need, 2);
	line_feed(&phone, "\n");
	kit_wants(&k, CRLF);
	assert_int_equal(k.send.to, HF_TO_SOURCE);
	line_feed(&phone, CRLF);
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS"}));
	line_feed(&phone, CRLF);
	assert_int_equal(k.n_sent, 0); /* the message between them parts the two */
}

/* All places to cut three messages at, in two and in single octets: the same goes out (B46). */
static void every_cut_of_a_pipeline(void **state)
{
	static char text[8192], whole[LINE_NOTES];
	size_t n;

	(void)state;
	n = (size_t)snprintf(text, sizeof text, "%s", kit_request((struct kit_request){.method = "INVITE", .call_id = "c1", .extra = "Supported: path" CRLF}));
	n += (size_t)snprintf(text + n, sizeof text - n, CRLF CRLF CRLF "%s", kit_request((struct kit_request){.method = "INVITE", .uri = "sips:b@b", .call_id = "c2"}));
	n += (size_t)snprintf(text + n, sizeof text - n, "MESSAGE sip:b@b SIP/2.0" CRLF "v: " TCP_VIA CRLF "f: <sip:a@b>;tag=1" CRLF "t: <sip:b@b>" CRLF "i: c3" CRLF "CSeq: 1 MESSAGE" CRLF
			      "l: 10" CRLF CRLF CRLF CRLF "INVITE" "BYE sip:b@b SIP/2.0" CRLF "l: x" CRLF CRLF "%s", "OPTIONS never SIP/2.0" CRLF CRLF);
	line_feed(&phone, text);
	assert_true(phone.closed);
	assert_int_equal(phone.n_sent, 4); /* c1, a pong, 416, c3 */
	strcpy(whole, phone.notes);
	for (size_t at = 1; at < n; at++) {
		line_open(&phone, &k, &k.listeners[1], PHONE, 3);
		line_octets(&phone, hf_bytes_of((const uint8_t *)text, at));
		line_octets(&phone, hf_bytes_of((const uint8_t *)text + at, n - at));
		if (strcmp(phone.notes, whole) != 0)
			fail_msg("cut at %zu:\n%s", at, phone.notes);
	}
	line_open(&phone, &k, &k.listeners[1], PHONE, 3);
	for (size_t at = 0; at < n; at++)
		line_octets(&phone, hf_bytes_of((const uint8_t *)text + at, 1));
	assert_string_equal(phone.notes, whole);
}

/* ---- the end of a connection ---- */

static void feed_request(const char *length_line, const char *body)
{
	char text[4096];

	snprintf(text, sizeof text, "INVITE sip:b@b SIP/2.0" CRLF "Via: " TCP_VIA CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>" CRLF "Call-ID: c" CRLF "CSeq: 1 INVITE" CRLF "%s" CRLF "%s", length_line, body);
	line_feed(&phone, text);
}

/* B41, B42: lengths that cannot be are answered and end the connection; none is waited for beyond the limit, and nothing behind it is read. */
static void lengths_that_cannot_be(void **state)
{
	static const struct { const char *line, *status; } rows[] = {
		{"Content-Length: 99999999999999999999999999" CRLF, "400"}, {"Content-Length: -1" CRLF, "400"}, {"Content-Length:" CRLF, "400"}, {"l: 12abc" CRLF, "400"},
		{"Content-Length: 4294967301" CRLF, "400"}, {"l: 3" CRLF "Content-Length: 4" CRLF, "400"}, {"", "400"}, {"Content-Length: 2000000000" CRLF, "513"}, {"Content-Length: 65536" CRLF, "513"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		line_open(&phone, &k, &k.listeners[1], PHONE, 3);
		feed_request(rows[i].line, "OPTIONS sip:b@b SIP/2.0" CRLF);
		if (!phone.closed || k.n_sent != 1 || strncmp(k.out + 8, rows[i].status, 3) != 0)
			fail_msg("%s: %.40s", rows[i].line, k.out);
		assert_int_equal(k.send.to, HF_TO_SOURCE);
		assert_non_null(strstr(k.out, CRLF "Content-Length: 0" CRLF CRLF));
	}
}

/* B45: octets behind a body that was announced too short begin no message. Fails when the next start line is looked for. */
static void lost_framing_ends_it(void **state)
{
	(void)state;
	feed_request("Content-Length: 5" CRLF, "v=0\r\ns=-\r\n");
	assert_int_equal(phone.n_sent, 1);
	assert_false(phone.closed);
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS"}));
	assert_true(phone.closed);
	assert_int_equal(k.reason, SIP_R_GARBAGE);
	assert_int_equal(phone.n_sent, 1);
	line_open(&phone, &k, &k.listeners[1], PHONE, 3);
	line_octets(&phone, HF_LIT("\x16\x03\x01\x02")); /* TLS at the wrong port: one octet tells */
	assert_true(phone.closed);
}

/* A head that never ends is given up at the limit, and its octets are searched once. */
static void an_endless_head(void **state)
{
	char header[64] = "X: " "0123456789012345678901234567890123456789" CRLF;
	unsigned n = 0;

	(void)state;
	line_feed(&phone, "OPTIONS sip:b@b SIP/2.0" CRLF);
	for (; !phone.closed && n < 3000; n++)
		line_feed(&phone, header);
	assert_true(phone.closed);
	assert_in_range(n * strlen(header), 65000, 66000);
	assert_int_equal(k.reason, SIP_R_OVER_LIMIT);
	assert_int_equal(phone.n_sent, 0);
	{ /* in one piece with its end it is no other */
		static char text[70000];
		size_t at = (size_t)sprintf(text, "%s", kit_request((struct kit_request){.method = "OPTIONS"})) - 2;

		while (at < 66000)
			at += (size_t)sprintf(text + at, "%s", header);
		sprintf(text + at, CRLF);
		line_open(&phone, &k, &k.listeners[1], PHONE, 3);
		line_feed(&phone, text);
		assert_true(phone.closed);
		assert_int_equal(phone.n_sent, 0);
	}
}

/* What is there when the peer closes is dealt with; a message that will never be whole ends it. */
static void the_peer_closes(void **state)
{
	(void)state;
	phone.ev.eof = true;
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_false(phone.closed);
	line_feed(&phone, "INVITE sip:b");
	assert_true(phone.closed);
	assert_int_equal(k.reason, HF_R_CLIENT_CLOSED);
	link.ev.eof = true;
	line_feed(&link, "SIP/2.0 2");
	assert_int_equal(k.reason, HF_R_SERVER_CLOSED);
}

/* Faults that leave the end of the message known cost that message alone. */
static void a_framed_fault_goes_on(void **state)
{
	(void)state;
	line_feed(&phone, "INVITE sip:b@b SIP/2.0" CRLF "Via: " TCP_VIA CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>" CRLF "Call-ID: c" CRLF "CSeq: x INVITE" CRLF "l: 0" CRLF CRLF);
	assert_int_equal(strncmp(k.out, "SIP/2.0 400 ", 12), 0);
	line_feed(&phone, "SIP/2.0 200 OK" CRLF "Via: SIP/2.0/TCP 192.0.2.9;branch=z9hG4bK1" CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>;tag=2" CRLF "Call-ID: c" CRLF "CSeq: 1 INVITE" CRLF "l: 0" CRLF CRLF);
	assert_int_equal(k.reason, SIP_R_FOREIGN_VIA);
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
}

/* ---- answers of our own, failures ---- */

/* Over a connection nothing has to be shorter than its request, and the length stands in it. */
static void our_answers(void **state)
{
	(void)state;
	k.chosen.server = 0;
	line_feed(&phone, "INVITE sip:b@b SIP/2.0" CRLF "v:SIP/2.0/TCP a;branch=z9hG4bK1" CRLF "f:<sip:a@b>;tag=1" CRLF "t:<sip:b@b>" CRLF "i:c" CRLF "CSeq:1 INVITE" CRLF "l:0" CRLF CRLF);
	assert_int_equal(k.send.to, HF_TO_SOURCE);
	assert_ptr_equal(strstr(k.out, "SIP/2.0 503 Service Unavailable" CRLF "v:SIP/2.0/TCP a;branch=z9hG4bK1;received=192.0.2.51" CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>;tag=hft-"), k.out);
	assert_non_null(strstr(k.out, CRLF "Retry-After: 10" CRLF "Content-Length: 0" CRLF CRLF));
	line_feed(&phone, kit_request((struct kit_request){.method = "ACK"}));
	assert_int_equal(k.n_sent, 0);
}

/* As if 503 had come (RFC 3261 16.9). */
static void a_server_that_takes_no_connection(void **state)
{
	(void)state;
	over_tcp();
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE"}));
	kit_fail(&k, phone.ev, HF_R_DIAL_FAILED);
	assert_int_equal(k.send.to, HF_TO_SOURCE);
	assert_int_equal(strncmp(k.out, "SIP/2.0 503 ", 12), 0);
	assert_int_equal(k.n_learnt, 1);
	line_feed(&phone, kit_request((struct kit_request){.method = "ACK"}));
	kit_fail(&k, phone.ev, HF_R_DIAL_FAILED);
	assert_int_equal(k.n_sent, 0);
	assert_int_equal(k.reason, SIP_R_ACK);
}

/* The same request over a new connection is answered there (B67), with the same branch towards the server. */
static void again_over_a_new_connection(void **state)
{
	char first[4096], branch[2][64];

	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "REGISTER"}));
	snprintf(branch[0], sizeof branch[0], "%.29s", strstr(k.out, ";branch="));
	snprintf(first, sizeof first, "%s", answer("200 OK"));
	line_feed(&other, kit_request((struct kit_request){.method = "REGISTER"}));
	snprintf(branch[1], sizeof branch[1], "%.29s", strstr(k.out, ";branch="));
	assert_string_equal(branch[0], branch[1]);
	line_feed(&link, answer("200 OK"));
	line_is_flow(&k, &other);
	line_feed(&link, first);
	line_is_flow(&k, &phone);
}

/* ---- from a server ---- */

/* Fails when what comes over a connection that we dialled is taken for a client's. */
static void a_server_speaks(void **state)
{
	(void)state;
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51:5070;transport=tcp", .from_tag = "s1", .via = "SIP/2.0/TCP 192.0.2.101;branch=z9hG4bKs"}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5070");
	assert_int_equal(k.send.transport, HF_TCP);
	assert_int_equal(k.n_learnt, 1);
	assert_int_equal(k.learnt[0].learn.server, kit_server(&k, "pbx1"));
	line_feed(&phone, answer("200 OK"));
	line_is_flow(&k, &link);

	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@10.9.9.9", .from_tag = "s1", .extra = "Route: <sip:192.0.2.51:5099;transport=TCP;lr>" CRLF}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5099");
	assert_int_equal(k.send.transport, HF_TCP);
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51", .from_tag = "s1"}));
	assert_int_equal(k.send.transport, HF_UDP);
	assert_int_equal(k.send.listener, k.listeners[0].hash);
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF "Record-Route: <sip:hfd-"));

	kit_listener(&k, 2, "udp://192.0.2.1:5080", false); /* of two alike, the one that the server used */
	k.at = &k.listeners[2];
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51", .from_tag = "s1"}));
	assert_int_equal(k.send.listener, k.listeners[2].hash);

	other.ev.from_servers = true; /* a server that dialled us */
	line_feed(&other, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:alice@192.0.2.51", .from_tag = "s1"}));
	assert_int_equal(k.send.to, HF_TO_NEXT_HOP);
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:alice@192.0.2.52", .from_tag = "s1"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
}

/* Without a socket for datagrams there is no way to a next hop over UDP. */
static void no_socket_for_datagrams(void **state)
{
	(void)state;
	kit_listener(&k, 0, "tcp://192.0.2.1:5070", false);
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51", .from_tag = "s1"}));
	assert_int_equal(k.reason, SIP_R_UNREACHABLE);
}

static void invite_by_path(const char *path, const char *method)
{
	char route[300];

	snprintf(route, sizeof route, "Route: %s" CRLF, path + 6);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = method, .uri = "sip:alice@10.1.1.1:5099", .from_tag = "s1", .via = "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKs", .call_id = "s-call", .extra = route}));
}

/* The Path of a registration over a connection leads to that connection and nowhere else (RFC 5626 5.3, B85): 430 when it is gone. */
static void path_is_a_connection(void **state)
{
	char path[200];

	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "REGISTER", .uri = "sip:example.com", .extra = "Supported: path, outbound" CRLF}));
	kit_header(&k, "Path: ", path, sizeof path);
	assert_string_equal(path, "Path: <sip:hff-4i6bvpu96r0000hjjh0lk5u0ro0g0003000001ss6jj6uj3b1t10@192.0.2.1:5060;lr>"); /* as the server reaches us: over UDP */
	invite_by_path(path, "INVITE");
	kit_sent_to(&k, HF_TO_RETURN, "192.0.2.51:0");
	line_is_flow(&k, &phone);
	assert_int_equal(k.send.transport, HF_TCP);
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.1:5060;"));
	assert_true(kit_says(&k, "Record-Route: <sip:hfd-"));
	assert_true(kit_says(&k, "@192.0.2.1:5060;transport=tcp;lr>" CRLF));
	assert_int_equal(k.n_asked, 0);

	kit_fail(&k, (struct hf_event){.listener = &k.listeners[0]}, HF_R_FLOW_GONE);
	assert_int_equal(strncmp(k.out, "SIP/2.0 430 Flow Failed" CRLF, 25), 0);
	kit_sent_to(&k, HF_TO_RETURN, PBX1);

	k.ctx.n_listeners = 1; /* a reload took its listener away: nothing to name ourselves by */
	invite_by_path(path, "INVITE");
	assert_int_equal(strncmp(k.out, "SIP/2.0 430 Flow Failed" CRLF, 25), 0);
	k.ctx.n_listeners = 2;
	k.site.boot++;
	invite_by_path(path, "INVITE");
	assert_int_equal(strncmp(k.out, "SIP/2.0 430 Flow Failed" CRLF, 25), 0);
	assert_int_equal(k.reason, HF_R_FLOW_GONE);
	assert_int_equal(k.n_learnt, 0);
	invite_by_path(path, "ACK");
	assert_int_equal(k.n_sent, 0);
}

/* What went out comes back; true: it is the first of what is behind `bytes`. */
static size_t comes_back(const char *bytes, unsigned reason)
{
	struct hf_event ev = {.kind = HF_EV_FAIL, .bytes = hf_bytes_str(bytes), .reason = reason, .transport = HF_TCP};
	struct hf_acts acts = {0};

	hf_arena_reset(&k.arena);
	k.ctx.parcel = NULL;
	k.n_sent = k.n_dropped = k.n_learnt = k.took = k.reason = 0;
	k.out[0] = 0;
	hf_sip_front.step(&k.ctx, &ev, &acts);
	for (unsigned i = 0; i < acts.n; i++)
		if (acts.a[i].kind == HF_ACT_TOOK) {
			k.took = acts.a[i].need;
			acts.a[i--] = acts.a[--acts.n];
		}
	kit_take(&k, &ev, &acts);
	return k.took;
}

/* Messages that waited for a connection to a server come back one by one; each is answered where its Via parameter says (RFC 3261 16.9). */
static void messages_that_come_back(void **state)
{
	char all[8192], path[200], route[300], want[1024];
	size_t n, first;

	(void)state;
	over_tcp();
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE", .via = "SIP/2.0/TCP 192.0.2.51:5062;rport;branch=z9hG4bK1"}));
	first = (size_t)snprintf(all, sizeof all, "%s", k.out);
	kit_feed(&k, UDP_PHONE, kit_request((struct kit_request){.method = "REGISTER", .extra = "Supported: path" CRLF "User-Agent: something" CRLF}));
	n = first + (size_t)snprintf(all + first, sizeof all - first, "%s", k.out);
	kit_header(&k, "Path: ", path, sizeof path);
	line_feed(&phone, kit_request((struct kit_request){.method = "ACK"}));
	snprintf(all + n, sizeof all - n, "%s", k.out);

	assert_int_equal(comes_back(all, HF_R_DIAL_FAILED), first);
	assert_int_equal(k.send.to, HF_TO_RETURN);
	line_is_flow(&k, &phone);
	assert_int_equal(k.send.transport, HF_TCP);
	snprintf(want, sizeof want, "SIP/2.0 503 Service Unavailable" CRLF "Via: SIP/2.0/TCP 192.0.2.51:5062;rport=40001;branch=z9hG4bK1;received=192.0.2.51" CRLF
		 "From: <sip:alice@example.com>;tag=a1" CRLF "To: <sip:bob@example.com>;tag=hft-");
	assert_ptr_equal(strstr(k.out, want), k.out);
	assert_non_null(strstr(k.out, CRLF "Call-ID: c1" CRLF "CSeq: 1 INVITE" CRLF "Content-Length: 0" CRLF CRLF));
	assert_int_equal(k.learnt[0].learn.life, HF_LIFE_LINGER);

	assert_int_equal(comes_back(all + first, HF_R_DIAL_FAILED), n - first);
	kit_sent_to(&k, HF_TO_RETURN, UDP_PHONE);
	assert_int_equal(k.send.transport, HF_UDP);
	assert_int_equal(strncmp(k.out, "SIP/2.0 503 ", 12), 0);
	assert_false(kit_says(&k, ";hf="));
	assert_true(comes_back(all + n, HF_R_DIAL_FAILED) > 0);
	assert_int_equal(k.n_sent, 0); /* an ACK */
	assert_int_equal(k.reason, SIP_R_ACK);

	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE"}));
	line_feed(&link, answer("200 OK")); /* a response, and what is not ours or not whole */
	snprintf(all + n, sizeof all - n, "%s", k.out);
	assert_true(comes_back(all + n, HF_R_DIAL_FAILED) > 0);
	assert_int_equal(k.n_sent, 0);
	assert_true(comes_back(kit_request((struct kit_request){.method = "INVITE"}), HF_R_DIAL_FAILED) > 0);
	assert_int_equal(k.n_sent + k.reason, HF_R_DIAL_FAILED);
	all[first - 1] = 0;
	assert_int_equal(comes_back(all, HF_R_DIAL_FAILED), 0);
	assert_int_equal(k.n_sent + k.reason, HF_R_DIAL_FAILED);

	/* to a client's connection that is gone, on whatever worker */
	line_feed(&phone, kit_request((struct kit_request){.method = "REGISTER", .extra = "Supported: path" CRLF}));
	kit_header(&k, "Path: ", path, sizeof path);
	snprintf(route, sizeof route, "Route: %s" CRLF, path + 6);
	line_feed(&link, kit_request((struct kit_request){.method = "MESSAGE", .from_tag = "s1", .via = "SIP/2.0/TCP 192.0.2.101;branch=z9hG4bKs", .extra = route}));
	snprintf(all, sizeof all, "%s", k.out);
	comes_back(all, HF_R_FLOW_GONE);
	assert_int_equal(strncmp(k.out, "SIP/2.0 430 Flow Failed" CRLF, 25), 0);
	line_is_flow(&k, &link);
}

static bool same(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* Every allocation failing once: no crash, the same message or none, and never a message taken without an end. */
static void every_allocation_failing(void **state)
{
	char kept[4][4096], whole[4096];

	(void)state;
	over_tcp();
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE", .via = TCP_VIA}));
	strcpy(kept[0], answer("200 OK"));
	strcpy(kept[1], kit_request((struct kit_request){.method = "REGISTER", .via = "SIP/2.0/TCP h;rport;branch=z9hG4bK1", .extra = "Supported: path" CRLF}));
	strcpy(kept[2], kit_request((struct kit_request){.method = "INVITE", .uri = "sips:b@b", .via = "SIP/2.0/TCP h;rport;branch=z9hG4bK1"}));
	strcpy(kept[3], kit_request((struct kit_request){.method = "INVITE", .extra = "Proxy-Require: foo" CRLF}));
	for (unsigned i = 0; i < 4; i++)
		for (long at = 1;; at++) {
			bool failed;

			line_open(&phone, &k, &k.listeners[1], PHONE, 3);
			line_feed(&phone, kept[i]);
			snprintf(whole, sizeof whole, "%s", k.out);
			line_open(&phone, &k, &k.listeners[1], PHONE, 3);
			k.arena.fail_at = at;
			line_feed(&phone, kept[i]);
			failed = k.arena.fail_at == 0;
			k.arena.fail_at = 0;
			if (k.n_sent && !same(whole, k.out) && strncmp(k.out, "SIP/2.0 513 ", 12) != 0)
				fail_msg("message %u, allocation %ld: changed by it:\n%s", i, at, k.out);
			if (!failed)
				break;
		}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(from_a_connection_to_udp), T(its_answer_over_the_connection), T(when_the_listener_is_gone), T(after_a_restart_only_the_address_is_left), T(from_udp_to_a_connection),
		T(from_a_connection_to_a_connection), T(both_record_routes_come_back), T(no_listener_of_the_servers_transport), T(over_ipv6), T(a_wildcard_listener),
		T(dialogs_of_one_connection), T(one_call_over_two_transports), T(segments_are_no_messages), T(pings), T(every_cut_of_a_pipeline),
		T(lengths_that_cannot_be), T(lost_framing_ends_it), T(an_endless_head), T(the_peer_closes), T(a_framed_fault_goes_on),
		T(our_answers), T(a_server_that_takes_no_connection), T(again_over_a_new_connection), T(messages_that_come_back), T(a_server_speaks), T(no_socket_for_datagrams), T(path_is_a_connection),
		T(every_allocation_failing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
