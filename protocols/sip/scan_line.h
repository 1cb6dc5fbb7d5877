/* Inside the scanner: the one tokenizer for framing, scanning and editing (RFC 3261 7, 7.3.1). A line ends with CRLF that no blank follows;
 * any other CR or LF is a fault, whoever asks, so that no two readers can see two messages. Nobody but the scanner includes this. */
#ifndef SIP_SCAN_LINE_H
#define SIP_SCAN_LINE_H

#include "scan_in.h"

/* ---- names: in small letters with the colon, where their length and first letter lead ---- */

enum { SIP_NAME_SLOTS = 64 };
#define SIP_NAME_SLOT(n, first) ((35 * (n) + (first)) % SIP_NAME_SLOTS) /* no two of our names meet with this factor */
struct sip_name { char text[HF_WIDE]; };
extern const struct sip_name sip_names[SIP_NAME_SLOTS];
extern const uint8_t sip_name_ids[SIP_NAME_SLOTS];

/* Which header the name is that begins in w with `first`, and whose colon is octet n of it. NONE as well for what is no token. */
static inline enum sip_header sip_header_id(hf_wide w, uint8_t first, unsigned n)
{
	unsigned slot = SIP_NAME_SLOT(n, first | 0x20u);
	unsigned same = hf_wide_bits(hf_wide_same(hf_wide_small(w), hf_wide_at((const uint8_t *)sip_names[slot].text)));

	return hf_wide_first(~same) > n ? (enum sip_header)sip_name_ids[slot] : SIP_H_NONE;
}

/* ---- lines ---- */

static inline bool sip_is_crlf(const uint8_t *p) { return memcmp(p, "\r\n", 2) == 0; }

struct sip_quick { unsigned id, name; /* octets of it */ };

/* A line as nearly all are: not at the end, its name of letters and '-', below 16 octets and right before its colon, and no fold. Returns
 * what is behind it; NULL: read it by sip_line_any. More than HF_WIDE + 2 octets must be there. Inlined with all it finds in registers, for
 * this is most of what a message costs. */
static inline __attribute__((always_inline)) const uint8_t *sip_line_quick(const uint8_t *at, const uint8_t *end, struct sip_quick *l)
{
	const uint8_t *p = at, *last = end - 2 - HF_WIDE; /* the last block; behind its CR an octet can be seen */
	unsigned colon, low, usual;
	hf_wide w;

	w = hf_wide_at(at);
	colon = hf_wide_bits(hf_wide_is(w, ':'));
	if (!colon)
		return NULL;
	l->name = hf_wide_first(colon);
	l->id = sip_header_id(w, *at, l->name);
	if (l->id == SIP_H_NONE) {
		usual = hf_wide_bits(hf_wide_or(hf_wide_in(hf_wide_small(w), 'a', 'z'), hf_wide_is(w, '-')));
		if (!l->name || hf_wide_first(~usual) != l->name)
			return NULL;
	}
	for (low = hf_wide_bits(hf_wide_upto(w, 13)); !low;) {
		p += HF_WIDE;
		if (p <= last)
			low = hf_wide_bits(hf_wide_upto(hf_wide_at(p), 13));
		else if (p >= last + HF_WIDE || !(low = hf_wide_bits(hf_wide_upto(hf_wide_at(last), 13)) >> (p - last)))
			return NULL;
	}
	p += hf_wide_first(low);
	if (!sip_is_crlf(p) || (p[2] <= ' ' && (p[2] == ' ' || p[2] == '\t')))
		return NULL;
	return p + 2;
}

/* What stands between colon and CRLF, without the blanks (and folds) around it. */
static inline struct hf_bytes sip_line_value(const uint8_t *colon, const uint8_t *cr)
{
	const uint8_t *from = colon + 1;

	if (*from == ' ')
		from++; /* at most the CR */
	if (*from > ' ' && cr[-1] > ' ') /* as it is meant to be */
		return hf_bytes_of(from, (size_t)(cr - from));
	return sip_trim(hf_bytes_of(from, (size_t)(cr - from)));
}

/* The line at pos, with its value. False: no CRLF ends it. */
bool sip_line_read(struct hf_bytes raw, uint32_t pos, struct sip_raw_line *l);
/* The same without the quick way. */
bool sip_line_any(struct hf_bytes raw, uint32_t pos, struct sip_raw_line *l);

#endif
