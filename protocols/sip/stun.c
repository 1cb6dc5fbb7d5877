/* STUN binding requests on the SIP port (RFC 5626 5.4, RFC 5389 6, 7.3.1): phones keep their NAT binding open and learn their address
 * by them. Told apart by the two zero bits and the magic cookie; no message of SIP begins with an octet below 32. Called by front.c. */
#include "inside.h"

enum { HEAD = 20, BINDING_REQUEST = 0x0001, BINDING_ANSWER = 0x0101, XOR_MAPPED_ADDRESS = 0x0020 };
#define COOKIE 0x2112a442u

static bool is_binding(struct hf_bytes b)
{
	return b.n >= HEAD && hf_get16(b.p) == BINDING_REQUEST && hf_get32(b.p + 4) == COOKIE && hf_get16(b.p + 2) == b.n - HEAD;
}

/* The address is exclusive-or'ed with the cookie and, of IPv6, the transaction id behind it (RFC 5389 15.2). */
static void write_answer(struct hf_bytes request, const struct hf_addr *source, struct hf_writer *w)
{
	size_t n = hf_addr_ip_len(source);

	hf_w_u16(w, BINDING_ANSWER);
	hf_w_u16(w, (uint16_t)(8 + n));
	hf_w_mem(w, request.p + 4, HEAD - 4);
	hf_w_u16(w, XOR_MAPPED_ADDRESS);
	hf_w_u16(w, (uint16_t)(4 + n));
	hf_w_u16(w, source->family == 6 ? 2 : 1);
	hf_w_u16(w, (uint16_t)(source->port ^ (COOKIE >> 16)));
	for (size_t i = 0; i < n; i++)
		hf_w_u8(w, source->ip[i] ^ request.p[4 + i]);
}

bool sip_stun(struct sip_step *s)
{
	enum { MOST = HEAD + 8 + 16 };
	struct hf_writer w;
	struct hf_send *send;
	uint8_t *p;

	if (!is_binding(s->ev->bytes))
		return false;
	p = hf_arena_alloc(s->ctx->arena, MOST);
	if (!p) {
		sip_drop(s, HF_R_NO_MEMORY);
		return true;
	}
	w = hf_writer_on(p, MOST);
	write_answer(s->ev->bytes, &s->ev->source, &w);
	send = &hf_act(s->acts, HF_ACT_SEND)->send;
	send->to = HF_TO_SOURCE;
	send->base = hf_writer_view(&w);
	sip_drop(s, SIP_R_STUN);
	return true;
}
