/* udp-to-tcp: what is long goes to a UDP server over TCP, one by one, and as a datagram after all when there is no connection (RFC 3261 18.1.1).
 * Literal octets; case numbers are those of tests/CASES.tsv. */
#include "stream_bench.h"

#include "hold_kit.h"

#define INVITE_HEAD "INVITE sip:bob@example.com SIP/2.0" CRLF
#define INVITE_TAIL "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK776asdhds" CRLF "Max-Forwards: "
#define OUR_VIA(t) "Via: SIP/2.0/" t " 192.0.2.1:5060;branch=z9hG4bKnade5nvlg79s8;hf=6265k5u0ro4u7ru6dflo87nuqt9avg0008ph7h17j38goi9l909g" CRLF
#define OUR_ROUTE "Record-Route: <sip:" COOKIE "@192.0.2.1:5060;lr>" CRLF
#define BODY(length) "CSeq: 314159 INVITE" CRLF "Content-Type: application/sdp" CRLF length CRLF "v=0\r\n\r\n"

static void invite(void)
{
	kit_feed(&k, UDP_PHONE, INVITE_HEAD INVITE_TAIL "70" CRLF HEAD TAIL BODY(""));
	assert_int_equal(k.n_sent, 1);
	assert_int_equal(k.send.to, HF_TO_SERVER);
}

static const char *padded(const char *method, unsigned n)
{
	static char pad[1200];

	snprintf(pad, sizeof pad, "X-Pad: %0*u" CRLF, (int)n, 0u);
	return kit_request((struct kit_request){.method = method, .extra = n ? pad : NULL});
}

/* The Via names it, a length is added, and nothing else is another: not the sent-by, by which a server tells transactions apart, nor Record-Route, by
 * which shorter requests will come. Fails without compose's second sip_edit. */
static void octets_of_it(void **state)
{
	(void)state;
	k.conf.udp_to_tcp = 256;
	invite();
	assert_int_equal(k.send.transport, HF_TCP);
	kit_wants(&k, INVITE_HEAD OUR_VIA("TCP") OUR_ROUTE INVITE_TAIL "69" CRLF HEAD TAIL BODY("Content-Length: 7" CRLF));
	line_feed(&link, answer("180 Ringing"));
	kit_sent_to(&k, HF_TO_RETURN, UDP_PHONE);
	assert_int_equal(k.send.transport, HF_UDP);
}

/* By what goes out, to the octet, not by what came. Fails when length_of forgets what is put or cut. */
static void the_limit(void **state)
{
	size_t n;

	(void)state;
	invite();
	assert_int_equal(k.send.transport, HF_UDP);
	n = k.out_n;
	k.conf.udp_to_tcp = n;
	invite();
	assert_int_equal(k.send.transport, HF_UDP);
	kit_wants(&k, INVITE_HEAD OUR_VIA("UDP") OUR_ROUTE INVITE_TAIL "69" CRLF HEAD TAIL BODY(""));
	k.conf.udp_to_tcp = n - 1;
	invite();
	assert_int_equal(k.send.transport, HF_TCP);
}

/* A long one, a short one, a long one. Fails when anything of a decision is kept. */
static void b81_each_by_its_own(void **state)
{
	(void)state;
	k.conf.udp_to_tcp = 1300;
	for (unsigned i = 0; i < 3; i++) {
		kit_feed(&k, UDP_PHONE, padded("INVITE", i == 1 ? 0 : 1100));
		assert_int_equal(k.send.transport, i == 1 ? HF_UDP : HF_TCP);
		assert_true(kit_says(&k, i == 1 ? CRLF "Via: SIP/2.0/UDP 192.0.2.1:5060;" : CRLF "Via: SIP/2.0/TCP 192.0.2.1:5060;"));
	}
	over_tcp(); /* whose line says TCP, whatever the length */
	kit_feed(&k, UDP_PHONE, padded("INVITE", 0));
	assert_int_equal(k.send.transport, HF_TCP);
}

/* ---- no connection ---- */

static void come_back(unsigned reason, struct hf_chosen c)
{
	static char went[4096];
	struct hf_event ev = {.kind = HF_EV_FAIL, .reason = reason, .transport = HF_TCP, .chosen = &c};
	struct hf_acts acts = {0};

	memcpy(went, k.out, k.out_n);
	ev.bytes = hf_bytes_of((const uint8_t *)went, k.out_n);
	hf_arena_reset(&k.arena);
	k.ctx.parcel = NULL;
	k.n_sent = k.n_dropped = k.n_counted = 0;
	hf_sip_front.step(&k.ctx, &ev, &acts);
	assert_int_equal(acts.a[0].kind, HF_ACT_TOOK);
	assert_int_equal(acts.a[0].need, ev.bytes.n);
	memmove(acts.a, acts.a + 1, --acts.n * sizeof *acts.a);
	kit_take(&k, &ev, &acts);
	assert_int_equal(k.n_sent, 1);
}

/* It goes as a datagram, its Via saying so. Fails without as_datagram; the last three, without its conditions. */
static void refused(void **state)
{
	struct hf_chosen gone;

	(void)state;
	k.conf.udp_to_tcp = 256;
	invite();
	come_back(HF_R_DIAL_FAILED, k.chosen);
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(k.send.server, kit_server(&k, "pbx1"));
	assert_int_equal(k.send.transport, HF_UDP);
	assert_int_equal(k.counted, SIP_R_NO_TCP);
	kit_wants(&k, INVITE_HEAD OUR_VIA("UDP") OUR_ROUTE INVITE_TAIL "69" CRLF HEAD TAIL BODY("Content-Length: 7" CRLF));
	invite();
	come_back(HF_R_SERVER_OFF, k.chosen);
	assert_int_equal(k.send.to, HF_TO_RETURN);
	invite();
	gone = k.chosen;
	gone.out = NULL;
	come_back(HF_R_DIAL_FAILED, gone);
	assert_int_equal(k.send.to, HF_TO_RETURN);
	over_tcp();
	invite();
	come_back(HF_R_DIAL_FAILED, k.chosen);
	assert_int_equal(k.send.to, HF_TO_RETURN);
}

/* The same when it is known at once; a full connection is no missing one. Fails without goes_as_datagram. */
static void refused_at_once(void **state)
{
	struct hf_event ev = {.chosen = &k.chosen};

	(void)state;
	k.conf.udp_to_tcp = 256;
	invite();
	kit_fail(&k, ev, HF_R_DIAL_FAILED);
	assert_int_equal(k.send.transport, HF_UDP);
	kit_wants(&k, INVITE_HEAD OUR_VIA("UDP") OUR_ROUTE INVITE_TAIL "69" CRLF HEAD TAIL BODY(""));
	invite();
	kit_fail(&k, ev, HF_R_SEND_FULL);
	assert_int_equal(k.n_sent, 0);
}

/* Without room it goes as it should or not at all. Fails when compose sends what its second edit has left half done. */
static void every_allocation_failing(void **state)
{
	bool failed = true;

	(void)state;
	k.conf.udp_to_tcp = 256;
	for (long at = 1; failed; at++) {
		k.arena.fail_at = at;
		kit_feed(&k, UDP_PHONE, INVITE_HEAD INVITE_TAIL "70" CRLF HEAD TAIL BODY(""));
		failed = k.arena.fail_at == 0;
		k.arena.fail_at = 0;
		if (k.n_sent && k.send.to == HF_TO_SERVER)
			kit_wants(&k, INVITE_HEAD OUR_VIA("TCP") OUR_ROUTE INVITE_TAIL "69" CRLF HEAD TAIL BODY("Content-Length: 7" CRLF));
		assert_true(failed || k.n_sent);
	}
}

/* ---- held ---- */

static struct hk h;

static int up(void **state)
{
	(void)state;
	hk_init_by_length(&h);
	return 0;
}

static int down(void **state)
{
	(void)state;
	kit_fini(&h.k);
	return 0;
}

static void went(unsigned i, const char *method, enum hf_transport t)
{
	char via[64];

	hk_went(&h, i, 0, method);
	assert_int_equal(h.sent[i].send.transport, t);
	snprintf(via, sizeof via, CRLF "Via: SIP/2.0/%s 192.0.2.1:5060;", t == HF_TCP ? "TCP" : "UDP");
	assert_non_null(strstr(h.sent[i].text, via));
}

static void held_invite(unsigned pad)
{
	hk_feed(&h, 1000, "192.0.2.51:5060", padded("INVITE", pad));
	assert_int_equal(h.n_sent, 1);
}

/* The client's CANCEL and its ACK of a refusal are short, and go the way of their INVITE (9.1, 17.1.1.3). Fails when sip_hold_choice does not say
 * how, or by_length goes with the octets that are let go of. */
static void follow_their_invite(void **state)
{
	char first[3000];

	(void)state;
	held_invite(700);
	went(0, "INVITE ", HF_TCP);
	memcpy(first, h.sent[0].text, sizeof first);
	hk_feed(&h, 1100, "192.0.2.101:5060", hk_answer(&h, first, "180 Ringing"));
	hk_feed(&h, 1200, "192.0.2.51:5060", padded("CANCEL", 0));
	assert_int_equal(h.n_sent, 2);
	hk_told(&h, 0, "200");
	went(1, "CANCEL ", HF_TCP);
	hk_same_branch(h.sent[1].text, first);
	hk_feed(&h, 1300, "192.0.2.101:5060", hk_answer(&h, first, "487 Request Terminated"));
	hk_feed(&h, 1400, "192.0.2.51:5060", padded("ACK", 0));
	assert_int_equal(h.n_sent, 1);
	went(0, "ACK ", HF_TCP);
}

/* Our own: ACK of a 503, and CANCEL of who was slow. Fails when send_text does not say how. */
static void our_own_follow(void **state)
{
	char first[3000], second[3000];

	(void)state;
	held_invite(700);
	memcpy(first, h.sent[0].text, sizeof first);
	hk_wake(&h, 3000);
	hk_went(&h, 0, 1, "INVITE ");
	memcpy(second, h.sent[0].text, sizeof second);
	hk_feed(&h, 3100, "192.0.2.101:5060", hk_answer(&h, first, "180 Ringing"));
	assert_int_equal(h.n_sent, 2);
	went(0, "CANCEL ", HF_TCP);
	hk_told(&h, 1, "180");
	hk_feed(&h, 3200, "192.0.2.102:5060", hk_answer(&h, second, "503 Service Unavailable"));
	for (unsigned i = 0; i < h.n_sent; i++)
		if (strncmp(h.sent[i].text, "ACK ", 4) == 0) {
			assert_int_equal(h.sent[i].send.transport, HF_TCP);
			return;
		}
	fail_msg("no ACK");
}

/* The first server took no connection, the next one does: CANCEL goes to it as its INVITE went. Fails when next_attempt leaves by_length as it was. */
static void each_server_by_itself(void **state)
{
	char second[3000];

	(void)state;
	h.no_tcp = true;
	held_invite(700);
	went(0, "INVITE ", HF_UDP);
	h.no_tcp = false;
	hk_wake(&h, 3000);
	hk_went(&h, 0, 1, "INVITE ");
	assert_int_equal(h.sent[0].send.transport, HF_TCP);
	memcpy(second, h.sent[0].text, sizeof second);
	hk_feed(&h, 3100, "192.0.2.102:5060", hk_answer(&h, second, "180 Ringing"));
	hk_feed(&h, 3200, "192.0.2.51:5060", padded("CANCEL", 0));
	assert_int_equal(h.n_sent, 2);
	hk_went(&h, 1, 1, "CANCEL ");
	assert_int_equal(h.sent[1].send.transport, HF_TCP);
}

/* What a connection carries is not repeated: only try-timeout is left. Fails when hold.c looks at the server's line for SIP_H_REPEATS. */
static void not_repeated(void **state)
{
	(void)state;
	h.stream = true;
	held_invite(700);
	went(0, "INVITE ", HF_TCP);
	assert_int_equal(h.ms, 200);
	hk_wake(&h, 1200); /* 100 */
	assert_int_equal(h.ms, 1800); /* try-timeout is next */
}

/* What had to go as a datagram is repeated, and as one. Fails without sip_hold_datagram. */
static void refused_and_repeated(void **state)
{
	(void)state;
	h.stream = h.no_tcp = true;
	held_invite(700);
	went(0, "INVITE ", HF_UDP);
	assert_int_equal(h.reasons[SIP_R_NO_TCP], 1);
	hk_wake(&h, 1200);
	assert_int_equal(h.ms, 300);
	hk_wake(&h, 1500);
	assert_int_equal(h.n_sent, 1);
	went(0, "INVITE ", HF_UDP);
	assert_int_equal(h.reasons[SIP_R_NO_TCP], 0);
}

/* The same, told later and by letter. Fails without sip_note_datagram. */
static void back_and_repeated(void **state)
{
	struct hf_event ev = {.kind = HF_EV_FAIL, .reason = HF_R_DIAL_FAILED, .listener = &h.k.listeners[0], .source = kit_addr("192.0.2.101:5060"), .transport = HF_TCP};
	struct hf_chosen c = {.server = hk_server(&h, 0), .out = &h.k.listeners[0]};
	char first[3000];

	(void)state;
	h.stream = true;
	held_invite(700);
	memcpy(first, h.sent[0].text, sizeof first);
	hk_clear(&h);
	h.k.ctx.now_ms = 1100;
	ev.bytes = hf_bytes_str(first);
	ev.chosen = &c;
	hk_event(&h, ev);
	assert_int_equal(h.n_sent, 1);
	went(0, "INVITE ", HF_UDP);
	assert_int_equal(h.ms, 100);
	hk_wake(&h, 1200);
	assert_int_equal(h.ms, 400);
	hk_wake(&h, 1600);
	assert_int_equal(h.n_sent, 1);
	went(0, "INVITE ", HF_UDP);
}

#define H(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(octets_of_it), T(the_limit), T(b81_each_by_its_own), T(refused), T(refused_at_once), T(every_allocation_failing), H(follow_their_invite), H(our_own_follow), H(each_server_by_itself), H(not_repeated),
		H(refused_and_repeated), H(back_and_repeated)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
