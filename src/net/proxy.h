/* The PROXY protocol, versions 1 and 2, as a balancer in front of us sends it (haproxy's proxy-protocol.txt). Pure; any thread. */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "holdfast/addr.h"

enum proxy_verdict { PROXY_MORE, PROXY_GOOD, PROXY_BAD };
#define PROXY_MAX 1040 /* 16 octets and what follows: addresses, and more TLVs than anybody sends */

/* Reads the header that `got` begins with. GOOD: *used octets are the header; source and local are what it says, untouched when it says
 * LOCAL, UNKNOWN or a family that we do not know. */
enum proxy_verdict proxy_read(struct hf_bytes got, size_t *used, struct hf_addr *source, struct hf_addr *local);

#endif
