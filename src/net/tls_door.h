/* What the sides of TLS (tls.c) want of the library, whose only door is tls_door.c. */
#ifndef NET_TLS_DOOR_H
#define NET_TLS_DOOR_H

#include <stdatomic.h>

#include "tls.h"

typedef struct ssl_ctx_st tls_ctx; /* the library's */

struct tls {
	atomic_uint refs;
	uint32_t identity;
	const char *uri_scheme; /* dialled: a server may prove its name by a URI of this scheme (RFC 5922 7.1) */
	unsigned n;
	tls_ctx *ctx[];         /* the first is the default, the others are for server names */
};

/* min: as the option's words: 1.2, 1.3. NULL: no memory. */
tls_ctx *door_new(bool serves, uint64_t min) HF_MUST_USE;
void door_free(tls_ctx *ctx);
/* False: `why` says which file and what is wrong with it, or nothing: no memory. */
bool door_certificate(tls_ctx *ctx, const struct hf_conf_tls_pair *pair, struct hf_writer *why) HF_MUST_USE;
/* Tickets are sealed by keys, and good only in their context. */
bool door_tickets(tls_ctx *ctx, const uint8_t keys[TLS_TICKET_KEYS], const uint8_t context[8]) HF_MUST_USE;
bool door_ask_clients(tls_ctx *ctx, struct hf_bytes ca, bool required, struct hf_writer *why) HF_MUST_USE;
/* ca empty: whom the system trusts. */
bool door_judge_servers(tls_ctx *ctx, struct hf_bytes ca, struct hf_writer *why) HF_MUST_USE;

#endif
