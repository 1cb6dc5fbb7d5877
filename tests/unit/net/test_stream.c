/* Connections that carry messages (net/stream.c, link.c): what goes where, who waits, what is told. Messages of the test end with a line feed. */
#include <signal.h>

#include "guard.h"
#include "holdfast/clock.h"
#include "rig.h"

static unsigned fails, last_fail, ends, last_end, next_hops;

static void send_base(struct hf_acts *acts, enum hf_to to, struct hf_bytes base)
{
	struct hf_act *a = hf_act(acts, HF_ACT_SEND);

	a->send.to = to;
	a->send.server = RIG_MEMBER;
	a->send.base = base;
	a->send.transport = HF_UDP;
	a->send.addr = (struct hf_addr){.family = 4, .port = 9, .ip = {127, 0, 0, 9}};
}

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const uint8_t *end = ev->bytes.n ? memchr(ev->bytes.p, '\n', ev->bytes.n) : NULL;
	struct hf_bytes m = hf_bytes_of(ev->bytes.p, end ? (size_t)(end - ev->bytes.p) + 1 : 0);

	(void)ctx;
	if (ev->kind == HF_EV_END) {
		ends++;
		last_end = ev->reason;
	} else if (ev->kind == HF_EV_FAIL) {
		fails++;
		last_fail = ev->reason;
	} else if (ev->kind == HF_EV_BYTES && !end) {
		hf_act(acts, HF_ACT_MORE)->need = ev->bytes.n + 1;
	} else if (ev->kind == HF_EV_BYTES) {
		hf_act(acts, HF_ACT_TOOK)->need = m.n;
		if (m.p[0] == 'n') {
			next_hops++;
			send_base(acts, HF_TO_NEXT_HOP, m);
		} else if (m.p[0] == 'b') {
			send_base(acts, HF_TO_SOURCE, m);
		} else if (!ev->member) {
			send_base(acts, HF_TO_SERVER, m);
		}
	}
}

static int up(void **state)
{
	rig_step = step;
	rig_front.framed = true;
	fails = last_fail = ends = last_end = next_hops = 0;
	return rig_up(state);
}

static struct flow *link_flow(void)
{
	for (uint32_t i = 0; i < 100; i++)
		if (rig_flow(i) && rig_flow(i)->stream->link)
			return rig_flow(i);
	return NULL;
}

/* Whole messages go on, however they were cut, in order, over one link; answers come back where they are due. */
static void messages(void **state)
{
	int c = rig_client(), s;

	(void)state;
	rig_say(c, "s one\ns t");
	s = rig_accept();
	rig_hear(s, "s one\n");
	rig_say(c, "wo\nb back\n");
	rig_hear(s, "s two\n");
	rig_hear(c, "b back\n");
	close(s);
	RIG_UNTIL(!link_flow());
	rig_say(c, "s three\n"); /* a link that was closed is dialled anew */
	s = rig_accept();
	rig_hear(s, "s three\n");
	close(c);
	close(s);
	assert_int_equal(fails, 0);
}

/* A datagram does not leave by the socket of a stream's listener: the front hears that there is none. Fails when send_from looks only whether
 * there is a listener. */
static void no_socket_for_a_datagram(void **state)
{
	int c = rig_client();

	(void)state;
	rig_say(c, "n hop\n");
	RIG_UNTIL(next_hops == 1);
	rig_run(5);
	assert_int_equal(fails, 1);
	assert_int_equal(last_fail, HF_R_NO_LISTENER);
	assert_int_equal(rig_count(HF_R_NO_ROUTE), 0);
	assert_int_equal(rig_open(), 1);
	close(c);
}

/* A server that does not read stops the reading of who feeds it; then all arrives. Fails without block() in stream_put. */
static void slow_server(void **state)
{
	static char block[4000], in[65536];
	int c = rig_client(), s, zero = 0;
	size_t sent = 0, got = 0;

	(void)state;
	memset(block, 's', sizeof block);
	block[sizeof block - 1] = '\n';
	rig_say(c, "s\n");
	s = rig_accept();
	rig_hear(s, "s\n");
	for (int quiet = 0; quiet < 20;) {
		ssize_t n = send(c, block + sent % sizeof block, sizeof block - sent % sizeof block, MSG_NOSIGNAL);

		quiet = n > 0 ? 0 : quiet + 1;
		sent += n > 0 ? (size_t)n : 0;
		rig_run(n > 0 ? 0 : 1);
		assert_true(sent < 64u << 20);
		assert_true(buf_len(&link_flow()->side[HF_CLIENT].out) < OUT_MAX);
	}
	assert_int_equal(rig_count(HF_R_SEND_FULL), 0);
	while (got < sent - sent % sizeof block && zero < 2000) {
		ssize_t n = recv(s, in, sizeof in, MSG_DONTWAIT);

		got += n > 0 ? (size_t)n : 0;
		zero = n > 0 ? 0 : zero + 1;
		rig_run(n > 0 ? 0 : 1);
	}
	assert_int_equal(got, sent - sent % sizeof block);
	close(c);
	close(s);
}

/* A message that never ends is closed at handshake-timeout, however it drips. Fails when each octet gives it new time. */
static void drips(void **state)
{
	int c;

	(void)state;
	c = rig_client();
	rig_say(c, "b\n");
	rig_hear(c, "b\n");
	rig.service_conf.handshake_timeout = 60; /* of the next message */
	for (int i = 0; i < 60 && !rig_ended(c); i++) {
		(void)send(c, "x", 1, MSG_NOSIGNAL);
		rig_run(5);
	}
	assert_true(rig_ended(c));
	close(c);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(last_end, HF_R_HANDSHAKE_TIMEOUT);
}

/* One that the system does not watch any more ends. Fails when watch() takes no for an answer. */
static void cannot_be_watched(void **state)
{
	static uint8_t much[200 * 1024];
	int c = rig_client(), small = 4096;
	struct flow *f = rig_flow(0);

	(void)state;
	setsockopt(f->side[HF_CLIENT].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	rig_break_polls(false);
	assert_int_equal(stream_put(f, NULL, hf_bytes_of(much, sizeof much), NULL, 0), HF_OK);
	worker_flush(rig.w); /* room in the socket is to be told */
	rig_break_polls(true);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(last_end, HF_R_NO_MEMORY);
	close(c);
}

static size_t echoes(int fd, char *got, size_t n, size_t cap)
{
	ssize_t m = recv(fd, got + n, cap - n, MSG_DONTWAIT);

	return n + (m > 0 ? (size_t)m : 0);
}

/* A source that says more than it may: what it has said is answered whole and in order, as fast as it may speak, however much waits. Another that is
 * no faster waits for nobody; one that leaves is forgotten. Fails without throttle_waits (all comes at once), throttle_forget (a flow that is gone is
 * asked), or when what waits is taken for one message that is too long. */
static void who_says_too_much(void **state)
{
	char said[24 * 301 + 1], got[sizeof said];
	uint64_t begin = hf_clock_ms(), waits;
	int c, gone;
	size_t n = 0;

	(void)state;
	rig.rt.said = said_new();
	assert_non_null(rig.rt.said);
	rig.service_conf.max_rate_source = 8; /* so that it has to wait for two seconds, while the other comes and goes */
	rig.pool.n_members = 0; /* servers are not counted, and one is here */
	c = rig_client();
	gone = rig_client();
	for (unsigned i = 0; i < 24; i++)
		snprintf(said + i * 301, 302, "b %298u\n", i);
	rig_say(c, said);
	RIG_UNTIL((n = echoes(c, got, n, sizeof got)) >= 8 * 301); /* the burst */
	assert_true(rig_count(HF_R_SOURCE_RATE) >= 1);
	rig_say(gone, said); /* a buffer full, of which nothing is read */
	RIG_UNTIL(rig.w->slow.first && rig.w->slow.first->stream->next_slow);
	assert_int_equal(rig_count(HF_R_TOO_BIG), 0);
	shutdown(gone, SHUT_RDWR);
	close(gone);
	while (n < sizeof said - 1 && hf_clock_ms() < begin + 10000) {
		rig_run(5);
		n = echoes(c, got, n, sizeof got);
	}
	assert_int_equal(n, sizeof said - 1);
	assert_memory_equal(got, said, n);
	assert_true(hf_clock_ms() - begin >= 16 * 1000 / 8 - 50);
	rig.info.inside = true;
	waits = rig_count(HF_R_SOURCE_RATE);
	rig_say(c, said);
	for (n = 0, begin = hf_clock_ms(); n < sizeof said - 1 && hf_clock_ms() < begin + 10000; n = echoes(c, got, n, sizeof got))
		rig_run(1);
	assert_int_equal(n, sizeof said - 1);
	assert_int_equal(rig_count(HF_R_SOURCE_RATE), waits); /* servers never wait */
	close(c);
	said_free(rig.rt.said);
	rig.rt.said = NULL;
}

static struct flow *waits(int *fd)
{
	struct flow **at = &rig.w->slow.first;

	while (*at)
		at = &(*at)->stream->next_slow;
	*fd = rig_client();
	rig_say(*fd, "b one\nb two\n");
	RIG_UNTIL(*at);
	if (rig.w->slow.timer.of)
		timer_stop(&rig.w->slow.timer); /* the list stays as it is */
	return *at;
}

/* The last of those who wait leaves, and another comes behind the first. Fails when throttle_forget leaves the end of the list where it was. */
static void last_of_the_slow_leaves(void **state)
{
	struct flow *first, *last;
	int fd[3];

	(void)state;
	rig.rt.said = said_new();
	rig.service_conf.max_rate_source = 1;
	rig.pool.n_members = 0;
	first = waits(&fd[0]);
	last = waits(&fd[1]);
	assert_ptr_equal(first->stream->next_slow, last);
	conn_close(last, HF_R_DONE);
	assert_null(first->stream->next_slow);
	last = waits(&fd[2]);
	assert_ptr_equal(first->stream->next_slow, last);
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
	conn_close(last, HF_R_DONE);
	conn_close(first, HF_R_DONE);
	said_free(rig.rt.said);
	rig.rt.said = NULL;
}

/* The worker ends while one waits. Fails, under a sanitizer, without throttle_forget. */
static void ends_while_it_waits(void **state)
{
	int c;

	(void)state;
	rig.rt.said = said_new();
	rig.service_conf.max_rate_source = 1;
	rig.pool.n_members = 0;
	c = rig_client();
	rig_say(c, "b one\nb two\n");
	RIG_UNTIL(rig.w->slow.first);
	conn_close(rig.w->slow.first, HF_R_DONE);
	assert_null(rig.w->slow.first);
	rig_run(60);
	close(c);
	said_free(rig.rt.said);
	rig.rt.said = NULL;
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(messages), T(no_socket_for_a_datagram), T(slow_server), T(drips), T(cannot_be_watched), T(who_says_too_much), T(last_of_the_slow_leaves), T(ends_while_it_waits)};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
