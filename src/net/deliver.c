/* A parcel's way: an event goes into the front's step, its acts are run, the engine is asked, until nothing is asked any more.
 * This is the only place where net, front and engine meet. It knows no protocol. */
#include "flow.h"
#include "holdfast/hash.h"

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

static void choose(struct parcel *p, const struct snap_member *m, const struct hf_answer *a)
{
	struct hf_chosen *c = &p->chosen;

	*c = (struct hf_chosen){.why = a->why, .known = a->known, .firm = a->firm, .left = a->left, .hold_ms = a->hold_ms};
	if (p->hold)
		c->hold = hold_name(p->w, p->hold);
	else if (p->story)
		c->hold.generation = 1;
	else if (p->holds)
		c->hold = hold_next(p->w, p->took ? p->took : p->ev.bytes.n);
	if (!m)
		return;
	c->server = m->hash;
	c->name = hf_bytes_str(m->name);
	c->addr = m->addr;
	c->transport = m->transport;
	c->state = hf_engine_state(p->service->pool->rt->engine, m->id, NULL);
	if (parcel_paired(p))
		return;
	c->out = send_out_for(p, &m->addr, m->transport);
	if (c->out) {
		c->out_addr = c->out->addr;
		if (c->out->wildcard && m->from.family) {
			c->out_addr = m->from;
			c->out_addr.port = c->out->addr.port;
		}
	}
}

static unsigned avoided(const struct parcel *p, const struct hf_ask *a, uint16_t id[HF_AVOID_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n_avoid && i < HF_AVOID_MAX; i++) {
		const struct snap_member *m = worker_by_hash(p->w, p->service->pool, a->avoid[i]);

		if (m)
			id[n++] = m->id;
	}
	return n;
}

/* From here on it is an event of the hold, too. */
void deliver_enter(struct parcel *p, struct hold *x, struct hf_event *came)
{
	p->hold = x;
	hold_came(x, p->service, came);
	p->ev.hold = hold_state(x);
	p->ev.held = came;
}

static bool found_hold(struct parcel *p, const struct hf_ask *a)
{
	struct hold *x = a->tag && !p->hold && !p->story ? hold_tagged(p->w, p->rt, a->tag) : NULL;

	if (x)
		deliver_enter(p, x, &p->w->came);
	return x != NULL;
}

/* Who is held to a share of the entries: an address, or a /64. Servers are not. */
static uint64_t quota_source(const struct parcel *p)
{
	const struct hf_addr *a = &p->ev.source;
	uint64_t n = 0;

	memcpy(&n, a->ip, a->family == 6 ? 8 : 4);
	return p->ev.from_servers ? 0 : n;
}

/* What the fallback spreads by: every gateway has the same number for an address. */
static uint64_t spread(const struct parcel *p, const struct hf_ask *a)
{
	bool used = a->unplaced || (!a->key.fp && !a->place);

	return a->spread || !used ? a->spread : hf_sip13(p->w->net->site.hash_key, hf_addr_ip(&p->ev.source));
}

static void ask(struct parcel *p, const struct hf_act *act)
{
	const struct hf_ask *a = &act->ask;
	uint16_t avoid[HF_AVOID_MAX];
	struct hf_question q = {
		.hint = hinted(p, a), .hint_why = a->hint_why, .refs = {a->refs[0].fp, a->refs[1].fp}, .key = a->key, .life = a->life, .life_s = a->life_s,
		.flags = a->flags, .spread = spread(p, a), .source = quota_source(p), .move = a->again,
		.place = a->place, .place_else = a->place_else, .unplaced = a->unplaced, .renews = a->renews, .unless_firm = a->unless_firm, .server_only = true};
	struct hf_answer answer = {0};

	if (found_hold(p, a)) {
		p->next = HF_EV_HELD;
		return;
	}
	p->next = HF_EV_CHOICE;
	p->sticky = a->key.fp;
	p->holds = a->holds;
	if (a->again && parcel_paired(p)) {
		q.avoid = conn_tried(p->flow, &q.n_avoid);
	} else if (a->n_avoid) {
		q.avoid = avoid;
		q.n_avoid = avoided(p, a, avoid);
	}
	if (q.n_avoid && !q.avoid) { /* it has tried enough */
		choose(p, NULL, &answer);
		return;
	}
	if (p->story)
		explain_ask(p, act, &q, &answer);
	else
		hf_engine_choose(p->service->pool->rt->engine, &q, &answer, p->ctx.now_ms);
	if (answer.full)
		parcel_count(p, HF_R_ENTRIES_FULL);
	if (answer.over)
		parcel_count(p, HF_R_ENTRY_QUOTA);
	choose(p, worker_by_id(p->w, p->service->pool, answer.server), &answer);
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
		parcel_count(p, HF_R_ENTRIES_FULL);
}

static void evidence(struct parcel *p, const struct hf_act *act)
{
	const struct snap_member *m = p->service ? snap_by_hash(p->service->pool, act->evidence.server) : NULL;
	struct member_rt *rt = m ? &p->service->pool->rt->members[m->id] : NULL;

	if (!m)
		return;
	if (act->evidence.what == HF_EVIDENCE_BUSY)
		atomic_store_explicit(&rt->busy_until_ms, p->w->now_ms + act->evidence.ms, memory_order_relaxed);
	else if (act->evidence.what == HF_EVIDENCE_FAILED)
		atomic_fetch_add_explicit(&rt->unwell, 1, memory_order_relaxed);
	else if (atomic_load_explicit(&rt->unwell, memory_order_relaxed)) /* as a rule there is nothing to write to what all workers read */
		atomic_store_explicit(&rt->unwell, 0, memory_order_relaxed);
}

/* ---- the rest ---- */

static void more(struct parcel *p, const struct hf_act *act)
{
	if (parcel_paired(p))
		conn_more(p, act->need);
	else if (p->flow)
		p->flow->side[HF_CLIENT].need = act->need > UINT32_MAX ? UINT32_MAX : (uint32_t)act->need;
	else
		parcel_count(p, HF_R_BAD_STEP);
}

static void took(struct parcel *p, const struct hf_act *act) { p->took = act->need; }

static void hold(struct parcel *p, const struct hf_act *act)
{
	if (parcel_paired(p)) {
		conn_hold(p, act->hold.ms);
	} else if (p->hold) {
		hold_again(p->w, p->hold, act->hold.ms, act->hold.state);
		p->sheds |= act->hold.shed;
	} else {
		p->hold = hold_keep(p, act->hold.ms, act->hold.state, act->hold.keep.p ? act->hold.keep : p->ev.bytes, act->hold.tag);
		if (!p->hold)
			parcel_count(p, HF_R_HOLD_LIMIT);
	}
}

static void let_go(struct parcel *p, const struct hf_act *act)
{
	(void)act;
	p->frees = true;
}

/* What has been let go of is let go when no step can look at it any more. */
static void settle(struct parcel *p)
{
	if (p->frees && p->hold)
		hold_end(p->w, p->hold);
	else if (p->sheds && p->hold)
		hold_shed(p->w, p->hold);
}

/* On to a hold: here the step goes on at once. */
static void pass(struct parcel *p, const struct hf_act *act)
{
	struct hold *x = p->story ? NULL : hold_find(p->w, &act->note.to);

	if (x && x != p->hold)
		deliver_enter(p, x, &p->w->came);
	if (x || p->story || !told_pass(p, &act->note.to))
		p->next = HF_EV_LETTER;
}

static void end(struct parcel *p, const struct hf_act *act)
{
	if (act->kind == HF_ACT_CLOSE && p->flow && p->rt->front->framed)
		stream_end_later(p->flow, act->end.reason);
	else if (act->kind == HF_ACT_CLOSE && p->flow)
		conn_close_later(p->flow, act->end.reason);
	else
		parcel_count(p, act->end.reason);
}

static void relay(struct parcel *p, const struct hf_act *act)
{
	if (parcel_paired(p))
		conn_relay(p, act->relay.client_used, act->relay.server_used, act->relay.mark);
	else
		parcel_count(p, HF_R_BAD_STEP);
}

static void (*const run[])(struct parcel *, const struct hf_act *) = {
	[HF_ACT_MORE] = more, [HF_ACT_TOOK] = took, [HF_ACT_ASK] = ask, [HF_ACT_SEND] = send_act, [HF_ACT_HOLD] = hold, [HF_ACT_FREE] = let_go,
	[HF_ACT_PASS] = pass, [HF_ACT_NOTE] = told_note, [HF_ACT_LEARN] = learn, [HF_ACT_END] = learn, [HF_ACT_EVIDENCE] = evidence, [HF_ACT_RELAY] = relay,
	[HF_ACT_DROP] = end, [HF_ACT_CLOSE] = end};

static void nothing(struct parcel *p, const struct hf_act *act) { (void)p, (void)act; }

/* Explaining does nothing but ask, and that by the same words. */
static void (*const looks[])(struct parcel *, const struct hf_act *) = {
	[HF_ACT_MORE] = explain_act, [HF_ACT_TOOK] = nothing, [HF_ACT_ASK] = ask, [HF_ACT_SEND] = explain_act, [HF_ACT_HOLD] = explain_act, [HF_ACT_FREE] = nothing,
	[HF_ACT_PASS] = pass, [HF_ACT_NOTE] = nothing, [HF_ACT_LEARN] = explain_act, [HF_ACT_END] = explain_act, [HF_ACT_EVIDENCE] = nothing, [HF_ACT_RELAY] = nothing, [HF_ACT_DROP] = explain_act,
	[HF_ACT_CLOSE] = explain_act};

/* What may be done for a flow whose service is gone, or that has ended. */
static bool allowed(const struct parcel *p, enum hf_act_kind k)
{
	bool bookkeeping = k == HF_ACT_LEARN || k == HF_ACT_END || k == HF_ACT_EVIDENCE;

	if (bookkeeping)
		return p->pool != NULL;
	return p->ev.kind != HF_EV_END && !p->closed && p->service;
}

static void steps(struct parcel *p)
{
	struct hf_acts acts;

	for (int turn = 0; turn < TURNS; turn++) {
		acts.n = 0;
		p->next = HF_EV_BYTES;
		p->failed = 0;
		p->rt->front->step(&p->ctx, &p->ev, &acts);
		for (unsigned i = 0; i < acts.n; i++)
			if (allowed(p, acts.a[i].kind))
				(p->story ? looks : run)[acts.a[i].kind](p, &acts.a[i]);
		if (p->failed && p->ev.kind == HF_EV_FAIL)
			parcel_count(p, p->failed); /* not even what the failure asked for could be done */
		if ((!p->next && (!p->failed || p->ev.kind == HF_EV_FAIL)) || p->closed)
			return;
		if (p->hold && !p->ev.hold)
			deliver_enter(p, p->hold, &p->w->came); /* it failed, and has been kept */
		p->ev.kind = p->next ? p->next : HF_EV_FAIL;
		p->ev.chosen = &p->chosen;
		p->ev.reason = p->failed;
	}
	parcel_count(p, HF_R_BAD_STEP);
	if (p->story)
		return;
	if (p->flow && p->rt->front->framed)
		stream_end_later(p->flow, HF_R_BAD_STEP);
	else if (p->flow && !p->closed)
		conn_close_later(p->flow, HF_R_BAD_STEP);
}

void deliver_run(struct parcel *p)
{
	steps(p);
	if (p->hold)
		settle(p);
}

size_t deliver_back(struct worker *w, const struct snap_service *s, const struct hf_listener_info *l, const struct hf_addr *to, uint32_t server, unsigned reason, struct hf_bytes bytes)
{
	struct parcel p = {.w = w, .service = s, .rt = s->rt, .pool = s->pool->rt, .chosen = {.server = server}};

	hf_arena_reset(&w->arena);
	deliver_ctx(w, s, &p.ctx);
	p.ev = (struct hf_event){.kind = HF_EV_FAIL, .bytes = bytes, .listener = l ? l : &s->infos[0], .source = *to, .local = s->infos[0].addr, .transport = HF_TCP,
		.chosen = &p.chosen, .reason = reason};
	deliver_run(&p);
	return p.took <= bytes.n ? p.took : 0;
}

void deliver_speaker(const struct snap_service *s, const struct hf_listener_info *l, struct hf_event *ev)
{
	bool listed = l->inside || snap_in(&s->conf->servers_from, &ev->source);
	const struct snap_member *m = snap_speaker(s->pool, &ev->source, listed);

	ev->member = m ? m->hash : 0;
	ev->from_servers = m || listed;
}

void deliver_datagram(struct worker *w, const struct snap_service *s, unsigned at, struct hf_bytes bytes, const struct hf_addr *source, const struct hf_addr *local)
{
	struct parcel p = {.w = w, .service = s, .rt = s->rt, .pool = s->pool->rt};

	atomic_fetch_add_explicit(&s->rt->counts[w->index].parcels, 1, memory_order_relaxed);
	hf_arena_reset(&w->arena);
	deliver_ctx(w, s, &p.ctx);
	p.ev = (struct hf_event){.kind = HF_EV_BYTES, .bytes = bytes, .listener = &s->infos[at], .source = *source, .local = *local,
		.transport = HF_UDP};
	deliver_speaker(s, &s->infos[at], &p.ev);
	deliver_run(&p);
}
