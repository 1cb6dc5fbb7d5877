/* Failover (hold.c, react.c, attempt.c) by literal octets and times: who gets what when servers refuse, are silent, late or out of reach, and when
 * the client changes its mind. Case numbers are those of tests/CASES.tsv. */
#include "hold_kit.h"

#define ALICE "192.0.2.51:5060"
#define PBX(n) "192.0.2.10" #n ":5060"

static struct hk h;
static char first[3000], second[3000]; /* what went to the first two servers */

static int up(void **state)
{
	(void)state;
	hk_init(&h);
	return 0;
}

static int down(void **state)
{
	(void)state;
	kit_fini(&h.k);
	return 0;
}

static const char *request(const char *method) { return kit_request((struct kit_request){.method = method}); }

static void save(char to[3000], unsigned i) { memcpy(to, h.sent[i].text, sizeof h.sent[i].text); }

static void invite(void)
{
	hk_feed(&h, 1000, ALICE, request("INVITE"));
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 0, "INVITE ");
	save(first, 0);
}

/* It has been sent on for silence. */
static void second_attempt(void)
{
	invite();
	hk_wake(&h, 3000);
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 1, "INVITE ");
	save(second, 0);
}

static void wants(unsigned i, const char *text)
{
	if (strcmp(h.sent[i].text, text) != 0)
		fail_msg("went out:\n%s\nexpected:\n%s", h.sent[i].text, text);
}

/* ---- beginning ---- */

/* Kept until try-timeout with its name in our Via; a retransmission is the same octets to the same server. Fails without sip_hold_begin, or when
 * sip_hold_client passes it to another. */
static void held_and_repeated(void **state)
{
	(void)state;
	invite();
	assert_true(h.on);
	assert_int_equal(h.ms, 2000);
	assert_int_not_equal(h.tag, 0);
	hk_feed(&h, 1500, ALICE, request("INVITE"));
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 0, "INVITE ");
	assert_string_equal(h.sent[0].text, first);
	assert_int_equal(h.ask.life, HF_LIFE_NONE);
	hk_wake(&h, 3000);
	save(second, 0);
	hk_feed(&h, 3100, ALICE, request("INVITE"));
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 1, "INVITE ");
	assert_string_equal(h.sent[0].text, second);
}

/* Over the bound it goes all the same, without a hold; of a call that is up nothing is held. Fails when either is refused. */
static void not_held(void **state)
{
	(void)state;
	h.full = true;
	invite();
	assert_false(h.on);
	assert_int_equal(h.reasons[HF_R_HOLD_LIMIT], 1);
	h.full = false;
	h.firm = true;
	invite();
	assert_false(h.on);
	assert_int_equal(h.reasons[HF_R_HOLD_LIMIT], 0);
	h.firm = false;
	hk_feed(&h, 1, ALICE, kit_request((struct kit_request){.method = "INFO", .to_tag = "b"}));
	hk_went(&h, 0, 0, "INFO ");
	assert_false(h.on);
	h.k.conf.failover = false;
	invite();
	assert_false(h.on);
	assert_int_equal(h.ask.tag, 0);
}

/* A client that has not heard its 200 repeats when the hold has ended: the same octets once more, and nothing is held. Fails when what goes by a firm
 * entry has no hold's name. */
static void repeated_behind_its_end(void **state)
{
	(void)state;
	invite();
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "200 OK"));
	hk_wake(&h, 6200);
	assert_false(h.on);
	h.firm = true;
	hk_feed(&h, 8500, ALICE, request("INVITE"));
	assert_int_equal(h.n_sent, 1);
	assert_string_equal(h.sent[0].text, first);
	assert_false(h.on);
	hk_feed(&h, 8600, PBX(1), hk_answer(&h, first, "200 OK"));
	hk_told(&h, 0, "200 OK");
}

/* ---- silence ---- */

/* INVITE and REGISTER go on to the next, and the entry with them; the last one is waited for. Fails without `again`, `avoid` or SIP_H_STAYS. */
static void silence(void **state)
{
	(void)state;
	second_attempt();
	assert_true(h.ask.again && h.ask.unless_firm);
	assert_int_equal(h.ask.n_avoid, 1);
	assert_int_equal(h.ask.life, HF_LIFE_START);
	assert_int_equal(h.evidence[0].evidence.server, hk_server(&h, 0));
	assert_int_equal(h.evidence[0].evidence.what, HF_EVIDENCE_FAILED);
	assert_int_equal(h.reasons[SIP_R_TRY_TIMEOUT], 1);
	assert_memory_not_equal(hk_branch(first), hk_branch(second), 20);
	assert_int_equal(h.ms, 2000);
	hk_wake(&h, 5000);
	hk_went(&h, 0, 2, "INVITE ");
	hk_wake(&h, 7000);
	assert_int_equal(h.n_sent, 0);
	assert_int_equal(h.ms, 26000); /* to Timer B of the client */
	hk_wake(&h, 33000);
	hk_told(&h, 0, "408 Request Timeout\r\n");
	assert_int_equal(h.learnt[0].learn.life, HF_LIFE_LINGER);
	hk_feed(&h, 33100, ALICE, request("INVITE"));
	hk_told(&h, 0, "408 ");
	assert_int_equal(h.n_sent, 1);
	hk_wake(&h, 65000);
	assert_false(h.on);
}

static void silence_of_others(void **state)
{
	(void)state;
	hk_feed(&h, 1000, ALICE, request("REGISTER"));
	hk_wake(&h, 3000);
	hk_went(&h, 0, 1, "REGISTER ");
	h.on = false;
	hk_feed(&h, 1000, ALICE, request("MESSAGE"));
	assert_int_equal(h.ms, 32000);
	hk_wake(&h, 33000);
	assert_int_equal(h.n_sent, 0); /* never 408 (RFC 4320 4.2) */
	assert_false(h.on);
}

/* 100 is a sign of life, and no more: a 503 behind it is still another's turn. Fails when on_provisional does not mark it, or counts it as ringing. */
static void trying_is_life(void **state)
{
	(void)state;
	invite();
	hk_feed(&h, 1100, PBX(1), hk_answer(&h, first, "100 Trying"));
	hk_told(&h, 0, "100 ");
	assert_int_equal(h.ms, 200000);
	assert_false(h.shed);
	hk_feed(&h, 4000, PBX(1), hk_answer(&h, first, "503 Full"));
	hk_went(&h, 1, 1, "INVITE ");
}

/* The pool waits for the server of a bound key: nobody else is asked, whether it is silent or refuses. Fails without SIP_H_STAYS in sip_hold_begin. */
static void bound_stays(void **state)
{
	(void)state;
	h.hold_ms = 60000;
	hk_feed(&h, 1000, ALICE, request("REGISTER"));
	save(first, 0);
	assert_int_equal(h.ms, 32000);
	hk_feed(&h, 4000, PBX(1), hk_answer(&h, first, "503 Full"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "500 ");
}

/* An INVITE that is to replace a call: only the server of that has it, silent or not. Fails without HF_WHY_DIALOG in sip_hold_begin. */
static void named_dialog_stays(void **state)
{
	(void)state;
	h.why = HF_WHY_DIALOG;
	hk_feed(&h, 1000, ALICE, kit_request((struct kit_request){.method = "INVITE", .extra = "Replaces: cy;to-tag=1;from-tag=2" CRLF}));
	save(first, 0);
	assert_int_equal(h.ms, 32000);
	hk_feed(&h, 4000, PBX(1), hk_answer(&h, first, "503 Full"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "500 ");
}

/* ---- refusals ---- */

/* The server's 503 is acknowledged on its branch and the next is asked; the client sees nothing. Fails without sip_send_ack. */
static void b141_refused_by_one(void **state)
{
	(void)state;
	invite();
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "503 Full"));
	assert_int_equal(h.n_sent, 2);
	hk_went(&h, 0, 0, "ACK ");
	hk_same_branch(h.sent[0].text, first);
	assert_non_null(strstr(h.sent[0].text, "To: <sip:bob@example.com>;tag=s" CRLF));
	assert_non_null(strstr(h.sent[0].text, "CSeq: 1 ACK" CRLF));
	hk_went(&h, 1, 1, "INVITE ");
	assert_int_equal(h.reasons[SIP_R_FAILOVER], 1);
	assert_int_equal(h.evidence[0].evidence.server, hk_server(&h, 0));
	save(second, 1);
	hk_feed(&h, 1250, PBX(1), hk_answer(&h, first, "503 Full")); /* its ACK was lost */
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 0, "ACK ");
	hk_feed(&h, 1300, PBX(2), hk_answer(&h, second, "200 OK"));
	hk_told(&h, 0, "200 OK");
	assert_int_equal(h.n_sent, 1);
}

/* ACK, octet for octet, of a request with a Route that is the server's affair. */
static void ack_in_full(void **state)
{
	char want[1000], via[512];

	(void)state;
	hk_feed(&h, 1000, ALICE, kit_request((struct kit_request){.method = "INVITE", .extra = "Route: <sip:192.0.2.1:5060;lr>, <sip:core.example.com;lr>" CRLF}));
	save(first, 0);
	memcpy(h.k.out, first, sizeof first);
	kit_header(&h.k, "Via: ", via, sizeof via);
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "503 Full"));
	snprintf(want, sizeof want, "ACK sip:bob@example.com SIP/2.0" CRLF "%s" CRLF "Route: <sip:core.example.com;lr>" CRLF "Max-Forwards: 70" CRLF
		 "From: <sip:alice@example.com>;tag=a1" CRLF "To: <sip:bob@example.com>;tag=s" CRLF "Call-ID: c1" CRLF "CSeq: 1 ACK" CRLF "Content-Length: 0" CRLF CRLF, via);
	wants(0, want);
}

/* The first of two servers says one thing and the second another, or nothing at all: what goes up is the best of them (RFC 3261 16.7 step 6), 503 never as such.
 * Fails when a 503 outlives what came behind it, or goes up because failover-codes does not have it. */
static void b69_of_two(void **state)
{
	static const struct { const char *codes, *one, *two, *told; } rows[] = {
		{"503", "486 Busy", NULL, "486 "}, {"503", "401 Who", NULL, "401 "}, {"503", "503 Full", "486 Busy", "486 "}, {"503", "503 Full", "401 Who", "401 "},
		{"503", "503 Full", "603 Decline", "603 "}, {"503", "503 Full", "503 Full", "500 "}, {"503", "503 Full", "", "408 "}, {"503", "", "503 Full", "500 "},
		{"503", "", "", "408 "}, {"480", "503 Full", NULL, "500 "},
		{"404 503", "404 Not Here", "503 Full", "404 Refused By All"}, {"404 503", "503 Full", "404 Not Here", "404 Not Here"}, {"404 503", "404 Not Here", "", "404 Refused By All"},
		{"500 503 600", "600 Busy", "500 Down", "600 Refused By All"}, {"500 503 603", "500 Down", "603 No", "603 No"}, {"404 480", "404 Not Here", "480 Away", "480 Away"},
		{"401 503", "401 Who", "503 Full", "500 "}, {"401 503", "503 Full", "401 Who", "401 Who"}};

	(void)state;
	h.k.conf.max_attempts = 2;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool ours;

		kit_custom(&h.k, "failover-codes", rows[i].codes);
		h.on = false;
		invite();
		if (*rows[i].one)
			hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, rows[i].one));
		else
			hk_wake(&h, 3000);
		if (rows[i].two) {
			save(second, h.n_sent - 1);
			if (*rows[i].two) {
				hk_feed(&h, 3200, PBX(2), hk_answer(&h, second, rows[i].two));
			} else {
				hk_wake(&h, 5000);
				assert_int_equal(h.n_sent, 0);
				hk_wake(&h, 33000);
			}
		}
		ours = strstr(rows[i].told, "Refused By All") != NULL;
		hk_told(&h, h.n_sent - 1, rows[i].told);
		assert_int_equal(h.n_sent, ours && *rows[i].two ? 2 : 1);
		if (h.n_sent == 2)
			hk_went(&h, 0, 1, "ACK "); /* of the answer that is not passed on */
		if (ours) {
			assert_int_equal(h.learnt[h.n_learnt - 1].learn.life, HF_LIFE_LINGER);
			hk_feed(&h, 33100, ALICE, request("INVITE"));
			assert_int_equal(h.n_sent, 1);
			hk_told(&h, 0, rows[i].told);
			hk_feed(&h, 33200, ALICE, kit_request((struct kit_request){.method = "ACK", .to_tag = "x"}));
			assert_int_equal(h.n_sent, 0);
		}
	}
}

/* The best is the second of three, and that there is no fourth is known only when it is asked for. Fails when no_next relays what came last. */
static void b69_of_three(void **state)
{
	(void)state;
	h.k.conf.max_attempts = 4;
	kit_custom(&h.k, "failover-codes", "480 500 503");
	invite();
	hk_feed(&h, 1100, PBX(1), hk_answer(&h, first, "500 Down"));
	save(second, h.n_sent - 1);
	hk_feed(&h, 1200, PBX(2), hk_answer(&h, second, "480 Away"));
	save(second, h.n_sent - 1);
	hk_feed(&h, 1300, PBX(3), hk_answer(&h, second, "503 Full"));
	assert_int_equal(h.n_sent, 2);
	hk_went(&h, 0, 2, "ACK ");
	hk_told(&h, 1, "480 Refused By All" CRLF);
	hk_feed(&h, 1400, PBX(3), hk_answer(&h, second, "503 Full")); /* its ACK was lost */
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 2, "ACK ");
}

/* All refuse: the last 503 goes up as 500, and its ACK is the client's. 486 goes up at once. Fails without the second status of relay. */
static void b69_best_answer(void **state)
{
	(void)state;
	invite();
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "503 Full"));
	save(second, 1);
	hk_feed(&h, 1300, PBX(2), hk_answer(&h, second, "503 Full"));
	save(first, 1);
	hk_feed(&h, 1400, PBX(3), hk_answer(&h, first, "503 Full"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "500 Server Internal Error\r\n");
	assert_int_equal(h.learnt[0].learn.life, HF_LIFE_LINGER);
	hk_feed(&h, 1900, PBX(3), hk_answer(&h, first, "503 Full")); /* until the client's ACK is there */
	hk_told(&h, 0, "500 ");
	hk_feed(&h, 2000, ALICE, kit_request((struct kit_request){.method = "ACK", .to_tag = "s"}));
	hk_went(&h, 0, 2, "ACK ");
	hk_same_branch(h.sent[0].text, first);
	h.on = false;
	invite();
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "486 Busy"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "486 Busy");
	assert_int_equal(h.ms, 5000);
	assert_true(h.shed);
}

/* Behind a 180 nobody else is asked; the copy may go, unless another may still answer; a 503 goes up as 500. Fails without spare, and without
 * SIP_H_STAYS of on_provisional where the copy is there yet. */
static void ringing_stays(void **state)
{
	(void)state;
	invite();
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "180 Ringing"));
	hk_told(&h, 0, "180 ");
	assert_true(h.spare && !h.shed);
	assert_int_equal(h.ms, 200000);
	hk_feed(&h, 1300, PBX(1), hk_answer(&h, first, "503 Full"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "500 ");
	h.on = false;
	second_attempt();
	hk_feed(&h, 3100, PBX(2), hk_answer(&h, second, "180 Ringing"));
	assert_false(h.shed || h.spare);
	hk_feed(&h, 3200, PBX(2), hk_answer(&h, second, "503 Full"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "500 ");
}

/* Other requests: no ACK, and nothing is left behind their answer. Who answers is well, who refuses with 503 is not. Fails without learn_well. */
static void others_refused(void **state)
{
	(void)state;
	hk_feed(&h, 1000, ALICE, request("MESSAGE"));
	save(first, 0);
	hk_feed(&h, 1100, PBX(1), hk_answer(&h, first, "503 Full"));
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 1, "MESSAGE ");
	assert_int_equal(h.n_evidence, 1);
	assert_int_equal(h.evidence[0].evidence.what, HF_EVIDENCE_FAILED);
	save(second, 0);
	hk_feed(&h, 1200, PBX(2), hk_answer(&h, second, "202 Accepted"));
	hk_told(&h, 0, "202 ");
	h.on = false;
	hk_feed(&h, 1000, ALICE, request("MESSAGE"));
	save(first, 0);
	hk_feed(&h, 1100, PBX(1), hk_answer(&h, first, "404 Not Found"));
	hk_told(&h, 0, "404 ");
	assert_false(h.on);
	assert_int_equal(h.n_evidence, 1);
	assert_int_equal(h.evidence[0].evidence.what, HF_EVIDENCE_OK);
	assert_int_equal(h.evidence[0].evidence.server, hk_server(&h, 0));
}

/* Whatever the operator passes over for 500 counts against its server like 503, so that one that answers each call so is taken out (net counts five in a
 * row); by itself 500 speaks of a call, as 404 does whatever is passed over. Fails when sip_speaks_ill looks at 503 alone, or at less than the status. */
static void b105_refused_with_500(void **state)
{
	static const struct { const char *codes, *status; bool next, ill; } rows[] = {
		{"503", "500 Down", false, false}, {"500 503", "500 Down", true, true}, {"502", "502 Bad Gateway", true, true}, {"504", "504 Late", true, true},
		{"404 501", "404 Not Here", true, false}, {"404 501", "501 What", true, false}, {"486", "503 Full", false, true}};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_custom(&h.k, "failover-codes", rows[i].codes);
		h.on = false;
		invite();
		hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, rows[i].status));
		assert_int_equal(h.n_sent, rows[i].next ? 2 : 1);
		assert_int_equal(h.n_evidence, 1);
		assert_int_equal(h.evidence[0].evidence.server, hk_server(&h, 0));
		assert_int_equal(h.evidence[0].evidence.what, rows[i].ill ? HF_EVIDENCE_FAILED : HF_EVIDENCE_OK);
	}
}

/* No more than max-attempts servers are asked. */
static void b141_bounded(void **state)
{
	(void)state;
	h.k.conf.max_attempts = 2;
	second_attempt();
	hk_wake(&h, 5000);
	assert_int_equal(h.n_sent, 0);
	hk_feed(&h, 5100, PBX(2), hk_answer(&h, second, "503 Full"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "500 ");
}

/* ---- CANCEL ---- */

static void cancel(uint64_t ms) { hk_feed(&h, ms, ALICE, request("CANCEL")); }

/* Before any sign of the server: 200 and 487 from here, no new attempt, and what comes late is met: 180 with CANCEL, its 487 with ACK, 200 goes up.
 * Fails when cancel() leaves the request open. */
static void b108_cancel_before_an_answer(void **state)
{
	(void)state;
	invite();
	cancel(2900);
	assert_int_equal(h.n_sent, 2);
	hk_told(&h, 0, "200 OK");
	hk_told(&h, 1, "487 ");
	assert_non_null(strstr(h.sent[1].text, "1 INVITE" CRLF));
	assert_int_equal(h.learnt[0].learn.life, HF_LIFE_LINGER);
	assert_int_equal(h.ms, 32000);
	hk_feed(&h, 3100, ALICE, request("INVITE"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "487 ");
	hk_feed(&h, 3200, PBX(1), hk_answer(&h, first, "180 Ringing"));
	hk_went(&h, 0, 0, "CANCEL ");
	hk_same_branch(h.sent[0].text, first);
	assert_non_null(strstr(h.sent[0].text, "To: <sip:bob@example.com>" CRLF));
	assert_non_null(strstr(h.sent[0].text, "CSeq: 1 CANCEL" CRLF));
	save(second, 0);
	hk_feed(&h, 3250, PBX(1), hk_answer(&h, second, "200 OK"));
	assert_int_equal(h.n_sent, 0);
	hk_feed(&h, 3300, PBX(1), hk_answer(&h, first, "487 Request Terminated"));
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 0, "ACK ");
	hk_feed(&h, 3400, PBX(1), hk_answer(&h, first, "200 OK"));
	hk_told(&h, 0, "200 OK");
}

/* Just before failover: no second server hears of it. */
static void b108_no_attempt_behind_cancel(void **state)
{
	(void)state;
	invite();
	cancel(2999);
	hk_wake(&h, 34999);
	assert_int_equal(h.n_sent, 0);
	assert_false(h.on);
	invite();
	hk_feed(&h, 1100, PBX(1), hk_answer(&h, first, "100 Trying"));
	cancel(1200);
	hk_feed(&h, 1300, PBX(1), hk_answer(&h, first, "503 Full"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "500 ");
}

/* Ringing: CANCEL goes down on the INVITE's branch, its answer ends here, 487 goes up and the client's ACK down. */
static void cancel_while_ringing(void **state)
{
	(void)state;
	invite();
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "180 Ringing"));
	cancel(1300);
	assert_int_equal(h.n_sent, 2);
	hk_told(&h, 0, "200 OK");
	hk_went(&h, 1, 0, "CANCEL ");
	hk_same_branch(h.sent[1].text, first);
	save(second, 1);
	hk_feed(&h, 1400, PBX(1), hk_answer(&h, second, "200 OK"));
	assert_int_equal(h.n_sent, 0);
	assert_int_equal(h.reasons[SIP_R_ABSORBED], 1);
	hk_feed(&h, 1500, PBX(1), hk_answer(&h, first, "487 Request Terminated"));
	hk_told(&h, 0, "487 ");
	hk_feed(&h, 1600, ALICE, kit_request((struct kit_request){.method = "ACK", .to_tag = "s"}));
	hk_went(&h, 0, 0, "ACK ");
	hk_same_branch(h.sent[0].text, first);
}

/* Three copies of a CANCEL, before and behind a 180: each has its 200, and the client one 487; what rings hears each under one branch. Fails when a copy is taken
 * for a CANCEL of nothing (481 or silence), or ends the request a second time. */
static void b63_cancel_three_times(void **state)
{
	(void)state;
	invite();
	for (unsigned i = 0; i < 3; i++) {
		cancel(1100 + 500 * i);
		hk_told(&h, 0, "200 OK");
		assert_int_equal(h.n_sent, i ? 1 : 2);
	}
	h.on = false;
	invite();
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "180 Ringing"));
	for (unsigned i = 0; i < 3; i++) {
		cancel(1300 + 10 * i);
		assert_int_equal(h.n_sent, 2);
		hk_told(&h, 0, "200 OK");
		hk_went(&h, 1, 0, "CANCEL ");
		hk_same_branch(h.sent[1].text, first);
	}
	hk_feed(&h, 1500, PBX(1), hk_answer(&h, first, "487 Request Terminated"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "487 ");
	cancel(1600);
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "200 OK");
}

/* It rang, was cancelled, and is dead: CANCEL is repeated (ours to do, since the client had its 200), then 487 comes from here, 8 s behind the
 * CANCEL and not never. Fails without still_rings: the client waits 32 s. */
static void dead_behind_cancel(void **state)
{
	static const uint64_t again[] = {1500, 2500, 4500, 8500};

	(void)state;
	invite();
	hk_feed(&h, 1000, PBX(1), hk_answer(&h, first, "180 Ringing"));
	cancel(1000);
	assert_int_equal(h.ms, 500);
	for (unsigned i = 0; i < 4; i++) {
		hk_wake(&h, again[i]);
		assert_int_equal(h.n_sent, 1);
		hk_went(&h, 0, 0, "CANCEL ");
		hk_same_branch(h.sent[0].text, first);
	}
	assert_int_equal(h.ms, 500);
	cancel(8600); /* the client's again: no new time */
	assert_int_equal(h.ms, 400);
	hk_wake(&h, 9000);
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "487 ");
	assert_int_equal(h.learnt[0].learn.life, HF_LIFE_LINGER);
	assert_int_equal(h.evidence[0].evidence.what, HF_EVIDENCE_FAILED);
	assert_int_equal(h.ms, 32000);
	hk_feed(&h, 9100, ALICE, kit_request((struct kit_request){.method = "ACK", .to_tag = "x"}));
	assert_int_equal(h.n_sent, 0);
	hk_feed(&h, 9200, PBX(1), hk_answer(&h, first, "487 Request Terminated")); /* it lived after all */
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 0, "ACK ");
}

/* Its copy is gone for want of room: the server's 487 goes up all the same, and nothing is made up. */
static void cancel_without_the_copy(void **state)
{
	(void)state;
	invite();
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "180 Ringing"));
	h.shed = true;
	cancel(1300);
	hk_went(&h, 1, 0, "CANCEL ");
	assert_int_equal(h.ms, 200000);
	hk_feed(&h, 1500, PBX(1), hk_answer(&h, first, "487 Request Terminated"));
	hk_told(&h, 0, "487 ");
}

/* Behind the final answer: 200, and nothing else. */
static void cancel_too_late(void **state)
{
	(void)state;
	invite();
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "486 Busy"));
	cancel(1300);
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "200 OK");
}

/* ---- late answers ---- */

/* 200 from the first server when the second has been asked: it goes up, the entry follows it, and the second is taken back once it rings. */
static void late_200(void **state)
{
	(void)state;
	second_attempt();
	hk_feed(&h, 3100, PBX(1), hk_answer(&h, first, "200 OK"));
	hk_told(&h, 0, "200 OK");
	assert_int_equal(h.learnt[0].learn.server, hk_server(&h, 0));
	assert_true(h.learnt[0].learn.move);
	assert_int_equal(h.learnt[0].learn.why, HF_WHY_FAILOVER);
	hk_feed(&h, 3200, PBX(2), hk_answer(&h, second, "180 Ringing"));
	hk_went(&h, 0, 1, "CANCEL ");
	hk_same_branch(h.sent[0].text, second);
	hk_feed(&h, 3300, PBX(2), hk_answer(&h, second, "200 OK")); /* a second 200 is the client's to end */
	hk_told(&h, 0, "200 OK");
	assert_false(h.n_learnt > 1 && h.learnt[1].learn.move);
}

/* Two answer 2xx: both go up by way of the hold, in the order in which they come there, and the entry names the first one's server: its dialog lives on
 * (RFC 3261 13.2.2.4). Fails without `races` in reply.c (where each worker sends what it gets), or without the move in on_success. */
static void two_200s(void **state)
{
	(void)state;
	for (unsigned late = 0; late < 2; late++) {
		const char *order[] = {late ? first : second, late ? second : first};
		unsigned won = late ? 0 : 1;

		kit_fini(&h.k);
		hk_init(&h);
		second_attempt();
		for (unsigned i = 0; i < 2; i++) {
			hk_feed(&h, 3100 + i, order[i] == first ? PBX(1) : PBX(2), hk_answer(&h, order[i], "200 OK"));
			assert_int_equal(h.n_passed, 1);
			hk_told(&h, 0, "200 OK");
			assert_int_equal(h.n_learnt, i == 0 && late ? 2 : 1);
			assert_int_equal(h.learnt[0].learn.server, hk_server(&h, i == 0 ? won : 1 - won));
			assert_int_equal(h.learnt[0].learn.move, i == 0 && late);
		}
	}
	kit_fini(&h.k);
	hk_init(&h);
	invite();
	hk_feed(&h, 1100, PBX(1), hk_answer(&h, first, "200 OK"));
	assert_int_equal(h.n_passed, 0); /* as a rule it goes up from where it came in */
}

/* The first server's 200 was on its way when the second was asked: its worker knew of no race, and tells the hold. */
static void told_late(void **state)
{
	(void)state;
	second_attempt();
	h.k.ctx.races = false;
	hk_feed(&h, 3100, PBX(1), hk_answer(&h, first, "200 OK"));
	hk_told(&h, 0, "200 OK");
	assert_true(h.n_passed == 0 && h.n_learnt == 2 && h.learnt[0].learn.move && h.learnt[0].learn.server == hk_server(&h, 0));
}

/* The second answers, the first rings late: it is taken back. */
static void late_180(void **state)
{
	(void)state;
	second_attempt();
	hk_feed(&h, 3100, PBX(1), hk_answer(&h, first, "180 Ringing"));
	hk_went(&h, 0, 0, "CANCEL ");
	hk_told(&h, 1, "180 ");
	hk_feed(&h, 3200, PBX(1), hk_answer(&h, first, "487 Request Terminated"));
	hk_told(&h, 0, "487 ");
}

/* 486 from the first when the second has been asked: it goes up, and its ACK goes back to the first. */
static void late_486(void **state)
{
	(void)state;
	second_attempt();
	hk_feed(&h, 3100, PBX(1), hk_answer(&h, first, "486 Busy"));
	hk_told(&h, 0, "486 ");
	hk_feed(&h, 3150, ALICE, kit_request((struct kit_request){.method = "ACK", .to_tag = "s"}));
	hk_went(&h, 0, 0, "ACK ");
	hk_same_branch(h.sent[0].text, first);
	hk_feed(&h, 3200, PBX(2), hk_answer(&h, second, "486 Busy"));
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 1, "ACK ");
	assert_int_equal(h.reasons[SIP_R_ABSORBED], 1);
}

/* 503 from the first when the second has been asked: it is acknowledged, and the second is still waited for. */
static void late_503(void **state)
{
	(void)state;
	second_attempt();
	hk_feed(&h, 3100, PBX(1), hk_answer(&h, first, "503 Full"));
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 0, "ACK ");
	assert_int_equal(h.ms, 1900);
	hk_feed(&h, 3200, PBX(2), hk_answer(&h, second, "200 OK"));
	hk_told(&h, 0, "200 OK");
}

/* ---- out of reach ---- */

static void out_of_reach(void **state)
{
	(void)state;
	h.down[0] = true;
	hk_feed(&h, 1000, ALICE, request("OPTIONS"));
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 1, "OPTIONS ");
	h.on = false;
	h.down[1] = h.down[2] = true;
	hk_feed(&h, 1000, ALICE, request("INVITE"));
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "503 ");
	assert_non_null(strstr(h.sent[0].text, "Retry-After: 10" CRLF));
	assert_int_equal(h.learnt[0].learn.life, HF_LIFE_LINGER);
}

/* Who refused knows more than a wire: 500 (RFC 3261 16.7), since another request may be served. */
static void refused_and_out_of_reach(void **state)
{
	(void)state;
	invite();
	h.down[1] = h.down[2] = true;
	hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "503 Full"));
	hk_told(&h, h.n_sent - 1, "500 ");
	kit_custom(&h.k, "failover-codes", "401 404");
	for (unsigned i = 0; i < 2; i++) {
		h.on = h.down[1] = h.down[2] = false;
		invite();
		h.down[1] = h.down[2] = true;
		hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, i ? "401 Who" : "404 Not Here"));
		hk_told(&h, h.n_sent - 1, i ? "500 " : "404 Refused By All" CRLF);
	}
}

/* What had been taken and came back, as it went out. Fails without the note of back.c. */
static void came_back(void **state)
{
	struct hf_event ev = {.kind = HF_EV_FAIL, .reason = HF_R_DIAL_FAILED, .listener = &h.k.listeners[0], .source = kit_addr(PBX(1)), .transport = HF_TCP};

	(void)state;
	invite();
	hk_clear(&h);
	ev.bytes = hf_bytes_str(first);
	h.k.ctx.now_ms = 1100;
	hk_event(&h, ev);
	assert_int_equal(h.n_sent, 1);
	hk_went(&h, 0, 1, "INVITE ");
}

/* ---- a client on a connection ---- */

/* It repeats nothing: we do, towards UDP, and tell it 100. Fails without SIP_H_REPEATS or say_trying. */
static void from_a_connection(void **state)
{
	(void)state;
	h.stream = true;
	kit_listener(&h.k, 1, "tcp://192.0.2.1:5060", false);
	invite();
	assert_int_equal(h.ms, 200);
	hk_wake(&h, 1200);
	assert_int_equal(h.n_sent, 1);
	hk_told(&h, 0, "100 Trying");
	assert_int_equal(h.sent[0].send.flow.generation, 3);
	assert_int_equal(h.ms, 300);
	hk_wake(&h, 1500);
	hk_went(&h, 0, 0, "INVITE ");
	assert_string_equal(h.sent[0].text, first);
	assert_int_equal(h.ms, 1000);
	hk_wake(&h, 2500);
	assert_string_equal(h.sent[0].text, first);
	assert_int_equal(h.ms, 500);
	hk_wake(&h, 3000);
	hk_went(&h, 0, 1, "INVITE ");
	save(second, 0);
	hk_feed(&h, 3100, PBX(2), hk_answer(&h, second, "486 Busy"));
	hk_told(&h, 0, "486 ");
	assert_int_equal(h.sent[0].send.flow.generation, 3);
}

/* Other requests than INVITE are not repeated more and more rarely: every 4 s in the end (RFC 3261 17.1.2.2). Fails without SIP_T2_MS in repeat. */
static void repeated_in_the_end(void **state)
{
	static const struct { uint64_t at; uint32_t next; } turns[] = {{1500, 1000}, {2500, 2000}, {4500, 4000}, {8500, 4000}, {12500, 4000}};

	(void)state;
	h.stream = true;
	kit_listener(&h.k, 1, "tcp://192.0.2.1:5060", false);
	hk_feed(&h, 1000, ALICE, request("MESSAGE"));
	assert_int_equal(h.ms, 500);
	for (unsigned i = 0; i < sizeof turns / sizeof *turns; i++) {
		hk_wake(&h, turns[i].at);
		hk_went(&h, 0, 0, "MESSAGE ");
		assert_int_equal(h.ms, turns[i].next);
	}
}

/* ---- holds of others ---- */

/* When the hold has ended, in this boot or with the one before, an answer goes on as it came. Fails when LETTER without a hold is dropped. */
static void nobody_holds_it(void **state)
{
	(void)state;
	for (unsigned restarts = 0; restarts < 2; restarts++) {
		invite();
		h.on = false;
		h.k.site.boot += restarts;
		hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "503 Full"));
		assert_int_equal(h.n_sent, 1);
		hk_told(&h, 0, "503 Full");
		assert_false(h.on);
	}
}

/* The gateway restarts, the client repeats its request, and the server, which knows it, answers with the Via of the boot before: that is the answer to
 * what is held now. It rings: no other server is asked, and CANCEL goes down to it. Fails when sip_reply asks for the boot. */
static void answered_over_a_restart(void **state)
{
	(void)state;
	invite();
	h.on = false;
	h.k.site.boot++;
	hk_feed(&h, 2000, ALICE, request("INVITE"));
	assert_true(h.on);
	hk_feed(&h, 2100, PBX(1), hk_answer(&h, first, "180 Ringing"));
	hk_told(&h, 0, "180 ");
	assert_true(h.ms > 2000);
	hk_feed(&h, 5000, ALICE, request("CANCEL"));
	assert_int_equal(h.n_sent, 2);
	hk_told(&h, 0, "200 ");
	hk_went(&h, 1, 0, "CANCEL ");
}

/* It refuses: the next one is asked. */
static void refused_over_a_restart(void **state)
{
	(void)state;
	invite();
	h.on = false;
	h.k.site.boot++;
	hk_feed(&h, 2000, ALICE, request("INVITE"));
	hk_feed(&h, 2100, PBX(1), hk_answer(&h, first, "503 Full"));
	hk_went(&h, 0, 0, "ACK ");
	hk_went(&h, 1, 1, "INVITE ");
}

/* The 200 was relayed elsewhere and its note is late: the entry is firm, and no other server is asked. */
static void firm_meanwhile(void **state)
{
	(void)state;
	invite();
	h.firm = true;
	hk_wake(&h, 3000);
	assert_int_equal(h.n_sent, 0);
	assert_true(h.on);
}

/* Another request under the same branch is none of its business, and takes nothing of its place: the INVITE goes on to another server as it would have.
 * Fails when `ask` leaves `holds` as it was. */
static void another_method(void **state)
{
	uint8_t kept[HF_HOLD_STATE];

	(void)state;
	invite();
	memcpy(kept, h.state, sizeof kept);
	hk_feed(&h, 1100, ALICE, request("MESSAGE"));
	hk_went(&h, 0, 0, "MESSAGE ");
	assert_true(h.on);
	assert_memory_equal(h.state, kept, sizeof kept);
	hk_wake(&h, 3000);
	hk_went(&h, 0, 1, "INVITE ");
}

/* Whatever allocation fails, something is counted or kept, and nothing is read that is not there. */
static void every_allocation_failing(void **state)
{
	(void)state;
	for (long n = 1; n < 40; n++) {
		h.on = false;
		invite();
		h.k.arena.fail_at = n;
		hk_feed(&h, 1200, PBX(1), hk_answer(&h, first, "503 Full"));
		h.k.arena.fail_at = 0;
		h.on = false;
		invite();
		h.k.arena.fail_at = n;
		hk_wake(&h, 3000);
		if (h.on) {
			h.k.arena.fail_at = n;
			cancel(3100);
		}
		h.k.arena.fail_at = 0;
	}
}

/* Its connection ended before an answer: the same octets once more to the same server, then the next one, whatever the method; who rang, or is no longer
 * asked, is left alone. Fails without `resent`, which would ask the same one for ever, or when sip_hold_lost does not look at what has come. */
static void connection_lost(void **state)
{
	static const char *const methods[] = {"INVITE", "MESSAGE"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		kit_fini(&h.k);
		hk_init(&h);
		hk_feed(&h, 1000, ALICE, request(methods[i]));
		save(first, 0);
		hk_lost(&h, 1010, 1);
		assert_int_equal(h.n_sent, 0);
		hk_lost(&h, 1020, 0);
		assert_int_equal(h.n_sent, 1);
		wants(0, first);
		hk_lost(&h, 1030, 0);
		hk_went(&h, 0, 1, methods[i]);
		assert_true(h.n_evidence == 1 && h.reasons[HF_R_SERVER_ERROR] == 1);
		save(second, 0);
		hk_lost(&h, 1040, 0);
		assert_int_equal(h.n_sent, 0);
		hk_lost(&h, 1050, 1);
		wants(0, second); /* it has its own second chance */
	}
	kit_fini(&h.k);
	hk_init(&h);
	invite();
	hk_feed(&h, 1100, PBX(1), hk_answer(&h, first, "100 Trying"));
	hk_lost(&h, 1200, 0);
	assert_int_equal(h.n_sent, 0);
}

/* ... and none can be made to it any more. */
static void lost_and_out_of_reach(void **state)
{
	(void)state;
	invite();
	h.down[0] = true;
	hk_lost(&h, 1010, 0);
	hk_went(&h, 0, 1, "INVITE ");
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(held_and_repeated), T(not_held), T(repeated_behind_its_end), T(silence), T(silence_of_others), T(trying_is_life), T(bound_stays), T(named_dialog_stays), T(b141_refused_by_one), T(ack_in_full), T(b69_of_two), T(b69_of_three), T(b69_best_answer),
		T(ringing_stays), T(others_refused), T(b105_refused_with_500), T(b141_bounded), T(b108_cancel_before_an_answer), T(b108_no_attempt_behind_cancel), T(cancel_while_ringing), T(b63_cancel_three_times), T(dead_behind_cancel), T(cancel_without_the_copy),
		T(cancel_too_late), T(late_200), T(two_200s), T(connection_lost), T(lost_and_out_of_reach), T(told_late), T(late_180), T(late_486), T(late_503), T(out_of_reach), T(refused_and_out_of_reach), T(came_back), T(from_a_connection), T(repeated_in_the_end),
		T(nobody_holds_it), T(answered_over_a_restart), T(refused_over_a_restart), T(firm_meanwhile), T(another_method), T(every_allocation_failing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
