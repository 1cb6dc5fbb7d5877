/* The keys of a request: what it is told by, in the order of the service's `key` (DESIGN 5). Pure; any thread. */
#ifndef HOLDFAST_RDP_KEYS_H
#define HOLDFAST_RDP_KEYS_H

#include "holdfast/front.h"
#include "option.h"
#include "token.h"
#include "x224.h"

/* What of a request is of use, by the chain. fp 0: there is none. Texts are in the arena and empty when it was full. */
struct rdp_keys {
	struct hf_key main;    /* what decides after the token: the user, the source or the like */
	bool by_user;          /* main is a user */
	uint64_t apart;        /* the user as one of several of that name, by the source; 0: main is that, or is sure */
	uint64_t perhaps;      /* of the same person, written otherwise: followed where main has no bond; 0: none */
	struct hf_key other;   /* how the same person may be written: leads to the same host; fp 0: none */
	bool by_source;        /* main is a bond of the source: there is no usable name */
	struct hf_key users;   /* by_source, the first bond: without it, where its users are */
	struct hf_key unclaimed; /* by_user, by_source: where a session of nobody known of this source is */
	struct hf_key correlation; /* the connection's id; as source */
	bool by_id;            /* the id comes before main: where it is known, it decides */
	bool by_token;         /* the token comes first */
	bool by_many;          /* the token is many people's: it has chosen the pool, and says no more */
	bool is_signed;        /* ... and is ours: whom it names is named for sure */
	struct hf_addr hint;   /* of an address token */
	uint32_t hint_server;  /* of a signed one */
	struct hf_key token;   /* an address or number token, with the source that showed it */
	struct hf_key leg;     /* of a number: a first leg of this source ended a moment ago (uncounted, remembered for seconds) */
	bool first_leg;        /* this may be one: a token may follow it */
	unsigned facts[2];     /* reasons to be counted, 0 = none */
};

#define RDP_BONDS 8u /* bonds a source may have, one where the one before it is crowded: as many as a parcel's turns allow to be asked for, with room to spare */

/* The second name of the bonds of the source's users; fp 0 where the chain does not use it. */
struct hf_key rdp_users_key(const struct hf_ctx *ctx, const struct hf_event *ev);
/* A first leg of this source ended a moment ago. */
struct hf_key rdp_leg_key(const struct hf_ctx *ctx, const struct hf_event *ev);
/* nth: how many bonds did not take this client. Of a source: the next one, and from RDP_BONDS on each connection is its own. Of a user: the name is
 * not only his, and is joined with the source. */
void rdp_keys_of(const struct hf_ctx *ctx, const struct x224_request *r, const struct hf_event *ev, unsigned nth, struct rdp_keys *k);

/* hf_front.key_read */
enum hf_err rdp_key_read(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out);

#endif
