/* The keys of affinity. The memory of a dialog is always kept by its whole Call-ID, octet by octet (RFC 3261 8.1.1.4);
 * `key` says only by what the server of a new session is chosen. Pure; called by the step. */
#include "inside.h"

#include "holdfast/hash.h"

enum { TEXT_MAX = 128 }; /* octets of a key's text in the tables */

static struct hf_bytes text_of(struct hf_arena *arena, struct hf_bytes label, struct hf_bytes octets)
{
	size_t cap = label.n + 1 + octets.n;
	uint8_t *p;
	struct hf_writer w;

	if (cap > TEXT_MAX)
		cap = TEXT_MAX;
	p = hf_arena_alloc(arena, cap);
	if (!p)
		return HF_NONE;
	w = hf_writer_on(p, cap);
	hf_w_bytes(&w, label);
	hf_w_u8(&w, ':');
	hf_w_bytes(&w, hf_bytes_sub(octets, 0, cap - label.n - 1));
	return hf_writer_view(&w);
}

struct hf_key sip_key_of(const struct hf_ctx *ctx, struct hf_bytes label, struct hf_bytes octets, size_t cap)
{
	struct hf_bytes text = text_of(ctx->arena, label, octets);
	bool whole = text.n == label.n + 1 + octets.n && octets.n <= cap; /* the text is what the fingerprint is of, as a rule */

	return (struct hf_key){whole ? hf_fingerprint_text(ctx->site->hash_key, text) : hf_fingerprint(ctx->site->hash_key, label, octets, cap), text};
}

struct hf_key sip_call_key(const struct sip_step *s, struct hf_bytes call_id) { return sip_key_of(s->ctx, HF_LIT("call-id"), call_id, SIZE_MAX); }

struct hf_key sip_user_key(const struct sip_step *s)
{
	struct hf_bytes user = sip_chain_has(&s->conf->key, SIP_KEY_USER) ? sip_user_in(s->ctx, s->p->msg.to_addr) : HF_NONE;

	return user.n ? sip_key_of(s->ctx, HF_LIT("user"), user, s->conf->key_length) : (struct hf_key){0};
}

/* A bound user's next REGISTER goes by his bond, under whatever Call-ID; this one, sent again, does not, or a bond that moves meanwhile would split it
 * (RFC 3261 16.11). */
struct hf_key sip_register_key(const struct sip_step *s, uint32_t cseq)
{
	enum { NUMBER = 10 };
	const struct sip_msg *m = &s->p->msg;
	size_t cap = m->call_id.n + 1 + NUMBER;
	uint8_t *p = hf_arena_alloc(s->ctx->arena, cap);
	struct hf_writer w = hf_writer_on(p, cap);

	if (!p)
		return sip_call_key(s, m->call_id);
	hf_w_bytes(&w, m->call_id);
	hf_w_u8(&w, ' ');
	hf_w_dec(&w, cseq);
	return sip_key_of(s->ctx, HF_LIT("register"), hf_writer_view(&w), SIZE_MAX);
}

struct hf_key sip_registration_key(const struct sip_step *s)
{
	return sip_user_key(s).fp ? sip_register_key(s, s->p->msg.cseq) : sip_call_key(s, s->p->msg.call_id);
}

/* ---- what places a new session: n == 0 where the message has none, or there is no room ---- */

struct hf_bytes sip_addr_octets(const struct hf_ctx *ctx, const struct sip_key *k, const struct hf_addr *a, const struct hf_addr *b)
{
	enum { ROOM = 2 * 64 }; /* two IPv6 addresses with scope, port or prefix */
	static const struct hf_prefix whole = {32, 128};
	uint8_t *p = hf_arena_alloc(ctx->arena, ROOM);
	struct hf_writer w = hf_writer_on(p, ROOM);
	struct hf_addr one = *a, two = *b;

	if (!p)
		return HF_NONE;
	hf_addr_unmap(&one);
	hf_addr_unmap(&two);
	if (k->kind == SIP_KEY_SOURCE_PORT) {
		hf_w_addr(&w, &one);
	} else if (k->kind == SIP_KEY_SOURCE_DESTINATION) { /* the lower one first, whoever speaks */
		bool swap = hf_bytes_cmp(hf_addr_ip(&one), hf_addr_ip(&two)) > 0;

		hf_w_ip(&w, swap ? &two : &one, false);
		hf_w_u8(&w, '-');
		hf_w_ip(&w, swap ? &one : &two, false);
	} else {
		hf_w_net(&w, &one, k->kind == SIP_KEY_SOURCE ? k->prefix : whole);
	}
	return hf_writer_view(&w);
}

struct hf_bytes sip_user_in(const struct hf_ctx *ctx, struct hf_bytes address)
{
	const struct sip_conf *conf = ctx->conf;
	struct sip_uri u;

	(void)sip_uri_read(address, &u); /* of a form that we can't read there may be a user all the same */
	return u.user.n ? sip_user(&u, conf->tenant == SIP_TENANT_DOMAIN, ctx->arena) : HF_NONE;
}

/* The user whoever the domain. */
static struct hf_bytes bare_user(const struct sip_step *s, struct hf_bytes address)
{
	struct sip_uri u;

	(void)sip_uri_read(address, &u);
	return u.user.n ? sip_user(&u, false, s->ctx->arena) : HF_NONE;
}

/* The address of record that a request is about stands in To (RFC 3261 10.2, RFC 3903 4). */
static bool is_of_record(const struct sip_msg *m) { return m->method_id == SIP_REGISTER || m->method_id == SIP_PUBLISH; }

static struct hf_bytes domain(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	struct sip_uri u = m->uri;

	if (is_of_record(m))
		(void)sip_uri_read(m->to_addr, &u);
	return u.host.n ? sip_small_text(u.host, s->ctx->arena) : HF_NONE;
}

static struct hf_bytes header(const struct sip_step *s, const struct sip_key *k)
{
	const struct sip_msg *m = &s->p->msg;
	struct hf_bytes label = sip_key_label(k), wanted = hf_bytes_sub(label, sizeof "header:" - 1, label.n);
	uint32_t at = 0;
	struct sip_line line;

	while (sip_line_next(m, &at, &line))
		if (hf_bytes_ieq(sip_header_name(hf_bytes_of(m->raw.p + line.name.at, line.name.n)), wanted))
			return sip_unfold(line.text, s->ctx->arena);
	return HF_NONE;
}

static struct hf_bytes uri_param(const struct sip_step *s, const struct sip_key *k)
{
	struct hf_bytes label = sip_key_label(k);
	struct hf_bytes value = sip_param(s->p->msg.uri.params, hf_bytes_sub(label, sizeof "uri-param:" - 1, label.n));

	return value.n ? sip_small_text(value, s->ctx->arena) : HF_NONE;
}

/* Call-IDs of the dialogs that a request names (RFC 3891 3, RFC 3911 4, RFC 4538 3), the first two. */
static unsigned named(const struct sip_step *s, struct hf_bytes id[2])
{
	const struct sip_msg *m = &s->p->msg;
	const struct hf_bytes value[] = {m->replaces, m->join, m->target_dialog};
	unsigned n = 0;

	if (m->to_tag.p || s->p->has_cookie) /* a request in a dialog goes where its dialog is */
		return 0;
	if (!m->replaces.p && !m->join.p && !m->target_dialog.p && m->method_id != SIP_REFER) /* as a rule */
		return 0;
	for (unsigned i = 0; i < sizeof value / sizeof *value && n < 2; i++)
		if ((id[n] = sip_named(value[i])).n)
			n++;
	if (n < 2 && (id[n] = sip_referred(s)).n)
		n++;
	return n;
}

/* call_id: the one that places. */
static struct hf_bytes octets_of(const struct sip_step *s, const struct sip_key *k, struct hf_bytes call_id)
{
	const struct sip_msg *m = &s->p->msg;

	switch (k->kind) {
	case SIP_KEY_DOMAIN: return domain(s);
	case SIP_KEY_FROM_USER: return bare_user(s, m->from_addr);
	case SIP_KEY_TO_USER: return bare_user(s, m->to_addr);
	case SIP_KEY_REQUEST_URI: return sip_aor(&m->uri, s->ctx->arena);
	case SIP_KEY_HEADER: return header(s, k);
	case SIP_KEY_URI_PARAM: return uri_param(s, k);
	case SIP_KEY_SOURCE:
	case SIP_KEY_SOURCE_PORT:
	case SIP_KEY_SOURCE_DESTINATION: return sip_addr_octets(s->ctx, k, &s->ev->source, &s->ev->local);
	case SIP_KEY_DESTINATION: return sip_addr_octets(s->ctx, k, &s->ev->local, &s->ev->local);
	case SIP_KEY_TOKEN: return hf_bytes_sub(call_id, k->at, k->n);
	default: return call_id;
	}
}

static uint64_t place_of(const struct sip_step *s, struct hf_bytes label, struct hf_bytes octets)
{
	return octets.n ? hf_fingerprint(s->ctx->site->hash_key, label, octets, s->conf->key_length) : 0;
}

/* The octets place a new session. False: there are none. */
static bool set_place(const struct sip_step *s, struct hf_bytes label, struct hf_bytes octets, struct hf_ask *q)
{
	q->place = place_of(s, label, octets);
	q->place_kind = label;
	q->place_octets = octets;
	return q->place != 0;
}

/* One of two users, whoever has a bond: who is called, or who calls. False: there is neither. */
static bool by_user(const struct sip_step *s, const struct sip_key *k, struct hf_ask *q)
{
	const struct sip_msg *m = &s->p->msg;
	struct hf_bytes label = sip_key_label(k);

	if (is_of_record(m)) {
		q->renews = set_place(s, label, sip_user_in(s->ctx, m->to_addr), q) && m->method_id == SIP_REGISTER;
		return q->place != 0;
	}
	if (!set_place(s, label, sip_user_in(s->ctx, m->uri.text), q))
		return set_place(s, label, sip_user_in(s->ctx, m->from_addr), q);
	q->place_else = place_of(s, label, sip_user_in(s->ctx, m->from_addr));
	return true;
}

/* Should nothing be known of a dialog that is named, its Call-ID places, so that it is found where it was placed itself. */
void sip_place(const struct sip_step *s, struct hf_ask *q)
{
	const struct sip_keys *chain = &s->conf->key;
	struct hf_bytes id[2], call_id = s->p->msg.call_id;
	unsigned n = named(s, id);

	for (unsigned i = 0; i < n; i++)
		q->refs[i] = sip_call_key(s, id[i]);
	if (n)
		call_id = id[0];

	for (unsigned i = 0; i < chain->n; i++) {
		const struct sip_key *k = &chain->key[i];
		if (k->kind == SIP_KEY_CALL_ID && !n && call_id.n <= s->conf->key_length)
			return; /* the key of the session itself */
		if (k->kind == SIP_KEY_USER) {
			if (by_user(s, k, q))
				return;
			continue;
		}
		if (set_place(s, sip_key_label(k), octets_of(s, k, call_id), q)) {
			q->at_home = n && (k->kind == SIP_KEY_CALL_ID || k->kind == SIP_KEY_TOKEN);
			return;
		}
	}
	q->unplaced = true;
	q->spread = hf_sip13(s->ctx->site->hash_key, hf_addr_ip(&s->ev->source));
}
