/* How a server's request goes outward, once hop.c has said where: over a flow, to the address of its next hop, or, where that is ourselves, to another
 * server (RFC 3261 16.6 steps 6 and 7). One that is longer than udp-to-tcp takes a connection that its receiver has open, in place of the datagram
 * (18.1.1): nobody is dialled for it, since who speaks UDP may listen for nothing else. CANCEL and the ACK of a refusal are short and say nothing of the
 * way that their INVITE went: a hold without octets remembers that. Called by front.c. */
#include "hold.h"

static void learn(struct sip_step *s)
{
	struct sip_life l = sip_life_of_request(s);
	struct hf_act *a;

	if (l.life == HF_LIFE_NONE)
		return;
	a = hf_act(s->acts, HF_ACT_LEARN);
	a->learn.key = sip_session_key(s);
	a->learn.server = s->p->has_cookie ? s->p->cookie.server : l.life == HF_LIFE_LINGER ? 0 : s->ev->member; /* only a cookie says which dialog ends */
	a->learn.life = l.life;
	a->learn.life_s = l.seconds;
	a->learn.flags = l.flags;
	a->learn.ended = l.ended;
	a->learn.why = HF_WHY_COOKIE;
	sip_user_opened(s, a->learn.server);
}

/* Over a connection that is open only the transport in our Via is another one, as towards servers (attempt.c). */
static bool compose(struct sip_step *s, const struct sip_hop *hop, struct hf_send *send)
{
	const struct hf_event *ev = s->ev;
	struct sip_out out = {.cookie_server = s->p->has_cookie ? s->p->cookie.server : ev->member, .transport = hop->transport, .strict = hop->strict};

	*send = (struct hf_send){.to = hop->kind == SIP_HOP_FLOW ? HF_TO_RETURN : HF_TO_NEXT_HOP, .addr = hop->addr, .local = hop->local, .transport = hop->transport, .flow = hop->flow, .host = hop->host};
	send->listener = hop->out->transport == hop->transport ? hop->out->hash : 0;
	out.out = sip_face_of(s->ctx->arena, hop->out, hop->local.family ? &hop->local : &hop->out->addr);
	out.in = sip_face_of(s->ctx->arena, ev->listener, &ev->local);
	out.sent_by = out.out.text;
	if (out.in.transport != ev->transport && !hf_transport_is_web(hop->transport))
		out.in = out.out; /* dialled by us: there is no listener of the server's transport */
	if (s->p->way == SIP_WAY_CONNECTION) {
		out.transport = send->transport = HF_TCP;
		send->if_open = true;
	}
	return out.sent_by.p && out.in.text.p && sip_edit(s, &out, send);
}

/* The way is known. */
static void go(struct sip_step *s, const struct sip_hop *hop)
{
	struct hf_send send;

	learn(s);
	if (compose(s, hop, &send))
		hf_act(s->acts, HF_ACT_SEND)->send = send;
	else
		sip_drop(s, HF_R_NO_MEMORY);
}

/* ---- by length ---- */

/* A flow is the datagrams of one address and port; behind a NAT a connection from there may be another phone's (RFC 5626 5.3). */
static bool may_be_either(const struct sip_step *s, const struct sip_hop *hop)
{
	return s->conf->udp_to_tcp && hop->kind == SIP_HOP_ADDR && hop->transport == HF_UDP;
}

static bool is_long(struct sip_step *s, const struct sip_hop *hop)
{
	struct hf_send send;

	return compose(s, hop, &send) && sip_sent_length(&send) > s->conf->udp_to_tcp;
}

/* Who goes as another one went, and who has to be remembered for that. */
static bool has_followers(const struct sip_step *s)
{
	enum sip_method m = s->p->msg.method_id;

	return m == SIP_CANCEL || m == SIP_ACK || (m == SIP_INVITE && s->p->way == SIP_WAY_CONNECTION);
}

/* Only for the hold: where the call is has been said, and nothing is made of it. */
static void ask_hold(struct sip_step *s)
{
	struct hf_ask *q = &hf_act(s->acts, HF_ACT_ASK)->ask;

	q->key = sip_call_key(s, s->p->msg.call_id);
	q->hint = s->p->has_cookie ? s->p->cookie.server : s->ev->member;
	q->hint_why = HF_WHY_COOKIE;
	q->tag = s->p->tag = sip_held_tag(s);
	s->p->outward = true;
}

static void remember(struct sip_step *s)
{
	const struct sip_hold h = {.by_length = true};
	struct hf_act *a = sip_held_keep(s, &h, (uint32_t)s->conf->early_expiry);

	a->hold.silent = true;
	a->hold.keep = HF_LIT("");
	a->hold.tag = s->p->tag;
}

void sip_outward_go(struct sip_step *s, const struct sip_hold *held)
{
	bool invite = s->p->msg.method_id == SIP_INVITE;

	if (held && sip_held_outward(held))
		s->p->way = SIP_WAY_CONNECTION;
	go(s, s->p->hop);
	if (invite && s->p->way == SIP_WAY_CONNECTION && (!held || sip_held_outward(held)))
		remember(s);
}

bool sip_outward_failed(struct sip_step *s, const struct sip_hold *held)
{
	struct hf_send send;

	if (s->p->side != SIP_FROM_MEMBER || s->p->way != SIP_WAY_CONNECTION)
		return false;
	s->p->way = SIP_WAY_DATAGRAM;
	if (!compose(s, s->p->hop, &send) || sip_sent_length(&send) > SIP_DATAGRAM_MAX)
		return false;
	hf_act(s->acts, HF_ACT_SEND)->send = send;
	sip_count(s, SIP_R_NO_TCP);
	if (held && sip_held_outward(held) && s->p->msg.method_id == SIP_INVITE)
		hf_act(s->acts, HF_ACT_FREE);
	return true;
}

/* ---- where it goes ---- */

static void to_hop(struct sip_step *s, const struct sip_hop *hop)
{
	if (!sip_may_go(s, hop->transport, false)) {
		sip_refuse(s, &(struct sip_refusal){416, NULL, SIP_R_SCHEME, HF_NONE});
		return;
	}
	s->p->to_flow = hop->flow.generation != 0;
	if (may_be_either(s, hop)) {
		s->p->hop = hf_arena_alloc(s->ctx->arena, sizeof *hop);
		if (!s->p->hop) {
			sip_drop(s, HF_R_NO_MEMORY);
			return;
		}
		*s->p->hop = *hop;
		s->p->way = is_long(s, hop) ? SIP_WAY_CONNECTION : SIP_WAY_DATAGRAM;
		if (has_followers(s)) {
			ask_hold(s);
			return;
		}
	}
	go(s, hop);
}

static void go_by(struct sip_step *s, const struct sip_hop *hop)
{
	switch (hop->kind) {
	case SIP_HOP_SELF:
		s->p->side = SIP_FROM_CLIENT;
		sip_ask(s);
		return;
	case SIP_HOP_NAME:
		sip_hop_seek(s, hop);
		return;
	case SIP_HOP_GONE:
		sip_refuse(s, &(struct sip_refusal){430, NULL, HF_R_FLOW_GONE, HF_NONE});
		return;
	case SIP_HOP_BAD:
		sip_refuse(s, &(struct sip_refusal){503, "Next hop not reachable", SIP_R_UNREACHABLE, HF_NONE});
		return;
	case SIP_HOP_ADDR:
	case SIP_HOP_FLOW:
		to_hop(s, hop);
	}
}

void sip_outward(struct sip_step *s)
{
	struct sip_hop hop = sip_hop_next(s);

	go_by(s, &hop);
}

void sip_outward_found(struct sip_step *s, const struct hf_found *f)
{
	struct sip_hop hop;

	if (!f->n) {
		sip_refuse(s, &(struct sip_refusal){503, "Next hop not resolved", f->reason, HF_NONE});
		return;
	}
	hop = sip_hop_found(s, f);
	go_by(s, &hop);
}
