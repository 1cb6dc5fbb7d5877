/* All that a client's first octets may be: a pre-connection blob (MS-RDPEPS) before its request, or TLS at once in place of one
 * (MS-RDPBCGR 5.4.2.2), where a service allows it. Pure; any thread. */
#ifndef HOLDFAST_RDP_OPENING_H
#define HOLDFAST_RDP_OPENING_H

#include "option.h"
#include "x224.h"

#define BLOB_MAX 1024u   /* octets of a blob: a virtual machine's id and a few words fit many times */
#define HELLO_MAX 8192u  /* octets of the first TLS record that is waited for; clients' are below 2,000 */

struct opening {
	struct x224_request r; /* `direct`: empty, and len is 0 */
	size_t blob;           /* octets before it */
	bool direct;           /* TLS at once */
};

/* As x224_read, of all octets that came: 0, X224_WAIT or a reason. need: of `in`. */
unsigned opening_read(const struct rdp_conf *conf, struct hf_bytes in, struct opening *o, size_t *need) HF_MUST_USE;

/* The request offers no security protocol that the service asks for. */
bool opening_too_weak(const struct rdp_conf *conf, const struct opening *o);
/* The negotiation failure (MS-RDPBCGR 2.2.1.2.2) that tells such a client so; empty: it would not understand one. */
struct hf_bytes opening_refusal(const struct rdp_conf *conf, const struct opening *o);

#endif
