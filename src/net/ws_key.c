/* Sec-WebSocket-Accept (RFC 6455 4.2.2): base64 of the SHA-1 of the client's key and a fixed text. The hash proves that the request was
 * read and hides nothing, so it is made here, for its one length, and needs no library. Called by ws_open.c. */
#include "ws.h"

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

enum { BLOCK = 64, DIGEST = 20, TEXT = WS_KEY_LEN + sizeof GUID - 1 };
_Static_assert(TEXT >= BLOCK - 8 && TEXT < BLOCK, "its padding has a block of its own");

static uint32_t turn(uint32_t v, unsigned n) { return v << n | v >> (32 - n); }

/* FIPS 180-4 6.1.2 */
static void block(uint32_t h[5], const uint8_t *p)
{
	static const uint32_t k[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
	uint32_t w[80], v[5];

	for (int t = 0; t < 80; t++)
		w[t] = t < 16 ? hf_get32(p + 4 * t) : turn(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
	memcpy(v, h, sizeof v);
	for (int t = 0; t < 80; t++) {
		uint32_t choose = (v[1] & v[2]) | (~v[1] & v[3]), parity = v[1] ^ v[2] ^ v[3], major = (v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3]);
		uint32_t sum = turn(v[0], 5) + (t < 20 ? choose : t < 40 || t >= 60 ? parity : major) + v[4] + k[t / 20] + w[t];

		v[4] = v[3];
		v[3] = v[2];
		v[2] = turn(v[1], 30);
		v[1] = v[0];
		v[0] = sum;
	}
	for (int i = 0; i < 5; i++)
		h[i] += v[i];
}

static void digest(const uint8_t text[TEXT], uint8_t out[DIGEST])
{
	uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
	uint8_t padded[2 * BLOCK] = {0};

	memcpy(padded, text, TEXT);
	padded[TEXT] = 0x80;
	hf_put32(padded + 2 * BLOCK - 4, TEXT * 8);
	block(h, padded);
	block(h, padded + BLOCK);
	for (int i = 0; i < 5; i++)
		hf_put32(out + 4 * i, h[i]);
}

void ws_accept(const uint8_t key[WS_KEY_LEN], uint8_t out[WS_ACCEPT_LEN])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t text[TEXT], d[DIGEST + 1] = {0};

	memcpy(text, key, WS_KEY_LEN);
	memcpy(text + WS_KEY_LEN, GUID, sizeof GUID - 1);
	digest(text, d);
	for (unsigned i = 0; i < WS_ACCEPT_LEN; i++) { /* 160 bits are 27 digits, the last of four bits and two zeros, and one fill */
		unsigned bit = i * 6, at = bit / 8;
		unsigned two = (unsigned)d[at] << 8 | (at < DIGEST ? d[at + 1] : 0);

		out[i] = i + 1 < WS_ACCEPT_LEN ? (uint8_t)digits[two >> (10 - bit % 8) & 63] : '=';
	}
}
