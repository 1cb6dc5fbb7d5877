/* What the engine costs: nanoseconds a decision, octets a session, milliseconds a change. One line a figure; it asserts nothing.
 * A decision's figure is the least of many short runs, as whatever else the machine does only adds to one.
 * usage: bench_engine [sessions, default 1000000] */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<xxhash.h>)
#define XXH_INLINE_ALL
#include <xxhash.h> /* libxxhash-dev: the yardstick of other engines' figures, if it is here */
#endif
#endif

#include "holdfast/engine.h"
#include "holdfast/hash.h"
#include "holdfast/store.h"

enum { SERVERS = 10, SERVERS_MANY = 1000, ROUNDS = 50, EACH = 20000, NOW = 1000000 };

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
	static char name[SERVERS_MANY + 1][8];
	static struct hf_member_conf m[SERVERS_MANY + 1];
	static uint16_t ids[SERVERS_MANY + 1];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name[i], sizeof name[i], "s%u", i + 1);
		m[i] = (struct hf_member_conf){.name = hf_bytes_str(name[i]), .weight = 100};
	}
	if (hf_engine_apply(e, m, n, ids, NOW) != HF_OK)
		exit(1);
}

static double asks(struct hf_engine *e, const uint64_t *fp, const uint16_t *hint, enum hf_life life, bool server_only)
{
	struct hf_answer a;
	double t = now_ns();

	for (unsigned i = 0; i < EACH; i++) {
		struct hf_question q = {.key = {.fp = fp[i]}, .hint = hint[i], .hint_why = HF_WHY_COOKIE, .life = life, .life_s = 3600, .flags = HF_COUNTED, .server_only = server_only};

		hf_engine_choose(e, &q, &a, NOW);
		sink += a.server;
	}
	return (now_ns() - t) / EACH;
}

static double ends(struct hf_engine *e, const uint64_t *fp)
{
	double t = now_ns();

	for (unsigned i = 0; i < EACH; i++) {
		struct hf_lesson l = {.key = {.fp = fp[i]}, .life = HF_LIFE_END};

		sink += hf_engine_learn(e, &l, NOW);
	}
	return (now_ns() - t) / EACH;
}

/* One XXH3 of 40 octets, by which figures of other machines can be compared; 0: the library is not here. */
static double yardstick(void)
{
#ifdef XXH_INLINE_ALL
	uint8_t id[40] = "................................@host.io";
	double t = now_ns();

	for (unsigned i = 0; i < EACH; i++) {
		hf_put64(id, i);
		sink += XXH3_64bits(id, sizeof id);
	}
	return (now_ns() - t) / EACH;
#else
	return 0;
#endif
}

static void least(double *best, double t)
{
	if (*best == 0 || t < *best)
		*best = t;
}

/* What decisions cost beside `live` sessions, the first of which are there. */
static void decide(struct hf_engine *e, uint64_t live)
{
	static const char *const what[] = {"the server at rest", "a live session, the table read", "a live session, touched", "a live session by its cookie, touched",
		"a new key, answer only", "start", "linger", "end", "a key's hash"};
	static uint64_t known[EACH], fresh[EACH];
	static uint16_t cookie[EACH], none[EACH];
	double best[9] = {0}, x = 0;
	uint64_t r = 88172645463325252u;

	for (unsigned n = 0; n < ROUNDS; n++) {
		double t = now_ns();

		for (unsigned i = 0; i < EACH; i++)
			fresh[i] = fingerprint(((uint64_t)1 << 40) + (uint64_t)n * EACH + i);
		least(&best[8], (now_ns() - t) / EACH);
		least(&x, yardstick());
		for (unsigned i = 0; i < EACH; i++) {
			struct hf_question q = {.life = HF_LIFE_NONE};
			struct hf_answer a;

			r ^= r << 13;
			r ^= r >> 7;
			r ^= r << 17;
			known[i] = q.key.fp = fingerprint(r % live);
			hf_engine_choose(e, &q, &a, NOW);
			cookie[i] = a.server;
		}
		least(&best[0], asks(e, known, none, HF_LIFE_NONE, true));
		least(&best[1], asks(e, known, none, HF_LIFE_NONE, false));
		least(&best[2], asks(e, known, none, HF_LIFE_TOUCH, false));
		least(&best[3], asks(e, known, cookie, HF_LIFE_TOUCH, false));
		least(&best[4], asks(e, fresh, none, HF_LIFE_NONE, false));
		least(&best[5], asks(e, fresh, none, HF_LIFE_START, false));
		least(&best[6], asks(e, fresh, none, HF_LIFE_LINGER, false));
		least(&best[7], ends(e, fresh));
	}
	for (unsigned i = 0; i < sizeof best / sizeof best[0]; i++) {
		printf("%-42s %6.1f ns beside %llu", what[i], best[i], (unsigned long long)live);
		printf(x > 0 ? ", %.1f times XXH3\n" : "\n", best[i] / x);
	}
}

static void start(struct hf_engine *e, uint64_t from, uint64_t to)
{
	for (uint64_t k = from; k < to; k++) {
		struct hf_question q = {.key = {.fp = fingerprint(k)}, .life = HF_LIFE_START, .life_s = 3600, .flags = HF_COUNTED};
		struct hf_answer a;

		hf_engine_choose(e, &q, &a, NOW);
		sink += a.full;
	}
}

/* Octets of the mapping that have memory. */
static double resident(const struct hf_region *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (r->n + page - 1) / page, held = 0;
	unsigned char *in = malloc(n);

	if (!in || mincore(r->p, r->n, in) != 0)
		exit(1);
	for (size_t i = 0; i < n; i++)
		held += in[i] & 1;
	free(in);
	return (double)(held * page);
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

/* From a dead process to a pool that answers: tables of a file of run-dir's kind, with as many sessions as they take, and n servers. */
static void restart(const struct hf_engine_conf *c, uint64_t sessions, unsigned n)
{
	char dir[] = "/dev/shm/holdfast-bench-XXXXXX", path[64];
	struct hf_region r;
	uint8_t said[256];
	struct hf_writer why = hf_writer_on(said, sizeof said);

	if (!mkdtemp(dir))
		return;
	snprintf(path, sizeof path, "%s/bench.tables", dir);
	for (unsigned i = 0; i < 3; i++) { /* a first start, one with the same pool, one with another */
		double t = now_ns() / 1e6, opened;
		struct hf_engine *e = NULL;

		if (hf_store_open(dir, "bench", hf_engine_need(c), 0, &r, &why) != HF_OK || !(e = hf_engine_new(c, r.p, NOW)))
			break;
		opened = now_ns() / 1e6;
		pool(e, i < 2 ? n : n - 1);
		if (i == 0)
			start(e, 0, sessions);
		else
			printf("restart, %llu sessions, %4u servers, %-9s %6.2f ms of CPU (%.2f to open the tables)\n", (unsigned long long)sessions, n, i == 1 ? "same" : "one less",
			       now_ns() / 1e6 - t, opened - t);
		hf_engine_free(e);
		hf_store_close(&r);
	}
	unlink(path);
	rmdir(dir);
}

/* ---- workers beside each other ---- */

enum { OWN = 1000 }; /* sessions that a worker has started and not yet ended */

struct work {
	struct hf_engine *e;
	uint64_t from;    /* its own keys */
	uint64_t live;    /* those of all, from 0 on */
	_Atomic bool *go;
	double ns;        /* a round, of its own processor time */
};

static bool end(struct hf_engine *e, uint64_t k)
{
	struct hf_lesson l = {.key = {.fp = fingerprint(k)}, .life = HF_LIFE_END};

	return hf_engine_learn(e, &l, NOW) == HF_OK;
}

/* What a worker of a busy gateway asks: of ten questions one starts a session, one ends one, eight are about live ones. */
static void *works(void *arg)
{
	struct work *w = arg;
	const uint64_t to = w->from + 10 * EACH;
	uint64_t servers = 0; /* its own: a number that both write costs more than what is measured */
	unsigned lost = 0;
	double t;

	while (!atomic_load(w->go))
		;
	t = now_ns();
	for (uint64_t k = w->from; k < to; k++) {
		struct hf_question q = {.key = {.fp = fingerprint(k)}, .life = HF_LIFE_START, .life_s = 3600, .flags = HF_COUNTED};
		struct hf_answer a;

		hf_engine_choose(w->e, &q, &a, NOW);
		lost += a.full;
		q.life = HF_LIFE_TOUCH;
		for (unsigned i = 0; i < 8; i++) {
			q.key.fp = fingerprint((k * 8 + i) % w->live);
			hf_engine_choose(w->e, &q, &a, NOW);
			servers += a.server;
		}
		if (k - w->from >= OWN)
			lost += !end(w->e, k - OWN);
	}
	w->ns = (now_ns() - t) / (10 * EACH);
	for (uint64_t k = to - OWN; k < to; k++)
		lost += !end(w->e, k);
	if (lost || !servers) /* what was not remembered was not measured */
		exit(1);
	return NULL;
}

/* What a round takes a worker, of n that run at once, while servers go down and up. */
static double beside(struct hf_engine *e, uint64_t live, unsigned n)
{
	static uint64_t next = (uint64_t)1 << 41;
	_Atomic bool go = false;
	struct work w[2];
	pthread_t t[2];
	double sum = 0;

	for (unsigned i = 0; i < n; i++, next += (uint64_t)1 << 20) {
		w[i] = (struct work){e, next, live, &go, 0};
		if (pthread_create(&t[i], NULL, works, &w[i]) != 0)
			exit(1);
	}
	atomic_store(&go, true);
	for (unsigned i = 0; i < 40; i++) {
		const struct timespec rest = {0, 2000000};

		hf_engine_mark(e, 2, HF_MARK_DOWN, i % 2 == 0, NOW);
		for (unsigned k = 0; k < 4; k++)
			(void)hf_engine_tick(e, NOW);
		nanosleep(&rest, NULL);
	}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		sum += w[i].ns;
	}
	hf_engine_mark(e, 2, HF_MARK_DOWN, false, NOW);
	while (hf_engine_tick(e, NOW))
		;
	return sum / n;
}

static void workers(struct hf_engine *e, uint64_t live)
{
	double one = 0, two = 0;

	for (unsigned i = 0; i < 5; i++) {
		least(&one, beside(e, live, 1));
		least(&two, beside(e, live, 2));
	}
	printf("%-42s %6.2f times one beside %llu (%.0f and %.0f ns a round of ten)\n", "two workers while the pool changes", 2 * one / two, (unsigned long long)live, one, two);
}

int main(int argc, char **argv)
{
	uint64_t sessions = 1000000;
	struct hf_engine_conf c = {.mode = HF_MODE_AUTO, .slot_bits = 16, .load_factor_milli = 1500};
	struct hf_region region;
	struct hf_engine *e;
	uint8_t said[256];
	struct hf_writer why = hf_writer_on(said, sizeof said);
	double t;

	if (argc > 1 && hf_read_uint(hf_bytes_str(argv[1]), 1u << 28, &sessions) != HF_OK)
		return 2;
	c.max_entries = (uint32_t)sessions;
	memcpy(c.hash_key, key, sizeof key);
	if (hf_store_open(NULL, "bench", hf_engine_need(&c), 0, &region, &why) != HF_OK || !(e = hf_engine_new(&c, region.p, NOW)))
		return 1;
	t = now_ns();
	pool(e, SERVERS);
	printf("%-42s %6.2f ms\n", "first fill", (now_ns() - t) / 1e6);
	if (sessions > 10000 + EACH) {
		start(e, 0, 10000);
		decide(e, 10000);
		workers(e, 10000);
	}
	start(e, 0, sessions > 2 * EACH ? sessions - EACH : sessions / 2); /* room for those that decide starts */
	decide(e, sessions > 2 * EACH ? sessions - EACH : sessions / 2);
	if (sessions > 2 * EACH)
		workers(e, sessions - EACH);
	printf("%-42s %6.2f\n", "octets a session, all tables", resident(&region) / (double)sessions);
	pool(e, SERVERS + 1);
	change(e, "one server more");
	pool(e, SERVERS);
	change(e, "one server less");
	hf_engine_free(e);
	hf_store_close(&region);
	restart(&c, sessions, SERVERS);
	restart(&c, sessions, SERVERS_MANY);
	return 0;
}
