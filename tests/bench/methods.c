/* The engine beside other ways to choose a server, in one run: a ring of 160 points a server, maglev (the engine's own fill, used as a plain table),
 * jump hash, modulo. Nanoseconds a look-up, peak over average, keys and live sessions that move when a server is added or removed. The methods of
 * others are written here in their plainest form, from their papers; a look-up's figure is the least of many short runs. It asserts nothing.
 * usage: bench_methods [keys, default 1000000]   rows of a table: method | ns | peak/average | keys moved by one more | by one less | sessions moved */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "holdfast/engine.h"

enum { SERVERS = 10, POINTS = 160, EACH = 20000, ROUNDS = 50, NOW = 1000000 };

static uint64_t n_keys = 1000000;
static volatile uint64_t sink;

static uint64_t draw(uint64_t x) /* splitmix64 */
{
	x += 0x9E3779B97F4A7C15u;
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
	x = (x ^ x >> 27) * 0x94D049BB133111EBu;
	return x ^ x >> 31;
}

/* The n-th key's hash: 60 bits, as the engine's fingerprints. */
static uint64_t key(uint64_t n) { return draw(n) >> 4; }

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- ring (Karger and others 1997): the first point at or behind the key ---- */

static struct point { uint64_t at; unsigned server; } ring[(SERVERS + 1) * POINTS];
static unsigned n_points;

static int by_place(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void ring_of(unsigned n)
{
	n_points = 0;
	for (unsigned s = 1; s <= n; s++)
		for (unsigned i = 0; i < POINTS; i++)
			ring[n_points++] = (struct point){draw(draw(s) + i) >> 4, s};
	qsort(ring, n_points, sizeof ring[0], by_place);
}

static unsigned ring_look(uint64_t k)
{
	unsigned from = 0, to = n_points;

	while (from < to) {
		unsigned half = (from + to) / 2;

		if (ring[half].at < k)
			from = half + 1;
		else
			to = half;
	}
	return ring[from == n_points ? 0 : from].server;
}

/* ---- jump hash (Lamping and Veach 2014) ---- */

static unsigned n_buckets;

static void jump_of(unsigned n) { n_buckets = n; }

static unsigned jump_look(uint64_t k)
{
	int64_t b = -1, j = 0;

	while (j < (int64_t)n_buckets) {
		b = j;
		k = k * 2862933555777941757u + 1;
		j = (int64_t)((double)(b + 1) * ((double)(1ll << 31) / (double)((k >> 33) + 1)));
	}
	return (unsigned)b + 1;
}

static unsigned modulo_look(uint64_t k) { return (unsigned)(k % n_buckets) + 1; }

/* ---- the engine: its fills as plain tables, and all of it ---- */

static struct hf_engine *engine;
static void *memory;
static uint16_t owner[1 << 16];

static void pool_of(unsigned n)
{
	static char name[SERVERS + 1][8];
	struct hf_member_conf m[SERVERS + 1];
	uint16_t ids[SERVERS + 1];

	memset(m, 0, sizeof m);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name[i], sizeof name[i], "s%u", i + 1);
		m[i].name = hf_bytes_str(name[i]);
		m[i].weight = 100;
	}
	if (hf_engine_apply(engine, m, n, ids, NOW) != HF_OK)
		exit(1);
	while (hf_engine_tick(engine, NOW))
		;
	for (uint32_t j = 0; j < 1 << 16; j++)
		owner[j] = hf_engine_owner(engine, j);
}

static void open_engine(enum hf_method method)
{
	struct hf_engine_conf c = {.hash_key = {1, 2, 3}, .method = method, .slot_bits = 16, .load_factor_milli = 1250, .max_entries = (uint32_t)n_keys, .ring_points = 256};
	size_t need = (hf_engine_need(&c) + 63) & ~(size_t)63;

	memory = aligned_alloc(64, need);
	engine = memory ? hf_engine_new(&c, memset(memory, 0, need), NOW) : NULL;
	if (!engine)
		exit(1);
}

static void close_engine(void)
{
	hf_engine_free(engine);
	free(memory);
}

static unsigned table_look(uint64_t k) { return owner[k >> 44]; }

static unsigned ask(uint64_t k, enum hf_life life)
{
	struct hf_question q = {.key = {.fp = k}, .life = life, .life_s = 3600, .flags = HF_COUNTED};
	struct hf_answer a;

	hf_engine_choose(engine, &q, &a, NOW);
	return a.server;
}

static unsigned session_look(uint64_t k) { return ask(k, HF_LIFE_NONE); }

static void sessions_of(unsigned n)
{
	pool_of(n);
	for (uint64_t i = 0; n == SERVERS && i < n_keys; i++)
		sink += ask(key(i), HF_LIFE_START);
}

/* ---- measuring ---- */

static double ns(unsigned (*look)(uint64_t))
{
	static uint64_t k[EACH];
	double best = 0;

	for (unsigned r = 0; r < ROUNDS; r++) {
		double t;

		for (unsigned i = 0; i < EACH; i++)
			k[i] = key(draw(r * EACH + i) % n_keys);
		t = now_ns();
		for (unsigned i = 0; i < EACH; i++)
			sink += look(k[i]);
		t = (now_ns() - t) / EACH;
		best = !best || t < best ? t : best;
	}
	return best;
}

static double moved(unsigned (*look)(uint64_t), const uint16_t *was)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < n_keys; i++)
		n += look(key(i)) != was[i];
	return 100.0 * (double)n / (double)n_keys;
}

/* look: where the next message of a key goes; placed: where a new one would go, by the method alone. */
static void row(const char *name, void (*build)(unsigned), unsigned (*look)(uint64_t), unsigned (*placed)(uint64_t))
{
	uint64_t count[SERVERS + 2] = {0}, peak = 0;
	uint16_t *was = malloc(n_keys * sizeof *was), *home = malloc(n_keys * sizeof *home);
	double t, more, less, sessions;

	if (!was || !home)
		exit(1);
	build(SERVERS);
	for (uint64_t i = 0; i < n_keys; i++) {
		was[i] = (uint16_t)look(key(i));
		home[i] = (uint16_t)placed(key(i));
		count[was[i]]++;
	}
	for (unsigned s = 1; s <= SERVERS; s++)
		peak = count[s] > peak ? count[s] : peak;
	t = ns(look);
	build(SERVERS + 1);
	more = moved(placed, home);
	sessions = moved(look, was);
	build(SERVERS - 1);
	less = moved(placed, home);
	sessions = moved(look, was) > sessions ? moved(look, was) : sessions;
	printf("| %s | %.1f | %.3f | %.2f %% | %.2f %% | %.2f %% |\n", name, t, (double)peak * SERVERS / (double)n_keys, more, less, sessions);
	free(was);
	free(home);
}

int main(int argc, char **argv)
{
	if (argc > 1 && (hf_read_uint(hf_bytes_str(argv[1]), 1u << 26, &n_keys) != HF_OK || n_keys < EACH))
		return 2;
	printf("| method, %u servers, %llu live sessions | ns a look-up | peak/average | keys moved by one more | by one less | sessions moved |\n|---|---|---|---|---|---|\n",
	       SERVERS, (unsigned long long)n_keys);
	open_engine(HF_METHOD_CARP);
	row("Holdfast, auto, load-factor 1.25", sessions_of, session_look, table_look);
	close_engine();
	open_engine(HF_METHOD_MAGLEV);
	row("maglev, 65,536 slots", pool_of, table_look, table_look);
	close_engine();
	row("ring, 160 points a server", ring_of, ring_look, ring_look);
	row("jump hash", jump_of, jump_look, jump_look);
	row("hash modulo servers", jump_of, modulo_look, modulo_look);
	return 0;
}
