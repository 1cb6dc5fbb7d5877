/* Socket calls and options; see sock.h. Knows no flow, worker or protocol. */
#include "sock.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#define BACKLOG 4096      /* the system cuts it to its own limit */
#define KEEP_PART 3       /* of the silence: from one unanswered keep-alive to the next ... */
#define KEEP_COUNT 4      /* ... and so many unanswered ones end the connection */
#define PATIENCE_MS 30000

socklen_t sock_put_addr(struct sockaddr_storage *ss, const struct hf_addr *a)
{
	if (a->family == 6) {
		struct sockaddr_in6 *s6 = (struct sockaddr_in6 *)ss;

		*s6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(a->port), .sin6_scope_id = a->scope};
		memcpy(&s6->sin6_addr, a->ip, 16);
		return sizeof *s6;
	}
	struct sockaddr_in *s4 = (struct sockaddr_in *)ss;

	*s4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(a->port)};
	memcpy(&s4->sin_addr, a->ip, 4);
	return sizeof *s4;
}

void sock_get_addr(const struct sockaddr_storage *ss, struct hf_addr *a)
{
	memset(a, 0, sizeof *a);
	if (ss->ss_family == AF_INET6) {
		const struct sockaddr_in6 *s6 = (const struct sockaddr_in6 *)ss;

		a->family = 6;
		a->port = ntohs(s6->sin6_port);
		a->scope = s6->sin6_scope_id;
		memcpy(a->ip, &s6->sin6_addr, 16);
	} else if (ss->ss_family == AF_INET) {
		const struct sockaddr_in *s4 = (const struct sockaddr_in *)ss;

		a->family = 4;
		a->port = ntohs(s4->sin_port);
		memcpy(a->ip, &s4->sin_addr, 4);
	}
}

struct hf_addr sock_local(int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t n = sizeof ss;
	struct hf_addr a = {0};

	if (getsockname(fd, (struct sockaddr *)&ss, &n) == 0)
		sock_get_addr(&ss, &a);
	return a;
}

static void set(int fd, int level, int name, int v)
{
	(void)setsockopt(fd, level, name, &v, sizeof v); /* an option that the system lacks costs comfort, not service */
}

static int fail(int fd)
{
	int e = errno;

	close(fd);
	errno = e;
	return -1;
}

int sock_listen(const struct hf_addr *a, bool stream, uint64_t rcvbuf)
{
	struct sockaddr_storage ss;
	socklen_t n = sock_put_addr(&ss, a);
	int fd = socket(ss.ss_family, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	set(fd, SOL_SOCKET, SO_REUSEADDR, stream);
	set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (a->family == 6)
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (!stream) {
		if (rcvbuf) {
			set(fd, SOL_SOCKET, SO_RCVBUF, (int)rcvbuf);
			set(fd, SOL_SOCKET, SO_RCVBUFFORCE, (int)rcvbuf);
		}
		if (hf_addr_is_any(a))
			set(fd, a->family == 6 ? IPPROTO_IPV6 : IPPROTO_IP, a->family == 6 ? IPV6_RECVPKTINFO : IP_PKTINFO, 1);
	}
	if (bind(fd, (struct sockaddr *)&ss, n) != 0 || (stream && listen(fd, BACKLOG) != 0))
		return fail(fd);
	return fd;
}

static int connect_to(const struct hf_addr *a, bool stream, bool speaks, const struct hf_addr *bind_to)
{
	struct sockaddr_storage ss, from;
	socklen_t n = sock_put_addr(&ss, a);
	int fd = socket(ss.ss_family, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (bind_to) {
		socklen_t m = sock_put_addr(&from, bind_to);

		set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1); /* a port may serve several, towards different ends */
		if (bind(fd, (struct sockaddr *)&from, m) != 0)
			return fail(fd);
	}
	if (speaks)
		set(fd, IPPROTO_TCP, TCP_QUICKACK, 0);
	if (connect(fd, (struct sockaddr *)&ss, n) != 0 && errno != EINPROGRESS)
		return fail(fd);
	return fd;
}

int sock_connect(const struct hf_addr *a, bool stream, const struct hf_addr *bind_to) { return connect_to(a, stream, false, bind_to); }

int sock_dial(const struct hf_addr *a, const struct hf_addr *from)
{
	struct hf_addr at = from ? *from : (struct hf_addr){0};
	int fd;

	at.port = 0;
	fd = connect_to(a, true, true, from ? &at : NULL);
	if (fd < 0 && from && (errno == EINVAL || errno == EADDRNOTAVAIL || errno == ENETUNREACH))
		fd = connect_to(a, true, true, NULL);
	return fd;
}

bool sock_want(int e) { return e == EMFILE || e == ENFILE || e == ENOMEM || e == ENOBUFS || e == EADDRNOTAVAIL; }

int sock_error(int fd)
{
	int e = 0;
	socklen_t n = sizeof e;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) == 0 ? e : errno;
}

void sock_tune(int fd, uint64_t keep_ms)
{
	int s = (int)((keep_ms + 999) / 1000);

	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (s) { /* before the keep-alive itself, which sets a timer by them */
		set(fd, IPPROTO_TCP, TCP_KEEPIDLE, s);
		set(fd, IPPROTO_TCP, TCP_KEEPINTVL, s / KEEP_PART ? s / KEEP_PART : 1);
		set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT);
	}
	set(fd, SOL_SOCKET, SO_KEEPALIVE, s != 0);
}

void sock_ack(int fd) { set(fd, IPPROTO_TCP, TCP_QUICKACK, 1); }
void sock_patience(int fd) { set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, PATIENCE_MS); }

void sock_reset(int fd)
{
	struct linger l = {1, 0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
}

bool sock_source_for(const struct hf_addr *to, struct hf_addr *out)
{
	int fd = sock_connect(to, false, NULL);

	if (fd < 0)
		return false;
	*out = sock_local(fd);
	close(fd);
	return out->family != 0;
}

unsigned sock_own(uint8_t family, struct hf_addr *out, unsigned cap)
{
	struct ifaddrs *list, *i;
	unsigned n = 0;

	if (getifaddrs(&list) != 0)
		return 0;
	for (i = list; i && n < cap; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != (family == 6 ? AF_INET6 : AF_INET))
			continue;
		struct sockaddr_storage ss = {0};

		memcpy(&ss, i->ifa_addr, family == 6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
		sock_get_addr(&ss, &out[n]);
		out[n++].scope = 0;
	}
	freeifaddrs(list);
	return n;
}
