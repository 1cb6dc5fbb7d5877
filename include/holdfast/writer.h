/* A bounded writer into memory that the caller owns (base floor). Pure; any thread.
 * Writing past the end sets `full`, writes nothing more and never overruns; test `full` once at the end. */
#ifndef HOLDFAST_WRITER_H
#define HOLDFAST_WRITER_H

#include "bytes.h"

struct hf_writer {
	uint8_t *p;
	size_t n, cap;
	bool full;
};

static inline struct hf_writer hf_writer_on(void *p, size_t cap) { return (struct hf_writer){p, 0, cap, false}; }
static inline struct hf_bytes hf_writer_view(const struct hf_writer *w) { return (struct hf_bytes){w->p, w->n}; }

/* Room for n octets, to be filled by the caller; NULL: there is none. Inlined with what follows: the size is a constant as a rule. */
static inline uint8_t *hf_w_room(struct hf_writer *w, size_t n)
{
	if (w->full || n > w->cap - w->n) {
		w->full = true;
		return NULL;
	}
	w->n += n;
	return w->p + (w->n - n);
}
void hf_w_mem(struct hf_writer *w, const void *p, size_t n);
static inline void hf_w_bytes(struct hf_writer *w, struct hf_bytes b) { hf_w_mem(w, b.p, b.n); }
static inline void hf_w_str(struct hf_writer *w, const char *s)
{
	size_t n = strlen(s);

	if (__builtin_constant_p(n) && n && n <= 16) { /* a few stores instead of two calls */
		uint8_t *p = hf_w_room(w, n);

		if (p)
			memcpy(p, s, n);
	} else {
		hf_w_mem(w, s, n);
	}
}
static inline void hf_w_u8(struct hf_writer *w, uint8_t v)
{
	uint8_t *p = hf_w_room(w, 1);

	if (p)
		*p = v;
}
static inline void hf_w_u16(struct hf_writer *w, uint16_t v) /* big-endian, as all of these */
{
	uint8_t *p = hf_w_room(w, 2);

	if (p)
		hf_put16(p, v);
}
static inline void hf_w_u32(struct hf_writer *w, uint32_t v)
{
	uint8_t *p = hf_w_room(w, 4);

	if (p)
		hf_put32(p, v);
}
static inline void hf_w_u64(struct hf_writer *w, uint64_t v)
{
	uint8_t *p = hf_w_room(w, 8);

	if (p)
		hf_put64(p, v);
}
void hf_w_dec(struct hf_writer *w, uint64_t v);
void hf_w_hex(struct hf_writer *w, struct hf_bytes b); /* lower case */
void hf_w_printf(struct hf_writer *w, const char *fmt, ...) HF_PRINTF(2, 3);
/* base32hex (RFC 4648 section 7), no padding, lower case. */
void hf_w_b32(struct hf_writer *w, struct hf_bytes b);
/* `"`, `\` and control octets escaped as JSON asks; octets above 126 as \u00XX, so the output is always ASCII. Adds the quotes. */
void hf_w_json(struct hf_writer *w, struct hf_bytes b);
/* For logs: printable ASCII but `"` and `\` as it is, all else as \xHH; no quotes added. */
void hf_w_escaped(struct hf_writer *w, struct hf_bytes b);
/* For sentences and terminals: all printable ASCII as it is, all else as \xHH. Text that went through it once is left as it is. */
void hf_w_printable(struct hf_writer *w, struct hf_bytes b);

/* base64url (RFC 4648 section 5), no padding. */
void hf_w_b64url(struct hf_writer *w, struct hf_bytes b);
static inline size_t hf_b64_len(size_t n) { return (n * 4 + 2) / 3; }
/* As hf_b32_read, but letters are told apart by case. */
size_t hf_b64url_read(struct hf_bytes text, uint8_t *out, size_t cap) HF_MUST_USE;

/* Length of the base32hex text of n octets. */
static inline size_t hf_b32_len(size_t n) { return (n * 8 + 4) / 5; }
/* Reads base32hex in either case; the text must have a length that n octets give, unused bits zero.
 * Returns the count of octets written, or 0 when the text is not of that form or does not fit in cap. */
size_t hf_b32_read(struct hf_bytes text, uint8_t *out, size_t cap) HF_MUST_USE;

#endif
