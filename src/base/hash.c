/* SipHash, with the counts of rounds as parameters; see holdfast/hash.h. Knows libc only.
 * The one-shot forms are inlined for their rounds: they run once or more a parcel. */
#include "holdfast/hash.h"

static inline uint64_t rotl(uint64_t x, int b) { return x << b | x >> (64 - b); }

static inline uint64_t get64le(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

/* One round, on what stands in registers. */
#define ROUND(a, b, c, d) do { \
	a += b; b = rotl(b, 13) ^ a; a = rotl(a, 32); \
	c += d; d = rotl(d, 16) ^ c; \
	a += d; d = rotl(d, 21) ^ a; \
	c += b; b = rotl(b, 17) ^ c; c = rotl(c, 32); \
} while (0)

/* n is a constant wherever it counts: 1 to 4. */
static inline __attribute__((always_inline)) void rounds(uint64_t v[4], int n)
{
	uint64_t a = v[0], b = v[1], c = v[2], d = v[3];

	if (n >= 4)
		ROUND(a, b, c, d);
	if (n >= 3)
		ROUND(a, b, c, d);
	if (n >= 2)
		ROUND(a, b, c, d);
	ROUND(a, b, c, d);
	v[0] = a; v[1] = b; v[2] = c; v[3] = d;
}

static inline __attribute__((always_inline)) void start(uint64_t v[4], const uint8_t key[16])
{
	uint64_t k0 = get64le(key), k1 = get64le(key + 8);

	v[0] = k0 ^ 0x736f6d6570736575u;
	v[1] = k1 ^ 0x646f72616e646f6du;
	v[2] = k0 ^ 0x6c7967656e657261u;
	v[3] = k1 ^ 0x7465646279746573u;
}

static inline __attribute__((always_inline)) void word(uint64_t v[4], uint64_t m, int c)
{
	v[3] ^= m;
	rounds(v, c);
	v[0] ^= m;
}

static inline __attribute__((always_inline)) uint64_t finish(uint64_t v[4], uint64_t last, int c, int d)
{
	word(v, last, c);
	v[2] ^= 0xff;
	rounds(v, d);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Fewer than eight octets, as the low ones of a word. */
static inline uint64_t tail_of(const uint8_t *p, size_t n)
{
	uint64_t t = 0;

	for (size_t i = 0; i < n; i++)
		t |= (uint64_t)p[i] << (8 * i);
	return t;
}

static inline __attribute__((always_inline)) uint64_t sip(const uint8_t key[16], struct hf_bytes b, int c, int d)
{
	const uint8_t *p = b.p, *end = b.p + (b.n & ~(size_t)7);
	uint64_t v[4], last = (uint64_t)b.n << 56;
	size_t rest = b.n & 7;

	start(v, key);
	for (; p != end; p += 8)
		word(v, get64le(p), c);
	if (rest && b.n > 8) /* the last eight octets hold them, on top */
		last |= get64le(p + rest - 8) >> (64 - 8 * rest);
	else if (rest)
		last |= tail_of(p, rest);
	return finish(v, last, c, d);
}

uint64_t hf_sip13(const uint8_t key[16], struct hf_bytes b) { return sip(key, b, 1, 3); }
uint64_t hf_sip24(const uint8_t key[16], struct hf_bytes b) { return sip(key, b, 2, 4); }

void hf_sip_init(struct hf_sip *s, const uint8_t key[16], int c, int d)
{
	start(s->v, key);
	s->tail = 0;
	s->len = 0;
	s->c = (uint8_t)c;
	s->d = (uint8_t)d;
}

void hf_sip_add(struct hf_sip *s, struct hf_bytes b)
{
	unsigned have = s->len & 7;
	size_t i = 0;

	s->len += b.n;
	while (i < b.n) {
		if (have == 0 && b.n - i >= 8) {
			word(s->v, get64le(b.p + i), s->c);
			i += 8;
			continue;
		}
		s->tail |= (uint64_t)b.p[i++] << (8 * have);
		if (++have == 8) {
			word(s->v, s->tail, s->c);
			s->tail = 0;
			have = 0;
		}
	}
}

void hf_sip_u16(struct hf_sip *s, uint16_t v)
{
	uint8_t b[2];

	hf_put16(b, v);
	hf_sip_add(s, hf_bytes_of(b, 2));
}

void hf_sip_u32(struct hf_sip *s, uint32_t v)
{
	uint8_t b[4];

	hf_put32(b, v);
	hf_sip_add(s, hf_bytes_of(b, 4));
}

void hf_sip_lp(struct hf_sip *s, struct hf_bytes b)
{
	hf_sip_u16(s, (uint16_t)b.n);
	hf_sip_add(s, b);
}

uint64_t hf_sip_end(struct hf_sip *s)
{
	return finish(s->v, s->tail | s->len << 56, s->c, s->d);
}
