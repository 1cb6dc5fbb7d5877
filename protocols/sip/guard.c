/* Whom limits pass over: calls to emergency numbers, and what we have signed; and whom nobody wants: scanners. Pure; called by front.c, check.c and net. */
#include "inside.h"

/* Whom the Request-URI names, without a password or parameters of the user part ("112;phone-context=+49"); a number without its separators. */
static struct hf_bytes called(const struct sip_step *s, const struct sip_uri *u)
{
	struct hf_bytes user = u->user;

	if (!u->sip || hf_bytes_find(user, '%') < user.n)
		user = user.n ? sip_user(u, false, s->ctx->arena) : HF_NONE;
	user = hf_bytes_sub(user, 0, hf_bytes_find(user, ':'));
	return hf_bytes_sub(user, 0, hf_bytes_find(user, ';'));
}

/* `word` and what stands below it: urn:service:sos.police (RFC 5031), sip:112@example.com;user=phone. */
static bool is_under(struct hf_bytes uri, struct hf_bytes word)
{
	return hf_bytes_istarts(uri, word) && (uri.n == word.n || strchr(".;@?", uri.p[word.n]));
}

bool sip_is_urgent(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	const struct sip_words *list = &s->conf->priority;
	const struct sip_uri *u = s->p->strict ? &m->route_last.uri : &m->uri;
	struct hf_bytes user = HF_NONE;

	if (m->method_id != SIP_INVITE || m->to_tag.p)
		return false;
	if (u->sip && !sip_words_may(list, u->text) && !sip_words_may(list, u->user) && !hf_bytes_starts(u->user, HF_LIT("%"))) /* as a rule */
		return false;
	user = called(s, u);
	for (unsigned i = 0; i < list->n; i++)
		if (hf_bytes_find(list->word[i], ':') < list->word[i].n ? is_under(u->text, list->word[i]) : hf_bytes_eq(user, list->word[i]))
			return true;
	return false;
}

bool sip_is_scanner(const struct sip_step *s)
{
	const struct sip_words *list = &s->conf->deny_agents;
	struct hf_bytes agent = s->p->msg.user_agent;

	if (!sip_words_may(list, agent))
		return false;
	for (unsigned i = 0; i < list->n; i++)
		if (hf_bytes_istarts(agent, list->word[i]))
			return !s->ev->from_servers;
	return false;
}

/* A response by our Via, a request by the cookie of its dialog. Only what holds such a form at all is read: that is found faster than it is parsed. */
bool sip_vouches(struct hf_ctx *ctx, const struct hf_event *ev)
{
	struct sip_parcel *p;
	struct hf_acts none = {0};
	struct sip_step s = {.ctx = ctx, .ev = ev, .conf = ctx->conf, .acts = &none};
	struct sip_hf hf;
	bool response = hf_bytes_istarts(ev->bytes, HF_LIT("SIP/"));
	const char *mark = response ? ";hf=" : "hfd-";

	if (!memmem(ev->bytes.p, ev->bytes.n, mark, strlen(mark)))
		return false;
	p = s.p = hf_arena_alloc(ctx->arena, sizeof *p);
	if (!p)
		return false;
	memset(&p->key, 0, sizeof *p - offsetof(struct sip_parcel, key));
	if (sip_scan(ev->bytes, false, &s.conf->limits, ctx->arena, &p->msg) != SIP_GOOD || p->msg.response != response)
		return false;
	if (response)
		return sip_read_ours(&s, &hf);
	sip_look(&s);
	return p->has_cookie;
}
