/* A parcel's way: an event goes into the front's step, its acts are run, the engine is asked, until nothing is asked any more.
 * This is the only place where net and front meet; the engine is ask.c's. It knows no protocol. */
#include "flow.h"
#include "awaited.h"
#include "explain.h"
#include "guard.h"
#include "path.h"
#include "tale.h"
#include "notice.h"
#include "seek.h"

#define TURNS 16 /* steps a parcel may take: every candidate of a long pool, and then some */

void net_ctx_pool(const struct snap_service *s, const struct snap_pool *at, struct hf_ctx *ctx)
{
	ctx->conf = s->conf->front_conf; /* a flow may be in a pool that the service does not choose any more */
	for (unsigned i = 1; i < s->conf->n_choices; i++)
		if (s->pools[i] == at)
			ctx->conf = s->conf->choices[i].front_conf;
	ctx->pool = hf_bytes_str(at->rt->name);
	ctx->hash_mode = at->conf->affinity == HF_MODE_HASH;
}

void net_ctx(const struct hf_net *net, const struct snap_service *s, struct hf_arena *arena, uint64_t now_ms, struct hf_ctx *ctx)
{
	*ctx = (struct hf_ctx){.site = &net->site, .now_ms = now_ms, .unix_ms = now_ms + atomic_load_explicit(&net->unix_less_ms, memory_order_relaxed), .arena = arena,
		.races = atomic_load_explicit(&net->races, memory_order_relaxed) != 0};
	if (!s)
		return;
	net_ctx_pool(s, s->pool, ctx);
	ctx->listeners = s->infos;
	ctx->n_listeners = s->n_infos;
	ctx->own = s->own;
	ctx->n_own = s->n_own;
}

/* ---- acts ---- */

/* From here on it is an event of the hold, too. */
void deliver_enter(struct parcel *p, struct hold *x, struct hf_event *came)
{
	p->hold = x;
	hold_came(x, p->service, came);
	p->ev.hold = hold_state(x);
	p->ev.held = came;
}

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
		hold_again(p->w, p->hold, act->hold.ms, act->hold.state, act->hold.silent);
		p->sheds |= act->hold.shed;
		p->spares |= act->hold.spare;
	} else {
		p->hold = hold_keep(p, act->hold.ms, act->hold.state, act->hold.keep.p ? act->hold.keep : p->ev.bytes, act->hold.tag);
		if (!p->hold)
			parcel_count(p, HF_R_HOLD_LIMIT);
	}
	p->ctx.races |= act->hold.races;
	if (p->hold && p->ctx.races) /* as a rule there is none */
		hold_races(p->w, p->hold, act->hold.races);
}

static void let_go(struct parcel *p, const struct hf_act *act)
{
	(void)act;
	p->frees = true;
}

/* Apart, so that who has no connection pays nothing for it. */
__attribute__((noinline)) static void carried(struct parcel *p)
{
	const struct hf_flow_name name = hold_name(p->w, p->hold);

	awaited_add(p->link, &name);
}

/* What has been let go of is let go when no step can look at it any more. */
static void settle(struct parcel *p)
{
	if (p->link)
		carried(p);
	if (p->frees && p->hold)
		hold_end(p->w, p->hold);
	else if (p->sheds && p->hold)
		hold_shed(p->w, p->hold);
	else if (p->spares && p->hold)
		hold_spare(p->w, p->hold);
}

/* On to a hold: here the step goes on at once. */
static void pass(struct parcel *p, const struct hf_act *act)
{
	struct hold *x = p->story ? NULL : hold_find(p->w, p->rt, &act->note.to);

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
	if (p->flow && act->end.count_only)
		tale_fact(p->flow->tale, act->end.reason);
}

static void relay(struct parcel *p, const struct hf_act *act)
{
	if (parcel_paired(p))
		conn_relay(p, act);
	else if (!p->flow && p->rt->front->datagram_flows)
		path_begin(p, act->relay.idle_ms);
	else
		parcel_count(p, HF_R_BAD_STEP);
}

/* The service's pool that is meant; NULL: it has none of that number. An address of no member means none, so that the flow stays. */
static const struct snap_pool *meant(const struct snap_service *s, const struct hf_act *act)
{
	if (!act->pool.has.family)
		return act->pool.at < s->conf->n_choices ? s->pools[act->pool.at] : NULL;
	for (unsigned i = 0; i < s->conf->n_choices; i++)
		if (snap_by_addr(s->pools[i], &act->pool.has))
			return s->pools[i];
	return s->pool;
}

/* From here on the flow is in that pool, whatever becomes of the service's list. */
static void enter_pool(struct parcel *p, const struct hf_act *act)
{
	const struct snap_pool *at = parcel_paired(p) && !p->flow->placed ? meant(p->service, act) : NULL;

	if (!at) {
		parcel_count(p, HF_R_BAD_STEP);
		return;
	}
	p->at = at;
	p->pool = p->flow->pool = at->rt;
	p->flow->placed = true;
	net_ctx_pool(p->service, at, &p->ctx);
	p->entered = true;
}

static void (*const run[])(struct parcel *, const struct hf_act *) = {
	[HF_ACT_MORE] = more, [HF_ACT_TOOK] = took, [HF_ACT_POOL] = enter_pool, [HF_ACT_ASK] = ask_act, [HF_ACT_SEEK] = seek_act, [HF_ACT_SEND] = send_act, [HF_ACT_HOLD] = hold, [HF_ACT_FREE] = let_go,
	[HF_ACT_PASS] = pass, [HF_ACT_NOTE] = told_note, [HF_ACT_LEARN] = ask_learn, [HF_ACT_END] = ask_learn, [HF_ACT_EVIDENCE] = ask_evidence, [HF_ACT_RELAY] = relay,
	[HF_ACT_DROP] = end, [HF_ACT_CLOSE] = end};

static void nothing(struct parcel *p, const struct hf_act *act) { (void)p, (void)act; }

/* Explaining does nothing but ask, and that by the same words. */
static void (*const looks[])(struct parcel *, const struct hf_act *) = {
	[HF_ACT_MORE] = explain_act, [HF_ACT_TOOK] = nothing, [HF_ACT_POOL] = enter_pool, [HF_ACT_ASK] = ask_act, [HF_ACT_SEEK] = explain_act, [HF_ACT_SEND] = explain_act, [HF_ACT_HOLD] = explain_act, [HF_ACT_FREE] = nothing,
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
		p->entered = false;
		p->rt->front->step(&p->ctx, &p->ev, &acts);
		if (p->ctx.seen.name && p->ev.kind == HF_EV_BYTES && p->w && !p->carried)
			notice_came(p);
		for (unsigned i = 0; i < acts.n; i++)
			if (allowed(p, acts.a[i].kind))
				(p->story ? looks : run)[acts.a[i].kind](p, &acts.a[i]);
		if (p->entered)
			continue;
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

size_t deliver_back(struct worker *w, const struct snap_service *s, const struct came_back *b, struct hf_bytes bytes)
{
	struct parcel p = {.w = w, .service = s, .rt = s->rt, .pool = s->pool->rt, .at = s->pool, .chosen = {.server = b->server}};
	const struct snap_member *m = b->server ? snap_by_hash(s->pool, b->server) : NULL;

	hf_arena_reset(&w->arena);
	deliver_ctx(w, s, &p.ctx);
	p.ev = (struct hf_event){.kind = HF_EV_FAIL, .bytes = bytes, .listener = b->listener ? b->listener : &s->infos[0], .source = b->to, .local = s->infos[0].addr,
		.transport = b->transport, .chosen = &p.chosen, .reason = b->reason};
	p.ev.from_servers = b->transport == HF_UDP; /* only a server's message goes by a connection that is open alone, and has been let through so */
	if (m)
		ask_reach(&p, m);
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
	struct parcel p = {.w = w, .service = s, .rt = s->rt, .pool = s->pool->rt, .at = s->pool, .anchors = w->net->anchors};

	worker_bump(&s->rt->counts[w->index].parcels, 1);
	hf_arena_reset(&w->arena);
	deliver_ctx(w, s, &p.ctx);
	p.ev = (struct hf_event){.kind = HF_EV_BYTES, .bytes = bytes, .listener = &s->infos[at], .source = *source, .local = *local,
		.transport = HF_UDP};
	deliver_speaker(s, &s->infos[at], &p.ev);
	if (guard_takes(&p))
		deliver_run(&p);
}
