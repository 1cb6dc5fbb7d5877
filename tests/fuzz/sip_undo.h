/* A forwarded request against the one that came: line by line, our own edits are taken back, and what is left must be the same octets.
 * Written without the places to cut that edit.c goes by: lines, values and the octets between them alone. Included by sip_edit.c. */
#ifndef FUZZ_SIP_UNDO_H
#define FUZZ_SIP_UNDO_H

#include "sip_bench.h"

static struct bench b;
static _Alignas(16) uint8_t space[2][1 << 18];

static struct hf_bytes part(const struct sip_msg *m, struct sip_span s) { return hf_bytes_sub(m->raw, s.at, s.n); }

static enum sip_fault scan(struct hf_bytes raw, bool stream, const struct sip_limits *limits, int which, struct sip_msg *m)
{
	static const struct sip_limits wide = {1 << 18, 400, 1 << 17, 8192, 256};
	struct hf_arena a;

	hf_arena_init(&a, space[which], sizeof space[which]);
	return sip_scan(raw, stream, limits ? limits : &wide, &a, m);
}

/* ---- line by line ---- */

struct lines { struct sip_line l; const struct sip_msg *m; uint32_t at, end; };

static struct lines lines_of(const struct sip_msg *m) { return (struct lines){.m = m, .at = m->start_end, .end = m->start_end}; }

/* No octet of a head is outside its lines. */
static bool next(struct lines *x)
{
	if (!sip_line_next(x->m, &x->at, &x->l)) {
		MUST(x->end == x->m->head_end);
		return false;
	}
	MUST(x->l.line.at == x->end);
	x->end = x->l.line.at + x->l.line.n;
	return true;
}

static struct hf_bytes line(const struct lines *x) { return part(x->m, x->l.line); }
static bool named(const struct lines *x, struct hf_bytes name) { return hf_bytes_ieq(part(x->m, x->l.name), name); }

static unsigned count(const struct sip_msg *m, struct hf_bytes name)
{
	struct lines x = lines_of(m);
	unsigned n = 0;

	while (next(&x))
		n += named(&x, name);
	return n;
}

/* A Via line without received and rport of its first value. */
static struct hf_bytes bare(const struct lines *x, const struct sip_via *v, uint8_t *buf, size_t cap)
{
	struct hf_writer w = hf_writer_on(buf, cap);
	struct hf_bytes raw = x->m->raw;
	const struct sip_span *const cut[] = {&v->rport_span, &v->received_span};

	for (uint32_t i = x->l.line.at; i < x->end; i++) {
		bool off = false;

		for (unsigned c = 0; c < 2; c++) {
			uint32_t mark = cut[c]->at;

			if (!cut[c]->n)
				continue;
			while (raw.p[--mark] != ';')
				;
			off |= i == mark || (i >= cut[c]->at && i < cut[c]->at + cut[c]->n);
		}
		if (!off)
			hf_w_u8(&w, raw.p[i]);
	}
	MUST(!w.full);
	return hf_writer_view(&w);
}

static void top_via(const struct hf_event *ev, const struct lines *in, const struct lines *out)
{
	static uint8_t buf[2][1 << 17];
	const struct sip_via *was = &in->m->via[0], *is = &out->m->via[1];
	struct hf_addr a = {0};
	uint64_t port;

	MUST(hf_bytes_eq(bare(in, was, buf[0], sizeof buf[0]), bare(out, is, buf[1], sizeof buf[1])));
	MUST(is->rport == was->rport);
	if (was->rport)
		MUST(hf_read_uint(hf_bytes_sub(part(out->m, is->rport_span), 6, 5), 65535, &port) == HF_OK && port == ev->source.port);
	if (is->received.p)
		MUST(hf_addr_read_ip(is->received, &a) == HF_OK && hf_addr_ip_eq(&a, &ev->source));
	else
		MUST(!was->rport && hf_addr_read_ip(was->host, &a) == HF_OK && hf_addr_ip_eq(&a, &ev->source));
}

static void one_hop_less(const struct lines *in, const struct lines *out)
{
	struct sip_span digits = in->m->max_forwards_span, now = out->m->max_forwards_span;
	uint32_t before = digits.at - in->l.line.at, was = in->m->max_forwards;
	uint32_t behind = in->end - digits.at - digits.n;

	MUST(hf_bytes_eq(hf_bytes_sub(line(in), 0, before), hf_bytes_sub(line(out), 0, before)) && now.at == out->l.line.at + before);
	MUST(hf_bytes_eq(hf_bytes_sub(in->m->raw, in->end - behind, behind), hf_bytes_sub(out->m->raw, now.at + now.n, behind)) && now.at + now.n + behind == out->end);
	MUST(out->m->max_forwards == (was > 255 ? 70 : was - 1));
}

/* ---- Routes ---- */

enum router { LOOSE, FROM_STRICT, TO_STRICT };
struct routes { enum router how; uint32_t off, n, seen; };

static bool is_off(const struct routes *r, uint32_t i) { return i < r->off || (r->how == FROM_STRICT && i == r->n - 1); }

/* How many of the values went; which way that can be. */
static bool possible(const struct sip_msg *m, const struct sip_msg *o, enum router how, struct routes *r)
{
	int off = (int)m->n_routes - (int)o->n_routes - (how == FROM_STRICT) + (how == TO_STRICT);
	struct hf_bytes uri = how == FROM_STRICT ? m->route_last.uri.text : m->uri.text;

	*r = (struct routes){how, (uint32_t)off, m->n_routes, 0};
	if (off < 0 || off > SIP_MAX_ROUTES + 1 || (how != LOOSE && !m->n_routes) || (how == TO_STRICT && (off < 1 || off > SIP_MAX_ROUTES)))
		return false;
	return hf_bytes_eq(o->uri.text, how == TO_STRICT ? m->route[off - 1].uri.text : uri);
}

static bool is_ours(const struct sip_uri *u)
{
	struct hf_addr a = {0};
	bool ip = hf_addr_read_ip(u->host, &a) == HF_OK;

	for (unsigned i = 0; ip && i < BENCH_LISTENERS; i++)
		if (hf_addr_ip_eq(&a, &b.own[i]) || hf_addr_ip_eq(&a, &b.listener[i].addr))
			return true;
	return hf_bytes_ieq(u->host, HF_LIT("gw.example.com")) || hf_bytes_istarts(u->user, HF_LIT("hfd-")) || hf_bytes_istarts(u->user, HF_LIT("hff-"));
}

/* Only values of ours go, and a strict router's own, which has become the Request-URI. */
static bool ours_off(const struct sip_msg *m, const struct routes *r)
{
	for (uint32_t i = 0; i < r->off && i < SIP_MAX_ROUTES; i++)
		if (!(r->how == TO_STRICT && i == r->off - 1) && !is_ours(&m->route[i].uri))
			return false;
	return true;
}

/* One Route line: as it was when none of its values went, gone when all went, else the others in their order. */
static bool route_line(const struct lines *in, struct lines *out, struct routes *r)
{
	struct hf_bytes list = in->l.text, rest, value, left;
	uint32_t first = r->seen, gone = 0;

	while (sip_value_next(&list, &value))
		gone += is_off(r, r->seen++);
	if (gone == r->seen - first && gone)
		return true;
	if (!next(out) || !named(out, part(in->m, in->l.name)))
		return false;
	if (!gone)
		return hf_bytes_eq(line(in), line(out));
	list = in->l.text;
	rest = out->l.text;
	for (uint32_t i = first; sip_value_next(&list, &value); i++)
		if (!is_off(r, i) && (!sip_value_next(&rest, &left) || !hf_bytes_eq(left, value)))
			return false;
	return !sip_value_next(&rest, &left);
}

static bool last_route(const struct sip_msg *m, struct lines *out)
{
	struct hf_bytes l;

	if (!next(out))
		return false;
	l = line(out);
	return hf_bytes_starts(l, HF_LIT("Route: <")) && hf_bytes_eq(hf_bytes_sub(l, 8, m->uri.text.n), m->uri.text) &&
	       hf_bytes_eq(hf_bytes_sub(l, 8 + m->uri.text.n, l.n), HF_LIT(">\r\n"));
}

/* ---- a request ---- */

/* Our headers, which stand on top. */
static void our_lines(const struct sip_msg *m, struct lines *out)
{
	unsigned rr = count(out->m, HF_LIT("Record-Route")) - count(m, HF_LIT("Record-Route")), path = count(out->m, HF_LIT("Path")) - count(m, HF_LIT("Path"));

	MUST(next(out) && hf_bytes_starts(line(out), HF_LIT("Via: SIP/2.0/")) && rr <= 2 && path <= 1);
	MUST(m->has_max_forwards || (next(out) && hf_bytes_eq(line(out), HF_LIT("Max-Forwards: 70\r\n"))));
	while (rr--)
		MUST(next(out) && hf_bytes_starts(line(out), HF_LIT("Record-Route: <sip:")));
	MUST(!path || (next(out) && hf_bytes_starts(line(out), HF_LIT("Path: <sip:hff-"))));
}

static bool lines_same(const struct hf_event *ev, const struct sip_msg *m, const struct sip_msg *o, struct routes *r)
{
	struct lines in = lines_of(m), out = lines_of(o);
	bool via = false;

	our_lines(m, &out);
	while (next(&in)) {
		if (named(&in, HF_LIT("Route"))) {
			if (!route_line(&in, &out, r) || (r->how == TO_STRICT && in.l.line.at == m->route_last.line.at && !last_route(m, &out)))
				return false;
			continue;
		}
		if (!next(&out))
			return false;
		if (in.l.is_via && !via) {
			via = true;
			top_via(ev, &in, &out);
		} else if (m->has_max_forwards && m->max_forwards_span.at >= in.l.line.at && m->max_forwards_span.at < in.end) {
			one_hop_less(&in, &out);
		} else if (!hf_bytes_eq(line(&in), line(&out))) {
			return false;
		}
	}
	if (o->has_content_length && !m->has_content_length)
		MUST(next(&out) && hf_bytes_starts(line(&out), HF_LIT("Content-Length: ")) && o->content_length == m->raw.n - m->body);
	return !next(&out);
}

static void start_same(const struct sip_msg *m, const struct sip_msg *o)
{
	struct hf_bytes was = hf_bytes_sub(m->raw, m->uri_span.at + m->uri_span.n, m->start_end - m->uri_span.at - m->uri_span.n);
	struct hf_bytes is = hf_bytes_sub(o->raw, o->uri_span.at + o->uri_span.n, o->start_end - o->uri_span.at - o->uri_span.n);

	MUST(m->uri_span.at == o->uri_span.at && hf_bytes_eq(hf_bytes_sub(m->raw, 0, m->uri_span.at), hf_bytes_sub(o->raw, 0, o->uri_span.at)));
	MUST(hf_bytes_ieq(was, is) && memmem(is.p, is.n, "SIP/2.0\r\n", 9));
}

/* A next hop is what the message names: its top Route, a strict router's URI, or the Request-URI (RFC 3261 16.6 step 7). */
static void next_hop(const struct hf_send *s, const struct sip_msg *o, enum router how)
{
	const struct sip_uri *u = how != TO_STRICT && o->n_routes ? &o->route[0].uri : &o->uri;
	struct hf_addr a = {0};

	MUST(how == TO_STRICT || !o->n_routes || u->lr);
	if (s->host.n) {
		MUST(hf_bytes_eq(u->maddr.n ? u->maddr : u->host, s->host) && (hf_addr_eq(&s->addr, &b.found.place[0].addr) || hf_addr_eq(&s->addr, &b.found.place[1].addr)));
		return;
	}
	MUST(hf_addr_read_ip(u->maddr.n ? u->maddr : u->host, &a) == HF_OK && hf_addr_ip_eq(&a, &s->addr) && s->addr.port == (u->port ? u->port : 5060));
}

static void request(const struct hf_event *ev, const struct bench_end *e, const struct sip_msg *m)
{
	struct sip_msg o;
	struct routes r;
	struct sip_hf hf;
	bool found = false;

	MUST(scan(e->sent, false, NULL, 1, &o) == SIP_GOOD && o.raw.n == e->sent.n);
	MUST(hf_bytes_eq(hf_bytes_sub(m->raw, m->body, m->raw.n), hf_bytes_sub(o.raw, o.body, o.raw.n)) && o.n_vias == m->n_vias + 1);
	start_same(m, &o);
	for (unsigned how = LOOSE; how <= TO_STRICT && !found; how++)
		found = possible(m, &o, (enum router)how, &r) && ours_off(m, &r) && lines_same(ev, m, &o, &r);
	MUST(found);
	if (e->send.to == HF_TO_NEXT_HOP)
		next_hop(&e->send, &o, r.how);
	MUST(sip_hf_read(&b.site, o.via[0].hf, o.via[0].branch, &hf) && hf.listener == ev->listener->hash && hf_addr_ip_eq(&hf.source, &ev->source) && hf.server == e->send.server);
}

#endif
