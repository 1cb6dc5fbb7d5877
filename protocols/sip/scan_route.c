/* Route (RFC 3261 20.34) with the places to cut. Called by the scanner for each such line. Contact is not looked at: a proxy does not
 * judge it (16.3; RFC 4475 3.1.2.13). */
#include "scan_read.h"

/* It may become the Request-URI, and has no headers either (RFC 3261 19.1.1). */
static bool route_uri(struct hf_bytes value, struct sip_uri *out)
{
	struct hf_bytes uri;
	struct sip_cur params;

	return sip_addr_cut(sip_cur_of(value), &uri, &params) && sip_uri_read(uri, out) && !((out->sip || out->sips) && out->headers.n);
}

/* Keeps one value; prev is the value before it on the same line, whose cut now ends where this one begins. */
static void route_keep(struct sip_scan *s, const struct sip_raw_line *l, struct hf_bytes value, const uint8_t *comma)
{
	struct sip_msg *m = s->msg;
	struct sip_route r = {.value = sip_span_of(s->raw.p, value), .line = {l->at, l->end - l->at}};

	r.cut = r.line;
	if (comma) {
		uint32_t from = (uint32_t)(comma - s->raw.p);

		r.cut = (struct sip_span){from, r.value.at + r.value.n - from};
		if (m->n_routes <= SIP_MAX_ROUTES) {
			struct sip_route *prev = &m->route[m->n_routes - 1];

			prev->cut = (struct sip_span){prev->value.at, r.value.at - prev->value.at};
		}
	}
	if (m->n_routes < SIP_MAX_ROUTES) {
		if (!route_uri(value, &r.uri))
			sip_fault(s, SIP_BAD, "Route");
		m->route[m->n_routes] = r;
	}
	m->route_last = r;
	s->last_route = value;
	m->n_routes++;
}

void sip_route_line(struct sip_scan *s, const struct sip_raw_line *l)
{
	struct sip_list list = sip_list_at(sip_cur_in(s, l->value));
	struct hf_bytes value;
	enum sip_more more;
	const uint8_t *comma = NULL;

	if (s->msg->response) /* has no meaning there */
		return;
	sip_lines_note(&s->route, l);
	while ((more = sip_list_next(&list, &value)) == SIP_ONE && value.n) {
		route_keep(s, l, value, comma);
		comma = list.cur.p - 1;
	}
	if (more != SIP_END)
		sip_fault(s, SIP_BAD, "Route");
}

void sip_route_end(struct sip_scan *s)
{
	if (s->msg->n_routes > SIP_MAX_ROUTES && !route_uri(s->last_route, &s->msg->route_last.uri))
		sip_fault(s, SIP_BAD, "Route");
}
