/* Desktops through a proxy, and what they cost it. The program plays the clients and the hosts.
 *   rdpload open PROXYPORT CONNECTIONS PARALLEL PIDS SERVERPORT...   request, confirm, end: microseconds a connection
 *   rdpload fetch PROXYPORT MEGABYTES SESSIONS PIDS SERVERPORT...    one session after the other, which receives so much and ends: seconds a
 *                                                                    gigabyte, and how much a second comes through
 *   rdpload bulk PROXYPORT MEGABYTES FLOWS PIDS SERVERPORT...        hosts send so much over each flow: seconds a gigabyte
 *   rdpload held PROXYPORT FLOWS RATE SECONDS PIDS SERVERPORT...     100 octets there and back, RATE a second in all: microseconds
 *                                                                    a round trip, and resident KB a held flow
 * open and held also say how long half of the confirms and round trips took at most. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

#define FDS 65536
#define USERS 1000u    /* a farm's worth: most connections are reconnects */
#define SMALL 100u     /* octets of a key press or a small update */
#define CONFIRM 19
#define BLOCK (256u * 1024)
#define PATIENCE_S 30.0

static unsigned ports[LOAD_SERVERS], n_ports, proxy;
static const char *pids;
static uint64_t bulk;              /* octets a flow */
static atomic_bool stop;
static atomic_long split;
static _Atomic signed char host_of[USERS];
static uint64_t left[FDS];         /* host's side: octets still to send */
static bool greeted[FDS];
static double asked_at[FDS];       /* client's side: since when it waits */
static char host_buf[BLOCK], client_buf[BLOCK];

/* ---- the hosts ---- */

static void greet(int fd, int host, const char *text, size_t n)
{
	static const uint8_t confirm[CONFIRM] = {3, 0, 0, CONFIRM, 14, 0xd0, 0, 0, 0x12, 0x34, 0, 2, 0x1f, 8, 0, 1, 0, 0, 0};
	signed char none = 0, me = (signed char)(host + 1);
	unsigned user = 0;

	for (size_t i = 0; i + 4 < n; i++)
		if (text[i] == '=' && text[i + 1] == 'u')
			for (i += 2; i < n && text[i] >= '0' && text[i] <= '9'; i++)
				user = (user * 10 + (unsigned)(text[i] - '0')) % USERS;
	if (!atomic_compare_exchange_strong(&host_of[user], &none, me) && none != me)
		atomic_fetch_add(&split, 1);
	greeted[fd] = true;
	if (send(fd, confirm, CONFIRM, MSG_NOSIGNAL) == CONFIRM)
		left[fd] = bulk;
}

static void push(int ep, int fd, uint64_t data)
{
	while (left[fd]) {
		ssize_t n = send(fd, host_buf, left[fd] < BLOCK ? (size_t)left[fd] : BLOCK, MSG_NOSIGNAL);

		if (n < 0) {
			if (errno == EAGAIN)
				load_rewatch(ep, fd, EPOLLIN | EPOLLOUT, data);
			return;
		}
		left[fd] -= (uint64_t)n;
	}
	load_rewatch(ep, fd, EPOLLIN, data);
}

static void host_event(int ep, int fd, int host, uint32_t what, uint64_t data)
{
	char text[4096];
	ssize_t n = what & EPOLLIN ? recv(fd, text, sizeof text, 0) : -1;

	if (n == 0 || (what & EPOLLIN && n < 0 && errno != EAGAIN)) {
		close(fd);
		return;
	}
	if (n > 0 && !greeted[fd])
		greet(fd, host, text, (size_t)n);
	else if (n > 0 && send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		return;
	if (left[fd])
		push(ep, fd, data);
}

static void host_accept(int ep, int listener, unsigned host)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		if (fd >= FDS) {
			close(fd);
			continue;
		}
		load_nodelay(fd);
		greeted[fd] = false;
		left[fd] = 0;
		load_watch(ep, fd, EPOLLIN, (uint64_t)host << 32 | (uint32_t)fd);
	}
}

static void *hosts(void *arg)
{
	int ep = *(int *)arg;
	struct epoll_event ev[256];

	while (!atomic_load(&stop)) {
		int n = epoll_wait(ep, ev, 256, 50);

		for (int i = 0; i < n; i++) {
			int fd = (int)(uint32_t)ev[i].data.u64;
			unsigned host = (unsigned)(ev[i].data.u64 >> 32);

			if (host >= n_ports)
				host_accept(ep, fd, host - n_ports);
			else
				host_event(ep, fd, (int)host, ev[i].events, ev[i].data.u64);
		}
	}
	return NULL;
}

/* ---- the clients ---- */

static bool ask(int fd, unsigned user)
{
	uint8_t cr[80];
	int n = 11 + snprintf((char *)cr + 11, sizeof cr - 11, "Cookie: mstshash=u%u\r\n", user);

	memcpy(cr, (const uint8_t[]){3, 0, 0, 0, 0, 0xe0, 0, 0, 0, 0, 0}, 11);
	memcpy(cr + n, (const uint8_t[]){1, 0, 8, 0, 3, 0, 0, 0}, 8);
	n += 8;
	cr[3] = (uint8_t)n;
	cr[4] = (uint8_t)(n - 5);
	return send(fd, cr, (size_t)n, MSG_NOSIGNAL) == n;
}

/* A connection that has sent its request; -1: none. */
static int client(unsigned user)
{
	struct sockaddr_in to = load_addr(proxy);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd >= 0 && fd < FDS)
		asked_at[fd] = load_now();
	if (fd >= 0 && fd < FDS && connect(fd, (struct sockaddr *)&to, sizeof to) == 0 && ask(fd, user)) {
		load_nodelay(fd);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int open_desktops(unsigned long count, unsigned parallel)
{
	int ep = load_epoll();
	unsigned long begun = 0, done = 0, failed = 0;
	double begin = load_now();
	struct load_usage before = load_usage(pids), after;
	struct epoll_event ev[64];

	while (done + failed < count && load_now() - begin < PATIENCE_S) {
		while (begun < count && begun - done - failed < parallel) {
			int fd = client((unsigned)(begun++ % USERS));

			if (fd < 0)
				failed++;
			else
				load_watch(ep, fd, EPOLLIN, (uint64_t)fd);
		}
		for (int i = 0, n = epoll_wait(ep, ev, 64, 50); i < n; i++) {
			int fd = (int)ev[i].data.u64;
			bool good = recv(fd, client_buf, CONFIRM, 0) == CONFIRM;

			load_took(load_now() - asked_at[fd]);
			done += good;
			failed += !good;
			close(fd);
		}
	}
	load_sleep_us(200000); /* the proxy sees the last ones end */
	after = load_usage(pids);
	printf("us=%.3f ms=%.2f done=%lu failed=%lu split=%ld\n", (after.cpu_s - before.cpu_s) * 1e6 / (double)(done ? done : 1), load_median_ms(), done, failed,
		atomic_load(&split));
	return done ? 0 : 1;
}

static int bulk_flows(unsigned flows)
{
	int ep = load_epoll();
	unsigned open = 0;
	uint64_t got = 0;
	double begin = load_now();
	struct load_usage before = load_usage(pids), after;
	struct epoll_event ev[64];

	for (unsigned i = 0; i < flows; i++) {
		int fd = client(i);

		if (fd < 0)
			continue;
		load_watch(ep, fd, EPOLLIN, (uint64_t)fd);
		open++;
	}
	while (got < open * (bulk + CONFIRM) && load_now() - begin < PATIENCE_S)
		for (int i = 0, n = epoll_wait(ep, ev, 64, 50); i < n; i++) {
			ssize_t m = recv((int)ev[i].data.u64, client_buf, BLOCK, MSG_DONTWAIT);

			if (m > 0)
				got += (uint64_t)m;
			else if (m == 0)
				close((int)ev[i].data.u64);
		}
	begin = load_now() - begin;
	after = load_usage(pids);
	printf("s=%.4f octets=%llu of=%llu mb_s=%.0f\n", (after.cpu_s - before.cpu_s) * 1e9 / (double)(got ? got : 1), (unsigned long long)got,
		(unsigned long long)(flows * (bulk + CONFIRM)), (double)got / 1e6 / begin);
	return got ? 0 : 1;
}

/* All that comes over a session until its end or for lack of patience. */
static uint64_t receive(int fd)
{
	struct timeval patience = {.tv_sec = 5};
	uint64_t got = 0;
	ssize_t m = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	while (got < bulk + CONFIRM && (m = recv(fd, client_buf, BLOCK, 0)) > 0)
		got += (uint64_t)m;
	return got;
}

static int fetch(unsigned sessions)
{
	uint64_t got = 0;
	double begin = load_now();
	struct load_usage before = load_usage(pids), after;

	for (unsigned i = 0; i < sessions && load_now() - begin < PATIENCE_S; i++) {
		int fd = client(i);

		if (fd < 0)
			continue;
		got += receive(fd);
		close(fd);
	}
	begin = load_now() - begin;
	load_sleep_us(200000); /* the proxy sees the last one end */
	after = load_usage(pids);
	printf("s=%.4f mb_s=%.0f octets=%llu of=%llu\n", (after.cpu_s - before.cpu_s) * 1e9 / (double)(got ? got : 1), (double)got / 1e6 / begin, (unsigned long long)got,
		(unsigned long long)(sessions * (bulk + CONFIRM)));
	return got ? 0 : 1;
}

static unsigned hold(int ep, int *fd, unsigned flows)
{
	unsigned up = 0;

	for (unsigned i = 0; i < flows; i++) {
		int c = client(i);

		if (c < 0)
			continue;
		if (recv(c, client_buf, CONFIRM, MSG_WAITALL) == CONFIRM) {
			load_watch(ep, c, EPOLLIN, (uint64_t)c);
			fd[up++] = c;
		}
	}
	return up;
}

static int held_flows(unsigned flows, double rate, double seconds)
{
	int ep = load_epoll(), *fd = calloc(flows + 1, sizeof *fd);
	struct load_usage empty = load_usage(pids), before, after;
	unsigned up = hold(ep, fd, flows), at = 0;
	uint64_t got = 0, trips;
	unsigned long sent = 0;
	struct epoll_event ev[256];
	double begin, t;

	if (!up)
		return 1;
	load_sleep_us(500000);
	before = load_usage(pids);
	begin = load_now();
	while ((t = load_now() - begin) < seconds) {
		for (; sent < (unsigned long)(t * rate); sent++) {
			at = (at + 7919) % up; /* not one neighbour after the other */
			if (send(fd[at], host_buf, SMALL, MSG_NOSIGNAL) != SMALL)
				return 1;
			asked_at[fd[at]] = load_now();
		}
		for (int i = 0, n = epoll_wait(ep, ev, 256, 1); i < n; i++) {
			ssize_t m = recv((int)ev[i].data.u64, client_buf, BLOCK, MSG_DONTWAIT);

			got += m > 0 ? (uint64_t)m : 0;
			load_took(load_now() - asked_at[(int)ev[i].data.u64]);
		}
	}
	after = load_usage(pids);
	trips = got / SMALL;
	printf("us=%.3f kb=%.3f ms=%.2f flows=%u trips=%llu sent=%lu\n", (after.cpu_s - before.cpu_s) * 1e6 / (double)(trips ? trips : 1),
		(before.rss_kb - empty.rss_kb) / up, load_median_ms(), up, (unsigned long long)trips, sent);
	return trips ? 0 : 1;
}

/* ---- */

static void begin(int argc, char **argv, int at)
{
	static int ep;
	pthread_t thread;

	pids = argv[at++];
	ep = load_epoll();
	while (at < argc && n_ports < LOAD_SERVERS)
		ports[n_ports++] = (unsigned)load_number(argv[at++], 65535);
	for (unsigned i = 0; i < n_ports; i++) {
		int fd = load_listen(ports[i]);

		load_watch(ep, fd, EPOLLIN, (uint64_t)(n_ports + i) << 32 | (uint32_t)fd);
	}
	if (pthread_create(&thread, NULL, hosts, &ep) != 0)
		load_die("thread");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 6 ? argv[1] : "";
	uint64_t n[3];

	for (int i = 0; i < 3 && *mode; i++)
		n[i] = i < 2 + !strcmp(mode, "held") ? load_number(argv[3 + i], 1000000) : 0;
	if (*mode)
		proxy = (unsigned)load_number(argv[2], 65535);
	if (!strcmp(mode, "open")) {
		begin(argc, argv, 5);
		return open_desktops((unsigned long)n[0], (unsigned)n[1]);
	}
	if (!strcmp(mode, "bulk")) {
		bulk = n[0] * 1000000;
		begin(argc, argv, 5);
		return bulk_flows((unsigned)n[1]);
	}
	if (!strcmp(mode, "fetch")) {
		bulk = n[0] * 1000000;
		begin(argc, argv, 5);
		return fetch((unsigned)n[1]);
	}
	if (!strcmp(mode, "held") && argc > 7) {
		begin(argc, argv, 6);
		return held_flows((unsigned)n[0], (double)n[1], (double)n[2]);
	}
	fprintf(stderr, "usage: rdpload open|fetch|bulk|held PROXYPORT ... PIDS SERVERPORT... (see the head of rdpload.c)\n");
	return 2;
}
