/* RDP over UDP (MS-RDPEUDP): the SYN datagram with which a client opens a transport beside its connection. Nothing else of it is read. Any thread. */
#ifndef HOLDFAST_RDP_SYN_H
#define HOLDFAST_RDP_SYN_H

#include "holdfast/front.h"

struct syn {
	struct hf_bytes id; /* of the connection, X224_ID octets in big-endian order; may be empty. A view into what was read */
};

/* 0, or a reason (reasons.h): it opens nothing. Pure. */
unsigned syn_read(struct hf_bytes in, struct syn *syn) HF_MUST_USE;

/* By which names a connection is found (hf_act.relay.names, hf_ask.beside): its id as its request brought it, 0 when it is empty; its client's address. */
uint64_t syn_id_name(const struct hf_ctx *ctx, struct hf_bytes id);
uint64_t syn_source_name(const struct hf_ctx *ctx, const struct hf_addr *source);

/* A datagram that belongs to nothing yet. */
void syn_step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts);

#endif
