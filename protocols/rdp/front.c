/* The RDP front: a Connection Request in, a host chosen, the request and then everything else passed on octet for octet.
 *
 * One flow goes OPENING -> ASKED -> (HELD -> ASKED)* -> RELAYED. All of a flow's state is struct rdp_flow; the request itself
 * stays in net's buffer and is read again when it is needed. Must not know sockets, the engine or the clock; net calls step. */
#include "rdp.h"

#include "holdfast/hash.h"
#include "keys.h"
#include "option.h"
#include "reasons.h"
#include "x224.h"

#define OPENING_MAX (16384u + X224_MAX) /* octets a client may send behind its request before the host has answered */
#define LEG_S 10u           /* a second leg of a redirect follows the first within seconds */
#define HASH_MODE_S 32u     /* front.h: what a life is cut to in hash mode */

enum phase { OPENING, ASKED, HELD, RELAYED };

struct rdp_flow {
	uint64_t started_ms;  /* first choice: dial-limit counts from here */
	uint64_t down_since_ms; /* of the server chosen; 0 = it is not known to be down */
	uint64_t asked_fp;    /* the key that was asked for with an entry; 0 = none */
	uint64_t entry_fp;    /* the entry that counts this flow as live; 0 = none */
	uint64_t alias_fp;    /* the source, as a second name of a user's bond; 0 = none yet */
	uint64_t leg_fp;      /* what a later leg of a redirect finds this flow by */
	uint32_t server, linger_s, sent;
	uint8_t phase;
	bool asked_before, bound, known, moved, counted, by_user, confirmed;
};
_Static_assert(sizeof(struct rdp_flow) <= HF_FLOW_STATE, "flow state");

/* ---- acts ---- */

static void close_for(struct hf_acts *acts, unsigned reason)
{
	hf_act(acts, HF_ACT_CLOSE)->end.reason = reason;
}

/* The quiet way to say no to a valid request: clients give up after one attempt. */
static void refuse(struct hf_acts *acts, unsigned reason)
{
	struct hf_act *a = hf_act(acts, HF_ACT_SEND);

	a->send.to = HF_TO_CLIENT;
	a->send.base = hf_bytes_of(x224_refusal, sizeof x224_refusal);
	close_for(acts, reason);
}

static void count(struct hf_acts *acts, unsigned reason)
{
	struct hf_act *a;

	if (!reason)
		return;
	a = hf_act(acts, HF_ACT_DROP);
	a->end.reason = reason;
	a->end.count_only = true;
}

static struct hf_act *learn(struct hf_acts *acts, struct hf_key key, enum hf_life life, const struct rdp_flow *f)
{
	struct hf_act *a = hf_act(acts, HF_ACT_LEARN);

	a->learn.key = key;
	a->learn.life = life;
	a->learn.life_s = f->linger_s;
	a->learn.flags = HF_BOND;
	return a;
}

static struct hf_key by_fp(uint64_t fp) { return (struct hf_key){.fp = fp}; }

/* ---- asking ---- */

/* The request in the flow's buffer was found whole before. */
static void keys_again(struct hf_ctx *ctx, const struct hf_event *ev, struct rdp_keys *k)
{
	struct x224_request r;
	size_t need;

	HF_BUG_ON(x224_read(ev->bytes, &r, &need) != 0);
	rdp_keys_of(ctx, &r, &ev->source, k);
}

static unsigned entry_flags(const struct rdp_flow *f)
{
	return HF_BOND | (f->counted ? HF_COUNTED : 0) | (f->known ? 0 : HF_TENTATIVE);
}

static void ask(struct hf_ctx *ctx, const struct hf_event *ev, const struct rdp_keys *k, bool again, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct hf_ask *q = &hf_act(acts, HF_ACT_ASK)->ask;

	q->again = again;
	q->key = k->main;
	q->spread = hf_sip13(ctx->site->hash_key, hf_addr_ip(&ev->source));
	f->phase = ASKED;
	if (k->by_token && !again) {
		q->hint_addr = k->hint;
		q->hint_why = HF_WHY_TOKEN;
		if (k->leg.fp) {
			q->refs[0] = k->token;
			q->refs[1] = k->leg;
		}
	}
	if (k->by_token || !k->main.fp)
		return; /* whose entry it is shows only in the answer */
	f->counted = true;
	f->asked_fp = k->main.fp;
	q->life = f->entry_fp ? HF_LIFE_START : HF_LIFE_OPEN; /* one live flow, however often it asks */
	q->life_s = f->linger_s;
	q->flags = entry_flags(f);
}

static uint32_t linger_s(const struct hf_ctx *ctx)
{
	const struct rdp_conf *conf = ctx->conf;

	return ctx->hash_mode ? HASH_MODE_S : (uint32_t)(conf->linger / 1000);
}

static void opening(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct x224_request r;
	struct rdp_keys k;
	size_t need;
	unsigned bad = x224_read(ev->bytes, &r, &need);

	if (bad == X224_WAIT && !ev->eof) {
		hf_act(acts, HF_ACT_MORE)->need = need;
		return;
	}
	if (bad) {
		close_for(acts, bad == X224_WAIT ? HF_R_CLIENT_CLOSED : bad);
		return;
	}
	rdp_keys_of(ctx, &r, &ev->source, &k);
	f->linger_s = linger_s(ctx);
	f->by_user = k.by_user;
	f->leg_fp = k.by_token ? 0 : k.leg.fp;
	count(acts, k.facts[0]);
	count(acts, k.facts[1]);
	ask(ctx, ev, &k, false, acts);
}

/* ---- the answer ---- */

/* The user has a session, or may have one, at exactly this host. */
static bool belongs(enum hf_why why)
{
	return why == HF_WHY_BOND || why == HF_WHY_ENTRY || why == HF_WHY_TOKEN || why == HF_WHY_DIALOG;
}

/* A flow with a token is remembered by the token when that decided, else by what decided instead. A handle's second leg is not
 * counted: the user's bond, which led to the same host, is. */
static void remember_token(const struct rdp_keys *k, const struct hf_chosen *c, struct rdp_flow *f, struct hf_acts *acts)
{
	bool taken = c->why == HF_WHY_TOKEN || c->why == HF_WHY_DIALOG;
	struct hf_key key = taken ? k->token : k->main;
	struct hf_act *a;

	if (f->entry_fp)
		learn(acts, by_fp(f->entry_fp), HF_LIFE_CLOSE, f);
	else if (k->hint.family && !taken)
		count(acts, RDP_R_TOKEN_OUTSIDE);
	f->entry_fp = key.fp;
	f->counted = !taken || k->hint.family;
	if (!key.fp)
		return;
	a = learn(acts, key, HF_LIFE_OPEN, f);
	a->learn.server = c->server;
	a->learn.flags = HF_BOND | HF_TENTATIVE | (f->counted ? HF_COUNTED : 0);
	a->learn.why = c->why;
	a->learn.move = f->moved;
}

static void choice(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct hf_act *a;
	struct rdp_keys k;

	if (!ev->chosen->server) {
		if (ev->chosen->known && !f->entry_fp)
			f->entry_fp = f->asked_fp; /* a bond at a host that is off counts this flow all the same */
		refuse(acts, HF_R_NO_SERVER);
		return;
	}
	if (!f->asked_before) {
		f->asked_before = true;
		f->started_ms = ctx->now_ms;
		f->bound = f->known = belongs(ev->chosen->why);
	}
	f->server = ev->chosen->server;
	f->down_since_ms = ev->chosen->down_ms ? ctx->now_ms - ev->chosen->down_ms : 0;
	keys_again(ctx, ev, &k);
	if (k.by_token)
		remember_token(&k, ev->chosen, f, acts);
	else
		f->entry_fp = f->asked_fp;
	f->sent = (uint32_t)ev->bytes.n;
	a = hf_act(acts, HF_ACT_SEND);
	a->send.to = HF_TO_SERVER;
	a->send.server = f->server;
}

/* ---- a host that does not take the connection: nothing was sent to it ---- */

static void fail(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const struct rdp_conf *conf = ctx->conf;
	struct rdp_flow *f = ctx->flow;
	uint64_t spent = ctx->now_ms - f->started_ms;
	uint64_t down_ms = f->down_since_ms ? ctx->now_ms - f->down_since_ms : 0;
	bool wait = f->bound && down_ms < conf->on_down;
	struct rdp_keys k;

	if (spent + (wait ? conf->dial_retry : 0) >= conf->dial_limit) {
		refuse(acts, ev->reason);
		return;
	}
	if (wait) {
		hf_act(acts, HF_ACT_HOLD)->hold.ms = (uint32_t)conf->dial_retry;
		f->phase = HELD;
		return;
	}
	f->moved |= f->bound;
	f->bound = false;
	keys_again(ctx, ev, &k);
	ask(ctx, ev, &k, true, acts);
}

/* ---- the host's first octets, then the relay ---- */

static void relay(struct rdp_flow *f, uint32_t mark, struct hf_acts *acts)
{
	struct hf_act *a = hf_act(acts, HF_ACT_RELAY);

	a->relay.client_used = f->sent;
	a->relay.mark = mark;
	f->phase = RELAYED;
}

/* The source as a second name of a user's bond, so that a later request without a cookie finds the host. An older bond of the source
 * stays, unless this user had to leave its host. */
static void open_alias(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct x224_request none = {0};
	struct rdp_keys k;
	struct hf_act *a;

	if (!f->by_user || !f->entry_fp)
		return;
	rdp_keys_of(ctx, &none, &ev->source, &k);
	if (!k.source.fp)
		return;
	f->alias_fp = k.source.fp;
	a = learn(acts, k.source, HF_LIFE_OPEN, f);
	a->learn.server = f->server;
	a->learn.flags = HF_BOND | HF_TENTATIVE;
	a->learn.why = HF_WHY_BOND;
	a->learn.move = f->moved;
}

/* Whatever the host says goes on as it came; only a Confirm makes a session of it. */
static void reply(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const struct rdp_conf *conf = ctx->conf;
	struct rdp_flow *f = ctx->flow;
	size_t need;
	enum x224_reply r = x224_read_reply(ev->bytes, &need);

	if (ev->eof && ev->bytes.n == 0) {
		close_for(acts, HF_R_SERVER_CLOSED);
		return;
	}
	if (r == X224_REPLY_WAIT && !ev->eof) {
		hf_act(acts, HF_ACT_MORE)->need = need;
		return;
	}
	f->confirmed = r == X224_REPLY_CONFIRM;
	if (f->confirmed)
		open_alias(ctx, ev, acts);
	else
		count(acts, r == X224_REPLY_NEG_FAILURE ? RDP_R_NEG_FAILURE : RDP_R_NO_CONFIRM);
	relay(f, f->confirmed ? (uint32_t)conf->firm_after : 0, acts);
}

/* The session has proved itself: its bonds are no longer the first to go when room is short. */
static void firm(struct rdp_flow *f, struct hf_acts *acts)
{
	struct hf_act *a;

	if (!f->entry_fp)
		return;
	f->known = true;
	a = learn(acts, by_fp(f->entry_fp), HF_LIFE_TOUCH, f);
	a->learn.server = f->server;
	a->learn.flags = entry_flags(f);
	if (f->alias_fp)
		learn(acts, by_fp(f->alias_fp), HF_LIFE_START, f); /* not TOUCH: it may be a counted bond of its own */
}

/* ---- the contract ---- */

static void bytes(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;

	if (ev->side == HF_SERVER && f->phase == ASKED)
		reply(ctx, ev, acts);
	else if (ev->side == HF_CLIENT && f->phase == OPENING)
		opening(ctx, ev, acts);
	else if (ev->side == HF_CLIENT && f->phase == HELD && ev->eof)
		close_for(acts, HF_R_CLIENT_CLOSED);
	/* else: octets behind the request, which wait for the relay */
}

static void wake(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct rdp_keys k;

	if (f->phase == RELAYED) {
		firm(f, acts);
	} else if (f->phase == HELD) {
		keys_again(ctx, ev, &k);
		ask(ctx, ev, &k, false, acts);
	}
}

/* The configuration may be gone, then what it said at the start counts. What no host has confirmed leaves no bond behind. */
static void end(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct hf_act *a;

	(void)ev;
	if (ctx->conf)
		f->linger_s = linger_s(ctx); /* a desktop is open for days; a reload may have changed it */
	if (f->entry_fp)
		learn(acts, by_fp(f->entry_fp), HF_LIFE_CLOSE, f)->learn.flags = f->confirmed ? 0 : HF_TENTATIVE;
	if (f->alias_fp)
		learn(acts, by_fp(f->alias_fp), HF_LIFE_CLOSE, f)->learn.flags = 0;
	if (!f->leg_fp || !f->confirmed)
		return;
	a = learn(acts, by_fp(f->leg_fp), HF_LIFE_START, f);
	a->learn.server = f->server;
	a->learn.life_s = LEG_S;
	a->learn.flags = 0;
	a->learn.move = true; /* the most recently closed one */
}

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	static void (*const steps[])(struct hf_ctx *, const struct hf_event *, struct hf_acts *) = {
		[HF_EV_BYTES] = bytes, [HF_EV_CHOICE] = choice, [HF_EV_FAIL] = fail, [HF_EV_WAKE] = wake, [HF_EV_END] = end,
	};

	acts->n = 0;
	steps[ev->kind](ctx, ev, acts);
}

/* ---- probes ---- */

static bool probe_write(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_writer *w)
{
	(void)ctx;
	(void)p;
	hf_w_mem(w, x224_probe, sizeof x224_probe);
	return !w->full;
}

/* A host that refuses the protocols offered is alive. */
static enum hf_probe_result probe_read(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_bytes got, uint32_t *busy_ms)
{
	static const enum hf_probe_result results[] = {HF_PROBE_MORE, HF_PROBE_OK, HF_PROBE_OK, HF_PROBE_FAILED};
	size_t need;

	(void)ctx;
	(void)p;
	(void)busy_ms;
	return results[x224_read_reply(got, &need)];
}

static const struct hf_reason_def reasons[] = {
#define X(e, name, text) {name, text},
	RDP_REASONS(X)
#undef X
};

/* Sessions on a host are heavier and fewer than calls, so the cap is closer; a probe leaves a line in the log of most hosts. */
static const struct hf_default defaults[] = {{"affinity", "table"}, {"load-factor", "1.25"}, {"probe", "none"}};

const struct hf_front hf_rdp_front = {
	.name = "rdp",
	.transports = HF_TRANSPORT_BIT(HF_TCP),
	.server_transport = HF_TCP,
	.port = 3389,
	.max_opening = OPENING_MAX,
	.probe_name = "confirm",
	.options = rdp_options,
	.n_options = RDP_OPTIONS,
	.conf_size = sizeof(struct rdp_conf),
	.defaults = defaults,
	.n_defaults = sizeof defaults / sizeof defaults[0],
	.reasons = reasons,
	.n_reasons = sizeof reasons / sizeof reasons[0],
	.step = step,
	.probe_write = probe_write,
	.probe_read = probe_read,
	.key_read = rdp_key_read,
};
