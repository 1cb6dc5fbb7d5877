/* Inside the scanner: the first octet of a kind, sixteen at a time. Nobody else includes this. */
#ifndef SIP_SCAN_SEEK_H
#define SIP_SCAN_SEEK_H

#include "scan_in.h"

#define IS(c) hf_wide_is(w, c)
#define OR(a, b) hf_wide_or(a, b)
#define BITS(hits) hf_wide_bits(hits)
#define NOT(bits) (0xffffu ^ (bits))
#define LETTERS hf_wide_in(hf_wide_small(w), 'a', 'z')

/*	name        of one octet c                       of sixteen octets w, as bits */
#define SIP_KINDS(X) \
	X(at,       c == '@',                            BITS(IS('@'))) \
	X(blank,    c == ' ',                            BITS(IS(' '))) \
	X(comma,    c == ',',                            BITS(IS(','))) \
	X(close,    c == '>',                            BITS(IS('>'))) \
	/* CR, LF, and a few controls that are as rare in a line */ \
	X(low,      c < 14,                              BITS(hf_wide_upto(w, 13))) \
	/* inside quotes: their end, and what takes the next octet's meaning */ \
	X(quote,    c == '"' || c == '\\',               BITS(OR(IS('"'), IS('\\')))) \
	/* of an address: where its URI begins, or its parameters */ \
	X(address,  sip_is(c, C_STOP) || c == ';',       BITS(OR(OR(IS('"'), IS(',')), OR(IS(';'), IS('<'))))) \
	X(gap,      c <= ' ' || c == 127,                BITS(OR(hf_wide_upto(w, ' '), IS(127)))) \
	X(no_uri,   sip_is(c, C_NO_URI),                 BITS(OR(OR(hf_wide_upto(w, ' '), IS('"')), OR(OR(IS('<'), IS('>')), IS(127))))) \
	/* of a parameter's value: its end, and controls, which are none */ \
	X(no_value, !sip_is(c, C_VALUE) || c < ' ',      BITS(OR(OR(hf_wide_upto(w, ' '), IS('"')), OR(OR(IS(','), IS(';')), IS('<'))))) \
	X(no_host,  !sip_is(c, C_HOST),                  NOT(BITS(OR(OR(LETTERS, hf_wide_in(w, '0', '9')), OR(hf_wide_in(w, '-', '.'), IS('_')))))) \
	X(no_id,    !sip_is(c, C_CALLID),                hf_wide_high(w) | BITS(OR(OR(hf_wide_upto(w, ' '), IS(',')), OR(OR(IS(';'), IS('@')), IS(127)))))

/* The first of a kind from p on, or end. What is left at the end is looked at with the octets before it, from lo on; only where sixteen
 * are not there in all, one by one. */
#define X(name, one, all) \
	static inline bool sip_is_##name(uint8_t c) { return one; } \
	static inline unsigned sip_bits_##name(hf_wide w) { return all; } \
	static inline const uint8_t *sip_seek_##name(const uint8_t *p, const uint8_t *end, const uint8_t *lo) \
	{ \
		unsigned bits; \
		for (; end - p >= HF_WIDE; p += HF_WIDE) \
			if ((bits = sip_bits_##name(hf_wide_at(p)))) \
				return p + hf_wide_first(bits); \
		if (end - lo >= HF_WIDE) { \
			bits = sip_bits_##name(hf_wide_at(end - HF_WIDE)) >> (HF_WIDE - (end - p)); \
			return bits ? p + hf_wide_first(bits) : end; \
		} \
		while (p < end && !sip_is_##name(*p)) \
			p++; \
		return p; \
	}
SIP_KINDS(X)
#undef X
#undef IS
#undef OR
#undef BITS
#undef NOT
#undef LETTERS

#endif
