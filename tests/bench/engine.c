/* What the engine costs: nanoseconds a decision, octets a session, milliseconds a change. One line a figure; it asserts nothing.
 * usage: bench_engine [sessions, default 1000000] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "holdfast/engine.h"
#include "holdfast/hash.h"
#include "holdfast/store.h"

enum { SERVERS = 10, ROUNDS = 2000000, NOW = 1000000 };

static const uint8_t key[16] = {1, 2, 3};
static volatile uint64_t sink;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* what others do on this machine is not our cost */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A Call-ID of 40 octets. */
static uint64_t fingerprint(uint64_t n)
{
	uint8_t id[40] = "................................@host.io";

	hf_put64(id, n * 0x9E3779B97F4A7C15u);
	return hf_fingerprint(key, HF_LIT("call-id"), hf_bytes_of(id, sizeof id), 80);
}

static void pool(struct hf_engine *e, unsigned n)
{
	static char name[SERVERS + 1][8];
	struct hf_member_conf m[SERVERS + 1];
	uint16_t ids[SERVERS + 1];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name[i], sizeof name[i], "s%u", i + 1);
		m[i] = (struct hf_member_conf){hf_bytes_str(name[i]), HF_NONE, 100, 0};
	}
	if (hf_engine_apply(e, m, n, ids, NOW) != HF_OK)
		exit(1);
}

/* Asks for keys below `keys`, from `first` on; the time of the fingerprint is apart. */
static void decide(struct hf_engine *e, const char *what, enum hf_life life, uint64_t first, uint64_t keys)
{
	uint64_t *fp = malloc(ROUNDS * sizeof *fp), r = 88172645463325252u;
	struct hf_answer a;
	double t = now_ns(), hash;

	for (unsigned i = 0; i < ROUNDS; i++) {
		r ^= r << 13;
		r ^= r >> 7;
		r ^= r << 17;
		fp[i] = fingerprint(first + (keys ? r % keys : i));
	}
	hash = (now_ns() - t) / ROUNDS;
	t = now_ns();
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct hf_question q = {.key = {.fp = fp[i]}, .life = life, .life_s = 3600, .flags = HF_COUNTED};

		hf_engine_choose(e, &q, &a, NOW);
		sink += a.server;
	}
	printf("%-42s %6.1f ns (and %.1f for the key's hash)\n", what, (now_ns() - t) / ROUNDS, hash);
	free(fp);
}

static void change(struct hf_engine *e, const char *what)
{
	double t = now_ns(), longest = 0, total = 0;
	bool more = true;

	for (unsigned n = 0; more; n++) {
		double from = now_ns();

		more = hf_engine_tick(e, NOW);
		from = now_ns() - from;
		longest = from > longest ? from : longest;
	}
	total = now_ns() - t;
	printf("%-42s %6.2f ms in all, %.3f ms the longest tick\n", what, total / 1e6, longest / 1e6);
}

int main(int argc, char **argv)
{
	uint64_t sessions = 1000000;
	struct hf_engine_conf c = {.mode = HF_MODE_AUTO, .slot_bits = 16, .load_factor_milli = 1500};
	struct hf_region region;
	struct hf_engine *e;
	double t;

	if (argc > 1 && hf_read_uint(hf_bytes_str(argv[1]), 1u << 28, &sessions) != HF_OK)
		return 2;
	c.max_entries = (uint32_t)sessions;
	memcpy(c.hash_key, key, sizeof key);
	if (hf_store_open("bench", hf_engine_need(&c), &region) != HF_OK || !(e = hf_engine_new(&c, region.p, NOW)))
		return 1;
	printf("%-42s %6.2f\n", "octets a session, all tables", (double)region.n / (double)sessions);
	t = now_ns();
	pool(e, SERVERS);
	printf("%-42s %6.2f ms\n", "first fill", (now_ns() - t) / 1e6);
	decide(e, "a new key, empty table, answer only", HF_LIFE_NONE, 0, 0);
	t = now_ns();
	for (uint64_t k = 0; k < sessions; k++) {
		struct hf_question q = {.key = {.fp = fingerprint(k)}, .life = HF_LIFE_START, .life_s = 3600, .flags = HF_COUNTED};
		struct hf_answer a;

		hf_engine_choose(e, &q, &a, NOW);
		sink += a.full;
	}
	printf("%-42s %6.1f ns (with the key's hash)\n", "start", (now_ns() - t) / (double)sessions);
	decide(e, "a live session, answer only", HF_LIFE_NONE, 0, sessions);
	decide(e, "a live session, touch", HF_LIFE_TOUCH, 0, sessions);
	decide(e, "a new key, full table, answer only", HF_LIFE_NONE, (uint64_t)1 << 40, 0);
	pool(e, SERVERS + 1);
	change(e, "one server more");
	pool(e, SERVERS);
	change(e, "one server less");
	t = now_ns();
	for (uint64_t k = 0; k < sessions; k++) {
		struct hf_lesson l = {.key = {.fp = fingerprint(k)}, .life = HF_LIFE_END};

		sink += hf_engine_learn(e, &l, NOW);
	}
	printf("%-42s %6.1f ns (with the key's hash)\n", "end", (now_ns() - t) / (double)sessions);
	hf_engine_free(e);
	hf_store_close(&region);
	return 0;
}
