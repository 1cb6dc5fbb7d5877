/* A parcel's way: an event goes into the front's step, its acts are run, the engine is asked, until nothing is asked any more.
 * This is the only place where net, front and engine meet. It knows no protocol. */
#include "flow.h"

#include <string.h>

#include "holdfast/clock.h"
#include "holdfast/hash.h"
#include "holdfast/log.h"

#define TURNS 16 /* steps a parcel may take: every candidate of a long pool, and then some */

void net_ctx(const struct hf_net *net, const struct snap_service *s, struct hf_arena *arena, uint64_t now_ms, struct hf_ctx *ctx)
{
	*ctx = (struct hf_ctx){.site = &net->site, .now_ms = now_ms, .arena = arena};
	if (!s)
		return;
	ctx->conf = s->conf->front_conf;
	ctx->pool = hf_bytes_str(s->pool->rt->name);
	ctx->listeners = s->infos;
	ctx->n_listeners = s->n_infos;
	ctx->own = s->own;
	ctx->n_own = s->n_own;
	ctx->hash_mode = s->pool->conf->affinity == HF_MODE_HASH;
}

/* A flow whose two sides are joined: its octets are no messages. */
static bool paired(const struct parcel *p) { return p->flow && !p->rt->front->framed; }

static void drop(struct parcel *p, unsigned reason)
{
	worker_count(p->w, p->rt, reason);
}

/* ---- asking ---- */

static uint16_t hinted(const struct parcel *p, const struct hf_ask *a)
{
	const struct snap_pool *pool = p->service->pool;
	const struct snap_member *m = NULL;

	if (a->hint)
		m = worker_by_hash(p->w, pool, a->hint);
	else if (a->hint_addr.family)
		m = snap_by_addr(pool, &a->hint_addr);
	return m ? m->id : HF_NO_SERVER;
}

static unsigned fits(const struct hf_listener_info *l, const struct hf_addr *to, enum hf_transport t, const struct hf_listener_info *in)
{
	if (l->addr.family != to->family || (l->transport != t && !hf_transport_is_stream(t)))
		return 0; /* a datagram leaves through its listener's socket */
	return 1 + (l == in) + 2 * (l->transport == t) + 4 * l->inside;
}

/* The listener whose socket sends to an address, or that takes what comes back: one that faces the servers if there is any, then one of
 * the transport, then the one where the parcel came in. */
static const struct hf_listener_info *out_for(const struct parcel *p, const struct hf_addr *to, enum hf_transport t)
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

static void choose(struct parcel *p, const struct snap_member *m, const struct hf_answer *a)
{
	struct hf_chosen *c = &p->chosen;
	uint64_t since = 0;

	*c = (struct hf_chosen){.why = a->why, .known = a->known};
	if (!m)
		return;
	c->server = m->hash;
	c->name = hf_bytes_str(m->name);
	c->addr = m->addr;
	c->transport = m->transport;
	c->state = hf_engine_state(p->service->pool->rt->engine, m->id, &since);
	if (c->state == HF_STATE_DOWN)
		c->down_ms = p->w->now_ms - since + 1;
	if (paired(p))
		return;
	c->out = out_for(p, &m->addr, m->transport);
	if (c->out) {
		c->out_addr = c->out->addr;
		if (c->out->wildcard && m->from.family) {
			c->out_addr = m->from;
			c->out_addr.port = c->out->addr.port;
		}
	}
}

static void ask(struct parcel *p, const struct hf_act *act)
{
	const struct hf_ask *a = &act->ask;
	struct hf_question q = {
		.hint = hinted(p, a), .hint_why = a->hint_why, .refs = {a->refs[0].fp, a->refs[1].fp}, .key = a->key, .life = a->life, .life_s = a->life_s,
		.flags = a->flags, .spread = a->spread, .move = a->again, .place = a->place};
	struct hf_answer answer = {0};

	p->asked = true;
	p->sticky = a->key.fp;
	if (a->again && paired(p))
		q.avoid = conn_tried(p->flow, &q.n_avoid);
	if (q.n_avoid && !q.avoid) { /* it has tried enough */
		choose(p, NULL, &answer);
		return;
	}
	hf_engine_choose(p->service->pool->rt->engine, &q, &answer, p->w->now_ms);
	if (answer.full)
		drop(p, HF_R_NO_MEMORY);
	choose(p, worker_by_id(p->w, p->service->pool, answer.server), &answer);
}

/* ---- sending ---- */

static struct hf_bytes base_of(const struct parcel *p, const struct hf_send *s) { return s->base.p ? s->base : p->ev.bytes; }

/* The message did not go: the front is told, and may answer. */
static void failed(struct parcel *p, unsigned reason)
{
	drop(p, reason);
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
}

static void send_link(struct parcel *p, const struct hf_listener_info *l, const struct link_to *to, const struct hf_send *s)
{
	struct flow *f = to->addr.port ? link_to(p->w, p->service, l, to) : NULL;
	enum hf_err e = f ? stream_put(f, p->flow, base_of(p, s), s->splices, s->n_splices) : HF_OK;

	if (!f)
		failed(p, HF_R_DIAL_FAILED);
	else if (e != HF_OK)
		failed(p, e == HF_EFULL ? HF_R_SEND_FULL : e == HF_ECLOSED ? HF_R_FLOW_GONE : HF_R_BAD_STEP);
}

static void send_server(struct parcel *p, const struct hf_send *s)
{
	const struct snap_member *m = worker_by_hash(p->w, p->service->pool, s->server);
	const struct hf_listener_info *l;

	if (!m) {
		failed(p, HF_R_NOT_A_MEMBER);
		return;
	}
	l = s->listener ? snap_listener(p->service, s->listener, NULL) : out_for(p, &m->addr, m->transport);
	if (hf_transport_is_stream(m->transport)) {
		struct link_to to = {m->addr, m->transport, (unsigned)(p->sticky % p->service->pool->conf->connections), m};

		send_link(p, l, &to, s);
	} else {
		send_from(p, l, &m->addr, m->from.family ? &m->from : NULL, s);
	}
}

/* Our own answers to one source, a second. A place stands for all sources that meet in it; a member is never refused. */
static bool may_answer(struct parcel *p)
{
	uint64_t rate = p->service->conf->answer_rate;
	struct answers *a = &p->w->answers[hf_sip13(p->w->net->site.hash_key, hf_addr_ip(&p->ev.source)) % ANSWER_PLACES];

	if (!rate || p->ev.from_servers)
		return true;
	if (a->second != p->w->now_ms / 1000)
		*a = (struct answers){.second = p->w->now_ms / 1000};
	return a->n++ < rate;
}

static void send_source(struct parcel *p, const struct hf_send *s)
{
	if (!p->flow && !may_answer(p))
		drop(p, HF_R_ANSWER_LIMIT);
	else if (!p->flow)
		send_from(p, p->ev.listener, &p->ev.source, &p->ev.local, s);
	else if (stream_put(p->flow, NULL, base_of(p, s), s->splices, s->n_splices) != HF_OK)
		stream_end_later(p->flow, HF_R_SEND_FULL); /* it does not read its answers */
}

static bool send_flow(struct parcel *p, const struct hf_send *s);

static void send_return(struct parcel *p, const struct hf_send *s)
{
	const struct hf_listener_info *l = snap_listener(p->service, s->listener, NULL);
	struct link_to to = {.addr = s->addr, .transport = s->transport};

	if (s->flow.generation && send_flow(p, s))
		return;
	if (!hf_transport_is_stream(s->transport))
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

/* A front proves by tags that a server speaks; that the octets come from where a server lives is checked here, whatever the front says:
 * no client's octets choose an address outside the pool. */
static void send_next_hop(struct parcel *p, const struct hf_send *s)
{
	const struct hf_listener_info *l = s->listener ? snap_listener(p->service, s->listener, NULL) : p->ev.listener;

	struct link_to to = {.addr = s->addr, .transport = s->transport};

	if (!p->ev.from_servers && !snap_has_ip(p->service->pool, &p->ev.source))
		failed(p, HF_R_NOT_A_MEMBER);
	else if (ourselves(p->service, &s->addr))
		failed(p, HF_R_LOOP);
	else if (hf_transport_is_stream(s->transport))
		send_link(p, l, &to, s);
	else
		send_from(p, l, &s->addr, s->local.family ? &s->local : l == p->ev.listener ? &p->ev.local : NULL, s);
}

/* Over a connection by its name, on whatever worker. False: it is gone, as far as this worker can tell; a framed letter then finds its own way. */
static bool send_flow(struct parcel *p, const struct hf_send *s)
{
	struct worker *w = p->w;
	struct letter l = {.kind = LETTER_TO_FLOW, .service = p->rt->id, .flow = s->flow, .addr = s->addr, .listener = s->listener, .transport = s->transport};
	size_t n;

	if (s->flow.worker >= w->net->n_workers || s->flow.boot != w->net->site.boot)
		return false;
	n = udp_compose(w->scratch, LETTER_MAX, base_of(p, s), s->splices, s->n_splices);
	if (n == 0) {
		drop(p, HF_R_TOO_BIG);
		return true;
	}
	if (s->flow.worker == w->index)
		return conn_deliver(w, &s->flow, hf_bytes_of(w->scratch, n));
	if (letter_post(&w->net->workers[s->flow.worker], &l, hf_bytes_of(w->scratch, n)))
		return true;
	if (p->flow)
		conn_stuck(p->flow, &l, s->flow.worker, hf_bytes_of(w->scratch, n));
	else
		drop(p, HF_R_LETTER_BOX_FULL);
	return true;
}

static void send_act(struct parcel *p, const struct hf_act *act)
{
	static void (*const parcels[])(struct parcel *, const struct hf_send *) = {
		[HF_TO_SERVER] = send_server, [HF_TO_SOURCE] = send_source, [HF_TO_RETURN] = send_return, [HF_TO_NEXT_HOP] = send_next_hop};
	const struct hf_send *s = &act->send;

	if (s->to == HF_TO_FLOW) {
		if (!send_flow(p, s))
			drop(p, HF_R_FLOW_GONE);
	} else if (paired(p))
		conn_send(p, s);
	else if (s->to < sizeof parcels / sizeof parcels[0] && parcels[s->to])
		parcels[s->to](p, s);
	else
		drop(p, HF_R_BAD_STEP);
}

/* ---- learning ---- */

static void learn(struct parcel *p, const struct hf_act *act)
{
	const struct snap_member *m = act->learn.server && p->service ? worker_by_hash(p->w, p->service->pool, act->learn.server) : NULL;
	struct hf_lesson l = {.key = act->learn.key, .server = m ? m->id : HF_NO_SERVER, .life = act->learn.life, .life_s = act->learn.life_s,
		.flags = act->learn.flags, .why = act->learn.why, .move = act->learn.move};

	if (act->kind == HF_ACT_END)
		l.life = HF_LIFE_END;
	if (act->learn.server && !m && p->service)
		return; /* a server that has left the pool: there is nothing to learn of it */
	if (hf_engine_learn(p->pool->engine, &l, p->w->now_ms) == HF_EFULL)
		drop(p, HF_R_NO_MEMORY);
}

static void evidence(struct parcel *p, const struct hf_act *act)
{
	const struct snap_member *m = p->service ? snap_by_hash(p->service->pool, act->evidence.server) : NULL;
	struct member_rt *rt = m ? &p->service->pool->rt->members[m->id] : NULL;

	if (!m)
		return;
	if (act->evidence.what == HF_EVIDENCE_BUSY)
		atomic_store_explicit(&rt->busy_until_ms, p->w->now_ms + act->evidence.ms, memory_order_relaxed);
	else if (act->evidence.what == HF_EVIDENCE_OK)
		atomic_store_explicit(&rt->failures, 0, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&rt->failures, 1, memory_order_relaxed);
}

/* ---- the rest ---- */

static void more(struct parcel *p, const struct hf_act *act)
{
	if (paired(p))
		conn_more(p, act->need);
	else if (p->flow)
		p->flow->side[HF_CLIENT].need = act->need;
	else
		drop(p, HF_R_BAD_STEP);
}

static void took(struct parcel *p, const struct hf_act *act) { p->took = act->need; }

static void hold(struct parcel *p, const struct hf_act *act)
{
	if (paired(p))
		conn_hold(p, act->hold.ms);
	else if (hold_keep(p, act->hold.ms, act->hold.state) != HF_OK)
		drop(p, HF_R_HOLD_LIMIT);
}

static void end(struct parcel *p, const struct hf_act *act)
{
	if (act->kind == HF_ACT_CLOSE && p->flow && p->rt->front->framed)
		stream_end_later(p->flow, act->end.reason);
	else if (act->kind == HF_ACT_CLOSE && p->flow)
		conn_close_later(p->flow, act->end.reason);
	else
		drop(p, act->end.reason);
}

static void relay(struct parcel *p, const struct hf_act *act)
{
	if (paired(p))
		conn_relay(p, act->relay.client_used, act->relay.server_used, act->relay.mark);
	else
		drop(p, HF_R_BAD_STEP);
}

static void nothing(struct parcel *p, const struct hf_act *act) { (void)p, (void)act; } /* FREE: a hold is free once it has woken */

static void (*const run[])(struct parcel *, const struct hf_act *) = {
	[HF_ACT_MORE] = more, [HF_ACT_TOOK] = took, [HF_ACT_ASK] = ask, [HF_ACT_SEND] = send_act, [HF_ACT_HOLD] = hold, [HF_ACT_FREE] = nothing, [HF_ACT_LEARN] = learn,
	[HF_ACT_END] = learn, [HF_ACT_EVIDENCE] = evidence, [HF_ACT_RELAY] = relay, [HF_ACT_DROP] = end, [HF_ACT_CLOSE] = end};

/* What may be done for a flow whose service is gone, or that has ended. */
static bool allowed(const struct parcel *p, enum hf_act_kind k)
{
	bool bookkeeping = k == HF_ACT_LEARN || k == HF_ACT_END || k == HF_ACT_EVIDENCE;

	if (bookkeeping)
		return p->pool != NULL;
	return p->ev.kind != HF_EV_END && !p->closed && p->service;
}

void deliver_run(struct parcel *p)
{
	struct hf_acts acts;

	for (int turn = 0; turn < TURNS; turn++) {
		acts.n = 0;
		p->asked = false;
		p->failed = 0;
		p->rt->front->step(&p->ctx, &p->ev, &acts);
		for (unsigned i = 0; i < acts.n; i++)
			if (allowed(p, acts.a[i].kind))
				run[acts.a[i].kind](p, &acts.a[i]);
		if ((!p->asked && (!p->failed || p->ev.kind == HF_EV_FAIL)) || p->closed)
			return;
		p->ev.kind = p->asked ? HF_EV_CHOICE : HF_EV_FAIL;
		p->ev.chosen = &p->chosen;
		p->ev.reason = p->failed;
	}
	drop(p, HF_R_BAD_STEP);
	if (p->flow && p->rt->front->framed)
		stream_end_later(p->flow, HF_R_BAD_STEP);
	else if (p->flow && !p->closed)
		conn_close_later(p->flow, HF_R_BAD_STEP);
}

void deliver_datagram(struct worker *w, const struct snap_service *s, unsigned at, struct hf_bytes bytes, const struct hf_addr *source, const struct hf_addr *local)
{
	struct parcel p = {.w = w, .service = s, .rt = s->rt, .pool = s->pool->rt};
	const struct snap_member *m = snap_by_addr(s->pool, source);

	atomic_fetch_add_explicit(&s->rt->counts[w->index].parcels, 1, memory_order_relaxed);
	hf_arena_reset(&w->arena);
	deliver_ctx(w, s, &p.ctx);
	p.ev = (struct hf_event){.kind = HF_EV_BYTES, .bytes = bytes, .listener = &s->infos[at], .source = *source, .local = *local,
		.transport = HF_UDP, .member = m ? m->hash : 0};
	p.ev.from_servers = m || s->infos[at].inside || snap_in(&s->conf->servers_from, source);
	deliver_run(&p);
}

/* The connection is gone: a new one to the address that the letter brings. */
static bool instead(struct worker *w, const struct snap_service *s, const struct letter *l, struct hf_bytes body)
{
	struct link_to to = {.addr = l->addr, .transport = l->transport};
	struct flow *f = l->addr.port && s->rt->front->framed ? link_to(w, s, snap_listener(s, l->listener, NULL), &to) : NULL;

	return f && stream_put(f, NULL, body, NULL, 0) == HF_OK;
}

void deliver_letters(struct worker *w)
{
	struct letter l;

	while (letter_take(&w->box, &l, w->scratch)) {
		const struct snap_service *s = snap_service(w->snap, l.service);
		struct hf_bytes body = hf_bytes_of(w->scratch, l.size);

		if (s && !conn_deliver(w, &l.flow, body) && !instead(w, s, &l, body))
			worker_count(w, s->rt, HF_R_FLOW_GONE);
	}
}
