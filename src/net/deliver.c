/* A parcel's way: an event goes into the front's step, its acts are run, the engine is asked, until nothing is asked any more.
 * This is the only place where net, front and engine meet. It knows no protocol. */
#include "inside.h"

#include <string.h>

#include "holdfast/clock.h"
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

/* The listener whose socket sends to an address: one that faces the servers if there is any, else the one where the parcel came in. */
static const struct hf_listener_info *out_for(const struct parcel *p, const struct hf_addr *to)
{
	const struct snap_service *s = p->service;
	const struct hf_listener_info *in = p->ev.listener, *any = NULL;

	for (unsigned i = 0; i < s->n_infos; i++) {
		const struct hf_listener_info *l = &s->infos[i];

		if (hf_transport_is_stream(l->transport) || l->addr.family != to->family)
			continue;
		if (l->inside)
			return l;
		if (!any || l == in)
			any = l;
	}
	return any;
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
	if (p->flow)
		return;
	c->out = out_for(p, &m->addr);
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
	if (a->again && p->flow)
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

static void send_from(struct parcel *p, const struct hf_listener_info *l, const struct hf_addr *to, const struct hf_addr *from, const struct hf_send *s)
{
	struct hf_bytes base = s->base.p ? s->base : p->ev.bytes;

	if (!l)
		drop(p, HF_R_NO_LISTENER);
	else if (to->port == 0)
		drop(p, HF_R_NO_ROUTE);
	else if (udp_send(p->w, p->service, (unsigned)(l - p->service->infos), to, from, base, s->splices, s->n_splices) != HF_OK)
		drop(p, HF_R_TOO_BIG);
}

static void send_server(struct parcel *p, const struct hf_send *s)
{
	const struct snap_member *m = worker_by_hash(p->w, p->service->pool, s->server);
	const struct hf_listener_info *l;

	if (!m) {
		drop(p, HF_R_NOT_A_MEMBER);
		return;
	}
	l = s->listener ? snap_listener(p->service, s->listener, NULL) : out_for(p, &m->addr);
	send_from(p, l, &m->addr, m->from.family ? &m->from : NULL, s);
}

static void send_source(struct parcel *p, const struct hf_send *s)
{
	send_from(p, p->ev.listener, &p->ev.source, &p->ev.local, s);
}

static void send_return(struct parcel *p, const struct hf_send *s)
{
	send_from(p, snap_listener(p->service, s->listener, NULL), &s->addr, s->local.family ? &s->local : NULL, s);
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

	if (!p->ev.member && !(p->ev.listener && p->ev.listener->inside) && !snap_has_ip(p->service->pool, &p->ev.source))
		drop(p, HF_R_NOT_A_MEMBER);
	else if (ourselves(p->service, &s->addr))
		drop(p, HF_R_LOOP);
	else
		send_from(p, l, &s->addr, s->local.family ? &s->local : l == p->ev.listener ? &p->ev.local : NULL, s);
}

static void send_flow(struct parcel *p, const struct hf_send *s)
{
	struct worker *w = p->w;
	struct letter l = {.kind = LETTER_TO_FLOW, .service = p->rt->id, .flow = s->flow};
	struct hf_bytes base = s->base.p ? s->base : p->ev.bytes, body;
	size_t n = udp_compose(w->scratch, LETTER_MAX, base, s->splices, s->n_splices);

	body = hf_bytes_of(w->scratch, n);
	if (n == 0 || s->flow.worker >= w->net->n_workers || s->flow.boot != w->net->site.boot) {
		drop(p, n ? HF_R_FLOW_GONE : HF_R_TOO_BIG);
		return;
	}
	if (s->flow.worker == w->index) {
		if (!conn_deliver(w, &s->flow, body))
			drop(p, HF_R_FLOW_GONE);
		return;
	}
	if (letter_post(&w->net->workers[s->flow.worker], &l, body))
		return;
	if (p->flow)
		conn_stuck(p->flow, &l, s->flow.worker, body);
	else
		drop(p, HF_R_LETTER_BOX_FULL);
}

static void send_act(struct parcel *p, const struct hf_act *act)
{
	static void (*const datagram[])(struct parcel *, const struct hf_send *) = {
		[HF_TO_SERVER] = send_server, [HF_TO_SOURCE] = send_source, [HF_TO_RETURN] = send_return, [HF_TO_NEXT_HOP] = send_next_hop, [HF_TO_FLOW] = send_flow};
	const struct hf_send *s = &act->send;

	if (s->to == HF_TO_FLOW)
		send_flow(p, s);
	else if (p->flow)
		conn_send(p, s);
	else if (s->to < sizeof datagram / sizeof datagram[0] && datagram[s->to])
		datagram[s->to](p, s);
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
	if (p->flow)
		conn_more(p, act->need);
	else
		drop(p, HF_R_BAD_STEP);
}

static void hold(struct parcel *p, const struct hf_act *act)
{
	if (p->flow)
		conn_hold(p, act->hold.ms);
	else if (hold_keep(p, act->hold.ms, act->hold.state) != HF_OK)
		drop(p, HF_R_HOLD_LIMIT);
}

static void end(struct parcel *p, const struct hf_act *act)
{
	if (act->kind == HF_ACT_CLOSE && p->flow)
		conn_close_later(p->flow, act->end.reason);
	else
		drop(p, act->end.reason);
}

static void relay(struct parcel *p, const struct hf_act *act)
{
	if (p->flow)
		conn_relay(p, act->relay.client_used, act->relay.server_used, act->relay.mark);
	else
		drop(p, HF_R_BAD_STEP);
}

static void nothing(struct parcel *p, const struct hf_act *act) { (void)p, (void)act; } /* FREE: a hold is free once it has woken */

static void (*const run[])(struct parcel *, const struct hf_act *) = {
	[HF_ACT_MORE] = more, [HF_ACT_ASK] = ask, [HF_ACT_SEND] = send_act, [HF_ACT_HOLD] = hold, [HF_ACT_FREE] = nothing, [HF_ACT_LEARN] = learn,
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
		p->rt->front->step(&p->ctx, &p->ev, &acts);
		for (unsigned i = 0; i < acts.n; i++)
			if (allowed(p, acts.a[i].kind))
				run[acts.a[i].kind](p, &acts.a[i]);
		if (!p->asked || p->closed)
			return;
		p->ev.kind = HF_EV_CHOICE;
		p->ev.chosen = &p->chosen;
	}
	drop(p, HF_R_BAD_STEP);
	if (p->flow && !p->closed)
		conn_close_later(p->flow, HF_R_BAD_STEP);
}

void deliver_datagram(struct worker *w, const struct snap_service *s, unsigned at, struct hf_bytes bytes, const struct hf_addr *source, const struct hf_addr *local)
{
	struct parcel p = {.w = w, .service = s, .rt = s->rt, .pool = s->pool->rt};
	const struct snap_member *m = snap_by_addr(s->pool, source);

	atomic_fetch_add_explicit(&s->rt->counts[w->index].parcels, 1, memory_order_relaxed);
	hf_arena_reset(&w->arena);
	deliver_ctx(w, s, &p.ctx);
	p.ev = (struct hf_event){.kind = HF_EV_BYTES, .bytes = bytes, .listener = &s->infos[at], .source = *source, .local = *local, .member = m ? m->hash : 0};
	deliver_run(&p);
}

void deliver_letters(struct worker *w)
{
	struct letter l;

	while (letter_take(&w->box, &l, w->scratch)) {
		const struct snap_service *s = snap_service(w->snap, l.service);

		if (!conn_deliver(w, &l.flow, hf_bytes_of(w->scratch, l.size)) && s)
			worker_count(w, s->rt, HF_R_FLOW_GONE);
	}
}
