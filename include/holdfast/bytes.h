/* Views of octets and our checked number readers (base floor).
 * A view borrows: it never outlives what it points into, and is never NUL-terminated. Pure; any thread. */
#ifndef HOLDFAST_BYTES_H
#define HOLDFAST_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "err.h"

struct hf_bytes {
	const uint8_t *p;
	size_t n;
};

#define HF_LIT(s) ((struct hf_bytes){(const uint8_t *)("" s), sizeof(s) - 1})
#define HF_NONE ((struct hf_bytes){NULL, 0})

static inline struct hf_bytes hf_bytes_of(const void *p, size_t n) { return (struct hf_bytes){p, n}; }
static inline struct hf_bytes hf_bytes_str(const char *s) { return (struct hf_bytes){(const uint8_t *)s, strlen(s)}; }
static inline bool hf_bytes_eq(struct hf_bytes a, struct hf_bytes b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
/* The part of b from octet `from` on, at most n octets; clamped, so never outside b. */
static inline struct hf_bytes hf_bytes_sub(struct hf_bytes b, size_t from, size_t n)
{
	if (from > b.n)
		from = b.n;
	if (n > b.n - from)
		n = b.n - from;
	return (struct hf_bytes){b.p ? b.p + from : NULL, n};
}
static inline uint8_t hf_lower(uint8_t c) { return (uint8_t)(c | (c >= 'A' && c <= 'Z') << 5); }

/* Equal when ASCII letters are compared without case. */
bool hf_bytes_ieq(struct hf_bytes a, struct hf_bytes b);
/* a begins with b (with / without case). */
bool hf_bytes_starts(struct hf_bytes a, struct hf_bytes b);
bool hf_bytes_istarts(struct hf_bytes a, struct hf_bytes b);
/* memcpy without a call, for what is a token or a name as a rule. */
static inline void hf_copy(uint8_t *to, const uint8_t *from, size_t n)
{
	if (n > 64) {
		memcpy(to, from, n);
	} else if (n >= 16) {
		for (size_t i = 0; i < n - 16; i += 16)
			memcpy(to + i, from + i, 16);
		memcpy(to + n - 16, from + n - 16, 16);
	} else if (n >= 8) {
		memcpy(to, from, 8);
		memcpy(to + n - 8, from + n - 8, 8);
	} else if (n >= 4) {
		memcpy(to, from, 4);
		memcpy(to + n - 4, from + n - 4, 4);
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
	}
}
/* Index of the first octet c, or b.n. */
static inline size_t hf_bytes_find(struct hf_bytes b, uint8_t c)
{
	const uint8_t *q = b.n ? (const uint8_t *)memchr(b.p, c, b.n) : NULL;

	return q ? (size_t)(q - b.p) : b.n;
}
/* Without blanks and tabs at both ends. */
struct hf_bytes hf_bytes_trim(struct hf_bytes b);
/* The next word, between blanks and tabs; *rest goes behind it and the blanks that follow. Empty: there is none. */
struct hf_bytes hf_bytes_word(struct hf_bytes *rest);
/* Total order by octets, a prefix before the longer one: <0, 0, >0. */
int hf_bytes_cmp(struct hf_bytes a, struct hf_bytes b);
/* Equal, in time that depends on the lengths only (tags). */
bool hf_bytes_same_secret(struct hf_bytes a, struct hf_bytes b);

/* The whole view must be 1.. decimal digits (leading zeros allowed) and at most `max`; nothing else is accepted.
 * HF_EINVAL: not digits; HF_ERANGE: above max (of any length, without wrap). *out is written on HF_OK only. */
enum hf_err hf_read_uint(struct hf_bytes b, uint64_t max, uint64_t *out) HF_MUST_USE;
/* The whole view must be exactly 2*n hex digits of either case. */
enum hf_err hf_read_hex(struct hf_bytes b, uint8_t *out, size_t n) HF_MUST_USE;

static inline uint16_t hf_get16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t hf_get32(const uint8_t *p) { return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]; }
static inline uint64_t hf_get64(const uint8_t *p) { return (uint64_t)hf_get32(p) << 32 | hf_get32(p + 4); }
static inline void hf_put16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static inline void hf_put32(uint8_t *p, uint32_t v) { hf_put16(p, (uint16_t)(v >> 16)); hf_put16(p + 2, (uint16_t)v); }
static inline void hf_put64(uint8_t *p, uint64_t v) { hf_put32(p, (uint32_t)(v >> 32)); hf_put32(p + 4, (uint32_t)v); }

#endif
