/* From the lines of a request to keys; see keys.h. Knows nothing of flows and answers.
 *
 * Kinds: `user` a name; `weak` a name that was cut, or is many people's, a blank, the source address; `short` what may be the whole of it; `source` an address or its
 * network, and `#2` and on behind its further bonds; `users-at`, `unclaimed` likewise, without number; `token` a token, a blank, the source address
 * (a token is only worth something where it was issued to); `leg` an address; `correlation` 32 hex digits; `source-port` address and port;
 * `destination` an address of ours. */
#include "keys.h"

#include "holdfast/nearest.h"

#include "reasons.h"
#include "signed.h"
#include "user.h"

#define ADDR_TEXT 46u /* INET6_ADDRSTRLEN */
#define KIND_TEXT 8u
#define KEY_TEXT (KIND_TEXT + USER_MAX + 1 + ADDR_TEXT)

/* A key from octets; `cap` of them decide. The fingerprint never needs memory, so a full arena costs the text alone. */
static struct hf_key key_of(const struct hf_ctx *ctx, const char *kind, struct hf_bytes octets, size_t cap)
{
	struct hf_key k = {.fp = hf_fingerprint(ctx->site->hash_key, hf_bytes_str(kind), octets, cap)};
	size_t n = strlen(kind) + 1 + octets.n;
	uint8_t *p = hf_arena_alloc(ctx->arena, n);

	if (p) {
		struct hf_writer w = hf_writer_on(p, n);

		hf_w_str(&w, kind);
		hf_w_u8(&w, ':');
		hf_w_bytes(&w, octets);
		k.text = hf_writer_view(&w);
	}
	return k;
}

#define WHOLE ((struct hf_prefix){32, 128})

/* `octets`, a blank and the source; or the source alone. */
static struct hf_key key_with_source(const struct hf_ctx *ctx, const char *kind, struct hf_bytes octets, const struct hf_addr *source)
{
	uint8_t text[KEY_TEXT];
	struct hf_writer w = hf_writer_on(text, sizeof text);

	hf_w_bytes(&w, octets);
	if (octets.n)
		hf_w_u8(&w, ' ');
	hf_w_net(&w, source, WHOLE);
	HF_BUG_ON(w.full); /* a request's variable part and an address always fit */
	return key_of(ctx, kind, hf_writer_view(&w), SIZE_MAX);
}

/* A key of one address, or with its port. */
static struct hf_key key_of_addr(const struct hf_ctx *ctx, enum rdp_evidence e, const struct hf_addr *addr)
{
	uint8_t text[ADDR_TEXT + sizeof "[]:65535"];
	struct hf_writer w = hf_writer_on(text, sizeof text);
	struct hf_addr a = *addr;

	hf_addr_unmap(&a);
	if (e == RDP_BY_SOURCE_PORT)
		hf_w_addr(&w, &a);
	else
		hf_w_net(&w, &a, WHOLE);
	HF_BUG_ON(w.full);
	return key_of(ctx, (const char *)rdp_evidence_name(e).p, hf_writer_view(&w), SIZE_MAX);
}

/* A key of a source as the chain sees it; nth > 0: one of several. */
static struct hf_key key_of_source(const struct hf_ctx *ctx, const char *kind, const struct hf_addr *source, unsigned nth)
{
	const struct rdp_conf *conf = ctx->conf;
	uint8_t text[ADDR_TEXT + sizeof "/128#8"];
	struct hf_writer w = hf_writer_on(text, sizeof text);
	struct hf_addr a = *source;

	hf_addr_unmap(&a);
	hf_w_net(&w, &a, conf->key.source);
	if (nth)
		hf_w_printf(&w, "#%u", nth + 1);
	HF_BUG_ON(w.full);
	return key_of(ctx, kind, hf_writer_view(&w), SIZE_MAX);
}

static struct hf_key key_of_id(const struct hf_ctx *ctx, struct hf_bytes id)
{
	uint8_t text[2 * X224_ID];
	struct hf_writer w = hf_writer_on(text, sizeof text);

	hf_w_hex(&w, id);
	return id.n ? key_of(ctx, "correlation", hf_writer_view(&w), SIZE_MAX) : (struct hf_key){0};
}

static struct hf_bytes compared(const struct rdp_conf *conf, struct hf_bytes name)
{
	return conf->user_match == RDP_MATCH_NINE ? hf_bytes_sub(name, 0, USER_NINE) : name;
}

static struct hf_key name_key(const struct hf_ctx *ctx, struct hf_bytes name)
{
	const struct rdp_conf *conf = ctx->conf;

	return key_of(ctx, "user", name, conf->user_match == RDP_MATCH_NINE ? USER_NINE : SIZE_MAX);
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
	k->perhaps = name_key(ctx, name).fp;
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
	struct hf_key here = key_with_source(ctx, "weak", compared(ctx->conf, name), source);

	if (shared) {
		k->main = here;
		return;
	}
	k->main = name_key(ctx, name);
	k->apart = name.n == USER_NINE ? here.fp : 0;
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
		k->main = name_key(ctx, t.user);
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
	if (!k->by_token && !k->leg.fp && rdp_chain_has(&conf->key, RDP_BY_TOKEN))
		k->leg = rdp_leg_key(ctx, ev);
}

/* ---- what an operator means ---- */

/* Kinds that no word of `key` names. */
static const char *const other_kinds[] = {"weak", "users-at", "unclaimed"};
#define OTHERS (sizeof other_kinds / sizeof other_kinds[0])

/* The kind before the first colon, if it is one; taken off *text. */
static struct hf_bytes kind_of(struct hf_bytes *text)
{
	size_t n = hf_bytes_find(*text, ':');
	struct hf_bytes word = hf_bytes_sub(*text, 0, n), found = HF_NONE;

	if (n == text->n)
		return HF_NONE;
	for (unsigned i = 0; i < OTHERS; i++)
		if (hf_bytes_ieq(word, hf_bytes_str(other_kinds[i])))
			found = hf_bytes_str(other_kinds[i]);
	for (unsigned e = 0; e < RDP_EVIDENCES; e++)
		if (hf_bytes_ieq(word, rdp_evidence_name((enum rdp_evidence)e)))
			found = rdp_evidence_name((enum rdp_evidence)e);
	if (found.n)
		*text = hf_bytes_sub(*text, n + 1, text->n);
	return found;
}

/* The kind that was likely meant by what stands before the first colon; empty: by none. */
static struct hf_bytes meant(struct hf_bytes text)
{
	struct hf_bytes word = hf_bytes_sub(text, 0, hf_bytes_find(text, ':'));
	struct hf_nearest near = {.wanted = word};

	if (word.n == text.n)
		return HF_NONE;
	for (unsigned e = 0; e < RDP_EVIDENCES; e++)
		hf_nearest_add(&near, rdp_evidence_name((enum rdp_evidence)e));
	for (unsigned i = 0; i < OTHERS; i++)
		hf_nearest_add(&near, hf_bytes_str(other_kinds[i]));
	return hf_slip(word, near.names[0]) ? near.names[0] : HF_NONE;
}

/* Without a kind it is what the service tells its users by, else its first address or id: a token is never typed bare. */
static struct hf_bytes first_kind(const struct rdp_chain *c)
{
	unsigned i = 0;

	if (rdp_chain_has(c, RDP_BY_USER))
		return rdp_evidence_name(RDP_BY_USER);
	while (i < c->n && c->kind[i] == RDP_BY_TOKEN)
		i++;
	return rdp_evidence_name(i < c->n ? (enum rdp_evidence)c->kind[i] : RDP_BY_SOURCE);
}

static enum hf_err read_user(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	uint8_t buf[USER_MAX];
	struct hf_bytes name = user_canonical(text, buf);

	if (text.n > USER_MAX || name.n == 0)
		return HF_EINVAL;
	*out = name_key(ctx, name);
	return HF_OK;
}

static enum hf_err read_addr(const struct hf_ctx *ctx, enum rdp_evidence e, struct hf_bytes text, struct hf_key *out)
{
	struct hf_addr a;

	if (hf_addr_read(text, 0, &a) != HF_OK || (a.port != 0) != (e == RDP_BY_SOURCE_PORT))
		return HF_EINVAL;
	*out = key_of_addr(ctx, e, &a);
	return HF_OK;
}

/* An address or, as tables show it, its network; behind a bond of several its number. */
static enum hf_err read_source(const struct hf_ctx *ctx, struct hf_bytes kind, struct hf_bytes text, struct hf_key *out)
{
	size_t hash = hf_bytes_find(text, '#'), slash = hf_bytes_find(hf_bytes_sub(text, 0, hash), '/');
	struct hf_bytes number = hf_bytes_sub(text, hash + 1, text.n), bits = hf_bytes_sub(text, slash + 1, hash);
	uint64_t nth = 1, v;
	struct hf_addr a;

	if (hash < text.n && (hf_read_uint(number, RDP_BONDS, &nth) != HF_OK || nth < 2 || !hf_bytes_eq(kind, rdp_evidence_name(RDP_BY_SOURCE))))
		return HF_EINVAL;
	if (slash < hash && hf_read_uint(bits, 128, &v) != HF_OK)
		return HF_EINVAL;
	if (hf_addr_read(hf_bytes_sub(text, 0, slash), 0, &a) != HF_OK || a.port)
		return HF_EINVAL;
	*out = key_of_source(ctx, (const char *)kind.p, &a, (unsigned)nth - 1);
	return HF_OK;
}

static enum hf_err read_id(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	uint8_t id[X224_ID];

	if (hf_read_hex(text, id, sizeof id) != HF_OK)
		return HF_EINVAL;
	*out = key_of_id(ctx, hf_bytes_of(id, sizeof id));
	return HF_OK;
}

/* The last word is the source that the rest is joined with. */
static enum hf_err read_joined(const struct hf_ctx *ctx, bool weak, struct hf_bytes text, struct hf_key *out)
{
	uint8_t buf[USER_MAX];
	struct hf_addr a;
	size_t n = text.n;

	while (n && text.p[n - 1] != ' ')
		n--;
	if (n < 2 || n - 1 > USER_MAX || hf_addr_read_ip(hf_bytes_sub(text, n, text.n), &a) != HF_OK)
		return HF_EINVAL;
	text = hf_bytes_sub(text, 0, n - 1);
	if (weak) {
		for (size_t i = 0; i < text.n; i++)
			buf[i] = hf_lower(text.p[i]);
		text = hf_bytes_of(buf, text.n);
	}
	*out = key_with_source(ctx, weak ? "weak" : "token", text, &a);
	return HF_OK;
}

static bool is_kind(struct hf_bytes kind, enum rdp_evidence e) { return hf_bytes_eq(kind, rdp_evidence_name(e)); }

enum hf_err rdp_key_read(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	const struct rdp_conf *conf = ctx->conf;
	struct hf_bytes kind = kind_of(&text);

	if (kind.n == 0 && (out->text = meant(text)).n)
		return HF_ENOENT;
	if (kind.n == 0)
		kind = first_kind(&conf->key);
	if (is_kind(kind, RDP_BY_SOURCE) || hf_bytes_eq(kind, HF_LIT("users-at")) || hf_bytes_eq(kind, HF_LIT("unclaimed")))
		return read_source(ctx, kind, text, out);
	if (is_kind(kind, RDP_BY_SOURCE_PORT))
		return read_addr(ctx, RDP_BY_SOURCE_PORT, text, out);
	if (is_kind(kind, RDP_BY_DESTINATION))
		return read_addr(ctx, RDP_BY_DESTINATION, text, out);
	if (is_kind(kind, RDP_BY_USER))
		return read_user(ctx, text, out);
	if (is_kind(kind, RDP_BY_CORRELATION))
		return read_id(ctx, text, out);
	return read_joined(ctx, hf_bytes_eq(kind, HF_LIT("weak")), text, out);
}
