/* Via (RFC 3261 20.42, 25.1; RFC 3581; RFC 5118 4.5): the two topmost values are taken apart, the others counted, for what lies
 * below does not concern us (RFC 4475 3.1.1.10). Called by the scanner for each Via line, and by the front for one value. */
#include "scan_read.h"

/* "SIP / 2.0 / UDP", blanks and folds around the slashes (RFC 4475 3.1.1.1). The version is judged last, so that a message
 * of another one can still be answered. */
static bool protocol(struct sip_cur *c, struct sip_via *v, bool *ours)
{
	struct hf_bytes name, version;

	if (c->end - c->p > 12 && memcmp(c->p, "SIP/2.0/UDP ", 12) == 0) { /* as nearly all of them write it */
		*ours = true;
		v->transport = hf_bytes_of(c->p + 8, 3);
		c->p += 11;
		return true;
	}
	if (c->end - c->p > 8 && memcmp(c->p, "SIP/2.0/", 8) == 0) {
		*ours = true;
		c->p += 8;
		sip_blanks(c);
		v->transport = sip_run(c, C_TOKEN);
		return v->transport.n > 0 && c->p < c->end && sip_is(*c->p, C_BLANK);
	}
	name = sip_run(c, C_TOKEN);
	sip_blanks(c);
	if (!name.n || !sip_take(c, '/'))
		return false;
	sip_blanks(c);
	version = sip_run(c, C_TOKEN);
	sip_blanks(c);
	if (!version.n || !sip_take(c, '/'))
		return false;
	sip_blanks(c);
	v->transport = sip_run(c, C_TOKEN);
	*ours = SIP_WORD(name, "sip") && hf_bytes_eq(version, HF_LIT("2.0"));
	return v->transport.n > 0 && c->p < c->end && sip_is(*c->p, C_BLANK);
}

/* "host[:port]"; blanks may stand around the colon. */
static bool sent_by(struct sip_cur *c, struct sip_via *v)
{
	const uint8_t *from;

	sip_blanks(c);
	from = c->p;
	if (!sip_host(c, &v->host) || !sip_port(c, &v->port))
		return false;
	v->sent_by = hf_bytes_of(from, (size_t)(c->p - from));
	return true;
}

/* Takes the blanks out of sent_by. False: no room for the copy. */
static bool closed_up(struct sip_via *v, struct hf_arena *arena)
{
	struct sip_cur c = {v->sent_by.p + v->host.n, v->sent_by.p + v->sent_by.n, v->sent_by.p};
	struct hf_bytes digits;
	uint8_t *to;

	if (c.end - c.p < 2 || (*c.p == ':' && !sip_is(c.p[1], C_BLANK)))
		return true;
	while (!sip_is(*c.p, C_DIGIT))
		c.p++;
	digits = hf_bytes_of(c.p, (size_t)(c.end - c.p));
	to = hf_arena_alloc(arena, v->host.n + 1 + digits.n);
	if (!to)
		return false;
	memcpy(to, v->host.p, v->host.n);
	to[v->host.n] = ':';
	memcpy(to + v->host.n + 1, digits.p, digits.n);
	v->sent_by = hf_bytes_of(to, v->host.n + 1 + digits.n);
	return true;
}

/* A parameter that routing reads; twice is an error, for two readers would disagree. */
static bool via_param(struct sip_via *v, const struct sip_one_param *one, const uint8_t *base)
{
	struct hf_bytes *to;

	if (SIP_WORD(one->name, "branch")) {
		to = &v->branch;
	} else if (SIP_WORD(one->name, "hf")) {
		to = &v->hf;
	} else if (SIP_WORD(one->name, "received")) {
		to = &v->received;
	} else if (SIP_WORD(one->name, "maddr")) {
		to = &v->maddr;
	} else if (SIP_WORD(one->name, "rport")) {
		if (v->rport)
			return false;
		v->rport = true;
		v->rport_value = one->value.n > 0;
		v->rport_span = sip_span_of(base, one->all);
		return true;
	} else {
		return true;
	}
	if (to->p || !one->value.n)
		return false;
	*to = one->value;
	if (to == &v->received)
		v->received_span = sip_span_of(base, one->all);
	return true;
}

/* branch, hf and rport as nearly all write them, without a look at their names. False: it is another, or written otherwise. */
static inline bool via_quick(struct sip_via *v, struct sip_cur *c, const uint8_t *base)
{
	const uint8_t *from;

	if ((from = SIP_QUICK_PARAM(c, "branch")) && !v->branch.p) {
		v->branch = sip_quick_value(c, from);
		return true;
	}
	if ((from = SIP_QUICK_PARAM(c, "hf")) && !v->hf.p) {
		v->hf = sip_quick_value(c, from);
		return true;
	}
	from = c->p + 6;
	if (c->end - c->p < 6 || memcmp(c->p, ";rport", 6) != 0 || (from < c->end && *from != ';') || v->rport)
		return false;
	v->rport = true;
	v->rport_span = sip_span_of(base, hf_bytes_of(c->p + 1, 5));
	c->p = from;
	return true;
}

static enum sip_fault via_read(struct hf_bytes value, bool folded, bool host_only, const uint8_t *base, uint32_t max_params, struct hf_arena *arena,
	struct sip_via *v)
{
	struct sip_cur c = {value.p, value.p + value.n, base};
	struct sip_one_param one;
	enum sip_more more;
	bool ours = false;

	v->value = sip_span_of(base, value);
	v->params = (struct sip_span){v->value.at + v->value.n, 0};
	v->text = folded ? sip_unfold(value, arena) : value;
	if (!v->text.p)
		return SIP_TOO_LONG;
	if (!protocol(&c, v, &ours) || !sent_by(&c, v))
		return SIP_BAD;
	if (!closed_up(v, arena))
		return SIP_TOO_LONG;
	sip_blanks(&c);
	v->params = sip_span_of(base, hf_bytes_of(c.p, (size_t)(c.end - c.p)));
	if (host_only && v->params.n / 2 <= max_params) /* ";x" is the shortest: there are not too many */
		return SIP_GOOD;
	for (uint32_t n = 0;; n++) {
		if (n < max_params && via_quick(v, &c, base))
			continue;
		more = sip_param_next(&c, &one);
		if (more != SIP_ONE)
			break;
		if (n == max_params)
			return SIP_TOO_LONG;
		if (!via_param(v, &one, base))
			return SIP_BAD;
	}
	return more == SIP_END && ours ? SIP_GOOD : SIP_BAD;
}

bool sip_via_read(struct hf_bytes value, const uint8_t *base, uint32_t max_params, struct hf_arena *arena, struct sip_via *v)
{
	memset(v, 0, sizeof *v);
	return via_read(value, true, false, base, max_params, arena, v) == SIP_GOOD;
}

/* An identifier must follow the magic cookie (RFC 3261 8.1.1.7; RFC 4475 3.2.1). */
static bool bare_cookie(const struct sip_via *v)
{
	return SIP_WORD(v->branch, "z9hg4bk");
}

/* One value of a line. The second is judged by whoever sends to it: a request does not depend on it, and of a response's only the host is
 * looked at. */
static void keep(struct sip_scan *s, struct hf_bytes value, bool folded)
{
	struct sip_msg *m = s->msg;
	enum sip_fault fault;

	if (m->n_vias >= SIP_MAX_VIAS)
		return;
	memset(&m->via[m->n_vias], 0, sizeof m->via[0]);
	fault = via_read(value, folded, m->response && m->n_vias > 0, s->raw.p, s->limits->params, s->arena, &m->via[m->n_vias]);
	if (fault == SIP_TOO_LONG)
		sip_fault(s, fault, "Via too long");
	else if (m->n_vias == 0 && fault != SIP_GOOD)
		sip_fault(s, SIP_BAD, "Via");
	else if (m->n_vias == 0 && !m->response && bare_cookie(&m->via[0]))
		sip_fault(s, SIP_BAD, "Via branch");
}

void sip_via_line(struct sip_scan *s, const struct sip_raw_line *l)
{
	struct sip_msg *m = s->msg;
	struct sip_list list = sip_list_at(sip_cur_in(s, l->value));
	struct hf_bytes value;
	enum sip_more more;
	bool first = m->n_vias == 0;
	uint32_t n = 0;

	if (first)
		m->via_at = l->at;
	m->via_end = l->end;
	if (list.cur.p < list.cur.end && sip_seek_comma(list.cur.p, list.cur.end, list.cur.lo) == list.cur.end) { /* it stands alone */
		keep(s, l->value, l->folded);
		m->n_vias++;
		if (first)
			m->via_cut = (struct sip_span){l->at, l->end - l->at};
		return;
	}
	while ((more = sip_list_next(&list, &value)) == SIP_ONE && value.n) {
		keep(s, value, l->folded);
		m->n_vias++;
		if (first && n++ == 0)
			m->via_cut = sip_span_of(s->raw.p, value);
		else if (first && n == 2)
			m->via_cut.n = (uint32_t)(value.p - s->raw.p) - m->via_cut.at;
	}
	if (first && n < 2)
		m->via_cut = (struct sip_span){l->at, l->end - l->at};
	if (more != SIP_END)
		sip_fault(s, SIP_BAD, "Via");
}
