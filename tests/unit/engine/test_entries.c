/* The sorted table against a plain sorted array, at every load up to full, and the arithmetic of expiries. */
#include "farm.h"

struct oracle {
	struct entry *x;
	unsigned n;
};

static unsigned oracle_seek(const struct oracle *o, uint64_t fp)
{
	unsigned lo = 0, hi = o->n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (o->x[mid].fp < fp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void compare(const struct entries *t, const struct oracle *o)
{
	unsigned n = 0;

	assert_true(entries_sound(t));
	assert_int_equal(t->used, o->n);
	for (uint32_t i = 0; i < t->places; i++) {
		struct entry x = entry_unpack(&t->at[i]);

		if (!x.server)
			continue;
		assert_int_equal(x.fp, o->x[n].fp);
		assert_int_equal(x.server, o->x[n].server);
		assert_int_equal(x.flags, o->x[n].flags);
		assert_int_equal(x.expiry, o->x[n].expiry);
		n++;
	}
}

/* One step: a fingerprint goes in or out of both. `spread` bits decide how clustered they are. */
static void step(struct entries *t, struct oracle *o, uint64_t *seed, unsigned max, unsigned spread)
{
	uint64_t top = farm_random(seed) >> (64 - spread), fp = (top << (60 - spread) | (farm_random(seed) & 7)) | 1;
	unsigned i = oracle_seek(o, fp);
	struct entry x = {fp, (unsigned)farm_random(seed) & 7, (uint16_t)(1 + farm_random(seed) % HF_SERVERS_MAX), (uint32_t)farm_random(seed) & TICK_MASK};
	struct spot at = entries_seek(t, fp);

	assert_int_equal(at.found, i < o->n && o->x[i].fp == fp);
	if (at.found) {
		assert_int_equal(entry_unpack(&t->at[at.place]).server, o->x[i].server);
		entries_remove(t, at.place);
		memmove(&o->x[i], &o->x[i + 1], (--o->n - i) * sizeof x);
	} else if (o->n < max) {
		assert_true(entries_insert(t, at.place, &x));
		memmove(&o->x[i + 1], &o->x[i], (o->n++ - i) * sizeof x);
		o->x[i] = x;
	} else {
		unsigned out = (unsigned)(farm_random(seed) % o->n);

		at = entries_seek(t, o->x[out].fp);
		assert_true(at.found);
		entries_remove(t, at.place);
		memmove(&o->x[out], &o->x[out + 1], (--o->n - out) * sizeof x);
	}
}

/* Removing the shift in entries_remove or entries_insert, or its stop at home, fails here. */
static void random_against_array(void **state)
{
	static const struct { unsigned max, spread; } cases[] = {{1, 30}, {10, 30}, {1000, 30}, {1000, 10}, {5000, 30}, {300, 3}};

	(void)state;
	for (unsigned c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		uint32_t homes = cases[c].max * 115 / 100 + 1, places = homes + ENTRIES_SLACK + (cases[c].spread < 10 ? cases[c].max : 0);
		struct entries t = {.at = calloc(places, sizeof(struct packed)), .homes = homes, .places = places, .whole = homes, .limit = UINT32_MAX};
		struct oracle o = {calloc(cases[c].max + 1, sizeof(struct entry)), 0};
		uint64_t seed = 77 + c;
		unsigned steps = farm_full() ? 2000000 : 30000;

		for (unsigned i = 0; i < steps; i++) {
			step(&t, &o, &seed, cases[c].max, cases[c].spread);
			if (i % (steps / 50) == 0)
				compare(&t, &o);
		}
		compare(&t, &o);
		free(t.at);
		free(o.x);
	}
}

/* A run that reaches the last place is refused and changes nothing; without the bound check the shift writes behind the table. */
static void no_room_at_the_end(void **state)
{
	struct entries t = {.at = calloc(20 + ENTRIES_SLACK, sizeof(struct packed)), .homes = 20, .places = 20 + ENTRIES_SLACK, .whole = 20, .limit = UINT32_MAX};
	unsigned n = 0;
	bool ok = true;

	(void)state;
	for (uint64_t fp = ((uint64_t)1 << 60) - 1; ok; fp -= 2) { /* downwards: each new one shifts all others */
		struct entry x = {fp, 0, 1, 5};

		ok = entries_insert(&t, entries_seek(&t, fp).place, &x);
		n += ok;
	}
	assert_int_equal(n, ENTRIES_SLACK + 1);
	assert_true(entries_sound(&t));
	free(t.at);
}

/* entries_next finds exactly the entries of a range, in order: a slot's run. */
static void runs(void **state)
{
	struct entries t = {.at = calloc(2000, sizeof(struct packed)), .homes = 1500, .places = 2000, .whole = 1500, .limit = UINT32_MAX};
	uint64_t seed = 5, width = (uint64_t)1 << 52;
	unsigned of[256] = {0};

	(void)state;
	for (int i = 0; i < 1300; i++) {
		struct entry x = {farm_random(&seed) >> 4 | 1, 1, 1, 0};

		of[x.fp >> 52]++;
		assert_true(entries_insert(&t, entries_seek(&t, x.fp).place, &x));
	}
	for (uint64_t r = 0; r < 256; r++) {
		unsigned n = 0;

		for (uint32_t i = entries_next(&t, 0, r * width, r * width + width - 1); i < t.places; i = entries_next(&t, i + 1, r * width, r * width + width - 1))
			n++;
		assert_int_equal(n, of[r]);
	}
	free(t.at);
}

/* Never sooner than asked, at most a tick later, through the wrap of the 18 bits; clamped, and over for 18 hours after the end. */
static void expiries(void **state)
{
	static const uint32_t lives[] = {0, 1, 3, 4, 5, 32, 3600, 86400, 900000};
	const uint64_t wrap = (uint64_t)TICK_MS << TICK_BITS;

	(void)state;
	for (uint64_t now = 1; now < 3 * wrap; now += wrap / 7 + 1234)
		for (unsigned i = 0; i < sizeof lives / sizeof lives[0]; i++) {
			uint32_t t = tick_of_life(now, lives[i]);
			uint64_t end = now + lives[i] * (uint64_t)1000;

			assert_true(t <= TICK_MASK);
			if (lives[i])
				assert_true(tick_left(t, end - 1) > 0);
			assert_int_equal(tick_left(t, end + TICK_MS), 0);
			assert_int_equal(tick_left(t, end + 17 * 3600 * (uint64_t)1000), 0);
		}
	assert_int_equal(tick_left(tick_of_life(5000, UINT32_MAX), 5000), LIFE_MAX);
}

/* All fields keep their width in a place, and through a change. */
static void packs(void **state)
{
	const struct entry x = {((uint64_t)1 << 60) - 1, 7, HF_SERVERS_MAX, TICK_MASK}, y = {0x123456789abcdef, 2, 1, 0}, z = {0x123456789abcdef, 5, 9, 77};
	struct entries t = {.at = calloc(16 + ENTRIES_SLACK, sizeof(struct packed)), .homes = 16, .places = 16 + ENTRIES_SLACK, .whole = 16, .limit = UINT32_MAX};
	struct entry back;

	(void)state;
	assert_int_equal(sizeof(struct packed), 12);
	assert_true(entries_insert(&t, entries_seek(&t, x.fp).place, &x) && entries_insert(&t, entries_seek(&t, y.fp).place, &y));
	back = entry_unpack(&t.at[entries_seek(&t, x.fp).place]);
	assert_true(back.fp == x.fp && entry_same(&back, &x));
	back = entry_unpack(&t.at[entries_seek(&t, y.fp).place]);
	assert_true(back.fp == y.fp && entry_same(&back, &y));
	entries_set(&t, entries_seek(&t, y.fp).place, &z);
	back = entry_unpack(&t.at[entries_seek(&t, y.fp).place]);
	assert_true(back.fp == y.fp && entry_same(&back, &z));
	assert_true(packed_empty(&t.at[8]));
	free(t.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs), cmocka_unit_test(expiries), cmocka_unit_test(runs), cmocka_unit_test(no_room_at_the_end),
		cmocka_unit_test(random_against_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
