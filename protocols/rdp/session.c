/* From a host's first octets to the end of a flow: the answer is passed on, the session proves itself, its bonds are settled.
 * Called by front.c. */
#include "flow.h"

#include "keys.h"
#include "reasons.h"
#include "syn.h"
#include "x224.h"

static void relay(const struct hf_ctx *ctx, const struct hf_event *ev, struct rdp_flow *f, struct hf_acts *acts)
{
	const struct rdp_conf *conf = ctx->conf;
	struct hf_act *a = hf_act(acts, HF_ACT_RELAY);

	a->relay.client_used = f->sent;
	f->phase = RELAYED;
	if (!f->confirmed)
		return;
	a->relay.mark = (uint32_t)conf->firm_after;
	a->relay.names[0] = f->id_name;
	a->relay.names[1] = syn_source_name(ctx, &ev->source);
}

/* One more name under which this flow's host is found. An older bond of that name stays where it is, unless it has to move. */
static struct hf_act *open_beside(struct rdp_flow *f, struct hf_key key, bool moves, struct hf_acts *acts)
{
	struct hf_act *a = flow_learn(acts, key, HF_LIFE_OPEN, f);

	a->learn.server = f->server;
	a->learn.flags = HF_BOND | HF_TENTATIVE;
	a->learn.why = HF_WHY_BOND;
	a->learn.move = moves;
	return a;
}

/* A user's source, so that a later request without a cookie finds the host; it moves with a user who had to leave his. */
static void open_alias(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct hf_key users = f->by_user && f->entry_fp ? rdp_users_key(ctx, ev) : flow_key(0);

	if (!users.fp)
		return;
	f->alias_fp = users.fp;
	open_beside(f, users, f->moved, acts)->learn.alias_of = f->entry_fp;
}

/* Who is written otherwise finds the same host. The first of them leads, until his host has to be left. */
static void open_other(struct rdp_flow *f, struct hf_acts *acts)
{
	if (!f->entry_fp)
		f->other_fp = 0;
	if (f->other_fp)
		open_beside(f, flow_key(f->other_fp), f->moved, acts)->learn.alias_of = f->entry_fp;
}

/* The session of nobody known waits for a user of its source to claim it. */
static void open_unclaimed(struct rdp_flow *f, struct hf_acts *acts)
{
	if (f->by_source && f->unclaimed_fp)
		open_beside(f, flow_key(f->unclaimed_fp), false, acts);
}

/* A claim of a user whom no host has taken is none. */
static void close_unclaimed(const struct hf_ctx *ctx, const struct rdp_flow *f, struct hf_acts *acts)
{
	const struct rdp_conf *conf = ctx->conf;
	struct hf_act *a;

	if (!f->unclaimed_fp || f->by_source != f->confirmed || (!f->by_source && f->moved))
		return;
	a = flow_learn(acts, flow_key(f->unclaimed_fp), f->by_source ? HF_LIFE_CLOSE : HF_LIFE_START, f);
	a->learn.server = f->by_source ? 0 : f->server;
	a->learn.life_s = f->by_source || !conf ? f->linger_s : (uint32_t)(conf->source_linger / 1000);
}

/* The connection's id leads to the same host as long as it lives, and a moment longer. */
static void open_id(struct rdp_flow *f, struct hf_acts *acts)
{
	struct hf_act *a;

	if (!f->id_fp)
		return;
	a = flow_learn(acts, flow_key(f->id_fp), HF_LIFE_OPEN, f);
	a->learn.server = f->server;
	a->learn.life_s = LEG_S;
	a->learn.why = HF_WHY_BOND;
	a->learn.move = true;
}

/* What a host says first. To TLS at once it answers by TLS (RFC 8446 5.1: a handshake record), without a Confirm. */
static enum x224_reply read_reply(const struct rdp_flow *f, struct hf_bytes in, size_t *need)
{
	if (!f->direct)
		return x224_read_reply(in, need);
	return in.n && in.p[0] == 0x16 ? X224_REPLY_CONFIRM : X224_REPLY_OTHER;
}

/* Whatever the host says goes on as it came; only a Confirm makes a session of it. */
void session_reply(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	size_t need;
	enum x224_reply r = read_reply(f, ev->bytes, &need);

	if (ev->eof && ev->bytes.n == 0) {
		flow_close(acts, HF_R_SERVER_CLOSED);
		return;
	}
	if (r == X224_REPLY_WAIT && !ev->eof) {
		hf_act(acts, HF_ACT_MORE)->need = need;
		return;
	}
	f->confirmed = r == X224_REPLY_CONFIRM;
	if (f->confirmed) {
		open_alias(ctx, ev, acts);
		open_other(f, acts);
		open_unclaimed(f, acts);
		open_id(f, acts);
	} else {
		flow_count(acts, r == X224_REPLY_NEG_FAILURE ? RDP_R_NEG_FAILURE : RDP_R_NO_CONFIRM);
	}
	relay(ctx, ev, f, acts);
}

/* The session has proved itself: its bonds are no longer the first to go when room is short. */
void session_firm(struct rdp_flow *f, struct hf_acts *acts)
{
	struct hf_act *a;

	f->proved = true;
	if (!f->entry_fp)
		return;
	f->known = true;
	a = flow_learn(acts, flow_key(f->entry_fp), HF_LIFE_TOUCH, f);
	a->learn.server = f->server;
	a->learn.flags = flow_flags(f);
	if (f->alias_fp)
		flow_learn(acts, flow_key(f->alias_fp), HF_LIFE_START, f);
	if (f->other_fp)
		flow_learn(acts, flow_key(f->other_fp), HF_LIFE_START, f); /* not TOUCH: it may be a counted bond of its own */
	if (f->by_source && f->unclaimed_fp)
		flow_learn(acts, flow_key(f->unclaimed_fp), HF_LIFE_START, f);
}

/* A host that redirects its client by a token has talked with it, and the client leaves within a moment. A client that drops the token comes back by its
 * name, to the same host: only that can be seen. Who comes by a token is none of these, nor is a scanner or probe, which says little, nor what is over
 * before anybody can have logged on: load tests, hosts that refuse at once. Somebody whose line is bad is on for longer, most of the time. */
#define BRIEF_MS 3000u
#define ROUND_LEAST_MS 200u

/* Not when the host's connection broke, or we ended it. */
static bool client_left(unsigned reason) { return reason == HF_R_DONE || reason == HF_R_CLIENT_ERROR; }

static void close_entry(const struct hf_ctx *ctx, const struct rdp_flow *f, unsigned reason, struct hf_acts *acts)
{
	uint64_t lasted = ctx->now_ms - f->started_ms;
	struct hf_act *a = flow_learn(acts, flow_key(f->entry_fp), HF_LIFE_CLOSE, f);

	a->learn.flags = f->confirmed || f->found ? 0 : HF_TENTATIVE;
	if (f->by_user && !f->named && f->proved && client_left(reason) && lasted >= ROUND_LEAST_MS && lasted < BRIEF_MS)
		a->learn.lasted_ms = (uint32_t)lasted;
}

/* The configuration may be gone, then what it said at the start counts. A bond that this flow made
 * and no host has confirmed is not left behind; one that it found is, a host that was down does not end it. */
void session_end(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;
	struct hf_act *a;

	if (ctx->conf)
		f->linger_s = flow_linger_s(ctx, f); /* a desktop is open for days; a reload may have changed it */
	if (f->entry_fp)
		close_entry(ctx, f, ev->reason, acts);
	if (f->alias_fp)
		flow_learn(acts, flow_key(f->alias_fp), HF_LIFE_CLOSE, f)->learn.flags = 0;
	if (f->other_fp && f->confirmed)
		flow_learn(acts, flow_key(f->other_fp), HF_LIFE_CLOSE, f)->learn.flags = 0;
	close_unclaimed(ctx, f, acts);
	if (f->id_fp && f->confirmed)
		flow_learn(acts, flow_key(f->id_fp), HF_LIFE_CLOSE, f)->learn.life_s = LEG_S;
	if (!f->leg || !f->confirmed)
		return;
	a = flow_learn(acts, rdp_leg_key(ctx, ev), HF_LIFE_START, f);
	a->learn.server = f->server;
	a->learn.life_s = LEG_S;
	a->learn.flags = 0;
	a->learn.move = true; /* the most recently closed one */
}
