/* The headers that routing needs, one reader each in one table (RFC 3261 16.3 step 1, 20). Values that a proxy has no business
 * with are not judged. Called by scan.c for each header line, in order. */
#include "scan_read.h"

struct hf_bytes sip_text(struct sip_scan *s, const struct sip_raw_line *l, struct hf_bytes value)
{
	struct hf_bytes text = l->folded ? sip_unfold(value, s->arena) : value;

	if (!text.p)
		sip_fault(s, SIP_TOO_LONG, "no room");
	return text;
}

/* From and To: quotes and brackets must close, the address holds no blank (RFC 4475 3.1.2.6, 3.1.2.14, 3.1.2.15), one tag at most.
 * The address is not taken apart: it concerns those whom it names. */
static void party(struct sip_scan *s, const struct sip_raw_line *l, struct hf_bytes *text, struct hf_bytes *address, struct hf_bytes *tag)
{
	struct sip_cur c;
	struct sip_one_param one;
	enum sip_more more;
	uint32_t n = 0;

	*text = sip_text(s, l, l->value);
	if (!sip_addr_cut(sip_cur_in(s, l->value), address, &c) || !address->n || sip_seek_gap(address->p, address->p + address->n, s->raw.p) < address->p + address->n) {
		*address = HF_NONE;
		sip_fault(s, SIP_BAD, text == &s->msg->from ? "From" : "To");
		return;
	}
	while ((more = sip_param_next(&c, &one)) == SIP_ONE && n++ < s->limits->params) {
		if (!SIP_WORD(one.name, "tag"))
			continue;
		if (tag->p || !one.value.n || one.value.p[0] == '"')
			more = SIP_BROKEN;
		else
			*tag = one.value;
		if (more == SIP_BROKEN)
			break;
	}
	if (more == SIP_ONE)
		sip_fault(s, SIP_TOO_LONG, "too many parameters");
	else if (more == SIP_BROKEN)
		sip_fault(s, SIP_BAD, text == &s->msg->from ? "From" : "To");
}

static void from(struct sip_scan *s, const struct sip_raw_line *l)
{
	party(s, l, &s->msg->from, &s->msg->from_addr, &s->msg->from_tag);
}

static void to(struct sip_scan *s, const struct sip_raw_line *l)
{
	party(s, l, &s->msg->to, &s->msg->to_addr, &s->msg->to_tag);
}

/* Printable octets, at most one '@'; wider than the grammar ('=' is met), but never what could split or end a value. */
static void call_id(struct sip_scan *s, const struct sip_raw_line *l)
{
	struct sip_cur c = sip_cur_in(s, l->value);
	struct hf_bytes *id = &s->msg->call_id;
	const uint8_t *host;

	*id = l->value;
	c.p = sip_seek_no_id(c.p, c.end, c.lo);
	if (sip_take(&c, '@')) {
		host = c.p;
		c.p = sip_seek_no_id(host, c.end, c.lo);
		if (c.p == host)
			sip_fault(s, SIP_BAD, "Call-ID");
	}
	if (!id->n || id->p[0] == '@' || c.p != c.end) {
		sip_fault(s, SIP_BAD, "Call-ID");
		*id = sip_text(s, l, l->value);
	} else if (id->n > s->limits->call_id) {
		sip_fault(s, SIP_TOO_LONG, "Call-ID too long");
	}
}

/* RFC 3261 8.1.1.5: below 2^31. */
static void cseq(struct sip_scan *s, const struct sip_raw_line *l)
{
	struct sip_msg *m = s->msg;
	struct sip_cur c = sip_cur_in(s, l->value);
	uint64_t v = 0;

	m->cseq_value = sip_text(s, l, l->value);
	m->cseq_text = sip_run(&c, C_TOKEN);
	sip_blanks(&c);
	m->cseq_method = sip_run(&c, C_TOKEN);
	if (hf_read_uint(m->cseq_text, INT32_MAX, &v) != HF_OK || !m->cseq_method.n || c.p != c.end)
		sip_fault(s, SIP_BAD, "CSeq");
	m->cseq = (uint32_t)v;
}

static void max_forwards(struct sip_scan *s, const struct sip_raw_line *l)
{
	struct sip_msg *m = s->msg;
	uint64_t v;

	if (m->response)
		return;
	if (hf_read_uint(l->value, 255, &v) != HF_OK) {
		sip_fault(s, SIP_BAD, "Max-Forwards");
		return;
	}
	m->has_max_forwards = true;
	m->max_forwards = (uint32_t)v;
	m->max_forwards_span = sip_span_of(s->raw.p, l->value);
}

static void content_length(struct sip_scan *s, const struct sip_raw_line *l)
{
	struct sip_msg *m = s->msg;
	uint64_t v;

	if (hf_read_uint(l->value, UINT32_MAX, &v) != HF_OK) {
		sip_fault(s, SIP_BAD, "Content-Length");
		m->framed = false;
		return;
	}
	m->has_content_length = true;
	m->content_length = (uint32_t)v;
	m->content_length_span = sip_span_of(s->raw.p, l->value);
}

static void supported(struct sip_scan *s, const struct sip_raw_line *l)
{
	struct sip_list list = sip_list_at(sip_cur_in(s, l->value));
	struct hf_bytes value;

	while (sip_list_next(&list, &value) == SIP_ONE)
		if (SIP_WORD(value, "path"))
			s->msg->has_path_support = true;
}

/* delta-seconds before parameters; too large is "for ever" (RFC 3261 20.19), no number is none. */
static bool seconds(struct hf_bytes value, uint32_t *out)
{
	struct sip_cur c = sip_cur_of(value);
	uint64_t v = UINT32_MAX;

	if (hf_read_uint(sip_run(&c, C_DIGIT), UINT32_MAX, &v) == HF_EINVAL)
		return false;
	sip_blanks(&c);
	if (c.p < c.end && *c.p != ';')
		return false;
	*out = (uint32_t)v;
	return true;
}

static void expires(struct sip_scan *s, const struct sip_raw_line *l)
{
	s->msg->has_expires = seconds(l->value, &s->msg->expires);
}

static void session_expires(struct sip_scan *s, const struct sip_raw_line *l)
{
	s->msg->has_session_expires = seconds(l->value, &s->msg->session_expires);
}

/* Values kept whole. A second line: Replaces and the like are refused, for none of the two may be followed (RFC 3891 3). */
enum { ONCE = 1, TEXT = 2 };
static const struct {
	void (*read)(struct sip_scan *s, const struct sip_raw_line *l);
	uint16_t flags, at;
	const char *twice;
} headers[SIP_HEADERS] = {
	[SIP_H_VIA] = {sip_via_line, 0, 0, NULL},
	[SIP_H_FROM] = {from, ONCE, 0, "two From"},
	[SIP_H_TO] = {to, ONCE, 0, "two To"},
	[SIP_H_CALL_ID] = {call_id, ONCE, 0, "two Call-ID"},
	[SIP_H_CSEQ] = {cseq, ONCE, 0, "two CSeq"},
	[SIP_H_MAX_FORWARDS] = {max_forwards, ONCE, 0, "two Max-Forwards"},
	[SIP_H_CONTENT_LENGTH] = {content_length, ONCE, 0, "two Content-Length"},
	[SIP_H_ROUTE] = {sip_route_line, 0, 0, NULL},
	[SIP_H_EXPIRES] = {expires, 0, 0, NULL},
	[SIP_H_SUPPORTED] = {supported, 0, 0, NULL},
	[SIP_H_REPLACES] = {NULL, ONCE | TEXT, offsetof(struct sip_msg, replaces), "two Replaces"},
	[SIP_H_JOIN] = {NULL, ONCE | TEXT, offsetof(struct sip_msg, join), "two Join"},
	[SIP_H_TARGET_DIALOG] = {NULL, ONCE | TEXT, offsetof(struct sip_msg, target_dialog), "two Target-Dialog"},
	[SIP_H_EVENT] = {NULL, TEXT, offsetof(struct sip_msg, event), NULL},
	[SIP_H_SUBSCRIPTION_STATE] = {NULL, TEXT, offsetof(struct sip_msg, subscription_state), NULL},
	[SIP_H_SESSION_EXPIRES] = {session_expires, 0, 0, NULL},
};

#define ECHOED (1u << SIP_H_VIA | 1u << SIP_H_FROM | 1u << SIP_H_TO | 1u << SIP_H_CALL_ID | 1u << SIP_H_CSEQ)

/* Remembers where the lines of a header are, to be joined when all are known: joining one by one would be quadratic. */
static void note(struct sip_scan *s, const struct sip_raw_line *l, enum sip_header id)
{
	if (id == SIP_H_ROUTE ? !s->msg->response : id == SIP_H_PROXY_REQUIRE) {
		uint32_t *first = id == SIP_H_ROUTE ? &s->route.first : &s->require.first;
		uint32_t *lines = id == SIP_H_ROUTE ? &s->route.lines : &s->require.lines;
		size_t *total = id == SIP_H_ROUTE ? &s->route.total : &s->require.total;

		if ((*lines)++ == 0)
			*first = l->at;
		*total += l->value.n + 1;
	}
}

void sip_header_read(struct sip_scan *s, const struct sip_raw_line *l)
{
	enum sip_header id = (enum sip_header)l->id;
	bool again = (s->seen & sip_bit(id)) != 0;

	s->seen |= sip_bit(id);
	if (l->bare && (ECHOED & sip_bit(id)))
		s->echo_bare = true;
	note(s, l, id);
	if (again && headers[id].flags & ONCE) {
		sip_fault(s, SIP_BAD, headers[id].twice);
		if (id == SIP_H_CONTENT_LENGTH)
			s->msg->framed = false;
	} else if (headers[id].flags & TEXT) {
		*(struct hf_bytes *)((char *)s->msg + headers[id].at) = again ? HF_NONE : sip_text(s, l, l->value);
	} else if (headers[id].read) {
		headers[id].read(s, l);
	}
}
