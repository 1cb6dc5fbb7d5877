/* When a session starts, lives on and ends: what each message asks of the engine's entry of its Call-ID.
 * One row a method, out of a dialog (no To tag) and in one. Pure. */
#include "inside.h"

enum {
	SHORT_S = 32,          /* Timers B, F and H are 32 s (RFC 3261 17): so long ACK, CANCEL and retransmissions find their server */
	CAP_S = 86400,         /* no peer keeps an entry for more than a day without a message */
	SESSION_LEAST_S = 135, /* 1.5 x 90 s, the least Session-Expires (RFC 4028 4) */
	SUBSCRIBE_S = 3600,    /* a grant without Expires */
};

enum span { NONE, SHORT, EARLY, SESSION, GRANT };
struct row { enum hf_life life; unsigned flags; enum span span; };

#define ONE_SHOT {HF_LIFE_START, 0, SHORT}
#define SESSION_GOES_ON {HF_LIFE_TOUCH, HF_COUNTED, SESSION}
static const struct row opening[] = {
	[SIP_INVITE] = {HF_LIFE_START, HF_COUNTED | HF_TENTATIVE, EARLY},
	[SIP_ACK] = {HF_LIFE_NONE, 0, NONE},    /* follow their INVITE */
	[SIP_CANCEL] = {HF_LIFE_NONE, 0, NONE},
	[SIP_BYE] = ONE_SHOT, [SIP_OPTIONS] = ONE_SHOT, [SIP_REGISTER] = ONE_SHOT, [SIP_NOTIFY] = ONE_SHOT, [SIP_PUBLISH] = ONE_SHOT,
	[SIP_SUBSCRIBE] = ONE_SHOT,             /* until the grant is known */
	[SIP_PRACK] = ONE_SHOT, [SIP_UPDATE] = ONE_SHOT, [SIP_REFER] = ONE_SHOT, [SIP_MESSAGE] = ONE_SHOT, [SIP_INFO] = ONE_SHOT, [SIP_OTHER] = ONE_SHOT,
};
static const struct row in_dialog[] = {
	[SIP_INVITE] = SESSION_GOES_ON,
	[SIP_ACK] = {HF_LIFE_TOUCH, 0, SHORT},  /* with a cookie, see below. It counts nothing anew: it may come when BYE has passed */
	[SIP_CANCEL] = {HF_LIFE_NONE, 0, NONE},
	[SIP_BYE] = {HF_LIFE_LINGER, 0, SHORT},
	[SIP_SUBSCRIBE] = {HF_LIFE_TOUCH, 0, GRANT}, [SIP_NOTIFY] = {HF_LIFE_TOUCH, 0, GRANT}, /* a call's dialog may hold subscriptions: the call goes on */
	[SIP_OPTIONS] = SESSION_GOES_ON, [SIP_REGISTER] = SESSION_GOES_ON, [SIP_PUBLISH] = SESSION_GOES_ON, [SIP_PRACK] = SESSION_GOES_ON,
	[SIP_UPDATE] = SESSION_GOES_ON, [SIP_REFER] = SESSION_GOES_ON, [SIP_MESSAGE] = SESSION_GOES_ON, [SIP_INFO] = SESSION_GOES_ON,
	[SIP_OTHER] = SESSION_GOES_ON,
};

static uint32_t clamp(uint64_t v, uint64_t lo, uint64_t hi) { return (uint32_t)(v < lo ? lo : v > hi ? hi : v); }

static uint32_t session_s(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	if (m->has_session_expires)
		return clamp((uint64_t)m->session_expires * 3 / 2, SESSION_LEAST_S, CAP_S);
	return (uint32_t)(s->conf->session_expiry / 1000);
}

static uint32_t seconds(const struct sip_step *s, enum span span, uint32_t grant_s)
{
	if (span == NONE)
		return 0;
	if (span == EARLY)
		return (uint32_t)(s->conf->early_expiry / 1000);
	if (span == SHORT || s->ctx->hash_mode)
		return SHORT_S;
	return span == SESSION ? session_s(s) : clamp((uint64_t)grant_s + SHORT_S, SHORT_S, CAP_S);
}

static struct sip_life life(const struct sip_step *s, const struct row *r, uint32_t grant_s)
{
	return (struct sip_life){r->life, r->flags, seconds(s, r->span, grant_s), NULL};
}

static struct sip_life over(struct sip_life l, const char *ended)
{
	l.ended = ended;
	return l;
}

uint32_t sip_grant_s(const struct sip_step *s, uint32_t granted) { return seconds(s, GRANT, granted); }

static const struct sip_life nothing = {HF_LIFE_NONE, 0, 0, NULL};

/* NOTIFY in a dialog. Those of a REFER may stand in a call's dialog: they change nothing of it (RFC 3515 2.4.4). */
static struct sip_life of_notify(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	struct hf_bytes state = hf_bytes_trim(hf_bytes_sub(m->subscription_state, 0, hf_bytes_find(m->subscription_state, ';')));
	struct hf_bytes params = hf_bytes_sub(m->subscription_state, hf_bytes_find(m->subscription_state, ';'), m->subscription_state.n);
	struct hf_bytes event = hf_bytes_trim(hf_bytes_sub(m->event, 0, hf_bytes_find(m->event, ';')));
	static const struct row over = {HF_LIFE_LINGER, HF_COUNTED, SHORT};
	uint64_t grant = 0;

	if (hf_bytes_ieq(event, HF_LIT("refer")))
		return nothing;
	if (hf_bytes_ieq(state, HF_LIT("terminated")))
		return life(s, &over, 0);
	if (hf_read_uint(sip_param(params, HF_LIT("expires")), UINT32_MAX, &grant) != HF_OK)
		return nothing;
	return life(s, &in_dialog[SIP_NOTIFY], (uint32_t)grant);
}

struct sip_life sip_life_of_request(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	if (!m->to_tag.p)
		return life(s, &opening[m->method_id], 0);
	if (m->method_id == SIP_NOTIFY)
		return of_notify(s);
	if (m->method_id == SIP_SUBSCRIBE && (!m->has_expires || !m->expires))
		return nothing; /* its answer and the last NOTIFY tell */
	if (m->method_id == SIP_BYE)
		return over(life(s, &in_dialog[SIP_BYE], 0), "bye");
	if (m->method_id == SIP_ACK && !s->p->has_cookie)
		return nothing; /* it may be of a refused INVITE: only that of a 2xx, or of a re-INVITE, has our cookie */
	return life(s, &in_dialog[m->method_id], m->expires);
}

/* In hash mode the answer ends what had to be remembered, a call's too. After a challenge the client comes again, as a rule. */
static struct sip_life of_invite_answer(const struct sip_step *s)
{
	static const struct row firm = {HF_LIFE_START, HF_COUNTED, SESSION};
	unsigned status = s->p->msg.status;

	if (status < 300)
		return s->ctx->hash_mode ? over(life(s, &in_dialog[SIP_BYE], 0), "answered") : life(s, &firm, 0);
	return over(life(s, &in_dialog[SIP_BYE], 0), status == 401 || status == 407 ? NULL : status == 487 ? "cancel" : "refused");
}

struct sip_life sip_life_of_response(const struct sip_step *s, bool is_opening)
{
	static const struct row granted = {HF_LIFE_START, 0, GRANT}, again = {HF_LIFE_TOUCH, 0, GRANT};
	/* It rings on, as long as its server says so every three minutes (RFC 3261 13.3.1.1, 16.7 step 2): neither counted anew nor firm by that. */
	static const struct row rings = {HF_LIFE_START, HF_TENTATIVE, EARLY};
	const struct sip_msg *m = &s->p->msg;

	if (m->status < 200)
		return m->method_id == SIP_INVITE && is_opening && m->status > 100 ? life(s, &rings, 0) : nothing;
	if (m->method_id == SIP_INVITE && is_opening)
		return of_invite_answer(s);
	if (m->method_id == SIP_SUBSCRIBE && m->status < 300 && (is_opening || m->has_expires))
		return life(s, is_opening ? &granted : &again, m->has_expires ? m->expires : SUBSCRIBE_S);
	return nothing;
}
