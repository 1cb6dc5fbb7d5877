/* What an engine holds of the machine's memory: pages counted by the kernel, not sizes as we believe them. With a sanitizer, which has memory of
 * its own for each of ours, only the mapping is measured. */
#include "farm.h"

#include <sys/mman.h>
#include <unistd.h>

enum { T0 = 1000000, MILLION = 1000000, SERVERS = 10 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_HEAP 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_HEAP 0
#endif
#endif
#ifndef OWN_HEAP
#define OWN_HEAP 1
#endif

struct land {
	struct hf_engine *e;
	void *mem;
	size_t need, before; /* before: what the process held */
};

static size_t mapped(const struct land *l)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (l->need + page - 1) / page, held = 0;
	unsigned char *in = malloc(n);

	assert_int_equal(mincore(l->mem, l->need, in), 0);
	for (size_t i = 0; i < n; i++)
		held += in[i] & 1;
	free(in);
	return held * page;
}

/* What the process holds beside its program text, exactly: the kernel walks its pages. */
static size_t process(void)
{
	static char text[4096];
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	const char *at;
	uint64_t kb = 0;

	assert_non_null(f);
	fclose(f);
	text[n] = 0;
	at = strstr(text, "\nAnonymous:");
	assert_non_null(at);
	at += strcspn(at, "0123456789");
	assert_int_equal(hf_read_uint(hf_bytes_of(at, strspn(at, "0123456789")), UINT32_MAX, &kb), HF_OK);
	return (size_t)kb * 1024;
}

static size_t held(const struct land *l) { return OWN_HEAP ? process() - l->before : mapped(l); }

static void pool(struct land *l, unsigned n)
{
	static char name[SERVERS + 1][8];
	struct hf_member_conf m[SERVERS + 1];
	uint16_t ids[SERVERS + 1];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name[i], sizeof name[i], "s%u", i + 1);
		m[i] = (struct hf_member_conf){.name = hf_bytes_str(name[i]), .weight = 100};
	}
	assert_int_equal(hf_engine_apply(l->e, m, n, ids, T0), HF_OK);
}

static struct land settle(enum hf_mode mode, uint32_t max_entries)
{
	struct hf_engine_conf c = {.mode = mode, .slot_bits = 16, .load_factor_milli = 1500, .max_entries = max_entries};
	struct land l = {.need = hf_engine_need(&c)};

	l.mem = mmap(NULL, l.need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(l.mem != MAP_FAILED);
	(void)madvise(l.mem, l.need, MADV_NOHUGEPAGE);
	(void)process(); /* what looking itself takes */
	l.before = process();
	l.e = hf_engine_new(&c, l.mem, T0);
	assert_non_null(l.e);
	pool(&l, SERVERS);
	return l;
}

static void leave(struct land *l)
{
	hf_engine_free(l->e);
	munmap(l->mem, l->need);
}

static void start(struct land *l, uint64_t from, uint64_t to, unsigned text_n)
{
	for (uint64_t k = from; k < to; k++) {
		char text[RECORD_TEXT_MAX + 1];
		struct hf_question q = {.life = HF_LIFE_OPEN, .life_s = 900, .flags = HF_COUNTED};
		struct hf_answer a;

		snprintf(text, sizeof text, "user:%0*llu", (int)text_n - 5, (unsigned long long)k);
		q.key = (struct hf_key){farm_fp(k), hf_bytes_str(text)};
		hf_engine_choose(l->e, &q, &a, T0);
		assert_true(a.server && !a.full);
	}
}

/* An engine for a million that holds nobody: its slots and little else. Homes used whole from the start fail in the next. */
static void fresh(void **state)
{
	struct land l = settle(HF_MODE_TABLE, 1 << 20);

	(void)state;
	assert_true(held(&l) <= 400000);
	leave(&l);
}

/* 2,000 desktops, whose keys have 64 octets: at most 400 octets each with all that belongs to them. */
static void desktops(void **state)
{
	struct land l = settle(HF_MODE_TABLE, 1 << 20);
	size_t idle = held(&l);

	(void)state;
	start(&l, 0, 2000, 64);
	assert_true(held(&l) - idle <= 2000 * 400);
	leave(&l);
}

/* A record with a text of 64 octets takes at most 160 with its share of all there is for records. */
static void records(void **state)
{
	struct land l = settle(HF_MODE_TABLE, 1 << 20);
	size_t before;

	(void)state;
	start(&l, 0, 30000, 64);
	before = held(&l) - mapped(&l);
	start(&l, 30000, 130000, 64);
	assert_true(!OWN_HEAP || held(&l) - mapped(&l) - before <= 100000 * 160);
	leave(&l);
}

/* Of three sessions one is opened by a server, the others by clients. */
static void begin(struct land *l, uint64_t from, uint64_t to, uint64_t now)
{
	for (uint64_t k = from; k < to; k++) {
		struct hf_question q = {.key = {.fp = farm_fp(k)}, .life = HF_LIFE_START, .life_s = 900000, .flags = HF_COUNTED};
		const struct hf_lesson opened = {.key = q.key, .server = (uint16_t)(1 + k / 3 % SERVERS), .life = HF_LIFE_START, .life_s = 900000, .flags = HF_COUNTED};
		struct hf_answer a = {.server = 1};

		if (k % 3 == 0)
			a.full = hf_engine_learn(l->e, &opened, now) != HF_OK;
		else
			hf_engine_choose(l->e, &q, &a, now);
		assert_true(a.server && !a.full);
	}
}

static void end(struct land *l, uint64_t from, uint64_t to, uint64_t now)
{
	for (uint64_t k = from; k < to; k++)
		assert_int_equal(hf_engine_learn(l->e, &(struct hf_lesson){.key = {.fp = farm_fp(k)}, .life = HF_LIFE_END}, now), HF_OK);
}

/* At most 14 octets a session of a million, slots and members and all that is in the mapping included. What the process has beside is not by
 * session. */
static void within(const struct land *l)
{
	assert_true(mapped(l) <= 14 * (size_t)MILLION);
	assert_true(held(l) <= 14 * (size_t)MILLION + 150000);
}

/* Property 19: all of a million at ten servers, a third of them opened by servers, at rest, at every tick of changes, and after a day in which sessions
 * went and others came. Fails with homes for a load of 0.87. */
static void full(void **state)
{
	struct land l = settle(HF_MODE_AUTO, MILLION);
	unsigned steps = farm_full() ? 1440 : 24, part = MILLION / 20;
	uint64_t now = T0;
	size_t rest;

	(void)state;
	begin(&l, 0, MILLION, now);
	within(&l);
	for (unsigned n = SERVERS - 1; n <= SERVERS + 1; n++) {
		pool(&l, n);
		while (hf_engine_tick(l.e, now))
			within(&l);
	}
	rest = held(&l);
	for (uint64_t i = 0; i < steps; i++) {
		end(&l, i * part, (i + 1) * part, now);
		begin(&l, MILLION + i * part, MILLION + (i + 1) * part, now);
		(void)hf_engine_sweep(l.e, now, 100000);
		now += 86400000 / steps;
	}
	within(&l);
	assert_true(held(&l) <= rest + 4096); /* a page of the look itself */
	leave(&l);
}

static bool nobody(void *arg, const struct hf_record *r)
{
	(void)arg;
	(void)r;
	return false;
}

/* Looking at all of an engine, for people or for a copy, holds no page that it did not: reading one is to hold it. Fails without the first
 * return of entries_next. */
static void looked_at(void **state)
{
	static uint8_t text[HF_COPY_MAX][HF_TEXT_MAX];
	static struct hf_record r[HF_COPY_MAX];
	struct land l = settle(HF_MODE_TABLE, 1 << 20);
	struct hf_copy c = {.r = r, .text = text};
	struct hf_range range = {0, 0};
	size_t idle = mapped(&l);

	(void)state;
	hf_engine_each(l.e, nobody, NULL, T0);
	assert_int_equal(mapped(&l), idle);
	assert_int_equal(hf_engine_track(l.e), HF_OK);
	for (uint64_t from = 0; hf_engine_whole(l.e, from, &range); from = range.to + 1)
		hf_engine_copy(l.e, &range, &c, T0);
	assert_int_equal(mapped(&l), idle);
	leave(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fresh), cmocka_unit_test(desktops), cmocka_unit_test(records), cmocka_unit_test(full),
		cmocka_unit_test(looked_at)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
