/* An open-loop load of SIP transactions through a proxy, and the processor time that the proxy spends on one: a request on, its answer back.
 * It plays callers and servers, over datagrams or connections (tls: the callers' connections only, to a proxy that it believes), and says how long half of the answers took at most. Each Call-ID comes once in a run and again after CALLS others.
 * usage: sipload udp|tcp|tls PROXYPORT SOCKETS RATE SECONDS PIDS SERVERPORT... */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "load.h"
#include "holdfast/bytes.h"

#define CALLS 20000u
#define ROOM 65536u
#define SOCKETS_MAX 256u
#define WARM_S 0.5      /* the proxy's first messages fill caches and open its connections: not measured */
#define SETTLE_US 700000u

struct end { /* a socket of ours, with what has come of the message that is not whole yet */
	int fd;
	bool stream, client, listener;
	int server;            /* its index */
	SSL *ssl;              /* of a caller: one thread writes, another reads, and the library wants one at a time */
	pthread_mutex_t lock;
	size_t n;
	char text[ROOM + 1];
};

static bool tcp, tls;
static unsigned ports[LOAD_SERVERS], n_ports, n_clients, proxy;
static struct end *clients[SOCKETS_MAX];
static unsigned client_port[SOCKETS_MAX];
static atomic_bool stop;
static atomic_long answered, refused, reached, split;
static _Atomic signed char seen_by[CALLS];
static _Atomic double sent_at[CALLS];

static struct end *end_new(int fd)
{
	struct end *e = calloc(1, sizeof *e);

	if (!e)
		load_die("memory");
	e->fd = fd;
	return e;
}

/* As send and recv that do not wait. */
static ssize_t through_tls(struct end *e, void *in, const void *out, size_t n)
{
	int m;

	pthread_mutex_lock(&e->lock);
	m = in ? SSL_read(e->ssl, in, (int)n) : SSL_write(e->ssl, out, (int)n);
	errno = m <= 0 && (SSL_get_error(e->ssl, m) == SSL_ERROR_WANT_READ || SSL_get_error(e->ssl, m) == SSL_ERROR_WANT_WRITE) ? EAGAIN : ECONNRESET;
	pthread_mutex_unlock(&e->lock);
	return m > 0 ? m : -1;
}

static void put(struct end *e, const char *p, size_t n, const struct sockaddr_in *to)
{
	while (n) {
		ssize_t m = e->ssl ? through_tls(e, NULL, p, n) : e->stream ? send(e->fd, p, n, MSG_NOSIGNAL) : sendto(e->fd, p, n, 0, (const struct sockaddr *)to, sizeof *to);

		if (m < 0 && errno == EAGAIN) {
			load_sleep_us(100);
			continue;
		}
		if (m <= 0)
			return;
		p += m;
		n -= (size_t)m;
	}
}

/* ---- the servers ---- */

/* The number of a call of ours; false: it is no message of one. */
static bool call_of(const char *text, uint64_t *n)
{
	const char *id = strstr(text, "\r\nCall-ID: bench-");

	if (!id)
		return false;
	id += strlen("\r\nCall-ID: bench-");
	return hf_read_uint(hf_bytes_of(id, strspn(id, "0123456789")), CALLS - 1, n) == HF_OK;
}

static void check(const struct end *e, const char *text)
{
	signed char none = 0, me = (signed char)(e->server + 1);
	uint64_t n;

	if (!call_of(text, &n))
		return;
	atomic_fetch_add(&reached, 1);
	if (!atomic_compare_exchange_strong(&seen_by[n], &none, me) && none != me)
		atomic_fetch_add(&split, 1);
}

static bool echoed(const char *line)
{
	static const char *const names[] = {"Via:", "Record-Route:", "From:", "Call-ID:", "CSeq:"};

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strncasecmp(line, names[i], strlen(names[i])))
			return true;
	return false;
}

static void answer(struct end *e, const char *text, const char *head_end, const struct sockaddr_in *to)
{
	static _Thread_local char out[ROOM + 256];
	size_t n = (size_t)sprintf(out, "SIP/2.0 200 OK\r\n");

	check(e, text);
	for (const char *line = strstr(text, "\r\n") + 2, *next; line < head_end; line = next) {
		next = strstr(line, "\r\n") + 2;
		if (echoed(line)) {
			memcpy(out + n, line, (size_t)(next - line));
			n += (size_t)(next - line);
		} else if (!strncasecmp(line, "To:", 3)) {
			n += (size_t)sprintf(out + n, "%.*s;tag=%d\r\n", (int)(next - line - 2), line, e->server);
		}
	}
	n += (size_t)sprintf(out + n, "Contact: <sip:s@127.0.0.1:%u%s>\r\nContent-Length: 0\r\n\r\n", ports[e->server], tcp ? ";transport=tcp" : "");
	put(e, out, n, to);
}

/* ---- messages ---- */

static size_t body_length(const char *text, const char *head_end)
{
	const char *p = strstr(text, "\r\nContent-Length:");
	uint64_t n = 0;

	if (!p || p > head_end)
		return 0;
	p += strlen("\r\nContent-Length:");
	p += strspn(p, " ");
	return hf_read_uint(hf_bytes_of(p, strspn(p, "0123456789")), ROOM, &n) == HF_OK ? (size_t)n : 0;
}

static void hear(const char *text)
{
	uint64_t n;

	if (strncmp(text, "SIP/2.0 200", 11) != 0) {
		atomic_fetch_add(&refused, 1);
		return;
	}
	atomic_fetch_add(&answered, 1);
	if (!call_of(text, &n))
		return;
	load_took(load_now() - atomic_load(&sent_at[n]));
}

/* Takes the whole messages that have gathered. */
static void take(struct end *e, const struct sockaddr_in *from)
{
	size_t at = 0;

	e->text[e->n] = 0;
	while (at < e->n) {
		char *text = e->text + at, *head_end = strstr(text, "\r\n\r\n");
		size_t n = head_end ? (size_t)(head_end + 4 - text) + body_length(text, head_end) : SIZE_MAX;

		if (n > e->n - at)
			break;
		if (!e->client)
			answer(e, text, head_end, from);
		else
			hear(text);
		at += n;
	}
	memmove(e->text, e->text + at, e->n - at);
	e->n = e->stream ? e->n - at : 0;
}

static bool receive(struct end *e)
{
	struct sockaddr_in from;
	socklen_t n_from = sizeof from;
	ssize_t n = e->ssl ? through_tls(e, e->text + e->n, NULL, ROOM - e->n) : recvfrom(e->fd, e->text + e->n, ROOM - e->n, MSG_DONTWAIT, (struct sockaddr *)&from, &n_from);

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	e->n += (size_t)n;
	take(e, &from);
	return e->ssl && e->n < ROOM ? receive(e) : true; /* the library may hold more than the socket tells of */
}

static void accept_on(int ep, const struct end *l)
{
	int fd = accept4(l->fd, NULL, NULL, 0);
	struct end *e;

	if (fd < 0)
		return;
	load_nodelay(fd);
	e = end_new(fd);
	e->stream = true;
	e->server = l->server;
	load_watch(ep, fd, EPOLLIN, (uintptr_t)e);
}

static void *serve(void *arg) /* one thread plays the servers, another one hears for the callers */
{
	int ep = *(int *)arg;
	struct epoll_event ev[64];

	while (!atomic_load(&stop)) {
		int n = epoll_wait(ep, ev, 64, 50);

		for (int i = 0; i < n; i++) {
			struct end *e = (struct end *)(uintptr_t)ev[i].data.u64;

			if (e->listener)
				accept_on(ep, e);
			else if (!receive(e)) {
				close(e->fd);
				if (!e->client)
					free(e);
			}
		}
	}
	return NULL;
}

/* ---- the callers ---- */

static void call(unsigned long n)
{
	static const char sdp[] = "v=0\r\no=- 53655765 2353687637 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
		"m=audio 6000 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=sendrecv\r\n";
	unsigned c = (unsigned)(n % n_clients);
	unsigned long id = n % CALLS;
	struct sockaddr_in to = load_addr(proxy);
	char out[2048];
	int len = snprintf(out, sizeof out,
		"INVITE sip:service@127.0.0.1:%u SIP/2.0\r\nVia: SIP/2.0/%s 127.0.0.1:%u;branch=z9hG4bK-%lu-%lu;rport\r\nMax-Forwards: 70\r\n"
		"From: \"Caller %lu\" <sip:caller@example.com>;tag=%lut\r\nTo: <sip:service@example.com>\r\nCall-ID: bench-%lu@127.0.0.1\r\n"
		"CSeq: 1 INVITE\r\nContact: <sip:caller@127.0.0.1:%u>\r\nUser-Agent: bench\r\nAllow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER\r\n"
		"Subject: a call\r\nContent-Type: application/sdp\r\nContent-Length: %zu\r\n\r\n%s",
		proxy, tls ? "TLS" : tcp ? "TCP" : "UDP", client_port[c], id, n, id, id, id, client_port[c], sizeof sdp - 1, sdp);

	atomic_store(&sent_at[id], load_now());
	put(clients[c], out, (size_t)len, &to);
}

static unsigned long calls_for(double rate, double seconds, unsigned long n)
{
	double begin = load_now(), t;

	for (unsigned long first = n; (t = load_now() - begin) < seconds; load_sleep_us(300))
		while (n - first < (unsigned long)(t * rate))
			call(n++);
	load_sleep_us(SETTLE_US);
	return n;
}

static void begin_tls(struct end *e)
{
	static SSL_CTX *ctx;

	if (!ctx && !(ctx = SSL_CTX_new(TLS_client_method())))
		load_die("TLS");
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	pthread_mutex_init(&e->lock, NULL);
	e->ssl = SSL_new(ctx);
	if (!e->ssl || SSL_set_fd(e->ssl, e->fd) != 1 || SSL_connect(e->ssl) != 1)
		load_die("TLS handshake");
	fcntl(e->fd, F_SETFL, O_NONBLOCK);
}

static void open_clients(int ep)
{
	struct sockaddr_in to = load_addr(proxy), me;

	for (unsigned i = 0; i < n_clients; i++) {
		socklen_t n = sizeof me;
		int fd = tcp ? socket(AF_INET, SOCK_STREAM, 0) : load_udp(0);

		if (tcp && connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
			load_die("connect");
		getsockname(fd, (struct sockaddr *)&me, &n);
		client_port[i] = ntohs(me.sin_port);
		clients[i] = end_new(fd);
		clients[i]->stream = tcp;
		clients[i]->client = true;
		if (tcp)
			load_nodelay(fd);
		if (tls)
			begin_tls(clients[i]);
		load_watch(ep, fd, EPOLLIN, (uintptr_t)clients[i]);
	}
}

static void open_servers(int ep)
{
	for (unsigned i = 0; i < n_ports; i++) {
		struct end *e = end_new(tcp ? load_listen(ports[i]) : load_udp(ports[i]));

		e->listener = tcp;
		e->server = (int)i;
		load_watch(ep, e->fd, EPOLLIN, (uintptr_t)e);
	}
}

int main(int argc, char **argv)
{
	int ep[2] = {load_epoll(), load_epoll()};
	struct load_usage before, after;
	unsigned long first, sent;
	pthread_t thread[2];
	double rate, seconds;
	long good;

	if (argc < 8) {
		fprintf(stderr, "usage: sipload udp|tcp|tls PROXYPORT SOCKETS RATE SECONDS PIDS SERVERPORT...\n");
		return 2;
	}
	tls = !strcmp(argv[1], "tls");
	tcp = tls || !strcmp(argv[1], "tcp");
	proxy = (unsigned)load_number(argv[2], 65535);
	n_clients = (unsigned)load_number(argv[3], SOCKETS_MAX);
	rate = (double)load_number(argv[4], 1000000);
	seconds = (double)load_number(argv[5], 60);
	for (int i = 7; i < argc && n_ports < LOAD_SERVERS; i++)
		ports[n_ports++] = (unsigned)load_number(argv[i], 65535);
	open_servers(ep[0]);
	open_clients(ep[1]);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, serve, &ep[i]);
	first = calls_for(rate, WARM_S, 0);
	good = atomic_load(&answered);
	load_forget();
	before = load_usage(argv[6]);
	sent = calls_for(rate, seconds, first) - first;
	after = load_usage(argv[6]);
	good = atomic_load(&answered) - good;
	atomic_store(&stop, true);
	printf("us=%.3f ms=%.2f sent=%lu answered=%ld refused=%ld split=%ld\n", (after.cpu_s - before.cpu_s) * 1e6 / (double)(good ? good : 1), load_median_ms(), sent, good,
		atomic_load(&refused), atomic_load(&split));
	return good ? 0 : 1;
}
