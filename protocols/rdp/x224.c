/* Reads X.224 Connection Requests and what hosts answer; see x224.h. The one file that includes WinPR's stream.
 *
 * A request is checked in steps, each as soon as its octets are there, so that nonsense is closed after one or four octets
 * and not after a deadline. The variable part is read when the request is whole. Knows nothing of keys, hosts or flows. */
#include "x224.h"

#include <winpr/stream.h>

#include "reasons.h"

const uint8_t x224_refusal[11] = {3, 0, 0, 11, 6, 0x80, 0, 0, 0, 0, 0};
const uint8_t x224_probe[19] = {3, 0, 0, 19, 14, 0xe0, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0x0b, 0, 0, 0};

enum { TPKT_VERSION = 3, CODE_CR = 0xe0, CODE_CC = 0xd0, TYPE_NEG_REQ = 1, TYPE_NEG_FAILURE = 3, TYPE_CORRELATION = 6 };
enum { NEG_LEN = 8, CORRELATION_LEN = 36 };

/* Stream_StaticInit returns nothing in WinPR 2 and the stream in WinPR 3; it wants a pointer it could write by, and is not used so. */
static void stream_on(wStream *s, struct hf_bytes b)
{
	(void)Stream_StaticInit(s, (BYTE *)(uintptr_t)b.p, b.n);
}

/* What is left, as a view; the stream's own readers do not check. */
static struct hf_bytes rest(wStream *s)
{
	return hf_bytes_of(Stream_Pointer(s), Stream_GetRemainingLength(s));
}

/* ---- the fixed part: X.224 13.3 behind a TPKT header ---- */

/* The octet at which the next check can be made. */
static size_t next_need(size_t have, size_t total)
{
	static const size_t steps[] = {1, 4, 6, X224_MIN};

	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
		if (have < steps[i])
			return steps[i];
	return total;
}

/* Versions that TPKT never had but might count as one; above them it is another protocol altogether. */
static unsigned version(uint8_t v)
{
	if (v == TPKT_VERSION)
		return 0;
	return v < 8 ? RDP_R_TPKT_VERSION : RDP_R_NOT_RDP;
}

/* All checks that the octets at hand allow; *total is the TPKT length once it is known. */
static unsigned fixed_part(struct hf_bytes in, size_t *total)
{
	unsigned bad = in.n ? version(in.p[0]) : 0;
	uint16_t len = 0;
	uint8_t li, code, class;
	wStream s;

	*total = 0;
	if (bad || in.n < 4)
		return bad;
	stream_on(&s, in);
	Stream_Seek(&s, 2); /* version; a reserved octet, ignored on reading */
	Stream_Read_UINT16_BE(&s, len);
	if (len < X224_MIN || len > X224_MAX)
		return RDP_R_TPKT_LENGTH;
	*total = len;
	if (Stream_GetRemainingLength(&s) < 2)
		return 0;
	Stream_Read_UINT8(&s, li);
	Stream_Read_UINT8(&s, code);
	if ((code & 0xf0) != CODE_CR) /* the low half is the credit, which class 0 does not have */
		return RDP_R_NOT_CR;
	if (li != len - 5u)
		return RDP_R_LI_MISMATCH;
	if (Stream_GetRemainingLength(&s) < 5)
		return 0;
	Stream_Seek(&s, 4); /* DST-REF and SRC-REF: not ours to judge (3.3.5.3.1) */
	Stream_Read_UINT8(&s, class);
	return class & 0xf0 ? RDP_R_NOT_CR : 0;
}

/* ---- the lines: 2.2.1.1 routingToken and cookie ---- */

/* Length of the line at the start of b without its CR LF, which must lie inside b; b.n when there is none. */
static size_t line_end(struct hf_bytes b)
{
	for (size_t i = 0; i + 1 < b.n; i++)
		if (b.p[i] == '\r' && b.p[i + 1] == '\n')
			return i;
	return b.n;
}

static unsigned line_octets(struct hf_bytes line)
{
	if (hf_bytes_find(line, 0) < line.n)
		return RDP_R_NUL;
	return hf_bytes_find(line, '\r') < line.n || hf_bytes_find(line, '\n') < line.n ? RDP_R_CONTROL : 0;
}

/* The cookie is told by its prefix, in any case; every other line is a routing token. */
static unsigned take_line(struct hf_bytes line, struct x224_request *r)
{
	static const struct hf_bytes prefix = {(const uint8_t *)"Cookie: mstshash=", 17};
	bool cookie = hf_bytes_istarts(line, prefix);

	if (line.n == 0)
		return RDP_R_NEGREQ_TYPE;
	if (cookie ? r->has_cookie : r->has_token)
		return RDP_R_DUPLICATE;
	if (cookie) {
		r->has_cookie = true;
		r->cookie = hf_bytes_sub(line, prefix.n, line.n);
	} else {
		r->has_token = true;
		r->token = line;
	}
	return line_octets(line);
}

/* Up to one line of each kind. A first octet 01 is the negotiation block, whose data may hold CR LF: no search then.
 * Behind a line a block is due, and blocks begin with a type below 0x20; what begins as text is the other line. */
static unsigned lines(wStream *s, struct x224_request *r)
{
	struct hf_bytes b = rest(s);
	bool line = b.n && b.p[0] != TYPE_NEG_REQ;

	while (line) {
		size_t n = line_end(b);
		unsigned bad = n < b.n ? take_line(hf_bytes_sub(b, 0, n), r) : RDP_R_UNTERMINATED;

		if (bad)
			return bad;
		Stream_Seek(s, n + 2);
		b = rest(s);
		line = b.n && b.p[0] >= 0x20;
	}
	return 0;
}

/* ---- the blocks: 2.2.1.1.1 rdpNegReq, 2.2.1.1.2 rdpCorrelationInfo ---- */

static unsigned negotiation(wStream *s, struct x224_request *r)
{
	uint8_t type;
	uint16_t len;

	if (Stream_GetRemainingLength(s) < NEG_LEN)
		return RDP_R_NEGREQ_TRUNCATED;
	Stream_Read_UINT8(s, type);
	if (type != TYPE_NEG_REQ)
		return RDP_R_NEGREQ_TYPE;
	Stream_Read_UINT8(s, r->flags);
	Stream_Read_UINT16(s, len);
	Stream_Read_UINT32(s, r->protocols);
	r->negotiates = true;
	return len == NEG_LEN ? 0 : RDP_R_NEGREQ_LENGTH;
}

static unsigned correlation(wStream *s, struct x224_request *r)
{
	uint8_t type;
	uint16_t len;

	if (Stream_GetRemainingLength(s) < CORRELATION_LEN)
		return RDP_R_CORRELATION;
	Stream_Read_UINT8(s, type);
	Stream_Seek_UINT8(s); /* flags: none is defined, unknown ones are the host's affair */
	Stream_Read_UINT16(s, len);
	r->correlation = hf_bytes_of(Stream_Pointer(s), X224_ID);
	Stream_Seek(s, CORRELATION_LEN - 4);
	if (type != TYPE_CORRELATION || len != CORRELATION_LEN)
		return RDP_R_CORRELATION;
	/* What the document bars from an id, so that readers which search for CR are not led astray. */
	return r->correlation.p[0] == 0 || r->correlation.p[0] == 0xf4 || hf_bytes_find(r->correlation, '\r') < X224_ID ? RDP_R_CORRELATION : 0;
}

static unsigned variable_part(struct hf_bytes b, struct x224_request *r)
{
	wStream s;
	unsigned bad;

	stream_on(&s, b);
	bad = lines(&s, r);
	if (!bad && rest(&s).n)
		bad = negotiation(&s, r);
	if (!bad && r->flags & X224_NEG_CORRELATION)
		bad = correlation(&s, r);
	return bad ? bad : rest(&s).n ? RDP_R_TRAILING : 0;
}

unsigned x224_read(struct hf_bytes in, struct x224_request *r, size_t *need)
{
	size_t total;
	unsigned bad = fixed_part(in, &total);

	memset(r, 0, sizeof *r);
	*need = 0;
	if (bad)
		return bad;
	if (in.n < X224_MIN || in.n < total) {
		*need = next_need(in.n, total);
		return X224_WAIT;
	}
	r->len = total;
	return variable_part(hf_bytes_sub(in, X224_MIN, total - X224_MIN), r);
}

/* ---- the host's side: 2.2.1.2 ---- */

enum x224_reply x224_read_reply(struct hf_bytes in, size_t *need)
{
	size_t total;

	*need = 4;
	if (in.n && in.p[0] != TPKT_VERSION)
		return X224_REPLY_OTHER;
	if (in.n < 4)
		return X224_REPLY_WAIT;
	total = hf_get16(in.p + 2);
	if (total < X224_MIN || total > X224_MAX)
		return X224_REPLY_OTHER;
	*need = total;
	if (in.n < total)
		return X224_REPLY_WAIT;
	if (in.p[4] != total - 5 || (in.p[5] & 0xf0) != CODE_CC)
		return X224_REPLY_OTHER;
	return total > X224_MIN && in.p[X224_MIN] == TYPE_NEG_FAILURE ? X224_REPLY_NEG_FAILURE : X224_REPLY_CONFIRM;
}
