/* The export of messages; see export.h. The form is the HEP3 network protocol specification, revision 12 (sipcapture.org): "HEP3", the length of all,
 * then chunks of vendor, type, length and value, big-endian. */
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holdfast/clock.h"
#include "sock.h"
#include "udp.h"

#define BATCH 32                 /* packets a call */
#define ROOM (256u * 1024)       /* octets of a batch */
#define PACKET 65507u            /* octets that an UDP datagram can hold */

enum chunk {
	CHUNK_FAMILY = 1, CHUNK_PROTOCOL, CHUNK_FROM4, CHUNK_TO4, CHUNK_FROM6, CHUNK_TO6, CHUNK_FROM_PORT, CHUNK_TO_PORT, CHUNK_SECONDS, CHUNK_MICROS, CHUNK_TYPE,
	CHUNK_AGENT, CHUNK_PASSWORD = 14, CHUNK_PAYLOAD, CHUNK_CORRELATION = 17
};
enum { FAMILY_IPV4 = 2, FAMILY_IPV6 = 10, PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, HEAD = 6 };

/* ---- a packet ---- */

static void head(struct hf_writer *w, enum chunk type, size_t n)
{
	hf_w_u16(w, 0); /* of no vendor */
	hf_w_u16(w, (uint16_t)type);
	hf_w_u16(w, (uint16_t)(HEAD + n));
}

static void put8(struct hf_writer *w, enum chunk type, uint8_t v)
{
	head(w, type, 1);
	hf_w_u8(w, v);
}

static void put16(struct hf_writer *w, enum chunk type, uint16_t v)
{
	head(w, type, 2);
	hf_w_u16(w, v);
}

static void put32(struct hf_writer *w, enum chunk type, uint32_t v)
{
	head(w, type, 4);
	hf_w_u32(w, v);
}

static void put(struct hf_writer *w, enum chunk type, struct hf_bytes v)
{
	head(w, type, v.n);
	hf_w_bytes(w, v);
}

static void put_addresses(struct hf_writer *w, const struct export_message *m)
{
	bool six = m->from.family == 6 || m->to.family == 6;
	size_t n = six ? 16 : 4;

	put8(w, CHUNK_FAMILY, six ? FAMILY_IPV6 : FAMILY_IPV4);
	put8(w, CHUNK_PROTOCOL, m->stream ? PROTOCOL_TCP : PROTOCOL_UDP);
	put(w, six ? CHUNK_FROM6 : CHUNK_FROM4, hf_bytes_of(m->from.ip, n));
	put(w, six ? CHUNK_TO6 : CHUNK_TO4, hf_bytes_of(m->to.ip, n));
	put16(w, CHUNK_FROM_PORT, m->from.port);
	put16(w, CHUNK_TO_PORT, m->to.port);
}

bool export_write(struct hf_writer *w, const struct export_message *m)
{
	size_t begin = w->n, at, n = 0;

	hf_w_str(w, "HEP3");
	hf_w_u16(w, 0);
	put_addresses(w, m);
	put32(w, CHUNK_SECONDS, (uint32_t)(m->at_us / 1000000));
	put32(w, CHUNK_MICROS, (uint32_t)(m->at_us % 1000000));
	put8(w, CHUNK_TYPE, m->type);
	put32(w, CHUNK_AGENT, m->agent);
	if (m->password.n)
		put(w, CHUNK_PASSWORD, m->password);
	if (m->session.n)
		put(w, CHUNK_CORRELATION, hf_bytes_sub(m->session, 0, 0xff));
	at = w->n;
	head(w, CHUNK_PAYLOAD, 0);
	if (!w->full)
		n = udp_compose(w->p + w->n, w->cap - w->n, m->base, m->splices, m->n_splices);
	if (w->full || n == 0 || w->n + n - begin > PACKET)
		return false;
	w->n += n;
	hf_put16(w->p + at + 4, (uint16_t)(HEAD + n));
	hf_put16(w->p + begin + 4, (uint16_t)(w->n - begin));
	return true;
}

/* ---- a batch ---- */

struct exports {
	uint8_t *room;
	size_t used;
	unsigned n;
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	struct sockaddr_storage to;
	socklen_t to_n;
	int fd;                  /* of the collector's family; -1: none yet */
	uint8_t family;
	_Atomic uint64_t sent, lost;
};

struct exports *exports_new(void)
{
	struct exports *x = calloc(1, sizeof *x);

	if (!x)
		return NULL;
	x->fd = -1;
	x->room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); /* who exports nothing pays nothing */
	if (x->room != MAP_FAILED)
		return x;
	free(x);
	return NULL;
}

void exports_free(struct exports *x)
{
	if (!x)
		return;
	munmap(x->room, ROOM);
	if (x->fd >= 0)
		close(x->fd);
	free(x);
}

static void count(_Atomic uint64_t *n, uint64_t by) { atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + by, memory_order_relaxed); }

static bool open_for(struct exports *x, const struct hf_addr *to)
{
	if (x->fd >= 0 && x->family != to->family) {
		close(x->fd);
		x->fd = -1;
	}
	x->to_n = sock_put_addr(&x->to, to);
	x->family = to->family;
	if (x->fd < 0)
		x->fd = socket(x->to.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return x->fd >= 0;
}

void exports_flush(struct worker *w)
{
	struct exports *x = w->exports;
	unsigned at = 0;

	if (!x->n)
		return;
	if (!open_for(x, &w->snap->conf->gateway.hep)) {
		count(&x->lost, x->n);
		at = x->n;
	}
	for (unsigned i = 0; i < x->n; i++)
		x->msg[i].msg_hdr.msg_namelen = x->to_n;
	while (at < x->n) {
		int n = sendmmsg(x->fd, x->msg + at, x->n - at, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		count(n > 0 ? &x->sent : &x->lost, n > 0 ? (uint64_t)n : 1); /* one that the system refuses is passed over */
		at += n > 0 ? (unsigned)n : 1;
	}
	x->n = 0;
	x->used = 0;
}

void exports_add(struct worker *w, struct parcel *p, const struct hf_send *s, bool stream, const struct hf_addr *from, const struct hf_addr *to)
{
	const struct hf_conf_gateway *g = &w->snap->conf->gateway;
	const struct hf_seen *seen = &p->ctx.seen;
	struct exports *x = w->exports;
	struct export_message m = {.from = *from, .to = *to, .stream = stream, .type = p->rt->front->capture, .at_us = hf_clock_unix_us(), .agent = (uint32_t)g->hep_id,
		.password = g->hep_password, .session = seen->session, .base = s ? s->base.p ? s->base : p->ev.bytes : seen->octets, .splices = s ? s->splices : NULL,
		.n_splices = s ? s->n_splices : 0};
	struct hf_writer out;

	if (x->n == BATCH || ROOM - x->used < PACKET)
		exports_flush(w);
	out = hf_writer_on(x->room + x->used, ROOM - x->used);
	if (!export_write(&out, &m)) {
		count(&x->lost, 1);
		return;
	}
	x->iov[x->n] = (struct iovec){out.p, out.n};
	x->msg[x->n].msg_hdr = (struct msghdr){.msg_name = &x->to, .msg_iov = &x->iov[x->n], .msg_iovlen = 1};
	x->n++;
	x->used += out.n;
}

void hf_net_exported(const struct hf_net *net, uint64_t *sent, uint64_t *lost)
{
	*sent = *lost = 0;
	for (unsigned i = 0; i < net->n_workers; i++) {
		*sent += atomic_load_explicit(&net->workers[i].exports->sent, memory_order_relaxed);
		*lost += atomic_load_explicit(&net->workers[i].exports->lost, memory_order_relaxed);
	}
}
