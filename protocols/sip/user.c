/* Bonds of users (`key = user`): a registrar's answer binds a user to it for as long as it grants, and what a server opens binds whom it calls.
 * The dialogs themselves are remembered by Call-ID all the same (life.c). Pure; called by front.c and reply.c. */
#include "inside.h"

enum { USUAL_S = 3600 /* a Contact for which the registrar says no time (RFC 3261 10.3 step 6 leaves it to him) */ };

static struct hf_act *learn(struct sip_step *s, const struct hf_key *key, enum hf_life life, uint32_t seconds)
{
	struct hf_act *a = hf_act(s->acts, HF_ACT_LEARN);

	a->learn.key = *key;
	a->learn.life = life;
	a->learn.life_s = seconds;
	a->learn.flags = HF_BOND;
	a->learn.why = HF_WHY_BOND;
	return a;
}

/* ---- what a registrar grants ---- */

/* A Contact's own time, else the message's (RFC 3261 10.2.4). */
static uint32_t contact_s(const struct sip_msg *m, struct hf_bytes value)
{
	struct hf_bytes uri, params, text;
	uint64_t v;
	enum hf_err e;

	text = sip_addr_split(value, &uri, &params) ? sip_param(params, HF_LIT("expires")) : HF_NONE;
	e = text.n ? hf_read_uint(text, UINT32_MAX, &v) : HF_EINVAL;
	if (e != HF_EINVAL)
		return e == HF_OK ? (uint32_t)v : UINT32_MAX;
	return m->has_expires ? m->expires : USUAL_S;
}

uint32_t sip_registered_s(const struct sip_msg *m)
{
	uint32_t longest = 0, at = 0;
	struct sip_line line;
	bool any = false;

	while (sip_line_next(m, &at, &line)) {
		struct hf_bytes list = line.text, value;

		if (!hf_bytes_ieq(sip_header_name(hf_bytes_of(m->raw.p + line.name.at, line.name.n)), HF_LIT("contact")))
			continue;
		while (sip_value_next(&list, &value)) {
			uint32_t v = contact_s(m, value);

			any = true;
			longest = v > longest ? v : longest;
		}
	}
	return any || !m->has_expires ? longest : m->expires; /* a registrar that lists nothing and yet names a time */
}

/* The registration is where it was answered, whoever was asked before, and lives exactly as long as it was granted: LINGER sets a life that
 * an older grant had made longer, START makes the bond, or moves it. */
static void registered(struct sip_step *s, const struct sip_hf *hf, const struct hf_key *key)
{
	uint32_t granted = sip_registered_s(&s->p->msg), seconds = sip_grant_s(s, granted);
	struct hf_act *a;

	(void)learn(s, key, HF_LIFE_LINGER, seconds);
	if (!granted)
		return;
	a = learn(s, key, HF_LIFE_START, seconds);
	a->learn.server = hf->server;
	a->learn.move = true;
}

/* The next one has to come back to whoever knows the nonce: by its CSeq, which goes up by one (RFC 3261 22.2), whatever becomes of his bond meanwhile;
 * under another Call-ID by the bond. */
static void challenged_by(struct sip_step *s, uint32_t server, const struct hf_key *key)
{
	const struct hf_key next = sip_register_key(s, s->p->msg.cseq + 1);
	struct hf_act *a = learn(s, key, HF_LIFE_START, sip_grant_s(s, 0));

	a->learn.server = server;
	if (s->p->msg.method_id != SIP_REGISTER)
		return;
	a = learn(s, &next, HF_LIFE_START, sip_grant_s(s, 0));
	a->learn.server = server;
	a->learn.flags = 0;
	a->learn.why = HF_WHY_ENTRY;
}

/* ---- the answers ---- */

void sip_user_answered(struct sip_step *s, const struct sip_hf *hf)
{
	const struct sip_msg *m = &s->p->msg;
	bool of_record = m->method_id == SIP_REGISTER || m->method_id == SIP_PUBLISH, ok = m->status >= 200 && m->status < 300;
	bool challenged = m->status == 401 || m->status == 407;
	bool ours = hf->server != 0; /* the answer of a server; 0: that of whom a server had called */
	struct hf_key key;

	if (!hf->opening || !(ours ? of_record && (ok || challenged) : ok && m->method_id == SIP_INVITE))
		return;
	key = sip_user_key(s);
	if (!key.fp)
		return;
	if (!ours) /* his bond lives as long as the call may */
		(void)learn(s, &key, HF_LIFE_START, sip_life_of_response(s, true).seconds);
	else if (challenged)
		challenged_by(s, hf->server, &key);
	else if (m->method_id == SIP_REGISTER)
		registered(s, hf, &key);
	else if (m->has_expires && m->expires)
		learn(s, &key, HF_LIFE_START, sip_grant_s(s, m->expires))->learn.server = hf->server;
}

void sip_user_opened(struct sip_step *s, uint32_t server)
{
	static const bool binds[SIP_OTHER + 1] = {[SIP_INVITE] = true, [SIP_SUBSCRIBE] = true, [SIP_REFER] = true, [SIP_MESSAGE] = true};
	const struct sip_msg *m = &s->p->msg;
	struct hf_key key;

	if (m->to_tag.p || !binds[m->method_id] || !server)
		return;
	key = sip_user_key(s);
	if (key.fp)
		learn(s, &key, HF_LIFE_START, sip_life_of_request(s).seconds)->learn.server = server;
}
