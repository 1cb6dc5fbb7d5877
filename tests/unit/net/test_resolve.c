/* The door to c-ares against a name server of the test (net/resolve.c), and a server whose name was never found (net/ask.c). */
#include "rig.h"
#include "resolve.h"

static struct resolved got;
static unsigned answers;

static void answered(void *arg, const struct resolved *r)
{
	assert_ptr_equal(arg, &got);
	got = *r;
	answers++;
}

static void stop(void *loop) { hf_loop_stop(loop); }

static void turn(struct hf_loop *loop, unsigned ms)
{
	struct hf_timer *t = hf_timer_new(loop, stop, loop);

	assert_non_null(t);
	hf_timer_set(t, ms);
	hf_loop_run(loop);
	hf_timer_free(t);
}

/* A record of 16-bit kind for the name of the question, which begins at 12. */
static size_t record(uint8_t *p, uint16_t kind, uint32_t ttl, const uint8_t *ip, uint16_t n)
{
	const uint8_t head[] = {0xc0, 12, 0, (uint8_t)kind, 0, 1, (uint8_t)(ttl >> 24), (uint8_t)(ttl >> 16), (uint8_t)(ttl >> 8), (uint8_t)ttl, 0, (uint8_t)n};

	memcpy(p, head, sizeof head);
	memcpy(p + sizeof head, ip, n);
	return sizeof head + n;
}

/* Answers one question: A with two addresses, AAAA with one; or that there is no such name. False: nothing was asked yet. */
static bool serve(int fd, bool there)
{
	static const uint8_t a[2][4] = {{192, 0, 2, 7}, {192, 0, 2, 5}}, aaaa[16] = {0x20, 1, 0xd, 0xb8, [15] = 9};
	struct sockaddr_storage from;
	socklen_t n_from = sizeof from;
	uint8_t m[512];
	ssize_t n = recvfrom(fd, m, 256, MSG_DONTWAIT, (struct sockaddr *)&from, &n_from);
	size_t end = 12;
	bool v4;

	if (n < 17)
		return false;
	while (m[end])
		end += 1u + m[end];
	v4 = m[end + 2] == 1;
	end += 5;
	m[2] = 0x85;
	m[3] = there ? 0x80 : 0x83;
	m[7] = there ? (v4 ? 2 : 1) : 0;
	m[11] = 0;
	if (there && v4) {
		end += record(m + end, 1, 300, a[0], 4);
		end += record(m + end, 1, 77, a[1], 4);
	} else if (there) {
		end += record(m + end, 28, 500, aaaa, 16);
	}
	assert_int_equal(sendto(fd, m, end, 0, (struct sockaddr *)&from, n_from), end);
	return true;
}

/* Both kinds are asked for, the shortest time holds; who does not exist is told so. Fails when take() leaves out a family, or keeps the last ttl. */
static void asks(void **state)
{
	struct hf_addr any = {.family = 4, .ip = {127, 0, 0, 1}}, at;
	struct hf_loop *loop = hf_loop_new();
	int fd = sock_listen(&any, false, 0);
	struct resolver *r;
	unsigned four = 0, six = 0;

	(void)state;
	at = sock_local(fd);
	r = resolver_new(loop, &at, false);
	assert_non_null(r);
	answers = 0;
	resolver_ask(r, "pbx.example.com", answered, &got);
	for (int i = 0; i < 2000 && !answers; i++) {
		(void)serve(fd, true);
		turn(loop, 1);
	}
	assert_int_equal(answers, 1);
	assert_null(got.error);
	assert_int_equal(got.n, 3);
	assert_int_equal(got.ttl_s, 77);
	for (unsigned i = 0; i < got.n; i++) {
		four += got.addr[i].family == 4 && got.addr[i].ip[0] == 192 && got.addr[i].port == 0;
		six += got.addr[i].family == 6 && got.addr[i].ip[15] == 9;
	}
	assert_int_equal(four, 2);
	assert_int_equal(six, 1);

	resolver_ask(r, "nobody.example.com", answered, &got);
	for (int i = 0; i < 2000 && answers == 1; i++) {
		(void)serve(fd, false);
		turn(loop, 1);
	}
	assert_int_equal(answers, 2);
	assert_non_null(got.error);
	assert_int_equal(got.n, 0);

	resolver_ask(r, "late.example.com", answered, &got); /* whoever is not there any more is not answered */
	resolver_free(r);
	turn(loop, 1);
	assert_int_equal(answers, 2);
	close(fd);
	hf_loop_free(loop);
}

/* ---- SRV ---- */

static struct resolved_srv named;

static void answered_srv(void *arg, const struct resolved_srv *r)
{
	assert_ptr_equal(arg, &named);
	named = *r;
	answers++;
}

#define RR(ttl, length) "\xc0\x0c\0\x21\0\1" ttl "\0" length

#define QUESTION (12 + 23 + 4) /* octets */

/* The question at m becomes its answer. */
static size_t reply(uint8_t *m, const char *octets, size_t n, uint8_t count)
{
	assert_memory_equal(m + 12, "\4_sip\4_udp\7example\3com\0\0\x21\0\1", QUESTION - 12);
	m[2] = 0x85;
	m[3] = 0x80;
	m[7] = count;
	memcpy(m + QUESTION, octets, n);
	return QUESTION + n;
}

/* What was too long for a datagram is asked for again over a connection, with its length in front. */
static void reply_long(struct hf_loop *loop, int fd, const char *octets, size_t n, uint8_t count)
{
	uint8_t m[1024];
	size_t got_n = 0, whole;
	int c = -1;

	for (int i = 0; i < 2000 && got_n < 2 + QUESTION; i++) {
		ssize_t more = c < 0 ? 0 : recv(c, m + got_n, 2 + QUESTION - got_n, MSG_DONTWAIT);

		c = c < 0 ? accept(fd, NULL, NULL) : c;
		got_n += more > 0 ? (size_t)more : 0;
		turn(loop, 1);
	}
	assert_int_equal(got_n, 2 + QUESTION);
	whole = reply(m + 2, octets, n, count);
	m[0] = (uint8_t)(whole >> 8);
	m[1] = (uint8_t)whole;
	assert_int_equal(send(c, m, 2 + whole, 0), (ssize_t)(2 + whole));
	for (int i = 0; i < 2000 && !answers; i++)
		turn(loop, 1);
	close(c);
}

/* What is asked for "_sip._udp.example.com", answered with these octets behind the question; `count` of them are answers. */
static void ask_srv(const char *octets, size_t n, uint8_t count)
{
	struct hf_addr any = {.family = 4, .ip = {127, 0, 0, 1}}, at;
	struct hf_loop *loop = hf_loop_new();
	int fd = -1, stream = -1;
	struct resolver *r;
	struct sockaddr_storage from;
	socklen_t n_from = sizeof from;
	uint8_t m[1024];
	ssize_t got_n = -1;

	for (int i = 0; i < 100 && stream < 0; i++) { /* a port that is free for both */
		close(fd);
		fd = sock_listen(&any, false, 0);
		at = sock_local(fd);
		stream = sock_listen(&at, true, 0);
	}
	r = resolver_new(loop, &at, false);
	assert_true(r && stream >= 0);
	answers = 0;
	resolver_ask_srv(r, "_sip._udp.example.com", answered_srv, &named);
	for (int i = 0; i < 2000 && got_n < 0; i++) {
		turn(loop, 1);
		got_n = recvfrom(fd, m, sizeof m, MSG_DONTWAIT, (struct sockaddr *)&from, &n_from);
	}
	assert_int_equal(got_n, QUESTION);
	got_n = (ssize_t)reply(m, octets, n, count);
	assert_int_equal(sendto(fd, m, (size_t)got_n, 0, (struct sockaddr *)&from, n_from), got_n);
	if (got_n > 512) /* RFC 1035 4.2.1 */
		reply_long(loop, stream, octets, n, count);
	for (int i = 0; i < 2000 && !answers; i++)
		turn(loop, 1);
	assert_int_equal(answers, 1);
	resolver_free(r);
	close(fd);
	close(stream);
	hf_loop_free(loop);
}

#define ASK_SRV(octets, count) ask_srv(octets, sizeof octets - 1, count)

/* Hosts in small letters, each place once, and the shortest time; what is no host's name, "." and port 0 are nobody. Fails without dns_ttl, take_host
 * or has_place. */
static void asks_for_services(void **state)
{
	(void)state;
	ASK_SRV(RR("\0\0\0\x4d", "\x0b") "\0\x14\0\0\x13\xd8\2b-\xc0\x16"
		RR("\0\0\1\x2c", "\x0c") "\0\x0a\0\x3c\x13\xc4\3SIP\xc0\x16"
		RR("\0\0\2\0", "\x0c") "\0\x0a\0\1\x13\xc4\3sip\xc0\x16"
		RR("\0\0\2\0", "\x0c") "\0\x0a\0\1\0\0\3sap\xc0\x16"
		RR("\0\0\2\0", "\x0c") "\0\x0a\0\1\x13\xc4\3s p\xc0\x16"
		RR("\0\0\2\0", "\7") "\0\x0a\0\1\x13\xc4\0", 6);
	assert_null(named.error);
	assert_int_equal(named.n, 2);
	assert_int_equal(named.ttl_s, 77);
	for (unsigned i = 0; i < 2; i++) {
		const struct srv_target *t = &named.target[i];

		assert_string_equal(t->host, i ? "b-.example.com" : "sip.example.com");
		assert_true(t->port == (i ? 5080 : 5060) && t->priority == (i ? 20 : 10));
	}
	ASK_SRV(RR("\0\0\2\0", "\7") "\0\0\0\0\0\0\0", 1); /* there is no such service */
	assert_true(named.n == 0 && named.error);
	ASK_SRV("", 0);
	assert_true(named.n == 0 && named.error);
	ASK_SRV(RR("\0\0\1\x2c", "\xff") "\0\x0a\0\x3c\x13\xc4\3sip\xc0\x16", 1); /* longer than there is */
	assert_true(named.n == 0 && named.error);
}

/* Of more than are kept always the same ones, whatever their order. Fails without the sort in take_targets. */
static void more_than_are_kept(void **state)
{
	enum { N = RESOLVED_MAX + 5, ONE = 12 + 10 };
	static const char one[] = RR("\0\0\1\x2c", "\x0a") "\0\x0a\0\x3c\x13\xc4\1a\xc0\x16";
	char octets[N * ONE];

	(void)state;
	assert_int_equal(sizeof one - 1, ONE);
	for (unsigned turn_ = 0; turn_ < 2; turn_++) {
		for (unsigned i = 0; i < N; i++) {
			memcpy(octets + i * ONE, one, ONE);
			octets[i * ONE + 17] = (char)(turn_ ? i : N - 1 - i); /* the low octet of the port */
		}
		ask_srv(octets, sizeof octets, N);
		assert_int_equal(named.n, RESOLVED_MAX);
		for (unsigned i = 0; i < RESOLVED_MAX; i++)
			assert_int_equal(named.target[i].port, 0x1300 + i);
	}
}

static uint32_t server;
static unsigned none;

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	(void)ctx;
	if (ev->kind == HF_EV_CHOICE) {
		server = ev->chosen->server;
		none = ev->chosen->none;
	} else if (ev->kind == HF_EV_BYTES) {
		struct hf_act *a = hf_act(acts, HF_ACT_ASK);

		a->ask.hint = RIG_MEMBER;
		a->ask.hint_why = HF_WHY_COOKIE;
	}
}

/* What names it has nowhere to go. Fails when choose() looks for a member alone: a session's messages would go to port 0 of nobody. */
static void never_found(void **state)
{
	struct hf_addr from = {.family = 4, .ip = {192, 0, 2, 7}, .port = 5060};

	(void)state;
	rig_step = step;
	deliver_datagram(rig.w, &rig.service, 0, HF_LIT("text"), &from, &rig.info.addr);
	assert_int_equal(server, RIG_MEMBER);
	rig.member.addr = (struct hf_addr){0};
	snap_index(&rig.pool);
	deliver_datagram(rig.w, &rig.service, 0, HF_LIT("text"), &from, &rig.info.addr);
	assert_int_equal(server, 0);
	assert_int_equal(none, HF_R_NO_SERVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(asks), cmocka_unit_test(asks_for_services), cmocka_unit_test(more_than_are_kept), cmocka_unit_test_setup_teardown(never_found, rig_up, rig_down)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
