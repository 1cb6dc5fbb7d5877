/* Fingerprints and the names of whys and states; see holdfast/affinity.h. Knows libc only. */
#include "holdfast/affinity.h"

#include "holdfast/hash.h"

static uint64_t fingerprint(uint64_t hash)
{
	uint64_t fp = hash >> (64 - HF_FP_BITS);

	return fp ? fp : 1;
}

#define AT_ONCE 96u /* octets that are put together first, as nearly all keys are: the hash is fed in pieces at five times the cost */

static uint64_t in_pieces(const uint8_t hash_key[16], struct hf_bytes kind, struct hf_bytes octets)
{
	struct hf_sip s;

	hf_sip_init(&s, hash_key, 1, 3);
	hf_sip_add(&s, kind);
	hf_sip_add(&s, HF_LIT(":"));
	hf_sip_add(&s, octets);
	return fingerprint(hf_sip_end(&s));
}

uint64_t hf_fingerprint(const uint8_t hash_key[16], struct hf_bytes kind, struct hf_bytes octets, size_t cap)
{
	uint8_t text[AT_ONCE];

	octets = hf_bytes_sub(octets, 0, cap);
	if (kind.n >= AT_ONCE || octets.n >= AT_ONCE - kind.n)
		return in_pieces(hash_key, kind, octets);
	hf_copy(text, kind.p, kind.n);
	text[kind.n] = ':';
	hf_copy(text + kind.n + 1, octets.p, octets.n);
	return hf_fingerprint_text(hash_key, hf_bytes_of(text, kind.n + 1 + octets.n));
}

uint64_t hf_fingerprint_text(const uint8_t hash_key[16], struct hf_bytes text) { return fingerprint(hf_sip13(hash_key, text)); }

uint32_t hf_server_hash(const uint8_t hash_key[16], struct hf_bytes pool, struct hf_bytes server)
{
	struct hf_sip s;
	uint32_t h;

	hf_sip_init(&s, hash_key, 1, 3);
	hf_sip_add(&s, HF_LIT("name:"));
	hf_sip_add(&s, pool);
	hf_sip_add(&s, hf_bytes_of("", 1));
	hf_sip_add(&s, server);
	h = (uint32_t)(hf_sip_end(&s) >> 32);
	return h ? h : 1;
}

const char *hf_why_name(enum hf_why w)
{
	static const char *const names[] = {
#define X(e, name) name,
		HF_WHYS(X)
#undef X
	};

	return w < HF_WHY_COUNT ? names[w] : "?";
}

const char *hf_state_name(enum hf_state s)
{
	static const char *const names[] = {
#define X(e, name) name,
		HF_STATES(X)
#undef X
	};

	return s < HF_STATE_COUNT ? names[s] : "?";
}
