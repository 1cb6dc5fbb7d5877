/* udp-to-tcp towards phones: what a server sends to one that is reached by UDP goes, when it is long, over a connection that the phone has open, and as a
 * datagram where there is none (RFC 3261 18.1.1). Nobody is dialled. pbx1 opens, 192.0.2.51:5070 is called. Literal octets. */
#include "hold_kit.h"

#define PBX1 "192.0.2.101:5060"
#define PHONE "192.0.2.51:5070"
#define CONTACT "sip:bob@192.0.2.51:5070"
#define VIA(branch) "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bK" branch

static struct hk h;

static int up(void **state)
{
	(void)state;
	hk_init_by_length(&h);
	h.open = true;
	return 0;
}

static int down(void **state)
{
	(void)state;
	kit_fini(&h.k);
	return 0;
}

static const char *says(const char *method, const char *branch, const char *to_tag, unsigned pad)
{
	static char via[80], extra[1200];

	snprintf(via, sizeof via, VIA("%s"), branch);
	snprintf(extra, sizeof extra, "X-Pad: %0*u" CRLF, (int)pad, 0u);
	return kit_request((struct kit_request){.method = method, .uri = CONTACT, .via = via, .to_tag = to_tag, .extra = pad ? extra : NULL});
}

static void feed(const char *text)
{
	static uint64_t ms = 1000;

	hk_feed(&h, ms += 100, PBX1, text);
}

/* It went to the phone, by what its Via says. */
static void went(const char *method, enum hf_transport t)
{
	struct hf_addr phone = kit_addr(PHONE);
	const struct hf_send *s = &h.sent[0].send;

	assert_int_equal(h.n_sent, 1);
	assert_int_equal(s->to, HF_TO_NEXT_HOP);
	assert_true(hf_addr_eq(&s->addr, &phone));
	assert_int_equal(s->transport, t);
	assert_int_equal(s->if_open, t == HF_TCP);
	assert_memory_equal(h.sent[0].text, method, strlen(method));
	assert_non_null(strstr(h.sent[0].text, t == HF_TCP ? CRLF "Via: SIP/2.0/TCP 192.0.2.1:5060;" : CRLF "Via: SIP/2.0/UDP 192.0.2.1:5060;"));
}

/* Only the transport in our Via is another one: Record-Route goes on naming UDP, since later requests are of other lengths. Fails when compose writes
 * another face, or does not ask for an open one. */
static void a_long_one(void **state)
{
	char first[3000];

	(void)state;
	feed(says("INVITE", "1", NULL, 900));
	went("INVITE ", HF_TCP);
	memcpy(first, h.sent[0].text, sizeof first);
	assert_null(strstr(first, ";transport="));
	h.open = false;
	feed(says("INVITE", "2", NULL, 900));
	went("INVITE ", HF_UDP);
	assert_int_equal(strlen(first), strlen(h.sent[0].text));
}

/* By what goes out, to the octet. Fails when is_long measures what came. */
static void the_limit(void **state)
{
	(void)state;
	h.k.conf.udp_to_tcp = 65507;
	feed(says("MESSAGE", "1", NULL, 10));
	went("MESSAGE ", HF_UDP);
	h.k.conf.udp_to_tcp = strlen(h.sent[0].text);
	feed(says("MESSAGE", "1", NULL, 10));
	went("MESSAGE ", HF_UDP);
	h.k.conf.udp_to_tcp--;
	feed(says("MESSAGE", "1", NULL, 10));
	went("MESSAGE ", HF_TCP);
	assert_false(h.on); /* nothing follows it */
	assert_int_equal(h.n_asked, 0);
}

/* CANCEL and the ACK of a refusal go as their INVITE, the ACK of a 2xx by its own length. Nothing of the message is kept. Fails without remember, or when
 * sip_outward_go does not look at what is held. */
static void followers(void **state)
{
	char first[3000];

	(void)state;
	feed(says("INVITE", "1", NULL, 900));
	memcpy(first, h.sent[0].text, sizeof first);
	assert_true(h.on);
	assert_int_equal(h.came.bytes.n, 0);
	assert_int_equal(h.ms, 200000);
	feed(says("INVITE", "1", NULL, 900));
	went("INVITE ", HF_TCP);
	assert_string_equal(h.sent[0].text, first);
	feed(says("CANCEL", "1", NULL, 0));
	went("CANCEL ", HF_TCP);
	hk_same_branch(h.sent[0].text, first);
	feed(says("ACK", "1", "b1", 0));
	went("ACK ", HF_TCP);
	hk_same_branch(h.sent[0].text, first);
	feed(says("ACK", "2", "b1", 0));
	went("ACK ", HF_UDP);
	feed(says("BYE", "3", "b1", 0));
	went("BYE ", HF_UDP);
}

/* Nothing is held for those, and what follows them goes as they went. Fails when has_followers is true of a short INVITE, and when what is held outlives
 * a connection that was not there. */
static void followers_of_datagrams(void **state)
{
	(void)state;
	feed(says("INVITE", "1", NULL, 0));
	went("INVITE ", HF_UDP);
	assert_false(h.on);
	assert_int_equal(h.n_asked, 0);
	feed(says("CANCEL", "1", NULL, 0));
	went("CANCEL ", HF_UDP);
	h.open = false;
	feed(says("INVITE", "2", NULL, 900));
	went("INVITE ", HF_UDP);
	assert_int_equal(h.reasons[SIP_R_NO_TCP], 1);
	assert_false(h.on);
	h.open = true;
	feed(says("CANCEL", "2", NULL, 0));
	went("CANCEL ", HF_UDP);
}

/* The connection has ended meanwhile. */
static void ended_behind_its_invite(void **state)
{
	(void)state;
	feed(says("INVITE", "1", NULL, 900));
	h.open = false;
	feed(says("CANCEL", "1", NULL, 0));
	went("CANCEL ", HF_UDP);
	feed(says("INVITE", "1", NULL, 900));
	went("INVITE ", HF_UDP);
	assert_false(h.on);
	feed(says("INVITE", "4", NULL, 0));
	went("INVITE ", HF_UDP);
}

/* ... on its way to another worker: it comes back as it went. Fails without find_way's first case; the second, without its condition: over a connection
 * that the next hop asked for, no datagram takes its place. */
static void came_back(void **state)
{
	struct hf_event ev = {.kind = HF_EV_FAIL, .reason = HF_R_FLOW_GONE, .listener = &h.k.listeners[0], .source = kit_addr(PHONE), .transport = HF_UDP};
	char first[3000];

	(void)state;
	feed(says("MESSAGE", "1", NULL, 900));
	memcpy(first, h.sent[0].text, sizeof first);
	ev.bytes = hf_bytes_str(first);
	hk_clear(&h);
	hk_event(&h, ev);
	went("MESSAGE ", HF_UDP);
	assert_int_equal(h.reasons[SIP_R_NO_TCP], 1);
	ev.transport = HF_TCP;
	hk_clear(&h);
	hk_event(&h, ev);
	hk_told(&h, 0, "430");
}

/* Behind a NAT a connection from the address of a flow of datagrams may be another phone's (RFC 5626 5.3). Fails when may_be_either takes flows. */
static void a_flow_is_a_flow(void **state)
{
	struct sip_flow flow = {.listener = h.k.listeners[0].hash, .remote = kit_addr(PHONE)};
	char text[200], route[260], extra[1400];
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);

	(void)state;
	sip_flow_write(&h.k.site, &flow, &w);
	text[w.n] = 0;
	snprintf(route, sizeof route, "Route: <sip:%s@192.0.2.1:5060;lr>" CRLF, text);
	snprintf(extra, sizeof extra, "%sX-Pad: %0*u" CRLF, route, 900, 0u);
	feed(kit_request((struct kit_request){.method = "INVITE", .uri = CONTACT, .via = VIA("1"), .extra = extra}));
	assert_int_equal(h.n_sent, 1);
	assert_int_equal(h.sent[0].send.to, HF_TO_RETURN);
	assert_int_equal(h.sent[0].send.transport, HF_UDP);
	assert_false(h.on);
}

/* A client that knows the server's Via finds what is remembered of it, and there is nothing to be had there. Fails without the first line of sip_hold_client. */
static void no_business_of_clients(void **state)
{
	(void)state;
	feed(says("INVITE", "1", NULL, 900));
	hk_feed(&h, 5000, "192.0.2.66:5060", says("CANCEL", "1", NULL, 0));
	assert_int_equal(h.n_sent, 1);
	assert_int_equal(h.sent[0].send.to, HF_TO_SERVER);
	assert_true(h.on);
	hk_feed(&h, 5100, "192.0.2.66:5060", says("INVITE", "1", NULL, 900));
	assert_int_equal(h.n_sent, 1);
	assert_int_equal(h.sent[0].send.to, HF_TO_SERVER);
	feed(says("CANCEL", "1", NULL, 0));
	went("CANCEL ", HF_TCP);
}

#define T(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_long_one), T(the_limit), T(followers), T(followers_of_datagrams), T(ended_behind_its_invite), T(came_back), T(a_flow_is_a_flow), T(no_business_of_clients)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
