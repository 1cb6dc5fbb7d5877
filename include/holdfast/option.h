/* Option tables: one row an option, from which come parsing, range errors, --print-config and help (base floor).
 * A protocol's rows live in its folder and fill its own struct by offset. Passive; any thread. */
#ifndef HOLDFAST_OPTION_H
#define HOLDFAST_OPTION_H

#include "writer.h"

enum hf_opt_type {
	HF_OPT_BOOL,   /* bool            yes | no */
	HF_OPT_UINT,   /* uint64_t        digits */
	HF_OPT_SIZE,   /* uint64_t octets digits, k, m, g (1024) */
	HF_OPT_TIME,   /* uint64_t ms     digits with ms, s, m, h, d (a bare number is refused) */
	HF_OPT_MILLI,  /* uint64_t        1.5 -> 1500, at most three digits behind the point */
	HF_OPT_TEXT,   /* struct hf_bytes owned by the configuration */
	HF_OPT_CHOICE, /* uint64_t        index into words */
	HF_OPT_CUSTOM, /* what read() fills */
	HF_OPT_POOLS,  /* struct hf_pool_words WORD POOL, a line each: pools that the front may choose; in services alone */
};

/* Pools by what messages say: word is compared without case, may hold blanks; pool is a number of the service's pools, 0 its `pool`. */
#define HF_POOL_WORDS_MAX 64u
#define HF_POOLS_MAX (1 + HF_POOL_WORDS_MAX) /* of a service */
struct hf_pool_words {
	unsigned n;
	struct hf_pool_word { struct hf_bytes word, name; unsigned pool; } list[HF_POOL_WORDS_MAX];
};

enum hf_opt_section { HF_IN_GATEWAY = 1, HF_IN_SERVICE = 2, HF_IN_POOL = 4 };

/* When a changed value takes hold: at once, for new sessions, or only after a restart (a reload that changes it is refused). */
enum hf_opt_reload { HF_RELOAD_LIVE, HF_RELOAD_NEW, HF_RELOAD_RESTART };

struct hf_option {
	const char *name;
	enum hf_opt_type type;
	unsigned sections;         /* HF_IN_ bits */
	enum hf_opt_reload reload;
	uint64_t min, max;         /* UINT, SIZE, TIME, MILLI: inclusive, in the stored unit; TEXT: octets */
	const char *unit;          /* for people: "s", "octets", "sessions"; may be "" */
	const char *dflt;          /* as it would stand in the file; NULL: none, the field stays zero */
	const char *help;          /* one sentence */
	size_t offset;             /* of the field in the struct that is filled */
	const char *const *words;  /* CHOICE: NULL-terminated */
	bool off_ok;               /* the word "off" is taken and stored as 0 */
	const char *not_built;     /* values, with blanks between (or "*": any but off/no), that are refused as not built yet */
	/* CUSTOM: reads text into field; on failure writes into why what is wrong and what would be right. The text outlives the field. */
	enum hf_err (*read)(struct hf_bytes text, void *field, struct hf_writer *why);
};

/* Where a check puts what it finds. error: the configuration is refused; warn: it is taken, --check shows it. */
struct hf_says {
	void (*say)(void *arg, bool error, const char *option, const char *text);
	void *arg;
};

#endif
