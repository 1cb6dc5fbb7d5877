/* Which Route values are ours, what their tokens say, and which side a request comes from (RFC 3261 16.4). Anyone who knows its own dialog can swap
 * From and To, so that the tags say "server": net sends it on only from where a member lives. Called by check.c and front.c; asks no engine. */
#include "inside.h"

/* ---- is it us ---- */

bool sip_own_addr(const struct sip_step *s, const struct hf_addr *a)
{
	for (unsigned i = 0; i < s->ctx->n_own; i++)
		if (hf_addr_eq(&s->ctx->own[i], a))
			return true;
	for (unsigned i = 0; i < s->ctx->n_listeners; i++)
		if (hf_addr_eq(&s->ctx->listeners[i].addr, a))
			return true;
	return hf_addr_eq(&s->ev->local, a);
}

/* "host[:port]" apart; an IPv6 literal keeps its brackets. */
static struct hf_bytes host_of(struct hf_bytes text, uint16_t *port)
{
	size_t end = text.n && text.p[0] == '[' ? hf_bytes_find(text, ']') : 0;
	size_t colon = end + hf_bytes_find(hf_bytes_sub(text, end, text.n), ':');
	uint64_t v = 0;

	if (colon < text.n && hf_read_uint(hf_bytes_sub(text, colon + 1, text.n), 65535, &v) == HF_OK)
		*port = (uint16_t)v;
	return hf_bytes_sub(text, 0, colon);
}

static bool advertised(const struct hf_listener_info *l, struct hf_bytes host, uint16_t port)
{
	uint16_t p = l->addr.port;

	return l->advertise.n && hf_bytes_ieq(host_of(l->advertise, &p), host) && p == port;
}

static bool own_advertised(const struct sip_step *s, struct hf_bytes host, uint16_t port)
{
	for (unsigned i = 0; i < s->ctx->n_listeners; i++)
		if (advertised(&s->ctx->listeners[i], host, port))
			return true;
	return false;
}

static bool own_port(const struct sip_step *s, uint16_t port)
{
	for (unsigned i = 0; i < s->ctx->n_listeners; i++)
		if (s->ctx->listeners[i].addr.port == port)
			return true;
	return false;
}

static bool next_word(struct hf_bytes *list, struct hf_bytes *word)
{
	size_t n;

	*list = hf_bytes_trim(*list);
	for (n = 0; n < list->n && list->p[n] != ' ' && list->p[n] != '\t' && list->p[n] != ','; n++)
		;
	*word = hf_bytes_sub(*list, 0, n);
	*list = hf_bytes_sub(*list, n + 1, list->n);
	return word->n > 0 || list->n > 0;
}

/* A name without a port may mean any port (a domain is found by SRV), one with a port must mean a listener. */
static bool own_name(const struct sip_step *s, const struct sip_uri *u)
{
	struct hf_bytes list = s->conf->own_names, word;

	while (next_word(&list, &word))
		if (hf_bytes_ieq(word, u->host))
			return !u->port || own_port(s, u->port);
	return false;
}

/* RFC 3263 4.1, RFC 3261 26.2.2: sips: makes TCP TLS. */
enum hf_transport sip_transport_of(const struct sip_uri *u)
{
	enum hf_transport t = u->sips ? HF_TCP : HF_UDP;

	if (u->transport.p && !hf_transport_read(u->transport, &t))
		return HF_TRANSPORTS;
	if (u->sips && t != HF_TLS)
		t = t == HF_TCP ? HF_TLS : hf_transport_is_web(t) ? HF_WSS : HF_TRANSPORTS;
	return t;
}

bool sip_is_own(const struct sip_step *s, const struct sip_uri *u)
{
	uint16_t port = u->port ? u->port : sip_usual_port(sip_transport_of(u));
	struct hf_addr a = {0};

	if (!u->sip && !u->sips)
		return false;
	if (hf_addr_read_ip(u->host, &a) == HF_OK) {
		a.port = port;
		if (sip_own_addr(s, &a))
			return true;
	}
	return own_advertised(s, u->host, port) || own_name(s, u);
}

const struct hf_listener_info *sip_listener_named(const struct sip_step *s, const struct sip_uri *u, struct hf_addr *local)
{
	enum hf_transport t = sip_transport_of(u);
	struct hf_addr a = {.port = u->port ? u->port : sip_usual_port(t)};
	bool literal = hf_addr_read_ip(u->host, &a) == HF_OK;

	*local = (struct hf_addr){0};
	for (unsigned i = 0; i < s->ctx->n_listeners; i++) {
		const struct hf_listener_info *l = &s->ctx->listeners[i];

		if (l->transport != t)
			continue;
		if (l->advertise.n ? advertised(l, u->host, a.port) : literal && hf_addr_eq(&l->addr, &a))
			return l;
		if (l->advertise.n || !literal || !l->wildcard || l->addr.family != a.family || l->addr.port != a.port || !sip_own_addr(s, &a))
			continue;
		*local = a;
		return l;
	}
	return NULL;
}

/* ---- tokens and our Routes ---- */

/* The user part without a password. */
static struct hf_bytes user_of(const struct sip_uri *u) { return hf_bytes_sub(u->user, 0, hf_bytes_find(u->user, ':')); }

static bool read_cookie(struct sip_step *s, struct hf_bytes user)
{
	struct sip_parcel *p = s->p;
	const struct sip_msg *m = &p->msg;

	if (p->has_cookie)
		return true; /* the second of two Record-Routes says the same */
	p->from_opener = sip_cookie_read(s->ctx->site, user, m->call_id, m->from_tag, &p->cookie);
	p->has_cookie = p->from_opener || (m->to_tag.p && sip_cookie_read(s->ctx->site, user, m->call_id, m->to_tag, &p->cookie));
	return p->has_cookie;
}

/* Reads what our token in a URI says. False: there is none, or it does not hold. */
static bool read_token(struct sip_step *s, const struct sip_uri *u)
{
	struct hf_bytes user = user_of(u);
	bool cookie = sip_cookie_form(user), holds;

	if (!cookie && !sip_flow_form(user))
		return false;
	if (cookie)
		holds = read_cookie(s, user);
	else
		holds = s->p->has_flow = sip_flow_read(s->ctx->site, user, &s->p->flow);
	if (!holds)
		s->p->bad_cookie = true;
	return holds;
}

static bool is_ours(struct sip_step *s, const struct sip_uri *u)
{
	bool holds = read_token(s, u);

	return holds || sip_is_own(s, u);
}

/* Sent by a strict router: the Request-URI is a Record-Route of ours. */
static bool sent_by_strict(struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	if (!m->n_routes || (!m->uri.sip && !m->uri.sips))
		return false;
	return read_token(s, &m->uri) || (m->uri.lr && sip_is_own(s, &m->uri));
}

void sip_route_look(struct sip_step *s)
{
	struct sip_parcel *p = s->p;
	const struct sip_msg *m = &p->msg;
	unsigned n;

	p->strict = sent_by_strict(s);
	n = m->n_routes - (p->strict ? 1 : 0);
	if (n > SIP_MAX_ROUTES)
		n = SIP_MAX_ROUTES;
	while (p->own_routes < n && is_ours(s, &m->route[p->own_routes].uri))
		p->own_routes++;
	if (p->has_cookie)
		p->side = p->from_opener == p->cookie.server_opened ? SIP_FROM_MEMBER : SIP_FROM_CLIENT;
	else
		p->side = s->ev->member || s->ev->from_servers || s->ev->listener->inside ? SIP_FROM_MEMBER : SIP_FROM_CLIENT;
}

/* ---- how we are reached ---- */

static struct hf_bytes listener_text(struct hf_arena *arena, const struct hf_listener_info *l, const struct hf_addr *local)
{
	size_t cap = l->advertise.n + 56, scheme = hf_bytes_find(l->uri, '/') + 2; /* an IPv6 literal with brackets and a port has 54 */
	struct hf_addr a = *local;
	uint16_t port = 0;
	struct hf_writer w;
	uint8_t *p;

	if (!l->advertise.n && !l->wildcard)
		return hf_bytes_sub(l->uri, scheme, l->uri.n); /* the common case writes nothing */
	p = hf_arena_alloc(arena, cap);
	if (!p)
		return HF_NONE;
	w = hf_writer_on(p, cap);
	a.port = l->addr.port;
	if (!l->advertise.n) {
		hf_w_addr(&w, &a);
		return hf_writer_view(&w);
	}
	hf_w_bytes(&w, l->advertise);
	host_of(l->advertise, &port);
	if (!port) {
		hf_w_u8(&w, ':');
		hf_w_dec(&w, l->addr.port);
	}
	return hf_writer_view(&w);
}

struct sip_face sip_face_of(struct hf_arena *arena, const struct hf_listener_info *l, const struct hf_addr *local)
{
	return (struct sip_face){listener_text(arena, l, local), l->transport};
}

const struct hf_listener_info *sip_listener_of(const struct hf_ctx *ctx, uint32_t hash)
{
	for (unsigned i = 0; i < ctx->n_listeners; i++)
		if (ctx->listeners[i].hash == hash)
			return &ctx->listeners[i];
	return NULL;
}
