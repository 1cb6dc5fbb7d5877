/* Failover: an opening request that is held until a server answers, and what becomes of it (DESIGN 4; RFC 3261 16.7, 16.9, 16.10). One attempt at a
 * time; a next one when the current has answered with one of failover-codes, is out of reach, or (INVITE, REGISTER) is silent.
 * Pure: the state is struct sip_hold, the events are the client's, the servers' and the clock's. Called by front.c, reply.c and back.c. */
#include "hold.h"

enum {
	SAY_100_MS = 200,      /* RFC 3261 17.2.1 */
	T1_MS = 500, T2_MS = 4000, /* RFC 3261 17.1.1.1 */
	T4_MS = 5000,          /* so long a message may be under way: what comes later is no copy of the request */
	LIMIT_MS = 32000,      /* Timers B and F: the client waits no longer, and answers are repeated so long */
};
#define RETRY_AFTER HF_LIT("Retry-After: 10\r\n")

static uint32_t since(const struct sip_step *s, uint32_t then) { return (uint32_t)s->ctx->now_ms - then; }
static uint32_t left(const struct sip_step *s, uint32_t then, uint64_t ms) { return since(s, then) < ms ? (uint32_t)ms - since(s, then) : 0; }

static unsigned current(const struct sip_hold *h) { return h->n - 1u; }
static bool rang(const struct sip_hold *h, unsigned i) { return h->seen >> i & 1; }
static bool is_over(const struct sip_hold *h, unsigned i) { return h->seen >> (4 + i) & 1; }
static void set_over(struct sip_hold *h, unsigned i) { h->seen |= (uint8_t)(16u << i); }

static int attempt_at(const struct sip_hold *h, uint32_t server)
{
	for (int i = h->n - 1; i >= 0; i--)
		if (h->server[i] == server)
			return i;
	return -1;
}

static bool repeats(const struct sip_hold *h) { return h->flags & SIP_H_REPEATS && !is_over(h, current(h)); }

static bool all_over(const struct sip_hold *h, unsigned but)
{
	for (unsigned i = 0; i < h->n; i++)
		if (i != but && !is_over(h, i))
			return false;
	return true;
}

/* ---- keeping on ---- */

static struct hf_act *keep(struct sip_step *s, const struct sip_hold *h, uint32_t ms)
{
	struct hf_act *a = hf_act(s->acts, HF_ACT_HOLD);

	a->hold.ms = ms;
	memcpy(a->hold.state, h, sizeof *h);
	return a;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* When an open one has to be looked at again. */
static uint32_t next_ms(const struct sip_step *s, const struct sip_hold *h)
{
	uint32_t ms = left(s, h->born, LIMIT_MS);

	if (rang(h, current(h)))
		return h->flags & SIP_H_INVITE ? (uint32_t)s->conf->early_expiry : ms;
	if ((h->flags & (SIP_H_TRIES | SIP_H_STAYS)) == SIP_H_TRIES)
		ms = least(ms, left(s, h->tried, s->conf->try_timeout));
	if ((h->flags & (SIP_H_STREAM | SIP_H_INVITE | SIP_H_TRYING)) == (SIP_H_STREAM | SIP_H_INVITE))
		ms = least(ms, left(s, h->born, SAY_100_MS));
	if (repeats(h))
		ms = least(ms, (int32_t)since(s, h->again) < 0 ? (uint32_t)-since(s, h->again) : 0);
	return ms;
}

static void go_on(struct sip_step *s, const struct sip_hold *h) { keep(s, h, next_ms(s, h)); }

/* The client has its answer. What is still under way elsewhere may need its request to be taken back. */
static void finish(struct sip_step *s, const struct sip_hold *h)
{
	bool alone = h->n == 1 && h->done < SIP_DONE_CANCEL;

	if (alone && (!(h->flags & SIP_H_INVITE) || h->flags & SIP_H_STREAM))
		hf_act(s->acts, HF_ACT_FREE); /* nobody repeats it, or the server knows it again */
	else
		keep(s, h, alone ? T4_MS : LIMIT_MS)->hold.shed = all_over(h, h->done - 1u);
}

static struct sip_turn *turn(struct sip_step *s, int what)
{
	struct sip_turn *t = hf_arena_alloc(s->ctx->arena, sizeof *t);

	if (!t)
		return NULL;
	memset(t, 0, sizeof *t);
	t->what = what;
	return t;
}

/* To one server and no other: whose entry it is does not matter. The last act of a step. */
static void ask_for(struct sip_step *s, struct sip_parcel *p, struct sip_turn *t, uint32_t server)
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
static int next_loser(struct sip_hold *h)
{
	for (int i = 0; h->flags & SIP_H_INVITE && i < h->n; i++)
		if (rang(h, (unsigned)i) && !is_over(h, (unsigned)i) && h->done != i + 1 && (h->done || i != h->n - 1)) {
			set_over(h, (unsigned)i);
			return i;
		}
	return -1;
}

/* Its request is taken back. The last act of a step. */
static void take_back(struct sip_step *s, const struct sip_hold *h, int loser)
{
	struct sip_turn *t = loser >= 0 ? turn(s, SIP_TURN_CANCEL) : NULL;

	if (t && sip_held_read(s, &t->request))
		ask_for(s, t->request.p, t, h->server[loser]);
}

/* The client has its answer: who is still at it elsewhere need not go on. */
static void finish_all(struct sip_step *s, struct sip_hold *h)
{
	int loser = next_loser(h);

	finish(s, h);
	take_back(s, h, loser);
}

/* ---- the beginning ---- */

void sip_hold_begin(struct sip_step *s, const struct hf_chosen *c)
{
	const struct sip_msg *m = &s->p->msg;
	uint32_t now = (uint32_t)s->ctx->now_ms;
	struct sip_hold h = {.server = {c->server}, .n = 1, .born = now, .tried = now, .again = now + T1_MS};
	struct hf_act *a;

	h.flags = (uint8_t)((m->method_id == SIP_INVITE ? SIP_H_INVITE : 0) | (m->method_id == SIP_INVITE || m->method_id == SIP_REGISTER ? SIP_H_TRIES : 0) |
			    (s->stream ? SIP_H_STREAM : 0) | (s->stream && c->transport == HF_UDP ? SIP_H_REPEATS : 0));
	a = keep(s, &h, next_ms(s, &h));
	a->hold.keep = m->raw;
	a->hold.tag = s->p->tag;
}

/* ---- another server ---- */

static void evidence(struct sip_step *s, uint32_t server)
{
	struct hf_act *a = hf_act(s->acts, HF_ACT_EVIDENCE);

	a->evidence.server = server;
	a->evidence.what = HF_EVIDENCE_FAILED;
}

/* An answer of ours to the client. From here on it is done. */
static void answer_client(struct sip_hold *h, struct sip_step *r, uint8_t done)
{
	static const struct { unsigned status, reason; } own[] = {
		[SIP_DONE_CANCEL - SIP_DONE_CANCEL] = {487, SIP_R_CANCELLED}, [SIP_DONE_TIMEOUT - SIP_DONE_CANCEL] = {408, SIP_R_NO_ANSWER},
		[SIP_DONE_REFUSED - SIP_DONE_CANCEL] = {500, SIP_R_GIVEN_UP}, [SIP_DONE_UNREACHED - SIP_DONE_CANCEL] = {503, SIP_R_GIVEN_UP}};

	h->done = done;
	if (r)
		sip_refuse(r, &(struct sip_refusal){own[done - SIP_DONE_CANCEL].status, NULL, own[done - SIP_DONE_CANCEL].reason, done == SIP_DONE_UNREACHED ? RETRY_AFTER : HF_NONE});
}

static void end_entry(struct sip_step *s, const struct sip_hold *h, const struct sip_step *r)
{
	struct hf_act *a;

	if (!(h->flags & SIP_H_INVITE))
		return;
	a = hf_act(s->acts, HF_ACT_LEARN);
	a->learn.key = sip_call_key(s, r->p->msg.call_id);
	a->learn.life = HF_LIFE_LINGER;
	a->learn.life_s = 32; /* as after any other final answer */
}

static void give_up(struct sip_step *s, struct sip_hold *h, struct sip_step *r)
{
	end_entry(s, h, r);
	answer_client(h, r, h->flags & SIP_H_CANCELLED ? SIP_DONE_CANCEL : h->flags & SIP_H_REFUSED ? SIP_DONE_REFUSED : SIP_DONE_UNREACHED);
	finish(s, h);
}

/* Asks for the next server; s->p may be an answer that is kept back meanwhile. False: there is no next attempt. */
static bool ask_next(struct sip_step *s, struct sip_hold *h, struct sip_turn *t)
{
	struct sip_step *r = &t->request;
	uint32_t *avoid = hf_arena_alloc(s->ctx->arena, sizeof h->server);
	struct hf_ask q;

	if (!avoid || h->n >= s->conf->max_attempts || h->flags & (SIP_H_STAYS | SIP_H_CANCELLED) || h->done)
		return false;
	memcpy(avoid, h->server, sizeof h->server);
	sip_question(r, &q);
	if (q.hint && attempt_at(h, q.hint) >= 0)
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
	keep(s, h, next_ms(s, h));
	hf_act(s->acts, HF_ACT_ASK)->ask = q;
	return true;
}

static void relay_last(struct sip_step *s, struct sip_hold *h, const struct sip_hf *hf, int i)
{
	if (i >= 0) {
		set_over(h, (unsigned)i);
		h->done = (uint8_t)(i + 1);
	}
	sip_answer_on(s, hf, sip_codes_have(&s->conf->failover_codes, s->p->msg.status) && s->p->msg.status == 503 ? 500 : 0);
}

/* Nobody else is there for it. */
static void no_next(struct sip_step *s, struct sip_hold *h, struct sip_turn *t)
{
	if (t->has_answer) {
		relay_last(s, h, &t->hf, attempt_at(h, t->hf.server));
		finish(s, h);
	} else if (t->reason == SIP_R_TRY_TIMEOUT) {
		h->flags |= SIP_H_STAYS; /* it may only be slow */
		go_on(s, h);
	} else if (all_over(h, SIP_TRIES_MAX)) {
		give_up(s, h, &t->request);
	} else {
		h->flags |= SIP_H_STAYS;
		go_on(s, h);
	}
}

static void next_attempt(struct sip_step *s, struct sip_hold *h, struct sip_turn *t, const struct hf_chosen *c)
{
	struct sip_step *r = &t->request;
	uint32_t now = (uint32_t)s->ctx->now_ms;

	if (c->firm) { /* it has been answered 2xx, and the note is still under way */
		h->flags |= SIP_H_STAYS;
		go_on(s, h);
		return;
	}
	if (!c->server || !c->out || attempt_at(h, c->server) >= 0) {
		no_next(s, h, t);
		return;
	}
	if (t->has_answer && h->flags & SIP_H_INVITE)
		sip_send_ack(s, r, t->hf.server);
	h->server[h->n++] = c->server;
	h->seen &= (uint8_t)~(0x11u << current(h));
	h->tried = now;
	h->again = now + T1_MS;
	h->flags = (uint8_t)((h->flags & ~SIP_H_REPEATS) | (h->flags & SIP_H_STREAM && c->transport == HF_UDP ? SIP_H_REPEATS : 0));
	r->p->hold = c->hold;
	if (!sip_send_to(r, c))
		sip_count(s, HF_R_NO_MEMORY);
	sip_count(s, SIP_R_FAILOVER);
	go_on(s, h);
}

void sip_hold_choice(struct sip_step *s, struct sip_hold *h, const struct hf_chosen *c)
{
	struct sip_turn *t = s->p->turn;
	struct sip_hold now = *h;

	t->request.acts = s->acts;
	s->p->hold = c->hold;
	if (t->what == SIP_TURN_NEXT) {
		next_attempt(s, &now, t, c);
	} else if (c->server != t->server || !c->out) {
		sip_count(s, HF_R_NO_SERVER); /* off, or out of the pool: nobody else may get it */
	} else if (t->what == SIP_TURN_CANCEL) {
		int loser = next_loser(&now);

		sip_send_cancel(&t->request, c);
		if (loser >= 0)
			keep(s, &now, LIMIT_MS);
		take_back(s, &now, loser);
	} else if (!sip_send_to(t->what == SIP_TURN_REPEAT ? &t->request : s, c)) {
		sip_drop(s, HF_R_NO_MEMORY);
	}
}

/* ---- the client ---- */

static void pass_on(struct sip_step *s, uint32_t server)
{
	struct sip_turn *t = turn(s, SIP_TURN_ON);

	if (t)
		ask_for(s, s->p, t, server);
	else
		sip_drop(s, HF_R_NO_MEMORY);
}

/* CANCEL: 200 at once, no new attempt; down if the server has shown that it has the request, else 487 from here (RFC 3261 9.1, 16.10). */
static void cancel(struct sip_step *s, struct sip_hold *h)
{
	struct sip_step r;

	sip_refuse(s, &(struct sip_refusal){200, NULL, SIP_R_CANCELLED, HF_NONE});
	s->p->answered = false; /* it may go down as well */
	if (h->done)
		return;
	h->flags |= SIP_H_CANCELLED;
	if (rang(h, current(h)) && !is_over(h, current(h))) {
		keep(s, h, next_ms(s, h));
		pass_on(s, h->server[current(h)]);
		return;
	}
	if (!sip_held_read(s, &r)) {
		sip_count(s, HF_R_NO_MEMORY);
		keep(s, h, LIMIT_MS);
		return;
	}
	end_entry(s, h, &r);
	answer_client(h, &r, SIP_DONE_CANCEL);
	keep(s, h, LIMIT_MS);
}

bool sip_hold_client(struct sip_step *s, struct sip_hold *state)
{
	const struct sip_msg *m = &s->p->msg;
	struct sip_hold h = *state;
	bool invite = h.flags & SIP_H_INVITE;

	if (invite && m->method_id == SIP_CANCEL)
		cancel(s, &h);
	else if (invite != (m->method_id == SIP_INVITE || m->method_id == SIP_ACK))
		return false;
	else if (h.done < SIP_DONE_CANCEL)
		pass_on(s, h.server[h.done ? h.done - 1u : current(&h)]);
	else if (m->method_id == SIP_ACK)
		sip_drop(s, SIP_R_OWN_ACK);
	else
		answer_client(&h, s, h.done);
	return true;
}

/* ---- the servers ---- */

static void on_provisional(struct sip_step *s, struct sip_hold *h, unsigned i, unsigned status)
{
	int loser;

	h->seen |= (uint8_t)(1u << i);
	loser = next_loser(h);
	if (h->done || loser >= 0 || i != current(h)) {
		keep(s, h, h->done ? LIMIT_MS : next_ms(s, h));
		take_back(s, h, loser);
		return;
	}
	if (status > 100)
		h->flags |= SIP_H_STAYS;
	keep(s, h, next_ms(s, h))->hold.shed = status > 100 && all_over(h, i);
}

/* 2xx: it has been relayed, and its entry is firm. */
static void on_success(struct sip_step *s, struct sip_hold *h, unsigned i)
{
	bool first = !h->done, moved = first && h->n > 1 && i != current(h);
	struct sip_step r;

	set_over(h, i);
	if (!first)
		return;
	h->done = (uint8_t)(i + 1);
	if (moved && sip_held_read(s, &r)) { /* an earlier one was only slow: the call is there */
		struct hf_act *a = hf_act(s->acts, HF_ACT_LEARN);

		a->learn.key = sip_call_key(s, r.p->msg.call_id);
		a->learn.server = h->server[i];
		a->learn.life = HF_LIFE_TOUCH;
		a->learn.flags = h->flags & SIP_H_INVITE ? HF_COUNTED : 0;
		a->learn.life_s = h->flags & SIP_H_INVITE && !s->ctx->hash_mode ? (uint32_t)(s->conf->session_expiry / 1000) : 32;
		a->learn.why = HF_WHY_FAILOVER;
		a->learn.move = true;
	}
	finish_all(s, h);
}

void sip_hold_note(struct sip_step *s, struct sip_hold *state, struct hf_bytes note)
{
	struct sip_hold h = *state;
	unsigned status = hf_get16(note.p + 2);
	uint32_t server = hf_get32(note.p + 4);
	int i = attempt_at(&h, server);

	if (i < 0)
		return;
	if (note.p[0] == SIP_NOTE_FAILED)
		sip_hold_failed(s, state, server, HF_R_DIAL_FAILED);
	else if (status < 200)
		on_provisional(s, &h, (unsigned)i, status);
	else
		on_success(s, &h, (unsigned)i);
}

/* It goes no further: the server is told that it has arrived. */
static void absorb(struct sip_step *s, const struct sip_hold *h, const struct sip_hf *hf)
{
	struct sip_step r;

	if (h->flags & SIP_H_INVITE)
		sip_send_ack(s, sip_held_read(s, &r) ? &r : NULL, hf->server);
	sip_drop(s, SIP_R_ABSORBED);
}

static bool next_for(struct sip_step *s, struct sip_hold *h, const struct sip_hf *hf)
{
	struct sip_turn *t = turn(s, SIP_TURN_NEXT);

	if (!t || !sip_held_read(s, &t->request))
		return false;
	t->has_answer = true;
	t->hf = *hf;
	return ask_next(s, h, t);
}

void sip_hold_answer(struct sip_step *s, struct sip_hold *state, const struct sip_hf *hf)
{
	unsigned status = s->p->msg.status;
	bool fails = sip_codes_have(&s->conf->failover_codes, status);
	struct sip_hold h = *state;
	int i = attempt_at(&h, hf->server);

	if (i >= 0 && status == 503 && !is_over(&h, (unsigned)i) && !sip_learn_busy(s, hf))
		evidence(s, hf->server);
	if (i < 0 || (h.done == i + 1)) { /* again: its ACK is the client's */
		relay_last(s, &h, hf, i);
		return;
	}
	set_over(&h, (unsigned)i);
	if (fails)
		h.flags |= SIP_H_REFUSED;
	if (h.done || (fails && (unsigned)i != current(&h))) {
		absorb(s, &h, hf);
		keep(s, &h, h.done ? LIMIT_MS : next_ms(s, &h));
		return;
	}
	if (fails && next_for(s, &h, hf))
		return;
	relay_last(s, &h, hf, i);
	finish_all(s, &h);
}

void sip_hold_failed(struct sip_step *s, struct sip_hold *state, uint32_t server, unsigned reason)
{
	struct sip_hold h = *state;
	int i = attempt_at(&h, server);
	struct sip_turn *t = turn(s, SIP_TURN_NEXT);

	if (i < 0 || is_over(&h, (unsigned)i) || reason == HF_R_SEND_FULL) { /* of what was sent again, or will be */
		sip_count(s, reason);
		return;
	}
	sip_count(s, reason);
	set_over(&h, (unsigned)i);
	if (h.done || (unsigned)i != current(&h)) {
		keep(s, &h, h.done ? LIMIT_MS : next_ms(s, &h));
		return;
	}
	if (t && sip_held_read(s, &t->request)) {
		t->reason = reason;
		if (ask_next(s, &h, t))
			return;
		if (all_over(&h, SIP_TRIES_MAX)) {
			give_up(s, &h, &t->request);
			return;
		}
	}
	h.flags |= SIP_H_STAYS; /* an earlier one may still answer */
	go_on(s, &h);
}

/* ---- the clock ---- */

static void say_trying(struct sip_step *s, struct sip_hold *h, struct sip_step *r)
{
	h->flags |= SIP_H_TRYING;
	sip_refuse(r, &(struct sip_refusal){100, NULL, SIP_R_TRYING, HF_NONE});
	go_on(s, h);
}

static void repeat(struct sip_step *s, struct sip_hold *h, struct sip_turn *t)
{
	uint32_t gap = (h->again - h->tried) + T1_MS; /* 0.5, 1.5, 3.5 s and so on after the first */

	if (!(h->flags & SIP_H_INVITE) && gap > T2_MS)
		gap = T2_MS;
	h->again += gap;
	t->what = SIP_TURN_REPEAT;
	keep(s, h, next_ms(s, h));
	ask_for(s, t->request.p, t, h->server[current(h)]);
}

static void silent(struct sip_step *s, struct sip_hold *h, struct sip_turn *t)
{
	evidence(s, h->server[current(h)]);
	sip_count(s, SIP_R_TRY_TIMEOUT);
	t->reason = SIP_R_TRY_TIMEOUT;
	if (ask_next(s, h, t))
		return;
	h->flags |= SIP_H_STAYS;
	go_on(s, h);
}

void sip_hold_wake(struct sip_step *s, struct sip_hold *state)
{
	struct sip_hold h = *state;
	struct sip_turn *t = turn(s, SIP_TURN_NEXT);
	bool waits = !rang(&h, current(&h)) && !is_over(&h, current(&h));

	if (h.done || !t || !sip_held_read(s, &t->request))
		return; /* its time is over */
	if (since(s, h.born) >= LIMIT_MS && !rang(&h, current(&h))) {
		if (h.flags & SIP_H_INVITE) { /* never 408 to another request (RFC 4320 4.2) */
			end_entry(s, &h, &t->request);
			answer_client(&h, &t->request, h.flags & SIP_H_REFUSED ? SIP_DONE_REFUSED : SIP_DONE_TIMEOUT);
			keep(s, &h, LIMIT_MS);
		}
	} else if (rang(&h, current(&h))) {
		return;
	} else if (waits && (h.flags & (SIP_H_TRIES | SIP_H_STAYS)) == SIP_H_TRIES && since(s, h.tried) >= s->conf->try_timeout) {
		silent(s, &h, t);
	} else if ((h.flags & (SIP_H_STREAM | SIP_H_INVITE | SIP_H_TRYING)) == (SIP_H_STREAM | SIP_H_INVITE) && since(s, h.born) >= SAY_100_MS) {
		say_trying(s, &h, &t->request);
	} else if (repeats(&h) && (int32_t)since(s, h.again) >= 0) {
		repeat(s, &h, t);
	} else {
		go_on(s, &h);
	}
}
