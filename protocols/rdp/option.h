/* The options of the RDP front, as they stand checked. */
#ifndef HOLDFAST_RDP_OPTION_H
#define HOLDFAST_RDP_OPTION_H

#include "holdfast/addr.h"
#include "holdfast/option.h"

enum rdp_evidence { RDP_BY_TOKEN, RDP_BY_USER, RDP_BY_CORRELATION, RDP_BY_SOURCE, RDP_BY_SOURCE_PORT, RDP_BY_DESTINATION, RDP_EVIDENCES };
struct rdp_chain {
	uint8_t n, kind[RDP_EVIDENCES]; /* enum rdp_evidence, in order, each at most once */
	struct hf_prefix source;        /* so much of the client's address counts */
};

enum { RDP_MATCH_NINE, RDP_MATCH_FULL };
enum { RDP_BLOB_OFF, RDP_BLOB_FORWARD };
enum { RDP_DIRECT_DROP, RDP_DIRECT_SOURCE };
enum { RDP_REQUIRE_ANY, RDP_REQUIRE_TLS, RDP_REQUIRE_NLA };

struct rdp_conf {
	struct rdp_chain key;
	uint64_t user_match;
	struct hf_bytes own_domains;
	struct hf_pool_words collections;
	uint64_t pre_connection, direct_tls, require;
	uint64_t linger;     /* ms */
	uint64_t source_limit;  /* live connections without a usable name on one bond of their source; 0: no limit */
	uint64_t source_linger; /* ms */
	uint64_t dial_retry, dial_limit; /* ms */
	uint64_t redirect_rounds; /* 0: any number */
	uint64_t user_sources; /* from which a name may be live at once and be one person's; 0: any number */
	uint64_t firm_after; /* octets */
	uint64_t udp_idle;   /* ms */
};

#define RDP_OPTIONS 16u
extern const struct hf_option rdp_options[RDP_OPTIONS];

bool rdp_chain_has(const struct rdp_chain *c, enum rdp_evidence e);
/* The word for a kind. */
struct hf_bytes rdp_evidence_name(enum rdp_evidence e);

#endif
