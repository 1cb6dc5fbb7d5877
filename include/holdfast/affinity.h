/* The words that fronts, net and engine share about affinity (base floor). DESIGN: words, engine.
 * A key is known by its fingerprint; its text is kept only where a table shows it.
 * All functions are pure, for any thread, and O(octets); names are O(1). */
#ifndef HOLDFAST_AFFINITY_H
#define HOLDFAST_AFFINITY_H

#include "bytes.h"

/* Why a server was chosen. */
#define HF_WHYS(X) \
	X(NONE, "none") X(COOKIE, "cookie") X(TOKEN, "token") X(DIALOG, "dialog") X(ENTRY, "entry") X(BOND, "bond") X(HOME, "home") \
	X(SPILL, "spill") X(FAILOVER, "failover") X(BALANCE, "balance") X(FALLBACK, "fallback")
enum hf_why {
#define X(e, name) HF_WHY_##e,
	HF_WHYS(X)
#undef X
	HF_WHY_COUNT
};
const char *hf_why_name(enum hf_why w);

/* A key of affinity: fingerprint of `kind:octets`. fp == 0 is no key. */
struct hf_key {
	uint64_t fp;
	struct hf_bytes text; /* "kind:octets" for tables that show it; may be empty; borrowed */
};

#define HF_FP_BITS 60
/* SipHash-1-3 under the hash key of kind, ':' and the octets (at most `cap` of them), top 60 bits; never 0 (0 becomes 1). */
uint64_t hf_fingerprint(const uint8_t hash_key[16], struct hf_bytes kind, struct hf_bytes octets, size_t cap);

/* The same of what is together already, "kind:octets". */
uint64_t hf_fingerprint_text(const uint8_t hash_key[16], struct hf_bytes text);

/* H32: top 32 bits of SipHash-1-3 of `name:` pool NUL server (RULES-SIP "Forms": server); never 0. */
uint32_t hf_server_hash(const uint8_t hash_key[16], struct hf_bytes pool, struct hf_bytes server);

/* What is to become of the key's entry. Lives are seconds from now. */
enum hf_life {
	HF_LIFE_NONE,   /* answer only; the table is left as it is */
	HF_LIFE_START,  /* an entry is made where there is none (by placement), and gets the flags and life given; one that exists keeps its server. Counted,
	                 * and neither tentative nor a bond, it is an answer: one that is uncounted and firm, so has ended, is left as it is */
	HF_LIFE_TOUCH,  /* an entry that exists becomes firm, counted too by the flag, and lives on (written only when an eighth of the life is gone);
	                 * where there is none, one is made if the server came from a hint, else nothing is written */
	HF_LIFE_LINGER, /* an entry that exists becomes uncounted and lives as given; with HF_COUNTED one that counts stays as it is, and so does a firm
	                 * one at another server than the one that is named; nothing is made */
	HF_LIFE_OPEN,   /* tables: as START, and one more live flow */
	HF_LIFE_CLOSE,  /* tables: one live flow less; at 0 the entry lives as given from now, still counted; with HF_TENTATIVE (this
	                 * flow proved nothing) a tentative one is ended instead */
	HF_LIFE_END,    /* the entry is removed */
};
enum { HF_COUNTED = 1, HF_TENTATIVE = 2, HF_BOND = 4 /* the key is a user or source */ };

/* A server's state, as the tables show it. */
#define HF_STATES(X) X(UP, "up") X(DOWN, "down") X(DRAIN, "drain") X(OFF, "off")
enum hf_state {
#define X(e, name) HF_STATE_##e,
	HF_STATES(X)
#undef X
	HF_STATE_COUNT
};
const char *hf_state_name(enum hf_state s);

#endif
