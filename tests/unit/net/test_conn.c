/* Flows from accept to their end (net/conn.c, dial.c, pump.c): no phase lasts for ever, nothing spins, nothing is lost on the way. */
#include "rig.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>

/* ---- a protocol of one letter: the client's first octet says what is to happen ---- */

static unsigned eofs_told, ends, fails, wakes, asked_pool, in_pool;
static unsigned last_end;

static void send_to(struct hf_acts *acts, enum hf_to to, struct hf_bytes base)
{
	struct hf_act *a = hf_act(acts, HF_ACT_SEND);

	a->send.to = to;
	a->send.server = RIG_MEMBER;
	a->send.base = base;
}

static void close_with(struct hf_acts *acts, unsigned reason) { hf_act(acts, HF_ACT_CLOSE)->end.reason = reason; }

static uint8_t much[100 * 1024];

static void of_client(const struct hf_event *ev, struct hf_acts *acts)
{
	switch (ev->bytes.n ? ev->bytes.p[0] : 0) {
	case 'd': /* dial */
		send_to(acts, HF_TO_SERVER, HF_NONE);
		return;
	case 'z': /* dial, and say nothing */
		send_to(acts, HF_TO_SERVER, HF_LIT(""));
		return;
	case 'p': /* a pool, each time that it is asked */
		if (ev->eof) {
			close_with(acts, HF_R_CLIENT_CLOSED);
		} else {
			in_pool++;
			hf_act(acts, HF_ACT_POOL)->pool.at = asked_pool;
		}
		return;
	case 'h': /* hold */
		if (ev->eof) {
			eofs_told++;
			close_with(acts, HF_R_CLIENT_CLOSED);
		} else {
			hf_act(acts, HF_ACT_HOLD)->hold.ms = 30;
		}
		return;
	case 'm': /* much for the client, then the end */
		send_to(acts, HF_TO_CLIENT, hf_bytes_of(much, sizeof much));
		close_with(acts, HF_R_NO_SERVER);
		return;
	}
}

static void plain(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	(void)ctx;
	if (ev->kind == HF_EV_END) {
		ends++;
		last_end = ev->reason;
	} else if (ev->kind == HF_EV_FAIL) {
		fails++;
		close_with(acts, ev->reason);
	} else if (ev->kind == HF_EV_WAKE) {
		wakes++;
		hf_act(acts, HF_ACT_HOLD)->hold.ms = 30;
	} else if (ev->side == HF_SERVER && (ev->bytes.n >= 4 || ev->eof)) {
		hf_act(acts, HF_ACT_RELAY)->relay.client_used = 1;
	} else if (ev->side == HF_SERVER) {
		hf_act(acts, HF_ACT_MORE)->need = 4;
	} else {
		of_client(ev, acts);
	}
}

static int up(void **state)
{
	eofs_told = ends = fails = wakes = asked_pool = in_pool = last_end = 0;
	rig_step = plain;
	return rig_up(state);
}

static int dialled(int *client)
{
	*client = rig_client();
	rig_say(*client, "d");
	return rig_accept();
}

/* Octets behind the opening and FIN go on in order once the relay starts. Fails without buf_add or pass_fin in pump_start. */
static void early_octets_and_fin(void **state)
{
	int c, s = dialled(&c);

	(void)state;
	rig_hear(s, "d");
	rig_say(c, "early");
	shutdown(c, SHUT_WR);
	rig_run(20);
	rig_say(s, "yes!");
	rig_hear(s, "early");
	RIG_UNTIL(rig_ended(s));
	rig_hear(c, "yes!");
	assert_int_equal(rig_open(), 1); /* the other half is open */
	rig_say(s, "more");
	rig_hear(c, "more");
	close(s);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(rig_count(HF_R_DONE), 1);
	close(c);
}

/* The last octet of an opening dials in the turn that reads it: no timer, no hold, no letter between. Fails when the step is put off by a watch_again or
 * a timer; a turn is one call of the system for what is ready, and loopback takes a connection at once. */
static void dials_in_the_same_turn(void **state)
{
	int c = rig_client(), s;
	unsigned timers;

	(void)state;
	rig_run(1);
	timers = poller_timers(rig.w->poller)->n;
	rig_say(c, "d");
	rig_run(0);
	s = accept4(rig.host, NULL, NULL, SOCK_NONBLOCK);
	assert_true(s >= 0);
	assert_true(poller_timers(rig.w->poller)->n <= timers);
	rig_hear(s, "d");
	close(s);
	close(c);
}

/* A server that is switched off: its flows end, with a reset for the client whose own reconnect it begins, and nobody else's do; its id is held
 * until then. Fails without flows_end_off, or when conn_close resets nobody. */
static void server_off(void **state)
{
	struct hf_server_view v;
	uint8_t octet;
	int c, s = dialled(&c), waits = rig_client();

	(void)state;
	rig_hear(s, "d");
	rig_say(s, "yes!");
	rig_hear(c, "yes!");
	assert_true(hf_engine_server(rig.pool_rt.engine, 1, &v) && v.held == 1);
	flows_end_off(rig.w);
	assert_int_equal(rig_open(), 2);
	hf_engine_mark(rig.pool_rt.engine, 1, HF_MARK_OFF, true, 0);
	flows_end_off(rig.w);
	assert_true(rig_open() == 1 && rig_count(HF_R_SERVER_OFF) == 1 && last_end == HF_R_SERVER_OFF);
	assert_true(hf_engine_server(rig.pool_rt.engine, 1, &v) && v.held == 0);
	assert_true(recv(c, &octet, 1, 0) < 0 && errno == ECONNRESET);
	assert_true(rig_ended(s));
	close(c);
	close(s);
	close(waits);
}

/* Both ends of a relay are asked whether they are there, as often as the pool says. Fails when the listener's options are not the pool's, or tune sets
 * others. */
static void kept_alive(void **state)
{
	static const struct { unsigned ms; int on, idle, each; } rows[] = {{60000, 1, 60, 20}, {7000, 1, 7, 2}, {1000, 1, 1, 1}, {1500, 1, 2, 1}, {0, 0, 0, 0}};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct flow *f;
		int c, s;

		rig.pool_conf.keep_alive = rows[i].ms;
		listeners_tune(rig.net, &rig.snap);
		s = dialled(&c);
		rig_hear(s, "d");
		rig_say(s, "yes!");
		rig_hear(c, "yes!");
		rig_say(c, "x"); /* what knocks and goes is not worth it */
		rig_hear(s, "x");
		f = flow_find(rig.w, 0, i + 1);
		assert_non_null(f);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(rig_option(f->side[k].fd, SOL_SOCKET, SO_KEEPALIVE), rows[i].on);
			assert_int_equal(rig_option(f->side[k].fd, IPPROTO_TCP, TCP_NODELAY), 1);
			if (rows[i].on)
				assert_true(rig_option(f->side[k].fd, IPPROTO_TCP, TCP_KEEPIDLE) == rows[i].idle && rig_option(f->side[k].fd, IPPROTO_TCP, TCP_KEEPINTVL) == rows[i].each);
		}
		close(s);
		close(c);
		RIG_UNTIL(rig_open() == 0);
	}
}

/* Both sides have closed before the relay starts: it has nothing to wait for. Fails when only events look whether all is done. */
static void both_closed_before_the_relay(void **state)
{
	int c, s = dialled(&c);

	(void)state;
	rig_hear(s, "d");
	shutdown(c, SHUT_WR);
	rig_run(20);
	rig_say(s, "no");
	rig_run(20);
	close(s);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(last_end, HF_R_DONE);
	close(c);
}

/* A client that closes while its flow is held is told to the front. Fails when `opening` asks only for PHASE_OPENING. */
static void eof_while_held(void **state)
{
	int c = rig_client();

	(void)state;
	rig_say(c, "h");
	RIG_UNTIL(wakes >= 1);
	assert_int_equal(eofs_told, 0);
	close(c);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(eofs_told, 1);
	assert_int_equal(last_end, HF_R_CLIENT_CLOSED);
}

/* A server that speaks first. Fails when dial_start takes "nothing left to send" for a connection that stands. */
static void nothing_to_send(void **state)
{
	int c = rig_client(), s;

	(void)state;
	rig_say(c, "z");
	s = rig_accept();
	rig_say(s, "yes!");
	rig_hear(c, "yes!");
	close(rig.host);
	rig.host = -1;
	close(c);
	close(s);
	c = rig_client();
	rig_say(c, "z");
	RIG_UNTIL(fails == 1);
	close(c);
}

/* A pool is entered once, and one that the service has not is not. Fails without `placed` in enter_pool, and without its bound. */
static void pools_of_the_service(void **state)
{
	int c = rig_client();

	(void)state;
	rig_say(c, "p");
	RIG_UNTIL(rig_count(HF_R_BAD_STEP) == 1);
	assert_int_equal(in_pool, 2); /* the same event again, in that pool */
	close(c);
	RIG_UNTIL(rig_open() == 0);
	asked_pool = 1;
	c = rig_client();
	rig_say(c, "p");
	RIG_UNTIL(rig_count(HF_R_BAD_STEP) == 2);
	assert_int_equal(in_pool, 3);
	close(c);
	RIG_UNTIL(rig_open() == 0);
}

static uint64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* A client that talks on and does not read what it is told keeps no worker busy. Fails when CLOSING reads only once all is out. */
static void talks_on_while_it_is_refused(void **state)
{
	int c = rig_client(), small = 4096, unread = 1;
	uint64_t before;

	(void)state;
	setsockopt(c, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	setsockopt(rig_flow(0)->side[HF_CLIENT].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	rig_say(c, "m");
	RIG_UNTIL(rig_flow(0)->phase == PHASE_CLOSING);
	assert_true(buf_len(&rig_flow(0)->side[HF_CLIENT].out) > 0);
	rig_say(c, "and on");
	before = cpu_ms();
	rig_run(300);
	assert_in_range(cpu_ms() - before, 0, 100);
	ioctl(rig_flow(0)->side[HF_CLIENT].fd, FIONREAD, &unread);
	assert_int_equal(unread, 0);
	close(c);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(last_end, HF_R_NO_SERVER);
}

/* Our own want of descriptors says nothing about the server. Fails when every failed socket counts. */
static void no_descriptors_of_our_own(void **state)
{
	struct rlimit old, none;
	int c = rig_client();

	(void)state;
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	rig_say(c, "d");
	RIG_UNTIL(fails == 1);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(rig.pool_rt.members[1].failures, 0);
	RIG_UNTIL(rig_open() == 0);
	close(c);
}

/* A refused dial does, and reaches the front as FAIL. */
static void refused(void **state)
{
	int c = rig_client();

	(void)state;
	close(rig.host);
	rig_say(c, "d");
	RIG_UNTIL(rig_open() == 0);
	rig.host = -1;
	assert_int_equal(fails, 1);
	assert_int_equal(rig.pool_rt.members[1].failures, 1);
	assert_int_equal(rig_count(HF_R_DIAL_FAILED), 2); /* the dial, and the flow */
	close(c);
}

/* A host that resets resets its client, and the other way round. Fails without the sock_reset calls of conn_close. */
static void resets(void **state)
{
	struct linger now = {1, 0};
	char b;

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		int c, s = dialled(&c), *first = turn ? &c : &s, *other = turn ? &s : &c;

		rig_hear(s, "d");
		rig_say(s, "yes!");
		rig_hear(c, "yes!");
		setsockopt(*first, SOL_SOCKET, SO_LINGER, &now, sizeof now);
		close(*first);
		RIG_UNTIL(rig_open() == 0);
		assert_int_equal(recv(*other, &b, 1, 0), -1);
		assert_int_equal(errno, ECONNRESET);
		assert_int_equal(last_end, turn ? HF_R_CLIENT_ERROR : HF_R_SERVER_ERROR);
		close(*other);
	}
}

/* ---- a step that writes to another flow ---- */

static struct hf_flow_name named;
static const uint8_t *composed;

static void to_other(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct hf_act *a;
	uint8_t *mem;

	if (ev->kind == HF_EV_END) {
		mem = hf_arena_alloc(ctx->arena, 64); /* what an END may do with its arena */
		memset(mem, '!', 64);
		ends++;
		return;
	}
	if (ev->kind != HF_EV_BYTES || ev->bytes.p[0] != 'x') {
		named = ev->flow_name;
		return;
	}
	mem = hf_arena_alloc(ctx->arena, 64);
	memset(mem, 'a', 64);
	composed = mem;
	a = hf_act(acts, HF_ACT_SEND);
	a->send.to = HF_TO_FLOW;
	a->send.flow = named;
	a->send.base = HF_LIT("letter");
	send_to(acts, HF_TO_CLIENT, hf_bytes_of(mem, 8));
}

/* The other flow's client is gone: that flow ends, but not inside this step, whose arena it would take. Fails with conn_close in conn_deliver. */
static void the_other_flow_ends_later(void **state)
{
	struct linger now = {1, 0};
	int a, b;

	(void)state;
	rig_step = to_other;
	a = rig_client();
	rig_say(a, "n");
	RIG_UNTIL(named.boot == 99);
	b = rig_client();
	setsockopt(a, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	rig_say(b, "x");
	shutdown(rig_flow(0)->side[HF_CLIENT].fd, SHUT_WR); /* sending fails from now on */
	rig_hear(b, "aaaaaaaa");
	RIG_UNTIL(rig_open() == 1);
	assert_int_equal(ends, 1);
	assert_int_equal(rig_count(HF_R_CLIENT_ERROR), 1);
	assert_false(conn_deliver(rig.w, &named, HF_LIT("x"))); /* a stale name finds nothing */
	close(a);
	close(b);
}

/* ---- back-pressure ---- */

/* A client that does not read stops the reading of its host: what is buffered stays below one read. Fails when wants_read ignores `out`. */
static void slow_client(void **state)
{
	static uint8_t block[65536];
	int c, s = dialled(&c);
	size_t sent = 0, got = 0;
	uint64_t cpu;

	(void)state;
	rig_hear(s, "d");
	rig_say(s, "yes!");
	rig_hear(c, "yes!");
	for (int quiet = 0; quiet < 20;) {
		ssize_t n = 0;

		for (int i = 0; i < 8 && n >= 0; i++) { /* several reads at once */
			n = send(s, block, sizeof block, MSG_NOSIGNAL);
			quiet = n > 0 ? 0 : quiet + 1;
			sent += n > 0 ? (size_t)n : 0;
		}
		rig_run(1);
		assert_true(sent < 64u << 20);
		assert_true(!rig_flow(0)->side[HF_CLIENT].out.b || rig_flow(0)->side[HF_CLIENT].out.b->cap <= 65536);
	}
	cpu = cpu_ms();
	rig_run(200);
	assert_in_range(cpu_ms() - cpu, 0, 60); /* and nobody spins meanwhile */
	while (got < sent) {
		ssize_t n = recv(c, block, sizeof block, 0);

		got += n > 0 ? (size_t)n : 0;
		assert_int_not_equal(n, 0);
		if (n < 0)
			rig_run(1);
	}
	assert_int_equal(got, sent);
	rig_say(c, "back");
	rig_hear(s, "back");
	RIG_UNTIL(rig_flow(0)->side[HF_CLIENT].out.b == NULL); /* a flow at rest keeps no buffer */
	close(c);
	close(s);
	RIG_UNTIL(rig_open() == 0);
}

/* ---- what the system tells only once ---- */

/* FIN that came with the octets before it is told with them. Fails when a short read is taken for all there is (`last`). */
static void octets_and_fin_at_once(void **state)
{
	int c, s = dialled(&c);

	(void)state;
	rig_hear(s, "d");
	rig_say(s, "yes!");
	rig_hear(c, "yes!");
	for (int i = 0; i < 2; i++) {
		int from = i ? s : c, to = i ? c : s;

		rig_say(from, "last words");
		shutdown(from, SHUT_WR);
		rig_hear(to, "last words");
		RIG_UNTIL(rig_ended(to));
	}
	assert_int_equal(last_end, HF_R_DONE);
	close(c);
	close(s);
}

/* What an opening had no room for is read when the relay starts, though nothing new comes. Fails without `more` in side_gather, or watch_again. */
static void more_than_an_opening_holds(void **state)
{
	static uint8_t sent[3 * RIG_OPENING], got[sizeof sent + 1];
	size_t n = 0;
	int c, s;

	(void)state;
	memset(sent, 'd', sizeof sent);
	c = rig_client();
	assert_int_equal(send(c, sent, sizeof sent, MSG_NOSIGNAL), sizeof sent);
	s = rig_accept();
	rig_run(5);
	rig_say(s, "yes!");
	for (int turns = 0; n < sizeof sent + RIG_OPENING - 1 && turns < 2000; turns++) {
		ssize_t m = recv(s, got, sizeof got, 0);

		n += m > 0 ? (size_t)m : 0;
		rig_run(m > 0 ? 0 : 1);
	}
	assert_int_equal(n, sizeof sent + RIG_OPENING - 1); /* the opening, and what is relayed: it used one octet */
	close(c);
	close(s);
	RIG_UNTIL(rig_open() == 0);
}

/* ---- what the system refuses to watch ---- */

/* A flow that it does not watch would never be heard of again: it ends. Fails without give_up. */
static void cannot_be_watched(void **state)
{
	int c;

	(void)state;
	rig_break_polls(false);
	c = rig_client();
	rig_break_polls(true);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(last_end, HF_R_NO_MEMORY);
	close(c);
}

/* A relay too, which has no deadline that would end it. Fails when pump_go_on does not look. */
static void relay_cannot_be_watched(void **state)
{
	int c, s = dialled(&c);

	(void)state;
	rig_hear(s, "d");
	rig_say(s, "yes!");
	rig_hear(c, "yes!");
	assert_int_equal(send(s, much, sizeof much, MSG_NOSIGNAL), sizeof much); /* bulk is watched in another way */
	rig_break_polls(false);
	conn_server_ready(rig_flow(0), HF_READ);
	rig_break_polls(true);
	assert_int_equal(rig_open(), 0);
	assert_int_equal(last_end, HF_R_NO_MEMORY);
	close(c);
	close(s);
}

/* A listener that pauses for want of descriptors, and cannot be watched again, is tried again. Fails when resume tries once. */
static void listener_cannot_be_watched(void **state)
{
	struct rlimit old, none;
	int c = sock_connect(&rig.info.addr, true, NULL);

	(void)state;
	watch_init(&rig.listening.watch, rig.w->poller, rig.socks->fd[0], conn_acceptable, &rig.listening);
	assert_true(watch_set(&rig.listening.watch, HF_READ));
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	RIG_UNTIL(rig.listening.pause.place);
	setrlimit(RLIMIT_NOFILE, &old);
	rig_break_polls(false);
	timer_set(&rig.listening.pause, 0);
	rig_run(1);
	rig_break_polls(true);
	assert_int_equal(rig.listening.watch.what, 0);
	RIG_UNTIL(rig_open() == 1);
	watch_fini(&rig.listening.watch);
	timer_fini(&rig.listening.pause);
	close(c);
}

/* ---- accepting ---- */

static int doors[80], n_doors;

static void knock(int n)
{
	for (int i = 0; i < n; i++) {
		doors[n_doors] = sock_connect(&rig.info.addr, true, NULL);
		assert_true(doors[n_doors++] >= 0);
	}
}

static void turn_takes(unsigned n)
{
	uint64_t before = rig.rt.counts[0].flows;

	conn_acceptable(&rig.listening, HF_READ);
	assert_int_equal(rig.rt.counts[0].flows - before, n);
}

/* Twice as many a turn while that is too few, as many as came when it is not; and more only after sixteen turns in a row that found as many. 32 at most.
 * Fails without `calm`, and when what is doubled is not bounded. */
static void as_many_as_come(void **state)
{
	(void)state;
	n_doors = 0;
	knock(3);
	turn_takes(1);
	turn_takes(2);
	turn_takes(0);
	knock(20);
	for (int i = 0; i < 17; i++)
		turn_takes(1);
	turn_takes(2);
	turn_takes(1);
	rig.listening.burst = 20;
	rig.listening.calm = 0;
	knock(54);
	turn_takes(20);
	turn_takes(32);
	turn_takes(2);
	while (n_doors)
		close(doors[--n_doors]);
}

/* ---- the end ---- */

/* A client that comes in the turn in which the worker is stopped finds nobody any more. Fails (by a signal) when that turn goes on. */
static void stopped_with_a_client_at_the_door(void **state)
{
	int c;

	(void)state;
	watch_init(&rig.listening.watch, rig.w->poller, rig.socks->fd[0], conn_acceptable, &rig.listening);
	assert_true(watch_set(&rig.listening.watch, HF_READ));
	atomic_store(&rig.w->stop, true);
	worker_wake(rig.w);
	c = sock_connect(&rig.info.addr, true, NULL);
	assert_true(c >= 0);
	poller_run(rig.w->poller);
	assert_int_equal(rig_open(), 0);
	watch_fini(&rig.listening.watch);
	close(c);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(early_octets_and_fin), T(dials_in_the_same_turn), T(both_closed_before_the_relay), T(kept_alive), T(server_off), T(eof_while_held), T(nothing_to_send), T(pools_of_the_service), T(talks_on_while_it_is_refused),
		T(no_descriptors_of_our_own), T(refused), T(resets), T(the_other_flow_ends_later), T(slow_client), T(octets_and_fin_at_once),
		T(more_than_an_opening_holds), T(cannot_be_watched), T(relay_cannot_be_watched), T(listener_cannot_be_watched), T(as_many_as_come), T(stopped_with_a_client_at_the_door)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
