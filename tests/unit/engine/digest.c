/* One number for the fills of 20 configurations (property 13), and one for a state on disk: the same on every machine, by every compiler, at every
 * setting of it. digest.py builds this with what is there and compares; by itself it is no test. */
#include <stdio.h>
#include <stdlib.h>

#include "digest_state.h"
#include "holdfast/engine.h"
#include "holdfast/hash.h"

enum { SERVERS = 40 };

/* A fill by the engine itself: servers of unlike weights, one of them drained. */
static uint64_t fill(enum hf_method method, unsigned bits, unsigned n, unsigned number)
{
	struct hf_engine_conf c = {.method = method, .slot_bits = bits, .load_factor_milli = 1500, .max_entries = 100, .ring_points = 1 + number * 50};
	struct hf_member_conf m[SERVERS];
	char name[SERVERS][16];
	uint16_t ids[SERVERS];
	struct hf_engine *e;
	uint64_t digest;
	void *mem;

	for (unsigned i = 0; i < 16; i++)
		c.hash_key[i] = (uint8_t)(i * 16 + number);
	mem = calloc(1, hf_engine_need(&c));
	e = mem ? hf_engine_new(&c, mem, 1000) : NULL;
	for (unsigned i = 0; i < n; i++) {
		snprintf(name[i], sizeof name[i], "node-%u-%u", number, i);
		m[i] = (struct hf_member_conf){.name = hf_bytes_str(name[i]), .weight = 1 + (i * 53 + number * 7) % 256};
	}
	if (!e || hf_engine_apply(e, m, n, ids, 1000) != HF_OK)
		exit(1);
	hf_engine_mark(e, ids[n / 2], HF_MARK_DRAIN, true, 1000);
	while (hf_engine_tick(e, 1000))
		;
	digest = hf_engine_digest(e);
	hf_engine_free(e);
	free(mem);
	return digest;
}

int main(void)
{
	static const uint8_t zero[16];
	struct hf_sip s;

	hf_sip_init(&s, zero, 2, 4);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t d = fill((enum hf_method)(i % 4), 16 + i % 3, 2 + i * 2, i);

		hf_sip_u32(&s, (uint32_t)(d >> 32));
		hf_sip_u32(&s, (uint32_t)d);
	}
	printf("%016llx %016llx\n", (unsigned long long)hf_sip_end(&s), (unsigned long long)state_digest());
	return 0;
}
