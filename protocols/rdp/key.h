/* Keys of the RDP front, each from what it is made of: keys.c makes those of a request, typed.c those that an operator means. Texts are in the arena
 * of the context; where that is full a key has its fingerprint alone.
 *
 * Kinds: `user` a name; `weak` a name that was cut, or is many people's, a blank, the source address; `short` what may be the whole of it; `source` an address or its
 * network, and `#2` and on behind its further bonds; `users-at`, `unclaimed` likewise, without number; `token` a token, a blank, the source address
 * (a token is only worth something where it was issued to); `leg` an address; `correlation` 32 hex digits; `source-port` address and port;
 * `destination` an address of ours. */
#ifndef HOLDFAST_RDP_KEY_H
#define HOLDFAST_RDP_KEY_H

#include "holdfast/front.h"
#include "option.h"

/* From octets, of which `cap` decide. */
struct hf_key key_of(const struct hf_ctx *ctx, const char *kind, struct hf_bytes octets, size_t cap);
/* `octets`, a blank and the source; or the source alone. */
struct hf_key key_with_source(const struct hf_ctx *ctx, const char *kind, struct hf_bytes octets, const struct hf_addr *source);
/* Of one address, or with its port. */
struct hf_key key_of_addr(const struct hf_ctx *ctx, enum rdp_evidence e, const struct hf_addr *addr);
/* Of a source as the chain sees it; nth > 0: one of several. */
struct hf_key key_of_source(const struct hf_ctx *ctx, const char *kind, const struct hf_addr *source, unsigned nth);
/* Of a connection's id; none of an empty one. */
struct hf_key key_of_id(const struct hf_ctx *ctx, struct hf_bytes id);
/* Of a user's name in its one form, of which as much decides as `user-match` says. */
struct hf_key key_of_name(const struct hf_ctx *ctx, struct hf_bytes name);

#endif
