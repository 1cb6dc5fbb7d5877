/* The key that an operator means by [KIND:]KEY, in the form that messages give it. Called by `where` and its like. */
#include "holdfast/nearest.h"
#include "inside.h"

/* A user as typed: "alice", "alice@example.com" or a whole URI. */
static struct hf_bytes user(const struct hf_ctx *ctx, struct hf_bytes text, bool with_host)
{
	bool is_uri = hf_bytes_istarts(text, HF_LIT("sip:")) || hf_bytes_istarts(text, HF_LIT("sips:")) || hf_bytes_istarts(text, HF_LIT("tel:"));
	struct hf_bytes whole = text;
	struct sip_uri u;

	if (!is_uri && hf_bytes_find(text, '@') == text.n)
		return with_host ? HF_NONE : text;
	if (!is_uri) {
		struct hf_writer w = hf_writer_on(hf_arena_alloc(ctx->arena, text.n + 4), text.n + 4);

		if (!w.p)
			return HF_NONE;
		hf_w_str(&w, "sip:");
		hf_w_bytes(&w, text);
		whole = hf_writer_view(&w);
	}
	return sip_uri_read(whole, &u) ? sip_user(&u, with_host, ctx->arena) : HF_NONE;
}

static struct hf_bytes request_uri(const struct hf_ctx *ctx, struct hf_bytes text)
{
	struct hf_writer w = hf_writer_on(hf_arena_alloc(ctx->arena, text.n + 4), text.n + 4);
	struct sip_uri u;

	if (sip_uri_read(text, &u))
		return sip_aor(&u, ctx->arena);
	if (!w.p)
		return HF_NONE;
	hf_w_str(&w, "sip:");
	hf_w_bytes(&w, text);
	return sip_uri_read(hf_writer_view(&w), &u) ? sip_aor(&u, ctx->arena) : HF_NONE;
}

/* "192.0.2.1", with a port, or two of them with '-' between. A network is written as `where` shows it: "192.0.2.0/24". */
static struct hf_bytes addresses(const struct hf_ctx *ctx, const struct sip_key *k, struct hf_bytes text)
{
	struct hf_addr a, b;
	size_t slash = k->kind == SIP_KEY_SOURCE ? hf_bytes_find(text, '/') : text.n;
	size_t mid = k->kind == SIP_KEY_SOURCE_DESTINATION ? hf_bytes_find(text, '-') : slash;
	enum hf_err e = hf_addr_read(hf_bytes_sub(text, 0, mid), 0, &a);
	uint64_t bits;

	b = a;
	if (e == HF_OK && slash < text.n)
		return hf_read_uint(hf_bytes_sub(text, slash + 1, text.n), 128, &bits) == HF_OK && !a.port ? sip_addr_octets(ctx, k, &a, &a) : HF_NONE;
	if (e == HF_OK && mid < text.n)
		e = hf_addr_read_ip(hf_bytes_sub(text, mid + 1, text.n), &b);
	if (e != HF_OK || (k->kind == SIP_KEY_SOURCE_DESTINATION && mid == text.n) || (k->kind == SIP_KEY_SOURCE_PORT) != (a.port != 0))
		return HF_NONE;
	return sip_addr_octets(ctx, k, &a, &b);
}

static struct hf_bytes canonical(const struct hf_ctx *ctx, const struct sip_key *k, struct hf_bytes text)
{
	const struct sip_conf *conf = ctx->conf;

	switch (k->kind) {
	case SIP_KEY_USER: return user(ctx, text, conf->tenant == SIP_TENANT_DOMAIN);
	case SIP_KEY_FROM_USER:
	case SIP_KEY_TO_USER: return user(ctx, text, false);
	case SIP_KEY_REQUEST_URI: return request_uri(ctx, text);
	case SIP_KEY_DOMAIN:
	case SIP_KEY_URI_PARAM: return sip_small_text(text, ctx->arena);
	case SIP_KEY_SOURCE:
	case SIP_KEY_SOURCE_PORT:
	case SIP_KEY_DESTINATION:
	case SIP_KEY_SOURCE_DESTINATION: return addresses(ctx, k, text);
	default: return text;
	}
}

/* The key of the chain whose label stands before the value; taken off *text. */
static const struct sip_key *typed_kind(const struct sip_keys *chain, struct hf_bytes *text)
{
	for (unsigned i = 0; i < chain->n; i++) {
		struct hf_bytes label = sip_key_label(&chain->key[i]);

		if (label.n < text->n && text->p[label.n] == ':' && hf_bytes_istarts(*text, label)) {
			*text = hf_bytes_sub(*text, label.n + 1, text->n);
			return &chain->key[i];
		}
	}
	return NULL;
}

static struct hf_bytes word_of(struct hf_bytes text) { return hf_bytes_sub(text, 0, hf_bytes_find(text, ':')); }

/* The kind that was likely meant by one that is none here: known in other services, or a slip. Empty: it looks like no kind, but like a part of a key. */
static struct hf_bytes meant(const struct sip_keys *chain, struct hf_bytes text)
{
	struct hf_bytes word = word_of(text), best = HF_LIT("call-id");
	bool slip = sip_kind_of(word) >= 0 || hf_slip(word, best);

	if (word.n == text.n)
		return HF_NONE;
	for (unsigned i = 0; i < chain->n; i++) {
		struct hf_bytes label = sip_key_label(&chain->key[i]);

		slip |= hf_slip(word, word_of(label));
		if (hf_edits(word, word_of(label)) < hf_edits(word, word_of(best)))
			best = label;
	}
	return slip ? best : HF_NONE;
}

/* Every service knows its dialogs by Call-ID; other kinds are known where `key` lists them. */
static const struct sip_key *known_kind(const struct sip_conf *conf, struct hf_bytes *text)
{
	static const struct sip_keys dialogs = {1, {{.kind = SIP_KEY_CALL_ID, .label_n = 7, .label = "call-id"}}};
	const struct sip_key *k = typed_kind(&conf->key, text);

	return k ? k : typed_kind(&dialogs, text);
}

enum hf_err sip_key_read(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	const struct sip_conf *conf = ctx->conf;
	const struct sip_key *k = known_kind(conf, &text);

	if (!k && (out->text = meant(&conf->key, text)).n)
		return HF_ENOENT;
	if (!k)
		k = &conf->key.key[0];
	text = canonical(ctx, k, text);
	if (!text.n)
		return HF_EINVAL;
	*out = sip_key_of(ctx, sip_key_label(k), text, k->kind == SIP_KEY_CALL_ID ? SIZE_MAX : conf->key_length);
	return HF_OK;
}

/* As sip_place, of a Call-ID alone. */
bool sip_key_place(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *place)
{
	const struct sip_conf *conf = ctx->conf;
	const struct sip_key *k = known_kind(conf, &text);

	*place = (struct hf_key){0, HF_NONE};
	if ((k ? k : &conf->key.key[0])->kind != SIP_KEY_CALL_ID)
		return false;
	for (unsigned i = 0; i < conf->key.n && !place->fp; i++) {
		struct hf_bytes octets = text;

		k = &conf->key.key[i];
		if (k->kind == SIP_KEY_CALL_ID && text.n <= conf->key_length)
			return false;
		if (k->kind == SIP_KEY_TOKEN)
			octets = hf_bytes_sub(text, k->at, k->n);
		if ((k->kind == SIP_KEY_CALL_ID || k->kind == SIP_KEY_TOKEN) && octets.n)
			*place = sip_key_of(ctx, sip_key_label(k), hf_bytes_sub(octets, 0, conf->key_length), SIZE_MAX);
	}
	return true;
}
