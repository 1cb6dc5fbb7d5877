/* The bounded writer; see holdfast/writer.h. Knows libc only. */
#include "holdfast/writer.h"

#include <stdarg.h>
#include <stdio.h>

static const char hex[] = "0123456789abcdef";

/* Not inlined: what writes a few octets of its own would carry the code for many. */
__attribute__((noinline)) void hf_w_mem(struct hf_writer *w, const void *p, size_t n)
{
	uint8_t *to = n ? hf_w_room(w, n) : NULL;

	if (to)
		hf_copy(to, p, n);
}

void hf_w_dec(struct hf_writer *w, uint64_t v)
{
	uint8_t t[20];
	size_t i = sizeof t;

	for (; v > UINT32_MAX; v /= 10)
		t[--i] = (uint8_t)('0' + v % 10);
	for (uint32_t low = (uint32_t)v;; low /= 10) { /* half as long a division */
		t[--i] = (uint8_t)('0' + low % 10);
		if (low < 10)
			break;
	}
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

/* ---- base32hex, ten octets as sixteen characters at once ---- */

/* The compiler's own vectors: SSE2 and the like where there is such, words elsewhere. */
typedef uint8_t sixteen __attribute__((vector_size(16)));
typedef uint16_t eight __attribute__((vector_size(16)));
typedef uint32_t four __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

enum { IN = 10, OUT = 16 };

/* Five octets as a number, and back. */
static inline uint64_t five(const uint8_t p[5]) { return (uint64_t)hf_get32(p) << 8 | p[4]; }
static inline void put_five(uint8_t p[5], uint64_t v)
{
	hf_put32(p, (uint32_t)(v >> 8));
	p[4] = (uint8_t)v;
}

/* The octets of each lane in the order of memory, the lowest first. */
static inline two in_order(two v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = (two){__builtin_bswap64(v[0]), __builtin_bswap64(v[1])};
#endif
	return v;
}

/* 40 bits a lane are halved until five stand in each octet. */
static inline void write_chars(uint8_t out[OUT], uint64_t a, uint64_t b)
{
	two v = {a, b};
	four x;
	eight y;
	sixteen z;

	v = v >> 20 | (v & 0xfffff) << 32;
	x = (four)v;
	x = x >> 10 | (x & 0x3ff) << 16;
	y = (eight)x;
	y = y >> 5 | (y & 0x1f) << 8;
	z = (sixteen)in_order((two)y);
	z += '0' + ((sixteen)(z > 9) & ('a' - 10 - '0'));
	memcpy(out, &z, OUT);
}

void hf_w_b32(struct hf_writer *w, struct hf_bytes b)
{
	uint8_t *p = hf_w_room(w, hf_b32_len(b.n)), in[IN] = {0}, out[OUT];

	if (!p)
		return;
	for (; b.n >= IN; b.p += IN, b.n -= IN, p += OUT)
		write_chars(p, five(b.p), five(b.p + 5));
	if (!b.n)
		return;
	hf_copy(in, b.p, b.n);
	write_chars(out, five(in), five(in + 5));
	hf_copy(p, out, hf_b32_len(b.n));
}

/* The other way; octets of *bad become other than 0 where a character is no digit. */
static inline two read_chars(const uint8_t in[OUT], sixteen *bad)
{
	sixteen z, letter;
	eight y;
	four x;
	two v;

	memcpy(&z, in, OUT);
	z |= (z & 0x40) >> 1;
	letter = (sixteen)(z > '9');
	z -= '0' + (letter & ('a' - 10 - '0'));
	*bad |= (sixteen)(z > 31) | (letter & (sixteen)(z < 10));
	y = (eight)in_order((two)z);
	y = (y & 0xff) << 5 | y >> 8;
	x = (four)y;
	x = (x & 0xffff) << 10 | x >> 16;
	v = (two)x;
	return (v & 0xffffffff) << 20 | v >> 32;
}

size_t hf_b32_read(struct hf_bytes text, uint8_t *out, size_t cap)
{
	size_t want = text.n * 5 / 8, rest;
	uint8_t in[OUT], last[IN];
	sixteen bad = {0};
	two v;

	if (want == 0 || want > cap || hf_b32_len(want) != text.n)
		return 0;
	for (; text.n >= OUT; text.p += OUT, text.n -= OUT, out += IN) {
		v = read_chars(text.p, &bad);
		put_five(out, v[0]);
		put_five(out + 5, v[1]);
	}
	if (text.n) {
		memset(in, '0', OUT);
		hf_copy(in, text.p, text.n);
		v = read_chars(in, &bad);
		put_five(last, v[0]);
		put_five(last + 5, v[1]);
		rest = text.n * 5 / 8;
		hf_copy(out, last, rest);
		if (last[rest]) /* bits that no octet takes; all behind them are of the zeros that we put there */
			return 0;
	}
	return ((two)bad)[0] | ((two)bad)[1] ? 0 : want;
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

static void shown(struct hf_writer *w, uint8_t c, const char *not_these)
{
	if (c < 0x20 || c > 0x7e || strchr(not_these, c))
		hf_w_printf(w, "\\x%02x", c);
	else
		hf_w_u8(w, c);
}

void hf_w_escaped(struct hf_writer *w, struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		shown(w, b.p[i], "\"\\");
}

void hf_w_printable(struct hf_writer *w, struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		shown(w, b.p[i], "");
}
