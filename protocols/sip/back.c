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
