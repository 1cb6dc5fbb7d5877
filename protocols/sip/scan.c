/* The scanner: framing, the walk over the header lines, and what must hold of the whole (RFC 3261 7, 8.1.1, 16.3, 18.3).
 * It keeps nothing between calls and knows no transport but "datagram or stream". Called by the front for each parcel. */
#include "scan_line.h"
#include "scan_seek.h"

static const struct { unsigned answer; const char *tag; } faults[] = {
	[SIP_GOOD] = {0, ""},
	[SIP_GARBAGE] = {0, "garbage"},
	[SIP_VERSION] = {505, "version"},
	[SIP_BAD] = {400, "malformed"},
	[SIP_TOO_LONG] = {513, "too-long"},
	[SIP_INCOMPLETE] = {0, ""},
	[SIP_NO_LENGTH] = {400, "no-length"},
};

void sip_fault(struct sip_scan *s, enum sip_fault fault, const char *why)
{
	if (s->msg->fault != SIP_GOOD)
		return;
	s->msg->fault = fault;
	s->msg->why = why;
	s->msg->answer = faults[fault].answer;
	s->msg->tag_why = faults[fault].tag;
}

/* What is wrong with a line whatever stands in it. */
static inline void any_line(struct sip_scan *s, const struct sip_raw_line *l)
{
	if (l->bare)
		sip_fault(s, SIP_BAD, "CR or LF in a line");
	if (l->end - l->at > s->limits->line)
		sip_fault(s, SIP_TOO_LONG, "line too long");
}

static inline void known(struct sip_scan *s, const struct sip_raw_line *l)
{
	uint32_t bit = 1u << l->id;

	if (s->seen & bit & SIP_ONCE)
		sip_header_again(s, (enum sip_header)l->id);
	else
		sip_readers[l->id](s, l);
	s->seen |= bit;
}

/* A line that is none to us, or not as another reader takes it, may be a length to that one (a fold before the colon, a line behind a bare LF): then nobody
 * knows where the message ends. */
static bool may_be_length(struct hf_bytes line)
{
	for (size_t at = 0; at < line.n; at++) {
		struct hf_bytes rest = hf_bytes_sub(line, at, line.n);

		if (at && line.p[at - 1] != '\r' && line.p[at - 1] != '\n' && line.p[at - 1] > ' ')
			continue;
		if (hf_bytes_istarts(rest, HF_LIT("content-length")) || (rest.n > 1 && hf_lower(rest.p[0]) == 'l' && !sip_is(rest.p[1], C_TOKEN)))
			return true;
	}
	return false;
}

/* A line that the quick way does not take. Returns what is behind it; NULL: no CRLF ends it. */
static const uint8_t *odd_line(struct sip_scan *s, const uint8_t *at)
{
	struct sip_raw_line l;

	if (!sip_line_any(s->raw, (uint32_t)(at - s->raw.p), &l))
		return NULL;
	if (l.bare && (SIP_ECHOED & 1u << l.id))
		s->echo_bare = true;
	if (l.id != SIP_H_NONE)
		known(s, &l);
	else if (!l.name)
		sip_fault(s, SIP_BAD, "header name");
	if ((l.bare || !l.name) && may_be_length(hf_bytes_of(at, l.end - l.at)))
		s->msg->framed = false;
	any_line(s, &l);
	return s->raw.p + l.end;
}

/* A known header on a line that the quick way took. */
static __attribute__((noinline)) void quick_line(struct sip_scan *s, const uint8_t *at, const uint8_t *next, const struct sip_quick *q)
{
	struct sip_raw_line l = {.at = (uint32_t)(at - s->raw.p), .end = (uint32_t)(next - s->raw.p), .id = (uint8_t)q->id, .name = q->name,
				 .value = sip_line_value(at + q->name, next - 2)};

	known(s, &l);
}

/* The empty line is not there, or it is no SIP. */
static bool cut(struct sip_scan *s)
{
	sip_fault(s, SIP_BAD, "no empty line");
	return false;
}

/* The header lines up to the empty one; also those above the limit, for an answer to a message copies all its Vias, wherever they stand, and where it ends
 * is to be known. False: it was cut. Not inlined: its loop needs all registers. */
static __attribute__((noinline)) bool headers(struct sip_scan *s, uint32_t pos)
{
	const uint8_t *at = s->raw.p + pos, *end = s->raw.p + s->raw.n, *next = at;
	uint32_t left = s->limits->headers, longest = s->limits->line;
	struct sip_quick q;

	for (; end - at >= 2 && !sip_is_crlf(at); at = next) {
		if (left-- == 0)
			sip_fault(s, SIP_TOO_LONG, "too many headers");
		next = end - at > HF_WIDE + 2 ? sip_line_quick(at, end, &q) : NULL;
		if (!next) {
			next = odd_line(s, at);
			if (!next)
				break;
			continue;
		}
		if (q.id != SIP_H_NONE)
			quick_line(s, at, next, &q);
		if (next - at > longest)
			sip_fault(s, SIP_TOO_LONG, "line too long");
	}
	s->msg->head_end = (uint32_t)(at - s->raw.p);
	if (!next || end - at < 2)
		return cut(s);
	s->msg->body = s->msg->head_end + 2;
	return true;
}

static bool head(struct sip_scan *s)
{
	const uint8_t *from = s->raw.p, *end = from + s->raw.n, *cr = sip_seek_low(from, end, from);
	struct sip_raw_line l;

	if (end - cr > 2 && sip_is_crlf(cr) && cr[2] != ' ' && cr[2] != '\t')
		l = (struct sip_raw_line){.end = (uint32_t)(cr - from) + 2};
	else if (!sip_line_any(s->raw, 0, &l))
		return cut(s);
	sip_start_line(s, &l);
	any_line(s, &l);
	if (s->msg->fault != SIP_GARBAGE)
		return headers(s, l.end);
	s->msg->head_end = l.end;
	return false;
}

/* Joins the values of a header that stands on several lines. */
static struct hf_bytes join(struct sip_scan *s, enum sip_header id, const struct sip_lines *all)
{
	struct sip_raw_line l, any = {.folded = true};
	uint32_t at = all->first, left = all->lines;
	struct hf_writer w;
	void *p = NULL;

	if (left > 1) {
		p = hf_arena_alloc(s->arena, all->total);
		if (!p) {
			sip_fault(s, SIP_TOO_LONG, "no room");
			return HF_NONE;
		}
		w = hf_writer_on(p, all->total);
	}
	while (left && sip_line_read(s->raw, at, &l)) {
		at = l.end;
		if (l.id != id)
			continue;
		if (!p)
			return sip_text(s, &l, l.value);
		if (w.n)
			hf_w_u8(&w, ',');
		hf_w_bytes(&w, l.value);
		left--;
	}
	return p ? sip_text(s, &any, hf_writer_view(&w)) : HF_NONE;
}

/* What must stand in every message (RFC 3261 8.1.1, 8.1.3.3): what an answer copies. */
#define NEEDED SIP_ECHOED
static void whole(struct sip_scan *s)
{
	static const struct { enum sip_header id; const char *why; } needed[] = {
		{SIP_H_VIA, "no Via"}, {SIP_H_FROM, "no From"}, {SIP_H_TO, "no To"}, {SIP_H_CALL_ID, "no Call-ID"}, {SIP_H_CSEQ, "no CSeq"},
	};
	struct sip_msg *m = s->msg;

	for (size_t i = 0; (s->seen & NEEDED) != NEEDED && i < sizeof needed / sizeof needed[0]; i++)
		if (!(s->seen & 1u << needed[i].id))
			sip_fault(s, SIP_BAD, needed[i].why);
	sip_route_end(s);
	if (s->route.lines)
		m->routes_text = join(s, SIP_H_ROUTE, &s->route);
	if (s->require.lines)
		m->proxy_require = join(s, SIP_H_PROXY_REQUIRE, &s->require);
	if (m->response) {
		m->method = m->cseq_method;
		m->method_id = sip_method_of(m->method);
	} else if (m->fault == SIP_GOOD && !hf_bytes_eq(m->method, m->cseq_method)) {
		sip_fault(s, SIP_BAD, "CSeq method");
		if (m->method_id == SIP_OTHER)
			m->answer = 501; /* RFC 4475 3.1.2.18 */
	}
	m->answerable = !m->response && m->n_vias && m->via[0].host.n && m->from.p && m->to.p && m->call_id.p && m->cseq_value.p && !s->echo_bare;
}

/* Where the message ends (RFC 3261 18.3). False: more octets are needed. */
static bool frame(struct sip_scan *s, bool stream)
{
	struct sip_msg *m = s->msg;
	uint64_t total = (uint64_t)m->body + m->content_length;

	if (!stream && s->raw.n > SIP_MESSAGE_MAX && s->raw.n > s->limits->message)
		sip_fault(s, SIP_TOO_LONG, "message too long"); /* the beginning of a WebSocket's, whatever length it says */
	if (!m->has_content_length || !m->framed) {
		m->framed = m->framed && !stream;
		if (stream) {
			m->raw.n = m->body;
			sip_fault(s, SIP_NO_LENGTH, "no Content-Length");
		}
	} else if (stream && total > s->limits->message) {
		m->framed = false; /* however much of it is there: the pieces that it came in must not matter */
	} else if (total <= s->raw.n) {
		m->raw.n = (size_t)total;
	} else if (!stream) {
		sip_fault(s, SIP_BAD, "Content-Length");
	} else {
		m->need = (size_t)total;
		return false;
	}
	if (m->raw.n > s->limits->message || (stream && total > s->limits->message))
		sip_fault(s, SIP_TOO_LONG, "message too long");
	return true;
}

/* Streams: is the empty line there? */
static bool head_complete(struct hf_bytes raw)
{
	for (size_t at = 0; at < raw.n; at++) {
		at += hf_bytes_find(hf_bytes_sub(raw, at, raw.n), '\n');
		if (at >= 3 && at < raw.n && raw.p[at - 1] == '\r' && raw.p[at - 2] == '\n' && raw.p[at - 3] == '\r')
			return true;
	}
	return false;
}

/* Before the first line (RFC 3261 7.5). True: there is something to read. */
static bool opening(struct sip_scan *s, bool stream)
{
	struct sip_msg *m = s->msg;
	bool more = s->raw.n == 0 || (s->raw.n == 1 && s->raw.p[0] == '\r');

	if (stream && more) {
		m->fault = SIP_INCOMPLETE;
	} else if (more || !sip_is(s->raw.p[0], C_TOKEN)) {
		sip_fault(s, SIP_GARBAGE, "no start line");
	} else if (stream && !head_complete(hf_bytes_sub(s->raw, 0, s->limits->message))) {
		if (s->raw.n > s->limits->message)
			sip_fault(s, SIP_TOO_LONG, "message too long");
		else
			m->fault = SIP_INCOMPLETE;
	}
	return m->fault == SIP_GOOD;
}

/* Reads what stands at the start of s->raw. False: more octets are needed. */
static bool message(struct sip_scan *s, bool stream)
{
	struct sip_msg *m = s->msg;

	m->framed = true;
	if (head(s)) {
		whole(s);
		return frame(s, stream);
	}
	m->body = m->head_end; /* of a cut message no value can be trusted to be whole: it is not answered */
	m->framed = !stream;
	return true;
}

enum sip_fault sip_scan(struct hf_bytes raw, bool stream, const struct sip_limits *limits, struct hf_arena *arena, struct sip_msg *msg)
{
	struct sip_scan s = {.limits = limits, .arena = arena, .msg = msg};
	size_t skip = 0;

	memset(msg, 0, offsetof(struct sip_msg, via));
	while (raw.n - skip >= 2 && raw.p[skip] == '\r' && raw.p[skip + 1] == '\n')
		skip += 2;
	msg->raw = s.raw = hf_bytes_sub(raw, skip, raw.n);
	msg->used = stream ? skip : raw.n;
	if (raw.n > UINT32_MAX / 2) { /* offsets have 32 bits */
		sip_fault(&s, SIP_TOO_LONG, "message too long");
	} else if (opening(&s, stream)) {
		if (!message(&s, stream)) {
			size_t need = skip + msg->need;

			memset(msg, 0, offsetof(struct sip_msg, via));
			msg->raw = s.raw;
			msg->used = skip;
			msg->need = need;
			return msg->fault = SIP_INCOMPLETE;
		}
		msg->used = skip + msg->raw.n;
	}
	return msg->fault;
}
