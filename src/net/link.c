/* Links: connections that this worker dialled, to members and to next hops, kept and used again. A member has several, and one key always
 * uses the same one, so that a call's messages keep their order; what leaves from another address of ours has others. A link that breaks is dialled anew by
 * the next message. */
#include <stdlib.h>
#include <unistd.h>

#include "flow.h"
#include "awaited.h"
#include "sock.h"
#include "tls.h"

#define BUCKETS 1024

struct links {
	struct flow *bucket[BUCKETS];
};

struct links *links_new(void) { return calloc(1, sizeof(struct links)); }
void links_free(struct links *l) { free(l); }

static struct flow **bucket_of(struct links *l, uint16_t service, const struct hf_addr *to, unsigned index)
{
	uint32_t v[4], h;

	memcpy(v, to->ip, 16);
	h = (v[0] ^ v[1] * 3 ^ v[2] * 5 ^ v[3] * 7 ^ to->port * 0x9e3779b1u ^ index * 0x85ebca6bu ^ service) * 0xc2b2ae35u;
	return &l->bucket[h >> 22];
}

static struct hf_bytes host_of(const struct link_to *to) { return to->member ? to->member->tls_name : to->host; }

/* The address of the listener that takes what comes back, which a front names as ours: whom we dial may know us by it, and the system would take the first
 * of an interface. Family 0: the system's choice, which is what a wildcard listener's front names. */
static struct hf_addr from_of(const struct hf_listener_info *out, const struct hf_addr *to)
{
	return out && !out->wildcard && out->addr.family == to->family ? out->addr : (struct hf_addr){0};
}

/* from NULL: one that is open, whatever address it leaves from */
static struct flow *find(struct worker *w, const struct snap_service *s, const struct link_to *to, const struct hf_addr *from)
{
	uint32_t identity = layers_identity(s->pool, host_of(to), to->transport);

	for (struct flow *f = *bucket_of(w->links, s->rt->id, &to->addr, to->index); f; f = f->stream->next_link)
		if (f->service == s->rt->id && f->stream->index == to->index && f->transport == to->transport && f->stream->identity == identity &&
		    (from ? memcmp(f->stream->from, from->ip, sizeof from->ip) == 0 : f->phase == PHASE_MESSAGES) && hf_addr_eq(&f->source, &to->addr) && !f->end && !f->side[HF_CLIENT].eof)
			return f;
	return NULL;
}

void link_forget(struct flow *f)
{
	struct flow **at;

	if (!f->stream->link)
		return;
	at = bucket_of(f->w->links, f->service, &f->source, f->stream->index);
	while (*at && *at != f)
		at = &(*at)->stream->next_link;
	if (*at)
		*at = f->stream->next_link;
}

static bool dial(struct flow *f, const struct snap_service *s, const struct hf_addr *from, struct hf_bytes host)
{
	struct side *c = &f->side[HF_CLIENT];

	c->fd = sock_dial(&f->source, from->family ? from : NULL);
	if (c->fd < 0)
		return false;
	f->local = sock_local(c->fd);
	sock_tune(c->fd, s->pool->conf->keep_alive);
	watch_init(&c->watch, f->w->poller, c->fd, conn_client_ready, f);
	if (!timer_init(&f->deadline, poller_timers(f->w->poller), conn_expired, f) || !watch_set(&c->watch, HF_WRITE))
		return false;
	conn_deadline(f, s->pool->conf->dial_timeout);
	return layers_dial(f, s, host);
}

static struct flow *make(struct worker *w, const struct snap_service *s, const struct hf_listener_info *out, const struct link_to *to)
{
	const struct hf_addr from = from_of(out, &to->addr);
	struct flow *f = flow_new(w, true), **at;

	if (!f)
		return NULL;
	f->rt = s->rt;
	f->service = s->rt->id;
	f->listener = out ? out->hash : 0;
	f->source = to->addr;
	f->transport = to->transport;
	f->stream->index = (uint8_t)to->index;
	f->stream->identity = layers_identity(s->pool, host_of(to), to->transport);
	memcpy(f->stream->from, from.ip, sizeof from.ip);
	flow_at(f, s->pool->rt, to->member);
	f->stream->link = true;
	f->stream->aside = to->member && to->member->transport != to->transport;
	f->phase = PHASE_LINKING;
	at = bucket_of(w->links, f->service, &f->source, f->stream->index);
	f->stream->next_link = *at;
	*at = f;
	atomic_fetch_add_explicit(&w->net->open_flows, 1, memory_order_relaxed);
	worker_bump(&s->rt->counts[w->index].flows, 1);
	worker_bump(&s->rt->counts[w->index].open_flows, 1);
	if (!dial(f, s, &from, host_of(to))) {
		stream_end_later(f, HF_R_DIAL_FAILED); /* not now: a step may be running */
		return NULL;
	}
	return f;
}

struct flow *link_open(struct worker *w, const struct snap_service *s, const struct link_to *to)
{
	return find(w, s, to, NULL);
}

struct flow *link_to(struct worker *w, const struct snap_service *s, const struct hf_listener_info *out, const struct link_to *to)
{
	const struct hf_addr from = from_of(out, &to->addr);
	struct flow *f = find(w, s, to, &from);

	if (f)
		return f;
	if (hf_transport_is_web(to->transport) || atomic_load_explicit(&w->net->open_flows, memory_order_relaxed) >= w->snap->conf->gateway.max_flows)
		return NULL; /* nobody is dialled by WebSocket */
	return make(w, s, out, to);
}

void link_failed(struct flow *f, unsigned reason)
{
	if (f->server && !f->stream->aside)
		atomic_fetch_add_explicit(&f->pool->members[f->server].failures, 1, memory_order_relaxed);
	stream_end_later(f, reason);
	worker_flush(f->w);
}

/* What waited for a link that could not be made goes back to the front, message by message, so that whoever sent it is told. */
static void give_back(struct flow *f)
{
	struct buf *out = &f->side[HF_CLIENT].out;
	const struct snap_service *s = snap_service(f->w->snap, f->service);
	struct came_back b = {.listener = s ? snap_listener(s, f->listener, NULL) : NULL, .to = f->source, .transport = (enum hf_transport)f->transport, .server = f->server_hash,
		.reason = f->end};
	size_t n = s ? buf_len(out) : 0;

	while (n && buf_len(out)) {
		n = deliver_back(f->w, s, &b, buf_view(out));
		buf_took(out, n);
	}
}

static void resend(struct flow *f)
{
	const struct snap_service *s = snap_service(f->w->snap, f->service);
	struct link_to to = {.addr = f->source, .transport = f->transport, .index = f->stream->index, .member = s ? snap_by_hash(s->pool, f->server_hash) : NULL, .host = tls_host(f->side[HF_CLIENT].wire)};
	struct flow *next = s && !f->stream->again ? link_to(f->w, s, snap_listener(s, f->listener, NULL), &to) : NULL;

	if (next)
		next->stream->again = true;
	if (!next || stream_put(next, NULL, buf_view(&f->side[HF_CLIENT].out), NULL, 0) != HF_OK)
		give_back(f);
}

/* What was not begun to be sent goes over a new one, once; what a new one could not take goes back to the front; what has gone may be lost. */
void link_end(struct flow *f)
{
	bool made = f->phase != PHASE_LINKING;

	if (!made)
		give_back(f);
	else if (buf_len(&f->side[HF_CLIENT].out) && !f->stream->cut)
		f->end == HF_R_SERVER_OFF ? give_back(f) : resend(f);
	if (made)
		awaited_lost(f);
	conn_close(f, f->end);
}

void link_ready(struct flow *f)
{
	struct side *c = &f->side[HF_CLIENT];
	const struct snap_service *s = snap_service(f->w->snap, f->service);
	enum hf_err e;

	if (!s || sock_error(c->fd) != 0) {
		link_failed(f, s ? HF_R_DIAL_FAILED : HF_R_SERVICE_REMOVED);
		return;
	}
	e = c->wire ? wire_open(c->wire) : HF_OK;
	if (e == HF_EFULL) {
		watch_set(&c->watch, c->wire->reads);
		return;
	}
	if (e != HF_OK) {
		link_failed(f, layers_failed(f) ? wire_reason(c->wire) : HF_R_DIAL_FAILED);
		return;
	}
	if (f->server)
		atomic_store_explicit(&f->pool->members[f->server].failures, 0, memory_order_relaxed);
	sock_patience(f->side[HF_CLIENT].fd);
	stream_begin(f);
	f->stream->armed = ARM_IDLE;
	conn_deadline(f, s->conf->idle_timeout);
	stream_ready(f, HF_WRITE);
}
