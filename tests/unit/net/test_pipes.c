/* Bulk through borrowed pipes (net/pipes.c, pump.c): every octet in order, nothing kept by a flow at rest, none left for the next flow. */
#define RIG_OPENING 20000u /* more than is bulk */
#include "rig.h"

#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>

#define FLOWS 36 /* more than there are pipes */

static unsigned last_end;
static uint8_t block[65536];

/* The client's first octet dials; four octets of the host begin the relay. */
static void joins(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	(void)ctx;
	if (ev->kind == HF_EV_END) {
		last_end = ev->reason;
	} else if (ev->side == HF_SERVER && ev->bytes.n >= 4) {
		struct hf_act *a = hf_act(acts, HF_ACT_RELAY);

		a->relay.client_used = 1;
		a->relay.server_used = 4;
	} else if (ev->side == HF_CLIENT) {
		struct hf_act *a = hf_act(acts, HF_ACT_SEND);

		a->send.to = HF_TO_SERVER;
		a->send.server = RIG_MEMBER;
	}
}

static int up(void **state)
{
	rig_step = joins;
	last_end = 0;
	return rig_up(state);
}

static int joined(int *client)
{
	int s;

	*client = rig_client();
	rig_say(*client, "d");
	s = rig_accept();
	rig_hear(s, "d");
	rig_say(s, "yes!");
	RIG_UNTIL(rig_flow(rig_open() - 1)->phase == PHASE_RELAY);
	return s;
}

static uint8_t octet_at(size_t n) { return (uint8_t)(n * 2654435761u >> 13); }

/* Sends until nothing more is taken for a while; the octets, which go on from `from`. */
static size_t fill(int s, size_t from)
{
	size_t sent = 0;

	for (int quiet = 0; quiet < 10;) {
		ssize_t n;

		for (size_t i = 0; i < sizeof block; i++)
			block[i] = octet_at(from + sent + i);
		n = send(s, block, sizeof block, MSG_NOSIGNAL);
		quiet = n > 0 ? 0 : quiet + 1;
		sent += n > 0 ? (size_t)n : 0;
		if (n <= 0)
			rig_run(1);
		assert_true(sent < 64u << 20);
	}
	return sent;
}

static void read_all(int c, size_t want)
{
	size_t got = 0;

	while (got < want) {
		ssize_t n = recv(c, block, sizeof block, 0);

		assert_int_not_equal(n, 0);
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(block[i], octet_at(got + (size_t)i));
		got += n > 0 ? (size_t)n : 0;
		if (n < 0)
			rig_run(1);
	}
}

/* A slow reader gets all, in order, and FIN behind it; then the pipe is spare. Fails when drain forgets the pipe. */
static void all_arrives(void **state)
{
	int c, s = joined(&c);
	size_t sent = fill(s, 0);

	(void)state;
	shutdown(s, SHUT_WR);
	rig_run(5);
	assert_non_null(rig_flow(0)->side[HF_CLIENT].pipe);
	assert_int_equal(rig.w->n_pipes, 1);
	read_all(c, sent);
	RIG_UNTIL(rig_ended(c));
	assert_null(rig_flow(0)->side[HF_CLIENT].pipe);
	assert_non_null(rig.w->pipes);
	rig_say(c, "back");
	rig_hear(s, "back");
	close(c);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(last_end, HF_R_DONE);
	close(s);
}

/* A flow that ends with octets in its pipe takes the pipe along. Fails when pipe_return keeps one that is not empty. */
static void a_full_pipe_ends_with_its_flow(void **state)
{
	int c, s = joined(&c), d, t;

	(void)state;
	fill(s, 0);
	assert_non_null(rig_flow(0)->side[HF_CLIENT].pipe);
	close(s);
	close(c);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(rig.w->n_pipes, 0);
	t = joined(&d);
	read_all(d, fill(t, 0));
	close(d);
	close(t);
	RIG_UNTIL(rig_open() == 0);
}

/* Readers that are stuck can't have all descriptors: the others' bulk is copied. Fails without the bound in make(). */
static void pipes_have_a_bound(void **state)
{
	static int c[FLOWS], s[FLOWS];
	size_t sent[FLOWS];

	(void)state;
	for (int i = 0; i < FLOWS; i++) {
		s[i] = joined(&c[i]);
		sent[i] = fill(s[i], 0);
	}
	assert_int_equal(rig.w->n_pipes, 32);
	for (int i = 0; i < FLOWS; i++) {
		read_all(c[i], sent[i]);
		close(c[i]);
		close(s[i]);
	}
	RIG_UNTIL(rig_open() == 0);
}

/* The reads of a bulk are uneven: some small ones don't end it, as each change to copying and back costs copies; many do, as a small packet is
 * cheaper copied. Fails when judge() forgets what went before. */
static void bulk_outlasts_a_lull(void **state)
{
	int c, s = joined(&c);
	size_t sent = fill(s, 0);
	const struct side *from = &rig_flow(0)->side[HF_SERVER];

	(void)state;
	read_all(c, sent);
	for (unsigned i = 0; i < 20; i++) {
		assert_true(i > 3 || from->bulk);
		rig_say(s, "tick");
		rig_hear(c, "tick");
	}
	assert_false(from->bulk);
	close(c);
	close(s);
	RIG_UNTIL(rig_open() == 0);
}

/* Who begins to send much behind an exchange, which the system takes for a talk whose acknowledgements may wait for an answer, has them at once;
 * else his first window full stands still for up to 40 ms. Fails when judge() does not say so. */
static void bulk_is_acknowledged_at_once(void **state)
{
	int c, s = joined(&c), no = 0;
	const struct side *from = &rig_flow(0)->side[HF_SERVER];

	(void)state;
	assert_int_equal(setsockopt(from->fd, IPPROTO_TCP, TCP_QUICKACK, &no, sizeof no), 0); /* as sock_dial leaves it, whatever came since */
	assert_true(send(s, block, sizeof block, MSG_NOSIGNAL) > 0);
	RIG_UNTIL(from->bulk);
	assert_int_equal(rig_option(from->fd, IPPROTO_TCP, TCP_QUICKACK), 1);
	close(c);
	close(s);
	RIG_UNTIL(rig_open() == 0);
}

static bool tuned(int fd)
{
	return rig_option(fd, IPPROTO_TCP, TCP_NODELAY) > 0 && rig_option(fd, SOL_SOCKET, SO_KEEPALIVE) > 0;
}

/* Long sessions are kept alive and not delayed, on both ends; a connection that ends behind its opening does without the calls. Fails when
 * tune() is not called, or before an octet is relayed. */
static void long_sessions_are_tuned(void **state)
{
	int c, s = joined(&c);
	const struct flow *f = rig_flow(0);

	(void)state;
	assert_true(tuned(f->side[HF_CLIENT].fd));
	assert_false(tuned(f->side[HF_SERVER].fd));
	rig_say(c, "key");
	rig_hear(s, "key");
	assert_true(tuned(f->side[HF_SERVER].fd));
	close(c);
	close(s);
	RIG_UNTIL(rig_open() == 0);
}

/* An answer that is the beginning of much: not one read of it is copied, and the sockets have what a long session needs all the same. Fails when
 * pump_start() does not judge what is left of the opening, or move() does not tune. */
static void bulk_behind_an_opening(void **state)
{
	int c = rig_client(), s;
	const struct flow *f;

	(void)state;
	rig_say(c, "d");
	s = rig_accept();
	rig_hear(s, "d");
	assert_int_equal(send(s, block, 19000, MSG_NOSIGNAL), 19000);
	RIG_UNTIL(rig_flow(0)->phase == PHASE_RELAY);
	f = rig_flow(0);
	assert_true(f->side[HF_SERVER].bulk);
	assert_false(tuned(f->side[HF_SERVER].fd));
	assert_int_equal(send(s, block, 100, MSG_NOSIGNAL), 100);
	RIG_UNTIL(f->side[HF_SERVER].octets == 19100);
	assert_true(rig.w->n_pipes == 1 && tuned(f->side[HF_SERVER].fd));
	close(c);
	close(s);
	RIG_UNTIL(rig_open() == 0);
}

/* What a relayed desktop holds of the heap, libevent's share included: one piece and nothing of its opening. Fails when a buffer, the timer
 * or a pipe of the opening stays, or the record swells. */
static void a_held_flow_is_small(void **state)
{
	enum { HELD = 60, OCTETS = 860 }; /* a tenth is how libevent's map of descriptors grows */
	static int c[HELD], s[HELD];
	struct mallinfo2 before, after;

	(void)state;
	s[0] = joined(&c[0]); /* what the first one brings for all */
	before = mallinfo2();
	for (int i = 1; i < HELD; i++)
		s[i] = joined(&c[i]);
	after = mallinfo2();
	if (after.uordblks != before.uordblks) /* a sanitizer's heap counts nothing here */
		assert_in_range((after.uordblks - before.uordblks) / (HELD - 1), 400, OCTETS);
	for (int i = 0; i < HELD; i++) {
		close(c[i]);
		close(s[i]);
	}
	RIG_UNTIL(rig_open() == 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(all_arrives), T(a_full_pipe_ends_with_its_flow), T(pipes_have_a_bound), T(bulk_outlasts_a_lull), T(bulk_is_acknowledged_at_once), T(a_held_flow_is_small), T(long_sessions_are_tuned), T(bulk_behind_an_opening)};

	signal(SIGPIPE, SIG_IGN); /* as the program does: splice has no MSG_NOSIGNAL */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
