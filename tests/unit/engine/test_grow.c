/* The table doubles as it fills, a process that dies in any of its steps loses no entry and spoils none, and who looks without a lock sees nothing
 * half done. */
#include "farm.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WHOLE = 2400, MOST = 2000 };

struct shared {
	uint32_t extent;
	_Atomic uint32_t there;  /* keys 0..there-1 are in the table, perhaps one more */
	_Atomic uint64_t steps;
	struct packed at[WHOLE + ENTRIES_SLACK];
};

static struct entry entry_of(uint32_t k) { return (struct entry){farm_fp(k), k & 7, (uint16_t)(1 + k % HF_SERVERS_MAX), k}; }

static void put_in(struct entries *t, uint32_t *extent, uint32_t k)
{
	struct entry x = entry_of(k);

	if (t->used >= t->limit)
		assert_true(entries_grow(t, extent));
	assert_true(entries_insert(t, entries_seek(t, x.fp).place, &x));
}

static void take_out(struct entries *t, uint32_t k)
{
	struct spot at = entries_seek(t, farm_fp(k));

	assert_true(at.found);
	entries_remove(t, at.place);
}

static void all_there(const struct entries *t, uint32_t n)
{
	assert_true(entries_sound(t));
	for (uint32_t k = 0; k < n; k++) {
		struct spot at = entries_seek(t, farm_fp(k));
		struct entry want = entry_of(k), got;

		assert_true(at.found);
		got = entry_unpack(&t->at[at.place]);
		assert_true(got.fp == want.fp && entry_same(&got, &want));
	}
}

/* From the first homes to the last, all entries are found after each doubling, and nothing stands behind the places in use. */
static void doubles(void **state)
{
	struct shared *s = calloc(1, sizeof *s);
	struct entries t;
	uint32_t stages = 1;

	(void)state;
	entries_open(&t, s->at, WHOLE, 0, &s->extent);
	assert_true(t.homes >= ENTRIES_FIRST && t.homes < 2 * ENTRIES_FIRST && s->extent == t.homes);
	for (uint32_t k = 0; k < MOST; k++) {
		uint32_t homes = t.homes;

		put_in(&t, &s->extent, k);
		assert_true(t.used <= homes || t.homes > homes);
		if (t.homes != homes) {
			all_there(&t, k + 1);
			stages++;
		}
		for (uint32_t i = t.places; i < WHOLE + ENTRIES_SLACK; i += 97)
			assert_true(packed_empty(&s->at[i]));
	}
	assert_true(t.homes == WHOLE && stages == 6);
	assert_false(entries_grow(&t, &s->extent));
	all_there(&t, MOST);
	free(s);
}

/* The last home's entries reach the table's end at every stage; a run that fits before a doubling fits behind it. */
static void doubles_at_the_end(void **state)
{
	struct shared *s = calloc(1, sizeof *s);
	struct entries t;

	(void)state;
	entries_open(&t, s->at, WHOLE, 0, &s->extent);
	for (uint64_t k = 0; k < ENTRIES_SLACK; k++) {
		struct entry x = {((uint64_t)1 << 60) - 1 - k, 0, 1, 0};

		assert_true(entries_insert(&t, entries_seek(&t, x.fp).place, &x));
	}
	while (entries_grow(&t, &s->extent))
		assert_true(entries_sound(&t) && t.used == ENTRIES_SLACK);
	free(s);
}

/* What may be found of a step that did not end: the extent was written and nothing moved; an entry stands twice; one does not stand in its place. */
static void mends(void **state)
{
	struct shared *s = calloc(1, sizeof *s);
	struct entries t;
	uint32_t place;

	(void)state;
	entries_open(&t, s->at, WHOLE, 0, &s->extent);
	for (uint32_t k = 0; k < 60; k++)
		put_in(&t, &s->extent, k);
	s->extent = WHOLE / 8;
	entries_open(&t, s->at, WHOLE, 0, &s->extent);
	assert_true(t.homes == WHOLE / 8 && t.used == 60);
	all_there(&t, 60);
	for (place = 0; packed_empty(&s->at[place]) || !packed_empty(&s->at[place + 1]) || !packed_empty(&s->at[place + 2]); place++)
		;
	s->at[place + 1] = s->at[place];
	s->at[place + 2] = s->at[place];
	entries_open(&t, s->at, WHOLE, 0, &s->extent);
	assert_int_equal(t.used, 60);
	all_there(&t, 60);
	s->at[place + 2] = s->at[place];
	atomic_store(&s->at[place].rest, 0);
	entries_open(&t, s->at, WHOLE, 0, &s->extent);
	assert_int_equal(t.used, 60);
	all_there(&t, 60);
	s->extent = 77; /* nothing that a table writes: it starts empty */
	entries_open(&t, s->at, WHOLE, 0, &s->extent);
	assert_int_equal(t.used, 0);
	assert_true(s->extent == t.homes && packed_empty(&s->at[place]));
	free(s);
}

/* Memory that changed by itself: an entry whose fingerprint went up or down, to the end or to nothing, goes alone or (where either of two may be
 * the wrong one) takes a neighbour's place; any bits at all leave a sound table. Without sort_out the whole shard is lost; keeping the first of
 * two that disagree loses all behind one that went up. */
static void damaged(void **state)
{
	static const uint32_t his[] = {0xffffffff, 0xfffffff0, 0, 1, 0x80000000, 0x7fffffff};
	struct shared *s = calloc(1, sizeof *s), *good = calloc(1, sizeof *good);
	uint64_t seed = 21;
	struct entries t;

	(void)state;
	entries_open(&t, good->at, WHOLE, 0, &good->extent);
	for (uint32_t k = 0; k < MOST; k++)
		put_in(&t, &good->extent, k);
	for (unsigned i = 0; i < 300; i++) {
		uint32_t at;

		memcpy(s, good, sizeof *s);
		do
			at = (uint32_t)(farm_random(&seed) % (WHOLE + ENTRIES_SLACK));
		while (packed_empty(&s->at[at]));
		atomic_store(&s->at[at].hi, i % 2 ? his[i / 2 % 6] : (uint32_t)farm_random(&seed));
		entries_open(&t, s->at, WHOLE, 0, &s->extent);
		assert_true(entries_sound(&t) && t.used >= MOST - 1);
	}
	for (unsigned i = 0; i < 3000; i++) {
		for (uint64_t n = farm_random(&seed) % 200; n; n--)
			((uint8_t *)s->at)[farm_random(&seed) % sizeof s->at] ^= (uint8_t)(1 << farm_random(&seed) % 8);
		entries_open(&t, s->at, WHOLE, 0, &s->extent);
		assert_true(entries_sound(&t));
	}
	assert_true(t.used > 0);
	free(s);
	free(good);
}

/* Fills and empties the table until it is killed. */
static void churn(struct shared *s, struct entries *t, uint64_t seed)
{
	for (;;) {
		uint32_t low = (uint32_t)(farm_random(&seed) % 1000);

		for (uint32_t k = atomic_load(&s->there); k < MOST; atomic_store(&s->there, ++k), atomic_fetch_add(&s->steps, 1))
			put_in(t, &s->extent, k);
		for (uint32_t k = atomic_load(&s->there); k > low; atomic_fetch_add(&s->steps, 1)) {
			atomic_store(&s->there, --k);
			take_out(t, k);
		}
	}
}

/* Killed at any instruction: all that were there are there. A put that writes its words in another order, or a doubling that tells its extent
 * at the end, fails here within a few dozen. */
static void killed(void **state)
{
	struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned kills = farm_full() ? 5000 : 200;
	uint64_t seed = 11;

	(void)state;
	assert_true(s != MAP_FAILED);
	for (unsigned i = 0; i < kills; i++) {
		uint64_t until = 1 + farm_random(&seed) % 3000;
		struct entries t;
		pid_t pid;

		if (i % 3 == 0) /* a new table, which doubles */
			memset(s, 0, sizeof *s);
		atomic_store(&s->steps, 0);
		entries_open(&t, s->at, WHOLE, 0, &s->extent);
		all_there(&t, atomic_load(&s->there));
		assert_true(t.used - atomic_load(&s->there) <= 1);
		if (t.used > atomic_load(&s->there))
			take_out(&t, atomic_load(&s->there));
		pid = fork();
		assert_true(pid >= 0);
		if (!pid)
			churn(s, &t, seed);
		while (atomic_load(&s->steps) < until)
			sched_yield();
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	munmap(s, sizeof *s);
}

/* Keys that crowd at the end of a small table: it doubles before anybody is refused. Without growing where insert refuses, the hundredth finds no room. */
static void crowd(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1250, 10000, 1000);

	(void)state;
	for (uint64_t k = 1; k <= 200; k++)
		assert_false(farm_ask(f, ((uint64_t)1 << 60) - k * (((uint64_t)1 << 60) / 10000), HF_LIFE_START, 100, HF_COUNTED, 1000).full);
	farm_check(f);
	farm_free(f);
}

/* Who looks without the lock sees what stands, also while it is held; that nothing is there he learns only while nobody writes. Without spin_still the
 * second is GLANCE_NONE. */
static void glances(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1250, 100, 1000);
	struct shard *s = &f->e->shard[0];
	unsigned then;

	(void)state;
	(void)farm_ask(f, 7, HF_LIFE_START, 100, HF_COUNTED, 1000);
	then = spin_peek(&s->lock);
	assert_true(ledger_glance(s, 7, true, 1000).is == GLANCE_LIVE && ledger_glance(s, 8, true, 1000).is == GLANCE_NONE && spin_still(&s->lock, then));
	assert_true(ledger_glance(s, 7, true, 200000).is == GLANCE_BUSY); /* over: whoever sees it takes it out */
	spin_lock(&s->lock);
	assert_true(ledger_glance(s, 7, true, 1000).is == GLANCE_LIVE && ledger_glance(s, 8, true, 1000).is == GLANCE_BUSY);
	spin_unlock(&s->lock);
	assert_true(ledger_glance(s, 7, true, 1000).is == GLANCE_LIVE && !spin_still(&s->lock, then));
	assert_true(ledger_glance(s, 7, false, 1000).is == GLANCE_LIVE && ledger_glance(s, 8, false, 1000).is == GLANCE_BUSY);
	farm_free(f);
}

/* Of a place whose entry is being written it is no entry that is seen. Without the looks at `rest` in entry_steady the first two are one. */
static void steady(void **state)
{
	struct packed p = {0, 7 << 4 | HF_COUNTED, 0};
	struct entry x;

	(void)state;
	assert_false(entry_steady(&p, 7, &x)); /* empty first, complete last */
	p.rest = 3u << TICK_BITS | 500;
	assert_false(entry_steady(&p, 8, &x));
	assert_true(entry_steady(&p, 7, &x) && x.server == 3 && x.expiry == 500 && x.flags == HF_COUNTED);
}

/* A touch that makes a session firm or counted is written at once, however fresh its life. */
static void touch_counts(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1250, 100, 1000);

	(void)state;
	(void)farm_ask(f, 7, HF_LIFE_START, 100, HF_TENTATIVE, 1000);
	assert_int_equal(farm_counts(f).counted, 0);
	(void)farm_ask(f, 7, HF_LIFE_TOUCH, 100, HF_COUNTED, 1000);
	assert_int_equal(farm_counts(f).counted, 1);
	assert_int_equal(entry_unpack(&f->e->shard[0].t.at[entries_seek(&f->e->shard[0].t, 7).place]).flags, HF_COUNTED);
	farm_check(f);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doubles), cmocka_unit_test(doubles_at_the_end), cmocka_unit_test(mends), cmocka_unit_test(damaged), cmocka_unit_test(killed), cmocka_unit_test(crowd),
		cmocka_unit_test(glances), cmocka_unit_test(steady), cmocka_unit_test(touch_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
