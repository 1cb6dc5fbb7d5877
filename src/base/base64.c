/* base64url without padding (RFC 4648 section 5), for what stands in a URL or a token; see holdfast/writer.h. */
#include "holdfast/writer.h"

static const char digits[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void hf_w_b64url(struct hf_writer *w, struct hf_bytes b)
{
	uint8_t *p = hf_w_room(w, hf_b64_len(b.n));
	uint32_t bits = 0;
	unsigned have = 0;

	if (!p)
		return;
	for (size_t i = 0; i < b.n; i++) {
		bits = bits << 8 | b.p[i];
		for (have += 8; have >= 6; have -= 6)
			*p++ = (uint8_t)digits[bits >> (have - 6) & 63];
	}
	if (have)
		*p = (uint8_t)digits[bits << (6 - have) & 63];
}

static int value(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

size_t hf_b64url_read(struct hf_bytes text, uint8_t *out, size_t cap)
{
	size_t want = text.n * 3 / 4;
	uint32_t bits = 0;
	unsigned have = 0;

	if (want == 0 || want > cap || hf_b64_len(want) != text.n)
		return 0;
	for (size_t i = 0; i < text.n; i++) {
		int v = value(text.p[i]);

		if (v < 0)
			return 0;
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		if (have >= 8)
			*out++ = (uint8_t)(bits >> (have -= 8));
	}
	return bits & ((1u << have) - 1) ? 0 : want; /* one text for the same octets */
}
