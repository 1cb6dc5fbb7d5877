/* From the lines of a request to keys; see keys.h; how one looks is key.c's. Knows nothing of flows and answers. */
#include "keys.h"

#include "key.h"
#include "reasons.h"
#include "signed.h"
#include "user.h"

static struct hf_bytes compared(const struct rdp_conf *conf, struct hf_bytes name)
{
	return conf->user_match == RDP_MATCH_NINE ? hf_bytes_sub(name, 0, USER_NINE) : name;
}

/* A name that a domain and a backslash make nine octets long is weak, though nothing of it is missing. So a weak one without a bond goes where the
 * bond of the name in it is, and such a name without one where a weak one of it went. Each stays a bond of its own: a weak one may be the beginning
 * of a longer name, and its like from other sources are not brought together by it. */
static void of_weak(const struct hf_ctx *ctx, struct hf_bytes weak, struct rdp_keys *k)
{
	uint8_t buf[USER_MAX];
	struct hf_bytes name = user_perhaps(weak, buf);

	if (!user_fits_weak(name))
		return;
	k->perhaps = key_of_name(ctx, name).fp;
	k->other = key_of(ctx, "short", name, SIZE_MAX);
}

/* The other way round; and what a domain of ours leaves of a name is, from this source, most likely the same person. */
static void of_name(const struct hf_ctx *ctx, struct hf_bytes name, const struct hf_addr *source, struct rdp_keys *k)
{
	const struct rdp_conf *conf = ctx->conf;
	uint8_t buf[USER_MAX];
	bool whole = true;
	struct hf_bytes weak = user_as_weak(name, conf->own_domains, buf, &whole);

	if (weak.n)
		k->other = key_with_source(ctx, "weak", weak, source);
	k->perhaps = whole && user_fits_weak(name) ? key_of(ctx, "short", name, SIZE_MAX).fp : k->other.fp;
}

/* A name is a person's. One of nine octets may be what clients that cut have left of several people's: then it is one by the source, and nothing
 * leads such a one to where the others are. */
static void by_name(const struct hf_ctx *ctx, struct hf_bytes name, const struct hf_addr *source, bool shared, struct rdp_keys *k)
{
	if (shared) {
		k->main = key_with_source(ctx, "weak", compared(ctx->conf, name), source);
		return;
	}
	k->main = key_of_name(ctx, name);
	if (name.n == USER_NINE)
		k->apart = key_with_source(ctx, "weak", name, source).fp;
	of_name(ctx, name, source, k);
}

static void by_user(const struct hf_ctx *ctx, const struct x224_request *r, const struct hf_addr *source, bool shared, struct rdp_keys *k)
{
	const struct rdp_conf *conf = ctx->conf;
	struct user u;

	user_read(r->cookie, conf->own_domains, &u);
	if (u.kind == USER_NAME) {
		by_name(ctx, u.name, source, shared, k);
	} else if (u.kind == USER_WEAK) {
		k->main = key_with_source(ctx, "weak", u.name, source);
		of_weak(ctx, u.name, k);
	}
	k->by_user = k->main.fp != 0;
	if (u.kind == USER_CONTROL || u.kind == USER_WEAK)
		k->facts[0] = u.kind == USER_WEAK ? RDP_R_KEY_WEAK : RDP_R_KEY_CONTROL;
}

/* Ours names the user, the host or both; where it names a user, that is whose session it is remembered as. */
static void by_signed(const struct hf_ctx *ctx, const struct x224_request *r, const struct hf_addr *source, struct rdp_keys *k)
{
	static const unsigned faults[] = {[SIGNED_FORGED] = RDP_R_TOKEN_FORGED, [SIGNED_EXPIRED] = RDP_R_TOKEN_EXPIRED};
	struct signed_token t;
	enum signed_kind kind = signed_read(ctx, r->token, &t);

	if (kind != SIGNED_HOLDS) {
		k->facts[1] = faults[kind];
		return;
	}
	k->is_signed = true;
	k->by_token = t.server != 0;
	k->hint_server = t.server;
	if (t.user.n) {
		k->main = key_of_name(ctx, t.user);
		k->by_user = true;
	}
	if (t.server)
		k->token = t.user.n ? k->main : key_with_source(ctx, "token", r->token, source);
}

/* An address token names a member or nobody; a number is a handle that a host gave for the second leg of this source. */
static void by_token(const struct hf_ctx *ctx, const struct x224_request *r, const struct hf_addr *source, struct rdp_keys *k)
{
	enum token_kind kind = token_read(r->token, &k->hint);

	if (kind == TOKEN_SIGNED) {
		by_signed(ctx, r, source, k);
		return;
	}
	k->by_many = kind == TOKEN_COLLECTION;
	k->by_token = !k->by_many;
	if (r->has_cookie)
		k->facts[0] = RDP_R_TOKEN_AND_COOKIE;
	if (kind == TOKEN_TEXT)
		k->facts[1] = RDP_R_TOKEN_SYNTAX;
	if (kind == TOKEN_ADDRESS || kind == TOKEN_NUMBER)
		k->token = key_with_source(ctx, "token", r->token, source);
	if (kind == TOKEN_NUMBER)
		k->leg = key_with_source(ctx, "leg", HF_NONE, source);
}

/* What the chain says of one kind of evidence. An id is looked up and leads where its connection was; it is the key itself only when there
 * is no other, for it never comes again. */
static void by_evidence(const struct hf_ctx *ctx, enum rdp_evidence e, const struct x224_request *r, const struct hf_event *ev, unsigned nth,
			struct rdp_keys *k)
{
	switch (e) {
	case RDP_BY_TOKEN:
		if (r->has_token)
			by_token(ctx, r, &ev->source, k);
		break;
	case RDP_BY_USER: /* a token replaces the cookie: what stands beside one is not believed */
		if (r->has_cookie && !k->by_token && !k->by_many)
			by_user(ctx, r, &ev->source, nth > 0, k);
		break;
	case RDP_BY_CORRELATION:
		k->by_id = k->correlation.fp != 0;
		break;
	case RDP_BY_SOURCE:
		k->by_source = true;
		k->main = nth < RDP_BONDS ? key_of_source(ctx, "source", &ev->source, nth) : key_of_addr(ctx, RDP_BY_SOURCE_PORT, &ev->source);
		break;
	case RDP_BY_SOURCE_PORT:
	case RDP_BY_DESTINATION:
		k->main = key_of_addr(ctx, e, e == RDP_BY_DESTINATION ? &ev->local : &ev->source);
		break;
	case RDP_EVIDENCES:
		break;
	}
}

static struct hf_key beside(const struct hf_ctx *ctx, const char *kind, const struct hf_event *ev)
{
	const struct rdp_conf *conf = ctx->conf;

	return rdp_chain_has(&conf->key, RDP_BY_SOURCE) ? key_of_source(ctx, kind, &ev->source, 0) : (struct hf_key){0};
}

struct hf_key rdp_users_key(const struct hf_ctx *ctx, const struct hf_event *ev) { return beside(ctx, "users-at", ev); }

struct hf_key rdp_leg_key(const struct hf_ctx *ctx, const struct hf_event *ev) { return key_with_source(ctx, "leg", HF_NONE, &ev->source); }

void rdp_keys_of(const struct hf_ctx *ctx, const struct x224_request *r, const struct hf_event *ev, unsigned nth, struct rdp_keys *k)
{
	const struct rdp_conf *conf = ctx->conf;

	memset(k, 0, sizeof *k);
	if (rdp_chain_has(&conf->key, RDP_BY_CORRELATION))
		k->correlation = key_of_id(ctx, r->correlation);
	for (unsigned i = 0; i < conf->key.n && !k->main.fp; i++)
		by_evidence(ctx, (enum rdp_evidence)conf->key.kind[i], r, ev, nth, k);
	if (!k->main.fp)
		k->main = k->correlation;
	if (k->by_source && !nth)
		k->users = rdp_users_key(ctx, ev);
	if (k->by_user || k->by_source)
		k->unclaimed = beside(ctx, "unclaimed", ev);
	k->by_id &= k->main.fp != k->correlation.fp;
	k->first_leg = !k->by_token && rdp_chain_has(&conf->key, RDP_BY_TOKEN);
}
