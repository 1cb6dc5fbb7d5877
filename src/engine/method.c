/* What the hash methods share. FROZEN with their fills. */
#include "method.h"

#include "holdfast/hash.h"

uint64_t method_seed(const uint8_t hash_key[16], struct hf_bytes name)
{
	struct hf_sip s;

	hf_sip_init(&s, hash_key, 1, 3);
	hf_sip_add(&s, HF_LIT("server:"));
	hf_sip_add(&s, name);
	return hf_sip_end(&s);
}

void method_no_tables(void) {}
