/* The least that a proxy can cost on this machine: it forwards and knows nothing. What a real one costs above this is its own.
 *   floor udp PORT SERVERPORT...              datagrams in batches; a socket towards the servers for each client
 *   floor copy|splice PORT SERVERPORT...      connections: through one buffer of 64 KiB, or through pipes of 1 MiB */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

#define BATCH 32
#define ROOM 2048u       /* of a datagram of our own load */
#define PEERS 256
#define FDS 65536
#define CHUNK (64u * 1024)
#define PIPE (1 << 20)

static unsigned ports[LOAD_SERVERS], n_ports, turn;
static int ep;

/* ---- datagrams ---- */

static struct peer { int fd; struct sockaddr_in addr; } peers[PEERS];
static unsigned n_peers;
static char room[BATCH][ROOM];
static struct sockaddr_in from[BATCH];
static struct iovec iov[BATCH];
static struct mmsghdr msg[BATCH];

static struct peer *peer_of(const struct sockaddr_in *a)
{
	for (unsigned i = 0; i < n_peers; i++)
		if (peers[i].addr.sin_port == a->sin_port)
			return &peers[i];
	if (n_peers == PEERS)
		exit(2);
	peers[n_peers] = (struct peer){load_udp(0), *a};
	load_watch(ep, peers[n_peers].fd, EPOLLIN, n_peers);
	return &peers[n_peers++];
}

static int receive(int fd)
{
	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){room[i], ROOM};
		msg[i].msg_hdr = (struct msghdr){.msg_name = &from[i], .msg_namelen = sizeof from[i], .msg_iov = &iov[i], .msg_iovlen = 1};
	}
	return recvmmsg(fd, msg, BATCH, MSG_DONTWAIT, NULL);
}

static void from_clients(int fd)
{
	int n = receive(fd);

	for (int i = 0; i < n; i++) {
		struct peer *p = peer_of(&from[i]);

		from[i] = load_addr(ports[turn++ % n_ports]);
		if (sendto(p->fd, room[i], msg[i].msg_len, 0, (struct sockaddr *)&from[i], sizeof from[i]) < 0)
			continue;
	}
}

static void from_servers(int fd, const struct peer *p)
{
	int n = receive(p->fd), sent = 0, m;

	for (int i = 0; i < n; i++) {
		from[i] = p->addr;
		iov[i].iov_len = msg[i].msg_len;
	}
	for (; sent < n; sent += m)
		if ((m = sendmmsg(fd, msg + sent, (unsigned)(n - sent), 0)) <= 0)
			return;
}

static void datagrams(unsigned port)
{
	int fd = load_udp(port);
	struct epoll_event ev[64];

	load_watch(ep, fd, EPOLLIN, PEERS);
	for (;;)
		for (int i = 0, n = epoll_wait(ep, ev, 64, -1); i < n; i++) {
			if (ev[i].data.u64 == PEERS)
				from_clients(fd);
			else
				from_servers(fd, &peers[ev[i].data.u64]);
		}
}

/* ---- connections ---- */

struct way { int other, in, out; size_t n; }; /* by the descriptor that is read; in, out: its pipe, while n octets are in it */
static struct way way[FDS];
static bool by_pipe;
static int spare[2] = {-1, -1};
static char chunk[CHUNK];

static void finish(int fd)
{
	int other = way[fd].other;

	close(fd);
	close(other);
}

static void borrow(struct way *w)
{
	int p[2] = {spare[0], spare[1]};

	if (w->in)
		return;
	if (p[0] < 0 && (pipe2(p, O_NONBLOCK) != 0 || fcntl(p[0], F_SETPIPE_SZ, PIPE) < 0))
		load_die("pipe");
	spare[0] = spare[1] = -1;
	w->out = p[0];
	w->in = p[1];
}

static void give_back(struct way *w)
{
	if (spare[0] < 0) {
		spare[0] = w->out;
		spare[1] = w->in;
	} else {
		close(w->out);
		close(w->in);
	}
	w->in = w->out = 0;
}

static void by_splice(int fd)
{
	struct way *w = &way[fd];
	ssize_t n = -1, m;

	borrow(w);
	if (!w->n)
		n = splice(fd, NULL, w->in, NULL, PIPE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	w->n += n > 0 ? (size_t)n : 0;
	m = w->n ? splice(w->out, NULL, w->other, NULL, w->n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK) : 0;
	w->n -= m > 0 ? (size_t)m : 0;
	if (w->n) { /* the other side is full: nothing more is read until it is not */
		load_rewatch(ep, w->other, EPOLLIN | EPOLLOUT, (uint64_t)w->other);
		load_rewatch(ep, fd, 0, (uint64_t)fd);
		return;
	}
	give_back(w);
	if (n == 0)
		finish(fd);
}

static void by_copy(int fd)
{
	ssize_t n = recv(fd, chunk, CHUNK, 0), m;

	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		finish(fd);
		return;
	}
	for (ssize_t at = 0; at < n; at += m)
		if ((m = send(way[fd].other, chunk + at, (size_t)(n - at), MSG_NOSIGNAL)) < 0 && errno == EAGAIN)
			m = 0; /* a floor may spin: it has one bulk flow */
		else if (m < 0)
			return;
}

static void join(int client)
{
	struct sockaddr_in to = load_addr(ports[turn++ % n_ports]);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (server < 0 || client >= FDS || server >= FDS || (connect(server, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS))
		load_die("connect");
	load_nodelay(client);
	load_nodelay(server);
	way[client] = (struct way){.other = server};
	way[server] = (struct way){.other = client};
	load_watch(ep, client, EPOLLIN, (uint64_t)client);
	load_watch(ep, server, EPOLLIN, (uint64_t)server);
}

static void ready(int fd, uint32_t what)
{
	if (what & EPOLLOUT) {
		load_rewatch(ep, fd, EPOLLIN, (uint64_t)fd);
		load_rewatch(ep, way[fd].other, EPOLLIN, (uint64_t)way[fd].other);
		by_splice(way[fd].other);
	} else if (by_pipe) {
		by_splice(fd);
	} else {
		by_copy(fd);
	}
}

static void connections(unsigned port)
{
	int listener = load_listen(port), fd;
	struct epoll_event ev[64];

	load_watch(ep, listener, EPOLLIN, (uint64_t)listener);
	for (;;)
		for (int i = 0, n = epoll_wait(ep, ev, 64, -1); i < n; i++) {
			if (ev[i].data.u64 != (uint64_t)listener)
				ready((int)ev[i].data.u64, ev[i].events);
			else while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0)
				join(fd);
		}
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: floor udp|copy|splice PORT SERVERPORT...\n");
		return 2;
	}
	ep = load_epoll();
	for (int i = 3; i < argc && n_ports < LOAD_SERVERS; i++)
		ports[n_ports++] = (unsigned)load_number(argv[i], 65535);
	by_pipe = !strcmp(argv[1], "splice");
	if (!strcmp(argv[1], "udp"))
		datagrams((unsigned)load_number(argv[2], 65535));
	connections((unsigned)load_number(argv[2], 65535));
	return 0;
}
