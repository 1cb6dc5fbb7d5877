/* The keys of affinity. The memory of a dialog is always kept by its whole Call-ID, octet by octet (RFC 3261 8.1.1.4);
 * `key` says only by what the server of a new session is chosen. Pure; called by the step and by the operator's `where`. */
#include "inside.h"

#include "holdfast/nearest.h"

enum { TEXT_MAX = 128 }; /* octets of a key's text in the tables */

#define NAME(s) {(const uint8_t *)s, sizeof s - 1}
static const struct hf_bytes names[SIP_KEY_KINDS] = {NAME("call-id"), NAME("source"), NAME("from-user"), NAME("to-user"), NAME("request-uri")};
#undef NAME
/* Kinds that the design names and this program has not: told apart from a typing mistake. */
static const char *const not_built[] = {"user", "domain", "source-port", "destination", "source-destination", "header:", "uri-param:", "token:", "source/"};

static struct hf_bytes text_of(struct hf_arena *arena, struct hf_bytes kind, struct hf_bytes octets)
{
	size_t cap = kind.n + 1 + octets.n;
	uint8_t *p;
	struct hf_writer w;

	if (cap > TEXT_MAX)
		cap = TEXT_MAX;
	p = hf_arena_alloc(arena, cap);
	if (!p)
		return HF_NONE;
	w = hf_writer_on(p, cap);
	hf_w_bytes(&w, kind);
	hf_w_u8(&w, ':');
	hf_w_bytes(&w, hf_bytes_sub(octets, 0, cap - kind.n - 1));
	return hf_writer_view(&w);
}

static struct hf_key key_of(const struct hf_ctx *ctx, enum sip_key_kind kind, struct hf_bytes octets, size_t cap)
{
	struct hf_bytes text = text_of(ctx->arena, names[kind], octets);
	bool whole = text.n == names[kind].n + 1 + octets.n && octets.n <= cap; /* the text is what the fingerprint is of, as a rule */

	return (struct hf_key){whole ? hf_fingerprint_text(ctx->site->hash_key, text) : hf_fingerprint(ctx->site->hash_key, names[kind], octets, cap), text};
}

struct hf_key sip_call_key(const struct sip_step *s, struct hf_bytes call_id) { return key_of(s->ctx, SIP_KEY_CALL_ID, call_id, SIZE_MAX); }

/* ---- what places a new session ---- */

static struct hf_bytes source_octets(const struct sip_step *s)
{
	uint8_t *p = hf_arena_alloc(s->ctx->arena, 48);
	struct hf_writer w = hf_writer_on(p, 48);

	if (!p)
		return HF_NONE;
	hf_w_ip(&w, &s->ev->source, false);
	return hf_writer_view(&w);
}

/* The user of an address of record, with %HH undone; none: no such key. */
static struct hf_bytes user_octets(const struct sip_step *s, struct hf_bytes address)
{
	struct sip_uri u;
	struct hf_bytes aor;
	size_t at;

	(void)sip_uri_read(address, &u); /* of a form that we can't read there may be a user all the same */
	aor = u.user.n ? sip_aor(&u, s->ctx->arena) : HF_NONE;
	at = aor.n;

	while (at > 0 && aor.p[at - 1] != '@') /* the host has none, a user with %40 undone may */
		at--;
	return at ? hf_bytes_sub(aor, 0, at - 1) : HF_NONE;
}

static struct hf_bytes octets_of(const struct sip_step *s, enum sip_key_kind kind)
{
	const struct sip_msg *m = &s->p->msg;

	switch (kind) {
	case SIP_KEY_SOURCE: return source_octets(s);
	case SIP_KEY_FROM_USER: return user_octets(s, m->from_addr);
	case SIP_KEY_TO_USER: return user_octets(s, m->to_addr);
	case SIP_KEY_REQUEST_URI: return sip_aor(&m->uri, s->ctx->arena);
	default: return m->call_id;
	}
}

uint64_t sip_place(const struct sip_step *s)
{
	const struct sip_keys *k = &s->conf->key;

	for (unsigned i = 0; i < k->n; i++) {
		struct hf_bytes o = octets_of(s, k->kind[i]);

		if (!o.n)
			continue;
		if (k->kind[i] == SIP_KEY_CALL_ID && o.n <= s->conf->key_length)
			return 0;
		return hf_fingerprint(s->ctx->site->hash_key, names[k->kind[i]], o, s->conf->key_length);
	}
	return 0;
}

/* ---- dialogs that a request names (RFC 3891 3, RFC 3911 4, RFC 4538 3) ---- */

void sip_refs(const struct sip_step *s, struct hf_key refs[2])
{
	const struct sip_msg *m = &s->p->msg;
	const struct hf_bytes named[] = {m->replaces, m->join, m->target_dialog};
	unsigned n = 0;

	if (m->to_tag.p)
		return; /* a request in a dialog goes where its dialog is */
	for (unsigned i = 0; i < sizeof named / sizeof *named && n < 2; i++) {
		struct hf_bytes call_id = hf_bytes_trim(hf_bytes_sub(named[i], 0, hf_bytes_find(named[i], ';')));

		if (call_id.n)
			refs[n++] = sip_call_key(s, call_id);
	}
}

/* ---- `key =` and the operator's words ---- */

static int kind_of(struct hf_bytes word)
{
	for (int i = 0; i < SIP_KEY_KINDS; i++)
		if (hf_bytes_eq(word, names[i]))
			return i;
	return -1;
}

static enum hf_err refuse(struct hf_bytes word, struct hf_writer *why)
{
	struct hf_nearest near = {.wanted = word};

	for (unsigned i = 0; i < sizeof not_built / sizeof *not_built; i++) {
		struct hf_bytes name = hf_bytes_str(not_built[i]);
		bool open = name.p[name.n - 1] == ':' || name.p[name.n - 1] == '/';

		if (open ? hf_bytes_starts(word, name) : hf_bytes_eq(word, name)) {
			hf_w_printf(why, "the key \"%.*s\" is not built yet; ", (int)(word.n < 64 ? word.n : 64), (const char *)word.p);
			hf_w_str(why, "there are call-id, source, from-user, to-user and request-uri");
			return HF_EINVAL;
		}
	}
	for (int i = 0; i < SIP_KEY_KINDS; i++)
		hf_nearest_add(&near, names[i]);
	hf_w_printf(why, "no key is named \"%.*s\"; nearest: ", (int)(word.n < 64 ? word.n : 64), (const char *)word.p);
	hf_w_nearest(why, &near);
	return HF_EINVAL;
}

enum hf_err sip_keys_read(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct sip_keys k = {0};

	for (text = hf_bytes_trim(text); text.n; text = hf_bytes_trim(text)) {
		struct hf_bytes word = hf_bytes_sub(text, 0, hf_bytes_find(text, ' '));
		int kind = kind_of(word);

		if (kind < 0)
			return refuse(word, why);
		if (k.n == SIP_KEYS_MAX) {
			hf_w_printf(why, "more than %d keys", SIP_KEYS_MAX);
			return HF_ERANGE;
		}
		k.kind[k.n++] = (uint8_t)kind;
		text = hf_bytes_sub(text, word.n, text.n);
	}
	if (!k.n) {
		hf_w_str(why, "at least one key is needed, e.g. call-id");
		return HF_EINVAL;
	}
	*(struct sip_keys *)field = k;
	return HF_OK;
}

enum hf_err sip_key_read(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	const struct sip_conf *conf = ctx->conf;
	size_t colon = hf_bytes_find(text, ':');
	int kind = colon < text.n ? kind_of(hf_bytes_sub(text, 0, colon)) : -1;

	if (kind >= 0)
		text = hf_bytes_sub(text, colon + 1, text.n);
	else
		kind = conf->key.kind[0];
	if (!text.n)
		return HF_EINVAL;
	*out = key_of(ctx, (enum sip_key_kind)kind, text, kind == SIP_KEY_CALL_ID ? SIZE_MAX : conf->key_length);
	return HF_OK;
}
