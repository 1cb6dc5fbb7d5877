/* TLS: what a service shows its clients and asks of them, what a pool's servers are asked and shown, and the layer (wire.h) over a connection.
 * The keys and files are read once, when a configuration is built; a connection goes on with what it began with. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "holdfast/config.h"
#include "wire.h"

#define TLS_TICKET_KEYS 80 /* octets: what a reload hands on, so that resumption goes on */

struct tls; /* one side's identity and rules; counted, since connections outlive configurations. Any thread */

/* Control thread. NULL: `why` says which file is no good and what is wrong with it; it names no service or pool. */
struct tls *tls_serve(const struct hf_conf_service *c, const uint8_t keys[TLS_TICKET_KEYS], struct hf_writer *why) HF_MUST_USE;
struct tls *tls_reach(const struct hf_conf_pool *c, struct hf_writer *why) HF_MUST_USE;
struct tls *tls_keep(struct tls *t); /* of one more owner; returns t, which may be NULL */
void tls_drop(struct tls *t); /* NULL is fine */
/* Differs where a peer would see or be asked something else, or must prove another name (as in tls_dial): a connection is used again only by who has
 * the same. */
uint32_t tls_identity(const struct tls *t, struct hf_bytes name);

/* A layer over `below` (owned from then on) or over the socket; it keeps t. NULL: no memory. */
struct wire *tls_accept(struct tls *t, struct wire *below, int fd) HF_MUST_USE;
/* name: what the server's certificate must name, and what it is told it is asked for (SNI); empty: the address. */
struct wire *tls_dial(struct tls *t, struct wire *below, int fd, struct hf_bytes name, const struct hf_addr *addr) HF_MUST_USE;
/* What a layer of tls_dial was asked for by name; empty: by its address, or there is none. As long as w. */
struct hf_bytes tls_host(const struct wire *w);
/* Why the layer of tls_dial or tls_accept failed, for people; "": it did not, or the socket did. Never freed. */
const char *tls_text(const struct wire *w);

#endif
