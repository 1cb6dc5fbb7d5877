/* The option rows of the RDP front; see option.h. */
#include "option.h"

#include <stddef.h>

static const char *const evidence_words[RDP_EVIDENCES] = {"token", "user", "source"};

bool rdp_chain_has(const struct rdp_chain *c, enum rdp_evidence e)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->kind[i] == e)
			return true;
	return false;
}

bool rdp_evidence_read(struct hf_bytes word, enum rdp_evidence *out)
{
	for (unsigned i = 0; i < RDP_EVIDENCES; i++)
		if (hf_bytes_ieq(word, hf_bytes_str(evidence_words[i]))) {
			*out = (enum rdp_evidence)i;
			return true;
		}
	return false;
}

/* The next word of *b, taken off it. */
static struct hf_bytes word(struct hf_bytes *b)
{
	struct hf_bytes t = hf_bytes_trim(*b);
	size_t n = 0;

	while (n < t.n && t.p[n] != ' ' && t.p[n] != '\t')
		n++;
	*b = hf_bytes_sub(t, n, t.n);
	return hf_bytes_sub(t, 0, n);
}

static enum hf_err read_chain(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct rdp_chain c = {0};
	struct hf_bytes w;
	enum rdp_evidence e;

	while ((w = word(&text)).n) {
		if (!rdp_evidence_read(w, &e) || rdp_chain_has(&c, e)) {
			hf_w_str(why, "'");
			hf_w_escaped(why, w);
			hf_w_str(why, "' is not one of token, user, source, each at most once");
			return HF_EINVAL;
		}
		c.kind[c.n++] = (uint8_t)e;
	}
	if (c.n == 0) {
		hf_w_str(why, "names no key; one or more of token, user, source");
		return HF_EINVAL;
	}
	*(struct rdp_chain *)field = c;
	return HF_OK;
}

/* A count with its unit, in ms. */
static bool read_time(struct hf_bytes b, uint64_t max, uint64_t *ms)
{
	static const struct { struct hf_bytes unit; uint64_t ms; } units[] = {
		{{(const uint8_t *)"ms", 2}, 1}, {{(const uint8_t *)"s", 1}, 1000}, {{(const uint8_t *)"m", 1}, 60000},
		{{(const uint8_t *)"h", 1}, 3600000}, {{(const uint8_t *)"d", 1}, 86400000},
	};
	size_t n = 0;

	while (n < b.n && b.p[n] >= '0' && b.p[n] <= '9')
		n++;
	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (hf_bytes_eq(hf_bytes_sub(b, n, b.n), units[i].unit)) {
			if (hf_read_uint(hf_bytes_sub(b, 0, n), max / units[i].ms, ms) != HF_OK)
				return false;
			*ms *= units[i].ms;
			return true;
		}
	return false;
}

#define ON_DOWN_MAX (86400u * 1000u) /* a host that is down for a day has no sessions left to wait for */

static enum hf_err read_on_down(struct hf_bytes text, void *field, struct hf_writer *why)
{
	uint64_t *ms = field;
	struct hf_bytes w = word(&text), t = hf_bytes_trim(text);
	uint64_t v = 0;

	if (hf_bytes_ieq(w, HF_LIT("move")) && t.n == 0) {
		*ms = 0;
		return HF_OK;
	}
	if (hf_bytes_ieq(w, HF_LIT("hold")) && read_time(t, ON_DOWN_MAX, &v) && v > 0) {
		*ms = v;
		return HF_OK;
	}
	hf_w_str(why, "must be 'hold TIME' with a time of 1ms to 1d, or 'move'");
	return HF_EINVAL;
}

static const char *const match_words[] = {"nine", "full", NULL};

const struct hf_option rdp_options[RDP_OPTIONS] = {
	{.name = "key", .type = HF_OPT_CUSTOM, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .unit = "", .dflt = "token user source",
	 .help = "What a desktop is told by: the first of these that a request has decides. source is the client's address.",
	 .offset = offsetof(struct rdp_conf, key), .read = read_chain},
	{.name = "user-match", .type = HF_OPT_CHOICE, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .unit = "", .dflt = "nine",
	 .help = "How much of a user name is compared: nine characters, since Microsoft clients cut it there, or all of it.",
	 .offset = offsetof(struct rdp_conf, user_match), .words = match_words},
	{.name = "own-domains", .type = HF_OPT_TEXT, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .max = 1024, .unit = "octets", .dflt = "",
	 .help = "Domain and computer names of your users: nine characters that begin one of them are no user name.",
	 .offset = offsetof(struct rdp_conf, own_domains)},
	{.name = "linger", .type = HF_OPT_TIME, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, .min = 1000, .max = 1036800000, .unit = "s", .dflt = "24h",
	 .help = "For how long a user belongs to a host after his last connection to it ended.", .offset = offsetof(struct rdp_conf, linger)},
	{.name = "on-down", .type = HF_OPT_CUSTOM, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, .unit = "s", .dflt = "hold 60s",
	 .help = "When a user's host is down: 'hold TIME' keeps him to it for so long after it went down, 'move' places him anew at once.",
	 .offset = offsetof(struct rdp_conf, on_down), .read = read_on_down},
	{.name = "dial-retry", .type = HF_OPT_TIME, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, .min = 100, .max = 60000, .unit = "s", .dflt = "1s",
	 .help = "A request that is kept for a host which is down dials it this often.", .offset = offsetof(struct rdp_conf, dial_retry)},
	{.name = "dial-limit", .type = HF_OPT_TIME, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, .min = 100, .max = 120000, .unit = "s", .dflt = "10s",
	 .help = "A request is refused when so long after its first dial no host has taken it.", .offset = offsetof(struct rdp_conf, dial_limit)},
	{.name = "firm-after", .type = HF_OPT_SIZE, .sections = HF_IN_POOL, .reload = HF_RELOAD_NEW, .min = 1, .max = 1 << 20, .unit = "octets", .dflt = "1k",
	 .help = "A new bond is kept like an old one when so many octets went each way behind the host's Confirm; until then it is the first to go when room is short.",
	 .offset = offsetof(struct rdp_conf, firm_after)},
};
