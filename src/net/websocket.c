/* A connection that is a WebSocket: its opening, its frames, and what it is told (RFC 6455). Between the connection's octets, which may be TLS's,
 * and its messages: stream.c calls it where those go in and out. Knows no protocol but the name of one, which the front gives. */
#include "flow.h"

static void refuse(struct flow *f, unsigned reason)
{
	f->stream->web.closing = true; /* it has its answer */
	stream_end_later(f, reason);
}

/* ---- in ---- */

static size_t opening(struct flow *f, const struct snap_service *s)
{
	const struct ws_policy policy = {.protocol = f->rt->front->web_protocol, .origins = s->conf->web_origins};
	uint8_t text[WS_ANSWER_MAX];
	struct hf_writer w = hf_writer_on(text, sizeof text);
	size_t used = 0;
	enum ws_opening v = ws_open(buf_view(&f->side[HF_CLIENT].in), &policy, &used, &w);

	if (v == WS_HEAD_MORE)
		return 0;
	if (!stream_say(f, hf_writer_view(&w)))
		refuse(f, HF_R_NO_MEMORY);
	else if (v == WS_HEAD_BAD)
		refuse(f, HF_R_WEB_REFUSED);
	else
		f->stream->web.open = true;
	return v == WS_HEAD_GOOD ? used : 0;
}

static void say(struct flow *f, enum ws_opcode opcode, const uint8_t *p, size_t n)
{
	uint8_t frame[WS_HEAD_OUT + WS_CONTROL_MAX];
	size_t head = ws_head(frame, opcode, n);

	if (n)
		memcpy(frame + head, p, n);
	if (!stream_say(f, hf_bytes_of(frame, head + n)))
		refuse(f, HF_R_SEND_FULL); /* it does not read */
}

static void say_close(struct flow *f, unsigned code)
{
	uint8_t p[2];

	if (f->stream->web.closing || !f->stream->web.open)
		return;
	f->stream->web.closing = true;
	hf_put16(p, (uint16_t)code);
	say(f, WS_CLOSE, p, sizeof p);
}

static void end(struct flow *f, unsigned code, unsigned reason)
{
	say_close(f, code);
	stream_end_later(f, reason);
}

void web_too_long(struct flow *f) { end(f, WS_TOO_LONG, HF_R_TOO_BIG); }

size_t web_take(struct flow *f, const struct snap_service *s, struct hf_bytes *message)
{
	struct side *c = &f->side[HF_CLIENT];
	uint8_t *p = c->in.b->p + c->in.b->at;
	enum ws_got got;
	struct ws_in in;

	*message = HF_NONE;
	if (!f->stream->web.open)
		return opening(f, s);
	got = ws_take(&f->stream->web.ws, p, buf_len(&c->in), f->rt->front->web_message, &in);
	if (in.ping)
		say(f, WS_PONG, in.echo, in.n_echo);
	switch (got) {
	case WS_GOT_MESSAGE:
		*message = hf_bytes_of(p, in.size);
		return in.used;
	case WS_GOT_MORE:
		c->in.b->n = c->in.b->at + (uint32_t)in.left;
		c->need = (uint32_t)in.need;
		return 0;
	case WS_GOT_LONG:
		*message = hf_bytes_of(p, in.size);
		return 0;
	case WS_GOT_CLOSE:
	case WS_GOT_BAD:
		end(f, in.code, got == WS_GOT_CLOSE ? HF_R_DONE : HF_R_WEB_BROKEN);
	}
	return 0;
}

/* ---- out ---- */

/* As the client speaks, but a browser ends the connection over text that is none. */
size_t web_frame(const struct flow *f, uint8_t *p, size_t n)
{
	bool text = f->stream->web.ws.text && ws_utf8(hf_bytes_of(p + WEB_HEAD, n));
	size_t head = ws_head_len(n);

	if (head != WEB_HEAD)
		memmove(p + head, p + WEB_HEAD, n);
	return ws_head(p, text ? WS_TEXT : WS_BINARY, n) + n;
}

/* What comes back, or does not, is the connection's own business. */
void web_ping(struct flow *f) { say(f, WS_PING, NULL, 0); }

void web_bye(struct flow *f)
{
	if (f->stream->web.on)
		say_close(f, WS_GOING_AWAY);
}
