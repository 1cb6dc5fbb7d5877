/* Views and checked number readers; see holdfast/bytes.h. Knows libc only. */
#include "holdfast/bytes.h"

bool hf_bytes_ieq(struct hf_bytes a, struct hf_bytes b)
{
	return a.n == b.n && hf_bytes_istarts(a, b);
}

bool hf_bytes_starts(struct hf_bytes a, struct hf_bytes b)
{
	return a.n >= b.n && (b.n == 0 || memcmp(a.p, b.p, b.n) == 0);
}

bool hf_bytes_istarts(struct hf_bytes a, struct hf_bytes b)
{
	if (a.n < b.n)
		return false;
	for (size_t i = 0; i < b.n; i++)
		if (a.p[i] != b.p[i] && hf_lower(a.p[i]) != hf_lower(b.p[i]))
			return false;
	return true;
}

static bool blank(uint8_t c) { return c == ' ' || c == '\t'; }

struct hf_bytes hf_bytes_trim(struct hf_bytes b)
{
	while (b.n && blank(b.p[0]))
		b.p++, b.n--;
	while (b.n && blank(b.p[b.n - 1]))
		b.n--;
	return b;
}

struct hf_bytes hf_bytes_word(struct hf_bytes *rest)
{
	struct hf_bytes b = hf_bytes_trim(*rest);
	size_t n = 0;

	while (n < b.n && !blank(b.p[n]))
		n++;
	*rest = hf_bytes_trim(hf_bytes_sub(b, n, b.n));
	return hf_bytes_sub(b, 0, n);
}

int hf_bytes_cmp(struct hf_bytes a, struct hf_bytes b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int d = n ? memcmp(a.p, b.p, n) : 0;

	if (d)
		return d;
	return a.n < b.n ? -1 : a.n > b.n;
}

bool hf_bytes_same_secret(struct hf_bytes a, struct hf_bytes b)
{
	uint8_t d = 0;

	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		d |= (uint8_t)(a.p[i] ^ b.p[i]);
	return d == 0;
}

/* Digits that 64 bits may not hold: leading zeros, or a number too large. */
static enum hf_err read_long(struct hf_bytes b, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;
	bool over = false;

	for (size_t i = 0; i < b.n; i++) {
		uint64_t d = (uint64_t)b.p[i] - '0';

		if (d > 9)
			return HF_EINVAL;
		if (!over && (v > max / 10 || v * 10 > max - d || d > max))
			over = true; /* go on: a later octet may still be no digit */
		if (!over)
			v = v * 10 + d;
	}
	if (over)
		return HF_ERANGE;
	*out = v;
	return HF_OK;
}

enum hf_err hf_read_uint(struct hf_bytes b, uint64_t max, uint64_t *out)
{
	enum { FIT = 19 }; /* digits that 64 bits always hold */
	uint64_t v = 0;

	if (b.n == 0)
		return HF_EINVAL;
	if (b.n > FIT)
		return read_long(b, max, out);
	for (size_t i = 0; i < b.n; i++) {
		uint64_t d = (uint64_t)b.p[i] - '0';

		if (d > 9)
			return HF_EINVAL;
		v = v * 10 + d;
	}
	if (v > max)
		return HF_ERANGE;
	*out = v;
	return HF_OK;
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = hf_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum hf_err hf_read_hex(struct hf_bytes b, uint8_t *out, size_t n)
{
	if (b.n != 2 * n)
		return HF_EINVAL;
	for (size_t i = 0; i < b.n; i++)
		if (hex_digit(b.p[i]) < 0)
			return HF_EINVAL;
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(hex_digit(b.p[2 * i]) << 4 | hex_digit(b.p[2 * i + 1]));
	return HF_OK;
}
