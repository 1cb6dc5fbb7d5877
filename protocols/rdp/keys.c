/* From the lines of a request to keys; see keys.h. Knows nothing of flows and answers.
 *
 * Kinds: `user` a name; `weak` a name that was cut, a blank, the source address; `source` an address; `token` a token, a blank,
 * the source address (a token is only worth something where it was issued to); `leg` an address. */
#include "keys.h"

#include "reasons.h"
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

static void w_source(struct hf_writer *w, const struct hf_addr *source)
{
	struct hf_addr a = *source;

	hf_addr_unmap(&a);
	hf_w_ip(w, &a, false);
}

/* `octets`, a blank and the source; or the source alone. */
static struct hf_key key_with_source(const struct hf_ctx *ctx, const char *kind, struct hf_bytes octets, const struct hf_addr *source)
{
	uint8_t text[KEY_TEXT];
	struct hf_writer w = hf_writer_on(text, sizeof text);

	hf_w_bytes(&w, octets);
	if (octets.n)
		hf_w_u8(&w, ' ');
	w_source(&w, source);
	HF_BUG_ON(w.full); /* a request's variable part and an address always fit */
	return key_of(ctx, kind, hf_writer_view(&w), SIZE_MAX);
}

static struct hf_key name_key(const struct hf_ctx *ctx, struct hf_bytes name)
{
	const struct rdp_conf *conf = ctx->conf;

	return key_of(ctx, "user", name, conf->user_match == RDP_MATCH_NINE ? USER_NINE : SIZE_MAX);
}

static void by_user(const struct hf_ctx *ctx, const struct x224_request *r, const struct hf_addr *source, struct rdp_keys *k)
{
	const struct rdp_conf *conf = ctx->conf;
	struct user u;

	user_read(r->cookie, conf->own_domains, &u);
	if (u.kind == USER_NAME)
		k->main = name_key(ctx, u.name);
	else if (u.kind == USER_WEAK)
		k->main = key_with_source(ctx, "weak", u.name, source);
	k->by_user = k->main.fp != 0;
	if (u.kind == USER_CONTROL || u.kind == USER_WEAK)
		k->facts[0] = u.kind == USER_WEAK ? RDP_R_KEY_WEAK : RDP_R_KEY_CONTROL;
}

/* An address token names a member or nobody; a number is a handle that a host gave for the second leg of this source. */
static void by_token(const struct hf_ctx *ctx, const struct x224_request *r, const struct hf_addr *source, struct rdp_keys *k)
{
	enum token_kind kind = token_read(r->token, &k->hint);

	k->by_token = true;
	if (r->has_cookie)
		k->facts[0] = RDP_R_TOKEN_AND_COOKIE;
	if (kind == TOKEN_TEXT)
		k->facts[1] = RDP_R_TOKEN_SYNTAX;
	if (kind == TOKEN_ADDRESS || kind == TOKEN_NUMBER)
		k->token = key_with_source(ctx, "token", r->token, source);
	if (kind == TOKEN_NUMBER)
		k->leg = key_with_source(ctx, "leg", HF_NONE, source);
}

void rdp_keys_of(const struct hf_ctx *ctx, const struct x224_request *r, const struct hf_addr *source, struct rdp_keys *k)
{
	const struct rdp_conf *conf = ctx->conf;

	memset(k, 0, sizeof *k);
	if (rdp_chain_has(&conf->key, RDP_BY_SOURCE))
		k->source = key_with_source(ctx, "source", HF_NONE, source);
	for (unsigned i = 0; i < conf->key.n && !k->main.fp; i++)
		switch (conf->key.kind[i]) {
		case RDP_BY_TOKEN:
			if (r->has_token)
				by_token(ctx, r, source, k);
			break;
		case RDP_BY_USER: /* a token replaces the cookie: what stands beside one is not believed */
			if (r->has_cookie && !k->by_token)
				by_user(ctx, r, source, k);
			break;
		case RDP_BY_SOURCE:
			k->main = k->source;
			break;
		}
	if (!k->by_token && !k->leg.fp && rdp_chain_has(&conf->key, RDP_BY_TOKEN))
		k->leg = key_with_source(ctx, "leg", HF_NONE, source);
}

/* ---- what an operator means ---- */

/* The kind before the first colon, if it is one; taken off *text. */
static struct hf_bytes kind_of(struct hf_bytes *text)
{
	static const char *const kinds[] = {"user", "weak", "source", "token"};
	size_t n = hf_bytes_find(*text, ':');

	for (unsigned i = 0; n < text->n && i < sizeof kinds / sizeof kinds[0]; i++)
		if (hf_bytes_ieq(hf_bytes_sub(*text, 0, n), hf_bytes_str(kinds[i]))) {
			*text = hf_bytes_sub(*text, n + 1, text->n);
			return hf_bytes_str(kinds[i]);
		}
	return HF_NONE;
}

/* Without a kind it is what the service tells its users by: a token is never typed bare. */
static struct hf_bytes first_kind(const struct rdp_chain *c)
{
	return rdp_chain_has(c, RDP_BY_USER) ? HF_LIT("user") : HF_LIT("source");
}

static enum hf_err read_source(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	struct hf_addr a;

	if (hf_addr_read_ip(text, &a) != HF_OK)
		return HF_EINVAL;
	*out = key_with_source(ctx, "source", HF_NONE, &a);
	return HF_OK;
}

/* The last word is the source that the rest is joined with. */
static enum hf_err read_joined(const struct hf_ctx *ctx, const char *kind, struct hf_bytes text, struct hf_key *out)
{
	uint8_t buf[USER_MAX];
	struct hf_addr a;
	size_t n = text.n;

	while (n && text.p[n - 1] != ' ')
		n--;
	if (n < 2 || n - 1 > USER_MAX || hf_addr_read_ip(hf_bytes_sub(text, n, text.n), &a) != HF_OK)
		return HF_EINVAL;
	text = hf_bytes_sub(text, 0, n - 1);
	if (strcmp(kind, "weak") == 0) {
		for (size_t i = 0; i < text.n; i++)
			buf[i] = hf_lower(text.p[i]);
		text = hf_bytes_of(buf, text.n);
	}
	*out = key_with_source(ctx, kind, text, &a);
	return HF_OK;
}

enum hf_err rdp_key_read(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	const struct rdp_conf *conf = ctx->conf;
	struct hf_bytes kind = kind_of(&text);
	uint8_t buf[USER_MAX];
	struct hf_bytes name;

	if (kind.n == 0)
		kind = first_kind(&conf->key);
	if (hf_bytes_eq(kind, HF_LIT("source")))
		return read_source(ctx, text, out);
	if (!hf_bytes_eq(kind, HF_LIT("user")))
		return read_joined(ctx, hf_bytes_eq(kind, HF_LIT("weak")) ? "weak" : "token", text, out);
	name = user_canonical(text, buf);
	if (text.n > USER_MAX || name.n == 0)
		return HF_EINVAL;
	*out = name_key(ctx, name);
	return HF_OK;
}
