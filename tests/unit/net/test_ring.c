/* The ring of the last messages, and what is counted of them (net/ring.c, notice.c): fixed in size, read beside its writer, no row that a peer made. */
#include "rig.h"

#include <pthread.h>

#include "notice.h"

static void quiet(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts) { (void)ctx, (void)ev, (void)acts; }

static int up(void **state)
{
	rig_step = quiet;
	if (rig_up(state))
		return -1;
	rig.pool_rt.tallies = calloc(HF_SERVERS_MAX + 1, sizeof *rig.pool_rt.tallies);
	return rig.pool_rt.tallies ? 0 : -1;
}

static int down(void **state)
{
	free(rig.pool_rt.tallies);
	return rig_down(state);
}

static struct hf_passed passed(const char *session, uint64_t at_us)
{
	return (struct hf_passed){.at_us = at_us, .session = ring_session(hf_bytes_str(session)), .peer = {.family = 6, .port = 5071, .ip = {0x20, 1, 0xd, 0xb8, [15] = 9}},
		.octets = 812, .transport = HF_WSS, .why = HF_WHY_FALLBACK, .own_port = 5061, .server = 4096, .service = 0xfffe, .name = HF_NAMES_MAX, .code = 699, .out = true};
}

/* Every field comes back as it was, from the session that was asked for alone. Fails with any field that is packed wrongly. */
static void whole(void **state)
{
	struct hf_passed out[4], in = passed("a84b4c76e66710@pc33.example.com", 123456789);

	(void)state;
	hf_net_trace(rig.net, 4096);
	ring_add(rig.w->ring, &in);
	in = passed("a84b4c76e66710@pc33.example.net", 5); /* same length, another end */
	ring_add(rig.w->ring, &in);
	assert_int_equal(hf_net_passed(rig.net, HF_LIT("a84b4c76e66710@pc33.example.com"), out, 4), 1);
	in = passed("a84b4c76e66710@pc33.example.com", 123456789);
	assert_int_equal(out[0].at_us, in.at_us);
	assert_true(hf_addr_eq(&out[0].peer, &in.peer));
	assert_int_equal(out[0].octets, in.octets);
	assert_int_equal(out[0].transport, in.transport);
	assert_int_equal(out[0].why, in.why);
	assert_int_equal(out[0].own_port, in.own_port);
	assert_int_equal(out[0].server, in.server);
	assert_int_equal(out[0].service, in.service);
	assert_int_equal(out[0].name, in.name);
	assert_int_equal(out[0].code, in.code);
	assert_true(out[0].out);
	assert_int_equal(out[0].number, 1);
}

/* As many as fit stay, the newest; and no more are given than asked for. Fails with a ring that grows, or that starts at its begin. */
static void last_ones(void **state)
{
	struct hf_passed out[100];

	(void)state;
	hf_net_trace(rig.net, 64 * 64);
	for (unsigned i = 1; i <= 1000; i++) {
		struct hf_passed m = passed("x", i);

		ring_add(rig.w->ring, &m);
	}
	assert_int_equal(hf_net_passed(rig.net, HF_LIT("x"), out, 100), 64);
	assert_int_equal(out[0].at_us, 937);
	assert_int_equal(out[63].at_us, 1000);
	assert_int_equal(hf_net_passed(rig.net, HF_LIT("x"), out, 10), 10);
	assert_int_equal(hf_net_passed(rig.net, HF_LIT("y"), out, 100), 0);
}

/* trace = off: nothing is kept, and nothing asks for it. */
static void none(void **state)
{
	struct hf_passed out[1];

	(void)state;
	hf_net_trace(rig.net, 0);
	assert_null(rig.w->ring);
	assert_int_equal(hf_net_passed(rig.net, HF_LIT("x"), out, 1), 0);
}

static void *write_on(void *stop)
{
	for (uint64_t i = 1; !atomic_load((atomic_bool *)stop); i++) {
		struct hf_passed m = passed("x", i);

		m.octets = (uint32_t)i;
		ring_add(rig.w->ring, &m);
	}
	return NULL;
}

/* Beside a writer no record is half one and half another; with one place alone it is written anew all the while. Fails without the second look at
 * its number. */
static void beside_its_writer(void **state)
{
	static struct hf_passed out[16];
	atomic_bool stop = false;
	pthread_t t;

	(void)state;
	hf_net_trace(rig.net, 64);
	assert_int_equal(pthread_create(&t, NULL, write_on, &stop), 0);
	for (int i = 0; i < 400000; i++) {
		unsigned n = hf_net_passed(rig.net, HF_LIT("x"), out, 16);

		for (unsigned k = 0; k < n; k++)
			assert_true(out[k].octets == (uint32_t)out[k].at_us && out[k].number == out[k].at_us);
	}
	atomic_store(&stop, true);
	pthread_join(t, NULL);
}

static struct parcel parcel(uint16_t name, uint16_t code, uint32_t member)
{
	return (struct parcel){.w = rig.w, .service = &rig.service, .rt = &rig.rt, .pool = &rig.pool_rt, .at = &rig.pool,
		.ctx.seen = {.octets = HF_LIT("m"), .session = HF_LIT("x"), .name = name, .code = code}, .ev = {.kind = HF_EV_BYTES, .member = member}};
}

static void came(uint16_t name, uint16_t code, uint32_t member)
{
	struct parcel p = parcel(name, code, member);

	notice_came(&p);
}

/* Requests by name, answers by name and class, a member's answers by class; what is out of range has a place of its own, or none. Fails with each
 * counter that is not written, and without the bound of names. */
static void counted(void **state)
{
	struct counts *c = &rig.rt.counts[0];
	struct tally *t = notice_tally(rig.w, &rig.pool_rt, &rig.member);

	(void)state;
	came(1, 0, 0);
	came(1, 0, RIG_MEMBER);
	came(1, 486, RIG_MEMBER);
	came(2, 99, RIG_MEMBER);
	came(2, 700, 0);
	came(HF_NAMES_MAX, 100, 0);
	came(HF_NAMES_MAX + 1, 0, 0);
	assert_int_equal(c->asked[0], 2);
	assert_int_equal(c->answered[0][4], 1);
	assert_int_equal(c->answered[0][0], 0); /* where one name more would stand */
	assert_int_equal(c->answered[1][0], 2);
	assert_int_equal(c->answered[HF_NAMES_MAX - 1][1], 1);
	assert_int_equal(t->answers[4], 1);
	assert_int_equal(t->answers[0], 1);
}

/* By why it was chosen; what nobody was asked about goes where it says itself. An id that becomes another server's begins anew. */
static void placed(void **state)
{
	struct parcel p = parcel(1, 0, 0);
	struct snap_member other = rig.member;

	(void)state;
	p.chosen = (struct hf_chosen){.server = RIG_MEMBER, .why = HF_WHY_SPILL};
	notice_placed(&p, &rig.member);
	p.chosen.server = 0;
	notice_placed(&p, &rig.member);
	assert_int_equal(notice_tally(rig.w, &rig.pool_rt, &rig.member)->why[HF_WHY_SPILL], 1);
	assert_int_equal(notice_tally(rig.w, &rig.pool_rt, &rig.member)->why[HF_WHY_COOKIE], 1);
	other.hash++;
	assert_int_equal(notice_tally(rig.w, &rig.pool_rt, &other)->why[HF_WHY_SPILL], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole, up, down), cmocka_unit_test_setup_teardown(last_ones, up, down), cmocka_unit_test_setup_teardown(none, up, down),
		cmocka_unit_test_setup_teardown(beside_its_writer, up, down), cmocka_unit_test_setup_teardown(counted, up, down),
		cmocka_unit_test_setup_teardown(placed, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
