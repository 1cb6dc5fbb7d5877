/* Readers of option values that are more than a number or a word: status codes, what probes say. They know no message; options.c names them, the
 * configuration calls them once a service. */
#include "inside.h"

static enum hf_err refuse(struct hf_writer *why, struct hf_bytes word, const char *want)
{
	hf_w_str(why, "\"");
	hf_w_printable(why, hf_bytes_sub(word, 0, 64));
	hf_w_str(why, "\" is no ");
	hf_w_str(why, want);
	return HF_EINVAL;
}

/* ---- status codes ---- */

static bool read_range(struct hf_bytes word, uint16_t *lo, uint16_t *hi)
{
	size_t dash = hf_bytes_find(word, '-');
	uint64_t a, b;

	if (hf_read_uint(hf_bytes_sub(word, 0, dash), 699, &a) != HF_OK)
		return false;
	b = a;
	if (dash < word.n && hf_read_uint(hf_bytes_sub(word, dash + 1, word.n), 699, &b) != HF_OK)
		return false;
	*lo = (uint16_t)a;
	*hi = (uint16_t)b;
	return a >= 200 && a <= b;
}

enum hf_err sip_codes_read(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct sip_codes c = {0};
	struct hf_bytes word;

	while ((word = hf_bytes_word(&text)).n) {
		if (c.n == SIP_CODES_MAX)
			return refuse(why, word, "range that still fits: at most 16 are taken");
		if (!read_range(word, &c.range[c.n].lo, &c.range[c.n].hi))
			return refuse(why, word, "status code or range such as 200-299");
		c.n++;
	}
	if (!c.n)
		return refuse(why, text, "list of status codes");
	*(struct sip_codes *)field = c;
	return HF_OK;
}

bool sip_codes_have(const struct sip_codes *c, unsigned status)
{
	for (unsigned i = 0; i < c->n; i++)
		if (status >= c->range[i].lo && status <= c->range[i].hi)
			return true;
	return false;
}

/* ---- words ---- */

enum hf_err sip_words_read(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct sip_words *w = field;
	struct hf_bytes word;

	w->n = w->firsts = 0;
	if (hf_bytes_eq(text, HF_LIT("off")))
		return HF_OK;
	while ((word = hf_bytes_word(&text)).n) {
		if (w->n == SIP_WORDS_MAX)
			return refuse(why, word, "word that still fits: at most 32 are taken");
		for (size_t i = 0; i < word.n; i++)
			if (word.p[i] < '!' || word.p[i] > '~')
				return refuse(why, word, "word of printable characters");
		w->word[w->n++] = word;
		w->firsts |= 1u << (word.p[0] & 31);
	}
	return w->n ? HF_OK : refuse(why, text, "word, nor off");
}

/* ---- probes ---- */

/* A method (RFC 3261 25.1: a token). Those that begin a call, or are never answered, are no questions. */
enum hf_err sip_probe_method_read(struct hf_bytes text, void *field, struct hf_writer *why)
{
	static const char *const no[] = {"INVITE", "ACK", "CANCEL"};
	bool good = text.n > 0 && text.n <= SIP_PROBE_METHOD_MAX;

	for (size_t i = 0; i < text.n; i++)
		good &= (text.p[i] >= 'A' && text.p[i] <= 'Z') || text.p[i] == '-' || text.p[i] == '_';
	for (unsigned i = 0; i < sizeof no / sizeof *no; i++)
		good &= !hf_bytes_eq(text, hf_bytes_str(no[i]));
	if (!good)
		return refuse(why, text, "method to ask with: OPTIONS, INFO, MESSAGE or another in capitals, but INVITE, ACK and CANCEL");
	*(struct hf_bytes *)field = text;
	return HF_OK;
}

/* Letters, digits, and what else is said: nothing that would end a name-addr. */
static bool plain(struct hf_bytes text, const char *also)
{
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = hf_lower(text.p[i]);

		if (!c || (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !strchr(also, c)))
			return false;
	}
	return text.n > 0;
}

enum hf_err sip_probe_from_read(struct hf_bytes text, void *field, struct hf_writer *why)
{
	bool uri = hf_bytes_find(text, ':') < text.n || hf_bytes_find(text, '@') < text.n;
	struct sip_uri u;
	bool good = uri ? plain(text, "-_.!~*'()&=+$,;?/:@%[]") && sip_uri_read(text, &u) && u.sip && u.host.n && !u.headers.n : plain(text, "-_.!~*'()&=+$");

	if (!good || text.n > SIP_PROBE_FROM_MAX)
		return refuse(why, text, "user such as holdfast, nor a URI such as sip:probe@example.com, of at most 128 octets");
	*(struct hf_bytes *)field = text;
	return HF_OK;
}
