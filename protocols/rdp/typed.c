/* The keys that an operator types: [KIND:]KEY in the forms that tables and logs show; see keys.h. Knows nothing of requests. */
#include "keys.h"

#include "holdfast/nearest.h"
#include "key.h"
#include "user.h"

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
	*out = key_of_name(ctx, name);
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
