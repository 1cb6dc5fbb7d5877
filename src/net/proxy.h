/* The PROXY protocol (haproxy's proxy-protocol.txt): versions 1 and 2 as a balancer in front of us sends it, version 2 as we tell servers. Pure; any thread. */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "holdfast/addr.h"
#include "holdfast/writer.h"

enum proxy_verdict { PROXY_MORE, PROXY_GOOD, PROXY_BAD };
#define PROXY_MAX 1040 /* 16 octets and what follows: addresses, and more TLVs than anybody sends */

/* Reads the header that `got` begins with. GOOD: *used octets are the header; source and local are what it says, untouched when it says
 * LOCAL, UNKNOWN or a family that we do not know. */
enum proxy_verdict proxy_read(struct hf_bytes got, size_t *used, struct hf_addr *source, struct hf_addr *local);

#define PROXY_HEADER_MAX 52 /* octets of the longest that we write: IPv6 */
/* A header of version 2: a connection of `source` that came to `local`. One of our own (source NULL), or addresses of two families: LOCAL, which says
 * nothing of anybody. */
void proxy_write(struct hf_writer *w, const struct hf_addr *source, const struct hf_addr *local);

#endif
