/* Connections that were accepted, of all workers, by who is at their other end: a message to that address goes over the connection that its owner has
 * opened, in place of a new one that a NAT, or a phone that listens nowhere, would not take. Any worker; each call takes one lock. */
#ifndef NET_PEERS_H
#define NET_PEERS_H

#include "flow.h"

struct peers;
struct peers *peers_new(const uint8_t key[16]) HF_MUST_USE;
void peers_free(struct peers *p); /* NULL is fine */
/* The flow's source, local address and service are its own from now on; it leaves before it is freed. Twice is once. */
void peers_enter(struct peers *p, struct flow *f);
void peers_leave(struct peers *p, struct flow *f);
/* The connection of a service to there, over this transport or, for WebSockets, either of theirs. False: there is none. */
bool peers_find(struct peers *p, uint16_t service, const struct hf_addr *to, enum hf_transport t, struct hf_flow_name *out) HF_MUST_USE;

#endif
