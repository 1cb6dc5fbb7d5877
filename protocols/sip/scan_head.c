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
	const uint8_t *quick;

	*text = sip_text(s, l, l->value);
	if (!sip_addr_cut(sip_cur_in(s, l->value), address, &c) || !address->n || sip_seek_gap(address->p, address->p + address->n, s->raw.p) < address->p + address->n) {
		*address = HF_NONE;
		sip_fault(s, SIP_BAD, text == &s->msg->from ? "From" : "To");
		return;
	}
	for (uint32_t n = 0;; n++) {
		if (n < s->limits->params && !tag->p && (quick = SIP_QUICK_PARAM(&c, "tag"))) {
			*tag = sip_quick_value(&c, quick);
			continue;
		}
		more = sip_param_next(&c, &one);
		if (more != SIP_ONE || n >= s->limits->params)
			break;
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

/* A few digits, a blank, and the method of the start line. */
static bool usual_cseq(struct sip_msg *m, struct hf_bytes value)
{
	size_t n = 0;
	uint32_t v = 0;

	for (; n < value.n && n < 9 && sip_is(value.p[n], C_DIGIT); n++)
		v = v * 10 + value.p[n] - '0';
	if (!n || !m->method.n || value.n != n + 1 + m->method.n || value.p[n] != ' ' || memcmp(value.p + n + 1, m->method.p, m->method.n) != 0)
		return false;
	m->cseq = v;
	m->cseq_text = hf_bytes_of(value.p, n);
	m->cseq_method = hf_bytes_of(value.p + n + 1, m->method.n);
	return true;
}

/* RFC 3261 8.1.1.5: below 2^31. */
static void cseq(struct sip_scan *s, const struct sip_raw_line *l)
{
	struct sip_msg *m = s->msg;
	struct sip_cur c = sip_cur_in(s, l->value);
	uint64_t v = 0;

	m->cseq_value = sip_text(s, l, l->value);
	if (m->fault == SIP_GOOD && usual_cseq(m, l->value))
		return;
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
		else if (SIP_WORD(value, "outbound"))
			s->msg->has_outbound = true;
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

static void proxy_require(struct sip_scan *s, const struct sip_raw_line *l) { sip_lines_note(&s->require, l); }

/* Values kept whole. */
static void text(struct sip_scan *s, const struct sip_raw_line *l)
{
	static const uint16_t at[SIP_HEADERS] = {
		[SIP_H_REPLACES] = offsetof(struct sip_msg, replaces),
		[SIP_H_JOIN] = offsetof(struct sip_msg, join),
		[SIP_H_TARGET_DIALOG] = offsetof(struct sip_msg, target_dialog),
		[SIP_H_EVENT] = offsetof(struct sip_msg, event),
		[SIP_H_USER_AGENT] = offsetof(struct sip_msg, user_agent),
		[SIP_H_SUBSCRIPTION_STATE] = offsetof(struct sip_msg, subscription_state),
	};
	struct hf_bytes *value = (struct hf_bytes *)((char *)s->msg + at[l->id]);

	*value = s->seen & 1u << l->id ? HF_NONE : sip_text(s, l, l->value); /* of two none is meant */
}

sip_reader *const sip_readers[SIP_HEADERS] = {
	[SIP_H_VIA] = sip_via_line, [SIP_H_FROM] = from, [SIP_H_TO] = to, [SIP_H_CALL_ID] = call_id, [SIP_H_CSEQ] = cseq,
	[SIP_H_MAX_FORWARDS] = max_forwards, [SIP_H_CONTENT_LENGTH] = content_length, [SIP_H_ROUTE] = sip_route_line, [SIP_H_EXPIRES] = expires,
	[SIP_H_SUPPORTED] = supported, [SIP_H_PROXY_REQUIRE] = proxy_require, [SIP_H_REPLACES] = text, [SIP_H_JOIN] = text,
	[SIP_H_TARGET_DIALOG] = text, [SIP_H_EVENT] = text, [SIP_H_USER_AGENT] = text, [SIP_H_SUBSCRIPTION_STATE] = text, [SIP_H_SESSION_EXPIRES] = session_expires,
};

/* Replaces and the like are refused as well, for none of the two may be followed (RFC 3891 3). */
void sip_header_again(struct sip_scan *s, enum sip_header id)
{
	static const char *const twice[SIP_HEADERS] = {
		[SIP_H_FROM] = "two From", [SIP_H_TO] = "two To", [SIP_H_CALL_ID] = "two Call-ID", [SIP_H_CSEQ] = "two CSeq",
		[SIP_H_MAX_FORWARDS] = "two Max-Forwards", [SIP_H_CONTENT_LENGTH] = "two Content-Length", [SIP_H_REPLACES] = "two Replaces",
		[SIP_H_JOIN] = "two Join", [SIP_H_TARGET_DIALOG] = "two Target-Dialog",
	};

	sip_fault(s, SIP_BAD, twice[id]);
	if (id == SIP_H_CONTENT_LENGTH)
		s->msg->framed = false;
}
