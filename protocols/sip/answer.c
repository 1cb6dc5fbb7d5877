/* Answers of our own, stateless: the same request gets the same answer, and its ACK is known by the To tag (RFC 3261 8.2.6, 8.2.7).
 * They are written here and not by libosip2: what is answered is often malformed, and the fields have to come back as they were.
 * Over UDP an answer is never longer than its request, so that a forged source gains nothing. Knows no engine. */
#include "inside.h"

/* What an answer over a stream may have beyond its request: status line, phrase, To tag, received, Retry-After, Content-Length. */
enum { STREAM_ROOM = 512 };

static const struct { unsigned status; const char *phrase; } phrases[] = {
	{100, "Trying"}, {200, "OK"}, {400, "Bad Request"}, {416, "Unsupported URI Scheme"}, {420, "Bad Extension"}, {408, "Request Timeout"}, {421, "Extension Required"}, {430, "Flow Failed"}, {482, "Loop Detected"},
	{483, "Too Many Hops"}, {487, "Request Terminated"}, {500, "Server Internal Error"}, {501, "Not Implemented"}, {503, "Service Unavailable"}, {505, "Version Not Supported"}, {513, "Message Too Large"},
};

void sip_drop(struct sip_step *s, unsigned reason) { hf_act(s->acts, s->closes ? HF_ACT_CLOSE : HF_ACT_DROP)->end.reason = reason; }

void sip_count(struct sip_step *s, unsigned reason)
{
	struct hf_act *a = hf_act(s->acts, HF_ACT_DROP);

	a->end.reason = reason;
	a->end.count_only = true;
}

uint16_t sip_return_port(const struct sip_step *s)
{
	const struct sip_via *via = &s->p->msg.via[0];

	if (hf_transport_is_web(s->ev->transport))
		return 0; /* nobody dials there */
	if (via->rport && !s->stream) /* nobody listens at the port that a connection came from */
		return s->ev->source.port;
	return via->port ? via->port : sip_usual_port(s->ev->transport);
}

static const char *phrase_of(const struct sip_refusal *r)
{
	for (unsigned i = 0; i < sizeof phrases / sizeof *phrases && !r->phrase; i++)
		if (phrases[i].status == r->status)
			return phrases[i].phrase;
	return r->phrase ? r->phrase : "";
}

/* A Via line as it came, but for received and rport of the topmost value; that is left out when it is our own. */
static void write_via(struct hf_writer *w, const struct sip_msg *m, struct sip_span line, const struct hf_splice *edits, unsigned n)
{
	uint32_t at = line.at, end = line.at + line.n;

	for (unsigned i = 0; i < n; i++) {
		if (edits[i].at < at || edits[i].at + edits[i].cut > end)
			continue;
		hf_w_mem(w, m->raw.p + at, edits[i].at - at);
		hf_w_bytes(w, edits[i].put);
		at = edits[i].at + edits[i].cut;
	}
	hf_w_mem(w, m->raw.p + at, end - at);
}

static void write_vias(struct sip_step *s, struct hf_writer *w)
{
	const struct sip_msg *m = &s->p->msg;
	struct hf_splice edits[2];
	uint32_t at = m->start_end;
	struct sip_line line;
	unsigned n = 1;

	edits[0] = (struct hf_splice){m->via_cut.at, m->via_cut.n, HF_LIT("")};
	if (!s->back)
		w->full |= !sip_edit_via(s, edits, &n);
	while (at < m->via_end && sip_line_next(m, &at, &line))
		if (line.is_via)
			write_via(w, m, line.line, edits, n);
}

static void write_to(struct sip_step *s, struct hf_writer *w)
{
	const struct sip_msg *m = &s->p->msg;

	hf_w_bytes(w, m->to);
	if (m->to_tag.p)
		return;
	hf_w_str(w, ";tag=");
	sip_to_tag_write(s->ctx->site, m->call_id, m->from_tag, m->cseq_text, w);
}

/* lean: compact names, no phrase and no Content-Length (which UDP does not need), for requests that leave little room. */
static bool write_answer(struct sip_step *s, const struct sip_refusal *r, bool lean, struct hf_writer *w)
{
	const struct sip_msg *m = &s->p->msg;

	hf_w_str(w, "SIP/2.0 ");
	hf_w_dec(w, r->status);
	hf_w_str(w, " ");
	hf_w_str(w, lean ? "" : phrase_of(r));
	hf_w_str(w, "\r\n");
	write_vias(s, w);
	hf_w_str(w, lean ? "f:" : "From: ");
	hf_w_bytes(w, m->from);
	hf_w_str(w, lean ? "\r\nt:" : "\r\nTo: ");
	write_to(s, w);
	hf_w_str(w, lean ? "\r\ni:" : "\r\nCall-ID: ");
	hf_w_bytes(w, m->call_id);
	hf_w_str(w, lean ? "\r\nCSeq:" : "\r\nCSeq: ");
	hf_w_bytes(w, m->cseq_value);
	hf_w_str(w, "\r\n");
	hf_w_bytes(w, r->extra);
	hf_w_str(w, lean ? "\r\n" : "Content-Length: 0\r\n\r\n");
	return !w->full;
}

static void send_answer(struct sip_step *s, unsigned status, struct hf_bytes text)
{
	struct hf_send *send = &hf_act(s->acts, HF_ACT_SEND)->send;

	send->base = text;
	send->name = (uint16_t)(s->p->msg.method_id + 1);
	send->code = (uint16_t)status;
	if (s->back) {
		sip_return_to(s, s->back, send);
		return;
	}
	send->to = s->stream && !s->late ? HF_TO_SOURCE : HF_TO_RETURN;
	if (send->to == HF_TO_SOURCE)
		return;
	if (s->stream) {
		send->flow = s->ev->flow_name;
		send->transport = s->ev->transport;
	}
	send->listener = s->ev->listener->hash;
	send->addr = s->ev->source;
	send->addr.port = sip_return_port(s);
	send->local = sip_local_of(s->ev);
}

static size_t room_of(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	if (s->stream)
		return m->raw.n + STREAM_ROOM;
	return s->back ? m->raw.n - m->via_cut.n : s->ev->bytes.n;
}

void sip_refuse(struct sip_step *s, const struct sip_refusal *r)
{
	const struct sip_msg *m = &s->p->msg;
	size_t cap = room_of(s);
	uint8_t *buf;
	bool lean = false;

	s->p->answered = true;
	if (m->response || m->method_id == SIP_ACK || !m->answerable) {
		sip_drop(s, m->method_id == SIP_ACK && !m->response ? SIP_R_ACK : r->reason);
		return;
	}
	buf = hf_arena_alloc(s->ctx->arena, cap);
	if (!buf) {
		sip_drop(s, HF_R_NO_MEMORY);
		return;
	}
	for (;; lean = true) {
		struct hf_writer w = hf_writer_on(buf, cap);

		if (write_answer(s, r, lean, &w)) {
			send_answer(s, r->status, hf_writer_view(&w));
			sip_drop(s, r->reason);
			return;
		}
		if (lean || s->stream)
			break;
	}
	sip_drop(s, SIP_R_BIG_ANSWER);
}
