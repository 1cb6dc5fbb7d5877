/* The data of conf/decides.svg, as the engine answers: who owns 32 slots of a pool, where 66 sessions in them live, before and after a server is
 * added, and when more sessions have come. Lines: `slot PANEL J SERVER`, `entry PANEL J SERVER away|home`, `counts PANEL moved-slots exceptions moved-sessions`. */
#include <stdio.h>
#include <stdlib.h>

#include "holdfast/engine.h"

enum { SLOTS = 32, SESSIONS = 66, LATER = 84, FIRST = 1216 /* a stretch in which every server owns something */, NOW = 1000 };

static void set_pool(struct hf_engine *e, unsigned n)
{
	static const char *const names[] = {"pbx1", "pbx2", "pbx3", "pbx4"};
	struct hf_member_conf m[4] = {{.weight = 0}};
	uint16_t ids[4];

	for (unsigned i = 0; i < n; i++)
		m[i] = (struct hf_member_conf){.name = hf_bytes_str(names[i]), .weight = 100};
	if (hf_engine_apply(e, m, n, ids, NOW) != HF_OK)
		exit(1);
	while (hf_engine_tick(e, NOW))
		;
}

static uint64_t fingerprint(unsigned i) { return (uint64_t)(FIRST + (i * 19 + i / 9) % SLOTS) << 44 | (i + 1u); }

static uint16_t ask(struct hf_engine *e, unsigned i, enum hf_life life)
{
	struct hf_question q = {.key = {.fp = fingerprint(i)}, .life = life, .life_s = 3600, .flags = HF_COUNTED};
	struct hf_answer a;

	hf_engine_choose(e, &q, &a, NOW);
	return a.server;
}

static void panel(struct hf_engine *e, unsigned p, const uint16_t *was, unsigned sessions)
{
	struct hf_engine_counts n;
	unsigned moved = 0;

	for (unsigned j = 0; j < SLOTS; j++)
		printf("slot %u %u %u\n", p, j, hf_engine_owner(e, FIRST + j));
	for (unsigned i = 0; i < sessions; i++) {
		unsigned j = (unsigned)(fingerprint(i) >> 44);
		uint16_t server = ask(e, i, HF_LIFE_NONE);

		moved += i < SESSIONS && server != was[i];
		printf("entry %u %u %u %s\n", p, j - FIRST, server, server == hf_engine_owner(e, j) ? "home" : "away");
	}
	hf_engine_counts(e, &n);
	printf("counts %u %llu %u\n", p, (unsigned long long)n.exceptions, moved);
}

int main(void)
{
	struct hf_engine_conf c = {.hash_key = {1, 2, 3}, .slot_bits = 16, .load_factor_milli = 1100, .max_entries = 1000};
	size_t need = (hf_engine_need(&c) + 63) & ~(size_t)63;
	void *mem = aligned_alloc(64, need);
	struct hf_engine *e = mem ? hf_engine_new(&c, memset(mem, 0, need), NOW) : NULL;
	uint16_t was[SESSIONS];

	if (!e)
		return 1;
	set_pool(e, 3);
	for (unsigned i = 0; i < SESSIONS; i++)
		was[i] = ask(e, i, HF_LIFE_START);
	panel(e, 0, was, SESSIONS);
	set_pool(e, 4);
	panel(e, 1, was, SESSIONS);
	for (unsigned i = SESSIONS; i < LATER; i++)
		(void)ask(e, i, HF_LIFE_START);
	panel(e, 2, was, LATER);
	hf_engine_free(e);
	free(mem);
	return 0;
}
