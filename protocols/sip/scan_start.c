/* The start line (RFC 3261 7.1, 7.2, 25.1): what is no SIP at all, what is another version, what is malformed. Knows no header.
 * Called by scan.c once a message. */
#include "scan_read.h"

enum sip_method sip_method_of(struct hf_bytes m)
{
	static const struct { char name[10]; uint8_t n; } names[SIP_OTHER] = {
#define NAME(s) {s, sizeof s - 1}
		[SIP_INVITE] = NAME("INVITE"), [SIP_ACK] = NAME("ACK"), [SIP_BYE] = NAME("BYE"), [SIP_CANCEL] = NAME("CANCEL"),
		[SIP_OPTIONS] = NAME("OPTIONS"), [SIP_REGISTER] = NAME("REGISTER"), [SIP_SUBSCRIBE] = NAME("SUBSCRIBE"), [SIP_NOTIFY] = NAME("NOTIFY"),
		[SIP_PUBLISH] = NAME("PUBLISH"), [SIP_PRACK] = NAME("PRACK"), [SIP_UPDATE] = NAME("UPDATE"), [SIP_REFER] = NAME("REFER"),
		[SIP_MESSAGE] = NAME("MESSAGE"), [SIP_INFO] = NAME("INFO"),
#undef NAME
	};

	for (int i = 0; i < SIP_OTHER; i++)
		if (m.n == names[i].n && m.p[0] == (uint8_t)names[i].name[0] && memcmp(m.p, names[i].name, m.n) == 0)
			return (enum sip_method)i;
	return SIP_OTHER;
}

enum version { NO_VERSION, OTHER_VERSION, OUR_VERSION };

/* "SIP/2.0" in any case; another is known by "SIP/" digits "." digits. */
static enum version version_of(struct hf_bytes word)
{
	struct sip_cur c = sip_cur_of(hf_bytes_sub(word, 4, word.n));

	if (hf_bytes_eq(word, HF_LIT("SIP/2.0")))
		return OUR_VERSION;
	if (!hf_bytes_istarts(word, HF_LIT("SIP/")))
		return NO_VERSION;
	if (hf_bytes_eq(hf_bytes_sub(word, 4, word.n), HF_LIT("2.0")))
		return OUR_VERSION;
	return sip_run(&c, C_DIGIT).n && sip_take(&c, '.') && sip_run(&c, C_DIGIT).n && c.p == c.end ? OTHER_VERSION : NO_VERSION;
}

static bool digit(uint8_t c) { return sip_is(c, C_DIGIT); }

/* As nearly all are. */
static bool usual_status(struct sip_msg *m, struct hf_bytes t)
{
	if (t.n < 12 || memcmp(t.p, "SIP/2.0 ", 8) != 0 || t.p[8] < '1' || t.p[8] > '6' || !digit(t.p[9]) || !digit(t.p[10]) || t.p[11] != ' ')
		return false;
	m->status = (unsigned)((t.p[8] - '0') * 100 + (t.p[9] - '0') * 10 + (t.p[10] - '0'));
	return true;
}

/* "SIP/2.0 200 OK" */
static void status_line(struct sip_scan *s, struct hf_bytes t)
{
	struct sip_msg *m = s->msg;
	struct hf_bytes rest = hf_bytes_sub(t, hf_bytes_find(t, ' '), t.n);
	struct hf_bytes code = hf_bytes_sub(rest, 1, 3);
	enum version v = version_of(hf_bytes_sub(t, 0, t.n - rest.n));
	uint64_t n = 0;

	if (v != OUR_VERSION)
		sip_fault(s, v == NO_VERSION ? SIP_GARBAGE : SIP_VERSION, "SIP-Version");
	if (code.n != 3 || hf_read_uint(code, 699, &n) != HF_OK || n < 100 || (rest.n > 4 && rest.p[4] != ' '))
		sip_fault(s, SIP_BAD, "status code");
	m->status = (unsigned)n;
}

static void request_uri(struct sip_scan *s, struct hf_bytes uri)
{
	struct sip_msg *m = s->msg;
	uint32_t n = 0;

	m->uri_span = sip_span_of(s->raw.p, uri);
	if (uri.n > s->limits->line) { /* not worth the reading */
		sip_fault(s, SIP_TOO_LONG, "line too long");
		return;
	}
	if (!sip_uri_read(uri, &m->uri) || ((m->uri.sip || m->uri.sips) && m->uri.headers.n)) {
		sip_fault(s, SIP_BAD, "Request-URI");
		return;
	}
	for (size_t i = 0; i < m->uri.params.n; i++)
		n += m->uri.params.p[i] == ';';
	if (n > s->limits->params)
		sip_fault(s, SIP_TOO_LONG, "too many parameters");
}

/* The line has no version at its end. One that reads "INVITE sip:user@host" is at least meant for us. */
static void no_version(struct sip_scan *s, struct hf_bytes last)
{
	struct sip_uri uri;
	bool ours = sip_uri_read(last, &uri) && (uri.sip || uri.sips);

	sip_fault(s, ours ? SIP_BAD : SIP_GARBAGE, "no SIP-Version");
}

/* As nearly all are: a token, a blank, octets without one, " SIP/2.0". */
static bool usual_request(struct sip_scan *s, struct hf_bytes t)
{
	static const char version[] = " SIP/2.0";
	struct sip_msg *m = s->msg;
	const uint8_t *end = t.p + t.n, *uri = sip_past(t.p, end, C_TOKEN), *last;

	if (uri == end || *uri != ' ' || end - uri < (ptrdiff_t)sizeof version)
		return false;
	m->method = hf_bytes_of(t.p, (size_t)(uri - t.p));
	last = sip_seek_blank(++uri, end, s->raw.p);
	if (last == uri || end - last != sizeof version - 1 || memcmp(last, version, sizeof version - 1) != 0)
		return false;
	m->method_id = sip_method_of(m->method);
	request_uri(s, hf_bytes_of(uri, (size_t)(last - uri)));
	return true;
}

/* "INVITE sip:user@host SIP/2.0", with single blanks (RFC 4475 3.1.2.8 to 3.1.2.10). */
static void request_line(struct sip_scan *s, struct hf_bytes t)
{
	struct sip_msg *m = s->msg;
	struct sip_cur c = sip_cur_of(t);
	struct hf_bytes trimmed = sip_trim(t), uri;
	size_t last = trimmed.n, first = hf_bytes_find(t, ' ');
	enum version v;

	while (last && trimmed.p[last - 1] != ' ')
		last--;
	v = version_of(hf_bytes_sub(trimmed, last, trimmed.n));
	m->method = hf_bytes_sub(t, 0, first);
	m->method_id = sip_method_of(m->method);
	if (v == NO_VERSION) {
		no_version(s, hf_bytes_sub(trimmed, last, trimmed.n));
		return;
	}
	if (v == OTHER_VERSION)
		sip_fault(s, SIP_VERSION, "SIP-Version");
	if (sip_run(&c, C_TOKEN).n != first)
		sip_fault(s, SIP_BAD, "method");
	if (trimmed.n != t.n || last < first + 2) {
		sip_fault(s, SIP_BAD, "blanks in the start line");
		return;
	}
	uri = hf_bytes_sub(t, first + 1, last - first - 2);
	if (hf_bytes_find(uri, ' ') < uri.n)
		sip_fault(s, SIP_BAD, "blanks in the start line");
	request_uri(s, uri);
}

void sip_start_line(struct sip_scan *s, const struct sip_raw_line *l)
{
	struct hf_bytes t = hf_bytes_of(s->raw.p + l->at, l->end - l->at - 2);

	s->msg->start_end = s->msg->via_at = l->end;
	if (l->folded) /* the first part is judged, the fold is a fault (RFC 3261 25.1: no LWS there) */
		t.n = (size_t)((const uint8_t *)memchr(t.p, '\n', t.n) - t.p) - 1;
	s->msg->response = t.n >= 4 && t.p[3] == '/' && hf_bytes_istarts(t, HF_LIT("SIP/"));
	if (s->msg->response && !usual_status(s->msg, t))
		status_line(s, t);
	else if (!s->msg->response && !usual_request(s, t))
		request_line(s, t);
	if (l->folded)
		sip_fault(s, SIP_BAD, "folded start line");
}
