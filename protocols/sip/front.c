/* The SIP front: what octets are, and the steps of a client's request (DESIGN 4); a server's are outward.c's. The struct that net runs stands at the end.
 * Pure: octets in, acts out; what one step leaves for the next hangs in ctx->parcel. */
#include "sip.h"

#include "hold.h"

enum { OUR_MOST = 2048 /* octets that we may add */, NUL_PING_MAX = 4 /* phones send 1 to 4 */, PIPELINED = 16385 /* room behind the longest message, so that one read takes several */ };
/* Without a server: long enough that a crowd of phones does not come back at once, short enough for a caller. */
#define RETRY_AFTER HF_LIT("Retry-After: 10\r\n")

/* Octets that keep a NAT binding alive and are no message. */
static bool is_ping(struct hf_bytes b)
{
	size_t nul = 0, crlf = 0;

	for (size_t i = 0; i < b.n; i++) {
		nul += b.p[i] == 0;
		crlf += b.p[i] == '\r' || b.p[i] == '\n';
		if (nul + crlf <= i)
			return false;
	}
	return crlf == b.n || (nul == b.n && nul <= NUL_PING_MAX);
}

/* ---- towards a server ---- */

void sip_question(struct sip_step *s, struct hf_ask *q)
{
	struct sip_life l = sip_life_of_request(s);

	q->key = sip_session_key(s);
	q->life = l.life;
	q->life_s = l.seconds;
	q->flags = l.flags;
	q->ended = l.ended;
	q->hint_why = HF_WHY_COOKIE;
	sip_place(s, q);
	if (s->p->has_cookie)
		q->hint = s->p->cookie.server;
	s->p->names = q->refs[0].fp != 0;
	q->urgent = sip_is_urgent(s);
}

/* What opens is held; what cancels it, or acknowledges its refusal, has to find it. */
static void may_meet_hold(struct sip_step *s, struct hf_ask *q)
{
	struct sip_parcel *p = s->p;
	bool follows = p->msg.method_id == SIP_CANCEL || (p->msg.method_id == SIP_ACK && !p->has_cookie);

	if (!follows && (p->msg.to_tag.p || p->msg.method_id == SIP_ACK))
		return;
	q->tag = p->tag = sip_held_tag(s);
	q->holds = p->holds = !follows;
}

static void ask(struct sip_step *s, bool held)
{
	struct hf_ask *q = &hf_act(s->acts, HF_ACT_ASK)->ask;

	sip_question(s, q);
	s->p->holds = false; /* of a hold that it has met, and that is another one's */
	if (held)
		may_meet_hold(s, q);
}

void sip_ask(struct sip_step *s) { ask(s, s->conf->failover); }

static void to_server(struct sip_step *s, const struct hf_chosen *c)
{
	bool holds = s->p->holds && !c->firm, again = s->p->holds && s->p->msg.method_id == SIP_INVITE; /* it may be of a hold that has ended */

	if (!c->server || !c->out) {
		sip_refuse(s, &(struct sip_refusal){503, NULL, c->server ? HF_R_NO_SERVER : c->none, RETRY_AFTER});
		return;
	}
	if (!sip_may_go(s, c->transport, true)) {
		sip_refuse(s, &(struct sip_refusal){416, NULL, SIP_R_SCHEME, HF_NONE});
		return;
	}
	if (s->p->names && !c->known && c->why != HF_WHY_DIALOG)
		sip_count(s, SIP_R_NO_DIALOG);
	if (holds || again)
		s->p->hold = c->hold;
	if (!sip_send_to(s, c))
		sip_drop(s, HF_R_NO_MEMORY);
	else if (holds && c->hold.generation)
		sip_hold_begin(s, c);
	else if (holds)
		sip_count(s, HF_R_HOLD_LIMIT);
}

/* ---- events ---- */

static void request(struct sip_step *s)
{
	if (!sip_check(s))
		return;
	if (s->p->bad_cookie)
		sip_count(s, SIP_R_BAD_COOKIE);
	if (s->p->msg.method_id == SIP_REFER)
		sip_refer_learn(s);
	if (s->p->side == SIP_FROM_MEMBER)
		sip_outward(s);
	else
		sip_ask(s);
}

/* A datagram, or what came over a WebSocket, that is no message, dealt with. There two CRLF are a ping and get one, as over other connections
 * (RFC 5626 4.4.1): a script in a page cannot send the ping of a WebSocket. */
static bool is_no_message(struct sip_step *s)
{
	if (!is_ping(s->ev->bytes))
		return !s->stream && sip_stun(s);
	if (s->stream && hf_bytes_eq(s->ev->bytes, HF_LIT("\r\n\r\n"))) {
		struct hf_send *send = &hf_act(s->acts, HF_ACT_SEND)->send;

		send->to = HF_TO_SOURCE;
		send->base = HF_LIT("\r\n");
	}
	sip_drop(s, SIP_R_PING);
	return true;
}

static void octets(struct sip_step *s)
{
	struct sip_parcel *p;

	if (sip_whole(s) ? is_no_message(s) : !sip_stream_ready(s))
		return;
	p = hf_arena_alloc(s->ctx->arena, sizeof *p);
	if (!p) {
		s->closes = !sip_whole(s); /* its end is not known */
		sip_drop(s, HF_R_NO_MEMORY);
		return;
	}
	memset(&p->key, 0, sizeof *p - offsetof(struct sip_parcel, key)); /* the scanner zeroes msg */
	p->came = *s->ev;
	s->p = s->ctx->parcel = p;
	s->ev = &p->came;
	sip_scan(s->ev->bytes, !sip_whole(s), &s->conf->limits, s->ctx->arena, &p->msg);
	if (!sip_whole(s) && !sip_stream_take(s))
		return;
	sip_seen(s);
	if (p->msg.response)
		sip_reply(s);
	else
		request(s);
}

/* What could not be sent: as if 503 had come (RFC 3261 16.9), but for a full buffer, where the client's retransmission will do. */
void sip_failed(struct sip_step *s, unsigned reason)
{
	const struct sip_msg *m = &s->p->msg;

	if (m->response || s->p->answered || reason == HF_R_SEND_FULL) {
		sip_drop(s, reason);
		return;
	}
	if (m->method_id == SIP_INVITE && !m->to_tag.p) {
		struct hf_act *a = hf_act(s->acts, HF_ACT_LEARN);

		a->learn.key = sip_call_key(s, m->call_id);
		a->learn.life = HF_LIFE_LINGER;
		a->learn.life_s = 32; /* as after any other final answer */
		a->learn.ended = "refused";
		a->learn.code = s->p->to_flow ? 430 : 503;
	}
	sip_refuse(s, &(struct sip_refusal){s->p->to_flow ? 430 : 503, NULL, reason, HF_NONE});
}

/* What came before, and was read and found good then, is read again. False: no room. */
static bool read_again(struct sip_step *s)
{
	struct sip_parcel *p = s->ctx->parcel;

	if (!p) {
		p = hf_arena_alloc(s->ctx->arena, sizeof *p);
		if (!p) {
			sip_drop(s, HF_R_NO_MEMORY);
			return false;
		}
		memset(&p->came, 0, sizeof *p - offsetof(struct sip_parcel, came));
		p->came = *s->ev;
		sip_scan(s->ev->bytes, !sip_whole(s), &s->conf->limits, s->ctx->arena, &p->msg);
		s->ctx->parcel = p;
	}
	s->p = p;
	s->ev = &p->came;
	s->stream = hf_transport_is_stream(s->ev->transport);
	sip_seen(s);
	return true;
}

/* An answer that came by letter: it was whole and ours where it came in. */
static void letter(struct sip_step *s, void *hold)
{
	if (read_again(s))
		sip_reply_held(s, hold);
}

/* Where the name of a server's next hop leads. */
static void found(struct sip_step *s, const struct hf_found *f)
{
	bool waited = !s->ctx->parcel;

	if (!read_again(s))
		return;
	if (waited) {
		s->late = s->p->waited = true;
		if (s->p->msg.fault != SIP_GOOD) { /* the limits have become tighter meanwhile */
			sip_drop(s, SIP_R_OVER_LIMIT);
			return;
		}
		sip_look(s);
	}
	sip_outward_found(s, f);
}

/* What a hold is told when nothing of a message is at hand. True: it was that. */
static bool of_hold(struct sip_step *s, const struct hf_event *ev)
{
	if (ev->kind == HF_EV_LETTER)
		letter(s, ev->hold);
	else if (ev->kind == HF_EV_NOTE)
		sip_hold_note(s, ev->hold, ev->bytes);
	else if (ev->kind == HF_EV_WAKE)
		sip_hold_wake(s, ev->hold);
	else
		return false;
	return true;
}

static void choice(struct sip_step *s, const struct hf_event *ev)
{
	if (s->p->turn)
		sip_hold_choice(s, ev->hold, ev->chosen);
	else if (s->p->outward)
		sip_outward_go(s, NULL);
	else
		to_server(s, ev->chosen);
}

/* No connection for what is long: then it goes as a datagram (RFC 3261 18.1.1). */
static bool goes_as_datagram(struct sip_step *s, const struct hf_event *ev)
{
	const struct sip_turn *t = s->p->turn;
	struct sip_step *r = t && t->what == SIP_TURN_NEXT ? &s->p->turn->request : s;

	if (r->p->way != SIP_WAY_CONNECTION || ev->chosen->transport != HF_UDP)
		return false;
	if (ev->reason == HF_R_SEND_FULL || r->p->msg.raw.n > SIP_DATAGRAM_MAX - OUR_MOST)
		return false;
	r->acts = s->acts;
	r->p->way = SIP_WAY_DATAGRAM;
	if (!sip_send_to(r, ev->chosen))
		return false;
	sip_count(s, SIP_R_NO_TCP);
	if (ev->hold && r->p->msg.method_id != SIP_CANCEL && r->p->msg.method_id != SIP_ACK)
		sip_hold_datagram(s, ev->hold, ev->chosen->server);
	return true;
}

static void held(struct sip_step *s, const struct hf_event *ev)
{
	if (s->p->outward)
		sip_outward_go(s, ev->hold);
	else if (!sip_hold_client(s, ev->hold))
		ask(s, false);
}

static void failed(struct sip_step *s, const struct hf_event *ev)
{
	const struct sip_turn *t = s->p->turn;

	if (sip_outward_failed(s, ev->hold) || goes_as_datagram(s, ev))
		return;
	if (t && t->what == SIP_TURN_REPEAT && ev->hold && ((const struct sip_hold *)ev->hold)->resent)
		sip_hold_failed(s, ev->hold, ev->chosen->server, ev->reason);
	else if (t && t->what != SIP_TURN_NEXT)
		sip_count(s, ev->reason); /* of what the client sends again, or a server may do without */
	else if (ev->hold)
		sip_hold_failed(s, ev->hold, ev->chosen->server, ev->reason);
	else
		sip_failed(s, ev->reason);
}

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct sip_parcel *p = ctx->parcel;
	struct sip_step s = {.ctx = ctx, .ev = ev, .held = ev->held, .conf = ctx->conf, .acts = acts};

	if (ev->kind == HF_EV_BYTES) {
		s.stream = hf_transport_is_stream(ev->transport);
		octets(&s);
		return;
	}
	if (ev->kind == HF_EV_FOUND)
		found(&s, ev->found);
	if (ev->kind == HF_EV_FOUND || (ev->kind != HF_EV_CHOICE && of_hold(&s, ev)))
		return;
	if (!p && ev->kind == HF_EV_FAIL && ev->hold) {
		sip_hold_lost(&s, ev->hold, ev->chosen->server, ev->reason);
		return;
	}
	if (!p) {
		if (ev->kind == HF_EV_FAIL && ev->bytes.n)
			sip_back(&s);
		return; /* END of what has left nothing behind */
	}
	s.p = p;
	s.ev = &p->came;
	s.stream = hf_transport_is_stream(s.ev->transport);
	s.late = p->waited;
	if (ev->kind == HF_EV_CHOICE)
		choice(&s, ev);
	else if (ev->kind == HF_EV_FAIL)
		failed(&s, ev);
	else if (ev->kind == HF_EV_HELD)
		held(&s, ev);
}

static const struct hf_reason_def reasons[] = {
#define X(e, name, text) {name, text},
	SIP_REASONS(X)
#undef X
};

/* In the order of enum sip_method. */
static const char *const names[] = {"INVITE", "ACK", "BYE", "CANCEL", "OPTIONS", "REGISTER", "SUBSCRIBE", "NOTIFY", "PUBLISH", "PRACK", "UPDATE", "REFER", "MESSAGE",
	"INFO", "other"};
_Static_assert(sizeof names / sizeof *names == SIP_OTHER + 1 && SIP_OTHER < HF_NAMES_MAX, "names");

static const struct hf_default defaults[] = {{"affinity", "auto"}, {"load-factor", "1.5"}, {"probe", "options"}};

const struct hf_front hf_sip_front = {
	.name = "sip",
	.transports = HF_TRANSPORT_BIT(HF_UDP) | HF_TRANSPORT_BIT(HF_TCP) | HF_TRANSPORT_BIT(HF_TLS) | HF_TRANSPORT_BIT(HF_WS) | HF_TRANSPORT_BIT(HF_WSS),
	.server_transport = HF_UDP,
	.framed = true,
	.port = SIP_PORT,
	.uri_scheme = "sip",
	.datagrams = true,
	.max_opening = SIP_MESSAGE_MAX + PIPELINED,
	.web_protocol = "sip",
	.web_message = SIP_MESSAGE_MAX,
	.probe_name = "options",
	.options = sip_options,
	.n_options = SIP_N_OPTIONS,
	.conf_size = sizeof(struct sip_conf),
	.defaults = defaults,
	.n_defaults = sizeof defaults / sizeof *defaults,
	.reasons = reasons,
	.n_reasons = sizeof reasons / sizeof *reasons,
	.capture = 1,
	.ways = sip_ways,
	.n_ways = SIP_N_WAYS,
	.names = names,
	.n_names = sizeof names / sizeof *names,
	.check = sip_options_check,
	.step = step,
	.vouches = sip_vouches,
	.probe_write = sip_probe_write,
	.probe_read = sip_probe_read,
	.key_read = sip_key_read,
	.key_place = sip_key_place,
};
