/* Messages for a collector (net/export.c): each field as the receiver of HEP version 3 reads it, and bounds for what does not fit or cannot be sent. */
#include "rig.h"

#include "export.h"
#include "hep.h"
#include "notice.h"
#include "udp.h"

static uint8_t room[1 << 17];

static bool written(const struct export_message *m, struct packet *p)
{
	struct hf_writer w = hf_writer_on(room, sizeof room);

	return export_write(&w, m) && read_packet(hf_writer_view(&w), p);
}

/* Octet for octet, as the specification counts them. Fails with any chunk that is longer, shorter or elsewhere. */
static void octets(void **state)
{
	const struct export_message m = {.from = {.family = 4, .ip = {192, 0, 2, 1}, .port = 5060}, .to = {.family = 4, .ip = {192, 0, 2, 2}, .port = 5070}, .type = 1,
		.at_us = 0x0000000165a0bc00ull * 1000000 + 0x1e240, .agent = 7, .session = HF_LIT("id"), .base = HF_LIT("hello")};
	static const uint8_t want[] = {'H', 'E', 'P', '3', 0, 112, 0, 0, 0, 1, 0, 7, 2, 0, 0, 0, 2, 0, 7, 17, 0, 0, 0, 3, 0, 10, 192, 0, 2, 1, 0, 0, 0, 4, 0, 10, 192, 0, 2, 2,
		0, 0, 0, 7, 0, 8, 0x13, 0xc4, 0, 0, 0, 8, 0, 8, 0x13, 0xce, 0, 0, 0, 9, 0, 10, 0x65, 0xa0, 0xbc, 0, 0, 0, 0, 10, 0, 10, 0, 1, 0xe2, 0x40,
		0, 0, 0, 11, 0, 7, 1, 0, 0, 0, 12, 0, 10, 0, 0, 0, 7, 0, 0, 0, 17, 0, 8, 'i', 'd', 0, 0, 0, 15, 0, 11, 'h', 'e', 'l', 'l', 'o'};
	struct hf_writer w = hf_writer_on(room, sizeof room);

	(void)state;
	assert_true(export_write(&w, &m));
	assert_int_equal(w.n, sizeof want);
	assert_memory_equal(room, want, sizeof want);
}

static uint64_t draw(uint64_t *seed) { return (*seed = *seed * 6364136223846793005u + 1442695040888963407u) >> 24; }

/* Whatever the message, the reader finds what was given. Fixed seed. Fails with a family that is mixed up, a password that is lost, a splice that is. */
static void read_back(void **state)
{
	static uint8_t text[65536];
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)draw(&seed);
	for (int i = 0; i < 3000; i++) {
		bool six = draw(&seed) & 1, pass = draw(&seed) & 1;
		size_t n = draw(&seed) % (i % 10 ? 3000 : 65000) + 1, at = draw(&seed) % n, cut = draw(&seed) % (n - at + 1);
		const struct hf_splice splice = {(uint32_t)at, (uint32_t)cut, hf_bytes_of("instead", draw(&seed) % 8)};
		struct export_message m = {.from.family = six ? 6 : 4, .to.family = six ? 6 : 4, .from.port = (uint16_t)draw(&seed), .to.port = (uint16_t)draw(&seed),
			.stream = draw(&seed) & 1, .type = (uint8_t)draw(&seed), .at_us = draw(&seed) * 1000 + 1, .agent = (uint32_t)draw(&seed),
			.password = hf_bytes_of(text + 9, pass ? draw(&seed) % 128 + 1 : 0), .session = hf_bytes_of(text + 99, draw(&seed) % 400), .base = hf_bytes_of(text, n),
			.splices = &splice, .n_splices = draw(&seed) & 1};
		struct packet p;
		uint8_t want[70000];
		size_t want_n;

		memcpy(m.from.ip, text + draw(&seed) % 60000, six ? 16 : 4);
		memcpy(m.to.ip, text + draw(&seed) % 60000, six ? 16 : 4);
		want_n = udp_compose(want, sizeof want, m.base, m.splices, m.n_splices);
		if (want_n == 0) {
			assert_false(written(&m, &p));
			continue;
		}
		assert_true(written(&m, &p));
		assert_int_equal(p.family, six ? 10 : 2);
		assert_int_equal(p.seen[3] + p.seen[4], six ? 0 : 2);
		assert_int_equal(p.seen[5] + p.seen[6], six ? 2 : 0);
		assert_memory_equal(p.from, m.from.ip, 16);
		assert_memory_equal(p.to, m.to.ip, 16);
		assert_int_equal(p.protocol, m.stream ? 6 : 17);
		assert_true(p.from_port == m.from.port && p.to_port == m.to.port && p.type == m.type && p.agent == m.agent);
		assert_true((uint64_t)p.seconds * 1000000 + p.micros == m.at_us && p.micros < 1000000);
		assert_true(hf_bytes_eq(p.password, m.password) && hf_bytes_eq(p.session, hf_bytes_sub(m.session, 0, 255)));
		assert_true(hf_bytes_eq(p.payload, hf_bytes_of(want, want_n)));
	}
}

/* What no datagram can hold is not written, to the octet. Fails without the bound, or with one that is off by one. */
static void bounds(void **state)
{
	static uint8_t text[65536];
	struct export_message m = {.from.family = 4, .to.family = 4, .type = 1, .base = hf_bytes_of(text, 65507 - 99)};
	struct hf_writer w = hf_writer_on(room, sizeof room);

	(void)state;
	assert_true(export_write(&w, &m));
	assert_int_equal(w.n, 65507);
	m.base.n++;
	w.n = 0;
	assert_false(export_write(&w, &m));
	for (size_t cap = 0; cap < 150; cap++) {
		w = hf_writer_on(room, cap);
		m.base.n = 10;
		if (export_write(&w, &m))
			assert_true(cap >= 109);
	}
}

/* ---- a worker's batch ---- */

static int collector;

static void quiet(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts) { (void)ctx, (void)ev, (void)acts; }

static int up(void **state)
{
	struct hf_addr any = {.family = 4, .ip = {127, 0, 0, 1}};

	rig_step = quiet;
	if (rig_up(state))
		return -1;
	collector = sock_listen(&any, false, 0);
	rig.conf.gateway.hep = sock_local(collector);
	rig.conf.gateway.hep_id = 2001;
	rig.conf.gateway.hep_password = HF_LIT("secret");
	rig.w->exporting = true;
	rig_front.capture = 1;
	return collector >= 0 ? 0 : -1;
}

static int down(void **state)
{
	close(collector);
	rig_front.capture = 0;
	return rig_down(state);
}

static struct parcel parcel(void)
{
	return (struct parcel){.w = rig.w, .service = &rig.service, .rt = &rig.rt, .pool = &rig.pool_rt, .at = &rig.pool, .ctx.seen = {.octets = HF_LIT("came"), .session = HF_LIT("call"), .name = 1},
		.ev = {.kind = HF_EV_BYTES, .bytes = HF_LIT("came and more"), .transport = HF_UDP, .source = {.family = 4, .ip = {192, 0, 2, 51}, .port = 5071},
		.local = {.family = 4, .ip = {192, 0, 2, 1}, .port = 5060}}};
}

static bool heard(struct packet *p)
{
	ssize_t n = recv(collector, room, sizeof room, MSG_DONTWAIT);

	return n > 0 && read_packet(hf_bytes_of(room, (size_t)n), p);
}

/* One that came and one that goes, at the end of the turn and not before; a protocol that has no number is left alone. Fails with an address of the
 * other side, without the flush, or with octets that are not the message's. */
static void came_and_went(void **state)
{
	const struct hf_addr to = {.family = 4, .ip = {192, 0, 2, 11}, .port = 5080};
	const struct hf_send s = {.to = HF_TO_RETURN, .base = HF_LIT("went"), .name = 1, .code = 200};
	struct parcel p = parcel();
	struct packet got;

	(void)state;
	notice_came(&p);
	notice_sent(&p, &s, HF_TCP, &p.ev.local, 5061, &to);
	assert_false(heard(&got));
	worker_flush(rig.w);
	assert_true(heard(&got));
	assert_true(hf_bytes_eq(got.payload, HF_LIT("came")) && hf_bytes_eq(got.session, HF_LIT("call")) && hf_bytes_eq(got.password, HF_LIT("secret")));
	assert_true(got.from[3] == 51 && got.to[3] == 1 && got.from_port == 5071 && got.to_port == 5060 && got.protocol == 17 && got.agent == 2001);
	assert_true(heard(&got));
	assert_true(hf_bytes_eq(got.payload, HF_LIT("went")));
	assert_true(got.from[3] == 1 && got.to[3] == 11 && got.from_port == 5061 && got.to_port == 5080 && got.protocol == 6);
	rig_front.capture = 0;
	notice_came(&p);
	worker_flush(rig.w);
	assert_false(heard(&got));
}

/* More than a batch goes in several; what the system does not take is counted, and nothing waits. Fails without the flush in exports_add. */
static void many(void **state)
{
	struct parcel p = parcel();
	struct packet got;
	uint64_t sent, lost;
	unsigned n = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		notice_came(&p);
	worker_flush(rig.w);
	while (heard(&got))
		n++;
	hf_net_exported(rig.net, &sent, &lost);
	assert_int_equal(n, 100);
	assert_true(sent == 100 && lost == 0);
	rig.conf.gateway.hep = (struct hf_addr){.family = 4, .ip = {255, 255, 255, 255}, .port = 9}; /* a broadcast is refused by the system */
	for (int i = 0; i < 3; i++)
		notice_came(&p);
	worker_flush(rig.w);
	hf_net_exported(rig.net, &sent, &lost);
	assert_true(sent == 100 && lost == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(octets), cmocka_unit_test(read_back), cmocka_unit_test(bounds),
		cmocka_unit_test_setup_teardown(came_and_went, up, down), cmocka_unit_test_setup_teardown(many, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
