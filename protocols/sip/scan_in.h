/* Inside the scanner: what its files share. Nobody else includes this. */
#ifndef SIP_SCAN_IN_H
#define SIP_SCAN_IN_H

#include "holdfast/wide.h"

#include "scan.h"

/* What an octet may be (RFC 3261 25.1). */
enum {
	C_TOKEN = 1,
	C_BLANK = 2,    /* SP HTAB, and CR LF: inside a header line these stand in folds only */
	C_DIGIT = 4,
	C_ALPHA = 8,
	C_HOST = 16,    /* of a host name; '_' is met in the field */
	C_IP6 = 32,     /* inside the brackets of an IPv6 literal */
	C_CALLID = 64,  /* printable, but not what ends or splits a value: , ; @ */
	C_STOP = 128,   /* what a search for a comma looks at: " < , */
	C_NO_URI = 256, /* in no URI: controls, blanks, quotes and angle brackets */
	C_VALUE = 512,  /* of a parameter's value without quotes: no blank, ; " < , */
};
extern const uint16_t sip_class[256];
static inline bool sip_is(uint8_t c, unsigned kind) { return (sip_class[c] & kind) != 0; }

/* Where a reader is. `lo`: from there on all octets up to `end` may be read, so that the last ones can be looked at as part of sixteen. */
struct sip_cur { const uint8_t *p, *end, *lo; };

static inline struct sip_cur sip_cur_of(struct hf_bytes b) { return (struct sip_cur){b.p, b.p ? b.p + b.n : b.p, b.p}; }
static inline struct hf_bytes sip_cur_rest(const struct sip_cur *c) { return hf_bytes_of(c->p, (size_t)(c->end - c->p)); }
static inline const uint8_t *sip_past_blanks(const uint8_t *p, const uint8_t *end)
{
	while (p < end && sip_is(*p, C_BLANK))
		p++;
	return p;
}
static inline void sip_blanks(struct sip_cur *c) { c->p = sip_past_blanks(c->p, c->end); }
/* Behind the longest run of octets of a kind, one by one: for words. */
static inline const uint8_t *sip_past(const uint8_t *p, const uint8_t *end, unsigned kind)
{
	while (p < end && sip_is(*p, kind))
		p++;
	return p;
}
static inline struct hf_bytes sip_run(struct sip_cur *c, unsigned kind)
{
	const uint8_t *from = c->p;

	c->p = sip_past(from, c->end, kind);
	return hf_bytes_of(from, (size_t)(c->p - from));
}
static inline bool sip_take(struct sip_cur *c, uint8_t octet)
{
	if (c->p == c->end || *c->p != octet)
		return false;
	c->p++;
	return true;
}
/* Blanks (and folds) off both ends. */
static inline struct hf_bytes sip_trim(struct hf_bytes b)
{
	while (b.n && sip_is(b.p[0], C_BLANK))
		b.p++, b.n--;
	while (b.n && sip_is(b.p[b.n - 1], C_BLANK))
		b.n--;
	return b;
}
/* Equal to a word in small letters, case aside. For tokens: of them only letters differ by the bit 0x20 from these. */
static inline bool sip_word(struct hf_bytes token, const char *lower, size_t n)
{
	if (token.n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((token.p[i] | 0x20) != (uint8_t)lower[i])
			return false;
	return true;
}
#define SIP_WORD(token, literal) sip_word(token, "" literal, sizeof literal - 1)
/* Behind a quoted string that begins at p; NULL: it does not end. */
const uint8_t *sip_past_quoted(const uint8_t *p, const uint8_t *end, const uint8_t *lo);
enum sip_more { SIP_END, SIP_ONE, SIP_BROKEN };

/* A header line as the tokenizer found it. */
struct sip_raw_line {
	uint32_t at, end;       /* with CRLF */
	bool folded, bare;      /* bare: a CR or LF that is no line end */
	uint8_t id;             /* of the header */
	uint32_t name;          /* octets of its name; 0: it is no header */
	struct hf_bytes value;  /* of a header; blanks and folds at its ends left out */
};

/* Remembers where the lines of a header are, to be joined when all are known: joining one by one would be quadratic. */
struct sip_lines { uint32_t first, lines; size_t total; };
static inline void sip_lines_note(struct sip_lines *all, const struct sip_raw_line *l)
{
	if (all->lines++ == 0)
		all->first = l->at;
	all->total += l->value.n + 1;
}

struct sip_scan {
	struct hf_bytes raw;
	const struct sip_limits *limits;
	struct hf_arena *arena;
	struct sip_msg *msg;
	uint32_t seen;          /* by header id */
	bool echo_bare;         /* a value that answers copy holds a bare CR or LF */
	struct sip_lines route, require; /* to be joined at the end */
	struct hf_bytes last_route;
};

enum sip_header {
	SIP_H_NONE, SIP_H_VIA, SIP_H_FROM, SIP_H_TO, SIP_H_CALL_ID, SIP_H_CSEQ, SIP_H_MAX_FORWARDS, SIP_H_CONTENT_LENGTH, SIP_H_ROUTE,
	SIP_H_EXPIRES, SIP_H_SUPPORTED, SIP_H_PROXY_REQUIRE, SIP_H_REPLACES, SIP_H_JOIN,
	SIP_H_TARGET_DIALOG, SIP_H_EVENT, SIP_H_SUBSCRIPTION_STATE, SIP_H_SESSION_EXPIRES, SIP_H_USER_AGENT, SIP_HEADERS,
};

/* Notes a fault, unless one was noted before. */
void sip_fault(struct sip_scan *s, enum sip_fault fault, const char *why);
/* Methods are told apart by case (RFC 3261 7.1). */
enum sip_method sip_method_of(struct hf_bytes m);
void sip_start_line(struct sip_scan *s, const struct sip_raw_line *l);
/* The reader of each header that we know; `seen` has not its bit yet when this is the first line of it. */
typedef void sip_reader(struct sip_scan *s, const struct sip_raw_line *l);
extern sip_reader *const sip_readers[SIP_HEADERS];
/* Headers that stand once at most; a second one is not read but given to sip_header_again. */
#define SIP_ONCE (1u << SIP_H_FROM | 1u << SIP_H_TO | 1u << SIP_H_CALL_ID | 1u << SIP_H_CSEQ | 1u << SIP_H_MAX_FORWARDS | 1u << SIP_H_CONTENT_LENGTH | \
		  1u << SIP_H_REPLACES | 1u << SIP_H_JOIN | 1u << SIP_H_TARGET_DIALOG)
void sip_header_again(struct sip_scan *s, enum sip_header id);
/* Those whose values an answer of ours copies. */
#define SIP_ECHOED (1u << SIP_H_VIA | 1u << SIP_H_FROM | 1u << SIP_H_TO | 1u << SIP_H_CALL_ID | 1u << SIP_H_CSEQ)
void sip_via_line(struct sip_scan *s, const struct sip_raw_line *l);
void sip_route_line(struct sip_scan *s, const struct sip_raw_line *l);
void sip_route_end(struct sip_scan *s);
/* The value (a part) of a line, unfolded; a full arena becomes SIP_TOO_LONG. */
struct hf_bytes sip_text(struct sip_scan *s, const struct sip_raw_line *l, struct hf_bytes value);

/* A reader of a part of the message. */
static inline struct sip_cur sip_cur_in(const struct sip_scan *s, struct hf_bytes b) { return (struct sip_cur){b.p, b.p + b.n, s->raw.p}; }

static inline struct sip_span sip_span_of(const uint8_t *base, struct hf_bytes b)
{
	return (struct sip_span){(uint32_t)(b.p - base), (uint32_t)b.n};
}

#endif
