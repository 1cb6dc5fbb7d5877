/* How long an answer of a name server holds, where the library's own reader does not tell (private to net). Pure; any thread. */
#ifndef NET_DNS_TTL_H
#define NET_DNS_TTL_H

#include "holdfast/bytes.h"

/* The shortest time of the answers in a message (RFC 1035 4.1), in seconds; 0: it has none, or is not whole. O(octets). */
uint32_t dns_ttl(struct hf_bytes message);

#endif
