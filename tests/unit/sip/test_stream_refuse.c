/* Connections: answers of our own, what cannot be delivered, and want of memory. */
#include "stream_bench.h"

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

/* What went out comes back. How much of it was the first message. */
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
	comes_back(all, HF_R_DIAL_FAILED);
	assert_int_equal(strncmp(k.out, "SIP/2.0 503 ", 12), 0);
	line_feed(&phone, kit_request((struct kit_request){.method = "MESSAGE"}));
	snprintf(all, sizeof all, "%s", k.out);
	comes_back(all, HF_R_FLOW_GONE); /* of a server no flow fails: another connection would do */
	assert_int_equal(strncmp(k.out, "SIP/2.0 503 ", 12), 0);
}

#define SHORT "OPTIONS sip:b@b SIP/2.0" CRLF "v:SIP/2.0/%s 192.0.2.51;branch=z9hG4bK1" CRLF "f:<sip:a@b>;tag=1" CRLF "t:<sip:b@b>" CRLF "i:c" CRLF "CSeq:1 OPTIONS" CRLF "l:0" CRLF CRLF

/* What we wrote into a message is no fault of its sender's, and lends a forged source nothing. */
static void a_short_message_comes_back(void **state)
{
	char text[1024], sent[4096];
	uint32_t was = k.conf.limits.message;

	(void)state;
	over_tcp();
	snprintf(text, sizeof text, SHORT, "TCP");
	k.conf.limits.message = (uint32_t)strlen(text);
	k.conf.limits.headers = 6;
	line_feed(&phone, text);
	snprintf(sent, sizeof sent, "%s", k.out);
	comes_back(sent, HF_R_DIAL_FAILED);
	assert_ptr_equal(strstr(k.out, "SIP/2.0 503 Service Unavailable" CRLF), k.out);

	k.conf.limits.message = was;
	memcpy(strstr(text, "TCP"), "UDP", 3);
	kit_feed(&k, UDP_PHONE, text);
	snprintf(sent, sizeof sent, "%s", k.out);
	comes_back(sent, HF_R_DIAL_FAILED);
	assert_int_equal(k.n_sent, 1);
	assert_true(k.out_n <= strlen(text) + sizeof "Max-Forwards: 70" CRLF);
	assert_int_equal(strncmp(k.out, "SIP/2.0 503 " CRLF, 14), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(our_answers), T(a_server_that_takes_no_connection), T(again_over_a_new_connection), T(messages_that_come_back), T(a_short_message_comes_back), T(every_allocation_failing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
