/* From a client's first octet to a host that takes the connection: reading the request, asking, dialling, holding, refusing.
 * Called by front.c. Knows nothing of what the host says. */
#include "flow.h"

#include "holdfast/hash.h"
#include "keys.h"
#include "opening.h"
#include "reasons.h"
#include "token.h"
#include "syn.h"

/* The request in the flow's buffer was found whole before, as the configuration of then read it. */
static void keys_again(struct hf_ctx *ctx, const struct hf_event *ev, struct rdp_keys *k)
{
	struct rdp_flow *f = ctx->flow;
	struct x224_request r = {0};
	size_t need;

	if (!f->direct)
		HF_BUG_ON(x224_read(hf_bytes_sub(ev->bytes, f->blob, ev->bytes.n), &r, &need) != 0);
	rdp_keys_of(ctx, &r, ev, f->nth, k);
}

static void ask(struct hf_ctx *ctx, const struct hf_event *ev, const struct rdp_keys *k, bool again, struct hf_acts *acts)
{
	const struct rdp_conf *conf = ctx->conf;
	struct rdp_flow *f = ctx->flow;
	struct hf_ask *q = &hf_act(acts, HF_ACT_ASK)->ask;

	q->again = f->again = again;
	q->renews = q->knocks = true; /* a connection makes its bond anew, unless its session lives: the engine knows */
	q->key = k->main;
	q->place_else = k->perhaps;
	q->place_last = k->by_user ? k->unclaimed.fp : k->users.fp;
	q->max_flows = k->by_source && f->nth < RDP_BONDS ? (uint32_t)conf->source_limit : 0; /* behind the last bond there is no next */
	if (conf->user_sources && k->apart) {
		q->max_sources = (uint32_t)conf->user_sources;
		q->apart = k->apart;
	}
	q->spread = hf_sip13(ctx->site->hash_key, hf_addr_ip(&ev->source));
	f->phase = ASKED;
	if (k->by_token && !again) {
		q->hint = k->hint_server;
		q->hint_addr = k->hint;
		q->hint_why = HF_WHY_TOKEN;
		if (k->leg.fp) {
			q->refs[0] = k->token;
			q->refs[1] = k->leg;
		}
	}
	if (k->by_id && !q->refs[0].fp && !again)
		q->refs[0] = k->correlation;
	f->named = k->by_token || k->by_id;
	q->opens = f->named || !k->main.fp;
	if (q->opens)
		return;
	f->counted = true;
	f->asked_fp = k->main.fp;
	q->life = f->entry_fp ? HF_LIFE_START : HF_LIFE_OPEN; /* one live flow, however often it asks */
	q->life_s = f->linger_s;
	q->flags = flow_flags(f);
}

/* ---- the pool ---- */

/* That of the collection that a token names; NULL: there is none. */
static const struct hf_pool_word *collection_of(const struct rdp_conf *conf, struct hf_bytes token)
{
	struct hf_bytes name = token_collection(token);

	for (unsigned i = 0; i < conf->collections.n; i++)
		if (hf_bytes_ieq(name, conf->collections.list[i].word))
			return &conf->collections.list[i];
	return NULL;
}

/* A collection's token chooses its pool. An address is that of a host which redirected its client, and in whichever pool it is, there is the user's
 * session. False: it is the service's own. */
static bool choose_pool(const struct rdp_conf *conf, const struct x224_request *r, struct hf_acts *acts)
{
	const struct hf_pool_word *w = NULL;
	struct hf_addr a = {0};
	enum token_kind kind;
	struct hf_act *act;

	if (!conf->collections.n || !r->has_token)
		return false;
	kind = token_read(r->token, &a);
	if (kind == TOKEN_COLLECTION) {
		w = collection_of(conf, r->token);
		flow_count(acts, w ? 0 : RDP_R_COLLECTION_UNKNOWN);
	}
	if (!w && (kind != TOKEN_ADDRESS || !rdp_chain_has(&conf->key, RDP_BY_TOKEN)))
		return false;
	act = hf_act(acts, HF_ACT_POOL);
	act->pool.at = w ? w->pool : 0;
	act->pool.has = a;
	return true;
}

/* What stands where a broker's line would: users guess at it, and only who explains can tell them. */
static const char *remark(const struct rdp_conf *conf, const struct x224_request *r)
{
	static const char *const texts[] = {
		[TOKEN_ADDRESS] = "its token is an address, as a host gives when it redirects", [TOKEN_NUMBER] = "its token is a number, which one host gave for one second leg",
		[TOKEN_SIGNED] = "its token says that it is ours", [TOKEN_TEXT] = "its token is neither an address nor a number, and is passed on as it is",
		[TOKEN_COLLECTION] = "its token names a collection, which decides nothing here and is passed on to the host",
		[TOKEN_LINE] = "it has a line that is no token of a kind known here, passed on as it is"};
	struct hf_addr a;

	enum token_kind kind = r->has_token ? token_read(r->token, &a) : TOKEN_LINE;

	if (kind == TOKEN_COLLECTION && conf->collections.n)
		return collection_of(conf, r->token) ? "its token names a collection of this service, which chooses the pool, and is passed on to the host"
						     : "its token names a collection that this service has no pool for, and is passed on to the host";
	return r->has_token ? texts[kind] : "no collection in the request: it has no token";
}

/* Who would not understand the quiet way to say no is closed. */
static void refuse(const struct rdp_flow *f, struct hf_acts *acts, unsigned reason)
{
	(f->direct ? flow_close : flow_refuse)(acts, reason);
}

/* A failure block goes out for this alone (MS-RDPBCGR 2.2.1.2.2): clients answer by another attempt, with another protocol. */
static void refuse_weak(const struct rdp_conf *conf, const struct opening *o, struct hf_acts *acts)
{
	struct hf_bytes failure = opening_refusal(conf, o);
	struct hf_act *a;

	if (!failure.n) {
		flow_refuse(acts, RDP_R_SECURITY);
		return;
	}
	a = hf_act(acts, HF_ACT_SEND);
	a->send.to = HF_TO_CLIENT;
	a->send.base = failure;
	flow_close(acts, RDP_R_SECURITY);
}

static void begin(struct hf_ctx *ctx, const struct hf_event *ev, const struct opening *o, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct rdp_keys k;

	f->blob = (uint16_t)o->blob;
	f->direct = o->direct;
	rdp_keys_of(ctx, &o->r, ev, 0, &k);
	f->by_source = k.by_source;
	f->unclaimed_fp = k.unclaimed.fp;
	f->brief = k.main.fp && k.main.fp == k.correlation.fp;
	f->id_fp = f->brief ? 0 : k.correlation.fp;
	f->id_name = syn_id_name(ctx, o->r.correlation);
	f->linger_s = flow_linger_s(ctx, f);
	f->by_user = k.by_user;
	f->other_fp = k.other.fp;
	f->leg = k.first_leg;
	ctx->seen.remark = o->direct ? "it begins with TLS: nothing in it tells of a user" : remark(ctx->conf, &o->r);
	flow_count(acts, k.facts[0]);
	flow_count(acts, k.facts[1]);
	ask(ctx, ev, &k, false, acts);
}

void ask_opening(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const struct rdp_conf *conf = ctx->conf;
	struct rdp_flow *f = ctx->flow;
	struct opening o;
	size_t need;
	unsigned bad = opening_read(conf, ev->bytes, &o, &need);

	if (bad == X224_WAIT && !ev->eof)
		hf_act(acts, HF_ACT_MORE)->need = need;
	else if (bad)
		flow_close(acts, bad == X224_WAIT ? HF_R_CLIENT_CLOSED : bad);
	else if (opening_too_weak(conf, &o))
		refuse_weak(conf, &o, acts);
	else if (!f->placed && choose_pool(conf, &o.r, acts))
		f->placed = true; /* once more, by what that pool has */
	else
		begin(ctx, ev, &o, acts);
}

/* ---- the answer ---- */

/* The user has a session, or may have one, at exactly this host. */
static bool belongs(enum hf_why why)
{
	return why == HF_WHY_BOND || why == HF_WHY_ENTRY || why == HF_WHY_TOKEN || why == HF_WHY_DIALOG;
}

static void count_outside(const struct hf_chosen *c, struct hf_acts *acts)
{
	flow_count(acts, RDP_R_TOKEN_OUTSIDE);
	flow_count(acts, c->hint_port ? RDP_R_TOKEN_PORT : 0);
}

/* A flow with a token is remembered by the token when that decided, else by what decided instead; one with an id likewise. A handle's
 * second leg is not counted: the user's bond, which led to the same host, is. */
static void remember_named(const struct hf_ctx *ctx, const struct rdp_keys *k, const struct hf_chosen *c, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	bool taken = c->why == HF_WHY_TOKEN || c->why == HF_WHY_DIALOG, by_id = taken && !k->by_token;
	struct hf_key key = by_id ? k->correlation : taken ? k->token : k->main;
	struct hf_act *a;

	if (f->entry_fp)
		flow_learn(acts, flow_key(f->entry_fp), HF_LIFE_CLOSE, f);
	else if ((k->hint.family || k->hint_server) && !taken && !c->left)
		count_outside(c, acts);
	f->entry_fp = key.fp;
	f->counted = !taken || by_id || k->hint.family || k->hint_server;
	f->by_source = !taken && k->by_source;
	f->brief |= by_id;
	f->linger_s = flow_linger_s(ctx, f);
	if (f->brief)
		f->id_fp = 0; /* it is no second name then */
	if (!key.fp)
		return;
	a = flow_learn(acts, key, HF_LIFE_OPEN, f);
	a->learn.server = c->server;
	a->learn.flags = HF_BOND | HF_TENTATIVE | (f->counted ? HF_COUNTED : 0);
	a->learn.why = c->why;
	a->learn.move = f->moved || (k->is_signed && taken); /* who signs decides where its user's session is */
}

/* A session of nobody known is begun, or claimed: by the first user of the source who has no bond, and nobody after. */
static void settle_claim(struct rdp_flow *f, const struct hf_chosen *c, struct hf_acts *acts)
{
	bool claims = f->by_user && c->led_by && c->led_by == f->unclaimed_fp;

	if (!claims && !(f->by_source && !c->known))
		f->unclaimed_fp = 0;
	if (claims)
		flow_learn(acts, flow_key(f->unclaimed_fp), HF_LIFE_END, f);
}

/* As many clients without a name are on this bond of the source as may: the next one. Or the user's name is live from as many sources as one person's
 * may be: what he is told by further is his source. */
static void ask_next(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct rdp_keys k;

	f->nth++;
	if (f->nth == 1)
		flow_count(acts, f->by_user ? RDP_R_KEY_SHARED : RDP_R_SOURCE_CROWDED);
	keys_again(ctx, ev, &k);
	ask(ctx, ev, &k, f->again, acts);
}

/* Round and round: no host takes this flow, and its bond, which counts it, stays. */
static bool loops(const struct hf_ctx *ctx, const struct hf_chosen *c)
{
	const struct rdp_conf *conf = ctx->conf;
	const struct rdp_flow *f = ctx->flow;

	return f->by_user && !f->named && conf->redirect_rounds && c->row >= conf->redirect_rounds;
}

void ask_choice(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	bool first = !f->asked_before;
	struct hf_act *a;

	if (ev->chosen->crowded) {
		ask_next(ctx, ev, acts);
		return;
	}
	if (!ev->chosen->server || loops(ctx, ev->chosen)) {
		if (ev->chosen->known && !f->entry_fp) {
			f->entry_fp = f->asked_fp; /* a bond at a host that is off counts this flow all the same */
			f->found = true;
		}
		if (first)
			f->unclaimed_fp = 0;
		refuse(f, acts, ev->chosen->server ? RDP_R_REDIRECT_LOOP : ev->chosen->none);
		return;
	}
	if (first) {
		f->asked_before = true;
		f->started_ms = ctx->now_ms;
		f->known = belongs(ev->chosen->why) && !ev->chosen->led_by;
	}
	f->server = ev->chosen->server;
	f->bound = belongs(ev->chosen->why);
	f->moved |= ev->chosen->left;
	f->hold_until_ms = ctx->now_ms + ev->chosen->hold_ms;
	if (f->named) {
		struct rdp_keys k;

		keys_again(ctx, ev, &k);
		remember_named(ctx, &k, ev->chosen, acts);
	} else {
		f->found |= ev->chosen->known && !f->entry_fp;
		f->entry_fp = f->asked_fp;
	}
	if (first)
		settle_claim(f, ev->chosen, acts);
	f->sent = (uint32_t)ev->bytes.n;
	a = hf_act(acts, HF_ACT_SEND);
	a->send.to = HF_TO_SERVER;
	a->send.server = f->server;
}

/* ---- a host that does not take the connection: nothing was sent to it ---- */

void ask_fail(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const struct rdp_conf *conf = ctx->conf;
	struct rdp_flow *f = ctx->flow;
	uint64_t spent = ctx->now_ms - f->started_ms;
	bool wait = ctx->now_ms < f->hold_until_ms;
	struct rdp_keys k;

	if (spent + (wait ? conf->dial_retry : 0) >= conf->dial_limit) {
		refuse(f, acts, ev->reason);
		return;
	}
	if (wait) {
		hf_act(acts, HF_ACT_HOLD)->hold.ms = (uint32_t)conf->dial_retry;
		f->phase = HELD;
		return;
	}
	f->moved |= f->bound;
	keys_again(ctx, ev, &k);
	ask(ctx, ev, &k, true, acts);
}

void ask_again(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_keys k;

	keys_again(ctx, ev, &k);
	ask(ctx, ev, &k, false, acts);
}
