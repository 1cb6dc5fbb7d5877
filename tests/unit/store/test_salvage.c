/* State files that were cut, overwritten and forged: each record that is whole is found, in order, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "salvage.h"

enum { MANY = 10000, HEAD = RECORD_HEAD + 8 + RECORD_TAIL };

static const uint8_t hash_key[16] = {7, 7, 7};
static uint8_t sign_key[16];

static struct { uint8_t *p; size_t n, at[MANY + 1]; unsigned records; } file;

static bool full(void) { return getenv("HOLDFAST_FULL") && getenv("HOLDFAST_FULL")[0] == '1'; }

static uint64_t draw(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545F4914F6CDD1Du;
}

/* The payload of record i: its number, and as many octets that follow from it. */
static struct hf_bytes payload(unsigned i, uint8_t *buf)
{
	size_t n = 4 + i * 7919u % 61;

	hf_put32(buf, i);
	for (size_t j = 4; j < n; j++)
		buf[j] = (uint8_t)(i * 31 + j);
	return hf_bytes_of(buf, n);
}

static void make(unsigned records)
{
	uint8_t buf[128];
	struct hf_writer w;

	file.p = malloc(HEAD + (size_t)records * (RECORD_HEAD + 64 + RECORD_TAIL));
	w = hf_writer_on(file.p, HEAD + (size_t)records * (RECORD_HEAD + 64 + RECORD_TAIL));
	salvage_key(hash_key, sign_key);
	salvage_head(&w, salvage_check(hash_key));
	for (unsigned i = 0; i < records; i++) {
		file.at[i] = w.n;
		record_write(&w, sign_key, (uint16_t)(16 + i % 3), payload(i, buf));
	}
	file.at[records] = file.n = w.n;
	file.records = records;
	assert_false(w.full);
}

static void unmake(void) { free(file.p); }

/* ---- what a scan finds ---- */

struct input { const uint8_t *p; size_t n; size_t step; };

static long give(void *arg, uint8_t *p, size_t n)
{
	struct input *in = arg;

	if (in->step && n > in->step)
		n = in->step;
	if (n > in->n)
		n = in->n;
	memcpy(p, in->p, n);
	in->p += n;
	in->n -= n;
	return (long)n;
}

static uint8_t got[MANY];
static unsigned got_n, last;

static void each(void *arg, uint16_t type, struct hf_bytes b)
{
	uint8_t want[128];
	unsigned i;

	(void)arg;
	assert_true(b.n >= 4);
	i = hf_get32(b.p);
	assert_true(i < file.records && (got_n == 0 || i > last));
	assert_true(type == 16 + i % 3 && hf_bytes_eq(b, payload(i, want)));
	got[i] = 1;
	got_n++;
	last = i;
}

static struct salvage salvage_of(const uint8_t *p, size_t n, size_t step)
{
	struct input in = {p, n, step};
	struct salvage s = {.read = give, .arg = &in, .check = salvage_check(hash_key), .each = each};

	memcpy(s.key, sign_key, sizeof s.key);
	memset(got, 0, sizeof got);
	got_n = 0;
	assert_int_equal(salvage_run(&s), HF_OK);
	assert_int_equal(s.records, got_n);
	return s;
}

/* Whole, in pieces of any size. Fails when the window is not filled up, or what is left over is not moved. */
static void whole(void **state)
{
	static const size_t steps[] = {0, 1, 7, 4096, RECORD_MAX - 1};

	(void)state;
	make(MANY);
	for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		struct salvage s = salvage_of(file.p, file.n, steps[i]);

		assert_true(got_n == MANY && s.lost == 0 && !s.other_key && !s.broken);
	}
	unmake();
}

/* Cut at every octet: all before the cut is found. Of a long file most cuts are tried on its last records, as those before are the same. */
static void cut(void **state)
{
	(void)state;
	make(full() ? MANY : 300);
	for (size_t n = 0, i = 0; n <= file.n; n++) {
		size_t first;

		while (i < file.records && file.at[i + 1] <= n)
			i++;
		first = file.n < 20000 || n % 9973 == 0 || i < 2 ? 0 : i - 2;
		(void)salvage_of(file.p + (first ? file.at[first] : 0), n - (first ? file.at[first] : 0), 0);
		assert_int_equal(got_n, i - first);
	}
	unmake();
}

static unsigned of_octet(size_t at) /* the record that holds it; file.records: the head */
{
	unsigned lo = 0, hi = file.records;

	if (at < HEAD)
		return file.records;
	while (hi - lo > 1) {
		unsigned mid = (lo + hi) / 2;

		if (file.at[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Bits that flip lose the records that they are in and no other; the head is not needed. Fails without the check of the head's eight octets
 * (a length that lies swallows those behind), without the tag, and when the search goes on behind the record in place of inside it. */
static void flips(void **state)
{
	uint64_t seed = 4711;
	unsigned rounds = full() ? 100000 : 1500;

	(void)state;
	make(full() ? MANY : 1000);
	for (unsigned r = 0; r < rounds; r++) {
		static uint8_t hit[MANY + 1];
		unsigned n = 1 + (unsigned)(draw(&seed) % (r % 8 == 0 ? 20 : 1)), lost = 0;
		size_t where[20];
		struct salvage s;

		memset(hit, 0, sizeof hit);
		for (unsigned i = 0; i < n; i++) {
			uint8_t bit = (uint8_t)(1 << draw(&seed) % 8);

			where[i] = draw(&seed) % file.n;
			for (unsigned j = 0; j < i; j++)
				if (where[j] == where[i]) { /* not back again */
					where[i] = (where[i] + 1) % file.n;
					j = (unsigned)-1;
				}
			file.p[where[i]] ^= bit;
			hit[of_octet(where[i])] |= 1;
			where[i] |= (size_t)bit << 48;
		}
		s = salvage_of(file.p, file.n, 0);
		for (unsigned i = 0; i < file.records; i++) {
			assert_int_equal(got[i], !hit[i]);
			lost += hit[i];
		}
		assert_true((s.lost > 0) == (lost + hit[file.records] > 0));
		for (unsigned i = 0; i < n; i++)
			file.p[where[i] & 0xffffffffffff] ^= (uint8_t)(where[i] >> 48);
	}
	unmake();
}

/* Octets lost from the middle: all whole records on both sides are found. */
static void holes(void **state)
{
	uint64_t seed = 99;
	uint8_t *p;

	(void)state;
	make(500);
	p = malloc(file.n + 1000);
	for (unsigned r = 0; r < 300; r++) {
		size_t from = HEAD + draw(&seed) % (file.n - HEAD - 1000), n = 1 + draw(&seed) % 1000;
		unsigned first = of_octet(from), behind = of_octet(from + n - 1) + 1;

		memcpy(p, file.p, from);
		memcpy(p + from, file.p + from + n, file.n - from - n);
		(void)salvage_of(p, file.n - n, 0);
		for (unsigned i = 0; i < file.records; i++)
			if (i + 1 != behind) /* the octets that all records begin with, of the first, may have made that one whole again */
				assert_int_equal(got[i], i < first || i >= behind);
	}
	free(p);
	unmake();
}

/* A user's name that holds the octets of a record is none, not even when what is around it is lost. Fails with a checksum without key. */
static void forged(void **state)
{
	uint8_t inner[256], outer[512], other[16] = {1};
	struct hf_writer w = hf_writer_on(inner, sizeof inner), o = hf_writer_on(outer, sizeof outer);

	(void)state;
	make(1);
	record_write(&w, other, 16, HF_LIT("\0\0\0\0"));
	record_write(&o, sign_key, 16, hf_writer_view(&w));
	outer[5] ^= 1;
	(void)salvage_of(outer, o.n, 0);
	assert_int_equal(got_n, 0);
	unmake();
}

/* The file of another hash key is known as one, and none of its records is taken. */
static void another_key(void **state)
{
	static const uint8_t theirs[16] = {8};
	uint8_t buf[256], key[16];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct salvage s;

	(void)state;
	make(1);
	salvage_head(&w, salvage_check(theirs));
	salvage_key(theirs, key);
	record_write(&w, key, 16, HF_LIT("\0\0\0\0"));
	s = salvage_of(buf, w.n, 0);
	assert_true(s.other_key && got_n == 0);
	buf[14] ^= 1; /* nor when its head is damaged */
	s = salvage_of(buf, w.n, 0);
	assert_true(!s.other_key && got_n == 0 && s.lost == w.n);
	unmake();
}

static long gives_up(void *arg, uint8_t *p, size_t n)
{
	struct input *in = arg;

	return in->n ? give(arg, p, n < 1000 ? n : 1000) : -1;
}

/* A disk that cannot be read on: what came before stands. */
static void read_error(void **state)
{
	struct input in;
	struct salvage s = {.read = gives_up, .arg = &in, .each = each};

	(void)state;
	make(100);
	in = (struct input){file.p, file.at[40] + 3, 0};
	s.check = salvage_check(hash_key);
	memcpy(s.key, sign_key, sizeof s.key);
	got_n = 0;
	assert_int_equal(salvage_run(&s), HF_OK);
	assert_true(s.broken && got_n == 40);
	unmake();
}

/* The longest record, and no octet more; a full writer takes nothing. */
static void bounds(void **state)
{
	uint8_t *p = malloc(RECORD_MAX), *b = calloc(1, 0xffff);
	struct hf_writer w = hf_writer_on(p, RECORD_MAX - 1);
	struct record r;

	(void)state;
	make(1);
	record_write(&w, sign_key, 20, hf_bytes_of(b, 0xffff));
	assert_true(w.full && w.n == 0);
	w = hf_writer_on(p, RECORD_MAX);
	record_write(&w, sign_key, 20, hf_bytes_of(b, 0xffff));
	assert_false(w.full);
	for (size_t n = 0; n < RECORD_MAX; n += n < 32 || n > RECORD_MAX - 32 ? 1 : 911)
		assert_int_equal(record_read(hf_bytes_of(p, n), sign_key, &r), RECORD_SHORT);
	assert_int_equal(record_read(hf_bytes_of(p, RECORD_MAX), sign_key, &r), RECORD_GOOD);
	assert_true(r.payload.n == 0xffff && r.type == 20 && r.whole == RECORD_MAX);
	free(p);
	free(b);
	unmake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds), cmocka_unit_test(whole), cmocka_unit_test(cut), cmocka_unit_test(flips), cmocka_unit_test(holes),
		cmocka_unit_test(forged), cmocka_unit_test(another_key), cmocka_unit_test(read_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
