/* A key from what it is made of; see key.h. Knows nothing of requests. */
#include "key.h"

#include "user.h"
#include "x224.h"

#define ADDR_TEXT 46u /* INET6_ADDRSTRLEN */
#define KIND_TEXT 8u
#define KEY_TEXT (KIND_TEXT + USER_MAX + 1 + ADDR_TEXT)

struct hf_key key_of(const struct hf_ctx *ctx, const char *kind, struct hf_bytes octets, size_t cap)
{
	struct hf_key k = {.fp = hf_fingerprint(ctx->site->hash_key, hf_bytes_str(kind), octets, cap)};
	size_t head = strlen(kind) + 1, n = head + octets.n;
	uint8_t *p = hf_arena_alloc(ctx->arena, n);

	if (!p)
		return k;
	hf_copy(p, (const uint8_t *)kind, head - 1);
	p[head - 1] = ':';
	hf_copy(p + head, octets.p, octets.n);
	k.text = hf_bytes_of(p, n);
	return k;
}

#define WHOLE ((struct hf_prefix){32, 128})

struct hf_key key_with_source(const struct hf_ctx *ctx, const char *kind, struct hf_bytes octets, const struct hf_addr *source)
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

struct hf_key key_of_addr(const struct hf_ctx *ctx, enum rdp_evidence e, const struct hf_addr *addr)
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

struct hf_key key_of_source(const struct hf_ctx *ctx, const char *kind, const struct hf_addr *source, unsigned nth)
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

struct hf_key key_of_id(const struct hf_ctx *ctx, struct hf_bytes id)
{
	uint8_t text[2 * X224_ID];
	struct hf_writer w = hf_writer_on(text, sizeof text);

	hf_w_hex(&w, id);
	return id.n ? key_of(ctx, "correlation", hf_writer_view(&w), SIZE_MAX) : (struct hf_key){0};
}

struct hf_key key_of_name(const struct hf_ctx *ctx, struct hf_bytes name)
{
	const struct rdp_conf *conf = ctx->conf;

	return key_of(ctx, "user", name, conf->user_match == RDP_MATCH_NINE ? USER_NINE : SIZE_MAX);
}
