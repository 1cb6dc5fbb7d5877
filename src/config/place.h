/* Transports and addresses as `listen` and `server` lines have them (config floor, inside). */
#ifndef PLACE_H
#define PLACE_H

#include "finding.h"

/* [TRANSPORT://]ADDRESS[:PORT]; where host is not NULL a name may stand for the address. what: the option, "server" for who is dialled. front NULL: its
 * protocol is not known, transports are not checked. False: a finding says why. */
bool place_read(const char *what, struct hf_bytes text, const struct hf_front *front, unsigned line, enum hf_transport *transport, struct hf_addr *addr, struct hf_bytes *host,
		struct finding_to *to);
/* Of what place_read takes: its port is written. */
bool place_has_port(struct hf_bytes text);
/* _SERVICE._PROTOCOL.DOMAIN: a name that has SRV records (RFC 2782). */
bool place_is_service(struct hf_bytes b);
/* A host name, or an address. */
bool place_is_name(struct hf_bytes b);
/* HOST[:PORT], a name or an address: it is told to peers, never looked up. */
bool place_is_host_port(struct hf_bytes b);

#endif
