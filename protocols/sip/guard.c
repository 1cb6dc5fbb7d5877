/* Whom limits pass over: calls to emergency numbers. Pure; called by front.c. */
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

	if (m->method_id != SIP_INVITE || m->to_tag.p || !list->n)
		return false;
	user = called(s, u);
	for (unsigned i = 0; i < list->n; i++)
		if (hf_bytes_find(list->word[i], ':') < list->word[i].n ? is_under(u->text, list->word[i]) : hf_bytes_eq(user, list->word[i]))
			return true;
	return false;
}
