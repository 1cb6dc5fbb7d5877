/* Datagrams in batches: recvmmsg in, through deliver, sendmmsg out. One set of buffers a worker.
 * A batch goes out before the next comes in, so a reply never waits and replies keep the order of arrival. */
#include "udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "holdfast/clock.h"
#include "lend.h"
#include "path.h"
#include "sock.h"

#define BATCH_IN UDP_BATCH
#define ROUNDS 8           /* batches a socket gets before the others' turn */
#define BATCH_OUT 64
#define OUT_ROOM (512u * 1024) /* composed octets of a batch */
#define CONTROL 64         /* octets of ancillary data: one in6_pktinfo */

struct out {
	int fd;
	struct service_rt *rt;
	struct sockaddr_storage to;
	struct iovec iov;
	uint8_t control[CONTROL] __attribute__((aligned(8)));
};

struct udp {
	uint8_t *in, *room;    /* mapped: untouched pages cost nothing */
	struct mmsghdr in_msg[BATCH_IN];
	struct iovec in_iov[BATCH_IN];
	struct sockaddr_storage in_from[BATCH_IN];
	uint8_t in_control[BATCH_IN][CONTROL] __attribute__((aligned(8)));
	struct mmsghdr out_msg[BATCH_OUT];
	struct out out[BATCH_OUT];
	unsigned n_out;
	size_t room_used;
	unsigned ready;        /* of in_msg, the first that are as prepare leaves them */
	bool wildcard;         /* for a socket of this kind */
};

/* From one datagram's place to the next: room for the longest and one octet more, which tells that it was longer; and 17 lines of the cache, as places that
 * are a power of two apart would all be in the same few lines of it. */
#define STEP_IN (NET_DATAGRAM + 1 + 17 * 64)
#define IN_OCTETS ((size_t)BATCH_IN * STEP_IN)

static void *map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct udp *udp_new(void)
{
	struct udp *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->in = map(IN_OCTETS);
	u->room = map(OUT_ROOM);
	if (u->in && u->room)
		return u;
	udp_free(u);
	return NULL;
}

void udp_free(struct udp *u)
{
	if (!u)
		return;
	if (u->in)
		munmap(u->in, IN_OCTETS);
	if (u->room)
		munmap(u->room, OUT_ROOM);
	free(u);
}

/* ---- in ---- */

/* Only what the last batch has used is set anew. */
static void prepare(struct udp *u, bool wildcard)
{
	unsigned used = u->wildcard == wildcard ? BATCH_IN - u->ready : BATCH_IN;

	u->wildcard = wildcard;
	u->ready = BATCH_IN;
	for (unsigned i = 0; i < used; i++) {
		u->in_iov[i] = (struct iovec){u->in + i * STEP_IN, NET_DATAGRAM + 1};
		u->in_msg[i].msg_hdr = (struct msghdr){
			.msg_name = &u->in_from[i], .msg_namelen = sizeof u->in_from[i], .msg_iov = &u->in_iov[i], .msg_iovlen = 1,
			.msg_control = wildcard ? u->in_control[i] : NULL, .msg_controllen = wildcard ? CONTROL : 0};
	}
}

/* Where a datagram on a wildcard socket arrived (IP_PKTINFO). */
static void arrived(struct msghdr *m, struct hf_addr *local)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo i;

			memcpy(&i, CMSG_DATA(c), sizeof i);
			local->family = 4;
			memcpy(local->ip, &i.ipi_addr, 4);
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo i;

			memcpy(&i, CMSG_DATA(c), sizeof i);
			local->family = 6;
			memcpy(local->ip, &i.ipi6_addr, 16);
		}
	}
}

static void take(struct listening *l, const struct snap_service *s, struct mmsghdr *m, const uint8_t *octets)
{
	const struct hf_listener_info *info = &s->infos[l->at];
	struct hf_addr source, local = info->addr;

	sock_get_addr(m->msg_hdr.msg_name, &source);
	if (m->msg_hdr.msg_flags & MSG_TRUNC || m->msg_len > NET_DATAGRAM) {
		worker_count(l->w, s->rt, HF_R_TRUNCATED);
		return;
	}
	if (info->wildcard)
		arrived(&m->msg_hdr, &local);
	if (!s->rt->front->datagram_flows || !path_take(l, s, hf_bytes_of(octets, m->msg_len), &source, &local))
		deliver_datagram(l->w, s, l->at, hf_bytes_of(octets, m->msg_len), &source, &local);
}

/* What has come to a socket, as much as a turn may take: how many. True: there is more. */
static bool read_socket(struct listening *l, const struct snap_service *s, int fd, unsigned *got)
{
	struct worker *w = l->w;
	struct udp *u = w->udp;
	int n = BATCH_IN;

	for (int round = 0; round < ROUNDS && n == BATCH_IN; round++) {
		prepare(u, s->infos[l->at].wildcard);
		n = recvmmsg(fd, u->in_msg, BATCH_IN, 0, NULL);
		worker_clock(w);
		*got += n > 0 ? (unsigned)n : 0;
		u->ready -= n > 0 ? (unsigned)n : 0;
		if (letter_any(&w->box))
			deliver_letters(w); /* a note may be about what a datagram is about */
		for (int i = 0; i < n; i++)
			take(l, s, &u->in_msg[i], u->in + (size_t)i * STEP_IN);
		worker_flush(w);
	}
	return n == BATCH_IN;
}

void udp_readable(void *arg, unsigned what)
{
	struct listening *l = arg;
	struct worker *w = l->w;
	const struct snap_service *s = snap_service(w->snap, l->service);
	unsigned got = 0;
	bool more;

	(void)what;
	HF_BUG_ON(!s);
	more = read_socket(l, s, l->socks->fd[w->index], &got);
	for (unsigned i = 1; w->index == 0 && i < w->net->n_workers; i++)
		if (lend_is_lent(l, i))
			more |= read_socket(l, s, l->socks->fd[i], &got);
	gather_turn(l, got, more);
	pressure_turn(l, more);
	lend_turn(l, s);
}

int udp_fetch(struct worker *w, int fd, struct hf_bytes got[UDP_BATCH])
{
	struct udp *u = w->udp;
	int n;

	prepare(u, false);
	n = recvmmsg(fd, u->in_msg, BATCH_IN, MSG_DONTWAIT, NULL);
	u->ready -= n > 0 ? (unsigned)n : 0;
	for (int i = 0; i < n; i++)
		got[i] = hf_bytes_of(u->in_iov[i].iov_base, u->in_msg[i].msg_len);
	return n;
}

/* ---- out ---- */

size_t udp_compose(uint8_t *out, size_t cap, struct hf_bytes base, const struct hf_splice *splices, unsigned n)
{
	struct hf_writer w = hf_writer_on(out, cap);
	size_t at = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct hf_splice *s = &splices[i];

		if (s->at < at || s->at > base.n || s->cut > base.n - s->at)
			return 0;
		hf_w_mem(&w, base.p + at, s->at - at);
		hf_w_bytes(&w, s->put);
		at = s->at + s->cut;
	}
	hf_w_mem(&w, base.p ? base.p + at : NULL, base.n - at);
	return w.full ? 0 : w.n;
}

/* The source address of a datagram from a wildcard socket. */
static size_t put_source(uint8_t *control, const struct hf_addr *from)
{
	struct cmsghdr *c = (struct cmsghdr *)control;

	memset(control, 0, CONTROL);
	if (from->family == 6) {
		struct in6_pktinfo i = {0};

		memcpy(&i.ipi6_addr, from->ip, 16);
		*c = (struct cmsghdr){.cmsg_level = IPPROTO_IPV6, .cmsg_type = IPV6_PKTINFO, .cmsg_len = CMSG_LEN(sizeof i)};
		memcpy(CMSG_DATA(c), &i, sizeof i);
		return CMSG_SPACE(sizeof i);
	}
	struct in_pktinfo i = {0};

	memcpy(&i.ipi_spec_dst, from->ip, 4);
	*c = (struct cmsghdr){.cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO, .cmsg_len = CMSG_LEN(sizeof i)};
	memcpy(CMSG_DATA(c), &i, sizeof i);
	return CMSG_SPACE(sizeof i);
}

enum hf_err udp_send(struct worker *w, const struct snap_service *s, unsigned at, const struct hf_addr *to, const struct hf_addr *from, struct hf_bytes base,
	const struct hf_splice *splices, unsigned n_splices)
{
	struct udp *u = w->udp;
	struct out *o;
	struct msghdr *m;

	if (u->n_out == BATCH_OUT || OUT_ROOM - u->room_used < NET_DATAGRAM)
		udp_flush(w);
	o = &u->out[u->n_out];
	m = &u->out_msg[u->n_out].msg_hdr;
	o->iov.iov_base = u->room + u->room_used;
	o->iov.iov_len = udp_compose(o->iov.iov_base, NET_DATAGRAM, base, splices, n_splices);
	if (o->iov.iov_len == 0)
		return HF_EFULL;
	o->fd = s->socks[at]->fd[w->index];
	o->rt = s->rt;
	*m = (struct msghdr){.msg_name = &o->to, .msg_namelen = sock_put_addr(&o->to, to), .msg_iov = &o->iov, .msg_iovlen = 1};
	if (from && from->family == to->family && s->infos[at].wildcard) {
		m->msg_control = o->control;
		m->msg_controllen = put_source(o->control, from);
	}
	u->room_used += o->iov.iov_len;
	u->n_out++;
	return HF_OK;
}

void udp_pass(struct worker *w, struct service_rt *rt, int fd, struct hf_bytes bytes)
{
	struct udp *u = w->udp;
	struct out *o;

	if (u->n_out == BATCH_OUT || OUT_ROOM - u->room_used < bytes.n)
		udp_flush(w);
	o = &u->out[u->n_out];
	o->iov = (struct iovec){u->room + u->room_used, bytes.n};
	memcpy(o->iov.iov_base, bytes.p, bytes.n);
	o->fd = fd;
	o->rt = rt;
	u->out_msg[u->n_out++].msg_hdr = (struct msghdr){.msg_iov = &o->iov, .msg_iovlen = 1};
	u->room_used += bytes.n;
}

/* Sends a run of messages of one socket. A message that the system refuses is counted and passed over: the others go. */
static void flush_run(struct worker *w, unsigned from, unsigned to)
{
	struct udp *u = w->udp;

	while (from < to) {
		int n = sendmmsg(u->out[from].fd, &u->out_msg[from], to - from, 0);

		if (n > 0) {
			from += (unsigned)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		worker_count(w, u->out[from].rt, errno == EAGAIN || errno == ENOBUFS ? HF_R_SEND_FULL : HF_R_NO_ROUTE);
		from++;
	}
}

void udp_flush(struct worker *w)
{
	struct udp *u = w->udp;
	unsigned from = 0;

	for (unsigned i = 1; i <= u->n_out; i++)
		if (i == u->n_out || u->out[i].fd != u->out[from].fd) {
			flush_run(w, from, i);
			from = i;
		}
	u->n_out = 0;
	u->room_used = 0;
}
