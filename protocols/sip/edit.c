/* What a forwarded request has that its original had not (RFC 3261 16.6): our Via on top, Record-Route, Path, one hop less,
 * our Routes off, received and rport in the client's Via, a length for streams. All as splices; every other octet goes out as it came. Pure. */
#include "inside.h"

enum { HOPS = 70, HOPS_MAX = 255 }; /* RFC 3261 16.6 step 3, 20.22 */
#define VERSION "SIP/2.0"

/* A list of splices, kept in order, since headers stand in any. */
struct list {
	struct hf_splice *s;
	unsigned n, cap;
	bool full; /* a text found no room in the arena */
};

static void add(struct list *l, uint32_t at, uint32_t cut, struct hf_bytes put)
{
	unsigned i = l->n++;

	HF_BUG_ON(i >= l->cap);
	for (; i > 0 && l->s[i - 1].at > at; i--)
		l->s[i] = l->s[i - 1];
	l->s[i] = (struct hf_splice){at, cut, put};
}

static void put(struct list *l, uint32_t at, uint32_t cut, struct hf_bytes text)
{
	l->full |= !text.p;
	add(l, at, cut, text);
}

/* ---- the client's Via ---- */

/* One block for both texts: rport in front, which has at most 11 octets. Without brackets (RFC 5118 4.5). */
enum { RPORT_ROOM = 16, RECEIVED_ROOM = 64 };

static struct hf_bytes text_received(const struct sip_step *s, uint8_t *p, bool semicolon)
{
	struct hf_writer w = hf_writer_on(p, RECEIVED_ROOM);

	if (semicolon)
		hf_w_str(&w, ";received=");
	else
		hf_w_str(&w, "received=");
	hf_w_ip(&w, &s->ev->source, false);
	return hf_writer_view(&w);
}

static struct hf_bytes text_rport(const struct sip_step *s, uint8_t *p)
{
	struct hf_writer w = hf_writer_on(p, RPORT_ROOM);

	hf_w_str(&w, "rport=");
	hf_w_dec(&w, s->ev->source.port);
	return hf_writer_view(&w);
}

bool sip_edit_via(const struct sip_step *s, struct hf_splice out[2], unsigned *n)
{
	const struct sip_via *v = &s->p->msg.via[0];
	struct list l = {.s = out, .cap = 2};
	uint8_t *p;

	*n = 0;
	if (!s->p->msg.n_vias || !v->value.n)
		return true;
	p = hf_arena_alloc(s->ctx->arena, RPORT_ROOM + RECEIVED_ROOM);
	if (!p)
		return false;
	if (v->rport)
		add(&l, v->rport_span.at, v->rport_span.n, text_rport(s, p));
	if (v->received_span.n)
		add(&l, v->received_span.at, v->received_span.n, text_received(s, p + RPORT_ROOM, false));
	else if (v->rport || sip_seen_elsewhere(s))
		add(&l, v->value.at + v->value.n, 0, text_received(s, p + RPORT_ROOM, true));
	*n = l.n;
	return true;
}

/* ---- our headers ---- */

static void write_branch(const struct sip_step *s, uint32_t server, uint8_t out[SIP_BRANCH_LEN])
{
	const struct sip_msg *m = &s->p->msg;
	const struct sip_old_via old = {m->via[0].text, m->from_tag, m->call_id, m->cseq_text, m->uri.text};

	if (sip_branch_magic(m->via[0].branch))
		sip_branch(s->ctx->site, m->via[0].branch, m->via[0].sent_by, server, out);
	else
		sip_branch_old(s->ctx->site, &old, server, out);
}

void sip_write_via(const struct sip_step *s, const struct sip_out *o, struct hf_writer *w)
{
	const struct hf_event *ev = s->ev;
	uint8_t branch[SIP_BRANCH_LEN];
	struct sip_hf hf = {.opening = !s->p->msg.to_tag.p, .boot = s->ctx->site->boot, .listener = ev->listener->hash, .server = o->server,
			    .loop = s->p->loop, .source = ev->source, .local = sip_local_of(ev)};
	static const char *const names[HF_TRANSPORTS] = {"UDP", "TCP", "TLS", "WS", "WSS"};

	hf.source.port = sip_return_port(s);
	if (s->p->hold.generation) {
		hf.has_hold = true;
		hf.hold = s->p->hold;
	}
	if (s->stream) {
		hf.has_connection = true;
		hf.connection = ev->flow_name;
	}
	write_branch(s, o->server, branch);
	hf_w_str(w, "Via: " VERSION "/");
	hf_w_str(w, names[o->transport]);
	hf_w_str(w, " ");
	hf_w_bytes(w, o->sent_by);
	hf_w_str(w, ";branch=");
	hf_w_mem(w, branch, sizeof branch);
	hf_w_str(w, ";hf=");
	sip_hf_write(s->ctx->site, &hf, hf_bytes_of(branch, sizeof branch), w);
	hf_w_str(w, "\r\n");
}

/* sips: says by itself that it is TLS (RFC 3261 19.1.2, 26.2.2). There is no transport=wss (RFC 7118 5.2). */
static void write_uri_end(const struct sip_face *f, bool sips, const char *more, struct hf_writer *w)
{
	hf_w_bytes(w, f->text);
	if (f->transport != HF_UDP && !(sips && f->transport == HF_TLS)) {
		hf_w_str(w, ";transport=");
		hf_w_str(w, hf_transport_name(f->transport == HF_WSS ? HF_WS : f->transport));
	}
	hf_w_str(w, ";lr");
	hf_w_str(w, more);
	hf_w_str(w, ">\r\n");
}

/* Where it goes next is a sips: URI: then so are we (RFC 3261 16.6 step 4). */
static bool is_sips(const struct sip_step *s)
{
	const struct sip_parcel *p = s->p;
	unsigned left = p->msg.n_routes - p->own_routes - (p->strict ? 1 : 0);

	if ((p->strict ? &p->msg.route_last.uri : &p->msg.uri)->sips)
		return true;
	return left && p->own_routes < SIP_MAX_ROUTES && p->msg.route[p->own_routes].uri.sips;
}

/* The way back to the client of this request: its connection, or the address it came from. */
static struct sip_flow flow_of(const struct sip_step *s)
{
	struct sip_flow f = {.listener = s->ev->listener->hash, .remote = s->ev->source, .local = sip_local_of(s->ev), .stream = s->stream,
			     .connection = s->ev->flow_name};

	f.connection.boot = s->ctx->site->boot;
	return f;
}

/* The side that opened the dialog signs it with its tag; a NOTIFY may be what makes the other side's dialog (RFC 6665 4.4.1).
 * flow: of a client that nothing else leads to, in place of the cookie, which the other value has. */
static void write_record_route(const struct sip_step *s, const struct sip_out *o, const struct sip_face *face, const struct sip_flow *flow, struct hf_writer *w)
{
	const struct sip_parcel *p = s->p;
	bool from_opens = p->has_cookie ? p->from_opener : !p->msg.to_tag.p;
	bool sips = is_sips(s) && hf_transport_is_secure(face->transport); /* a trusted hop is no safe one, and must not be called so */
	struct sip_cookie c = {p->has_cookie ? p->cookie.server_opened : from_opens == (p->side == SIP_FROM_MEMBER), o->cookie_server};

	hf_w_str(w, sips ? "Record-Route: <sips:" : "Record-Route: <sip:");
	if (flow)
		sip_flow_write(s->ctx->site, flow, w);
	else if (c.server)
		sip_cookie_write(s->ctx->site, &c, p->msg.call_id, from_opens ? p->msg.from_tag : p->msg.to_tag, w);
	if (flow || c.server)
		hf_w_str(w, "@");
	write_uri_end(face, sips, "", w);
}

/* Methods that make a dialog; in one, Record-Route has no effect (RFC 3261 12.2). */
static bool wants_record_route(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	if (!s->conf->record_route)
		return false;
	if (m->method_id == SIP_NOTIFY)
		return true;
	return !m->to_tag.p && (m->method_id == SIP_INVITE || m->method_id == SIP_SUBSCRIBE || m->method_id == SIP_REFER);
}

/* Two when the sides reach us in different ways, the one of the side it leaves by on top (RFC 5658 5); and when later requests to the client have to
 * go by its flow, which the value of its side names (RFC 5626 5.3). */
static void write_record_routes(const struct sip_step *s, const struct sip_out *o, struct hf_writer *w)
{
	bool to_client = s->p->side == SIP_FROM_MEMBER, behind = !to_client && sip_behind(s);
	struct sip_flow here = behind ? flow_of(s) : (struct sip_flow){0};
	const struct sip_flow *flow = behind ? &here : to_client && s->p->has_flow ? &s->p->flow : NULL;

	write_record_route(s, o, &o->out, to_client ? flow : NULL, w);
	if (flow || o->out.transport != o->in.transport || !hf_bytes_eq(o->out.text, o->in.text))
		write_record_route(s, o, &o->in, to_client ? NULL : flow, w);
}

/* `ob` says that its first hop knows flows: without it a registrar refuses them (RFC 5626 5.1, 6). */
static void write_path(const struct sip_step *s, const struct sip_out *o, struct hf_writer *w)
{
	struct sip_flow f = flow_of(s);

	hf_w_str(w, "Path: <sip:");
	sip_flow_write(s->ctx->site, &f, w);
	hf_w_str(w, "@");
	write_uri_end(&o->out, false, s->p->msg.has_outbound && s->p->msg.n_vias == 1 ? ";ob" : "", w);
}

/* Whether a phone that does not say that it supports a Path gets one is the operator's to say: some registrars refuse it then (RFC 3327 5.3). */
static bool wants_path(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	return m->method_id == SIP_REGISTER && s->p->side == SIP_FROM_CLIENT && (m->has_path_support ? s->conf->path != SIP_PATH_NO : s->conf->path == SIP_PATH_ALWAYS);
}

static struct hf_bytes our_headers(const struct sip_step *s, const struct sip_out *o)
{
	const struct sip_msg *m = &s->p->msg;
	size_t cap = 770 + s->conf->source_header.n + o->sent_by.n + 2 * o->out.text.n + o->in.text.n; /* Via 190, two Record-Routes 220, Path 150, Max-Forwards 18, source 50, and names */
	uint8_t *p = hf_arena_alloc(s->ctx->arena, cap);
	struct hf_writer w = hf_writer_on(p, cap);

	if (!p)
		return HF_NONE;
	sip_write_via(s, o, &w);
	if (!m->has_max_forwards)
		hf_w_printf(&w, "Max-Forwards: %d\r\n", HOPS);
	if (wants_record_route(s))
		write_record_routes(s, o, &w);
	if (wants_path(s))
		write_path(s, o, &w);
	if (sip_source_told(s, o))
		sip_source_write(s, &w);
	HF_BUG_ON(w.full);
	return hf_writer_view(&w);
}

/* ---- the rest ---- */

static void edit_hops(const struct sip_step *s, struct list *l)
{
	const struct sip_msg *m = &s->p->msg;
	uint8_t *p;
	struct hf_writer w;

	if (!m->has_max_forwards)
		return;
	p = hf_arena_alloc(s->ctx->arena, 4);
	w = hf_writer_on(p, 4);
	if (p)
		hf_w_dec(&w, m->max_forwards > HOPS_MAX ? HOPS : m->max_forwards - 1);
	put(l, m->max_forwards_span.at, m->max_forwards_span.n, hf_writer_view(&w));
}

/* The k topmost Routes off. */
static void edit_routes(const struct sip_step *s, unsigned k, struct list *l)
{
	struct sip_span cut[SIP_MAX_ROUTES];
	unsigned n = k ? sip_routes_cut(&s->p->msg, k, cut) : 0;

	for (unsigned i = 0; i < n; i++)
		add(l, cut[i].at, cut[i].n, HF_NONE);
}

/* The last Route becomes the Request-URI: what a strict router before us did is undone (RFC 3261 16.4). */
static void edit_from_strict(const struct sip_step *s, struct list *l)
{
	const struct sip_msg *m = &s->p->msg;
	bool all = s->p->own_routes + 1 == m->n_routes; /* then one cut, since two would meet at a comma */

	put(l, m->uri_span.at, m->uri_span.n, m->route_last.uri.text);
	edit_routes(s, s->p->own_routes + all, l);
	if (!all)
		add(l, m->route_last.cut.at, m->route_last.cut.n, HF_NONE);
}

/* The next hop is a strict router: its URI becomes the Request-URI, which goes to the end of Route (RFC 3261 16.6 step 6). */
static void edit_to_strict(const struct sip_step *s, struct list *l)
{
	const struct sip_msg *m = &s->p->msg;
	size_t cap = m->uri.text.n + 16;
	uint8_t *p = hf_arena_alloc(s->ctx->arena, cap);
	struct hf_writer w = hf_writer_on(p, cap);

	l->full |= !p;
	if (!p)
		return;
	hf_w_str(&w, "Route: <");
	hf_w_bytes(&w, m->uri.text);
	hf_w_str(&w, ">\r\n");
	put(l, m->uri_span.at, m->uri_span.n, m->route[s->p->own_routes].uri.text);
	edit_routes(s, s->p->own_routes + 1, l);
	put(l, m->route_last.line.at + m->route_last.line.n, 0, hf_writer_view(&w));
}

/* `sip/2.0` is read in any case and sent as it should be (RFC 3261 7.1). */
static void edit_version(const struct sip_step *s, struct list *l)
{
	const struct sip_msg *m = &s->p->msg;
	uint32_t at = m->start_end - 2 - (uint32_t)(sizeof VERSION - 1);

	if (memcmp(m->raw.p + at, VERSION, sizeof VERSION - 1) != 0)
		add(l, at, (uint32_t)(sizeof VERSION - 1), HF_LIT(VERSION));
}

struct hf_bytes sip_length_line(struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	enum { MOST = 32 };
	uint8_t *p = hf_arena_alloc(s->ctx->arena, MOST);
	struct hf_writer w = hf_writer_on(p, MOST);

	if (!p)
		return HF_NONE;
	hf_w_str(&w, "Content-Length: ");
	hf_w_dec(&w, m->raw.n - m->body);
	hf_w_str(&w, "\r\n");
	return hf_writer_view(&w);
}

/* Lines that only we may write; how many. */
static unsigned edit_source(const struct sip_step *s, const struct sip_out *o, struct list *l)
{
	uint32_t at = s->p->msg.start_end;
	struct sip_span line;
	unsigned n = 0;

	for (; sip_source_next(s, o, &at, &line); n++)
		if (l)
			add(l, line.at, line.n, HF_NONE);
	return n;
}

bool sip_edit(struct sip_step *s, const struct sip_out *o, struct hf_send *send)
{
	struct list l = {.cap = HF_SPLICES_MAX + edit_source(s, o, NULL)};
	struct hf_splice via[2];
	unsigned n;

	l.s = hf_arena_alloc(s->ctx->arena, l.cap * sizeof *l.s);
	if (!l.s || !sip_edit_via(s, via, &n))
		return false;
	put(&l, s->p->msg.start_end, 0, our_headers(s, o));
	for (unsigned i = 0; i < n; i++)
		put(&l, via[i].at, via[i].cut, via[i].put);
	edit_version(s, &l);
	edit_hops(s, &l);
	edit_source(s, o, &l);
	if (o->strict)
		edit_to_strict(s, &l);
	else if (s->p->strict)
		edit_from_strict(s, &l);
	else
		edit_routes(s, s->p->own_routes, &l);
	if (hf_transport_is_stream(o->transport) && !s->p->msg.has_content_length)
		put(&l, s->p->msg.head_end, 0, sip_length_line(s));
	send->base = s->p->msg.raw;
	send->name = (uint16_t)(s->p->msg.method_id + 1);
	send->splices = l.s;
	send->n_splices = l.n;
	return !l.full;
}

size_t sip_sent_length(const struct hf_send *send)
{
	size_t n = send->base.n;

	for (unsigned i = 0; i < send->n_splices; i++)
		n += send->splices[i].put.n - (size_t)send->splices[i].cut;
	return n;
}
