/* Responses (RFC 3261 16.7, 18.1.2): the top Via must carry our parameter with a tag that holds, exactly that value goes, and the
 * response goes to the connection or address signed in it and nowhere else. What it means for the session is learnt; nothing is ever answered. */
#include "hold.h"

enum { BUSY_MAX_S = 3600 /* no Retry-After takes a server out for longer than an hour */, STATUS_AT = 8 /* behind "SIP/2.0 " */ };

/* Is it a Via of ours? The branch is a token: a peer may have changed its case. */
bool sip_read_ours(const struct sip_step *s, struct sip_hf *hf)
{
	const struct sip_via *v = &s->p->msg.via[0];
	uint8_t branch[SIP_BRANCH_LEN];

	if (!s->p->msg.n_vias || !v->hf.p || v->branch.n != sizeof branch)
		return false;
	memcpy(branch, SIP_MAGIC, sizeof SIP_MAGIC - 1);
	for (size_t i = sizeof SIP_MAGIC - 1; i < sizeof branch; i++)
		branch[i] = hf_lower(v->branch.p[i]);
	return sip_hf_read(s->ctx->site, v->hf, hf_bytes_of(branch, sizeof branch), hf);
}

/* A group or broadcast address in the Via below: whoever wrote that wants a flood (RFC 4475 3.3.10). */
static bool odd(const struct sip_via *v)
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};
	struct hf_addr a = {0};

	if (!v->host.n || (v->host.p[0] != '2' && v->host.p[0] != '[')) /* 224 and above, or IPv6 */
		return false;
	if (hf_addr_read_ip(v->host, &a) != HF_OK)
		return false;
	return a.family == 4 ? a.ip[0] >> 4 == 14 || memcmp(a.ip, broadcast, 4) == 0 : a.ip[0] == 0xff;
}

static uint64_t retry_after_s(const struct sip_msg *m)
{
	uint32_t at = m->start_end;
	struct sip_line line;
	uint64_t v = 0;

	while (sip_line_next(m, &at, &line)) {
		size_t n = 0;

		if (!hf_bytes_ieq(hf_bytes_of(m->raw.p + line.name.at, line.name.n), HF_LIT("Retry-After")))
			continue;
		while (n < line.text.n && line.text.p[n] >= '0' && line.text.p[n] <= '9')
			n++; /* a comment or parameters may follow */
		if (hf_read_uint(hf_bytes_sub(line.text, 0, n), BUSY_MAX_S, &v) == HF_ERANGE)
			v = BUSY_MAX_S;
		return v;
	}
	return 0;
}

/* 503 with Retry-After: no new sessions there for that time (RFC 3261 21.5.4). Believed from the server's own address only. */
bool sip_learn_busy(struct sip_step *s, const struct sip_hf *hf)
{
	struct hf_act *a;
	uint64_t after;

	if (s->p->msg.status != 503 || !hf->server || s->ev->member != hf->server || !(after = retry_after_s(&s->p->msg)))
		return false;
	a = hf_act(s->acts, HF_ACT_EVIDENCE);
	a->evidence.server = hf->server;
	a->evidence.what = HF_EVIDENCE_BUSY;
	a->evidence.ms = (uint32_t)(after * 1000);
	return true;
}

static void learn_life(struct sip_step *s, const struct sip_hf *hf)
{
	struct sip_life l = sip_life_of_response(s, hf->opening);
	struct hf_act *a;

	if (l.life == HF_LIFE_NONE)
		return;
	a = hf_act(s->acts, HF_ACT_LEARN);
	a->learn.key = sip_call_key(s, s->p->msg.call_id);
	a->learn.server = hf->server;
	a->learn.life = l.life;
	a->learn.life_s = l.seconds;
	a->learn.flags = l.flags;
	a->learn.why = HF_WHY_ENTRY;
	a->learn.ended = l.ended;
	a->learn.code = (uint16_t)s->p->msg.status;
}

/* A listener that a reload took away leaves its connections, and those alone: whether what it took was safe from others is not known any more. */
static enum hf_transport transport_of(const struct sip_step *s, const struct sip_hf *hf)
{
	const struct hf_listener_info *l = sip_listener_of(s->ctx, hf->listener);

	return l ? l->transport : hf->has_connection ? HF_TCP : HF_UDP;
}

void sip_return_to(const struct sip_step *s, const struct sip_hf *hf, struct hf_send *send)
{
	send->to = HF_TO_RETURN;
	send->listener = hf->listener;
	send->addr = hf->source;
	send->local = hf->local;
	if (hf->has_connection && !sip_listener_of(s->ctx, hf->listener))
		send->addr.port = 0;
	send->transport = transport_of(s, hf);
	if (hf->has_connection && hf->boot == s->ctx->site->boot)
		send->flow = hf->connection;
}

/* "SIP/2.0 503 Service Unavailable" under another status. */
static struct hf_splice restate(const struct sip_msg *m, unsigned status)
{
	HF_BUG_ON(status != 500);
	return (struct hf_splice){STATUS_AT, m->start_end - STATUS_AT - 2, HF_LIT("500 Server Internal Error")};
}

static bool relay(struct sip_step *s, const struct sip_hf *hf, unsigned status)
{
	const struct sip_msg *m = &s->p->msg;
	struct hf_splice *edit = hf_arena_alloc(s->ctx->arena, 3 * sizeof *edit);
	unsigned n = 0;
	struct hf_bytes length = hf_transport_is_stream(transport_of(s, hf)) && !m->has_content_length ? sip_length_line(s) : HF_LIT("");
	struct hf_send *send;

	if (!edit || !length.p)
		return false;
	if (status)
		edit[n++] = restate(m, status);
	edit[n++] = (struct hf_splice){m->via_cut.at, m->via_cut.n, HF_NONE};
	if (length.n)
		edit[n++] = (struct hf_splice){m->head_end, 0, length};
	send = &hf_act(s->acts, HF_ACT_SEND)->send;
	sip_return_to(s, hf, send);
	send->base = m->raw;
	send->name = (uint16_t)(m->method_id + 1);
	send->code = (uint16_t)(status ? status : m->status);
	send->splices = edit;
	send->n_splices = n;
	return true;
}

void sip_answer_on(struct sip_step *s, const struct sip_hf *hf, unsigned status)
{
	learn_life(s, hf);
	sip_user_answered(s, hf);
	if (!relay(s, hf, status))
		sip_drop(s, HF_R_NO_MEMORY);
}

bool sip_speaks_ill(const struct sip_conf *conf, unsigned status)
{
	return status == 503 || ((status == 500 || status == 502 || status == 504) && sip_codes_have(&conf->failover_codes, status));
}

static void learn_well(struct sip_step *s, const struct sip_hf *hf)
{
	struct hf_act *a = hf_act(s->acts, HF_ACT_EVIDENCE);

	a->evidence.server = hf->server;
	a->evidence.what = HF_EVIDENCE_OK;
}

/* Of a held request: below 300 it goes on from here and the hold is told, from there on the hold decides, as it does where two servers may both answer
 * 2xx. Our own CANCEL was answered before. */
static void to_hold(struct sip_step *s, const struct sip_hf *hf)
{
	unsigned status = s->p->msg.status;

	if (s->p->msg.method_id == SIP_CANCEL) {
		sip_drop(s, SIP_R_ABSORBED);
		return;
	}
	if (status >= 200 && !sip_speaks_ill(s->conf, status))
		learn_well(s, hf);
	if (status >= 300 || (status >= 200 && s->ctx->races)) {
		hf_act(s->acts, HF_ACT_PASS)->note.to = hf->hold;
		return;
	}
	sip_note_answer(s, hf);
	sip_answer_on(s, hf, 0);
}

void sip_reply(struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	struct sip_hf hf;

	if (m->fault != SIP_GOOD) {
		sip_drop(s, m->fault == SIP_GARBAGE ? SIP_R_GARBAGE : SIP_R_BAD_RESPONSE);
	} else if (!sip_read_ours(s, &hf)) {
		sip_drop(s, SIP_R_FOREIGN_VIA);
	} else if (m->n_vias < 2) {
		sip_drop(s, SIP_R_LAST_VIA);
	} else if (odd(&m->via[1])) {
		sip_drop(s, SIP_R_ODD_VIA);
	} else if (hf.has_hold) { /* of the boot before, too: what its client has sent again since is held under the same name, which is made of the client's branch */
		to_hold(s, &hf);
	} else {
		sip_answer_on(s, &hf, 0);
		(void)sip_learn_busy(s, &hf);
	}
}

void sip_reply_held(struct sip_step *s, void *state)
{
	struct sip_hf hf;

	if (s->p->msg.fault != SIP_GOOD || !sip_read_ours(s, &hf)) {
		sip_drop(s, SIP_R_FOREIGN_VIA); /* it was ours where it came in */
	} else if (state) {
		sip_hold_answer(s, state, &hf);
	} else {
		sip_answer_on(s, &hf, 0);
		(void)sip_learn_busy(s, &hf);
	}
}
