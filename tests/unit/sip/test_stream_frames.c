/* Connections: where messages begin and end, keep-alives, and the end of a connection. In whatever pieces octets come. */
#include "stream_bench.h"

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

/* B41, B42, B43: lengths that cannot be are answered and end the connection; none is waited for beyond the limit, and nothing behind it is read. The last rows
 * have two lengths for a reader that takes a line otherwise. Each fails when its part of may_be_length goes. */
static void lengths_that_cannot_be(void **state)
{
	static const struct { const char *line, *status; } rows[] = {
		{"Content-Length: 99999999999999999999999999" CRLF, "400"}, {"Content-Length: -1" CRLF, "400"}, {"Content-Length:" CRLF, "400"}, {"l: 12abc" CRLF, "400"},
		{"Content-Length: 4294967301" CRLF, "400"}, {"l: 3" CRLF "Content-Length: 4" CRLF, "400"}, {"", "400"}, {"Content-Length: 2000000000" CRLF, "513"}, {"Content-Length: 65536" CRLF, "513"},
		{"l: 6" CRLF "Content-Length" CRLF " : 0" CRLF, "400"}, {"l: 6" CRLF "X: y\nContent-Length: 0" CRLF, "400"}, {"l: 6" CRLF "X: y\rl: 0" CRLF, "400"}, {"l: 6" CRLF "\v L" CRLF, "400"},
		{"l: 6" CRLF "content-length\1: 0" CRLF, "400"},
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
	static char lines[300 * 6 + 1];

	(void)state;
	for (int i = 0; i < 300; i++)
		memcpy(lines + 6 * i, "X: 1" CRLF, 6);
	line_feed(&phone, "OPTIONS sip:b@b SIP/2.0" CRLF);
	line_feed(&phone, lines);
	line_feed(&phone, "Via: " TCP_VIA CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>" CRLF "Call-ID: c" CRLF "CSeq: 1 OPTIONS" CRLF "l: 0" CRLF CRLF);
	assert_int_equal(strncmp(k.out, "SIP/2.0 513 ", 12), 0);
	line_feed(&phone, "OPTIONS sip:b@b SIP/2.0" CRLF "Via: " TCP_VIA CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>" CRLF "Call-ID: c" CRLF "CSeq: 1 OPTIONS" CRLF "l: 0" CRLF "all: \1" CRLF "To\1: all" CRLF CRLF);
	assert_int_equal(strncmp(k.out, "SIP/2.0 400 ", 12), 0);
	line_feed(&phone, "INVITE sip:b@b SIP/2.0" CRLF "Via: " TCP_VIA CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>" CRLF "Call-ID: c" CRLF "CSeq: x INVITE" CRLF "l: 0" CRLF CRLF);
	assert_int_equal(strncmp(k.out, "SIP/2.0 400 ", 12), 0);
	line_feed(&phone, "SIP/2.0 200 OK" CRLF "Via: SIP/2.0/TCP 192.0.2.9;branch=z9hG4bK1" CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:b@b>;tag=2" CRLF "Call-ID: c" CRLF "CSeq: 1 INVITE" CRLF "l: 0" CRLF CRLF);
	assert_int_equal(k.reason, SIP_R_FOREIGN_VIA);
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(dialogs_of_one_connection), T(one_call_over_two_transports), T(segments_are_no_messages), T(pings), T(every_cut_of_a_pipeline),
		T(lengths_that_cannot_be), T(lost_framing_ends_it), T(an_endless_head), T(the_peer_closes), T(a_framed_fault_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
