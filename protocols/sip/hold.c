/* Failover: an opening request that is held until a server answers, and what becomes of it (DESIGN 4; RFC 3261 16.7, 16.9, 16.10). One attempt at a
 * time; a next one when the current has answered with one of failover-codes, is out of reach, or (INVITE, REGISTER) is silent.
 * Pure: the state is struct sip_hold, the events are the client's, the servers' and the clock's. Called by front.c, reply.c and back.c. */
#include "hold.h"

#define RETRY_AFTER HF_LIT("Retry-After: 10\r\n")

/* ---- keeping on ---- */

struct hf_act *sip_held_keep(struct sip_step *s, const struct sip_hold *h, uint32_t ms)
{
	struct hf_act *a = hf_act(s->acts, HF_ACT_HOLD);

	a->hold.ms = ms;
	a->hold.silent = h->done; /* its client has been answered: nothing is left to do */
	a->hold.races = h->n > 1; /* several may answer 2xx: the first to reach the client has the dialog that lives on (RFC 3261 13.2.2.4) */
	memcpy(a->hold.state, h, sizeof *h);
	return a;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t until(const struct sip_step *s, uint32_t then) { return (int32_t)sip_ms_since(s, then) < 0 ? (uint32_t)-sip_ms_since(s, then) : 0; }

/* When an open one has to be looked at again. */
uint32_t sip_held_next_ms(const struct sip_step *s, const struct sip_hold *h)
{
	uint32_t ms = sip_ms_left(s, h->born, SIP_LIMIT_MS);

	if (sip_held_rang(h, sip_held_current(h)) && h->flags & SIP_H_CANCELLED && s->held && s->held->bytes.n)
		return least(sip_ms_left(s, h->tried, SIP_CANCEL_MS), until(s, h->again));
	if (sip_held_rang(h, sip_held_current(h)))
		return h->flags & SIP_H_INVITE ? (uint32_t)s->conf->early_expiry : ms;
	if ((h->flags & (SIP_H_TRIES | SIP_H_STAYS)) == SIP_H_TRIES)
		ms = least(ms, sip_ms_left(s, h->tried, s->conf->try_timeout));
	if ((h->flags & (SIP_H_STREAM | SIP_H_INVITE | SIP_H_TRYING)) == (SIP_H_STREAM | SIP_H_INVITE))
		ms = least(ms, sip_ms_left(s, h->born, SIP_SAY_100_MS));
	if (sip_held_repeats(h))
		ms = least(ms, until(s, h->again));
	return ms;
}

void sip_held_go_on(struct sip_step *s, const struct sip_hold *h) { sip_held_keep(s, h, sip_held_next_ms(s, h)); }

/* The client has its answer. What is still under way elsewhere may need its request to be taken back. */
static void finish(struct sip_step *s, const struct sip_hold *h)
{
	bool alone = h->n == 1 && h->done < SIP_DONE_CANCEL;

	if (alone && (!(h->flags & SIP_H_INVITE) || h->flags & SIP_H_STREAM))
		hf_act(s->acts, HF_ACT_FREE); /* nobody repeats it, or the server knows it again */
	else
		sip_held_keep(s, h, alone ? SIP_T4_MS : SIP_LIMIT_MS)->hold.shed = sip_held_all_over(h, h->done - 1u);
}

struct sip_turn *sip_turn_new(struct sip_step *s, int what)
{
	struct sip_turn *t = hf_arena_alloc(s->ctx->arena, sizeof *t);

	if (!t)
		return NULL;
	memset(t, 0, sizeof *t);
	t->what = what;
	return t;
}

/* To one server and no other: whose entry it is does not matter. The last act of a step. */
void sip_held_ask(struct sip_step *s, struct sip_parcel *p, struct sip_turn *t, uint32_t server)
{
	struct hf_ask *q = &hf_act(s->acts, HF_ACT_ASK)->ask;

	t->server = server;
	p->turn = t;
	s->ctx->parcel = p;
	q->key = sip_call_key(s, p->msg.call_id);
	q->hint = server;
	q->hint_why = HF_WHY_COOKIE;
}

/* An attempt that rings and has lost: from now on it is over. -1: there is none. */
int sip_held_loser(struct sip_hold *h)
{
	for (int i = 0; h->flags & SIP_H_INVITE && i < h->n; i++)
		if (sip_held_rang(h, (unsigned)i) && !sip_held_over(h, (unsigned)i) && h->done != i + 1 && (h->done || i != h->n - 1)) {
			sip_held_end(h, (unsigned)i);
			return i;
		}
	return -1;
}

/* Its request is taken back. The last act of a step. */
void sip_held_take_back(struct sip_step *s, const struct sip_hold *h, int loser)
{
	struct sip_turn *t = loser >= 0 ? sip_turn_new(s, SIP_TURN_CANCEL) : NULL;

	if (t && sip_held_read(s, &t->request))
		sip_held_ask(s, t->request.p, t, h->server[loser]);
}

/* The client has its answer: who is still at it elsewhere need not go on. */
void sip_held_finish(struct sip_step *s, struct sip_hold *h)
{
	int loser = sip_held_loser(h);

	finish(s, h);
	sip_held_take_back(s, h, loser);
}

/* ---- the beginning ---- */

void sip_hold_begin(struct sip_step *s, const struct hf_chosen *c)
{
	const struct sip_msg *m = &s->p->msg;
	uint32_t now = (uint32_t)s->ctx->now_ms;
	struct sip_hold h = {.server = {c->server}, .n = 1, .born = now, .tried = now, .again = now + SIP_T1_MS};
	struct hf_act *a;

	h.flags = (uint8_t)((m->method_id == SIP_INVITE ? SIP_H_INVITE : 0) | (m->method_id == SIP_INVITE || m->method_id == SIP_REGISTER ? SIP_H_TRIES : 0) |
			    (s->stream ? SIP_H_STREAM : 0) | (s->stream && sip_over(s->p, c) == HF_UDP ? SIP_H_REPEATS : 0) | (c->hold_ms || c->why == HF_WHY_DIALOG ? SIP_H_STAYS : 0)); /* the pool waits for a bound key's server; nobody else has the call that is named */
	h.by_length = s->p->way == SIP_WAY_CONNECTION;
	a = sip_held_keep(s, &h, sip_held_next_ms(s, &h));
	a->hold.keep = m->raw;
	a->hold.tag = s->p->tag;
}

/* ---- another server ---- */

void sip_held_evidence(struct sip_step *s, uint32_t server)
{
	struct hf_act *a = hf_act(s->acts, HF_ACT_EVIDENCE);

	a->evidence.server = server;
	a->evidence.what = HF_EVIDENCE_FAILED;
}

static const struct { uint16_t status, reason; const char *ended; } own[] = {
	[SIP_DONE_CANCEL - SIP_DONE_CANCEL] = {487, SIP_R_CANCELLED, "cancel"}, [SIP_DONE_TIMEOUT - SIP_DONE_CANCEL] = {408, SIP_R_NO_ANSWER, "timeout"},
	[SIP_DONE_REFUSED - SIP_DONE_CANCEL] = {0, SIP_R_GIVEN_UP, "refused"}, [SIP_DONE_UNREACHED - SIP_DONE_CANCEL] = {503, SIP_R_GIVEN_UP, "refused"}};

static unsigned own_status(const struct sip_hold *h, uint8_t done) { return done == SIP_DONE_REFUSED ? sip_held_refused(h) : own[done - SIP_DONE_CANCEL].status; }

/* An answer of ours to the client. From here on it is done. */
void sip_held_answer(struct sip_hold *h, struct sip_step *r, uint8_t done)
{
	const struct sip_refusal a = {own_status(h, done), done == SIP_DONE_REFUSED ? "Refused By All" : NULL, own[done - SIP_DONE_CANCEL].reason, done == SIP_DONE_UNREACHED ? RETRY_AFTER : HF_NONE};

	h->done = done;
	if (r)
		sip_refuse(r, &a);
}

void sip_held_end_entry(struct sip_step *s, const struct sip_hold *h, const struct sip_step *r, uint8_t done)
{
	struct hf_act *a;

	if (!(h->flags & SIP_H_INVITE))
		return;
	a = hf_act(s->acts, HF_ACT_LEARN);
	a->learn.key = sip_call_key(s, r->p->msg.call_id);
	a->learn.life = HF_LIFE_LINGER;
	a->learn.life_s = 32; /* as after any other final answer */
	a->learn.ended = own[done - SIP_DONE_CANCEL].ended;
	a->learn.code = (uint16_t)own_status(h, done);
}

void sip_held_give_up(struct sip_step *s, struct sip_hold *h, struct sip_step *r)
{
	uint8_t done = h->flags & SIP_H_CANCELLED ? SIP_DONE_CANCEL : h->refused ? SIP_DONE_REFUSED : SIP_DONE_UNREACHED;

	sip_held_end_entry(s, h, r, done);
	sip_held_answer(h, r, done);
	finish(s, h);
}

/* Asks for the next server; s->p may be an answer that is kept back meanwhile. False: there is no next attempt. */
bool sip_held_ask_next(struct sip_step *s, struct sip_hold *h, struct sip_turn *t)
{
	struct sip_step *r = &t->request;
	uint32_t *avoid = hf_arena_alloc(s->ctx->arena, sizeof h->server);
	struct hf_ask q = {0};

	if (!avoid || h->n >= s->conf->max_attempts || h->flags & (SIP_H_STAYS | SIP_H_CANCELLED) || h->done)
		return false;
	memcpy(avoid, h->server, sizeof h->server);
	sip_question(r, &q);
	if (q.hint && sip_held_attempt(h, q.hint) >= 0)
		q.hint = 0;
	q.holds = false;
	q.tag = 0;
	q.again = q.unless_firm = true;
	q.avoid = avoid;
	q.n_avoid = h->n;
	if (!t->has_answer)
		s->p = r->p;
	s->p->turn = t;
	s->ctx->parcel = s->p;
	sip_held_keep(s, h, sip_held_next_ms(s, h))->hold.races = true;
	hf_act(s->acts, HF_ACT_ASK)->ask = q;
	return true;
}

void sip_held_relay(struct sip_step *s, struct sip_hold *h, const struct sip_hf *hf, int i)
{
	if (i >= 0) {
		sip_held_end(h, (unsigned)i);
		h->done = (uint8_t)(i + 1);
	}
	sip_answer_on(s, hf, s->p->msg.status == 503 ? 500 : 0); /* whoever hears 503 from us passes over all that is behind us (RFC 3261 16.7 step 6) */
}

void sip_held_absorb(struct sip_step *s, const struct sip_hold *h, struct sip_step *r, uint32_t server)
{
	if (h->flags & SIP_H_INVITE)
		sip_send_ack(s, r, server);
	sip_drop(s, SIP_R_ABSORBED);
}

void sip_held_last(struct sip_step *s, struct sip_hold *h, struct sip_step *r, const struct sip_hf *hf)
{
	unsigned status = s->p->msg.status;

	if (!r || sip_answer_rank(sip_held_refused(h)) >= sip_answer_rank(status)) {
		sip_held_relay(s, h, hf, sip_held_attempt(h, hf->server));
		return;
	}
	sip_held_absorb(s, h, r, hf->server);
	sip_held_end_entry(s, h, r, SIP_DONE_REFUSED);
	sip_held_answer(h, r, SIP_DONE_REFUSED);
}

/* Nobody else is there for it. */
static void no_next(struct sip_step *s, struct sip_hold *h, struct sip_turn *t)
{
	if (t->has_answer) {
		sip_held_last(s, h, &t->request, &t->hf);
		finish(s, h);
	} else if (t->reason == SIP_R_TRY_TIMEOUT) {
		h->flags |= SIP_H_STAYS; /* it may only be slow */
		sip_held_go_on(s, h);
	} else if (sip_held_all_over(h, SIP_TRIES_MAX)) {
		sip_held_give_up(s, h, &t->request);
	} else {
		h->flags |= SIP_H_STAYS;
		sip_held_go_on(s, h);
	}
}

static void next_attempt(struct sip_step *s, struct sip_hold *h, struct sip_turn *t, const struct hf_chosen *c)
{
	struct sip_step *r = &t->request;
	uint32_t now = (uint32_t)s->ctx->now_ms;

	if (c->firm) { /* it has been answered 2xx, and the note is still under way */
		h->flags |= SIP_H_STAYS;
		sip_held_go_on(s, h);
		return;
	}
	if (!c->server || !c->out || sip_held_attempt(h, c->server) >= 0 || !sip_may_go(r, c->transport, true)) {
		no_next(s, h, t);
		return;
	}
	if (t->has_answer && h->flags & SIP_H_INVITE)
		sip_send_ack(s, r, t->hf.server);
	h->server[h->n++] = c->server;
	h->seen &= (uint8_t)~(0x11u << sip_held_current(h));
	h->resent = false;
	h->tried = now;
	h->again = now + SIP_T1_MS;
	r->p->hold = c->hold;
	if (!sip_send_to(r, c))
		sip_count(s, HF_R_NO_MEMORY);
	h->flags = (uint8_t)((h->flags & ~SIP_H_REPEATS) | (h->flags & SIP_H_STREAM && sip_over(r->p, c) == HF_UDP ? SIP_H_REPEATS : 0));
	h->by_length = r->p->way == SIP_WAY_CONNECTION;
	sip_count(s, SIP_R_FAILOVER);
	sip_held_go_on(s, h);
}

void sip_hold_choice(struct sip_step *s, struct sip_hold *h, const struct hf_chosen *c)
{
	struct sip_turn *t = s->p->turn;
	struct sip_hold now = *h;

	t->request.acts = s->acts;
	s->p->hold = c->hold;
	if (t->what != SIP_TURN_NEXT)
		s->p->way = now.by_length ? SIP_WAY_CONNECTION : SIP_WAY_DATAGRAM; /* as before, and as what it follows (RFC 3261 9.1, 17.1.1.3) */
	if (t->what == SIP_TURN_NEXT) {
		next_attempt(s, &now, t, c);
	} else if (c->server != t->server || !c->out) {
		sip_count(s, HF_R_NO_SERVER); /* off, or out of the pool: nobody else may get it */
	} else if (t->what == SIP_TURN_CANCEL) {
		int loser = sip_held_loser(&now);

		if (!t->again || sip_over(t->request.p, c) == HF_UDP)
			sip_send_cancel(&t->request, c);
		if (loser >= 0)
			sip_held_keep(s, &now, now.done ? SIP_LIMIT_MS : sip_held_next_ms(s, &now));
		sip_held_take_back(s, &now, loser);
	} else if (!sip_send_to(t->what == SIP_TURN_REPEAT ? &t->request : s, c)) {
		sip_drop(s, HF_R_NO_MEMORY);
	}
}
