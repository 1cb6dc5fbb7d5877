/* Answers of our own: which, what they carry, that they are never longer than the request, and that their ACK ends here. */
#include "front_kit.h"

static struct kit k;

static int setup(void **state) { (void)state; kit_init(&k); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PHONE "192.0.2.51:5060"

static void answers(const char *status, unsigned reason)
{
	assert_int_equal(k.n_sent, 1);
	assert_int_equal(k.send.to, HF_TO_RETURN);
	assert_int_equal(strncmp(k.out + 8, status, strlen(status)), 0);
	assert_int_equal(k.reason, reason);
	assert_int_equal(k.n_asked, 0);
}

/* The whole answer; fails when a header of it changes, or received and rport are not filled in. */
static void a_whole_answer(void **state)
{
	(void)state;
	kit_feed(&k, "192.0.2.51:40001", "INVITE sip:bob@example.com SIP/2.0" CRLF "v: SIP/2.0/UDP 10.0.0.5:5060 ;branch=z9hG4bKa; rport" CRLF
		 "Via: SIP/2.0/UDP 10.0.0.6;branch=z9hG4bKb,\r\n SIP/2.0/UDP 10.0.0.7;branch=z9hG4bKc" CRLF "Max-Forwards: 0" CRLF "f: \"A, B\" <sip:alice@example.com>;tag=a1" CRLF
		 "t: <sip:bob@example.com>" CRLF "i: c1" CRLF "CSeq: 7 INVITE" CRLF "Contact: <sip:alice@10.0.0.5>" CRLF "User-Agent: a phone with a name" CRLF CRLF);
	kit_wants(&k, "SIP/2.0 483 Too Many Hops" CRLF "v: SIP/2.0/UDP 10.0.0.5:5060 ;branch=z9hG4bKa; rport=40001;received=192.0.2.51" CRLF
		  "Via: SIP/2.0/UDP 10.0.0.6;branch=z9hG4bKb,\r\n SIP/2.0/UDP 10.0.0.7;branch=z9hG4bKc" CRLF "From: \"A, B\" <sip:alice@example.com>;tag=a1" CRLF
		  "To: <sip:bob@example.com>;tag=hft-hj2k0mg4ef9ssb8" CRLF "Call-ID: c1" CRLF "CSeq: 7 INVITE" CRLF "Content-Length: 0" CRLF CRLF);
	kit_sent_to(&k, HF_TO_RETURN, "192.0.2.51:40001");
}

/* One row a check of check.c. */
static void the_checks(void **state)
{
	static const struct { struct kit_request r; const char *status; unsigned reason; } rows[] = {
		{{.method = "INVITE", .uri = "sips:bob@example.com"}, "416 ", SIP_R_SCHEME},
		{{.method = "INVITE", .uri = "soap.beep://192.0.2.103:3002"}, "416 ", SIP_R_SCHEME},
		{{.method = "INVITE", .extra = "Proxy-Require: foo, bar" CRLF "User-Agent: something long enough" CRLF}, "420 ", SIP_R_EXTENSION},
		{{.method = "INVITE", .extra = "Call-ID: c2" CRLF "User-Agent: something long enough" CRLF}, "400 ", SIP_R_MALFORMED},
		{{.method = "OPTIONS", .cseq = "4294967296", .extra = "User-Agent: something long enough" CRLF}, "400 ", SIP_R_MALFORMED},
		{{.method = "INVITE", .extra = "Route: <sip:192.0.2.1;lr>,<sip:192.0.2.1;lr>,<sip:192.0.2.1;lr>,<sip:192.0.2.1;lr>,<sip:192.0.2.1;lr>" CRLF}, "400 ", SIP_R_MANY_ROUTES},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_feed(&k, PHONE, kit_request(rows[i].r));
		answers(rows[i].status, rows[i].reason);
	}
	kit_feed(&k, PHONE, kit_request(rows[2].r));
	assert_true(kit_says(&k, CRLF "Unsupported: foo"));
	assert_true(kit_says(&k, "bar" CRLF));
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "CANCEL", .extra = "Proxy-Require: foo" CRLF}));
	assert_int_equal(k.send.to, HF_TO_SERVER); /* not in CANCEL (RFC 3261 8.2.2.3) */
}

/* Where a Path is mandatory a phone that supports none is told so, and nobody else (RFC 3327 5.2). Fails when lacks_path looks at less. */
static void path_required(void **state)
{
	const struct kit_request bare = {.method = "REGISTER", .uri = "sip:example.com", .extra = "User-Agent: something long enough" CRLF},
		supports = {.method = "REGISTER", .uri = "sip:example.com", .extra = "Supported: outbound, path" CRLF};

	(void)state;
	kit_feed(&k, PHONE, kit_request(bare));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	k.conf.path = SIP_PATH_REQUIRED;
	kit_feed(&k, PHONE, kit_request(bare));
	answers("421 ", SIP_R_NO_PATH);
	assert_true(kit_says(&k, CRLF "Require: path" CRLF));
	kit_feed(&k, PHONE, kit_request(supports));
	assert_true(k.send.to == HF_TO_SERVER && kit_says(&k, CRLF "Path: <sip:hff-"));
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	kit_feed(&k, "192.0.2.101:5060", kit_request((struct kit_request){.method = "REGISTER", .uri = "sip:192.0.2.51"}));
	assert_int_equal(k.send.to, HF_TO_NEXT_HOP);
}

/* More lines than there may be: 513, and all that an answer copies is in it wherever it stands, each Via in its place. Fails when the scanner ends at the
 * limit, and when via_end is that of another line. */
static void too_many_lines(void **state)
{
	static char text[8000];
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);

	(void)state;
	hf_w_str(&w, "OPTIONS sip:bob@example.com SIP/2.0" CRLF "X: 1" CRLF "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bKa" CRLF);
	for (int i = 0; i < 300; i++)
		hf_w_str(&w, "X-Small: 1" CRLF);
	hf_w_str(&w, "v: SIP/2.0/UDP 192.0.2.52:5060;branch=z9hG4bKb" CRLF "Max-Forwards: 70" CRLF "From: <sip:a@b>;tag=1" CRLF "To: <sip:a@b>;tag=2" CRLF "Call-ID: c1" CRLF
		     "X: 2" CRLF "CSeq: 7 OPTIONS" CRLF CRLF);
	text[w.n] = 0;
	kit_feed(&k, PHONE, text);
	answers("513 ", SIP_R_OVER_LIMIT);
	kit_wants(&k, "SIP/2.0 513 Message Too Large" CRLF "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bKa" CRLF "v: SIP/2.0/UDP 192.0.2.52:5060;branch=z9hG4bKb" CRLF
		  "From: <sip:a@b>;tag=1" CRLF "To: <sip:a@b>;tag=2" CRLF "Call-ID: c1" CRLF "CSeq: 7 OPTIONS" CRLF "Content-Length: 0" CRLF CRLF);
}

/* Our own Via of this start with an equal hash is a loop wherever it stands; with another one a spiral (RFC 5393 4.2). */
static void loops_and_spirals(void **state)
{
	char sent[4096], back[4096];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	strcpy(sent, k.out);
	/* back as it was: without our Record-Route, which is no part of the hash */
	snprintf(back, sizeof back, "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.101;branch=z9hG4bKp1" CRLF "Via: SIP/2.0/UDP 192.0.2.102;branch=z9hG4bKp0" CRLF "%s", strstr(sent, "Via:"));
	kit_feed(&k, PHONE, back);
	answers("482 ", SIP_R_SPIN);
	snprintf(back, sizeof back, "INVITE sip:carol@example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.101;branch=z9hG4bKp1" CRLF "%s", strstr(sent, "Via:"));
	kit_feed(&k, PHONE, back);
	assert_int_equal(k.send.to, HF_TO_SERVER);
	k.site.boot++;
	back[11] = 'b';
	snprintf(back, sizeof back, "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.101;branch=z9hG4bKp1" CRLF "%s", strstr(sent, "Via:"));
	kit_feed(&k, PHONE, back);
	assert_int_equal(k.send.to, HF_TO_SERVER);
}

/* Without a server: 503 with Retry-After, whose ACK reaches nobody, then or later (B65, B142). */
static void no_server_and_its_ack(void **state)
{
	char to[200], *tag;

	(void)state;
	kit_choose(&k, NULL, NULL);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "User-Agent: something long enough" CRLF}));
	assert_int_equal(k.reason, HF_R_NO_SERVER);
	assert_true(kit_says(&k, "SIP/2.0 503 Service Unavailable" CRLF) && kit_says(&k, CRLF "Retry-After: 10" CRLF));
	tag = strstr(kit_header(&k, "To: ", to, sizeof to), ";tag=") + 5;
	kit_choose(&k, "pbx1", "192.0.2.101:5060");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "ACK", .to_tag = tag}));
	assert_int_equal(k.n_sent, 0);
	assert_int_equal(k.reason, SIP_R_OWN_ACK);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "ACK", .to_tag = tag, .cseq = "2"}));
	assert_int_equal(k.n_sent, 1);
	kit_choose(&k, NULL, NULL);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "ACK", .to_tag = "b1"}));
	assert_int_equal(k.n_sent, 0);
	assert_int_equal(k.reason, SIP_R_ACK);
}

/* The same request gets the same answer, so that a retransmission is no second transaction. */
static void answers_are_stateless(void **state)
{
	char first[2000];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = "sips:b@b"}));
	strcpy(first, k.out);
	k.ctx.now_ms += 5000;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = "sips:b@b"}));
	kit_wants(&k, first);
}

/* Short requests get a lean answer, or none: a forged source gains nothing. */
static void never_longer_than_the_request(void **state)
{
#define LEAN "OPTIONS sips:bob@example.com SIP/2.0" CRLF "Via:SIP/2.0/UDP 10.0.0.5;branch=z9hG4bKa" CRLF "From:<sip:a@b>;tag=1" CRLF "To:<sip:b@b>" CRLF "Call-ID:c" CRLF "CSeq:1 OPTIONS" CRLF
	(void)state;
	kit_feed(&k, PHONE, LEAN "X: 1234567890123456789012345" CRLF CRLF);
	assert_int_equal(strncmp(k.out, "SIP/2.0 416 " CRLF, 14), 0);
	assert_true(k.out_n <= sizeof LEAN + 31);
	kit_feed(&k, PHONE, LEAN CRLF);
	assert_int_equal(k.n_sent, 0);
	assert_int_equal(k.reason, SIP_R_BIG_ANSWER);
}

/* No ACK and no response is ever answered, whatever is wrong with it. */
static void ack_and_responses_get_no_answer(void **state)
{
	static const char *const bad[] = {"Max-Forwards: 0" CRLF, "Call-ID: c2" CRLF, "Content-Length: 99" CRLF};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "ACK", .to_tag = "b1", .extra = bad[i]}));
		assert_int_equal(k.n_sent, 0);
		assert_true(k.n_dropped == 1);
	}
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "ACK", .to_tag = "b1", .uri = "sips:x@y"}));
	assert_int_equal(k.n_sent, 0);
	kit_feed(&k, PHONE, "SIP/2.0 200 OK" CRLF "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1" CRLF "CSeq: x" CRLF CRLF);
	assert_int_equal(k.n_sent, 0);
	assert_int_equal(k.reason, SIP_R_BAD_RESPONSE);
}

/* Each header that must be there, missing, empty, broken or doubled: 400 where the answer has all that it must copy, and silence where it has not; the same in an
 * ACK, or in a response that is otherwise one to us, is dropped. Every one is counted, and none reaches anybody; with nothing wrong each goes on. Fails when a row
 * of `needed`, a header's reader, or the check for a second one goes. */
static void b49_each_header_in_turn(void **state)
{
	static const struct { const char *name, *good, *broken; bool quiet; } h[] = {
		{"From", "<sip:alice@example.com>;tag=a1", "<sip:alice@example.com;tag=a1", false}, {"To", "<sip:bob@example.com>;tag=b1", "<sip:bob@example.com>;tag=", false},
		{"Call-ID", "c1", "c 1", false}, {"CSeq", NULL, "INVITE 1", false}, {"Via", NULL, "SIP/2.0/UDP", true}, {"Max-Forwards", "70", "many", false}};
	static const struct { const char *start, *from, *cseq; } m[] = {
		{"INVITE sip:bob@example.com SIP/2.0", PHONE, "1 INVITE"}, {"ACK sip:bob@example.com SIP/2.0", PHONE, "1 ACK"}, {"SIP/2.0 200 OK", "192.0.2.101:5060", "1 INVITE"}};
	enum { MISSING, EMPTY, BROKEN, DOUBLED, NOTHING, WAYS, HEADERS = sizeof h / sizeof *h, MESSAGES = sizeof m / sizeof *m, VIA = 4, HOPS = 5 };
	char ours[400], via[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	snprintf(ours, sizeof ours, "%s, SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK1", kit_header(&k, "Via: ", via, sizeof via) + 5);
	for (unsigned n = 0; n < MESSAGES * HEADERS * WAYS; n++) {
		unsigned what = n / HEADERS % WAYS, wrong = n % HEADERS, of = n / HEADERS / WAYS;
		bool good, goes_on = what == NOTHING || (wrong == HOPS && (what == MISSING || (of == 2 && what != DOUBLED))) || (wrong == VIA && what == DOUBLED); /* it is put in; of a response it is not read; several may be */
		char text[2000];
		struct hf_writer w = hf_writer_on(text, sizeof text - 1);

		hf_w_printf(&w, "%s" CRLF, m[of].start);
		for (unsigned i = 0; i < HEADERS; i++) {
			const char *value = i == VIA ? (of == 2 ? ours : "SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK1") : h[i].good ? h[i].good : m[of].cseq;
			unsigned way = i == wrong ? what : NOTHING;

			for (unsigned times = way == MISSING ? 0 : way == DOUBLED ? 2 : 1; times; times--)
				hf_w_printf(&w, "%s: %s" CRLF, h[i].name, way == EMPTY ? "" : way == BROKEN ? h[i].broken : value);
		}
		hf_w_str(&w, "User-Agent: long enough for a whole answer, with its phrase" CRLF "Content-Length: 0" CRLF CRLF);
		text[w.n] = 0;
		kit_feed(&k, m[of].from, text);
		if (goes_on)
			good = k.n_sent == 1 && k.send.to == (of == 2 ? HF_TO_RETURN : HF_TO_SERVER);
		else if (of == 0 && k.n_sent)
			good = strncmp(k.out, "SIP/2.0 400 ", 12) == 0 && k.send.to == HF_TO_RETURN && k.n_dropped == 1;
		else
			good = k.n_sent == 0 && k.n_dropped == 1 && (of != 0 || what == MISSING || h[wrong].quiet);
		if (!good)
			fail_msg("%s\nbecame:\n%s", text, k.out);
	}
}

/* options = answer: OPTIONS to ourselves, even at the last hop; to a user, or with a Route behind ours, it is not for us. */
static void options_to_the_gateway(void **state)
{
	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:192.0.2.1"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	k.conf.options = SIP_OPTIONS_ANSWER;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:192.0.2.1", .extra = "User-Agent: something long enough" CRLF}));
	answers("200 OK", SIP_R_OPTIONS);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:gw.example.com:5060", .extra = "Route: <sip:192.0.2.1;lr>" CRLF}));
	answers("200 ", SIP_R_OPTIONS);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:bob@192.0.2.1"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:192.0.2.1", .extra = "Route: <sip:edge;lr>" CRLF}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
}

/* A message that could not be sent is as if 503 had come, once; a full buffer is the client's retransmission's to mend. */
static void a_failure_to_send(void **state)
{
	struct hf_event fail = {.kind = HF_EV_FAIL, .reason = HF_R_NO_ROUTE};
	struct hf_acts acts = {0};

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	fail.reason = HF_R_SEND_FULL;
	hf_sip_front.step(&k.ctx, &fail, &acts);
	assert_int_equal(acts.n, 1);
	assert_int_equal(acts.a[0].end.reason, HF_R_SEND_FULL);
	fail.reason = HF_R_NO_ROUTE;
	acts.n = 0;
	k.n_sent = 0;
	hf_sip_front.step(&k.ctx, &fail, &acts);
	kit_take(&k, &fail, &acts);
	assert_true(kit_says(&k, "SIP/2.0 503 "));
	assert_int_equal(k.learnt[0].learn.life, HF_LIFE_LINGER);
	acts.n = 0;
	hf_sip_front.step(&k.ctx, &fail, &acts);
	assert_int_equal(acts.n, 1);
	assert_int_equal(acts.a[0].kind, HF_ACT_DROP);
}

/* What went out is what goes out with room, or an answer of the same status that tells as much of the source (a lean one, say);
 * 513 is what the scanner's want of room becomes. */
static bool same_message(const char *whole)
{
	if (strcmp(whole, k.out) == 0 || strncmp(k.out, "SIP/2.0 513", 11) == 0)
		return true;
	return strncmp(k.out, "SIP/2.0 ", 8) == 0 && strncmp(whole, k.out, 11) == 0 && (strstr(whole, "received=") != NULL) == (strstr(k.out, "received=") != NULL);
}

/* Every allocation failing once, for all kinds of messages: no crash, and an end with a reason or a whole message. */
static void every_allocation_failing(void **state)
{
	char route[200];
	char kept[8][4096];
	unsigned n = 0;

	(void)state;
	kit_custom(&k, "key", "request-uri source from-user");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	kit_route(&k, route, sizeof route);
	strcpy(kept[n++], kit_answer(&k, "200 OK", "b1", NULL));
	strcpy(kept[n++], kit_request((struct kit_request){.method = "INVITE", .via = "SIP/2.0/UDP h;rport;branch=z9hG4bK1", .extra = "Replaces: x;to-tag=1;from-tag=2" CRLF "Route: <sip:192.0.2.1;lr>" CRLF}));
	strcpy(kept[n++], kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .extra = route}));
	strcpy(kept[n++], kit_request((struct kit_request){.method = "REGISTER", .extra = "Supported: path" CRLF}));
	strcpy(kept[n++], kit_request((struct kit_request){.method = "INVITE", .uri = "sips:b@b", .via = "SIP/2.0/UDP h;rport;branch=z9hG4bK1", .extra = "User-Agent: something long enough" CRLF}));
	strcpy(kept[n++], kit_request((struct kit_request){.method = "INVITE", .extra = "Proxy-Require: foo" CRLF "User-Agent: something long enough" CRLF}));
	strcpy(kept[n++], kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .uri = "sip:x;lr", .extra = "Subject: folded\r\n here" CRLF "Route: <sip:192.0.2.1;lr>,\r\n <sip:p>" CRLF}));
	for (unsigned i = 0; i < n; i++)
		for (unsigned from = 0; from < 2; from++)
			for (long at = 1;; at++) {
				char whole[4096];
				bool failed;

				kit_feed(&k, from ? "192.0.2.101:5060" : PHONE, kept[i]);
				strcpy(whole, k.out);
				k.arena.fail_at = at;
				kit_feed(&k, from ? "192.0.2.101:5060" : PHONE, kept[i]);
				failed = k.arena.fail_at == 0;
				k.arena.fail_at = 0;
				if (k.n_sent && !same_message(whole))
					fail_msg("message %u, allocation %ld: changed by it:\n%s", i, at, k.out);
				if (!failed)
					break;
			}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_whole_answer), T(the_checks), T(path_required), T(too_many_lines), T(loops_and_spirals), T(no_server_and_its_ack), T(answers_are_stateless), T(never_longer_than_the_request),
		T(ack_and_responses_get_no_answer), T(b49_each_header_in_turn), T(options_to_the_gateway), T(a_failure_to_send), T(every_allocation_failing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
