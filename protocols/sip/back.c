/* A request that net had taken and could not deliver after all: a server did not take the connection, or a client's was gone on another
 * worker. It comes back as it went out, and all that is to be known of it stands in it: our Via parameter on top leads to whoever sent it.
 * Nothing else is kept while a message is on its way. Called by front.c. */
#include "hold.h"

/* What we wrote into a message does not count against the limits of the message that we were given. */
enum { OUR_OCTETS = 2048, OUR_LINES = 8 };

struct back {
	struct sip_parcel parcel;
	struct sip_hf hf;
};

/* It was long, and there is no connection to its server, or its phone's has ended: then it goes as a datagram (RFC 3261 18.1.1). False: it was not that. */
static bool find_way(const struct sip_step *s, const struct sip_hf *hf, struct hf_send *send)
{
	const struct hf_chosen *c = s->ev->chosen;

	if (!hf->server && s->ev->transport == HF_UDP) {
		*send = (struct hf_send){.to = HF_TO_NEXT_HOP, .addr = s->ev->source, .transport = HF_UDP};
		return true;
	}
	*send = (struct hf_send){.to = HF_TO_SERVER, .server = hf->server};
	return c && c->out && c->transport == HF_UDP && c->server == hf->server && s->ev->reason != HF_R_SERVER_OFF && s->ev->reason != HF_R_SEND_FULL;
}

/* Its Via alone says how it went, behind "SIP/2.0/". */
static bool as_datagram(struct sip_step *s, const struct sip_hf *hf)
{
	const struct sip_msg *m = &s->p->msg;
	uint32_t at = m->via[0].value.at + (uint32_t)(sizeof "SIP/2.0/" - 1);
	struct hf_splice *udp;
	struct hf_send send;

	if (m->raw.n > SIP_DATAGRAM_MAX || !find_way(s, hf, &send))
		return false;
	if (!hf_bytes_eq(hf_bytes_sub(m->raw, at, 3), HF_LIT("TCP")) || !(udp = hf_arena_alloc(s->ctx->arena, sizeof *udp)))
		return false;
	*udp = (struct hf_splice){at, 3, HF_LIT("UDP")};
	send.base = m->raw;
	send.splices = udp;
	send.n_splices = 1;
	send.name = (uint16_t)(m->method_id + 1);
	hf_act(s->acts, HF_ACT_SEND)->send = send;
	sip_count(s, SIP_R_NO_TCP);
	if (hf->has_hold && hf->boot == s->ctx->site->boot && m->method_id != SIP_ACK && m->method_id != SIP_CANCEL)
		sip_note_datagram(s, hf);
	return true;
}

void sip_back(struct sip_step *s)
{
	struct back *b = hf_arena_alloc(s->ctx->arena, sizeof *b);
	struct sip_limits limits = s->conf->limits;
	struct sip_msg *m;

	if (!b) {
		sip_drop(s, HF_R_NO_MEMORY);
		return;
	}
	memset(b, 0, sizeof *b);
	m = &b->parcel.msg;
	s->p = &b->parcel;
	limits.message += OUR_OCTETS;
	limits.headers += OUR_LINES;
	if (sip_scan(s->ev->bytes, true, &limits, s->ctx->arena, m) != SIP_GOOD) {
		sip_drop(s, s->ev->reason);
		return;
	}
	hf_act(s->acts, HF_ACT_TOOK)->need = m->used;
	if (!sip_read_ours(s, &b->hf)) { /* a response, as a rule */
		sip_drop(s, s->ev->reason);
		return;
	}
	if (as_datagram(s, &b->hf))
		return;
	b->parcel.to_flow = s->ev->reason == HF_R_FLOW_GONE && !b->hf.server;
	if (b->hf.has_hold && b->hf.boot == s->ctx->site->boot) { /* whoever holds it knows what to do */
		if (m->method_id != SIP_ACK && m->method_id != SIP_CANCEL)
			sip_note_failed(s, &b->hf);
		sip_drop(s, s->ev->reason);
		return;
	}
	s->back = &b->hf;
	s->stream = b->hf.has_connection;
	sip_failed(s, s->ev->reason);
}
