/* What goes out for a held request: the request again, ACK and CANCEL of our own (RFC 3261 17.1.1.3, 9.1), notes to its hold. Decides nothing:
 * hold.c does. */
#include "hold.h"

bool sip_held_read(struct sip_step *s, struct sip_step *out)
{
	struct sip_parcel *p = s->held && s->held->bytes.n ? hf_arena_alloc(s->ctx->arena, sizeof *p) : NULL;

	if (!p)
		return false;
	memset(&p->came, 0, sizeof *p - offsetof(struct sip_parcel, came));
	p->came = *s->held;
	*out = (struct sip_step){.ctx = s->ctx, .ev = &p->came, .stream = hf_transport_is_stream(p->came.transport), .late = true, .conf = s->conf, .p = p, .acts = s->acts,
		.held = s->held};
	if (sip_scan(p->came.bytes, !sip_whole(out), &s->conf->limits, s->ctx->arena, &p->msg) != SIP_GOOD)
		return false; /* the limits have become tighter meanwhile */
	sip_look(out);
	if (!s->ctx->seen.octets.p)
		sip_seen(out); /* a hold that wakes: there is no other message */
	p->side = SIP_FROM_CLIENT;
	return true;
}

uint64_t sip_held_tag(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	const struct sip_old_via old = {m->via[0].text, m->from_tag, m->call_id, m->cseq_text, m->uri.text};

	return sip_transaction(s->ctx->site, sip_branch_magic(m->via[0].branch) ? m->via[0].branch : HF_NONE, m->via[0].sent_by, &old);
}

bool sip_out_to(struct sip_step *s, const struct hf_chosen *c, struct sip_out *out)
{
	*out = (struct sip_out){.server = c->server, .cookie_server = c->server, .transport = c->transport};
	out->out = sip_face_of(s->ctx->arena, c->out, &c->out_addr);
	out->in = sip_face_of(s->ctx->arena, s->ev->listener, &s->ev->local);
	out->sent_by = out->out.text;
	if (out->out.transport != c->transport && !hf_transport_is_web(out->in.transport))
		out->out = out->in; /* there is no listener of the server's transport: it reaches us where the client does */
	return out->sent_by.p && out->in.text.p;
}

/* A long datagram becomes a message on a connection (RFC 3261 18.1.1): by the length of what goes out, unless what it belongs to has decided. Only the
 * transport in our Via is another then: sent-by stays, since servers tell transactions apart by it (17.2.3), and so does Record-Route, since what comes
 * later is of other lengths. */
static bool compose(struct sip_step *r, const struct hf_chosen *c, struct hf_send *send)
{
	enum sip_way *way = &r->p->way;
	struct sip_out out;

	if (!sip_out_to(r, c, &out) || !sip_edit(r, &out, send))
		return false;
	if (c->transport == HF_UDP && *way == SIP_WAY_BY_LENGTH && r->conf->udp_to_tcp)
		*way = sip_sent_length(send) > r->conf->udp_to_tcp ? SIP_WAY_CONNECTION : SIP_WAY_DATAGRAM;
	send->transport = sip_over(r->p, c);
	if (send->transport == out.transport)
		return true;
	out.transport = send->transport;
	return sip_edit(r, &out, send);
}

bool sip_send_to(struct sip_step *r, const struct hf_chosen *c)
{
	struct hf_send send = {.to = HF_TO_SERVER, .server = c->server};

	if (!compose(r, c, &send))
		return false;
	hf_act(r->acts, HF_ACT_SEND)->send = send;
	return true;
}

/* ---- ACK and CANCEL ---- */

/* What the server saw as the Request-URI, and the Routes that were left. */
static struct hf_bytes uri_of(const struct sip_step *r) { return r->p->strict ? r->p->msg.route_last.uri.text : r->p->msg.uri.text; }

static void write_routes(const struct sip_step *r, struct hf_writer *w)
{
	const struct sip_msg *m = &r->p->msg;
	struct hf_bytes list = m->routes_text, value;

	for (unsigned i = 0; i < m->n_routes - (r->p->strict ? 1 : 0) && sip_value_next(&list, &value); i++) {
		if (i < r->p->own_routes)
			continue;
		hf_w_str(w, "Route: ");
		hf_w_bytes(w, value);
		hf_w_str(w, "\r\n");
	}
}

static void write_rest(const struct sip_msg *m, const char *method, struct hf_writer *w)
{
	hf_w_str(w, "Max-Forwards: 70\r\nFrom: ");
	hf_w_bytes(w, m->from);
	hf_w_str(w, "\r\nTo: ");
	hf_w_bytes(w, m->to);
	hf_w_str(w, "\r\nCall-ID: ");
	hf_w_bytes(w, m->call_id);
	hf_w_str(w, "\r\nCSeq: ");
	hf_w_bytes(w, m->cseq_text);
	hf_w_str(w, " ");
	hf_w_str(w, method);
	hf_w_str(w, "\r\nContent-Length: 0\r\n\r\n");
}

static void send_text(struct sip_step *s, struct hf_writer *w, enum sip_method method, uint32_t server, enum hf_transport over)
{
	struct hf_send *send;

	if (!w->p || w->full) {
		sip_count(s, HF_R_NO_MEMORY);
		return;
	}
	send = &hf_act(s->acts, HF_ACT_SEND)->send;
	send->to = HF_TO_SERVER;
	send->server = server;
	send->transport = over;
	send->base = hf_writer_view(w);
	send->name = (uint16_t)(method + 1);
}

static void write_start(const char *method, struct hf_bytes uri, struct hf_writer *w)
{
	hf_w_str(w, method);
	hf_w_str(w, " ");
	hf_w_bytes(w, uri);
	hf_w_str(w, " SIP/2.0\r\n");
}

enum { ROOM = 640 }; /* our Via and the names */

void sip_send_ack(struct sip_step *s, const struct sip_step *r, uint32_t server)
{
	const struct sip_msg *m = &s->p->msg;
	struct sip_uri to;
	struct hf_bytes uri = r ? uri_of(r) : sip_uri_read(m->to_addr, &to) ? m->to_addr : HF_NONE;
	size_t cap = m->raw.n + uri.n + ROOM + (r ? r->p->msg.routes_text.n + 9 * r->p->msg.n_routes : 0);
	struct hf_writer w = hf_writer_on(hf_arena_alloc(s->ctx->arena, cap), cap);

	if (!w.p || !uri.n) {
		sip_count(s, HF_R_NO_MEMORY);
		return;
	}
	write_start("ACK", uri, &w);
	hf_w_str(&w, "Via: ");
	hf_w_bytes(&w, m->via[0].text);
	hf_w_str(&w, "\r\n");
	if (r)
		write_routes(r, &w);
	write_rest(m, "ACK", &w);
	send_text(s, &w, SIP_ACK, server, hf_bytes_eq(m->via[0].transport, HF_LIT("TCP")) ? HF_TCP : HF_UDP); /* as what it acknowledges */
}

void sip_send_cancel(struct sip_step *r, const struct hf_chosen *c)
{
	const struct sip_msg *m = &r->p->msg;
	size_t cap = m->raw.n + ROOM + 9 * m->n_routes;
	struct hf_writer w = hf_writer_on(hf_arena_alloc(r->ctx->arena, cap), cap);
	struct sip_out out;

	if (!w.p || !sip_out_to(r, c, &out)) {
		sip_count(r, HF_R_NO_MEMORY);
		return;
	}
	out.transport = sip_over(r->p, c);
	write_start("CANCEL", uri_of(r), &w);
	sip_write_via(r, &out, &w);
	write_routes(r, &w);
	write_rest(m, "CANCEL", &w);
	send_text(r, &w, SIP_CANCEL, c->server, out.transport);
}

/* ---- notes ---- */

static void note(struct sip_step *s, const struct sip_hf *hf, uint8_t what, unsigned status)
{
	struct hf_act *a = hf_act(s->acts, HF_ACT_NOTE);

	a->note.to = hf->hold;
	a->note.octets[0] = what;
	hf_put16(a->note.octets + 2, (uint16_t)status);
	hf_put32(a->note.octets + 4, hf->server);
}

void sip_note_answer(struct sip_step *s, const struct sip_hf *hf) { note(s, hf, SIP_NOTE_ANSWER, s->p->msg.status); }
void sip_note_failed(struct sip_step *s, const struct sip_hf *hf) { note(s, hf, SIP_NOTE_FAILED, 0); }
void sip_note_datagram(struct sip_step *s, const struct sip_hf *hf) { note(s, hf, SIP_NOTE_DATAGRAM, 0); }
