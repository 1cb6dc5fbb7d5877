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
	unsigned slot = SIP_NAME_SLOT(n, first | 0x20u), all = (2u << n) - 1;
	unsigned same = hf_wide_bits(hf_wide_same(hf_wide_small(w), hf_wide_at((const uint8_t *)sip_names[slot].text)));

	return (same & all) == all ? (enum sip_header)sip_name_ids[slot] : SIP_H_NONE;
}

/* ---- lines ---- */

/* Any line at pos. False: no CRLF ends it. */
bool sip_line_any(struct hf_bytes raw, uint32_t pos, struct sip_raw_line *l);

/* A line as nearly all are: a name of letters and '-' that is below 16 octets, right before its colon, and no fold. False: read it by
 * sip_line_any. Inlined: this is most of what a message costs. */
static inline bool sip_line_quick(struct hf_bytes raw, uint32_t pos, struct sip_raw_line *l)
{
	const uint8_t *at = raw.p + pos, *p = at, *stop = raw.p + raw.n - 2; /* behind a CR at stop or later not enough is there to see */
	unsigned colon, low, n;
	hf_wide w;

	if (stop - at <= HF_WIDE)
		return false;
	w = hf_wide_at(at);
	colon = hf_wide_bits(hf_wide_is(w, ':'));
	if (!colon)
		return false;
	n = hf_wide_first(colon);
	l->id = (uint8_t)sip_header_id(w, *at, n);
	if (l->id == SIP_H_NONE) {
		unsigned usual = hf_wide_bits(hf_wide_or(hf_wide_in(hf_wide_small(w), 'a', 'z'), hf_wide_is(w, '-')));

		if (!n || (usual | ~0u << n) != ~0u)
			return false;
	}
	for (low = hf_wide_bits(hf_wide_upto(w, 13)); !low;) {
		p += HF_WIDE;
		if (stop - p >= HF_WIDE)
			low = hf_wide_bits(hf_wide_upto(hf_wide_at(p), 13));
		else if (p >= stop || !(low = hf_wide_bits(hf_wide_upto(hf_wide_at(stop - HF_WIDE), 13)) >> (HF_WIDE - (stop - p))))
			return false;
	}
	p += hf_wide_first(low);
	if (p[0] != '\r' || p[1] != '\n' || p[2] == ' ' || p[2] == '\t')
		return false;
	l->at = pos;
	l->end = (uint32_t)(p + 2 - raw.p);
	l->folded = l->bare = false;
	l->name = n;
	l->colon = at + n;
	return true;
}

/* What stands between colon and CRLF, without the blanks (and folds) around it. */
static inline struct hf_bytes sip_line_value(struct hf_bytes raw, const struct sip_raw_line *l)
{
	const uint8_t *from = l->colon + 1, *to = raw.p + l->end - 2;

	if (from < to && *from == ' ')
		from++;
	return sip_trim(hf_bytes_of(from, (size_t)(to - from)));
}

/* The next line at pos. False: no CRLF ends it. */
static inline bool sip_line_read(struct hf_bytes raw, uint32_t pos, struct sip_raw_line *l)
{
	return sip_line_quick(raw, pos, l) || sip_line_any(raw, pos, l);
}

#endif
