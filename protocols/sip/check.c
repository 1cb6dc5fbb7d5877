/* What a request must be to go on (RFC 3261 16.3), as a list of checks in the order in which they are answered.
 * Only what routing needs is looked at; unknown headers and methods pass. Called by front.c before the engine is asked. */
#include "inside.h"

/* ---- loops (RFC 5393 4.2): a Via parameter of ours, of this start, with an equal hash ---- */

enum { BRANCH_PARAM = 8 + SIP_BRANCH_LEN }; /* ";branch=" and its value, which we write before ";hf=" */

static bool b32_char(uint8_t c)
{
	c = hf_lower(c);
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'v');
}

/* Does the parameter at `at` (behind ";hf=") say that this very request was here? */
static bool was_here(const struct sip_step *s, struct hf_bytes head, size_t at)
{
	struct hf_bytes branch = hf_bytes_sub(head, at - 4 - SIP_BRANCH_LEN, SIP_BRANCH_LEN);
	struct sip_hf hf;
	size_t n = 0;

	while (at + n < head.n && b32_char(head.p[at + n]))
		n++;
	return sip_hf_read(s->ctx->site, hf_bytes_sub(head, at, n), branch, &hf) && hf.boot == s->ctx->site->boot && hf.loop == s->p->loop;
}

static bool loops(struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	struct hf_bytes head = hf_bytes_sub(m->raw, 0, m->head_end);
	size_t at = m->start_end + BRANCH_PARAM;
	const uint8_t *hit;

	if (m->n_vias <= SIP_MAX_VIAS && !m->via[0].hf.p && (m->n_vias < 2 || !m->via[1].hf.p))
		return false; /* a client's request, as a rule */
	while (at < head.n && (hit = memmem(head.p + at, head.n - at, ";hf=", 4))) {
		at = (size_t)(hit - head.p) + 4;
		if (was_here(s, head, at))
			return true;
	}
	return false;
}

/* ---- the others ---- */

/* What the Request-URI will be. */
static const struct sip_uri *target(const struct sip_step *s) { return s->p->strict ? &s->p->msg.route_last.uri : &s->p->msg.uri; }

bool sip_may_go(const struct sip_step *s, enum hf_transport t, bool inner)
{
	return !target(s)->sips || hf_transport_is_secure(t) || (inner && s->conf->sips == SIP_SIPS_TRUSTED);
}

/* Does it come over a way that is as safe as its scheme says? tel: and urn: are the servers' to judge. */
static bool bad_scheme(struct sip_step *s)
{
	const struct sip_uri *u = target(s);

	if (u->sips)
		return !sip_may_go(s, s->ev->transport, s->p->side == SIP_FROM_MEMBER);
	return !u->sip && !hf_bytes_ieq(u->scheme, HF_LIT("tel")) && !hf_bytes_ieq(u->scheme, HF_LIT("urn"));
}

static bool for_us(struct sip_step *s)
{
	const struct sip_parcel *p = s->p;

	return p->msg.method_id == SIP_OPTIONS && s->conf->options == SIP_OPTIONS_ANSWER && !p->msg.to_tag.p && !p->strict &&
	       p->own_routes == p->msg.n_routes && !p->msg.uri.user.n && sip_is_own(s, &p->msg.uri);
}

static bool too_many_routes(struct sip_step *s) { return s->p->own_routes == SIP_MAX_ROUTES && s->p->msg.n_routes > SIP_MAX_ROUTES; }
static bool out_of_hops(struct sip_step *s) { return s->p->msg.has_max_forwards && s->p->msg.max_forwards == 0; }

static bool needs_extension(struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	return m->proxy_require.n && m->method_id != SIP_CANCEL && m->method_id != SIP_ACK; /* RFC 3261 8.2.2.3 */
}

/* RFC 3327 5.2, RFC 3261 21.4.16 */
static bool lacks_path(struct sip_step *s)
{
	return s->conf->path == SIP_PATH_REQUIRED && s->p->msg.method_id == SIP_REGISTER && s->p->side == SIP_FROM_CLIENT && !s->p->msg.has_path_support;
}

static const struct {
	bool (*fails)(struct sip_step *s);
	unsigned status;
	const char *phrase;
	unsigned reason;
} checks[] = {
	{bad_scheme, 416, NULL, SIP_R_SCHEME},
	{for_us, 200, NULL, SIP_R_OPTIONS}, /* even at the last hop (RFC 3261 16.3 step 3) */
	{out_of_hops, 483, NULL, SIP_R_HOPS},
	{loops, 482, NULL, SIP_R_SPIN},
	{needs_extension, 420, NULL, SIP_R_EXTENSION},
	{lacks_path, 421, NULL, SIP_R_NO_PATH},
	{too_many_routes, 400, "Too many Route values of this gateway", SIP_R_MANY_ROUTES},
};

static struct hf_bytes unsupported(const struct sip_step *s)
{
	struct hf_bytes names = s->p->msg.proxy_require;
	uint8_t *p = hf_arena_alloc(s->ctx->arena, names.n + 16);
	struct hf_writer w = hf_writer_on(p, names.n + 16);

	if (!p)
		return HF_NONE;
	hf_w_str(&w, "Unsupported: ");
	hf_w_bytes(&w, names);
	hf_w_str(&w, "\r\n");
	return hf_writer_view(&w);
}

static unsigned reason_of(enum sip_fault f)
{
	return f == SIP_GARBAGE ? SIP_R_GARBAGE : f == SIP_VERSION ? SIP_R_VERSION : f == SIP_TOO_LONG ? SIP_R_OVER_LIMIT : SIP_R_MALFORMED;
}

static bool refused_as_malformed(struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	if (m->fault == SIP_GOOD)
		return false;
	if (!m->answer)
		sip_drop(s, reason_of(m->fault));
	else
		sip_refuse(s, &(struct sip_refusal){m->answer, m->answer == 400 ? m->why : NULL, reason_of(m->fault), HF_NONE});
	return true;
}

/* The ACK of an answer of ours ends here (RFC 3261 8.2.7). */
static bool is_own_ack(struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	return m->method_id == SIP_ACK && m->to_tag.p && sip_to_tag_read(s->ctx->site, m->to_tag, m->call_id, m->from_tag, m->cseq_text);
}

static void make_loop_hash(struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	const struct sip_loop l = {m->uri.text, m->routes_text, m->call_id, m->from_tag, m->to_tag, m->cseq_text};

	s->p->loop = sip_loop_hash(s->ctx->site, &l);
}

void sip_look(struct sip_step *s)
{
	make_loop_hash(s);
	sip_route_look(s);
}

bool sip_check(struct sip_step *s)
{
	if (sip_is_scanner(s)) {
		s->closes = s->stream;
		sip_drop(s, SIP_R_SCANNER);
		return false;
	}
	if (refused_as_malformed(s))
		return false;
	if (is_own_ack(s)) {
		sip_drop(s, SIP_R_OWN_ACK);
		return false;
	}
	sip_look(s);
	for (unsigned i = 0; i < sizeof checks / sizeof *checks; i++)
		if (checks[i].fails(s)) {
			struct hf_bytes extra = checks[i].status == 420 ? unsupported(s) : checks[i].status == 421 ? HF_LIT("Require: path\r\n") : HF_LIT("");

			if (extra.p)
				sip_refuse(s, &(struct sip_refusal){checks[i].status, checks[i].phrase, checks[i].reason, extra});
			else
				sip_drop(s, HF_R_NO_MEMORY);
			return false;
		}
	return true;
}
