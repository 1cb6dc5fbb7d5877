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
	r = resolver_new(loop, &at);
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(asks), cmocka_unit_test_setup_teardown(never_found, rig_up, rig_down)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
