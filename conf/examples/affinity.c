/* The affinity engine as a library: a pool of three servers, sessions that find theirs again, and a fourth server that moves none of them.
 *   cmake -S . -B build && cmake --build build --target holdfast_engine
 *   cc -Iinclude conf/examples/affinity.c build/libholdfast_engine.a -lpthread -o build/affinity && build/affinity */
#include <stdio.h>
#include <stdlib.h>

#include "holdfast/engine.h"

static const uint8_t hash_key[16] = "of the cluster."; /* secret, where clients choose the keys; the same at every gateway */
static uint64_t now_ms = 1000;                            /* a monotonic clock; the engine reads none */

static void set_pool(struct hf_engine *e, unsigned n)
{
	static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
	struct hf_member_conf m[4] = {{.weight = 0}};
	uint16_t ids[4];

	for (unsigned i = 0; i < n; i++)
		m[i] = (struct hf_member_conf){.name = hf_bytes_str(names[i]), .weight = 100};
	if (hf_engine_apply(e, m, n, ids, now_ms) != HF_OK)
		exit(1);
	while (hf_engine_tick(e, now_ms)) /* in steps of 0.2 ms, when you have the time */
		;
}

/* The server of a user's session, which begins with the first call and is remembered for an hour after the last. */
static const char *server_of(struct hf_engine *e, const char *user, struct hf_answer *a)
{
	struct hf_question q = {.life = HF_LIFE_START, .life_s = 3600, .flags = HF_COUNTED};
	static struct hf_server_view v;

	q.key.fp = hf_fingerprint(hash_key, HF_LIT("user"), hf_bytes_str(user), 80);
	hf_engine_choose(e, &q, a, now_ms);
	return hf_engine_server(e, a->server, &v) ? v.name : "nobody";
}

int main(void)
{
	static const char *const users[] = {"ada", "ben", "cleo", "dora", "kim", "max", "quin", "zoe"};
	struct hf_engine_conf c = {.slot_bits = 16, .load_factor_milli = 1250, .max_entries = 100000};
	struct hf_engine_counts n;
	struct hf_answer a;
	struct hf_engine *e;
	size_t need;
	void *mem;

	memcpy(c.hash_key, hash_key, sizeof hash_key);
	need = (hf_engine_need(&c) + 63) & ~(size_t)63;
	mem = aligned_alloc(64, need);
	if (!mem || !(e = hf_engine_new(&c, memset(mem, 0, need), now_ms)))
		return 1;
	for (unsigned servers = 3; servers <= 4; servers++, now_ms += 1000) {
		set_pool(e, servers);
		for (unsigned i = 0; i < sizeof users / sizeof users[0]; i++) {
			const char *server = server_of(e, users[i], &a);

			printf("%s: %s (%s)\n", users[i], server, hf_why_name(a.why));
		}
		hf_engine_counts(e, &n);
		printf("%u servers: %llu sessions, %llu of them away from their slot's owner\n", servers, (unsigned long long)n.entries, (unsigned long long)n.exceptions);
	}
	hf_engine_free(e);
	free(mem);
	return 0;
}
