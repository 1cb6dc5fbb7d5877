/* Connections: where a message begins and ends (RFC 3261 7.5, 18.3), keep-alives (RFC 5626 4.4.1), and when a connection has to end.
 * Framing is the scanner's, by Content-Length alone; where it is lost nothing is guessed: the connection ends.
 * Between steps it keeps a few octets in the connection's state, and nothing of a message. Called by front.c around the scan. */
#include "inside.h"

/* What is kept of a connection; zero at its start. */
struct conn {
	uint32_t looked; /* octets that hold no end of a head: octet by octet, a head must not be searched from its start each time */
	bool crlf;       /* the last that came was one CRLF: a second makes a ping */
};
_Static_assert(sizeof(struct conn) <= HF_FLOW_STATE, "conn");

static bool end_with(struct sip_step *s, unsigned reason)
{
	s->closes = true;
	sip_drop(s, reason);
	return false;
}

static bool more(struct sip_step *s, size_t need)
{
	if (s->ev->eof)
		return end_with(s, s->ev->member ? HF_R_SERVER_CLOSED : HF_R_CLIENT_CLOSED);
	hf_act(s->acts, HF_ACT_MORE)->need = need;
	return false;
}

/* Two CRLF are a ping and get one; a lone one means nothing, and is not waited with. */
static bool crlf(struct sip_step *s, struct conn *c)
{
	hf_act(s->acts, HF_ACT_TOOK)->need = 2;
	if (c->crlf) {
		struct hf_send *send = &hf_act(s->acts, HF_ACT_SEND)->send;

		send->to = HF_TO_SOURCE;
		send->base = HF_LIT("\r\n");
	}
	c->crlf = !c->crlf;
	sip_drop(s, SIP_R_PING);
	return false;
}

bool sip_stream_ready(struct sip_step *s)
{
	struct conn *c = s->ctx->flow;
	struct hf_bytes b = s->ev->bytes;
	size_t from = c->looked > 3 ? c->looked - 3 : 0;

	if (b.n == 0 || (b.n == 1 && b.p[0] == '\r'))
		return more(s, b.n + 1);
	if (hf_bytes_starts(b, HF_LIT("\r\n")))
		return crlf(s, c);
	c->crlf = false;
	if (!c->looked || b.n > s->conf->limits.message || memmem(b.p + from, b.n - from, "\r\n\r\n", 4))
		return true; /* at first too: the scanner tells by one octet what can never be a message */
	c->looked = (uint32_t)b.n;
	return more(s, b.n + 1);
}

bool sip_stream_take(struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	struct conn *c = s->ctx->flow;

	if (m->fault == SIP_INCOMPLETE) {
		if (m->need)
			return more(s, m->need);
		c->looked = (uint32_t)s->ev->bytes.n;
		return more(s, s->ev->bytes.n + 1);
	}
	c->looked = 0;
	s->closes = !m->framed;
	if (m->framed)
		hf_act(s->acts, HF_ACT_TOOK)->need = m->used;
	return true;
}
