/* A next hop that is connected already (net/peers.c, send.c). The message names its length by its end, a line feed. */
#include <signal.h>

#include "peers.h"
#include "rig.h"

static struct hf_addr target;
static enum hf_transport over;
static bool if_open;
static unsigned fails, last_fail;
static enum hf_transport last_over;

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct hf_act *a;

	(void)ctx;
	if (ev->kind == HF_EV_FAIL) {
		fails++;
		last_fail = ev->reason;
		last_over = ev->transport;
		if (!ctx->parcel)
			hf_act(acts, HF_ACT_TOOK)->need = ev->bytes.n;
	}
	if (ev->kind != HF_EV_BYTES)
		return;
	hf_act(acts, HF_ACT_TOOK)->need = ev->bytes.n;
	a = hf_act(acts, HF_ACT_SEND);
	a->send.to = HF_TO_NEXT_HOP;
	a->send.base = ev->bytes;
	a->send.addr = target;
	a->send.transport = over;
	a->send.if_open = if_open || ev->bytes.p[0] == '!';
}

static int up(void **state)
{
	rig_step = step;
	rig_front.framed = true;
	rig_front.web_protocol = "rig";
	fails = last_fail = 0;
	over = HF_TCP;
	if_open = false;
	rig_up(state);
	rig.service_conf.servers_from.n = 1;
	rig.service_conf.servers_from.net[0].addr = (struct hf_addr){.family = 4, .ip = {127}};
	rig.service_conf.servers_from.net[0].bits = 8;
	return 0;
}

static int up_two(void **state)
{
	rig_workers = 2;
	return up(state);
}

static int down_two(void **state)
{
	rig_workers = 1;
	return rig_down(state);
}

/* Over the phone's own connection while there is one; then it is dialled, and not there. Fails when a link is dialled at once, and when one that has
 * left is still found. */
static void by_its_own_connection(void **state)
{
	int phone = rig_client(), speaker = rig_client();

	(void)state;
	target = sock_local(phone);
	rig_say(speaker, "one\n");
	rig_hear(phone, "one\n");
	assert_int_equal(rig.rt.counts[0].flows, 2);
	target.ip[3] = 3;
	rig_say(speaker, "two\n");
	RIG_UNTIL(fails == 1);
	assert_int_equal(last_fail, HF_R_DIAL_FAILED);
	target.ip[3] = 1;
	sock_reset(phone); /* a half that is closed would be waited for */
	close(phone);
	RIG_UNTIL(rig_open() == 1);
	rig_say(speaker, "three\n");
	RIG_UNTIL(fails == 2);
	close(speaker);
}

/* Only what is open: the other end's own, then one that we have dialled; else it fails, and nobody is dialled. Fails when send_next_hop takes it for any
 * other, and when link_open gives what is only being dialled. */
static void if_it_is_open(void **state)
{
	int phone = rig_client(), speaker = rig_client(), place;

	(void)state;
	if_open = true;
	target = sock_local(phone);
	rig_say(speaker, "one\n");
	rig_hear(phone, "one\n");
	target = sock_local(rig.host);
	rig_say(speaker, "two\n");
	RIG_UNTIL(fails == 1);
	assert_int_equal(rig.rt.counts[0].flows, 2);
	if_open = false;
	rig_say(speaker, "three\n");
	place = rig_accept();
	rig_hear(place, "three\n");
	if_open = true;
	rig_say(speaker, "four\n");
	rig_hear(place, "four\n");
	assert_int_equal(rig.rt.counts[0].flows, 3);
	assert_int_equal(fails, 1);
	close(phone);
	close(speaker);
	close(place);
}

/* One that is open is found behind one to the same place that is being dialled, from another address of ours. Fails when the first in the list decides. */
static void open_behind_one_that_is_dialled(void **state)
{
	int speaker = rig_client(), place, other;

	(void)state;
	target = sock_local(rig.host);
	rig_say(speaker, "one\n");
	place = rig_accept();
	rig_hear(place, "one\n");
	assert_true(rig_flow(1)->stream->link && rig_flow(1)->phase == PHASE_MESSAGES);
	rig_flow(1)->stream->from[0] = 9;
	rig_say(speaker, "two\n");
	other = rig_accept();
	rig_hear(other, "two\n");
	rig_flow(2)->phase = PHASE_LINKING; /* as it was a moment ago */
	rig_say(speaker, "!\n");
	rig_hear(place, "!\n");
	rig_flow(2)->phase = PHASE_MESSAGES;
	assert_int_equal(fails, 0);
	close(speaker);
	close(place);
	close(other);
}

/* It was open on another worker, and is gone when the letter arrives there: the message comes back, and nobody is dialled. Fails when send_flow posts
 * its own transport. */
static void gone_elsewhere(void **state)
{
	int speaker;

	(void)state;
	static struct stream st;
	static struct flow elsewhere;

	elsewhere = (struct flow){.slot = 5, .generation = 1, .service = 1, .transport = HF_TCP, .stream = &st, .w = &rig.net->workers[1], .source = sock_local(rig.host)};
	st = (struct stream){0};
	peers_enter(rig.net->peers, &elsewhere);
	speaker = rig_client();
	if_open = true;
	target = sock_local(rig.host);
	rig_say(speaker, "one\n");
	RIG_UNTIL(letter_any(&rig.net->workers[1].box));
	assert_int_equal(fails, 0);
	deliver_letters(&rig.net->workers[1]);
	assert_int_equal(fails, 1);
	assert_int_equal(last_fail, HF_R_FLOW_GONE);
	assert_int_equal(last_over, HF_UDP);
	assert_int_equal(rig.rt.counts[0].flows + rig.rt.counts[1].flows, 1);
	peers_leave(rig.net->peers, &elsewhere);
	close(speaker);
}

/* Another kind of connection is none, another service's neither; a WebSocket is never dialled. */
static void of_its_kind(void **state)
{
	struct hf_flow_name name;
	int phone = rig_client(), speaker = rig_client();

	(void)state;
	target = sock_local(phone);
	assert_true(peers_find(rig.net->peers, 1, &target, HF_TCP, &name));
	assert_int_equal(name.slot, rig_flow(0)->slot);
	assert_false(peers_find(rig.net->peers, 2, &target, HF_TCP, &name));
	assert_false(peers_find(rig.net->peers, 1, &target, HF_TLS, &name));
	over = HF_WS;
	rig_say(speaker, "one\n");
	RIG_UNTIL(fails == 1);
	assert_int_equal(rig.rt.counts[0].flows, 2);
	rig_flow(0)->transport = HF_WSS;
	assert_true(peers_find(rig.net->peers, 1, &target, HF_WS, &name));
	rig_flow(0)->transport = HF_TCP;
	close(phone);
	close(speaker);
}

/* Three of one address, so of one list; they leave from its middle, end and beginning, once each. */
static void one_list(void **state)
{
	static struct { struct flow f; struct stream s; } of[3];
	static const unsigned leaves[3] = {1, 0, 2};
	struct hf_flow_name name;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		of[i].f = (struct flow){.w = rig.w, .slot = 70 + i, .generation = 1, .service = (uint16_t)(i + 1), .transport = HF_TCP, .stream = &of[i].s,
			.source = {.family = 4, .port = 9, .ip = {192, 0, 2, 51}}};
		peers_enter(rig.net->peers, &of[i].f);
		peers_enter(rig.net->peers, &of[i].f);
	}
	for (unsigned gone = 0; gone < 3; gone++) {
		peers_leave(rig.net->peers, &of[leaves[gone]].f);
		peers_leave(rig.net->peers, &of[leaves[gone]].f);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(peers_find(rig.net->peers, (uint16_t)(i + 1), &of[0].f.source, HF_TCP, &name), of[i].s.listed);
			assert_true(!of[i].s.listed || name.slot == 70 + i);
		}
	}
	assert_false(of[2].s.listed);
}

/* Behind a PROXY header it is known by the address that this names. */
static void behind_a_balancer(void **state)
{
	struct hf_flow_name name;
	int phone;

	(void)state;
	rig.service_conf.proxy_from = rig.service_conf.servers_from;
	phone = rig_client();
	target = sock_local(phone);
	assert_false(peers_find(rig.net->peers, 1, &target, HF_TCP, &name));
	rig_say(phone, "PROXY TCP4 192.0.2.51 192.0.2.1 51000 5060\r\n");
	target = (struct hf_addr){.family = 4, .port = 51000, .ip = {192, 0, 2, 51}};
	RIG_UNTIL(peers_find(rig.net->peers, 1, &target, HF_TCP, &name));
	close(phone);
	RIG_UNTIL(rig_open() == 0);
	assert_false(peers_find(rig.net->peers, 1, &target, HF_TCP, &name));
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(by_its_own_connection), T(if_it_is_open), T(open_behind_one_that_is_dialled), cmocka_unit_test_setup_teardown(gone_elsewhere, up_two, down_two), T(of_its_kind), T(one_list), T(behind_a_balancer)};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
