/* `key = KIND...`: the words that say by what the server of a new session is chosen, read once a service. It must not know messages; keys.c
 * takes the keys out of these. Called by the options and by the operator's `where`. */
#include "inside.h"

#include "holdfast/nearest.h"

enum form { PLAIN, NAMED, PREFIX, RANGE };
enum { TOKEN_AT_MAX = 4095, TOKEN_MAX = 4096 /* of max-call-id's default */ };

#define NAME(s) {(const uint8_t *)s, sizeof s - 1}
static const struct { struct hf_bytes name; enum form form; } kinds[SIP_KEY_KINDS] = {
	[SIP_KEY_CALL_ID] = {NAME("call-id"), PLAIN}, [SIP_KEY_USER] = {NAME("user"), PLAIN}, [SIP_KEY_DOMAIN] = {NAME("domain"), PLAIN},
	[SIP_KEY_FROM_USER] = {NAME("from-user"), PLAIN}, [SIP_KEY_TO_USER] = {NAME("to-user"), PLAIN}, [SIP_KEY_REQUEST_URI] = {NAME("request-uri"), PLAIN},
	[SIP_KEY_HEADER] = {NAME("header"), NAMED}, [SIP_KEY_URI_PARAM] = {NAME("uri-param"), NAMED}, [SIP_KEY_SOURCE] = {NAME("source"), PREFIX},
	[SIP_KEY_SOURCE_PORT] = {NAME("source-port"), PLAIN}, [SIP_KEY_DESTINATION] = {NAME("destination"), PLAIN},
	[SIP_KEY_SOURCE_DESTINATION] = {NAME("source-destination"), PLAIN}, [SIP_KEY_TOKEN] = {NAME("token"), RANGE},
};
#undef NAME

int sip_kind_of(struct hf_bytes word)
{
	for (int i = 0; i < SIP_KEY_KINDS; i++)
		if (hf_bytes_ieq(word, kinds[i].name))
			return i;
	return -1;
}

/* A short form of a header's name is the same header (RFC 3261 7.3.3 and the registry). */
struct hf_bytes sip_header_name(struct hf_bytes name)
{
	static const char *const whole[26] = {"accept-contact", "referred-by", "content-type", "request-disposition", "content-encoding", "from", NULL, NULL, "call-id",
		"reject-contact", "supported", "content-length", "contact", "identity-info", "event", NULL, NULL, "refer-to", "subject", "to", "allow-events", "via", NULL,
		"session-expires", "identity", NULL};
	unsigned i = name.n == 1 ? (unsigned)(hf_lower(name.p[0]) - 'a') : 26;

	return i < 26 && whole[i] ? hf_bytes_str(whole[i]) : name;
}

static enum hf_err wrong(struct hf_writer *why, struct hf_bytes word, const char *what)
{
	hf_w_str(why, "\"");
	hf_w_printable(why, hf_bytes_sub(word, 0, 64));
	hf_w_printf(why, "\": %s", what);
	return HF_EINVAL;
}

/* ---- what stands behind a kind ---- */

bool sip_is_token(struct hf_bytes b, size_t max)
{
	for (size_t i = 0; i < b.n; i++)
		if (!(b.p[i] > ' ' && b.p[i] < 127) || strchr("()<>@,;:\\\"/[]?={}", b.p[i])) /* what ends a token (RFC 3261 25.1) */
			return false;
	return b.n > 0 && b.n <= max;
}

static bool read_name(struct hf_bytes text, struct sip_key *k)
{
	struct hf_bytes name = hf_bytes_sub(text, 1, text.n);

	if (!text.n || text.p[0] != ':' || !sip_is_token(name, SIP_KEY_NAME_MAX))
		return false;
	if (k->kind == SIP_KEY_HEADER)
		name = sip_header_name(name);
	k->label[k->label_n++] = ':';
	for (size_t i = 0; i < name.n; i++)
		k->label[k->label_n++] = hf_lower(name.p[i]);
	return true;
}

static bool read_range(struct hf_bytes text, struct sip_key *k)
{
	struct hf_bytes at = hf_bytes_sub(text, 1, text.n);
	size_t colon = hf_bytes_find(at, ':');
	uint64_t a, n;

	if (!text.n || text.p[0] != ':' || colon == at.n || hf_read_uint(hf_bytes_sub(at, 0, colon), TOKEN_AT_MAX, &a) != HF_OK ||
	    hf_read_uint(hf_bytes_sub(at, colon + 1, at.n), TOKEN_MAX, &n) != HF_OK || n == 0)
		return false;
	k->at = (uint16_t)a;
	k->n = (uint16_t)n;
	return true;
}

static bool read_rest(struct hf_bytes rest, struct sip_key *k)
{
	switch (kinds[k->kind].form) {
	case NAMED: return read_name(rest, k);
	case PREFIX: return hf_prefix_read(rest, &k->prefix);
	case RANGE: return read_range(rest, k);
	default: return rest.n == 0;
	}
}

static const char *const want[] = {
	[PLAIN] = "nothing stands behind this kind of key",
	[NAMED] = "a name of 1 to 64 token characters stands behind the colon, e.g. header:X-Tenant or uri-param:tenant",
	[PREFIX] = HF_PREFIX_WANT,
	[RANGE] = "OFFSET:LENGTH stand behind the colon, 0 to 4095 and 1 to 4096 octets of the Call-ID, e.g. token:0:8",
};

static size_t kind_end(struct hf_bytes word)
{
	size_t colon = hf_bytes_find(word, ':'), slash = hf_bytes_find(word, '/');

	return colon < slash ? colon : slash;
}

static enum hf_err read_one(struct hf_bytes word, struct sip_key *k, struct hf_writer *why)
{
	size_t n = kind_end(word);
	struct hf_bytes name = hf_bytes_sub(word, 0, n);
	struct hf_nearest near = {.wanted = name};
	int kind = sip_kind_of(name);

	if (kind < 0) {
		for (int i = 0; i < SIP_KEY_KINDS; i++)
			hf_nearest_add(&near, kinds[i].name);
		(void)wrong(why, word, "there is no such key; nearest: ");
		hf_w_nearest(why, &near);
		return HF_EINVAL;
	}
	*k = (struct sip_key){.kind = (uint8_t)kind, .label_n = (uint8_t)kinds[kind].name.n};
	memcpy(k->label, kinds[kind].name.p, kinds[kind].name.n);
	return read_rest(hf_bytes_sub(word, n, word.n), k) ? HF_OK : wrong(why, word, want[kinds[kind].form]);
}

enum hf_err sip_keys_read(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct sip_keys k = {0};
	struct hf_bytes word;

	while ((word = hf_bytes_word(&text)).n) {
		if (k.n == SIP_KEYS_MAX) {
			hf_w_printf(why, "more than %d keys", SIP_KEYS_MAX);
			return HF_ERANGE;
		}
		if (read_one(word, &k.key[k.n], why) != HF_OK)
			return HF_EINVAL;
		k.n++;
	}
	if (!k.n) {
		hf_w_str(why, "at least one key is needed, e.g. call-id");
		return HF_EINVAL;
	}
	*(struct sip_keys *)field = k;
	return HF_OK;
}

const struct sip_key *sip_chain_has(const struct sip_keys *k, enum sip_key_kind kind)
{
	for (unsigned i = 0; i < k->n; i++)
		if (k->key[i].kind == kind)
			return &k->key[i];
	return NULL;
}
