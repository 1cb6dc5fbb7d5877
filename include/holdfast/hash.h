/* Keyed hashes (base floor): SipHash of Aumasson and Bernstein, 64 bits out, octets little-endian as they define it.
 * SipHash-1-3 under the cluster's hash key for fingerprints and H; SipHash-2-4 under a sign key for tags. Pure; any thread. */
#ifndef HOLDFAST_HASH_H
#define HOLDFAST_HASH_H

#include "bytes.h"

uint64_t hf_sip13(const uint8_t key[16], struct hf_bytes b);
uint64_t hf_sip24(const uint8_t key[16], struct hf_bytes b);

/* The same, fed in pieces. */
struct hf_sip {
	uint64_t v[4], tail;
	uint64_t len;
	uint8_t c, d; /* rounds a word, rounds at the end */
};
void hf_sip_init(struct hf_sip *s, const uint8_t key[16], int c, int d);
void hf_sip_add(struct hf_sip *s, struct hf_bytes b);
void hf_sip_u16(struct hf_sip *s, uint16_t v); /* big-endian octets */
void hf_sip_u32(struct hf_sip *s, uint32_t v);
void hf_sip_lp(struct hf_sip *s, struct hf_bytes b); /* LP(x): 16-bit length, then x; a longer x than 65535 gives its length modulo 65536 */
uint64_t hf_sip_end(struct hf_sip *s);

#endif
