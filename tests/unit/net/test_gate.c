/* The gate of a server (net/gate.c, dial.c): so many are being opened at once, the others wait in the order in which they came, and nobody is forgotten. */
#include <malloc.h>

#include "gate.h"
#include "rig.h"

enum { MOST = 2 };

static unsigned fails, last_fail;
static bool no_memory; /* nothing grows */

void *realloc(void *p, size_t n)
{
	void *q = no_memory ? NULL : malloc(n);
	size_t had = malloc_usable_size(p);

	if (q && p)
		memcpy(q, p, had < n ? had : n);
	if (q)
		free(p);
	return q;
}

static void dial(struct hf_acts *acts, struct hf_bytes base)
{
	struct hf_act *a = hf_act(acts, HF_ACT_SEND);

	a->send.to = HF_TO_SERVER;
	a->send.server = RIG_MEMBER;
	a->send.base = base;
}

/* The client's octet goes to the server; its answer of an octet begins the relay. Who fails tries again for ever, unless his octet is capital; 's' sleeps
 * long, 'm' finds no memory at first. */
static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	(void)ctx;
	if (ev->kind == HF_EV_FAIL) {
		fails++;
		last_fail = ev->reason;
		no_memory = false;
		if (ev->bytes.p[0] < 'a')
			hf_act(acts, HF_ACT_CLOSE)->end.reason = ev->reason;
		else
			hf_act(acts, HF_ACT_HOLD)->hold.ms = ev->bytes.p[0] == 's' ? 60000 : 10;
	} else if (ev->kind == HF_EV_WAKE) {
		dial(acts, hf_bytes_sub(ev->bytes, 0, 1));
	} else if (ev->kind == HF_EV_BYTES && ev->side == HF_SERVER) {
		hf_act(acts, HF_ACT_RELAY)->relay.client_used = 1;
	} else if (ev->kind == HF_EV_BYTES) {
		no_memory = ev->bytes.p[0] == 'm';
		dial(acts, HF_NONE);
	}
}

static int up(void **state)
{
	int e;

	fails = last_fail = 0;
	no_memory = false;
	rig_step = step;
	e = rig_up(state);
	rig.pool_conf.max_connecting = MOST;
	rig.pool_conf.connecting_queue = 100;
	return e;
}

static struct member_rt *seat(void) { return &rig.pool_rt.members[1]; }

static int comes(const char *octet, unsigned opening, unsigned waiting)
{
	int c = rig_client();

	rig_say(c, octet);
	RIG_UNTIL(gate_opening(seat()) == opening && gate_waiting(seat()) == waiting);
	return c;
}

static int dialled(const char *octet)
{
	int s = rig_accept();

	rig_hear(s, octet);
	return s;
}

/* At once, as turns go: long before who waits would look by himself. */
static int told(const char *octet)
{
	int s = -1;

	for (int turns = 0; s < 0 && turns < 300; turns++) {
		rig_run(1);
		s = accept4(rig.host, NULL, NULL, SOCK_NONBLOCK);
	}
	assert_true(s >= 0);
	rig_hear(s, octet);
	return s;
}

/* In the order in which they came, as those before are answered, or go. Fails without the letter of gate_leave, or when gate_turn does not ask who is
 * first. */
static void in_order(void **state)
{
	int a = comes("a", 1, 0), b = comes("b", 2, 0), c = comes("c", 2, 1), d = comes("d", 2, 2), e = comes("e", 2, 3), host[5];

	(void)state;
	host[0] = dialled("a");
	host[1] = dialled("b");
	close(d);
	RIG_UNTIL(gate_waiting(seat()) == 2);
	assert_int_equal(rig_count(HF_R_CLIENT_CLOSED), 1);
	rig_say(host[1], "!");
	rig_hear(b, "!");
	host[2] = told("c");
	assert_true(gate_opening(seat()) == 2 && gate_waiting(seat()) == 1);
	close(a); /* it had not been answered, and its flow knows only by the host's end */
	close(host[0]);
	host[3] = told("e");
	rig_say(host[2], "!");
	rig_hear(c, "!");
	rig_say(host[3], "!");
	rig_hear(e, "!");
	RIG_UNTIL(gate_opening(seat()) == 0 && gate_waiting(seat()) == 0);
	assert_int_equal(fails, 0);
	rig_say(c, "later"); /* what waited is a relay as any other */
	rig_hear(host[2], "later");
	close(b);
	close(c);
	close(e);
	for (int i = 1; i < 4; i++)
		close(host[i]);
}

/* There is room again, and the first has not been told: who comes now is behind him. Who waited in vain and tries again is before those who came after
 * him. Fails when enter does not ask whether anybody waits; when list_put puts all at the end. */
static void nobody_jumps_the_queue(void **state)
{
	int c[6], host[6];

	(void)state;
	c[0] = comes("a", 1, 0);
	c[1] = comes("b", 2, 0);
	rig.pool_conf.dial_timeout = 30;
	c[2] = comes("c", 2, 1);
	rig.pool_conf.dial_timeout = 5000;
	c[3] = comes("d", 2, 2);
	RIG_UNTIL(fails >= 1 && gate_waiting(seat()) == 2 && flow_find(rig.w, 2, 1)->queued_ms > 1000); /* c has come back, and waits longer now */
	rig.pool_conf.max_connecting = MOST + 1;
	c[4] = comes("e", 2, 3);
	for (unsigned i = 0; i < 2; i++)
		host[i] = dialled(i ? "b" : "a");
	for (unsigned i = 2; i < 5; i++) {
		rig_say(host[i - 2], "!");
		rig_hear(c[i - 2], "!");
		if (i == 2) { /* two places */
			host[2] = told("c");
			host[3] = told("d");
		} else if (i == 3) {
			host[4] = told("e");
		}
	}
	for (unsigned i = 0; i < 5; i++) {
		close(c[i]);
		close(host[i]);
	}
}

/* Nobody waits longer than a dial may take, or beyond the queue's end; the server is not blamed for it. Fails without queued_ms, without the bound in
 * grow, or when dial_failed counts patience as a failure of the server. */
static void bounds(void **state)
{
	int c[4], a = comes("a", 1, 0), b = comes("b", 2, 0);

	(void)state;
	rig.pool_conf.dial_timeout = 1000; /* the fourth has come before the first has waited for long enough */
	rig.pool_conf.connecting_queue = 3;
	for (unsigned i = 0; i < 3; i++)
		c[i] = comes("W", 2, i + 1);
	c[3] = rig_client();
	rig_say(c[3], "W");
	RIG_UNTIL(fails == 1);
	assert_int_equal(rig_count(HF_R_SERVER_QUEUE), 2); /* of the dial, of the flow that it ended */
	RIG_UNTIL(fails == 4 && gate_waiting(seat()) == 0);
	assert_true(last_fail == HF_R_SERVER_QUEUE && gate_opening(seat()) == 2 && seat()->failures == 0);
	close(a);
	close(b);
	for (unsigned i = 0; i < 4; i++)
		close(c[i]);
}

/* A host that is down, and comes back: who failed keeps his pass and dials again, the others wait behind him without a dial of theirs. Fails when
 * dial_failed gives the pass back. */
static void host_comes_back(void **state)
{
	struct hf_addr at = sock_local(rig.host);
	int c[6], host[6];
	unsigned tried;

	(void)state;
	close(rig.host);
	for (unsigned i = 0; i < 6; i++)
		c[i] = comes((const char *[]){"a", "b", "c", "d", "e", "f"}[i], i < MOST ? i + 1 : MOST, i < MOST ? 0 : i + 1 - MOST);
	RIG_UNTIL(fails > 10);
	tried = fails;
	assert_true(gate_opening(seat()) == MOST && gate_waiting(seat()) == 4);
	assert_true(seat()->failures == tried);
	rig.host = sock_listen(&at, true, 0);
	assert_true(rig.host >= 0);
	for (unsigned i = 0; i < 6; i++) {
		uint8_t octet;

		host[i] = rig_accept();
		RIG_UNTIL(recv(host[i], &octet, 1, MSG_DONTWAIT) == 1);
		assert_true(i < MOST ? octet == 'a' || octet == 'b' : octet == 'a' + i);
		rig_say(host[i], "!");
	}
	RIG_UNTIL(gate_opening(seat()) == 0);
	for (unsigned i = 0; i < 6; i++) {
		rig_hear(c[i], "!");
		close(c[i]);
		close(host[i]);
	}
}

static void wakes_once(const struct hf_addr *at)
{
	int a, s, w, host[3];

	fails = 0;
	close(rig.host);
	s = comes("s", 1, 0);
	RIG_UNTIL(fails == 1);
	a = comes("a", 2, 0);
	w = comes("w", 2, 1);
	RIG_UNTIL(fails > 2);
	rig.host = sock_listen(at, true, 0);
	assert_true(rig.host >= 0);
	host[0] = dialled("a");
	host[1] = dialled("s");
	assert_int_equal(gate_waiting(seat()), 1);
	rig_say(host[1], "!");
	rig_hear(s, "!");
	host[2] = dialled("w");
	close(a), close(s), close(w);
	for (int i = 0; i < 3; i++)
		close(host[i]);
	RIG_UNTIL(rig_open() == 0);
}

/* Who sleeps after a failed dial is woken when another has got through, each time. Fails without gate_through, or when what woke him once is not forgotten. */
static void sleeper_is_woken(void **state)
{
	struct hf_addr at = sock_local(rig.host);

	(void)state;
	wakes_once(&at);
	wakes_once(&at);
}

/* More sleep than one wakes: who was woken wakes the next. Fails when nobody is told behind the first of them. */
static void all_are_woken(void **state)
{
	enum { SLEEPERS = 80 };
	struct hf_addr at = sock_local(rig.host);
	int s[SLEEPERS], a, host[SLEEPERS + 1];

	(void)state;
	rig.pool_conf.max_connecting = 0;
	close(rig.host);
	for (unsigned i = 0; i < SLEEPERS; i++) {
		s[i] = rig_client();
		rig_say(s[i], "s");
		RIG_UNTIL(fails == i + 1);
	}
	assert_int_equal(gate_opening(seat()), SLEEPERS);
	rig.host = sock_listen(&at, true, 0);
	assert_true(rig.host >= 0);
	a = rig_client();
	rig_say(a, "a");
	for (unsigned i = 0; i <= SLEEPERS; i++)
		host[i] = rig_accept();
	close(a);
	for (unsigned i = 0; i <= SLEEPERS; i++) {
		close(host[i]);
		if (i < SLEEPERS)
			close(s[i]);
	}
}

/* A PROXY header is the first that the server hears, once, of who waited and of who tried again as well. Fails without introduce, or when a failed dial
 * leaves a header behind. */
static void introduced(void **state)
{
	static const char sign[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\1\x7f\0\0\1";
	struct hf_addr at = sock_local(rig.host);
	uint8_t got[64];
	int c[3], host[3];

	(void)state;
	rig.member.send_proxy = true;
	close(rig.host);
	for (unsigned i = 0; i < 3; i++)
		c[i] = comes((const char *[]){"a", "b", "c"}[i], i < MOST ? i + 1 : MOST, i < MOST ? 0 : 1);
	RIG_UNTIL(fails > 4);
	rig.host = sock_listen(&at, true, 0);
	assert_true(rig.host >= 0);
	for (unsigned i = 0; i < 3; i++) {
		struct hf_addr client;
		ssize_t n = 0;

		host[i] = rig_accept();
		RIG_UNTIL((n = recv(host[i], got, sizeof got, MSG_DONTWAIT)) > 0);
		assert_int_equal(n, 29);
		assert_memory_equal(got, sign, sizeof sign - 1);
		client = sock_local(c[got[28] - 'a']);
		assert_true(hf_get16(got + 24) == client.port && hf_get16(got + 26) == rig.info.addr.port);
		rig_say(host[i], "!");
	}
	for (unsigned i = 0; i < 3; i++) {
		close(c[i]);
		close(host[i]);
	}
}

/* Without a limit, and with one that is lifted while some wait. Fails when at_once reads it once and for all. */
static void limit_is_lifted(void **state)
{
	int a = comes("a", 1, 0), b = comes("b", 2, 0), c = comes("c", 2, 1), d = comes("d", 2, 2), host[4];

	(void)state;
	host[0] = dialled("a");
	host[1] = dialled("b");
	rig.pool_conf.max_connecting = 0;
	rig_say(host[0], "!");
	rig_hear(a, "!");
	host[2] = dialled("c");
	host[3] = dialled("d");
	assert_true(gate_opening(seat()) == 3 && gate_waiting(seat()) == 0);
	close(a), close(b), close(c), close(d);
	for (int i = 0; i < 4; i++)
		close(host[i]);
}

/* Where there is no limit, who failed sleeps as long as there is room, else looks by himself. Fails when as many sleep as come. */
static void room_to_sleep(void **state)
{
	struct hf_addr at = sock_local(rig.host);
	int s, a, host[2];

	(void)state;
	rig.pool_conf.max_connecting = 0;
	rig.pool_conf.connecting_queue = 1;
	close(rig.host);
	s = comes("s", 1, 0);
	RIG_UNTIL(fails == 1);
	a = rig_client();
	rig_say(a, "a");
	RIG_UNTIL(fails > 3);
	RIG_UNTIL(gate_opening(seat()) == 1); /* between two dials */
	rig.host = sock_listen(&at, true, 0);
	assert_true(rig.host >= 0);
	host[0] = dialled("a");
	host[1] = dialled("s");
	close(a), close(s);
	close(host[0]), close(host[1]);
}

/* A server that is switched off, or goes down, while somebody waits who came when it was up: the front is told within a second. */
static void server_goes(void **state)
{
	int a = comes("a", 1, 0), b = comes("b", 2, 0), c = comes("C", 2, 1);

	(void)state;
	hf_engine_mark(rig.pool_rt.engine, 1, HF_MARK_DOWN, true, 0);
	RIG_UNTIL(fails == 1);
	assert_int_equal(last_fail, HF_R_SERVER_QUEUE);
	close(c);
	c = comes("C", 2, 1); /* it is bound there: it knew, and waits */
	rig_run(1100);
	assert_int_equal(gate_waiting(seat()), 1);
	hf_engine_mark(rig.pool_rt.engine, 1, HF_MARK_OFF, true, 0);
	RIG_UNTIL(fails == 2);
	close(a), close(b), close(c);
}

/* A turn that comes when the server is off is no dial. Fails when only patience looks at its state. */
static void off_when_its_turn_comes(void **state)
{
	int a = comes("a", 1, 0), b = comes("b", 2, 0), c = comes("C", 2, 1), host[2] = {dialled("a"), dialled("b")};

	(void)state;
	hf_engine_mark(rig.pool_rt.engine, 1, HF_MARK_OFF, true, 0);
	rig_say(host[0], "!");
	RIG_UNTIL(rig_ended(c));
	assert_true(fails == 1 && last_fail == HF_R_SERVER_QUEUE);
	assert_int_equal(accept4(rig.host, NULL, NULL, SOCK_NONBLOCK), -1);
	assert_int_equal(gate_waiting(seat()), 0);
	close(a), close(b), close(c);
	close(host[0]), close(host[1]);
}

/* Without memory for what waits nobody waits: the place is given back, and the next try is as the first. Fails when a place that was taken stays taken. */
static void no_memory_to_wait(void **state)
{
	int a = comes("a", 1, 0), b = comes("b", 2, 0), c = comes("c", 2, 1), m = rig_client();

	(void)state;
	rig_say(m, "m");
	RIG_UNTIL(fails == 1);
	assert_int_equal(last_fail, HF_R_NO_MEMORY);
	rig_run(20); /* longer than it sleeps */
	assert_true(fails == 1 && gate_waiting(seat()) == 2);
	close(a), close(b), close(c), close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_order, up, rig_down), cmocka_unit_test_setup_teardown(nobody_jumps_the_queue, up, rig_down),
		cmocka_unit_test_setup_teardown(bounds, up, rig_down),
		cmocka_unit_test_setup_teardown(host_comes_back, up, rig_down), cmocka_unit_test_setup_teardown(sleeper_is_woken, up, rig_down),
		cmocka_unit_test_setup_teardown(all_are_woken, up, rig_down), cmocka_unit_test_setup_teardown(introduced, up, rig_down),
		cmocka_unit_test_setup_teardown(limit_is_lifted, up, rig_down), cmocka_unit_test_setup_teardown(room_to_sleep, up, rig_down),
		cmocka_unit_test_setup_teardown(server_goes, up, rig_down),
		cmocka_unit_test_setup_teardown(off_when_its_turn_comes, up, rig_down), cmocka_unit_test_setup_teardown(no_memory_to_wait, up, rig_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
