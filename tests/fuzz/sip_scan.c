/* Fuzz target of the SIP scanner. Any octets: no fault of memory, and
 * - every place and view lies inside the message, or is a copy in the arena;
 * - scanning twice gives the same;
 * - a message that a stream gives is, as a datagram of its own, the same message, and what comes behind it does not change it;
 * - a stream that waits for octets was not given a whole message;
 * - cutting the topmost Via leaves one value less and a good message. */
#include <stdlib.h>

#include "scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t space[2][1 << 17];

#define MUST(x) do { if (!(x)) abort(); } while (0)

static enum sip_fault scan(struct hf_bytes raw, bool stream, int which, struct sip_msg *m)
{
	static const struct sip_limits limits = {32768, 256, 8192, 1024, 64};
	struct hf_arena a;

	hf_arena_init(&a, space[which], sizeof space[which]);
	return sip_scan(raw, stream, &limits, &a, m);
}

static void inside(struct hf_bytes whole, struct hf_bytes b)
{
	bool in_message = b.p && b.p >= whole.p && b.p + b.n <= whole.p + whole.n;
	bool in_arena = b.p && b.p >= space[0] && b.p + b.n <= space[0] + sizeof space[0];

	MUST(!b.p || in_message || in_arena);
}

static void span(const struct sip_msg *m, struct sip_span s)
{
	MUST((uint64_t)s.at + s.n <= m->raw.n || m->fault != SIP_GOOD);
}

static void uri(struct hf_bytes raw, const struct sip_uri *u)
{
	const struct hf_bytes *const parts[] = {&u->text, &u->scheme, &u->user, &u->host, &u->params, &u->headers, &u->maddr, &u->transport};

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		inside(raw, *parts[i]);
}

static void via(struct hf_bytes raw, const struct sip_msg *m, const struct sip_via *v)
{
	const struct hf_bytes *const parts[] = {&v->text, &v->transport, &v->sent_by, &v->host, &v->branch, &v->received, &v->maddr, &v->hf};

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		inside(raw, *parts[i]);
	span(m, v->value);
	span(m, v->params);
	span(m, v->rport_span);
	span(m, v->received_span);
}

static void views(struct hf_bytes raw, const struct sip_msg *m)
{
	const struct hf_bytes *const parts[] = {
		&m->raw, &m->method, &m->call_id, &m->from_tag, &m->to_tag, &m->from, &m->to, &m->cseq_method, &m->cseq_text, &m->cseq_value,
		&m->routes_text, &m->proxy_require, &m->replaces, &m->join, &m->target_dialog, &m->event, &m->subscription_state,
		&m->from_addr, &m->to_addr,
	};

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		inside(raw, *parts[i]);
	uri(raw, &m->uri);
	for (unsigned i = 0; i < SIP_MAX_VIAS && i < m->n_vias; i++)
		via(raw, m, &m->via[i]);
	for (unsigned i = 0; i < SIP_MAX_ROUTES && i < m->n_routes; i++) {
		uri(raw, &m->route[i].uri);
		span(m, m->route[i].value);
		span(m, m->route[i].cut);
		span(m, m->route[i].line);
	}
	span(m, m->uri_span);
	span(m, m->via_cut);
	span(m, m->max_forwards_span);
	span(m, m->content_length_span);
	if (m->n_routes)
		span(m, m->route_last.cut);
	MUST(m->used <= raw.n && m->start_end <= m->raw.n && m->head_end <= m->raw.n && m->via_at <= m->raw.n);
	MUST(m->fault != SIP_GOOD || (m->body == m->head_end + 2 && m->body <= m->raw.n));
	MUST(!m->answerable || (m->call_id.p && m->from.p && m->to.p && m->cseq_value.p && m->n_vias));
}

/* The values that routing goes by are the same in two scans of the same octets at one or two places. */
static void same(const struct sip_msg *a, const struct sip_msg *b)
{
	MUST(hf_bytes_eq(a->raw, b->raw) && a->fault == b->fault && a->n_vias == b->n_vias && a->n_routes == b->n_routes);
	MUST(hf_bytes_eq(a->call_id, b->call_id) && hf_bytes_eq(a->from_tag, b->from_tag) && hf_bytes_eq(a->to_tag, b->to_tag));
	MUST(!a->n_vias || (hf_bytes_eq(a->via[0].text, b->via[0].text) && hf_bytes_eq(a->via[0].branch, b->via[0].branch)));
	MUST(a->cseq == b->cseq);
	MUST(hf_bytes_eq(a->routes_text, b->routes_text) && a->body == b->body && a->head_end == b->head_end && a->answerable == b->answerable);
}

static void lines(const struct sip_msg *m)
{
	struct hf_bytes list, value;
	struct sip_line l;
	uint32_t at = 0, vias = 0;

	while (sip_line_next(m, &at, &l)) {
		span(m, l.line);
		for (list = l.text; l.is_via && sip_value_next(&list, &value);)
			vias++;
	}
	MUST(m->fault != SIP_GOOD || vias == m->n_vias);
}

static void cut(const struct sip_msg *m)
{
	static uint8_t edited[32768];
	struct hf_writer w = hf_writer_on(edited, sizeof edited);
	struct sip_span routes[SIP_MAX_ROUTES];
	struct sip_msg e;
	unsigned n = sip_routes_cut(m, m->n_routes < SIP_MAX_ROUTES ? m->n_routes : SIP_MAX_ROUTES, routes);

	for (unsigned i = 1; i < n; i++)
		MUST(routes[i].at >= routes[i - 1].at + routes[i - 1].n);
	if (m->n_vias < 2)
		return;
	hf_w_bytes(&w, hf_bytes_sub(m->raw, 0, m->via_cut.at));
	hf_w_bytes(&w, hf_bytes_sub(m->raw, m->via_cut.at + m->via_cut.n, m->raw.n));
	scan(hf_writer_view(&w), false, 1, &e);
	MUST(e.n_vias == m->n_vias - 1 && hf_bytes_eq(e.call_id, m->call_id));
	MUST(e.fault == SIP_GOOD || !strncmp(e.why, "Via", 3)); /* the second was not judged while it was the second */
	MUST(e.fault != SIP_GOOD || hf_bytes_eq(e.via[0].text, m->via[1].text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes raw = hf_bytes_of(data, size);
	struct sip_msg m, again;
	struct hf_arena a;
	struct sip_uri from;

	MUST(scan(raw, false, 0, &m) != SIP_INCOMPLETE && m.fault != SIP_NO_LENGTH);
	views(raw, &m);
	lines(&m);
	scan(raw, false, 1, &again);
	same(&m, &again);
	if (m.fault == SIP_GOOD)
		cut(&m);
	hf_arena_init(&a, space[1], sizeof space[1]);
	(void)sip_uri_read(m.from_addr, &from);
	uri(raw, &from);
	MUST(sip_aor(&from, &a).p);
	if (scan(raw, true, 0, &m) == SIP_INCOMPLETE) {
		MUST(m.need == 0 || m.need > size);
		return 0;
	}
	views(raw, &m);
	if (m.fault == SIP_GOOD) {
		MUST(m.framed && m.has_content_length);
		scan(m.raw, false, 1, &again);
		same(&m, &again);
		scan(hf_bytes_sub(raw, 0, m.used), true, 1, &again);
		same(&m, &again);
		MUST(m.used == 0 || scan(hf_bytes_sub(raw, 0, m.used - 1), true, 1, &again) == SIP_INCOMPLETE);
	}
	return 0;
}
