/* The option rows of the RDP front; see option.h. */
#include "option.h"

#include <stddef.h>

#include "holdfast/nearest.h"

static const char *const evidence_words[RDP_EVIDENCES] = {"token", "user", "correlation", "source", "source-port", "destination"};

bool rdp_chain_has(const struct rdp_chain *c, enum rdp_evidence e)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->kind[i] == e)
			return true;
	return false;
}

struct hf_bytes rdp_evidence_name(enum rdp_evidence e) { return hf_bytes_str(evidence_words[e]); }

static enum hf_err refuse(struct hf_bytes w, const char *what, struct hf_writer *why)
{
	hf_w_str(why, "'");
	hf_w_printable(why, hf_bytes_sub(w, 0, 64));
	hf_w_printf(why, "': %s", what);
	return HF_EINVAL;
}

static enum hf_err unknown(struct hf_bytes w, struct hf_bytes name, struct hf_writer *why)
{
	struct hf_nearest near = {.wanted = name};

	for (unsigned i = 0; i < RDP_EVIDENCES; i++)
		hf_nearest_add(&near, rdp_evidence_name((enum rdp_evidence)i));
	(void)refuse(w, "there is no such key; nearest: ", why);
	hf_w_nearest(why, &near);
	return HF_EINVAL;
}

/* One kind; `source` may have a prefix behind it. */
static enum hf_err read_kind(struct hf_bytes w, struct rdp_chain *c, struct hf_writer *why)
{
	size_t slash = hf_bytes_find(w, '/');
	struct hf_bytes name = hf_bytes_sub(w, 0, slash), rest = hf_bytes_sub(w, slash, w.n);
	unsigned e = 0;

	while (e < RDP_EVIDENCES && !hf_bytes_ieq(name, rdp_evidence_name((enum rdp_evidence)e)))
		e++;
	if (e == RDP_EVIDENCES)
		return unknown(w, name, why);
	if (rdp_chain_has(c, (enum rdp_evidence)e))
		return refuse(w, "each key stands at most once", why);
	if (rest.n && e != RDP_BY_SOURCE)
		return refuse(w, "only source may have a prefix", why);
	if (e == RDP_BY_SOURCE && !hf_prefix_read(rest, &c->source))
		return refuse(w, HF_PREFIX_WANT, why);
	c->kind[c->n++] = (uint8_t)e;
	return HF_OK;
}

static enum hf_err read_chain(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct rdp_chain c = {.source = {32, 128}};
	struct hf_bytes w;

	while ((w = hf_bytes_word(&text)).n)
		if (read_kind(w, &c, why) != HF_OK)
			return HF_EINVAL;
	if (c.n == 0) {
		hf_w_str(why, "names no key, e.g. token user source");
		return HF_EINVAL;
	}
	*(struct rdp_chain *)field = c;
	return HF_OK;
}

static const char *const match_words[] = {"nine", "full", NULL};
static const char *const blob_words[] = {"off", "forward", NULL};
static const char *const direct_words[] = {"drop", "source", NULL};
static const char *const require_words[] = {"any", "tls", "nla", NULL};

const struct hf_option rdp_options[RDP_OPTIONS] = {
	{.name = "key", .type = HF_OPT_CUSTOM, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .unit = "", .dflt = "token user source",
	 .help = "What a desktop is told by: the first of token, user, correlation (the id of a connection), source (the client's address; source/24, "
		 "source/64, source/24/64: its network), source-port and destination (our address) that a request has decides.",
	 .offset = offsetof(struct rdp_conf, key), .read = read_chain},
	{.name = "user-match", .type = HF_OPT_CHOICE, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .unit = "", .dflt = "nine",
	 .help = "How much of a user name is compared: nine characters, since Microsoft clients cut it there, or all of it.",
	 .offset = offsetof(struct rdp_conf, user_match), .words = match_words},
	{.name = "own-domains", .type = HF_OPT_TEXT, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .max = 1024, .unit = "octets", .dflt = "",
	 .help = "Domain and computer names of your users: nine characters that begin one of them are no user name.",
	 .offset = offsetof(struct rdp_conf, own_domains)},
	{.name = "collection", .type = HF_OPT_POOLS, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .unit = "NAME POOL",
	 .help = "Connections whose routing token names this collection (tsv://MS Terminal Services Plugin.1.NAME, tsv://VMResource.1.NAME, mth://NAME) go to the servers of "
		 "POOL; may repeat. In any case, percent signs as they are sent.",
	 .offset = offsetof(struct rdp_conf, collections)},
	{.name = "udp-idle", .type = HF_OPT_TIME, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .min = 5000, .max = 3600000, .unit = "s", .dflt = "60s",
	 .help = "A UDP transport of a desktop ends after so long without a datagram; it needs a listener udp:// beside the tcp:// one.",
	 .offset = offsetof(struct rdp_conf, udp_idle)},
	{.name = "pre-connection", .type = HF_OPT_CHOICE, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .unit = "", .dflt = "off",
	 .help = "What becomes of a pre-connection blob (MS-RDPEPS) before a request: closed as no RDP, or forwarded with it.",
	 .offset = offsetof(struct rdp_conf, pre_connection), .words = blob_words},
	{.name = "direct-tls", .type = HF_OPT_CHOICE, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .unit = "", .dflt = "drop",
	 .help = "What becomes of a client that begins with TLS in place of a request, as to a Hyper-V console: closed, or taken to the host of its source.",
	 .offset = offsetof(struct rdp_conf, direct_tls), .words = direct_words},
	{.name = "require", .type = HF_OPT_CHOICE, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_NEW, .unit = "", .dflt = "any",
	 .help = "A client that offers neither TLS nor more (tls), or nothing beyond TLS (nla), is told so and closed; which of its offers is taken is the host's to say.",
	 .offset = offsetof(struct rdp_conf, require), .words = require_words},
	{.name = "linger", .type = HF_OPT_TIME, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, .min = 1000, .max = 1036800000, .unit = "s", .dflt = "24h",
	 .help = "For how long a user belongs to a host after his last connection to it ended.", .offset = offsetof(struct rdp_conf, linger)},
	{.name = "source-limit", .type = HF_OPT_UINT, .sections = HF_IN_POOL, .reload = HF_RELOAD_NEW, .min = 1, .max = 1000, .unit = "connections", .dflt = "4", .off_ok = true,
	 .help = "So many clients without a usable user name are taken to one host because they share their address; further ones are placed as new.",
	 .offset = offsetof(struct rdp_conf, source_limit)},
	{.name = "user-sources", .type = HF_OPT_UINT, .sections = HF_IN_POOL, .reload = HF_RELOAD_NEW, .min = 1, .max = 4, .unit = "addresses", .dflt = "3", .off_ok = true,
	 .help = "A name of nine octets, to which clients cut longer ones, that is live from so many addresses at once is more than one person's: from a further address it is told by that too.",
	 .offset = offsetof(struct rdp_conf, user_sources)},
	{.name = "source-linger", .type = HF_OPT_TIME, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, .min = 1000, .max = 1036800000, .unit = "s", .dflt = "15m",
	 .help = "In place of linger for clients without a usable user name: for so long their address leads to their host.",
	 .offset = offsetof(struct rdp_conf, source_linger)},
	{.name = "dial-retry", .type = HF_OPT_TIME, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, .min = 100, .max = 60000, .unit = "s", .dflt = "1s",
	 .help = "A request that is kept for a host which is down dials it this often.", .offset = offsetof(struct rdp_conf, dial_retry)},
	{.name = "dial-limit", .type = HF_OPT_TIME, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, .min = 100, .max = 120000, .unit = "s", .dflt = "10s",
	 .help = "A request is refused when so long after its first dial no host has taken it.", .offset = offsetof(struct rdp_conf, dial_limit)},
	{.name = "redirect-rounds", .type = HF_OPT_UINT, .sections = HF_IN_POOL, .reload = HF_RELOAD_NEW, .min = 2, .max = 100, .unit = "connections", .dflt = "5", .off_ok = true,
	 .help = "A user who came back at once so often in a row, without a session that lasted, is refused: the client drops the token of a redirect.",
	 .offset = offsetof(struct rdp_conf, redirect_rounds)},
	{.name = "firm-after", .type = HF_OPT_SIZE, .sections = HF_IN_POOL, .reload = HF_RELOAD_NEW, .min = 1, .max = 1 << 20, .unit = "octets", .dflt = "1k",
	 .help = "A new bond is kept like an old one when so many octets went each way behind the host's Confirm; until then it is the first to go when room is short.",
	 .offset = offsetof(struct rdp_conf, firm_after)},
};
