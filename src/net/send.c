/* Where a message goes: a server, back to its source, a signed return address, a next hop, a connection by name; over sockets, links and
 * letters. What may never be reached from a client's octets is refused here, whatever a front asks. Knows no protocol. */
#include "flow.h"
#include "holdfast/hash.h"
#include "path.h"
#include "peers.h"
#include "notice.h"
#include "udp.h"
#include "seek.h"

static unsigned fits(const struct hf_listener_info *l, const struct hf_addr *to, enum hf_transport t, const struct hf_listener_info *in)
{
	if (l->addr.family != to->family || hf_transport_is_web(l->transport) || (l->transport != t && !hf_transport_is_stream(t)))
		return 0; /* a datagram leaves through its listener's socket; no server comes by WebSocket */
	return 1 + (l == in ? 3 : in && hf_addr_ip_eq(&l->addr, &in->addr)) + 4 * (l->transport == t) + 8 * l->inside;
}

/* The listener whose socket sends to an address, or that takes what comes back: one that faces the servers if there is any, then one of
 * the transport, then the one where the parcel came in, then one at its address. */
const struct hf_listener_info *send_out_for(const struct parcel *p, const struct hf_addr *to, enum hf_transport t)
{
	const struct snap_service *s = p->service;
	const struct hf_listener_info *best = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < s->n_infos; i++) {
		unsigned n = fits(&s->infos[i], to, t, p->ev.listener);

		if (n > most) {
			most = n;
			best = &s->infos[i];
		}
	}
	return best;
}

static struct hf_bytes base_of(const struct parcel *p, const struct hf_send *s) { return s->base.p ? s->base : p->ev.bytes; }

/* The message did not go: the front is told, and may answer. */
static void failed(struct parcel *p, unsigned reason)
{
	p->failed = reason;
}

static void send_from(struct parcel *p, const struct hf_listener_info *l, const struct hf_addr *to, const struct hf_addr *from, const struct hf_send *s)
{
	if (!l || hf_transport_is_stream(l->transport)) /* its socket sends no datagrams */
		failed(p, HF_R_NO_LISTENER);
	else if (to->port == 0)
		failed(p, HF_R_NO_ROUTE);
	else if (udp_send(p->w, p->service, (unsigned)(l - p->service->infos), to, from, base_of(p, s), s->splices, s->n_splices) != HF_OK)
		failed(p, HF_R_TOO_BIG);
	else
		notice_sent(p, s, HF_UDP, from && l->wildcard ? from : &l->addr, l->addr.port, to);
}

static void put_link(struct parcel *p, struct flow *f, const struct hf_send *s)
{
	enum hf_err e = f ? stream_put(f, p->flow, base_of(p, s), s->splices, s->n_splices) : HF_OK;

	if (!f)
		failed(p, HF_R_DIAL_FAILED);
	else if (e != HF_OK)
		failed(p, e == HF_EFULL ? HF_R_SEND_FULL : e == HF_ECLOSED ? HF_R_FLOW_GONE : HF_R_BAD_STEP);
	else
		notice_sent(p, s, (enum hf_transport)f->transport, &f->local, f->local.port, &f->source);
	if (!p->failed && f && f->server_hash)
		p->link = f;
}

static void send_link(struct parcel *p, const struct hf_listener_info *l, const struct link_to *to, const struct hf_send *s)
{
	put_link(p, to->addr.port ? link_to(p->w, p->service, l, to) : NULL, s);
}

static void send_server(struct parcel *p, const struct hf_send *s)
{
	const struct snap_member *m = worker_by_hash(p->w, p->at, s->server);
	const struct hf_listener_info *l;
	enum hf_transport t;

	if (!m) {
		failed(p, HF_R_NOT_A_MEMBER);
		return;
	}
	t = m->transport == HF_UDP && s->transport == HF_TCP ? HF_TCP : m->transport;
	l = s->listener ? snap_listener(p->service, s->listener, NULL) : send_out_for(p, &m->addr, t);
	if (hf_transport_is_stream(t)) {
		struct link_to to = {.addr = m->addr, .transport = t, .index = (unsigned)(p->sticky % p->at->conf->connections), .member = m};

		send_link(p, l, &to, s);
	} else {
		send_from(p, l, &m->addr, m->from.family ? &m->from : NULL, s);
	}
	if (!p->failed)
		notice_placed(p, m);
}

/* Our own answers to one address, a second. A place stands for all addresses that meet in it; a member is never refused. */
static bool may_answer(struct parcel *p, const struct hf_addr *to)
{
	uint64_t rate = p->service->conf->answer_rate;
	struct answers *a = &p->w->answers[hf_sip13(p->w->net->site.hash_key, hf_addr_ip(to)) % ANSWER_PLACES];

	if (!rate || p->ev.from_servers)
		return true;
	if (a->second != p->w->now_ms / 1000)
		*a = (struct answers){.second = p->w->now_ms / 1000};
	return a->n++ < rate;
}

/* The front's own words, and not a message that is passed on. */
static bool is_answer(const struct parcel *p, const struct hf_send *s)
{
	uintptr_t at = (uintptr_t)s->base.p, from = (uintptr_t)p->ev.bytes.p;

	return s->base.p && (at < from || at >= from + p->ev.bytes.n);
}

static bool send_flow(struct parcel *p, const struct hf_send *s);

/* Over the connection that it came by, which is another worker's. */
static void send_carried(struct parcel *p, const struct hf_send *s)
{
	struct hf_send by = *s;

	by.flow = p->ev.flow_name;
	if (!send_flow(p, &by))
		parcel_count(p, HF_R_FLOW_GONE);
}

static void send_source(struct parcel *p, const struct hf_send *s)
{
	if (p->carried && hf_transport_is_stream(p->ev.transport))
		send_carried(p, s);
	else if (!p->flow && !may_answer(p, &p->ev.source))
		parcel_count(p, HF_R_ANSWER_LIMIT);
	else if (!p->flow)
		send_from(p, p->ev.listener, &p->ev.source, &p->ev.local, s);
	else if (stream_put(p->flow, NULL, base_of(p, s), s->splices, s->n_splices) != HF_OK)
		stream_end_later(p->flow, HF_R_SEND_FULL); /* it does not read its answers */
	else
		notice_sent(p, s, p->ev.transport, &p->ev.local, p->ev.local.port, &p->ev.source);
}

static void send_return(struct parcel *p, const struct hf_send *s)
{
	const struct hf_listener_info *l = snap_listener(p->service, s->listener, NULL);
	struct link_to to = {.addr = s->addr, .transport = s->transport};

	if (s->flow.generation && send_flow(p, s))
		return;
	if (!hf_transport_is_stream(s->transport) && is_answer(p, s) && !may_answer(p, &s->addr))
		parcel_count(p, HF_R_ANSWER_LIMIT);
	else if (!hf_transport_is_stream(s->transport))
		send_from(p, l, &s->addr, s->local.family ? &s->local : NULL, s);
	else if (s->addr.port)
		send_link(p, l, &to, s);
	else
		failed(p, HF_R_FLOW_GONE);
}

static bool ourselves(const struct snap_service *s, const struct hf_addr *a)
{
	for (unsigned i = 0; i < s->n_own; i++)
		if (hf_addr_eq(&s->own[i], a))
			return true;
	return false;
}

/* A client is there by a connection of its own. A WebSocket is never dialled in its place. */
static bool send_peer(struct parcel *p, const struct hf_send *s)
{
	struct hf_send by = *s;

	if (!peers_find(p->w->net->peers, p->rt->id, &s->addr, s->transport, &by.flow))
		return false;
	if (hf_transport_is_web(s->transport))
		by.addr.port = 0;
	return send_flow(p, &by);
}

/* By a connection that is open: the other end's own, or one that this worker has dialled. None is made. */
static void send_open(struct parcel *p, const struct hf_send *s)
{
	struct link_to to = {.addr = s->addr, .transport = s->transport};

	if (!send_peer(p, s))
		put_link(p, link_open(p->w, p->service, &to), s);
}

/* A front proves by tags that a server speaks; that the octets come from where a server lives is checked here, whatever the front says:
 * no client's octets choose an address outside the pool. */
bool send_may_choose(const struct parcel *p) { return p->ev.from_servers || snap_has_ip(p->at, &p->ev.source); }

static void send_next_hop(struct parcel *p, const struct hf_send *s)
{
	const struct hf_listener_info *l = s->listener ? snap_listener(p->service, s->listener, NULL) : p->ev.listener;

	struct link_to to = {.addr = s->addr, .transport = s->transport, .host = s->host};

	if (!send_may_choose(p))
		failed(p, HF_R_NOT_A_MEMBER);
	else if (ourselves(p->service, &s->addr))
		failed(p, HF_R_LOOP);
	else if (s->if_open)
		send_open(p, s);
	else if (hf_transport_is_stream(s->transport) && !send_peer(p, s))
		send_link(p, l, &to, s);
	else if (!hf_transport_is_stream(s->transport))
		send_from(p, l, &s->addr, s->local.family ? &s->local : l == p->ev.listener ? &p->ev.local : NULL, s);
}

/* Over a connection by its name, on whatever worker. False: it is gone, as far as this worker can tell; a framed letter then finds its own way. */
static bool send_flow(struct parcel *p, const struct hf_send *s)
{
	struct worker *w = p->w;
	struct letter l = {.kind = LETTER_TO_FLOW, .service = p->rt->id, .flow = s->flow, .addr = s->addr, .listener = s->listener,
		.transport = s->if_open ? HF_UDP : s->transport}; /* nobody is dialled over that */
	size_t n;

	if (s->flow.worker >= w->net->n_workers || s->flow.boot != w->net->site.boot)
		return false;
	n = udp_compose(w->scratch, LETTER_MAX, base_of(p, s), s->splices, s->n_splices);
	if (n == 0) {
		parcel_count(p, HF_R_TOO_BIG);
		return true;
	}
	if (s->flow.worker == w->index ? !conn_deliver(w, &s->flow, hf_bytes_of(w->scratch, n)) : false)
		return false;
	notice_sent(p, s, s->transport, &s->local, 0, &s->addr);
	if (s->flow.worker == w->index || letter_post(&w->net->workers[s->flow.worker], &l, hf_bytes_of(w->scratch, n)))
		return true;
	if (p->flow)
		conn_stuck(p->flow, &l, s->flow.worker, hf_bytes_of(w->scratch, n));
	else
		parcel_count(p, HF_R_LETTER_BOX_FULL);
	return true;
}

void send_act(struct parcel *p, const struct hf_act *act)
{
	static void (*const parcels[])(struct parcel *, const struct hf_send *) = {
		[HF_TO_SERVER] = send_server, [HF_TO_SOURCE] = send_source, [HF_TO_RETURN] = send_return, [HF_TO_NEXT_HOP] = send_next_hop};
	const struct hf_send *s = &act->send;

	if (s->to == HF_TO_FLOW) {
		if (!send_flow(p, s))
			parcel_count(p, HF_R_FLOW_GONE);
	} else if (parcel_paired(p))
		conn_send(p, s);
	else if (s->to < sizeof parcels / sizeof parcels[0] && parcels[s->to])
		parcels[s->to](p, s);
	else
		parcel_count(p, HF_R_BAD_STEP);
}

/* ---- letters ---- */

/* The connection is gone: a new one to the address that the letter brings. */
static bool instead(struct worker *w, const struct snap_service *s, const struct letter *l, struct hf_bytes body)
{
	struct link_to to = {.addr = l->addr, .transport = l->transport};
	struct flow *f = l->addr.port && s->rt->front->framed && hf_transport_is_stream(l->transport) ? link_to(w, s, snap_listener(s, l->listener, NULL), &to) : NULL;

	return f && stream_put(f, NULL, body, NULL, 0) == HF_OK;
}

void deliver_letters(struct worker *w)
{
	struct letter l;

	while (letter_take(&w->box, &l, w->letter)) {
		if (l.kind == LETTER_TURN) {
			conn_turn(w, &l.flow);
			continue;
		}
		const struct snap_service *s = snap_service(w->snap, l.service);
		struct hf_bytes body = hf_bytes_of(w->letter, l.size);

		if (l.kind == LETTER_FOUND || l.kind == LETTER_FORGET) {
			seek_letter(w, &l, body);
			continue;
		}
		if (l.kind == LETTER_FLOW_ENDED) {
			paths_letter(w, &l.flow);
			continue;
		}
		if (s && l.kind != LETTER_TO_FLOW) {
			told_take(w, s, &l, body);
			continue;
		}
		if (!s || conn_deliver(w, &l.flow, body) || instead(w, s, &l, body))
			continue;
		if (s->rt->front->framed)
			(void)deliver_back(w, s, &(struct came_back){snap_listener(s, l.listener, NULL), l.addr, l.transport, 0, HF_R_FLOW_GONE}, body);
		else
			worker_count(w, s->rt, HF_R_FLOW_GONE);
	}
}
