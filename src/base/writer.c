/* The bounded writer; see holdfast/writer.h. Knows libc only. */
#include "holdfast/writer.h"

#include <stdarg.h>
#include <stdio.h>

static const char b32[] = "0123456789abcdefghijklmnopqrstuv";
static const char hex[] = "0123456789abcdef";

void hf_w_mem(struct hf_writer *w, const void *p, size_t n)
{
	if (w->full || n > w->cap - w->n) {
		w->full = true;
		return;
	}
	if (n)
		memcpy(w->p + w->n, p, n);
	w->n += n;
}

void hf_w_bytes(struct hf_writer *w, struct hf_bytes b) { hf_w_mem(w, b.p, b.n); }
void hf_w_str(struct hf_writer *w, const char *s) { hf_w_mem(w, s, strlen(s)); }
void hf_w_u8(struct hf_writer *w, uint8_t v) { hf_w_mem(w, &v, 1); }

void hf_w_u16(struct hf_writer *w, uint16_t v)
{
	uint8_t b[2];

	hf_put16(b, v);
	hf_w_mem(w, b, 2);
}

void hf_w_u32(struct hf_writer *w, uint32_t v)
{
	uint8_t b[4];

	hf_put32(b, v);
	hf_w_mem(w, b, 4);
}

void hf_w_u64(struct hf_writer *w, uint64_t v)
{
	uint8_t b[8];

	hf_put64(b, v);
	hf_w_mem(w, b, 8);
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

void hf_w_b32(struct hf_writer *w, struct hf_bytes b)
{
	uint32_t acc = 0;
	unsigned bits = 0;

	if (w->full || hf_b32_len(b.n) > w->cap - w->n) {
		w->full = true;
		return;
	}
	for (size_t i = 0; i < b.n; i++) {
		acc = acc << 8 | b.p[i];
		for (bits += 8; bits >= 5; bits -= 5)
			w->p[w->n++] = (uint8_t)b32[acc >> (bits - 5) & 31];
	}
	if (bits)
		w->p[w->n++] = (uint8_t)b32[acc << (5 - bits) & 31];
}

static int b32_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = hf_lower(c);
	return c >= 'a' && c <= 'v' ? c - 'a' + 10 : -1;
}

size_t hf_b32_read(struct hf_bytes text, uint8_t *out, size_t cap)
{
	size_t want = text.n * 5 / 8, n = 0;
	uint32_t acc = 0;
	unsigned bits = 0;

	if (want == 0 || want > cap || hf_b32_len(want) != text.n)
		return 0;
	for (size_t i = 0; i < text.n; i++) {
		int d = b32_digit(text.p[i]);

		if (d < 0)
			return 0;
		acc = acc << 5 | (uint32_t)d;
		bits += 5;
		if (bits >= 8) {
			bits -= 8;
			out[n++] = (uint8_t)(acc >> bits);
		}
	}
	return (acc & ((1u << bits) - 1)) == 0 ? n : 0;
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
