/* The guard by literal addresses and times: who may speak, how often, and who is never held to it. */
#include <stdio.h>

#include "rig.h"
#include "guard.h"

static unsigned heard, asked;
static bool signed_by_us;

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	(void)ctx, (void)acts;
	heard += ev->kind == HF_EV_BYTES;
}

static bool vouches(struct hf_ctx *ctx, const struct hf_event *ev)
{
	assert_non_null(ctx->arena);
	assert_true(ev->bytes.n > 0);
	asked++;
	return signed_by_us;
}

static int up(void **state)
{
	int e = rig_up(state);

	rig_step = step;
	rig_front.vouches = vouches;
	heard = asked = 0;
	signed_by_us = false;
	rig.rt.said = said_new();
	return e;
}

static int down(void **state)
{
	said_free(rig.rt.said);
	rig_front.vouches = NULL;
	return rig_down(state);
}

static struct hf_addr addr(const char *text)
{
	struct hf_addr a = {0};

	assert_int_equal(hf_addr_read(hf_bytes_str(text), 0, &a), HF_OK);
	return a;
}

static bool passes(const char *from)
{
	struct hf_addr a = addr(from);
	unsigned before = heard;

	deliver_datagram(rig.w, &rig.service, 0, HF_LIT("text"), &a, &rig.info.addr);
	return heard > before;
}

static void net(struct hf_nets *n, const char *ip, unsigned bits)
{
	n->net[n->n].addr = addr(ip);
	n->net[n->n++].bits = bits;
}

/* Fails without guard_admits in deliver_datagram, or when allow comes before deny. */
static void lists(void **state)
{
	(void)state;
	assert_true(passes("192.0.2.7:5060"));
	net(&rig.service_conf.deny, "192.0.2.64:1", 26);
	net(&rig.service_conf.deny, "[2001:db8:1::]:1", 48);
	assert_true(passes("192.0.2.7:5060") && !passes("192.0.2.65:5060") && !passes("[2001:db8:1::9]:5060") && passes("[2001:db8:2::9]:5060"));
	net(&rig.service_conf.allow, "192.0.2.0:1", 24);
	assert_true(passes("192.0.2.7:5060") && !passes("192.0.2.65:5060") && !passes("198.51.100.7:5060") && !passes("[2001:db8:2::9]:5060"));
	assert_int_equal(rig_count(HF_R_DENIED), 5);
	assert_int_equal(asked, 0);
}

/* A listener's own lists keep out whom the service lets in, and let in nobody whom it keeps out; over an inside listener they say who is a server.
 * Members are known beside. Fails without lists_of, or when guard_takes believes any who comes to an inside listener. */
static void of_a_listener(void **state)
{
	char member[32];

	(void)state;
	net(&rig.service_conf.allow, "192.0.2.0:1", 24);
	net(&rig.listen_conf.deny, "192.0.2.7:1", 32);
	assert_true(passes("192.0.2.8:5060") && !passes("192.0.2.7:5060") && !passes("198.51.100.7:5060"));
	net(&rig.listen_conf.allow, "198.51.100.0:1", 24);
	net(&rig.listen_conf.allow, "192.0.2.0:1", 28);
	assert_true(passes("192.0.2.8:5060") && !passes("192.0.2.77:5060") && !passes("198.51.100.7:5060"));
	rig.info.inside = true;
	assert_true(passes("192.0.2.8:5060") && !passes("192.0.2.7:5060") && !passes("192.0.2.77:5060") && passes("198.51.100.7:5060"));
	snprintf(member, sizeof member, "127.0.0.1:%u", rig.member.addr.port);
	assert_true(passes(member));
	assert_int_equal(rig_count(HF_R_DENIED), 6);
}

/* Before anything is read: the connection is closed at once. Fails when begin() looks at the service's lists alone. */
static void a_connection(void **state)
{
	int fd;

	(void)state;
	fd = rig_client();
	close(fd);
	net(&rig.listen_conf.deny, "127.0.0.0:1", 8);
	rig.pool.n_members = 0; /* else it comes from where a server is */
	snap_index(&rig.pool);
	fd = sock_connect(&rig.info.addr, true, NULL);
	RIG_UNTIL((conn_acceptable(&rig.listening, HF_READ), rig_count(HF_R_DENIED) == 1));
	assert_true(rig_ended(fd));
	close(fd);
}

/* Servers speak whatever the lists say, from any port of their address. Fails without the three exceptions of guard_admits. */
static void servers(void **state)
{
	char own[32];

	(void)state;
	net(&rig.service_conf.deny, "0.0.0.0:1", 0);
	snprintf(own, sizeof own, "127.0.0.1:%u", rig.member.addr.port + 1u);
	assert_true(passes(own));
	assert_false(passes("192.0.2.7:5060"));
	net(&rig.service_conf.servers_from, "192.0.2.0:1", 28);
	assert_true(passes("192.0.2.7:5060"));
	assert_false(passes("192.0.2.77:5060"));
	rig.info.inside = true;
	assert_true(passes("192.0.2.77:5060"));
}

/* A burst of a second's worth, then the rate, each source on its own; a /64 is one source. Fails when the port, or all of an IPv6 address, is part of it. */
static void rate(void **state)
{
	unsigned got = 0;

	(void)state;
	rig.service_conf.max_rate_source = 20;
	rig.w->now_ms = 100000;
	for (unsigned i = 0; i < 50; i++)
		got += passes(i % 2 ? "192.0.2.7:5060" : "192.0.2.7:40000");
	assert_int_equal(got, 20);
	assert_int_equal(rig_count(HF_R_SOURCE_RATE), 30);
	assert_true(passes("192.0.2.8:5060"));
	for (rig.w->now_ms = 100001; rig.w->now_ms <= 110000; rig.w->now_ms += 10)
		got += passes("192.0.2.7:5060");
	assert_in_range(got, 219, 221);
	got = 0;
	for (unsigned i = 0; i < 40; i++)
		got += passes(i % 2 ? "[2001:db8::1:7]:5060" : "[2001:db8::2:9]:5060");
	assert_int_equal(got, 20);
	assert_true(passes("[2001:db8:0:1::7]:5060"));
}

/* Members, and what is signed by us: never. The front is asked only of a source that is over its rate. Fails without the exceptions of guard_takes. */
static void never_limited(void **state)
{
	char member[32];

	(void)state;
	rig.service_conf.max_rate_source = 5;
	snprintf(member, sizeof member, "127.0.0.1:%u", rig.member.addr.port);
	for (unsigned i = 0; i < 100; i++)
		assert_true(passes(member));
	for (unsigned i = 0; i < 5; i++)
		assert_true(passes("192.0.2.7:5060"));
	assert_int_equal(asked, 0);
	assert_false(passes("192.0.2.7:5060"));
	assert_int_equal(asked, 1);
	signed_by_us = true;
	for (unsigned i = 0; i < 100; i++)
		assert_true(passes("192.0.2.7:5060"));
}

/* A flood from very many sources: its neighbours are heard, but for hardly any. Fails when one row is all there is. */
static void neighbours(void **state)
{
	unsigned lost = 0, among = 0;
	char from[32];

	(void)state;
	rig.service_conf.max_rate_source = 10;
	for (unsigned i = 0; i < 4000; i++) {
		snprintf(from, sizeof from, "198.51.%u.%u:5060", i / 250, i % 250);
		for (unsigned n = 0; n < 12; n++)
			(void)passes(from);
	}
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(from, sizeof from, "203.0.%u.%u:5060", i / 250, i % 250);
		lost += !passes(from);
	}
	assert_in_range(lost, 0, 25); /* 4000 of 65536 places, twice: 7; by one row 120 */
	for (unsigned i = 0; i < 60000; i++) {
		snprintf(from, sizeof from, "10.%u.%u.%u:5060", i / 65536, i / 256 % 256, i % 256);
		among += !passes(from);
	}
	assert_in_range(among, 0, 600); /* many who say little are no flood */
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
int main(void)
{
	const struct CMUnitTest tests[] = {T(lists), T(of_a_listener), T(a_connection), T(servers), T(rate), T(never_limited), T(neighbours)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
