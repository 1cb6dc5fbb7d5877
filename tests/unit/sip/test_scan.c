/* What the scanner finds in literal messages: every field once in plain and once in odd spelling, and every check of the whole.
 * Breaks when: a reader of scan_head.c, scan_via.c or scan_route.c goes, or its row in the table of headers. */
#include "sip_data.h"

#define HEAD "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK-1\r\nFrom: <sip:a@h>;tag=f\r\nTo: <sip:b@h>\r\nCall-ID: c@h\r\n"
#define INVITE "INVITE sip:b@h SIP/2.0\r\n"

static struct sip_msg msg;

static enum sip_fault scan(const char *text)
{
	return data_scan(hf_bytes_str(text), false, &usual_limits, &msg);
}

static void is(struct hf_bytes got, const char *want)
{
	if (!got.p || !hf_bytes_eq(got, hf_bytes_str(want)))
		fail_msg("\"%.*s\", not \"%s\"", (int)got.n, (const char *)got.p, want);
}

static void spans(struct sip_span s, const char *want)
{
	is(hf_bytes_sub(msg.raw, s.at, s.n), want);
}

static void plain(void **state)
{
	(void)state;
	assert_int_equal(scan("INVITE sip:bob@example.com;lr SIP/2.0\r\n"
		"Via: SIP/2.0/TCP 192.0.2.51:5070;branch=z9hG4bK-1;rport;received=192.0.2.9;maddr=192.0.2.8;hf=abc;x=\"a,;b\"\r\n"
		"v: SIP/2.0/UDP [2001:db8::1];branch=z9hG4bK-2;rport=99 , SIP/2.0/UDP third\r\n"
		"Max-Forwards: 69\r\n"
		"From: \"A \\\" <x>, ;tag=no\" <sip:alice@example.com;tag=no>;x;tag=f1\r\n"
		"To: sip:bob@example.com;tag=t1\r\n"
		"Call-ID: call-1@example.com\r\n"
		"CSeq: 0042 INVITE\r\n"
		"Contact: \"x, y\" <sip:alice@192.0.2.51>;expires=60, <sip:two@h>;expires=\"7\";q=1\r\n"
		"Expires: 3600\r\nSession-Expires: 1800;refresher=uac\r\nMin-SE: 90\r\n"
		"Supported: timer, PATH\r\nEvent: presence;id=1\r\nSubscription-State: active;expires=5\r\n"
		"Record-Route: <sip:a;lr>, <sip:b;lr>\r\nProxy-Require: one,two\r\n"
		"Replaces: r@h;to-tag=1;from-tag=2\r\nJoin: j@h\r\nTarget-Dialog: t@h\r\nRefer-To: <sip:c@h>\r\n"
		"Content-Length: 003\r\n\r\nabcXYZ"), SIP_GOOD);
	assert_true(data_arena_used() == 0); /* what is not folded is not copied */
	assert_int_equal(msg.method_id, SIP_INVITE);
	is(msg.method, "INVITE");
	is(msg.uri.user, "bob");
	assert_true(msg.uri.lr);
	spans(msg.uri_span, "sip:bob@example.com;lr");
	assert_int_equal(msg.n_vias, 3);
	is(msg.via[0].transport, "TCP");
	is(msg.via[0].sent_by, "192.0.2.51:5070");
	is(msg.via[0].host, "192.0.2.51");
	assert_int_equal(msg.via[0].port, 5070);
	is(msg.via[0].branch, "z9hG4bK-1");
	is(msg.via[0].received, "192.0.2.9");
	is(msg.via[0].maddr, "192.0.2.8");
	is(msg.via[0].hf, "abc");
	assert_true(msg.via[0].rport && !msg.via[0].rport_value);
	spans(msg.via[0].rport_span, "rport");
	spans(msg.via[0].received_span, "received=192.0.2.9");
	spans(msg.via[0].params, ";branch=z9hG4bK-1;rport;received=192.0.2.9;maddr=192.0.2.8;hf=abc;x=\"a,;b\"");
	is(msg.via[1].text, "SIP/2.0/UDP [2001:db8::1];branch=z9hG4bK-2;rport=99");
	is(msg.via[1].host, "[2001:db8::1]");
	is(msg.via[1].sent_by, "[2001:db8::1]");
	assert_true(msg.via[1].rport && msg.via[1].rport_value);
	spans(msg.via[1].rport_span, "rport=99");
	assert_int_equal(msg.max_forwards, 69);
	assert_true(msg.has_max_forwards);
	spans(msg.max_forwards_span, "69");
	is(msg.from, "\"A \\\" <x>, ;tag=no\" <sip:alice@example.com;tag=no>;x;tag=f1");
	is(msg.from_tag, "f1");
	is(msg.from_addr, "sip:alice@example.com;tag=no");
	is(msg.to_tag, "t1");
	is(msg.to_addr, "sip:bob@example.com");
	is(msg.call_id, "call-1@example.com");
	assert_int_equal(msg.cseq, 42);
	is(msg.cseq_text, "0042");
	is(msg.cseq_method, "INVITE");
	is(msg.cseq_value, "0042 INVITE");
	assert_true(msg.has_expires && msg.expires == 3600 && msg.has_session_expires);
	assert_int_equal(msg.session_expires, 1800);
	assert_true(msg.has_path_support);
	is(msg.event, "presence;id=1");
	is(msg.subscription_state, "active;expires=5");
	is(msg.proxy_require, "one,two");
	is(msg.replaces, "r@h;to-tag=1;from-tag=2");
	is(msg.join, "j@h");
	is(msg.target_dialog, "t@h");
	assert_true(msg.has_content_length && msg.content_length == 3 && msg.framed && msg.answerable);
	spans(msg.content_length_span, "003");
	is(hf_bytes_sub(msg.raw, msg.body, msg.raw.n), "abc");
	spans((struct sip_span){msg.head_end, 4}, "\r\nab");
	spans((struct sip_span){msg.start_end, 4}, "Via:");
	assert_int_equal(msg.via_at, msg.start_end);
}

static void folded(void **state)
{
	(void)state;
	assert_int_equal(scan(INVITE "v :\r\n SIP / 2.0\r\n\t/ UDP\r\n 192.0.2.51 :\r\n 5060 ; branch =\r\n z9hG4bK-1 ;\r\n rport = 7\r\n"
		"f: \"A\" \r\n\t <sip:a@h> ;\r\n  tag = f\r\nT\t:<sip:b@h>\r\ni:\r\n c@h \r\nCSeq: 1\r\n INVITE\r\n"
		"Route: <sip:x;lr>,\r\n <sip:y;lr>\r\nRoute: <sip:z>\r\nEvent:\r\n\r\n"), SIP_GOOD);
	is(msg.via[0].text, "SIP / 2.0 / UDP 192.0.2.51 : 5060 ; branch = z9hG4bK-1 ; rport = 7");
	is(msg.via[0].sent_by, "192.0.2.51:5060");
	is(msg.via[0].branch, "z9hG4bK-1");
	spans(msg.via[0].rport_span, "rport = 7");
	is(msg.from, "\"A\" <sip:a@h> ; tag = f");
	is(msg.from_tag, "f");
	is(msg.call_id, "c@h");
	is(msg.cseq_value, "1 INVITE");
	is(msg.routes_text, "<sip:x;lr>, <sip:y;lr>,<sip:z>");
	assert_int_equal(msg.n_routes, 3);
	is(msg.route_last.uri.host, "z");
	assert_null(msg.proxy_require.p);
	is(msg.event, "");
}

/* A NUL ends nothing: in a display name, folded or not, it is an octet like others, and what is behind it is found; and messages of one octet, whichever.
 * Fails with a reader that looks for the end of a string. */
static void b50_nul_and_single_octets(void **state)
{
	static const char *const names[] = {"\"A%\" ", "\"A%B\"\r\n ", "\"\r\n %\" "};
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct hf_writer w = hf_writer_on((uint8_t *)text, sizeof text);

		hf_w_printf(&w, INVITE "v: SIP/2.0/UDP h\r\nt: <sip:b@h>\r\nf: %s<sip:a@h>;tag=behind\r\ni: c\r\nCSeq: 1\r\n INVITE\r\n\r\n", names[i]);
		*(char *)memchr(text, '%', w.n) = 0;
		assert_int_equal(data_scan(hf_writer_view(&w), false, &usual_limits, &msg), SIP_GOOD);
		is(msg.from_tag, "behind");
		is(msg.from_addr, "sip:a@h");
		is(msg.call_id, "c");
		assert_int_equal(msg.cseq, 1);
	}
	for (unsigned c = 0; c < 256; c++) {
		uint8_t one = (uint8_t)c;
		enum sip_fault f = data_scan(hf_bytes_of(&one, 1), false, &usual_limits, &msg);

		assert_true((f == SIP_GARBAGE || f == SIP_BAD) && !msg.answerable);
	}
}

/* Each compact form (RFC 3261 7.3.3 and the registry) is its header, in either case; the letters of others are not. */
static void compact(void **state)
{
	(void)state;
	assert_int_equal(scan("INVITE sip:b@h SIP/2.0\r\nV:SIP/2.0/UDP h\r\nF:<sip:a@h>;tag=f\r\nT:<sip:b@h>\r\nI:c\r\nCSEQ:1 INVITE\r\nk:path\r\nX:90;refresher=uas\r\n"
		"o:presence\r\nR:<sip:r@h>\r\nM:<sip:m@h>\r\nc:application/sdp\r\ne:gzip\r\ns:\r\nu:x\r\nd:x\r\nj:x\r\ny:x\r\na:x\r\nn:x\r\nb:<x>\r\nl:3\r\n\r\n x"
		"yz"), SIP_GOOD);
	assert_true(msg.n_vias == 1 && msg.has_path_support && msg.session_expires == 90 && msg.content_length == 3);
	is(msg.event, "presence");
	is(msg.from_tag, "f");
	is(hf_bytes_sub(msg.raw, msg.body, msg.raw.n), " xy"); /* a blank behind the empty line folds nothing */
}

static void response(void **state)
{
	(void)state;
	assert_int_equal(scan("SIP/2.0 180 Ringing at 5\r\n" HEAD "CSeq: 7 SUBSCRIBE\r\nContact: *\r\nMax-Forwards: x\r\nRoute: x\r\n\r\n"), SIP_GOOD);
	assert_true(msg.response && !msg.answerable);
	assert_int_equal(msg.status, 180);
	assert_int_equal(msg.method_id, SIP_SUBSCRIBE);
	assert_int_equal(msg.n_routes, 0);
	assert_int_equal(scan("SIP/2.0 200\r\n" HEAD "CSeq: 7 BYE\r\n\r\n"), SIP_GOOD);
	assert_int_equal(scan("SIP/2.0 2000 OK\r\n" HEAD "CSeq: 7 BYE\r\n\r\n"), SIP_BAD);
	assert_int_equal(scan("SIP/2.0  200 OK\r\n" HEAD "CSeq: 7 BYE\r\n\r\n"), SIP_BAD);
	assert_int_equal(scan("SIP/2.1 200 OK\r\n" HEAD "CSeq: 7 BYE\r\n\r\n"), SIP_VERSION);
	assert_int_equal(scan("SIP/2.0 200 OK\r\nCSeq: 7 BYE\r\n\r\n"), SIP_BAD);
}

/* One thing wrong each, added to a good request; what the fault is called, and whether an answer can be made. */
static void faults(void **state)
{
	static const struct { const char *text, *why; enum sip_fault fault; bool answerable; } t[] = {
		{INVITE HEAD "CSeq: 1 INVITE\r\nl: 9\r\n\r\n", "Content-Length", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nl: 0\r\nContent-Length: 0\r\n\r\n", "two Content-Length", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nl: 0x\r\n\r\n", "Content-Length", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nl:\r\n\r\n", "Content-Length", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nl: 18446744073709551616\r\n\r\n", "Content-Length", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nf: <sip:x@h>\r\n\r\n", "two From", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nt: <sip:x@h>\r\n\r\n", "two To", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\ni: c@h\r\n\r\n", "two Call-ID", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nCSEQ: 1 INVITE\r\n\r\n", "two CSeq", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nMax-Forwards: 1\r\nmax-forwards: 1\r\n\r\n", "two Max-Forwards", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nMax-Forwards: 256\r\n\r\n", "Max-Forwards", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nReplaces: a\r\nReplaces: b\r\n\r\n", "two Replaces", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nRoute: <sip:h\r\n\r\n", "Route", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nRoute: <sip:h>,,<sip:h>\r\n\r\n", "Route", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nRoute: <sip:a>,<sip:b>,<sip:c>,<sip:d>,<sip:e:x>\r\n\r\n", "Route", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nno colon\r\n\r\n", "header name", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\n: x\r\n\r\n", "header name", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nX: a\nY: b\r\n\r\n", "CR or LF in a line", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nX: a\rb\r\n\r\n", "CR or LF in a line", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nX: a\r\r\n\r\n", "CR or LF in a line", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nv: SIP/2.0/UDP x;y=\n\r\n\r\n", "CR or LF in a line", SIP_BAD, false},
		{INVITE HEAD "CSeq: 1 INVITE\r\nv:\r\n\r\n", "Via", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE\r\nv: a,\r\n\r\n", "Via", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 BYE\r\n\r\n", "CSeq method", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1 INVITE x\r\n\r\n", "CSeq", SIP_BAD, true},
		{INVITE HEAD "CSeq: 1INVITE\r\n\r\n", "CSeq", SIP_BAD, true},
		{INVITE HEAD "CSeq: 2147483648 INVITE\r\n\r\n", "CSeq", SIP_BAD, true},
		{INVITE HEAD "CSeq:\r\n\r\n", "CSeq", SIP_BAD, true},
		{INVITE HEAD "\r\n", "no CSeq", SIP_BAD, false},
		{INVITE HEAD "CSeq: 1 INVITE\r\n", "no empty line", SIP_BAD, false},
		{INVITE HEAD "CSeq: 1 INVITE", "no empty line", SIP_BAD, false},
		{"INVITE sip:b@h SIP/2.1\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n", "SIP-Version", SIP_VERSION, true},
		{"INVITE sip:b@h SIP/two\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n", "no SIP-Version", SIP_GARBAGE, false},
		{"INVITE sip:b@h\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n", "no SIP-Version", SIP_BAD, true},
		{"INVITE SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n", "blanks in the start line", SIP_BAD, true},
		{"INVITE sip:b@h  SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n", "blanks in the start line", SIP_BAD, true},
		{"INVITE sip:b@h\tSIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n", "no SIP-Version", SIP_GARBAGE, false},
		{"IN@ITE sip:b@h SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n", "method", SIP_BAD, true},
		{"INVITE sip:b@h?x=y SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n", "Request-URI", SIP_BAD, true},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "no SIP-Version", SIP_GARBAGE, false},
		{"\r\n\r\n", "no start line", SIP_GARBAGE, false},
		{"", "no start line", SIP_GARBAGE, false},
		{"\n" INVITE, "no start line", SIP_GARBAGE, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		if (scan(t[i].text) != t[i].fault || strcmp(msg.why, t[i].why))
			fail_msg("row %zu: fault %d (%s), not %d (%s)", i, msg.fault, msg.why ? msg.why : "", t[i].fault, t[i].why);
		if (msg.answerable != t[i].answerable)
			fail_msg("row %zu: answerable %d", i, msg.answerable);
	}
	assert_int_equal(scan("NEWS sip:b@h SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n"), SIP_BAD);
	assert_int_equal(msg.answer, 501);
}

#define WITH_VIA(v) INVITE "Via: " v "\r\nf: <sip:a@h>;tag=f\r\nt: <sip:b@h>\r\ni: c\r\nCSeq: 1 INVITE\r\n\r\n"
#define WITH_FROM(v) INVITE "v: SIP/2.0/UDP h\r\nf: " v "\r\nt: <sip:b@h>\r\ni: c\r\nCSeq: 1 INVITE\r\n\r\n"
#define WITH_ID(v) INVITE "v: SIP/2.0/UDP h\r\nf: <sip:a@h>;tag=f\r\nt: <sip:b@h>\r\ni: " v "\r\nCSeq: 1 INVITE\r\n\r\n"

static void values(void **state)
{
	static const char *const bad[] = {
		WITH_VIA("SIP/2.0/UDP"), WITH_VIA("SIP/2.0/UDP "), WITH_VIA("SIP/2.0 UDP h"), WITH_VIA("SIP/3.0/UDP h"), WITH_VIA("SIP/2.0/UDP h;"),
		WITH_VIA("SIP/2.0/UDP h;;"), WITH_VIA("SIP/2.0/UDP h;branch="), WITH_VIA("SIP/2.0/UDP h;branch=z9hG4bK"), WITH_VIA("SIP/2.0/UDP h;branch=a;branch=b"),
		WITH_VIA("SIP/2.0/UDP h;rport;rport"), WITH_VIA("SIP/2.0/UDP h:70000"), WITH_VIA("SIP/2.0/UDP h:x"), WITH_VIA("SIP/2.0/UDP 2001:db8::1"),
		WITH_VIA("SIP/2.0/UDP [2001:db8::1"), WITH_VIA("SIP/2.0/UDP h;x=\"y"), WITH_VIA("SIP/2.0/UDP h x"), WITH_VIA("SIP/2.0/UDPh"),
		WITH_FROM("\"A <sip:a@h>;tag=f"), WITH_FROM("A, B <sip:a@h>"), WITH_FROM("<sip:a@h;tag=f"), WITH_FROM("< sip:a@h >"), WITH_FROM("<>"),
		WITH_FROM("<sip:a@h>;tag=f;tag=g"), WITH_FROM("<sip:a@h>;tag="), WITH_FROM("<sip:a@h>;tag"), WITH_FROM("<sip:a@h>;tag=\"q\""),
		WITH_FROM("<sip:a@h>tag=f"), WITH_FROM("<sip:a@h>;;tag=f"), WITH_FROM(""), WITH_FROM("\"a\" sip:a@h"), WITH_FROM("\"a\" \"b\" <sip:a@h>"),
		WITH_ID(""), WITH_ID("a b"), WITH_ID("a,b"), WITH_ID("a@b@c"), WITH_ID("@a"), WITH_ID("a@"), WITH_ID("a;b"), WITH_ID("a\x7f"), WITH_ID("a\xc3"),
	};
	static const char *const good[] = {
		WITH_VIA("SIP/2.0/UDP h"), WITH_VIA("sip/2.0/x-new h.:0"), WITH_VIA("SIP/2.0/UDP [::1]:5060;received=::2"), WITH_VIA("SIP/2.0/UDP h_1;branch=abc"),
		WITH_VIA("SIP/2.0/UDP h;received=[2001:db8::2];x=\"\\\",;\";branch=z9hG4bK=="), WITH_VIA("SIP/2.0/UDP h, not judged at all"),
		WITH_FROM("A<sip:a@h>"), WITH_FROM("\"\" <sip:a@h>"), WITH_FROM("isbn:2983792873"), WITH_FROM("<http://h/>;tag=3"), WITH_FROM("sip:a@h;tag=1"),
		WITH_FROM("<sip:a@h:99999>"), WITH_FROM("a@h"), WITH_FROM("(c) <sip:a@h>;x=\"a;tag=1\""),
		WITH_ID("x"), WITH_ID("x\"}backend_up{name=\"b1\"}=0@192.0.2.51"), WITH_ID("word%ZK-!.*_+'@word`~)(><:\\/\"][?}{"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (scan(bad[i]) != SIP_BAD)
			fail_msg("taken: %s", bad[i]);
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		if (scan(good[i]) != SIP_GOOD)
			fail_msg("refused (%s): %s", msg.why, good[i]);
	assert_int_equal(scan(WITH_FROM("<sip:a@h:99999>")), SIP_GOOD);
	assert_null(msg.from_tag.p);
	is(msg.from_addr, "sip:a@h:99999");
}

/* Numbers that are too large mean "for ever", what is no number means nothing, and is not refused. */
static void seconds(void **state)
{
	(void)state;
	assert_int_equal(scan(INVITE HEAD "CSeq: 1 INVITE\r\nExpires: 280297596632815\r\nContact: <sip:a@h>;expires=99999999999\r\n\r\n"), SIP_GOOD);
	assert_true(msg.has_expires && msg.expires == UINT32_MAX);
	assert_int_equal(scan(INVITE HEAD "CSeq: 1 INVITE\r\nExpires: soon\r\nx: 5 6\r\nContact: <sip:a@h>;expires=-1,;;,\"\r\n\r\n"), SIP_GOOD);
	assert_true(!msg.has_expires && !msg.has_session_expires);
}

static void limits(void **state)
{
	struct sip_limits l = usual_limits;
	const char *text = "INVITE sip:b@h;p;p SIP/2.0\r\nv: SIP/2.0/UDP h;a;b;c\r\nf: <sip:a@h>;a;b;c;d\r\nt: <sip:b@h>\r\ni: 12345\r\nCSeq: 1 INVITE\r\n\r\n";
	struct hf_bytes raw = hf_bytes_str(text);

	(void)state;
	l.message = (uint32_t)raw.n, l.headers = 5, l.line = 28, l.call_id = 5, l.params = 4;
	assert_int_equal(data_scan(raw, false, &l, &msg), SIP_GOOD);
	for (uint32_t *p = &l.message; p <= &l.params; p++) {
		(*p)--;
		assert_int_equal(data_scan(raw, false, &l, &msg), SIP_TOO_LONG);
		assert_int_equal(msg.answer, 513);
		assert_true(msg.answerable && msg.framed); /* of too many lines all are read: CSeq is the last */
		(*p)++;
	}
	l.params = 2;
	assert_int_equal(data_scan(raw, false, &l, &msg), SIP_TOO_LONG);
	l.params = 1;
	assert_int_equal(data_scan(raw, false, &l, &msg), SIP_TOO_LONG);
	assert_string_equal(msg.why, "too many parameters");
}

static void lines(void **state)
{
	struct sip_line l;
	uint32_t at = 0;
	struct hf_arena a;
	struct hf_bytes list, value;

	(void)state;
	assert_int_equal(scan(INVITE HEAD "X-Key :\r\n a , \"b,c\" ,\r\n\t<d,e>\r\nv: SIP/2.0/UDP z\r\nCSeq: 1 INVITE\r\n\r\nbody: x\r\n"), SIP_GOOD);
	assert_true(sip_line_next(&msg, &at, &l) && l.is_via && !l.folded);
	spans(l.line, "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK-1\r\n");
	for (int i = 0; i < 4; i++)
		assert_true(sip_line_next(&msg, &at, &l) && (i == 3) == l.folded && !l.is_via);
	spans(l.name, "X-Key");
	hf_arena_init(&a, data_arena, sizeof data_arena);
	is(sip_unfold(l.text, &a), "a , \"b,c\" , <d,e>");
	list = l.text;
	assert_true(sip_value_next(&list, &value));
	is(value, "a");
	assert_true(sip_value_next(&list, &value));
	is(value, "\"b,c\"");
	assert_true(sip_value_next(&list, &value));
	is(value, "<d,e>");
	assert_false(sip_value_next(&list, &value));
	assert_true(sip_line_next(&msg, &at, &l) && l.is_via);
	assert_true(sip_line_next(&msg, &at, &l));
	assert_false(sip_line_next(&msg, &at, &l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain), cmocka_unit_test(folded), cmocka_unit_test(b50_nul_and_single_octets), cmocka_unit_test(compact), cmocka_unit_test(response), cmocka_unit_test(faults), cmocka_unit_test(values),
		cmocka_unit_test(seconds), cmocka_unit_test(limits), cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
