/* What becomes of a held request when its client, a server or the clock speaks. The state is struct sip_hold; hold.c keeps it and finds the next
 * server. Pure. Called by front.c, reply.c and back.c. */
#include "hold.h"

/* ---- the client ---- */

static void pass_on(struct sip_step *s, uint32_t server)
{
	struct sip_turn *t = sip_turn_new(s, SIP_TURN_ON);

	if (t)
		sip_held_ask(s, s->p, t, server);
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
	if (!(h->flags & SIP_H_CANCELLED)) {
		h->tried = (uint32_t)s->ctx->now_ms;
		h->again = h->tried + SIP_T1_MS;
	}
	h->flags |= SIP_H_CANCELLED;
	if (sip_held_rang(h, sip_held_current(h)) && !sip_held_over(h, sip_held_current(h))) {
		sip_held_keep(s, h, sip_held_next_ms(s, h));
		pass_on(s, h->server[sip_held_current(h)]);
		return;
	}
	if (!sip_held_read(s, &r)) {
		sip_count(s, HF_R_NO_MEMORY);
		sip_held_keep(s, h, SIP_LIMIT_MS);
		return;
	}
	sip_held_end_entry(s, h, &r, SIP_DONE_CANCEL);
	sip_held_answer(h, &r, SIP_DONE_CANCEL);
	sip_held_keep(s, h, SIP_LIMIT_MS);
}

bool sip_hold_client(struct sip_step *s, struct sip_hold *state)
{
	const struct sip_msg *m = &s->p->msg;
	struct sip_hold h = *state;
	bool invite = h.flags & SIP_H_INVITE;

	if (sip_held_outward(&h))
		return false;
	if (invite && m->method_id == SIP_CANCEL)
		cancel(s, &h);
	else if (invite != (m->method_id == SIP_INVITE || m->method_id == SIP_ACK))
		return false;
	else if (h.done < SIP_DONE_CANCEL)
		pass_on(s, h.server[h.done ? h.done - 1u : sip_held_current(&h)]);
	else if (m->method_id == SIP_ACK)
		sip_drop(s, SIP_R_OWN_ACK);
	else
		sip_held_answer(&h, s, h.done);
	return true;
}

/* ---- the servers ---- */

static void on_provisional(struct sip_step *s, struct sip_hold *h, unsigned i, unsigned status)
{
	int loser;

	h->seen |= (uint8_t)(1u << i);
	loser = sip_held_loser(h);
	if (h->done || loser >= 0 || i != sip_held_current(h)) {
		sip_held_keep(s, h, h->done ? SIP_LIMIT_MS : sip_held_next_ms(s, h));
		sip_held_take_back(s, h, loser);
		return;
	}
	if (status > 100)
		h->flags |= SIP_H_STAYS;
	sip_held_keep(s, h, sip_held_next_ms(s, h))->hold.spare = status > 100 && sip_held_all_over(h, i); /* only CANCEL could still want them */
}

/* 2xx. The first one has the dialog that lives on: its client says BYE in those of others. key: the session's. False: there was a word before. */
static bool on_success(struct sip_step *s, struct sip_hold *h, unsigned i, const struct hf_key *key)
{
	bool first = !h->done;

	sip_held_end(h, i);
	if (!first)
		return false;
	h->done = (uint8_t)(i + 1);
	if (key && i != sip_held_current(h)) { /* an earlier one was only slow: the call is there */
		struct hf_act *a = hf_act(s->acts, HF_ACT_LEARN);

		a->learn.key = *key;
		a->learn.server = h->server[i];
		a->learn.life = HF_LIFE_TOUCH;
		a->learn.flags = h->flags & SIP_H_INVITE ? HF_COUNTED : 0;
		a->learn.life_s = h->flags & SIP_H_INVITE && !s->ctx->hash_mode ? (uint32_t)(s->conf->session_expiry / 1000) : 32;
		a->learn.why = HF_WHY_FAILOVER;
		a->learn.move = true;
	}
	return true;
}

/* It has been relayed where it came in. */
static void told_success(struct sip_step *s, struct sip_hold *h, unsigned i)
{
	struct sip_step r;
	struct hf_key key;
	bool reads = h->n > 1 && sip_held_read(s, &r);

	if (reads)
		key = sip_session_key(&r);
	if (on_success(s, h, i, reads ? &key : NULL))
		sip_held_finish(s, h);
}

/* It goes up from here: where several race, what was first here is first there. */
static void answer_success(struct sip_step *s, struct sip_hold *h, const struct sip_hf *hf, int i)
{
	const struct hf_key key = sip_session_key(s);
	bool first = i >= 0 && on_success(s, h, (unsigned)i, &key);

	sip_answer_on(s, hf, 0);
	if (first)
		sip_held_finish(s, h);
}

void sip_hold_note(struct sip_step *s, struct sip_hold *state, struct hf_bytes note)
{
	struct sip_hold h = *state;
	unsigned status = hf_get16(note.p + 2);
	uint32_t server = hf_get32(note.p + 4);
	int i = sip_held_attempt(&h, server);

	if (i < 0)
		return;
	if (note.p[0] == SIP_NOTE_FAILED)
		sip_hold_failed(s, state, server, HF_R_NONE); /* its reason was counted where it came back */
	else if (note.p[0] == SIP_NOTE_DATAGRAM)
		sip_hold_datagram(s, state, server);
	else if (status < 200)
		on_provisional(s, &h, (unsigned)i, status);
	else
		told_success(s, &h, (unsigned)i);
}

/* It goes no further: the server is told that it has arrived. */
static void absorb(struct sip_step *s, const struct sip_hold *h, const struct sip_hf *hf)
{
	struct sip_step r;

	sip_held_absorb(s, h, h->flags & SIP_H_INVITE && sip_held_read(s, &r) ? &r : NULL, hf->server);
}

static bool next_for(struct sip_step *s, struct sip_hold *h, const struct sip_hf *hf)
{
	struct sip_turn *t = sip_turn_new(s, SIP_TURN_NEXT);

	if (!t || !sip_held_read(s, &t->request))
		return false;
	t->has_answer = true;
	t->hf = *hf;
	return sip_held_ask_next(s, h, t);
}

void sip_hold_answer(struct sip_step *s, struct sip_hold *state, const struct sip_hf *hf)
{
	unsigned status = s->p->msg.status;
	bool fails = sip_codes_have(&s->conf->failover_codes, status);
	struct sip_hold h = *state;
	int i = sip_held_attempt(&h, hf->server);
	struct sip_step r;

	if (status < 300) {
		answer_success(s, &h, hf, i);
		return;
	}
	if (i >= 0 && sip_speaks_ill(s->conf, status) && !sip_held_over(&h, (unsigned)i) && !sip_learn_busy(s, hf))
		sip_held_evidence(s, hf->server);
	if (i < 0 || (h.done == i + 1)) { /* again: its ACK is the client's */
		sip_held_relay(s, &h, hf, i);
		return;
	}
	sip_held_end(&h, (unsigned)i);
	if (fails)
		sip_held_refuse(&h, status);
	if (h.done || (fails && (unsigned)i != sip_held_current(&h))) {
		absorb(s, &h, hf);
		sip_held_keep(s, &h, h.done ? SIP_LIMIT_MS : sip_held_next_ms(s, &h));
		return;
	}
	if (fails && next_for(s, &h, hf))
		return;
	sip_held_last(s, &h, fails && sip_held_read(s, &r) ? &r : NULL, hf);
	sip_held_finish(s, &h);
}

/* What follows it goes so too. It may be lost now: for a client on a connection, who repeats nothing, we repeat it. */
void sip_hold_datagram(struct sip_step *s, struct sip_hold *state, uint32_t server)
{
	struct sip_hold h = *state;

	if (h.done || h.server[sip_held_current(&h)] != server)
		return;
	h.by_length = false;
	if (h.flags & SIP_H_STREAM)
		h.flags |= SIP_H_REPEATS;
	h.again = (uint32_t)s->ctx->now_ms + SIP_T1_MS;
	sip_held_go_on(s, &h);
}

void sip_hold_failed(struct sip_step *s, struct sip_hold *state, uint32_t server, unsigned reason)
{
	struct sip_hold h = *state;
	int i = sip_held_attempt(&h, server);
	struct sip_turn *t = sip_turn_new(s, SIP_TURN_NEXT);

	if (i < 0 || sip_held_over(&h, (unsigned)i) || reason == HF_R_SEND_FULL) { /* of what was sent again, or will be */
		if (reason != HF_R_NONE)
			sip_count(s, reason);
		return;
	}
	if (reason != HF_R_NONE)
		sip_count(s, reason);
	sip_held_end(&h, (unsigned)i);
	if (h.done || (unsigned)i != sip_held_current(&h)) {
		sip_held_keep(s, &h, h.done ? SIP_LIMIT_MS : sip_held_next_ms(s, &h));
		return;
	}
	if (t && sip_held_read(s, &t->request)) {
		t->reason = reason;
		if (sip_held_ask_next(s, &h, t))
			return;
		if (sip_held_all_over(&h, SIP_TRIES_MAX)) {
			sip_held_give_up(s, &h, &t->request);
			return;
		}
	}
	h.flags |= SIP_H_STAYS; /* an earlier one may still answer */
	sip_held_go_on(s, &h);
}

/* Once more to the same server, who knows it again by its branch if it had arrived; then to the next (RFC 3261 16.9, 18.4). Who has sent a 1xx has it, and
 * may answer over a connection of its own (18.2.2). */
void sip_hold_lost(struct sip_step *s, struct sip_hold *state, uint32_t server, unsigned reason)
{
	struct sip_turn *t = sip_turn_new(s, SIP_TURN_REPEAT);
	struct sip_hold h = *state;
	unsigned now = sip_held_current(&h);

	if (sip_held_outward(&h) || h.done || h.server[now] != server || sip_held_over(&h, now) || sip_held_rang(&h, now))
		return;
	if (!h.resent && t && sip_held_read(s, &t->request)) {
		h.resent = true;
		sip_held_go_on(s, &h);
		sip_held_ask(s, t->request.p, t, server);
		return;
	}
	sip_held_evidence(s, server);
	sip_hold_failed(s, state, server, reason);
}

/* ---- the clock ---- */

static void say_trying(struct sip_step *s, struct sip_hold *h, struct sip_step *r)
{
	h->flags |= SIP_H_TRYING;
	sip_refuse(r, &(struct sip_refusal){100, NULL, SIP_R_TRYING, HF_NONE});
	sip_held_go_on(s, h);
}

/* The server rang and has had CANCEL, which may have been lost: we answered the client's, so we repeat it. When nothing comes at all the client has
 * its 487 from here. */
static void still_rings(struct sip_step *s, struct sip_hold *h, struct sip_turn *t)
{
	uint32_t server = h->server[sip_held_current(h)];

	if (sip_ms_since(s, h->tried) >= SIP_CANCEL_MS) {
		sip_held_evidence(s, server);
		sip_held_end_entry(s, h, &t->request, SIP_DONE_CANCEL);
		sip_held_answer(h, &t->request, SIP_DONE_CANCEL);
		sip_held_keep(s, h, SIP_LIMIT_MS);
		return;
	}
	h->again += (h->again - h->tried) + SIP_T1_MS;
	t->what = SIP_TURN_CANCEL;
	t->again = true;
	sip_held_keep(s, h, sip_held_next_ms(s, h));
	sip_held_ask(s, t->request.p, t, server);
}

static void repeat(struct sip_step *s, struct sip_hold *h, struct sip_turn *t)
{
	uint32_t gap = (h->again - h->tried) + SIP_T1_MS; /* 0.5, 1.5, 3.5 s and so on after the first */

	if (!(h->flags & SIP_H_INVITE) && gap > SIP_T2_MS)
		gap = SIP_T2_MS;
	h->again += gap;
	t->what = SIP_TURN_REPEAT;
	sip_held_keep(s, h, sip_held_next_ms(s, h));
	sip_held_ask(s, t->request.p, t, h->server[sip_held_current(h)]);
}

static void silent(struct sip_step *s, struct sip_hold *h, struct sip_turn *t)
{
	sip_held_evidence(s, h->server[sip_held_current(h)]);
	sip_count(s, SIP_R_TRY_TIMEOUT);
	t->reason = SIP_R_TRY_TIMEOUT;
	if (sip_held_ask_next(s, h, t))
		return;
	h->flags |= SIP_H_STAYS;
	sip_held_go_on(s, h);
}

void sip_hold_wake(struct sip_step *s, struct sip_hold *state)
{
	struct sip_hold h = *state;
	struct sip_turn *t = sip_turn_new(s, SIP_TURN_NEXT);
	bool waits = !sip_held_rang(&h, sip_held_current(&h)) && !sip_held_over(&h, sip_held_current(&h));

	if (h.done || !t || !sip_held_read(s, &t->request))
		return; /* its time is over */
	if (sip_ms_since(s, h.born) >= SIP_LIMIT_MS && !sip_held_rang(&h, sip_held_current(&h))) {
		if (h.flags & SIP_H_INVITE) { /* never 408 to another request (RFC 4320 4.2) */
			uint8_t done = sip_answer_rank(sip_held_refused(&h)) <= sip_answer_rank(408) ? SIP_DONE_REFUSED : SIP_DONE_TIMEOUT;

			sip_held_end_entry(s, &h, &t->request, done);
			sip_held_answer(&h, &t->request, done);
			sip_held_keep(s, &h, SIP_LIMIT_MS);
		}
	} else if (sip_held_rang(&h, sip_held_current(&h))) {
		if (h.flags & SIP_H_CANCELLED)
			still_rings(s, &h, t);
	} else if (waits && (h.flags & (SIP_H_TRIES | SIP_H_STAYS)) == SIP_H_TRIES && sip_ms_since(s, h.tried) >= s->conf->try_timeout) {
		silent(s, &h, t);
	} else if ((h.flags & (SIP_H_STREAM | SIP_H_INVITE | SIP_H_TRYING)) == (SIP_H_STREAM | SIP_H_INVITE) && sip_ms_since(s, h.born) >= SIP_SAY_100_MS) {
		say_trying(s, &h, &t->request);
	} else if (sip_held_repeats(&h) && (int32_t)sip_ms_since(s, h.again) >= 0) {
		repeat(s, &h, t);
	} else {
		sip_held_go_on(s, &h);
	}
}
