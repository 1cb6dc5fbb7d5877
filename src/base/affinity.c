/* Fingerprints and the names of whys and states; see holdfast/affinity.h. Knows libc only. */
#include "holdfast/affinity.h"

#include "holdfast/hash.h"
#include "holdfast/writer.h"

enum { SHORT = 128 }; /* octets of a key, as a rule: copied together and hashed in one go they take a third of the time */

static uint64_t hash_pieces(const uint8_t hash_key[16], struct hf_bytes kind, struct hf_bytes octets)
{
	struct hf_sip s;

	hf_sip_init(&s, hash_key, 1, 3);
	hf_sip_add(&s, kind);
	hf_sip_add(&s, HF_LIT(":"));
	hf_sip_add(&s, octets);
	return hf_sip_end(&s);
}

uint64_t hf_fingerprint(const uint8_t hash_key[16], struct hf_bytes kind, struct hf_bytes octets, size_t cap)
{
	uint8_t whole[SHORT];
	struct hf_writer w = hf_writer_on(whole, sizeof whole);
	uint64_t fp;

	octets = hf_bytes_sub(octets, 0, cap);
	hf_w_bytes(&w, kind);
	hf_w_u8(&w, ':');
	hf_w_bytes(&w, octets);
	fp = (w.full ? hash_pieces(hash_key, kind, octets) : hf_sip13(hash_key, hf_writer_view(&w))) >> (64 - HF_FP_BITS);
	return fp ? fp : 1;
}

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
