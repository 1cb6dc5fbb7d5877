/* Sessions: what each message asks of the engine, which evidence wins, which side a request comes from, and where it goes. */
#include "front_kit.h"

static struct kit k;

static int setup(void **state) { (void)state; kit_init(&k); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PHONE "192.0.2.51:5060"
#define PBX1 "192.0.2.101:5060"

static uint64_t call_fp(const char *call_id) { return hf_fingerprint(k.site.hash_key, HF_LIT("call-id"), hf_bytes_str(call_id), SIZE_MAX); }

static void asks(enum hf_life life, unsigned flags, uint32_t seconds)
{
	assert_int_equal(k.n_asked, 1);
	assert_int_equal(k.ask.life, life);
	assert_int_equal(k.ask.flags, flags);
	if (life != HF_LIFE_NONE)
		assert_int_equal(k.ask.life_s, seconds);
	assert_int_equal(k.ask.key.fp, call_fp("c1"));
}

static void learns(enum hf_life life, unsigned flags, uint32_t seconds, uint32_t server)
{
	assert_int_equal(k.n_learnt, 1);
	assert_int_equal(k.learnt[0].learn.life, life);
	assert_int_equal(k.learnt[0].learn.flags, flags);
	assert_int_equal(k.learnt[0].learn.life_s, seconds);
	assert_int_equal(k.learnt[0].learn.server, server);
	assert_int_equal(k.learnt[0].learn.key.fp, call_fp("c1"));
}

/* The rows of life.c. Fails when a row changes. */
static const struct { const char *method, *to_tag, *extra; enum hf_life life; unsigned flags; uint32_t s; } rows[] = {
	{"INVITE", NULL, NULL, HF_LIFE_START, HF_COUNTED | HF_TENTATIVE, 200},
	{"INVITE", "b1", NULL, HF_LIFE_TOUCH, HF_COUNTED, 14400},
	{"INVITE", "b1", "Session-Expires: 1800" CRLF, HF_LIFE_TOUCH, HF_COUNTED, 2700},
	{"UPDATE", "b1", "x: 4294967295" CRLF, HF_LIFE_TOUCH, HF_COUNTED, 86400},
	{"UPDATE", "b1", "x: 1" CRLF, HF_LIFE_TOUCH, HF_COUNTED, 135},
	{"PRACK", "b1", NULL, HF_LIFE_TOUCH, HF_COUNTED, 14400},
	{"INFO", "b1", NULL, HF_LIFE_TOUCH, HF_COUNTED, 14400},
	{"BYE", "b1", NULL, HF_LIFE_LINGER, 0, 32},
	{"OPTIONS", "b1", NULL, HF_LIFE_TOUCH, HF_COUNTED, 14400},
	{"MESSAGE", "b1", NULL, HF_LIFE_TOUCH, HF_COUNTED, 14400},
	{"REFER", "b1", NULL, HF_LIFE_TOUCH, HF_COUNTED, 14400},
	{"FROBNICATE", "b1", NULL, HF_LIFE_TOUCH, HF_COUNTED, 14400},
	{"ACK", "b1", NULL, HF_LIFE_NONE, 0, 0},
	{"CANCEL", NULL, NULL, HF_LIFE_NONE, 0, 0},
	{"OPTIONS", NULL, NULL, HF_LIFE_START, 0, 32},
	{"MESSAGE", NULL, NULL, HF_LIFE_START, 0, 32},
	{"REGISTER", NULL, NULL, HF_LIFE_START, 0, 32},
	{"PUBLISH", NULL, NULL, HF_LIFE_START, 0, 32},
	{"REFER", NULL, NULL, HF_LIFE_START, 0, 32},
	{"INFO", NULL, NULL, HF_LIFE_START, 0, 32},
	{"NOTIFY", NULL, "Event: presence" CRLF "Subscription-State: terminated" CRLF, HF_LIFE_START, 0, 32},
	{"BYE", NULL, NULL, HF_LIFE_START, 0, 32},
	{"FROBNICATE", NULL, NULL, HF_LIFE_START, 0, 32},
	{"SUBSCRIBE", NULL, "Expires: 600" CRLF, HF_LIFE_START, 0, 32},
	{"SUBSCRIBE", "b1", "Expires: 600" CRLF, HF_LIFE_TOUCH, 0, 632},
	{"SUBSCRIBE", "b1", "Expires: 4294967295" CRLF, HF_LIFE_TOUCH, 0, 86400},
	{"SUBSCRIBE", "b1", "Expires: 0" CRLF, HF_LIFE_NONE, 0, 0},
	{"NOTIFY", "b1", "Event: presence" CRLF "Subscription-State: active;expires=60" CRLF, HF_LIFE_TOUCH, 0, 92},
	{"NOTIFY", "b1", "Event: presence" CRLF "Subscription-State: terminated;reason=timeout" CRLF, HF_LIFE_LINGER, HF_COUNTED, 32},
	{"NOTIFY", "b1", "o: refer;id=7" CRLF "Subscription-State: terminated" CRLF, HF_LIFE_NONE, 0, 0},
};

/* From a client: the engine is asked so. */
static void lives_of_requests(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = rows[i].method, .to_tag = rows[i].to_tag, .extra = rows[i].extra}));
		asks(rows[i].life, rows[i].flags, rows[i].s);
	}
}

/* From a server, outward: the engine is told the same of that server. Fails without learn_from_member. */
static void lives_of_a_servers_requests(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_feed(&k, PBX1, kit_request((struct kit_request){.method = rows[i].method, .uri = "sip:alice@192.0.2.51:5060", .to_tag = rows[i].to_tag, .extra = rows[i].extra}));
		kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
		if (rows[i].life == HF_LIFE_NONE)
			assert_int_equal(k.n_learnt, 0);
		else
			learns(rows[i].life, rows[i].flags, rows[i].s, rows[i].life == HF_LIFE_LINGER ? 0 : kit_server(&k, "pbx1")); /* only a cookie says which dialog ends */
	}
}

/* The ACK of a 2xx makes no session of a call that has been hung up, nor does it of one that nobody knows. Fails when its row counts. */
static void late_ack(void **state)
{
	char route[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	kit_route(&k, route, sizeof route);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "ACK", .to_tag = "b1", .extra = route}));
	asks(HF_LIFE_TOUCH, 0, 32);
}

/* Fails when hash mode keeps anything beyond 32 s but the wait for the first answer. */
static void hash_mode_cuts_lives(void **state)
{
	(void)state;
	k.ctx.hash_mode = true;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	asks(HF_LIFE_START, HF_COUNTED | HF_TENTATIVE, 200);
	kit_feed(&k, PBX1, kit_answer(&k, "200 OK", "b1", NULL));
	learns(HF_LIFE_LINGER, 0, 32, kit_server(&k, "pbx1"));
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .to_tag = "b1"}));
	asks(HF_LIFE_TOUCH, HF_COUNTED, 32);
}

static void answer_to(const char *method, const char *to_tag, const char *status, const char *extra)
{
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = method, .to_tag = to_tag}));
	kit_feed(&k, PBX1, kit_answer(&k, status, "b1", extra));
	assert_int_equal(k.n_sent, 1);
}

/* Fails when an opening INVITE's answer is taken for a re-INVITE's, or the other way. */
static void lives_of_responses(void **state)
{
	uint32_t pbx1 = kit_server(&k, "pbx1");

	(void)state;
	answer_to("INVITE", NULL, "100 Trying", NULL);
	assert_int_equal(k.n_learnt, 0);
	answer_to("INVITE", NULL, "180 Ringing", NULL); /* a queue may ring for long: without this CANCEL finds its server for 200 s alone */
	learns(HF_LIFE_START, HF_TENTATIVE, 200, pbx1);
	answer_to("INVITE", "b1", "180 Ringing", NULL);
	assert_int_equal(k.n_learnt, 0);
	answer_to("INVITE", NULL, "200 OK", NULL);
	learns(HF_LIFE_START, HF_COUNTED, 14400, pbx1);
	answer_to("INVITE", NULL, "200 OK", "Session-Expires: 600;refresher=uac" CRLF);
	learns(HF_LIFE_START, HF_COUNTED, 900, pbx1);
	answer_to("INVITE", NULL, "407 Proxy Authentication Required", NULL);
	learns(HF_LIFE_LINGER, 0, 32, pbx1);
	answer_to("INVITE", NULL, "603 Decline", NULL);
	learns(HF_LIFE_LINGER, 0, 32, pbx1);
	answer_to("INVITE", "b1", "200 OK", NULL);
	assert_int_equal(k.n_learnt, 0);
	answer_to("INVITE", "b1", "488 Not Acceptable Here", NULL);
	assert_int_equal(k.n_learnt, 0);
	answer_to("SUBSCRIBE", NULL, "200 OK", "Expires: 600" CRLF);
	learns(HF_LIFE_START, 0, 632, pbx1);
	answer_to("SUBSCRIBE", "b1", "200 OK", "Expires: 300" CRLF);
	learns(HF_LIFE_TOUCH, 0, 332, pbx1);
	answer_to("OPTIONS", NULL, "200 OK", NULL);
	assert_int_equal(k.n_learnt, 0);
}

/* 503 with Retry-After, from the server's own address only: anyone could send it otherwise (RFC 3261 21.5.4). No other answer takes a server out by it. */
static void b141_a_busy_server(void **state)
{
	static const char *const others[] = {"480 Temporarily Unavailable", "486 Busy Here", "500 Server Internal Error", "504 Server Time-out", "600 Busy Everywhere"};
	char answer[2048];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	strcpy(answer, kit_answer(&k, "503 Service Unavailable", "b1", "Retry-After: 30 (lunch)" CRLF));
	kit_feed(&k, PBX1, answer);
	assert_int_equal(k.n_evidence, 1);
	assert_int_equal(k.evidence.evidence.server, kit_server(&k, "pbx1"));
	assert_int_equal(k.evidence.evidence.what, HF_EVIDENCE_BUSY);
	assert_int_equal(k.evidence.evidence.ms, 30000);
	kit_feed(&k, "192.0.2.99:5060", answer);
	assert_int_equal(k.n_evidence, 0);
	assert_int_equal(k.n_sent, 1);
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++) { /* of a callee, or of one request */
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
		kit_feed(&k, PBX1, kit_answer(&k, others[i], "b1", "Retry-After: 30" CRLF));
		assert_int_equal(k.n_evidence, 0);
		assert_int_equal(k.n_sent, 1);
	}
}

/* cookie, then the dialogs named, then the Call-ID's own entry: fails when refs are asked beside a cookie or in a dialog. */
static void order_of_evidence(void **state)
{
	char route[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "Replaces: held-1@x ;to-tag=t;from-tag=f" CRLF}));
	assert_int_equal(k.ask.hint, 0);
	assert_int_equal(k.ask.refs[0].fp, call_fp("held-1@x"));
	assert_int_equal(k.ask.refs[1].fp, 0);
	kit_route(&k, route, sizeof route);
	strcat(route, "Replaces: held-1@x;to-tag=t;from-tag=f" CRLF);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .to_tag = "b1", .extra = route}));
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	assert_int_equal(k.ask.hint_why, HF_WHY_COOKIE);
	assert_int_equal(k.ask.refs[0].fp, 0);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .to_tag = "b1", .extra = "Replaces: held-1@x;to-tag=t;from-tag=f" CRLF}));
	assert_int_equal(k.ask.refs[0].fp, 0);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "REFER", .extra = "Join: j@x;from-tag=1;to-tag=2" CRLF "Target-Dialog: t@x;local-tag=1;remote-tag=2" CRLF}));
	assert_int_equal(k.ask.refs[0].fp, call_fp("j@x"));
	assert_int_equal(k.ask.refs[1].fp, call_fp("t@x"));
}

/* A cookie of another call or with a changed octet is not believed, but counted; the Call-ID decides. */
static void a_forged_cookie_is_not_believed(void **state)
{
	char route[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	kit_route(&k, route, sizeof route);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .call_id = "c2", .extra = route}));
	assert_int_equal(k.ask.hint, 0);
	assert_int_equal(k.counted, SIP_R_BAD_COOKIE);
	assert_false(kit_says(&k, "hfd-"));
	strstr(route, "hfd-")[6] ^= 1;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .extra = route}));
	assert_int_equal(k.ask.hint, 0);
	assert_int_equal(k.counted, SIP_R_BAD_COOKIE);
}

/* The same cookie from both sides: towards the server from the opener, outward from the other (rule 66). */
static void one_cookie_two_directions(void **state)
{
	char route[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	kit_route(&k, route, sizeof route);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .extra = route}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@192.0.2.51:5077", .from_tag = "b1", .to_tag = "a1", .extra = route}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5077");
	assert_int_equal(k.n_asked, 0);
	learns(HF_LIFE_LINGER, 0, 32, kit_server(&k, "pbx1"));
}

/* The tags prove a server that sends from another port than its own; whether it may is judged by its address, in net. */
static void a_server_on_another_port(void **state)
{
	char route[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	kit_route(&k, route, sizeof route);
	kit_feed(&k, "192.0.2.101:6000", kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@192.0.2.51", .from_tag = "b1", .to_tag = "a1", .extra = route}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
	kit_feed(&k, "192.0.2.101:6000", kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@192.0.2.51", .from_tag = "b1", .to_tag = "a1"}));
	assert_int_equal(k.send.to, HF_TO_SERVER); /* without the tags it is a client */
}

/* A client's octets choose no address, whatever they are, without tags that hold. */
static void a_client_chooses_no_address(void **state)
{
	static const char *const extra[] = {
		"Route: <sip:192.0.2.250:25;lr>" CRLF, "Route: <sip:192.0.2.250:25>" CRLF, "Route: <sip:192.0.2.1;lr>, <sip:192.0.2.250:25;lr>" CRLF,
		"Route: <sip:hfd-4266nqs43qbt8jfuo7d17p0@192.0.2.1;lr>, <sip:192.0.2.250:25;lr>" CRLF, "Route: <sip:hff-4260jovfor0000hj2f25ot8tta9mh7a4@192.0.2.1;lr>" CRLF,
	};

	(void)state;
	for (unsigned i = 0; i < sizeof extra / sizeof *extra; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:x@192.0.2.250;maddr=192.0.2.250", .extra = extra[i],
								      .via = "SIP/2.0/UDP 192.0.2.250:7;maddr=192.0.2.250;branch=z9hG4bKx"}));
		assert_int_equal(k.send.to, HF_TO_SERVER);
		kit_feed(&k, PBX1, kit_answer(&k, "200 OK", "b1", NULL));
		kit_sent_to(&k, HF_TO_RETURN, "192.0.2.51:7");
	}
}

/* A call that a server opens: remembered at that server, its cookie says who opened, the client's BYE comes back to it. */
static void opened_by_a_server(void **state)
{
	char route[200];

	(void)state;
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51:5060", .from_tag = "s1", .extra = "Route: <sip:192.0.2.1:5060;lr>" CRLF}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
	assert_int_equal(k.send.listener, k.listeners[0].hash);
	learns(HF_LIFE_START, HF_COUNTED | HF_TENTATIVE, 200, kit_server(&k, "pbx1"));
	assert_true(kit_says(&k, "Record-Route: <sip:hfd-46")); /* octet 0 = 33 */
	kit_route(&k, route, sizeof route);
	kit_feed(&k, PHONE, kit_answer(&k, "200 OK", "b1", NULL));
	kit_sent_to(&k, HF_TO_RETURN, PBX1);
	learns(HF_LIFE_START, HF_COUNTED, 14400, 0);

	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "BYE", .uri = "sip:pbx@192.0.2.101", .from_tag = "b1", .to_tag = "s1", .extra = route}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INFO", .uri = "sip:alice@192.0.2.51:5060", .from_tag = "s1", .to_tag = "b1", .extra = route}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
}

/* A server's request to ourselves is balanced, and never goes to a group, to port 0 or over TCP. */
static void next_hops_of_a_server(void **state)
{
	static const struct { const char *uri; unsigned reason; } bad[] = {
		{"sip:alice@224.0.1.75", SIP_R_UNREACHABLE}, {"sip:a@255.255.255.255", SIP_R_UNREACHABLE},
		{"sip:a@0.0.0.0", SIP_R_UNREACHABLE}, {"sip:a@192.0.2.51:0", 0}, {"sip:a@192.0.2.51;transport=sctp", SIP_R_UNREACHABLE}, {"sip:a@[2001:db8::9]", SIP_R_UNREACHABLE},
		{"tel:+4930123", SIP_R_UNREACHABLE},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = bad[i].uri, .from_tag = "s1", .via = "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKs"}));
		if (!bad[i].reason)
			continue; /* a port of 0 is none (RFC 3261 19.1.1), or refused: never sent to as such */
		assert_int_equal(k.reason, bad[i].reason);
		kit_sent_to(&k, HF_TO_RETURN, PBX1);
		assert_int_equal(strncmp(k.out, "SIP/2.0 503 ", 12), 0);
		assert_false(kit_says(&k, "Retry-After"));
	}
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@gw.example.com", .from_tag = "s1"}));
	assert_int_equal(k.n_asked, 1);
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_true(kit_says(&k, "Record-Route: <sip:hfd-42"));
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@192.0.2.1", .from_tag = "s1"}));
	assert_int_equal(k.n_asked, 1);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@10.0.0.9;maddr=192.0.2.1", .from_tag = "s1"}));
	assert_int_equal(k.n_asked, 1);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:a@10.0.0.9;maddr=192.0.2.51", .from_tag = "s1", .to_tag = "b1"}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
}

/* What comes to an inside listener comes from a server and leaves by an outside one. */
static void an_inside_listener(void **state)
{
	(void)state;
	kit_listener(&k, 1, "udp://10.0.0.1:5062", true);
	k.at = &k.listeners[1];
	kit_feed(&k, "10.0.0.7:6000", kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51", .from_tag = "s1", .extra = "Route: <sip:10.0.0.1:5062;lr>" CRLF}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
	assert_int_equal(k.send.listener, k.listeners[0].hash);
	assert_true(kit_says(&k, "Via: SIP/2.0/UDP 192.0.2.1:5060;"));
	/* no exact member: nothing that could be named */
	assert_true(kit_says(&k, CRLF "Record-Route: <sip:192.0.2.1:5060;lr>" CRLF "Record-Route: <sip:10.0.0.1:5062;lr>" CRLF));
}

/* A NOTIFY may make the subscriber's dialog: its Record-Route has the subscription's cookie (RFC 6665 4.4.1). */
static void notify_before_the_answer(void **state)
{
	char route[200], cookie[40], line[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "SUBSCRIBE", .extra = "Event: presence" CRLF}));
	kit_route(&k, route, sizeof route);
	snprintf(cookie, sizeof cookie, "%.27s", strstr(route, "hfd-"));
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "NOTIFY", .uri = "sip:alice@192.0.2.51", .from_tag = "b1", .to_tag = "a1", .extra = route}));
	assert_non_null(strstr(kit_header(&k, "Record-Route: ", line, sizeof line), cookie));
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "NOTIFY", .uri = "sip:alice@192.0.2.51", .from_tag = "b1", .to_tag = "a1"}));
	assert_non_null(strstr(kit_header(&k, "Record-Route: ", line, sizeof line), cookie));
	/* and one of the opener itself, inside its dialog */
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "NOTIFY", .to_tag = "b1", .extra = route}));
	assert_non_null(strstr(kit_header(&k, "Record-Route: ", line, sizeof line), cookie));
}

/* `key` places new sessions; the dialog is known by its whole Call-ID whatever the key. */
static void keys_place_sessions(void **state)
{
	uint64_t by_source = hf_fingerprint(k.site.hash_key, HF_LIT("source"), HF_LIT("192.0.2.51"), 80);
	char call_id[201];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	assert_int_equal(k.ask.place, 0);
	kit_custom(&k, "key", "source call-id");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	assert_int_equal(k.ask.place, by_source);
	assert_int_equal(k.ask.key.fp, call_fp("c1"));
	kit_custom(&k, "key", "from-user");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	assert_int_equal(k.ask.place, hf_fingerprint(k.site.hash_key, HF_LIT("from-user"), HF_LIT("alice"), 80));
	kit_custom(&k, "key", "to-user");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	assert_int_equal(k.ask.place, hf_fingerprint(k.site.hash_key, HF_LIT("to-user"), HF_LIT("bob"), 80));
	kit_custom(&k, "key", "request-uri");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:%62ob:pw@Example.COM:5060;transport=udp"}));
	assert_int_equal(k.ask.place, hf_fingerprint(k.site.hash_key, HF_LIT("request-uri"), HF_LIT("bob@example.com"), 80));

	kit_custom(&k, "key", "call-id");
	memset(call_id, 'x', 200);
	call_id[200] = 0;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .call_id = call_id}));
	assert_int_equal(k.ask.key.fp, call_fp(call_id));
	assert_int_equal(k.ask.place, hf_fingerprint(k.site.hash_key, HF_LIT("call-id"), hf_bytes_str(call_id), 80));
}

static void the_operators_keys(void **state)
{
	struct hf_key key;

	(void)state;
	assert_int_equal(hf_sip_front.key_read(&k.ctx, HF_LIT("c1"), &key), HF_OK);
	assert_int_equal(key.fp, call_fp("c1"));
	assert_true(hf_bytes_eq(key.text, HF_LIT("call-id:c1")));
	assert_int_equal(hf_sip_front.key_read(&k.ctx, HF_LIT("call-id:a:b"), &key), HF_OK);
	assert_int_equal(key.fp, call_fp("a:b"));
	assert_int_equal(hf_sip_front.key_read(&k.ctx, HF_LIT("a:b"), &key), HF_OK);
	assert_int_equal(key.fp, call_fp("a:b"));
	assert_int_equal(hf_sip_front.key_read(&k.ctx, HF_LIT("source:192.0.2.51"), &key), HF_ENOENT); /* a kind that `key` does not list is none here ... */
	assert_true(hf_bytes_eq(key.text, HF_LIT("call-id")));
	assert_int_equal(hf_sip_front.key_read(&k.ctx, HF_LIT("call-id:source:192.0.2.51"), &key), HF_OK); /* ... but a Call-ID may begin so */
	assert_int_equal(key.fp, call_fp("source:192.0.2.51"));
	assert_int_equal(hf_sip_front.key_read(&k.ctx, HF_LIT("call-id:"), &key), HF_EINVAL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(lives_of_requests), T(lives_of_a_servers_requests), T(late_ack), T(hash_mode_cuts_lives), T(lives_of_responses), T(b141_a_busy_server), T(order_of_evidence), T(a_forged_cookie_is_not_believed),
		T(one_cookie_two_directions), T(a_server_on_another_port), T(a_client_chooses_no_address), T(opened_by_a_server), T(next_hops_of_a_server), T(an_inside_listener),
		T(notify_before_the_answer), T(keys_place_sessions), T(the_operators_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
