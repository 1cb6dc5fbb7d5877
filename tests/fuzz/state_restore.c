/* Fuzz: payloads of records, as if their tags were good: length 16, type's low bit, octets, again and again. Members and entries come back as far as
 * they are well formed, and what came back is a pool that works and can be written again. */
#include <stdlib.h>

#include "keeping.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct keeping_time now = {1800000000, 50000};
static struct hf_record room[HF_COPY_MAX];
static uint8_t texts[HF_COPY_MAX][HF_TEXT_MAX];

static void member(struct hf_engine *e, struct hf_bytes b)
{
	struct hf_member_record r;
	uint16_t id;

	if (keeping_read_member(b, &now, &id, &r) && hf_engine_restore(e, id, &r, now.now_ms) == HF_OK && !hf_engine_record(e, id, &r))
		abort();
}

static void span(struct hf_engine *e, struct hf_bytes b)
{
	struct hf_copy c = {0, room, texts};
	uint32_t hash[HF_COPY_MAX];
	struct hf_range r;

	if (!keeping_read_span(b, &now, &r, &c, hash))
		return;
	hf_engine_erase(e, &r);
	for (unsigned i = 0; i < c.n; i++) {
		room[i].server = (uint16_t)(hash[i] % 5); /* a hash finds any id, or none */
		if (hf_engine_restore_entry(e, &room[i], now.now_ms) == HF_EINVAL && room[i].server && hf_engine_find(e, HF_LIT("a")) == room[i].server)
			abort();
	}
}

/* All of it, written and read again, is the same. */
static void again(struct hf_engine *e)
{
	static uint8_t out[HF_DISK_PAYLOAD];
	struct hf_copy c = {0, room, texts};
	uint32_t hash[HF_COPY_MAX] = {0};
	struct hf_range r, back;

	for (uint64_t from = 0; !(from >> HF_FP_BITS) && hf_engine_whole(e, from, &r); from = r.to + 1) {
		struct hf_writer w = hf_writer_on(out, sizeof out);
		unsigned n;

		hf_engine_copy(e, &r, &c, now.now_ms);
		n = c.n;
		keeping_write_span(&w, &now, &r, &c, hash);
		if (w.full || !keeping_read_span(hf_writer_view(&w), &now, &back, &c, hash) || c.n != n || back.from != r.from || back.to != r.to)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct hf_engine_conf conf = {.hash_key = {7}, .mode = HF_MODE_TABLE, .slot_bits = 16, .load_factor_milli = 1250, .max_entries = 100};
	const struct hf_member_conf listed = {.name = HF_LIT("a"), .weight = 100};
	void *mem = calloc(1, hf_engine_need(&conf));
	struct hf_engine *e = mem ? hf_engine_new(&conf, mem, now.now_ms) : NULL;
	struct hf_bytes in = hf_bytes_of(data, size);
	struct hf_answer a;
	uint16_t id;

	if (!e || hf_engine_track(e) != HF_OK)
		abort();
	while (in.n >= 3) {
		struct hf_bytes b = hf_bytes_sub(in, 3, hf_get16(in.p));

		if (in.p[2] & 1)
			span(e, b);
		else
			member(e, b);
		in = hf_bytes_sub(in, 3 + b.n, in.n);
	}
	if (hf_engine_apply(e, &listed, 1, &id, now.now_ms) == HF_OK) {
		struct hf_question q = {.key = {.fp = 5}, .life = HF_LIFE_START, .life_s = 60};

		hf_engine_choose(e, &q, &a, now.now_ms);
		if (!a.server)
			abort();
	}
	again(e);
	hf_engine_free(e);
	free(mem);
	return 0;
}
