/* From a SYN datagram to the connection that it belongs to, whose host it goes to; see syn.h. The host proves the rest: what it gave its client inside TLS
 * comes back inside the transport (MS-RDPEMT 3.2.5.1), so that with any other host the transport would fail. Called by front.c. */
#include "syn.h"

#include "option.h"
#include "reasons.h"
#include "x224.h"

/* MS-RDPEUDP 2.2.2.1: snSourceAck 4, uReceiveWindowSize 2, uFlags 2; 2.2.2.5: snInitialSequenceNumber 4, uUpStreamMtu 2, uDownStreamMtu 2; then, by a
 * flag, 2.2.2.8: uCorrelationId 16, 16 zeros. All numbers are big-endian. */
#define HEADER 8u
#define AT_FLAGS 6u
#define AT_MTU 12u
#define AT_ID 16u
#define NOTHING_YET 0xffffffffu /* snSourceAck of a SYN (3.1.5.1.1) */
#define MTU_MIN 1132u           /* both ways (3.1.5.1.1) */
#define MTU_MAX 1232u

enum { /* uFlags */
	SYN = 0x0001,
	HAS_ID = 0x0800,
	OPENED = 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0100, /* FIN, ACK, DATA, FEC, ACK_OF_ACKS: only of a transport that is open */
};

static bool is_mtu(const uint8_t *p) { return hf_get16(p) >= MTU_MIN && hf_get16(p) <= MTU_MAX; }

/* A SYN is filled up with zeros (3.1.5.1.1), so that what answers it is no larger than it is: a short one is none. */
unsigned syn_read(struct hf_bytes in, struct syn *syn)
{
	unsigned flags;

	*syn = (struct syn){0};
	if (in.n < HEADER)
		return RDP_R_UDP_SHORT;
	flags = hf_get16(in.p + AT_FLAGS);
	if (!(flags & SYN))
		return RDP_R_UDP_NO_FLOW;
	if (flags & OPENED || hf_get32(in.p) != NOTHING_YET)
		return RDP_R_UDP_FLAGS;
	if (in.n < MTU_MIN)
		return RDP_R_UDP_SHORT;
	if (!is_mtu(in.p + AT_MTU) || !is_mtu(in.p + AT_MTU + 2))
		return RDP_R_UDP_MTU;
	if (flags & HAS_ID)
		syn->id = hf_bytes_sub(in, AT_ID, X224_ID);
	return 0;
}

/* ---- names ---- */

uint64_t syn_id_name(const struct hf_ctx *ctx, struct hf_bytes id)
{
	return id.n ? hf_fingerprint(ctx->site->hash_key, HF_LIT("udp-id"), id, X224_ID) : 0;
}

uint64_t syn_source_name(const struct hf_ctx *ctx, const struct hf_addr *source)
{
	struct hf_addr a = *source;

	hf_addr_unmap(&a);
	return hf_fingerprint(ctx->site->hash_key, HF_LIT("udp-source"), hf_addr_ip(&a), SIZE_MAX);
}

/* A GUID in its other order: its first three numbers (4, 2 and 2 octets) turned round, the eight octets behind them as they are (MS-DTYP 2.3.4). */
static uint64_t turned_name(const struct hf_ctx *ctx, struct hf_bytes id)
{
	static const uint8_t from[X224_ID] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	uint8_t other[X224_ID];

	for (unsigned i = 0; id.n && i < X224_ID; i++)
		other[i] = id.p[from[i]];
	return id.n ? syn_id_name(ctx, hf_bytes_of(other, sizeof other)) : 0;
}

/* ---- the step ---- */

static void drop(struct hf_acts *acts, unsigned reason) { hf_act(acts, HF_ACT_DROP)->end.reason = reason; }

static void opening(const struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct syn syn;
	unsigned bad = syn_read(ev->bytes, &syn);
	uint64_t *beside;

	if (bad) {
		drop(acts, bad);
		return;
	}
	beside = hf_act(acts, HF_ACT_ASK)->ask.beside;
	beside[0] = syn_id_name(ctx, syn.id);
	beside[1] = turned_name(ctx, syn.id);
	beside[2] = syn_source_name(ctx, &ev->source);
}

void syn_step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const struct rdp_conf *conf = ctx->conf;

	if (ev->kind == HF_EV_BYTES)
		opening(ctx, ev, acts);
	else if (ev->kind == HF_EV_CHOICE && ev->chosen->server)
		hf_act(acts, HF_ACT_RELAY)->relay.idle_ms = (uint32_t)conf->udp_idle;
	else if (ev->kind == HF_EV_CHOICE)
		drop(acts, ev->chosen->none);
}
