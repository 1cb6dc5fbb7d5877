/* What an engine holds of the machine's memory: pages counted by the kernel, not sizes as we believe them. With a sanitizer, which has memory of
 * its own for each of ours, only the mapping is measured. */
#include "farm.h"

#include <sys/mman.h>
#include <unistd.h>

enum { T0 = 1000000, MILLION = 1000000 };

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

static struct land settle(enum hf_mode mode, uint32_t max_entries)
{
	struct hf_engine_conf c = {.mode = mode, .slot_bits = 16, .load_factor_milli = 1500, .max_entries = max_entries};
	struct hf_member_conf m[3] = {{.name = HF_LIT("a"), .weight = 100}, {.name = HF_LIT("b"), .weight = 100}, {.name = HF_LIT("c"), .weight = 100}};
	struct land l = {.need = hf_engine_need(&c)};
	uint16_t ids[3];

	l.mem = mmap(NULL, l.need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(l.mem != MAP_FAILED);
	(void)madvise(l.mem, l.need, MADV_NOHUGEPAGE);
	(void)process(); /* what looking itself takes */
	l.before = process();
	l.e = hf_engine_new(&c, l.mem, T0);
	assert_non_null(l.e);
	assert_int_equal(hf_engine_apply(l.e, m, 3, ids, T0), HF_OK);
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

/* All of a million: 14 octets each and the slots. */
static void full(void **state)
{
	struct land l = settle(HF_MODE_AUTO, MILLION);
	size_t idle = mapped(&l);

	(void)state;
	start(&l, 0, MILLION, 10);
	assert_true(mapped(&l) - idle <= 14 * (size_t)MILLION);
	assert_true(held(&l) <= 14 * (size_t)MILLION + 400000);
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
