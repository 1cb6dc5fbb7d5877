/* One worker with one service, one member and a protocol that the test writes, without threads: the test turns the loop.
 * Clients and the member's host are sockets of the test, on loopback. */
#ifndef TEST_NET_RIG_H
#define TEST_NET_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate.h"
#include "sock.h"

#define RIG_MEMBER 0x1234u
#ifndef RIG_OPENING
#define RIG_OPENING 4096u
#endif

struct rig {
	struct hf_loop *control;
	struct hf_net *net;
	struct worker *w;
	struct timer stop;
	struct hf_conf conf;
	struct hf_conf_pool pool_conf;
	struct hf_conf_service service_conf;
	struct hf_conf_listen listen_conf;
	struct hf_snapshot snap;
	struct snap_pool pool, *pools_list[1];
	struct hf_conf_choice choice;
	struct snap_service service;
	struct snap_member member;
	struct hf_listener_info info;
	struct pool_rt pool_rt;
	void *tables;               /* of its engine */
	struct service_rt rt;
	struct socks *socks, *socks_list[1];
	struct listening listening;
	uint16_t by_id[HF_SERVERS_MAX + 1];
	struct snap_cell by_hash[16], by_addr[16];
	int host;                   /* the member's listening socket */
};

static struct rig rig;
static uint32_t rig_entries = 1; /* sessions that its engine can remember */
static unsigned rig_workers = 1; /* rig.w is the first; the others do what the test calls for them */
static void (*rig_step)(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts);

static void rig_front_step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts) { rig_step(ctx, ev, acts); }
static struct hf_front rig_front = {.name = "rig", .max_opening = RIG_OPENING, .step = rig_front_step};

const struct hf_front *const hf_fronts[] = {&rig_front, NULL}; /* the only protocol */

static void rig_stop(void *arg) { poller_stop(arg); }

/* Runs the worker's loop for ms. */
static inline void rig_run(unsigned ms)
{
	timer_set(&rig.stop, ms);
	poller_run(rig.w->poller);
}

/* Turns the loop until `what` holds, at most for two seconds. */
#define RIG_UNTIL(what) \
	do { \
		bool done_ = false; \
		for (int turns_ = 0; !(done_ = (what)) && turns_ < 2000; turns_++) \
			rig_run(1); \
		assert_true(done_); \
	} while (0)

static inline uint64_t rig_count(unsigned reason) { return rig.rt.counts[0].reasons[reason]; }
static inline uint64_t rig_open(void) { return rig.rt.counts[0].open_flows; }

static inline void rig_conf(void)
{
	const struct hf_engine_conf tables = {.slot_bits = 16, .max_entries = rig_entries};
	const struct hf_member_conf ts1 = {.name = HF_LIT("ts1"), .weight = 100};
	uint16_t id;

	rig.conf.gateway = (struct hf_conf_gateway){.max_flows = 100, .max_holds = 100};
	rig.pool_conf = (struct hf_conf_pool){.name = "farm", .front = &rig_front, .dial_timeout = 5000, .connections = 1, .keep_alive = 60000};
	rig.choice.pool = &rig.pool_conf;
	rig.service_conf = (struct hf_conf_service){.name = "s", .front = &rig_front, .pool = &rig.pool_conf, .choices = &rig.choice, .n_choices = 1, .listens = &rig.listen_conf, .n_listens = 1, .handshake_timeout = 5000, .idle_timeout = 5000};
	rig.pool_rt.members = calloc(HF_SERVERS_MAX + 1, sizeof *rig.pool_rt.members);
	rig.tables = calloc(1, hf_engine_need(&tables));
	rig.pool_rt.engine = hf_engine_new(&tables, rig.tables, 0);
	assert_non_null(rig.pool_rt.engine);
	assert_int_equal(hf_engine_apply(rig.pool_rt.engine, &ts1, 1, &id, 0), HF_OK);
	rig.rt = (struct service_rt){.name = "s", .id = 1, .front = &rig_front, .counts = aligned_alloc(64, rig_workers * sizeof *rig.rt.counts)};
	assert_non_null(rig.rt.counts);
	memset(rig.rt.counts, 0, rig_workers * sizeof *rig.rt.counts);
}

static inline void rig_snapshot(void)
{
	struct hf_addr any = {.family = 4, .ip = {127, 0, 0, 1}};

	rig.host = sock_listen(&any, true, 0);
	rig.socks = calloc(1, sizeof *rig.socks + sizeof(int));
	rig.socks->fd[0] = sock_listen(&any, true, 0);
	rig.socks->transport = HF_TCP;
	assert_true(rig.host >= 0 && rig.socks->fd[0] >= 0);
	sock_tune(rig.socks->fd[0], rig.pool_conf.keep_alive); /* as listeners.c does */
	rig.socks_list[0] = rig.socks;
	rig.member = (struct snap_member){.id = 1, .transport = HF_TCP, .hash = RIG_MEMBER, .name = "ts1", .addr = sock_local(rig.host)};
	rig.info = (struct hf_listener_info){.hash = 7, .transport = HF_TCP, .addr = sock_local(rig.socks->fd[0])};
	rig.pool = (struct snap_pool){.conf = &rig.pool_conf, .rt = &rig.pool_rt, .members = &rig.member, .n_members = 1,
		.by_id = rig.by_id, .by_hash = rig.by_hash, .by_addr = rig.by_addr, .mask = 15};
	snap_index(&rig.pool);
	rig.pools_list[0] = &rig.pool;
	rig.service = (struct snap_service){.conf = &rig.service_conf, .rt = &rig.rt, .pool = &rig.pool, .pools = rig.pools_list, .infos = &rig.info, .socks = rig.socks_list, .n_infos = 1};
	rig.snap = (struct hf_snapshot){.generation = 1, .conf = &rig.conf, .pools = &rig.pool, .services = &rig.service, .n_pools = 1, .n_services = 1};
}

static inline int rig_up(void **state)
{
	static const struct hf_site site = {.boot = 99};

	(void)state;
	memset(&rig, 0, sizeof rig);
	rig.control = hf_loop_new();
	rig.net = hf_net_new(rig.control, &site, rig_workers, 0);
	assert_non_null(rig.net);
	rig_conf();
	rig_snapshot();
	rig.w = &rig.net->workers[0];
	for (unsigned i = 0; i < rig_workers; i++)
		rig.net->workers[i].snap = &rig.snap;
	rig.listening = (struct listening){.w = rig.w, .socks = rig.socks, .service = 1};
	assert_true(timer_init(&rig.stop, poller_timers(rig.w->poller), rig_stop, rig.w->poller));
	return 0;
}

static inline int rig_down(void **state)
{
	(void)state;
	flows_free(rig.w);
	timer_fini(&rig.stop);
	hf_net_stop(rig.net);
	hf_loop_free(rig.control);
	close(rig.host);
	close(rig.socks->fd[0]);
	free(rig.socks);
	gate_free(&rig.pool_rt.members[1].gate);
	free(rig.pool_rt.members);
	hf_engine_free(rig.pool_rt.engine);
	free(rig.tables);
	free(rig.rt.counts);
	return 0;
}

/* A client of the gateway: connected, and accepted by the worker. */
static inline int rig_client(void)
{
	uint64_t before = rig.rt.counts[0].flows;
	int fd = sock_connect(&rig.info.addr, true, NULL);

	assert_true(fd >= 0);
	for (int i = 0; i < 1000 && rig.rt.counts[0].flows == before; i++) {
		struct pollfd p = {.fd = rig.socks->fd[0], .events = POLLIN};

		poll(&p, 1, 10);
		conn_acceptable(&rig.listening, HF_READ);
	}
	assert_int_equal(rig.rt.counts[0].flows, before + 1);
	return fd;
}

/* The member's end of a connection that the gateway dials. */
static inline int rig_accept(void)
{
	int fd = -1;

	RIG_UNTIL((fd = accept4(rig.host, NULL, NULL, SOCK_NONBLOCK)) >= 0);
	return fd;
}

static inline void rig_say(int fd, const char *text) { assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text)); }

static inline int rig_option(int fd, int level, int name)
{
	int v = -1;
	socklen_t n = sizeof v;

	assert_int_equal(getsockopt(fd, level, name, &v, &n), 0);
	return v;
}

/* Waits for exactly `text`. */
static inline void rig_hear(int fd, const char *text)
{
	char buf[256];
	size_t n = 0, want = strlen(text);

	for (int turns = 0; n < want && turns < 2000; turns++) {
		ssize_t m = recv(fd, buf + n, want - n, MSG_DONTWAIT);

		n += m > 0 ? (size_t)m : 0;
		rig_run(m > 0 ? 0 : 1);
	}
	assert_int_equal(n, want);
	assert_memory_equal(buf, text, want);
}

/* True once the peer's FIN (or reset) has come. */
static inline bool rig_ended(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, 0);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

/* A file in place of each of our polls, which no poll takes for one, or the polls again. */
static inline void rig_break_polls(bool whole)
{
	static int poll[8], kept[8], n;
	char name[64], to[64];
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (; whole && n; n--) {
		dup2(kept[n - 1], poll[n - 1]);
		close(kept[n - 1]);
	}
	for (int fd = 3; !whole && fd < 64 && n < 8; fd++) {
		ssize_t m;

		snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
		m = readlink(name, to, sizeof to);
		if (m != 22 || memcmp(to, "anon_inode:[eventpoll]", 22) != 0)
			continue;
		kept[n] = fcntl(fd, F_DUPFD, 100);
		poll[n++] = fd;
		dup2(file, fd);
	}
	close(file);
}

/* The flow in slot i of the worker. */
static inline struct flow *rig_flow(uint32_t slot)
{
	for (uint32_t g = 1; g < 1000; g++)
		if (flow_find(rig.w, slot, g))
			return flow_find(rig.w, slot, g);
	return NULL;
}

#endif
