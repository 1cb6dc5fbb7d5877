/* The bounded writer; see holdfast/writer.h. Knows libc only. */
#include "holdfast/writer.h"

#include <stdarg.h>
#include <stdio.h>

static const char hex[] = "0123456789abcdef";

void hf_w_mem(struct hf_writer *w, const void *p, size_t n)
{
	uint8_t *to = n ? hf_w_room(w, n) : NULL;

	if (to)
		memcpy(to, p, n);
}

void hf_w_dec(struct hf_writer *w, uint64_t v)
{
	char t[20];
	size_t i = sizeof t;

	do
		t[--i] = (char)('0' + v % 10);
	while (v /= 10);
	hf_w_mem(w, t + i, sizeof t - i);
}

void hf_w_hex(struct hf_writer *w, struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++) {
		hf_w_u8(w, (uint8_t)hex[b.p[i] >> 4]);
		hf_w_u8(w, (uint8_t)hex[b.p[i] & 15]);
	}
}

void hf_w_printf(struct hf_writer *w, const char *fmt, ...)
{
	char t[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t, sizeof t, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof t)
		w->full = true;
	else
		hf_w_mem(w, t, (size_t)n);
}

/* ---- base32hex, five octets as eight characters in the octets of one word ---- */

#define EACH(v) (0x0101010101010101u * (uint64_t)(v))

/* The top bit of each octet below 128 that is at least k. */
static inline uint64_t at_least(uint64_t x, unsigned k) { return (x + EACH(128 - k)) & EACH(128); }

static inline uint64_t five(const uint8_t p[5]) { return (uint64_t)hf_get32(p) << 8 | p[4]; }

/* 40 bits apart into eight octets of five, the first on top; and back. */
static inline uint64_t apart(uint64_t v)
{
	v = (v & 0xfffff00000u) << 12 | (v & 0xfffff);
	v = (v & 0x000ffc00000ffc00u) << 6 | (v & 0x000003ff000003ffu);
	return (v & 0x03e003e003e003e0u) << 3 | (v & 0x001f001f001f001fu);
}

static inline uint64_t together(uint64_t x)
{
	x = (x >> 3 & 0x03e003e003e003e0u) | (x & 0x001f001f001f001fu);
	x = (x >> 6 & 0x000ffc00000ffc00u) | (x & 0x000003ff000003ffu);
	return (x >> 12 & 0xfffff00000u) | (x & 0xfffff);
}

static inline uint64_t b32_chars(uint64_t v)
{
	uint64_t x = apart(v);

	return x + EACH('0') + (at_least(x, 10) >> 7) * ('a' - 10 - '0');
}

void hf_w_b32(struct hf_writer *w, struct hf_bytes b)
{
	uint8_t *p = hf_w_room(w, hf_b32_len(b.n)), last[8] = {0};

	if (!p)
		return;
	for (; b.n >= 5; b.p += 5, b.n -= 5, p += 8)
		hf_put64(p, b32_chars(five(b.p)));
	if (!b.n)
		return;
	memcpy(last, b.p, b.n);
	hf_put64(last, b32_chars(five(last)));
	memcpy(p, last, hf_b32_len(b.n));
}

/* 40 bits of eight characters. False: one of them is no digit. */
static inline bool b32_value(const uint8_t p[8], uint64_t *v)
{
	uint64_t x = hf_get64(p), lower = x | (x & EACH(0x40)) >> 1; /* of letters; all else stays what it is */
	uint64_t letter = at_least(lower & EACH(127), 'a') & ~at_least(lower & EACH(127), 'v' + 1);
	uint64_t digit = at_least(lower & EACH(127), '0') & ~at_least(lower & EACH(127), '9' + 1);

	*v = together(lower - EACH('0') - (letter >> 7) * ('a' - 10 - '0'));
	return ((letter | digit) & ~x & EACH(128)) == EACH(128);
}

size_t hf_b32_read(struct hf_bytes text, uint8_t *out, size_t cap)
{
	size_t want = text.n * 5 / 8, rest = want % 5;
	uint8_t last[8] = "00000000";
	uint64_t v;

	if (want == 0 || want > cap || hf_b32_len(want) != text.n)
		return 0;
	for (; text.n >= 8; text.p += 8, text.n -= 8, out += 5) {
		if (!b32_value(text.p, &v))
			return 0;
		hf_put32(out, (uint32_t)(v >> 8));
		out[4] = (uint8_t)v;
	}
	if (!text.n)
		return want;
	memcpy(last, text.p, text.n);
	if (!b32_value(last, &v) || v << (24 + 8 * rest))
		return 0;
	hf_put64(last, v << 24);
	memcpy(out, last, rest);
	return want;
}

static const char *json_short(uint8_t c)
{
	switch (c) {
	case '"': return "\\\"";
	case '\\': return "\\\\";
	case '\n': return "\\n";
	case '\r': return "\\r";
	case '\t': return "\\t";
	default: return NULL;
	}
}

void hf_w_json(struct hf_writer *w, struct hf_bytes b)
{
	hf_w_u8(w, '"');
	for (size_t i = 0; i < b.n; i++) {
		const char *s = json_short(b.p[i]);

		if (s)
			hf_w_str(w, s);
		else if (b.p[i] < 0x20 || b.p[i] > 0x7e)
			hf_w_printf(w, "\\u%04x", b.p[i]);
		else
			hf_w_u8(w, b.p[i]);
	}
	hf_w_u8(w, '"');
}

void hf_w_escaped(struct hf_writer *w, struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++) {
		uint8_t c = b.p[i];

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			hf_w_printf(w, "\\x%02x", c);
		else
			hf_w_u8(w, c);
	}
}
