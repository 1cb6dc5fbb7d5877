/* Who reads whose datagrams (net/lend.c): two workers at one port, by literal times and efforts; the datagrams are real. */
#include "rig.h"
#include "lend.h"
#include "udp.h"

static struct socks *socks;
static struct listening *l[2];
static int client;

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts) { (void)ctx, (void)ev, (void)acts; }

static uint64_t came(unsigned worker) { return rig.rt.counts[worker].parcels; }

/* As long as a look, without real time going by: what is measured then is what the test says. */
static void effort(unsigned i, unsigned permille)
{
	struct worker *w = l[i]->w;

	w->effort.since_us = w->now_us;
	w->effort.permille = permille;
}

static void listen_of(unsigned i)
{
	struct worker *w = &rig.net->workers[i];

	l[i] = calloc(1, sizeof *l[i]);
	w->open = calloc(1, sizeof *w->open);
	assert_true(l[i] && w->open);
	*l[i] = (struct listening){.w = w, .socks = socks, .service = 1};
	watch_init(&l[i]->watch, w->poller, socks->fd[i], udp_readable, l[i]);
	assert_true(watch_set(&l[i]->watch, HF_READ));
	w->open[0] = l[i];
	w->n_open = 1;
	w->now_ms = 1000;
	w->now_us = 1000000;
}

/* Enough comes for a pause. */
static void gather(unsigned i)
{
	for (int turn = 0; turn < 20; turn++) {
		l[i]->w->now_ms++;
		gather_turn(l[i], 10, false);
	}
	assert_int_equal(l[i]->gather.pause_ms, 2);
	effort(i, 100);
}

static int up(void **state)
{
	struct hf_addr at = {.family = 4, .ip = {127, 0, 0, 1}};

	rig_step = step;
	rig_workers = 2;
	rig_up(state);
	rig.conf.gateway.udp_gather = 2;
	socks = calloc(1, sizeof *socks + 2 * sizeof(int));
	for (unsigned i = 0; i < 2; i++) {
		socks->fd[i] = sock_listen(&at, false, 0);
		assert_true(socks->fd[i] >= 0);
		at = sock_local(socks->fd[i]);
	}
	rig.info.transport = HF_UDP;
	rig.info.addr = at;
	client = sock_connect(&at, false, NULL);
	assert_true(client >= 0);
	for (unsigned i = 0; i < 2; i++)
		listen_of(i);
	return 0;
}

static int down(void **state)
{
	struct socks *s = socks;

	rig_down(state);
	for (unsigned i = 0; i < 2; i++)
		close(s->fd[i]);
	close(client);
	free(s);
	rig_workers = 1;
	rig_front.datagram_flows = false;
	return 0;
}

/* Both pause, and there is little to do. */
static void lent(void)
{
	gather(0);
	gather(1);
	lend_turn(l[0], &rig.service);
	lend_turn(l[1], &rig.service);
	assert_true(l[1]->away && lend_is_lent(l[0], 1));
}

/* A datagram to the second worker's socket. */
static void to_second(void)
{
	struct hf_addr at = sock_local(socks->fd[1]);
	char c;

	for (int i = 0; i < 1000; i++) { /* the system spreads by the client's port */
		assert_int_equal(send(client, "x", 1, 0), 1);
		if (recv(socks->fd[1], &c, 1, MSG_PEEK | MSG_DONTWAIT) == 1)
			return;
		assert_int_equal(recv(socks->fd[0], &c, 1, MSG_DONTWAIT), 1);
		close(client);
		client = sock_connect(&at, false, NULL);
	}
	fail_msg("none came to the second socket");
}

/* The second worker's socket is read by the first, and by nobody else. Fails when udp_readable reads its own socket alone, or lend() leaves the watch. */
static void lends(void **state)
{
	(void)state;
	lent();
	assert_int_equal(l[1]->watch.what, 0);
	assert_int_equal(l[1]->gather.timer.place, 0);
	to_second();
	poller_stop(l[1]->w->poller); /* one turn */
	assert_int_equal(came(1), 0);
	udp_readable(l[0], HF_READ);
	assert_int_equal(came(0), 1);
	assert_int_equal(came(1), 0);
}

static void not_lent(unsigned first, unsigned second)
{
	effort(0, first);
	effort(1, second);
	lend_turn(l[1], &rig.service);
	assert_false(l[1]->away || lend_is_lent(l[0], 1));
}

/* Not when both together are busy, when nothing is known of the first, when that does not pause, when flows of datagrams would change workers, or shortly
 * behind another one. Fails when one of may_lend's conditions is taken out. */
static void keeps(void **state)
{
	(void)state;
	gather(1);
	not_lent(0, 0);
	gather(0);
	lend_turn(l[0], &rig.service);
	not_lent(126, 125);
	not_lent(1000000, 0);
	rig_front.datagram_flows = true;
	not_lent(10, 10);
	rig_front.datagram_flows = false;
	rig.net->lend_at_ms = l[1]->w->now_ms + 1;
	not_lent(10, 10);
	l[1]->w->now_ms++;
	effort(0, 125);
	effort(1, 125);
	lend_turn(l[1], &rig.service);
	assert_true(l[1]->away);
	assert_int_equal(rig.net->lend_at_ms, l[1]->w->now_ms + 500);
}

/* The second worker is woken, and goes on with what has come meanwhile. */
static void is_back(uint64_t again_ms)
{
	uint64_t before = came(1), n = 0;

	assert_false(lend_is_lent(l[0], 1));
	assert_int_equal(rig.net->lend_at_ms, l[0]->w->now_ms + again_ms);
	assert_int_equal(read(l[1]->w->wake_fd, &n, sizeof n), sizeof n);
	to_second();
	assert_true(l[1]->away);
	lend_look(l[1]->w);
	assert_false(l[1]->away);
	assert_int_equal(came(1), before + 1);
	assert_int_equal(l[1]->watch.what, HF_READ);
}

/* Back when there is more to do than one should: fails when lend_turn does not look at the effort. */
static void busy(void **state)
{
	(void)state;
	lent();
	effort(0, 500);
	lend_turn(l[0], &rig.service);
	assert_true(lend_is_lent(l[0], 1));
	effort(0, 501);
	lend_turn(l[0], &rig.service);
	is_back(5000);
}

/* Back when the first worker reads at each arrival again: nothing would read the other's socket. Fails when give_back is not called for that. */
static void no_pause(void **state)
{
	(void)state;
	lent();
	for (int turn = 0; turn < 40; turn++) {
		l[0]->w->now_ms++;
		gather_turn(l[0], 0, false);
	}
	effort(0, 10);
	lend_turn(l[0], &rig.service);
	assert_false(socks->paused);
	is_back(500);
}

/* Back when a reload has made the port one of a protocol whose datagrams are flows. Fails when lend_turn does not look at that for the first worker. */
static void flows(void **state)
{
	(void)state;
	lent();
	rig_front.datagram_flows = true;
	lend_turn(l[0], &rig.service);
	assert_false(lend_is_lent(l[0], 1));
	assert_false(socks->paused);
}

/* A listener that ends at either worker leaves each with its own. Fails when lend_end does nothing. */
static void ends(void **state)
{
	(void)state;
	lent();
	lend_end(l[0]);
	is_back(500);
	rig.net->lend_at_ms = 0;
	lent();
	lend_end(l[1]);
	assert_false(lend_is_lent(l[0], 1));
}

/* After a time without turns what was measured says nothing. Fails when effort() divides by whatever time went by. */
static void measured(void **state)
{
	struct worker *w = l[0]->w;

	(void)state;
	gather(0);
	w->now_us += 100000;
	lend_turn(l[0], &rig.service);
	assert_in_range(w->effort.permille, 0, 1000);
	w->now_us += 200000;
	lend_turn(l[0], &rig.service);
	assert_int_equal(w->effort.permille, 1000000);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(lends), T(keeps), T(busy), T(no_pause), T(flows), T(ends), T(measured)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
