/* A pool for tests: an engine over its own region, members by number, and short calls. Literal times; no clock. */
#ifndef TEST_ENGINE_FARM_H
#define TEST_ENGINE_FARM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "inside.h"

static const uint8_t farm_key[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

struct farm {
	struct hf_engine *e;
	void *mem;
	size_t need;
	struct hf_engine_conf conf;
	unsigned n;
	struct { char name[16], was[16]; uint32_t weight, max; uint8_t at; } m[1200];
	uint16_t id[1200];
};

__attribute__((unused)) static uint64_t farm_random(uint64_t *s) /* xorshift64*: fixed seeds, the same on every machine */
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545F4914F6CDD1Du;
}

__attribute__((unused)) static uint64_t farm_fp(uint64_t n) /* spreads like a fingerprint; never 0 */
{
	uint64_t x = (n + 1) * 0x9E3779B97F4A7C15u;

	x ^= x >> 31;
	x *= 0xBF58476D1CE4E5B9u;
	x ^= x >> 29;
	return x >> 4 ? x >> 4 : 1;
}

__attribute__((unused)) static bool farm_full(void) { return getenv("HOLDFAST_FULL") && getenv("HOLDFAST_FULL")[0] == '1'; }

__attribute__((unused)) static void farm_tune(struct farm *f, uint32_t factor_milli, enum hf_fallback fallback)
{
	f->conf.load_factor_milli = factor_milli;
	f->conf.fallback = fallback;
	hf_engine_tune(f->e, &f->conf);
}

__attribute__((unused)) static enum hf_err farm_apply(struct farm *f, uint64_t now)
{
	static struct hf_member_conf c[1200];

	for (unsigned i = 0; i < f->n; i++)
		c[i] = (struct hf_member_conf){.name = hf_bytes_str(f->m[i].name), .was = hf_bytes_str(f->m[i].was), .weight = f->m[i].weight, .max_sessions = f->m[i].max, .at = {f->m[i].at}};
	return hf_engine_apply(f->e, c, f->n, f->id, now);
}

__attribute__((unused)) static void farm_name(struct farm *f, unsigned i, uint32_t weight)
{
	snprintf(f->m[i].name, sizeof f->m[i].name, "s%u", i + 1);
	f->m[i].was[0] = 0;
	f->m[i].weight = weight;
	f->m[i].max = 0;
	f->m[i].at = 0;
}

/* An engine without members yet; what `c` leaves out is as usual. */
__attribute__((unused)) static struct farm *farm_with(struct hf_engine_conf c, uint64_t now)
{
	struct farm *f = calloc(1, sizeof *f);

	f->conf = c;
	f->conf.slot_bits = c.slot_bits ? c.slot_bits : 16;
	f->conf.ring_points = c.ring_points ? c.ring_points : 256;
	memcpy(f->conf.hash_key, farm_key, 16);
	f->need = hf_engine_need(&f->conf);
	f->mem = calloc(1, f->need);
	f->e = hf_engine_new(&f->conf, f->mem, now);
	assert_non_null(f->e);
	return f;
}

__attribute__((unused)) static struct farm *farm_bare(enum hf_method method, enum hf_mode mode, uint32_t factor_milli, uint32_t max_entries, uint64_t now)
{
	return farm_with((struct hf_engine_conf){.mode = mode, .method = method, .load_factor_milli = factor_milli, .max_entries = max_entries}, now);
}

__attribute__((unused)) static struct farm *farm_empty(enum hf_mode mode, uint32_t factor_milli, uint32_t max_entries, uint64_t now)
{
	return farm_bare(HF_METHOD_CARP, mode, factor_milli, max_entries, now);
}

/* n servers s1.. of weight 100 come. */
__attribute__((unused)) static struct farm *farm_fill(struct farm *f, unsigned n, uint64_t now)
{
	f->n = n;
	for (unsigned i = 0; i < n; i++)
		farm_name(f, i, 100);
	assert_int_equal(farm_apply(f, now), HF_OK);
	return f;
}

__attribute__((unused)) static struct farm *farm_of(enum hf_method method, enum hf_mode mode, unsigned n, uint32_t factor_milli, uint32_t max_entries, uint64_t now)
{
	return farm_fill(farm_bare(method, mode, factor_milli, max_entries, now), n, now);
}

__attribute__((unused)) static struct farm *farm_new(enum hf_mode mode, unsigned n, uint32_t factor_milli, uint32_t max_entries, uint64_t now)
{
	return farm_of(HF_METHOD_CARP, mode, n, factor_milli, max_entries, now);
}

__attribute__((unused)) static void farm_free(struct farm *f)
{
	hf_engine_free(f->e);
	free(f->mem);
	free(f);
}

__attribute__((unused)) static struct hf_answer farm_ask(struct farm *f, uint64_t fp, enum hf_life life, uint32_t life_s, unsigned flags, uint64_t now)
{
	struct hf_question q = {.key = {.fp = fp}, .life = life, .life_s = life_s, .flags = flags};
	struct hf_answer a;

	hf_engine_choose(f->e, &q, &a, now);
	return a;
}

__attribute__((unused)) static enum hf_err farm_learn(struct farm *f, uint64_t fp, uint16_t server, enum hf_life life, uint32_t life_s, unsigned flags, uint64_t now)
{
	struct hf_lesson l = {.key = {.fp = fp}, .server = server, .life = life, .life_s = life_s, .flags = flags};

	return hf_engine_learn(f->e, &l, now);
}

__attribute__((unused)) static void farm_settle(struct farm *f, uint64_t now)
{
	while (hf_engine_tick(f->e, now))
		;
}

__attribute__((unused)) static struct hf_engine_counts farm_counts(struct farm *f)
{
	struct hf_engine_counts c;

	hf_engine_counts(f->e, &c);
	return c;
}

__attribute__((unused)) static struct hf_server_view farm_server(struct farm *f, uint16_t id)
{
	struct hf_server_view v;

	assert_true(hf_engine_server(f->e, id, &v));
	return v;
}

/* The largest share of ten equal servers with the names of this set, 1 being the mean. */
__attribute__((unused)) static double farm_peak(enum hf_method method, unsigned set, uint64_t now)
{
	struct farm *f = farm_bare(method, HF_MODE_AUTO, 1500, 10, now);
	double most = 0;

	f->n = 10;
	for (unsigned i = 0; i < 10; i++) {
		farm_name(f, i, 100);
		snprintf(f->m[i].name, sizeof f->m[i].name, "n%u-%u", set, i);
	}
	assert_int_equal(farm_apply(f, now), HF_OK);
	for (unsigned i = 0; i < 10; i++)
		most = most > farm_server(f, f->id[i]).slots ? most : farm_server(f, f->id[i]).slots;
	farm_free(f);
	return most * 10 / 65536;
}

/* All shards are in order, and every count is what a walk finds. */
__attribute__((unused)) static void farm_check(struct farm *f)
{
	static uint32_t counted[HF_SERVERS_MAX + 1], held[HF_SERVERS_MAX + 1];
	struct hf_engine *e = f->e;
	uint64_t exceptions = 0, entries = 0, m = 0, w = 0;
	uint32_t *per_slot = calloc(e->n_slots, sizeof *per_slot);

	memset(counted, 0, sizeof counted);
	memset(held, 0, sizeof held);
	for (unsigned i = 0; i < e->n_shards; i++) {
		const struct entries *t = &e->shard[i].t;

		assert_true(entries_sound(t));
		assert_true(e->conf.mode != HF_MODE_TABLE || e->shard[i].records.used <= t->used); /* fewer: a former engine's entries */
		entries += t->used;
		for (uint32_t at = 0; at < t->places; at++) {
			struct entry x = entry_unpack(&t->at[at]);

			if (!x.server)
				continue;
			held[x.server]++;
			counted[x.server] += x.flags & HF_COUNTED ? 1 : 0;
			if (hf_engine_owner(e, slot_of(e, x.fp)) != x.server) {
				exceptions++;
				per_slot[slot_of(e, x.fp)]++;
			}
		}
	}
	for (uint32_t j = 0; j < e->n_slots; j++) {
		unsigned said = SLOT_EXCEPTIONS(slot_word(e, j));

		assert_true(said == EXCEPTIONS_MAX || said == per_slot[j]);
		assert_true(per_slot[j] < EXCEPTIONS_MAX || said == EXCEPTIONS_MAX);
	}
	for (uint16_t id = 1; id <= last_id(e); id++) {
		assert_int_equal(LOAD_COUNTED(load_word(e, id)), counted[id]);
		assert_int_equal(LOAD_ENTRIES(load_word(e, id)), held[id]);
		if (state_of(e, id) == HF_STATE_UP) {
			m += counted[id];
			w += e->hot[id].parts;
		}
	}
	assert_int_equal(sums_all(&e->sums).open, m);
	assert_int_equal(e->open_parts, w);
	assert_int_equal(farm_counts(f).exceptions, exceptions);
	assert_int_equal(farm_counts(f).entries, entries);
	assert_int_equal(hf_engine_sessions(e), farm_counts(f).counted);
	free(per_slot);
}

#endif
