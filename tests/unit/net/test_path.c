/* Paths (net/path.c, path_copy.c): datagrams both ways beside a relayed flow, what may be sent to a client that has shown nothing, and every end. A client's
 * datagram that begins with 'o' asks for a path beside the flow that is named; any other is dropped. */
#include "path_in.h"
#include "rig.h"
#include "udp.h"

#define NAME 11u

static struct hf_listener_info infos[2];
static struct socks *udp_socks, *lists[2];
static struct listening udp_listening;
static int host_udp, tcp_client, tcp_host;
static uint32_t idle_ms;

static void datagram(const struct hf_event *ev, struct hf_acts *acts)
{
	if (ev->kind == HF_EV_BYTES && ev->bytes.n && ev->bytes.p[0] == 'o')
		hf_act(acts, HF_ACT_ASK)->ask.beside[0] = NAME;
	else if (ev->kind == HF_EV_CHOICE && ev->chosen->server)
		hf_act(acts, HF_ACT_RELAY)->relay.idle_ms = idle_ms;
	else
		hf_act(acts, HF_ACT_DROP)->end.reason = ev->kind == HF_EV_CHOICE ? ev->chosen->none : HF_R_LOOP;
}

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct hf_act *a;

	if (!ctx->flow) {
		datagram(ev, acts);
	} else if (ev->kind == HF_EV_BYTES && ev->side == HF_CLIENT) {
		a = hf_act(acts, HF_ACT_SEND);
		a->send.to = HF_TO_SERVER;
		a->send.server = RIG_MEMBER;
	} else if (ev->kind == HF_EV_BYTES) {
		a = hf_act(acts, HF_ACT_RELAY);
		a->relay.client_used = 4;
		a->relay.names[0] = NAME;
	}
}

static int bound(const struct hf_addr *a)
{
	int fd = sock_listen(a, false, 0);

	assert_true(fd >= 0);
	return fd;
}

/* A relayed flow, and a listener for datagrams beside its own. */
static int up(void **state)
{
	struct hf_addr any = {.family = 4, .ip = {127, 0, 0, 1}};

	rig_step = step;
	rig_front.datagram_flows = true;
	idle_ms = 60000;
	rig_up(state);
	host_udp = bound(&rig.member.addr);
	udp_socks = calloc(1, sizeof *udp_socks + sizeof(int));
	udp_socks->fd[0] = bound(&any);
	infos[0] = rig.info;
	infos[1] = (struct hf_listener_info){.hash = 8, .transport = HF_UDP, .addr = sock_local(udp_socks->fd[0])};
	lists[0] = rig.socks;
	lists[1] = udp_socks;
	rig.service.infos = infos;
	rig.service.socks = lists;
	rig.service.n_infos = 2;
	udp_listening = (struct listening){.w = rig.w, .socks = udp_socks, .service = 1, .at = 1};
	watch_init(&udp_listening.watch, rig.w->poller, udp_socks->fd[0], udp_readable, &udp_listening);
	assert_true(watch_set(&udp_listening.watch, HF_READ));
	tcp_client = rig_client();
	rig_say(tcp_client, "open");
	tcp_host = rig_accept();
	rig_hear(tcp_host, "open");
	rig_say(tcp_host, "yes");
	rig_hear(tcp_client, "yes");
	return 0;
}

static int down(void **state)
{
	watch_fini(&udp_listening.watch);
	gather_free(&udp_listening);
	flows_free(rig.w);
	paths_free(rig.w);
	close(udp_socks->fd[0]);
	free(udp_socks);
	close(host_udp);
	close(tcp_client);
	close(tcp_host);
	return rig_down(state);
}

/* ---- a client, and what came to the host ---- */

static int client(void)
{
	int fd = sock_connect(&infos[1].addr, false, NULL);

	assert_true(fd >= 0);
	return fd;
}

static struct hf_addr heard_from;

static void host_hears(const char *text)
{
	char buf[256];
	struct sockaddr_storage ss = {0};
	socklen_t n = sizeof ss;
	ssize_t got = -1;

	RIG_UNTIL((got = recvfrom(host_udp, buf, sizeof buf, MSG_DONTWAIT, (struct sockaddr *)&ss, &n)) >= 0);
	assert_int_equal(got, strlen(text));
	assert_memory_equal(buf, text, strlen(text));
	sock_get_addr(&ss, &heard_from);
}

static void host_says(const char *text)
{
	struct sockaddr_storage ss;
	socklen_t n = sock_put_addr(&ss, &heard_from);

	assert_int_equal(sendto(host_udp, text, strlen(text), 0, (struct sockaddr *)&ss, n), strlen(text));
}

static uint64_t open_paths(void) { return rig.rt.counts[0].open_paths; }

/* A path whose client has shown that it receives. */
static int shown(void)
{
	int c = client();

	rig_say(c, "open");
	host_hears("open");
	host_says("answer");
	rig_hear(c, "answer");
	rig_say(c, "shown");
	host_hears("shown");
	return c;
}

/* ---- the tests ---- */

static struct path *path_to(int client, const struct hf_addr *local)
{
	struct hf_addr a = sock_local(client);

	return path_find(rig.w, infos[1].hash, &a, local);
}

static struct path *path_of(int client) { return path_to(client, &infos[1].addr); }

/* As it is, both ways, and each client's to itself. Fails when a path is found by the port alone, or for another address of ours, or answers go to the last
 * client. */
static void both_ways(void **state)
{
	struct hf_addr first, other = infos[1].addr;
	int a = shown(), b;

	(void)state;
	first = heard_from;
	b = shown();
	assert_false(hf_addr_eq(&first, &heard_from)); /* a socket each */
	host_says("for b");
	rig_hear(b, "for b");
	heard_from = first;
	host_says("for a");
	rig_hear(a, "for a");
	assert_int_equal(open_paths(), 2);
	assert_int_equal(rig.rt.counts[0].paths, 2);
	other.ip[3]++;
	assert_true(path_of(a) && !path_to(a, &other));
	close(a);
	close(b);
}

/* Nothing but an opening begins one, and it belongs to a flow that is there. Fails when the front is not asked, or its answer is not. */
static void unbound(void **state)
{
	int c = client();

	(void)state;
	rig_say(c, "data");
	RIG_UNTIL(rig_count(HF_R_LOOP) == 1);
	close(tcp_client);
	close(tcp_host);
	RIG_UNTIL(rig_open() == 0);
	rig_say(c, "open");
	RIG_UNTIL(rig_count(HF_R_NO_SESSION) == 1);
	assert_int_equal(open_paths(), 0);
	tcp_client = tcp_host = -1;
	close(c);
}

/* Three times what came, no octet more; all of it once the client has sent behind an answer. Fails without the bound, with another factor, and when a client
 * that has sent twice before any answer is believed. */
static void unshown(void **state)
{
	int c = client();

	(void)state;
	rig_say(c, "open1");
	host_hears("open1");
	rig_say(c, "open2");
	host_hears("open2");
	host_says("123456789012345678901234567890"); /* 30 of 30 */
	rig_hear(c, "123456789012345678901234567890");
	host_says("x");
	RIG_UNTIL(rig_count(HF_R_UNPROVEN) == 1);
	rig_say(c, "shown");
	host_hears("shown");
	host_says("123456789012345678901234567890");
	rig_hear(c, "123456789012345678901234567890");
	close(c);
}

/* Its timer fires, and so much has passed since the last datagram. */
static void fires(int client, uint64_t later_ms)
{
	struct path *p = path_of(client);

	assert_non_null(p);
	p->last_ms -= later_ms;
	timer_set(&p->timer, 0);
	rig_run(1);
}

/* Who shows nothing is not waited for; who is silent for too long is over, and a datagram either way is no silence. Fails when either time is not looked at,
 * and when a datagram does not count. */
static void times(void **state)
{
	int c = client();

	(void)state;
	rig_say(c, "open");
	host_hears("open");
	fires(c, 0);
	assert_int_equal(rig_count(HF_R_HANDSHAKE_TIMEOUT), 1);
	close(c);
	c = shown();
	path_of(c)->last_ms -= 60000;
	rig_say(c, "more");
	host_hears("more");
	fires(c, 0);
	path_of(c)->last_ms -= 60000;
	host_says("more");
	rig_hear(c, "more");
	fires(c, 0);
	fires(c, 50000);
	assert_int_equal(open_paths(), 1);
	fires(c, 10000);
	assert_int_equal(rig_count(HF_R_SILENT), 1);
	assert_int_equal(open_paths(), 0);
	close(c);
}

/* A flow that ends takes them along; what the host still says is heard, what its client says begins anew. Fails when nobody is told, when the end is at
 * once, and when a client's datagram goes to the host of what was. */
static void with_its_flow(void **state)
{
	int c = shown();

	(void)state;
	close(tcp_client);
	close(tcp_host);
	RIG_UNTIL(rig_open() == 0);
	host_says("last words");
	rig_hear(c, "last words");
	rig_say(c, "data");
	RIG_UNTIL(rig_count(HF_R_SESSION_ENDED) == 1 && rig_count(HF_R_LOOP) == 1);
	assert_int_equal(open_paths(), 0);
	tcp_client = tcp_host = -1;
	close(c);
}

/* No letter came: it is found out all the same. Fails when the timer does not look. */
static void without_a_letter(void **state)
{
	int c = shown();

	(void)state;
	(void)anchors_leave(rig.net->anchors, rig_flow(0));
	fires(c, 0);
	assert_true(path_of(c)->over);
	fires(c, 0);
	assert_int_equal(rig_count(HF_R_SESSION_ENDED), 1);
	close(c);
}

/* Nobody listens at the host. Fails when its refusal is not read. */
static void refused(void **state)
{
	int c = client();

	(void)state;
	close(host_udp);
	rig_say(c, "open");
	RIG_UNTIL(rig_count(HF_R_SERVER_ERROR) == 1);
	assert_int_equal(open_paths(), 0);
	host_udp = bound(&rig.member.addr);
	rig_say(c, "open again");
	host_hears("open again");
	close(c);
}

static uint32_t held(void)
{
	struct hf_server_view v;

	assert_true(hf_engine_server(rig.pool_rt.engine, 1, &v));
	return v.held;
}

/* What has ended is counted nowhere. Fails when path_end leaves it among its source's, its flow's, the service's, all, or those who keep its server's id. */
static void ended(void **state)
{
	uint32_t before = held();

	(void)state;
	rig.service_conf.max_flows_source = 1;
	for (unsigned i = 0; i <= ANCHOR_PATHS; i++) {
		int c = shown();

		assert_int_equal(held(), before + 1);
		path_end(path_of(c), HF_R_SILENT);
		close(c);
	}
	assert_int_equal(held(), before);
	assert_true(open_paths() == 0 && rig.net->open_paths == 0);
}

/* What waits for a path's socket goes before the socket does. Fails without the flush of path_end. */
static void last_datagram(void **state)
{
	int c = shown();

	(void)state;
	path_up(path_of(c), HF_LIT("last"));
	path_end(path_of(c), HF_R_SILENT);
	host_hears("last");
	close(c);
}

/* More in a turn than a batch holds. Fails, writing beyond it, without the flush of udp_pass. */
static void many_at_once(void **state)
{
	int c = shown();

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		path_up(path_of(c), HF_LIT("x"));
	udp_flush(rig.w);
	for (unsigned i = 0; i < 100; i++)
		host_hears("x");
	close(c);
}

/* Of one flow, of one source, of all. Fails when a bound is not looked at. */
static void limits(void **state)
{
	int c[ANCHOR_PATHS], more = client();

	(void)state;
	rig.service_conf.max_flows_source = 1;
	c[0] = shown();
	rig_say(more, "open");
	RIG_UNTIL(rig_count(HF_R_SOURCE_LIMIT) == 1);
	rig.service_conf.max_flows_source = 0;
	rig.conf.gateway.max_flows = 1;
	rig_say(more, "open");
	RIG_UNTIL(rig_count(HF_R_FLOW_LIMIT) == 1);
	rig.conf.gateway.max_flows = 100;
	for (unsigned i = 1; i < ANCHOR_PATHS; i++)
		c[i] = shown();
	rig_say(more, "open");
	RIG_UNTIL(rig_count(HF_R_FLOW_LIMIT) == 2);
	assert_int_equal(open_paths(), ANCHOR_PATHS);
	assert_int_equal(rig.net->open_paths, ANCHOR_PATHS);
	for (unsigned i = 0; i < ANCHOR_PATHS; i++)
		close(c[i]);
	paths_letter(rig.w, &(struct hf_flow_name){.slot = 99});
	assert_int_equal(open_paths(), ANCHOR_PATHS);
	close(more);
}

/* Fails when a path outlives its listener or its service. */
static void listeners(void **state)
{
	int c = shown();

	(void)state;
	paths_settle(rig.w);
	assert_int_equal(open_paths(), 1);
	rig.service.n_infos = 1;
	paths_settle(rig.w);
	assert_int_equal(rig_count(HF_R_LISTENER_REMOVED), 1);
	rig.service.n_infos = 2;
	close(c);
	c = shown();
	rig.snap.n_services = 0;
	paths_settle(rig.w);
	assert_int_equal(rig_count(HF_R_SERVICE_REMOVED), 1);
	rig.snap.n_services = 1;
	assert_int_equal(open_paths(), 0);
	close(c);
}

/* Fails when a server that is switched off goes on being spoken to. */
static void off(void **state)
{
	int c = shown();

	(void)state;
	paths_end_off(rig.w);
	assert_int_equal(open_paths(), 1);
	hf_engine_mark(rig.pool_rt.engine, 1, HF_MARK_OFF, true, rig.w->now_ms);
	paths_end_off(rig.w);
	assert_int_equal(rig_count(HF_R_SERVER_OFF), 1);
	assert_int_equal(open_paths(), 0);
	close(c);
}

/* Off by its agent's word alone: who is connected stays, and so does what is beside it. Fails when any kind of off ends a path. */
static void off_by_its_agent(void **state)
{
	int c = shown();

	(void)state;
	hf_engine_mark(rig.pool_rt.engine, 1, HF_MARK_AGENT_OFF, true, rig.w->now_ms);
	flows_end_off(rig.w);
	paths_end_off(rig.w);
	assert_true(rig_open() == 1 && open_paths() == 1);
	host_says("more");
	rig_hear(c, "more");
	close(c);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
int main(void)
{
	const struct CMUnitTest tests[] = {T(both_ways), T(unbound), T(unshown), T(times), T(with_its_flow), T(without_a_letter), T(refused), T(ended), T(last_datagram), T(many_at_once), T(limits), T(listeners), T(off), T(off_by_its_agent)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
