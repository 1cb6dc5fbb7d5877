/* Writes and reads tokens of our own; see signed.h. */
#include "signed.h"

#include "holdfast/hash.h"
#include "user.h"

enum { AT_ID = 0, AT_UNTIL = 1, AT_SERVER = 5, AT_USER = 9, TAG = 8 };

_Static_assert(sizeof SIGNED_HEAD - 1 + ((AT_USER + SIGNED_USER + TAG) * 4 + 2) / 3 + 2 <= SIGNED_MAX, "the longest user fits");

/* Told apart by an octet of their own, as long as two of them are in force. */
static uint8_t id_of(const uint8_t key[16]) { return (uint8_t)(hf_sip24(key, HF_LIT("rdp-token-id")) >> 56); }

static uint64_t tag_of(const struct hf_ctx *ctx, const uint8_t key[16], struct hf_bytes raw)
{
	struct hf_sip s;

	hf_sip_init(&s, key, 2, 4);
	hf_sip_add(&s, HF_LIT("rdp-token:"));
	hf_sip_add(&s, ctx->pool);
	hf_sip_add(&s, hf_bytes_of("", 1));
	hf_sip_add(&s, raw);
	return hf_sip_end(&s);
}

static bool holds(const struct hf_ctx *ctx, struct hf_bytes raw, const uint8_t *tag)
{
	for (unsigned i = 0; i < ctx->site->n_sign; i++) {
		const uint8_t *key = ctx->site->sign[i];
		uint8_t want[TAG];

		hf_put64(want, tag_of(ctx, key, raw));
		if (id_of(key) == raw.p[AT_ID] && hf_bytes_same_secret(hf_bytes_of(want, TAG), hf_bytes_of(tag, TAG)))
			return true;
	}
	return false;
}

enum signed_kind signed_read(const struct hf_ctx *ctx, struct hf_bytes line, struct signed_token *t)
{
	struct hf_bytes text = hf_bytes_sub(line, sizeof SIGNED_HEAD - 1, line.n);
	size_t n;

	while (text.n && text.p[text.n - 1] == ' ') /* a client's control pads to an even length */
		text.n--;
	n = hf_b64url_read(text, t->raw, sizeof t->raw);
	if (n < AT_USER + TAG || !holds(ctx, hf_bytes_of(t->raw, n - TAG), t->raw + n - TAG))
		return SIGNED_FORGED;
	t->server = hf_get32(t->raw + AT_SERVER);
	t->user = hf_bytes_of(t->raw + AT_USER, n - TAG - AT_USER);
	return hf_get32(t->raw + AT_UNTIL) > ctx->unix_ms / 1000 ? SIGNED_HOLDS : SIGNED_EXPIRED;
}

enum hf_err signed_write(const struct hf_ctx *ctx, const struct hf_token *t, struct hf_writer *w)
{
	uint8_t raw[AT_USER + SIGNED_USER + TAG], name[USER_MAX];
	struct hf_writer r = hf_writer_on(raw, sizeof raw);
	struct hf_bytes user = HF_NONE;

	if (t->user.n > USER_MAX || t->until_s > UINT32_MAX)
		return HF_ERANGE;
	if (t->user.n)
		user = user_canonical(t->user, name);
	if ((t->user.n && !user.n) || (!user.n && !t->server))
		return HF_EINVAL;
	if (user.n > SIGNED_USER)
		return HF_ERANGE;
	hf_w_u8(&r, id_of(ctx->site->sign[0]));
	hf_w_u32(&r, (uint32_t)t->until_s);
	hf_w_u32(&r, t->server);
	hf_w_bytes(&r, user);
	hf_w_u64(&r, tag_of(ctx, ctx->site->sign[0], hf_writer_view(&r)));
	hf_w_str(w, "loadbalanceinfo:s:" SIGNED_HEAD);
	hf_w_b64url(w, hf_writer_view(&r));
	return w->full ? HF_ERANGE : HF_OK;
}
