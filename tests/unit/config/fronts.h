/* Two protocols for the tests of the configuration: one of datagrams, one of flows. Included by one source a program. */
#ifndef TEST_FRONTS_H
#define TEST_FRONTS_H

#include <stddef.h>

#include "holdfast/config.h"

struct tide_conf { uint64_t swell, depth; bool loud; struct hf_bytes label; unsigned moon; };
struct reef_conf { uint64_t linger; struct hf_pool_words shores; };

static enum hf_err read_moon(struct hf_bytes text, void *field, struct hf_writer *why)
{
	if (!hf_bytes_eq(text, HF_LIT("full")) && !hf_bytes_eq(text, HF_LIT("new"))) {
		hf_w_str(why, "full | new");
		return HF_EINVAL;
	}
	*(unsigned *)field = text.n == 4 ? 15 : 0;
	return HF_OK;
}

static const struct hf_option tide_options[] = {
	{"swell", HF_OPT_TIME, HF_IN_SERVICE, HF_RELOAD_LIVE, .min = 1, .max = 60000, .dflt = "2s", .offset = offsetof(struct tide_conf, swell), .help = "How long a wave is."},
	{"depth", HF_OPT_UINT, HF_IN_POOL, HF_RELOAD_NEW, .min = 1, .max = 99, .unit = "fathoms", .dflt = "7", .offset = offsetof(struct tide_conf, depth), .help = "How deep."},
	{"loud", HF_OPT_BOOL, HF_IN_SERVICE | HF_IN_POOL, HF_RELOAD_LIVE, .dflt = "no", .offset = offsetof(struct tide_conf, loud), .not_built = "yes", .help = "Whether it roars."},
	{"label", HF_OPT_TEXT, HF_IN_SERVICE, HF_RELOAD_RESTART, .min = 1, .max = 8, .offset = offsetof(struct tide_conf, label), .help = "What it is called."},
	{"moon", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_RESTART, .unit = "full | new", .dflt = "new", .offset = offsetof(struct tide_conf, moon), .read = read_moon, .help = "The moon."},
};
static const struct hf_default tide_defaults[] = {{"load-factor", "1.5"}, {"probe", "sound"}};

static enum hf_err tide_check(void *conf, const struct hf_says *says)
{
	struct tide_conf *c = conf;

	if (c->depth == 13)
		says->say(says->arg, false, "depth", "sailors will not like it");
	if (c->swell == 13) {
		says->say(says->arg, true, "swell", "13 is no good");
		return HF_EINVAL;
	}
	return c->swell == 14 ? HF_EINVAL : HF_OK;
}

static const struct hf_front tide = {
	.name = "tide", .transports = HF_TRANSPORT_BIT(HF_UDP) | HF_TRANSPORT_BIT(HF_TCP) | HF_TRANSPORT_BIT(HF_TLS) | HF_TRANSPORT_BIT(HF_WS), .server_transport = HF_UDP, .port = 7000, .datagrams = true, .framed = true,
	.probe_name = "sound", .options = tide_options, .n_options = 5, .conf_size = sizeof(struct tide_conf), .defaults = tide_defaults, .n_defaults = 2, .check = tide_check,
};

static const struct hf_option reef_options[] = {
	{"linger", HF_OPT_TIME, HF_IN_POOL, HF_RELOAD_NEW, .min = 1000, .max = 86400000, .dflt = "24h", .offset = offsetof(struct reef_conf, linger), .help = "How long it stays."},
	{"shore", HF_OPT_POOLS, HF_IN_SERVICE, HF_RELOAD_NEW, .unit = "NAME POOL", .offset = offsetof(struct reef_conf, shores), .help = "Whose waves go to that pool."},
};
static const struct hf_default reef_defaults[] = {{"affinity", "table"}, {"load-factor", "1.25"}, {"probe", "connect"}};
static const char *reef_hint_word(const void *conf, unsigned family)
{
	return family != 6 && ((const struct reef_conf *)conf)->linger == 9000 ? "a message in a bottle" : NULL;
}

static const struct hf_front reef = {
	.name = "reef", .transports = HF_TRANSPORT_BIT(HF_TCP) | HF_TRANSPORT_BIT(HF_UDP), .server_transport = HF_TCP, .datagram_flows = true, .port = 8000, .options = reef_options, .n_options = 2,
	.conf_size = sizeof(struct reef_conf), .defaults = reef_defaults, .n_defaults = 3, .hint_word = reef_hint_word,
};

const struct hf_front *const hf_fronts[] = {&tide, &reef, NULL};

#endif
