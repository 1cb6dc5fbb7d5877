/* Next hops by name (net/seek.c, search.c) against a name server of the test: who waits, what is asked, where it leads. A message is a line: its tag, a
 * blank, and the host that it goes to. */
#include "rig.h"
#include "keepers.h"
#include "search.h"
#include "seek.h"

static const struct hf_way ways[] = {{"_x._udp.", HF_UDP}, {"_x._tcp.", HF_TCP}};
static unsigned by;                 /* ways that messages ask for */
static struct hf_found found[32];   /* in the order in which they came ... */
static char order[64];              /* ... with the first letter of each message */
static unsigned n_found, n_asked;   /* n_asked: questions that the name server has heard */
static int dns;
static struct service_rt *services[1];

/* ---- a name server ---- */

static struct rr { const char *name; uint8_t type; const char *data; size_t n; uint8_t code; } zone[8];

#define A(ip) 1, ip, 4, 0
#define SRV(data) 33, data, sizeof data - 1, 0
#define CODE(type, c) type, "", 0, c

static void reply(uint8_t *m, ssize_t n, const struct sockaddr_storage *to, socklen_t n_to)
{
	size_t end = 12, at = 0;
	char name[256];
	uint8_t type;

	while (m[end]) {
		memcpy(name + at, m + end + 1, m[end]);
		at += m[end];
		name[at++] = '.';
		end += 1u + m[end];
	}
	name[at - 1] = 0;
	end += 5;
	type = m[end - 3];
	assert_true((ssize_t)end <= n);
	m[2] = 0x85;
	m[3] = 0x83; /* no such name, but for what the zone says */
	m[11] = 0;
	for (unsigned i = 0; i < sizeof zone / sizeof *zone && zone[i].name; i++) {
		const uint8_t head[] = {0xc0, 12, 0, zone[i].type, 0, 1, 0, 0, 2, 88, 0, (uint8_t)zone[i].n};

		if (strcmp(zone[i].name, name) != 0 || (zone[i].type != type && zone[i].code != 2))
			continue;
		m[3] = (uint8_t)(0x80 | zone[i].code);
		if (!zone[i].n)
			continue;
		m[7]++;
		memcpy(m + end, head, sizeof head);
		memcpy(m + end + sizeof head, zone[i].data, zone[i].n);
		end += sizeof head + zone[i].n;
	}
	assert_int_equal(sendto(dns, m, end, 0, (const struct sockaddr *)to, n_to), end);
}

static bool mute;

static void serve(void)
{
	struct sockaddr_storage from;
	socklen_t n_from = sizeof from;
	uint8_t m[1024];
	ssize_t n;

	while (!mute && (n = recvfrom(dns, m, 300, MSG_DONTWAIT, (struct sockaddr *)&from, &n_from)) > 0) {
		n_asked++;
		m[7] = 0;
		reply(m, n, &from, n_from);
	}
}

/* ---- the rig ---- */

static void stop(void *loop) { hf_loop_stop(loop); }

static void turn(void)
{
	struct hf_timer *t = hf_timer_new(rig.control, stop, rig.control);

	serve();
	hf_timer_set(t, 1);
	hf_loop_run(rig.control);
	hf_timer_free(t);
	rig_run(1);
}

static void until(unsigned n)
{
	for (int i = 0; i < 2000 && n_found < n; i++)
		turn();
	assert_int_equal(n_found, n);
}

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct hf_bytes text = ev->bytes, tag = hf_bytes_word(&text);
	struct hf_seek *q;

	(void)ctx;
	if (ev->kind == HF_EV_FOUND) {
		order[n_found] = (char)tag.p[0];
		found[n_found++] = *ev->found;
		assert_int_equal(ev->bytes.p[ev->bytes.n - 1], '\n');
		return;
	}
	if (ev->kind != HF_EV_BYTES)
		return;
	hf_act(acts, HF_ACT_TOOK)->need = hf_bytes_find(ev->bytes, '\n') + 1;
	q = &hf_act(acts, HF_ACT_SEEK)->seek;
	*q = (struct hf_seek){.host = hf_bytes_sub(text, 0, hf_bytes_find(text, '\n')), .ways = by, .port = 5080, .transport = HF_UDP, .tag = tag.p[0]};
}

static int client;

static int up(void **state)
{
	struct hf_addr any = {.family = 4, .ip = {127, 0, 0, 1}};

	rig_step = step;
	rig_workers = 2;
	rig_front.framed = true;
	rig_front.ways = ways;
	rig_front.n_ways = 2;
	n_found = n_asked = by = 0;
	mute = false;
	memset(order, 0, sizeof order);
	memset(zone, 0, sizeof zone);
	rig_up(state);
	dns = sock_listen(&any, false, 0);
	rig.conf.gateway.resolver = sock_local(dns);
	rig.service_conf.servers_from.n = 1;
	rig.service_conf.servers_from.net[0].addr = (struct hf_addr){.family = 4, .ip = {127}};
	rig.service_conf.servers_from.net[0].bits = 8;
	rig.net->snap = &rig.snap;
	services[0] = &rig.rt;
	rig.net->services = services;
	client = rig_client();
	return 0;
}

static int down(void **state)
{
	rig.net->snap = NULL;
	rig.net->services = NULL;
	close(client);
	close(dns);
	return rig_down(state);
}

static void leads_to(unsigned i, const char *addr, enum hf_transport t)
{
	struct hf_addr a = {0};

	assert_int_equal(hf_addr_read(hf_bytes_str(addr), 0, &a), HF_OK);
	assert_int_equal(found[i].n, 1);
	assert_int_equal(found[i].place[0].transport, t);
	assert_true(hf_addr_eq(&found[i].place[0].addr, &a));
}

/* How long what was said of a name will hold, in whole seconds. */
static unsigned holds_s(const char *host)
{
	struct lead_name n = {.service = 1, .ways = (uint16_t)by};
	const struct lead *l;

	strcpy(n.host, host);
	l = leads_find(rig.w->leads, &n);
	assert_non_null(l);
	return (unsigned)((l->until_ms - rig.w->now_ms + 500) / 1000);
}

/* ---- */

/* All that come for a name wait for one answer, in order; one that comes again does not; then it is known. Fails without the tag's look-up, when enter()
 * puts in front, or told() leaves what was said. */
static void together(void **state)
{
	(void)state;
	zone[0] = (struct rr){"a.example.com", A("\300\0\2\7")};
	rig_say(client, "a a.example.com\n");
	rig_say(client, "b A.Example.COM.\n");
	rig_say(client, "a a.example.com\n");
	rig_say(client, "c a.example.com\n");
	until(3);
	assert_string_equal(order, "abc");
	assert_int_equal(n_asked, 2); /* A and AAAA */
	assert_int_equal(rig_count(HF_R_SOUGHT), 1);
	assert_int_equal(rig.w->seeking, 0);
	leads_to(2, "192.0.2.7:5080", HF_UDP);
	assert_in_range(holds_s("a.example.com"), 590, 600);
	rig_say(client, "a a.example.com\n");
	until(4);
	leads_to(3, "192.0.2.7:5080", HF_UDP);
	assert_int_equal(n_asked, 2);
}

/* The first way that leads anywhere, by priority; without any the name itself. Fails when next_way does not go on, or named() leaves the port. */
static void services_first(void **state)
{
	(void)state;
	by = 3;
	zone[0] = (struct rr){"_x._tcp.a.example.com", SRV("\0\5\0\0\x13\xc5\1t\7example\3com\0")};
	zone[1] = (struct rr){"t.example.com", A("\300\0\2\11")};
	zone[2] = (struct rr){"a.example.com", A("\300\0\2\7")};
	zone[3] = (struct rr){"b.example.com", A("\300\0\2\10")};
	zone[4] = (struct rr){"_x._udp.c.example.com", SRV("\0\5\0\0\x13\xc5\4none\7example\3com\0")};
	zone[5] = (struct rr){"c.example.com", A("\300\0\2\12")};
	rig_say(client, "a a.example.com\n");
	until(1);
	leads_to(0, "192.0.2.9:5061", HF_TCP);
	rig_say(client, "b b.example.com\n");
	until(2);
	leads_to(1, "192.0.2.8:5080", HF_UDP);
	rig_say(client, "c c.example.com\n"); /* whoever it names has no address */
	until(3);
	leads_to(2, "192.0.2.10:5080", HF_UDP);
	by = 0;
	rig_say(client, "d a.example.com\n");
	until(4);
	leads_to(3, "192.0.2.7:5080", HF_UDP);
}

/* Its twin waits on another worker: it goes there. Fails without told_carry in seek_act. */
static void elsewhere(void **state)
{
	struct worker *other = &rig.net->workers[1];
	struct letter l;
	uint8_t body[64];

	(void)state;
	mute = true;
	keepers_put(rig.net->keepers, 'a', other);
	rig_say(client, "a a.example.com\n");
	for (int i = 0; i < 2000 && !letter_any(&other->box); i++)
		turn();
	assert_true(letter_take(&other->box, &l, body));
	assert_int_equal(l.kind, LETTER_CARRY);
	assert_int_equal(l.size, strlen("a a.example.com\n"));
	assert_int_equal(rig.w->seeking + n_found, 0);
	keepers_take(rig.net->keepers, 'a', other);
}

/* The order of an answer is nobody's wish. Fails without spots_take in finish(). */
static void one_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++)
		zone[i] = (struct rr){i < 3 ? "a.example.com" : "b.example.com", A("\300\0\2\7")};
	zone[1].data = zone[4].data = "\300\0\2\10";
	zone[2].data = zone[3].data = "\300\0\2\11";
	rig_say(client, "a a.example.com\n");
	rig_say(client, "b b.example.com\n");
	until(2);
	assert_int_equal(found[0].n, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_true(hf_addr_eq(&found[0].place[i].addr, &found[1].place[i].addr));
}

/* What leads nowhere is remembered, too; what is no name, and what no member asks, is not even asked. Fails without send_may_choose in seek_act. */
static void nowhere(void **state)
{
	(void)state;
	rig_say(client, "a a.example.com\n");
	until(1);
	assert_true(found[0].n == 0 && found[0].reason == HF_R_UNRESOLVED);
	assert_in_range(holds_s("a.example.com"), 20, 30);
	rig_say(client, "b a.example.com\n");
	until(2);
	assert_int_equal(n_asked, 2);
	rig_say(client, "c a b\n");
	rig_say(client, "d ...\n");
	until(4);
	assert_int_equal(found[2].reason, HF_R_UNRESOLVED);
	rig.service_conf.servers_from.n = 0;
	rig.service.conf = &rig.service_conf;
	rig.member.addr.ip[3] = 99; /* no member lives where the client does */
	close(client);
	client = rig_client();
	rig_say(client, "e b.example.com\n");
	until(5);
	assert_int_equal(found[4].reason, HF_R_NOT_A_MEMBER);
	assert_int_equal(n_asked, 2);
}

/* Nobody could say: what was said last holds on. Where nothing was said it leads nowhere. Fails when finish() forgets it. */
static void trouble(void **state)
{
	(void)state;
	zone[0] = (struct rr){"a.example.com", A("\300\0\2\7")};
	rig_say(client, "a a.example.com\n");
	until(1);
	searches_afresh(rig.net->searches);
	turn();
	zone[0] = (struct rr){"a.example.com", CODE(1, 2)};
	zone[1] = (struct rr){"b.example.com", CODE(1, 2)};
	rig_say(client, "b a.example.com\n");
	until(2);
	assert_true(n_asked > 2);
	leads_to(1, "192.0.2.7:5080", HF_UDP);
	assert_in_range(holds_s("a.example.com"), 1, 5);
	rig_say(client, "c b.example.com\n");
	until(3);
	assert_int_equal(found[2].n, 0);
	zone[0] = (struct rr){"", CODE(0, 0)};
	searches_afresh(rig.net->searches);
	turn();
	rig_say(client, "d a.example.com\n"); /* it is known that there is none */
	until(4);
	assert_int_equal(found[3].n, 0);
}

/* No answer in time; a later one is heard. Of several that wait one may leave. Fails when seek_late leaves it in the list. */
static void too_late(void **state)
{
	struct hold *x = NULL;

	(void)state;
	mute = true;
	zone[0] = (struct rr){"a.example.com", A("\300\0\2\7")};
	rig_say(client, "a a.example.com\n");
	rig_say(client, "b a.example.com\n");
	rig_say(client, "c a.example.com\n");
	for (int i = 0; i < 2000 && rig.w->seeking < 3; i++)
		turn();
	for (const char *tag = "ca"; *tag; tag++) {
		x = hold_tagged(rig.w, &rig.rt, (uint64_t)*tag);
		assert_non_null(x);
		seek_late(rig.w, x);
	}
	assert_string_equal(order, "ca");
	assert_int_equal(found[0].reason, HF_R_UNRESOLVED);
	rig_say(client, "d a.example.com\n");
	for (int i = 0; i < 2000 && rig.w->seeking < 2; i++)
		turn();
	mute = false;
	until(4);
	assert_string_equal(order, "cabd");
	leads_to(2, "192.0.2.7:5080", HF_UDP);
	leads_to(3, "192.0.2.7:5080", HF_UDP);
}

/* A share of the holds, and no more; a reload asks anew who has not answered. Fails without SHARE, or when again() leaves a search. */
static void bounds(void **state)
{
	(void)state;
	rig.conf.gateway.max_holds = 8;
	mute = true;
	for (char c = 'a'; c < 'f'; c++) {
		char line[] = "a a.example.com\n";

		line[0] = c;
		rig_say(client, line);
	}
	until(2);
	assert_string_equal(order, "de");
	assert_int_equal(found[1].reason, HF_R_HOLD_LIMIT);
	for (uint8_t m[300]; recv(dns, m, sizeof m, MSG_DONTWAIT) <= 0;)
		turn(); /* who is asked now does not answer any more */
	for (uint8_t m[300]; recv(dns, m, sizeof m, MSG_DONTWAIT) > 0;)
		;
	zone[0] = (struct rr){"a.example.com", A("\300\0\2\7")};
	mute = false;
	searches_afresh(rig.net->searches);
	until(5);
	assert_string_equal(order, "deabc");
	leads_to(4, "192.0.2.7:5080", HF_UDP);
}

#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
int main(void)
{
	const struct CMUnitTest tests[] = {T(together), T(services_first), T(one_order), T(elsewhere), T(nowhere), T(trouble), T(too_late), T(bounds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
