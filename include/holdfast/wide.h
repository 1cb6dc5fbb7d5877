/* Sixteen octets at once (base floor): which of them are of a kind, as bits, the first octet's lowest. SSE2, which every x86-64 has;
 * elsewhere, and with HF_NO_SSE2, two words of eight. Both answer alike for any octets (tests/unit/base/test_wide.c). Pure; any thread. */
#ifndef HOLDFAST_WIDE_H
#define HOLDFAST_WIDE_H

#include "bytes.h"

enum { HF_WIDE = 16 };

#if defined __SSE2__ && !defined HF_NO_SSE2
#include <emmintrin.h>

typedef __m128i hf_wide; /* octets, or hits: all bits of an octet are set or none */

/* p: HF_WIDE octets that may be read, wherever they lie. */
static inline hf_wide hf_wide_at(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
static inline hf_wide hf_wide_or(hf_wide a, hf_wide b) { return _mm_or_si128(a, b); }
static inline hf_wide hf_wide_is(hf_wide w, uint8_t c) { return _mm_cmpeq_epi8(w, _mm_set1_epi8((char)c)); }
/* At most c / from lo to hi; c and hi below 128. */
static inline hf_wide hf_wide_upto(hf_wide w, uint8_t c) { return _mm_cmpeq_epi8(_mm_min_epu8(w, _mm_set1_epi8((char)c)), w); }
static inline hf_wide hf_wide_in(hf_wide w, uint8_t lo, uint8_t hi) { return hf_wide_upto(_mm_sub_epi8(w, _mm_set1_epi8((char)lo)), (uint8_t)(hi - lo)); }
/* Above 127. */
static inline unsigned hf_wide_high(hf_wide w) { return (unsigned)_mm_movemask_epi8(w); }
/* Octets that are equal in both. */
static inline hf_wide hf_wide_same(hf_wide a, hf_wide b) { return _mm_cmpeq_epi8(a, b); }
/* Letters small; of the others only @ [ \ ] ^ _ change, and become what is no letter either. */
static inline hf_wide hf_wide_small(hf_wide w) { return _mm_or_si128(w, _mm_srli_epi16(_mm_and_si128(w, _mm_set1_epi8(0x40)), 1)); }
static inline unsigned hf_wide_bits(hf_wide hits) { return (unsigned)_mm_movemask_epi8(hits); }

#else

typedef struct { uint64_t v[2]; } hf_wide; /* octets, or hits: the top bit of each octet */

#define HF_EACH(c) (0x0101010101010101u * (uint64_t)(c))

static inline hf_wide hf_wide_at(const uint8_t *p)
{
	hf_wide w;

	memcpy(w.v, p, HF_WIDE);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w.v[0] = __builtin_bswap64(w.v[0]);
	w.v[1] = __builtin_bswap64(w.v[1]);
#endif
	return w;
}

/* The lower seven bits of each octet plus k, and the octet itself: the top bit says "above 127 - k". */
static inline uint64_t hf_word_above(uint64_t w, unsigned k) { return ((w & HF_EACH(127)) + HF_EACH(127 - k)) | w; }
static inline uint64_t hf_word_upto(uint64_t w, unsigned k) { return ~hf_word_above(w, k) & HF_EACH(128); }

static inline hf_wide hf_wide_or(hf_wide a, hf_wide b) { return (hf_wide){{a.v[0] | b.v[0], a.v[1] | b.v[1]}}; }
static inline hf_wide hf_wide_upto(hf_wide w, uint8_t c) { return (hf_wide){{hf_word_upto(w.v[0], c), hf_word_upto(w.v[1], c)}}; }
static inline hf_wide hf_wide_same(hf_wide a, hf_wide b) { return hf_wide_upto((hf_wide){{a.v[0] ^ b.v[0], a.v[1] ^ b.v[1]}}, 0); }
static inline hf_wide hf_wide_is(hf_wide w, uint8_t c) { return hf_wide_same(w, (hf_wide){{HF_EACH(c), HF_EACH(c)}}); }
static inline uint64_t hf_word_in(uint64_t w, uint8_t lo, uint8_t hi) { return hf_word_upto(w, hi) & hf_word_above(w, lo - 1u); }
static inline hf_wide hf_wide_in(hf_wide w, uint8_t lo, uint8_t hi) /* lo at least 1 */
{
	return (hf_wide){{hf_word_in(w.v[0], lo, hi), hf_word_in(w.v[1], lo, hi)}};
}
static inline hf_wide hf_wide_small(hf_wide w)
{
	return (hf_wide){{w.v[0] | (w.v[0] & HF_EACH(0x40)) >> 1, w.v[1] | (w.v[1] & HF_EACH(0x40)) >> 1}};
}
/* Top bits gathered: octet i gives bit i. No two octets meet in one bit of the product. */
static inline unsigned hf_word_bits(uint64_t w) { return (unsigned)(((w & HF_EACH(128)) >> 7) * 0x0102040810204080u >> 56); }
static inline unsigned hf_wide_bits(hf_wide hits) { return hf_word_bits(hits.v[0]) | hf_word_bits(hits.v[1]) << 8; }
static inline unsigned hf_wide_high(hf_wide w) { return hf_wide_bits(w); }

#endif

/* The first of bits that are not all 0. */
static inline unsigned hf_wide_first(unsigned bits) { return (unsigned)__builtin_ctz(bits); }

#endif
