/* Keys that somebody made up to hurt (property 18), and fingerprints that are too short (17): the first must not matter, the second as much as
 * arithmetic says. */
#include "farm.h"

enum { T0 = 1000000, SLOTS = 65536 };

/* ---- 18: a million keys that are one to a hash without a key ---- */

static uint32_t sdbm(struct hf_bytes b)
{
	uint32_t h = 0;

	for (size_t i = 0; i < b.n; i++)
		h = b.p[i] + (h << 6) + (h << 16) - h;
	return h;
}

/* Two texts of eight letters with one hash: any row of them has the hash of any other of that length. */
static void sdbm_pair(char a[9], char b[9])
{
	static char text[1 << 18][9];
	static uint32_t first[1 << 20];
	uint64_t seed = 3;

	memset(first, 0, sizeof first);
	for (uint32_t i = 1; i < 1 << 18; i++) {
		uint64_t r = farm_random(&seed);
		uint32_t h, at;

		for (int k = 0; k < 8; k++, r /= 26)
			text[i][k] = (char)('a' + r % 26);
		h = sdbm(hf_bytes_of(text[i], 8));
		for (at = h & 0xfffff; first[at]; at = (at + 1) & 0xfffff)
			if (sdbm(hf_bytes_of(text[first[at]], 8)) == h && memcmp(text[first[at]], text[i], 8) != 0) {
				memcpy(a, text[first[at]], 9);
				memcpy(b, text[i], 9);
				return;
			}
		first[at] = i;
	}
	fail_msg("no two texts");
}

static void sdbm_key(uint32_t n, uint8_t key[160])
{
	static char two[2][9];

	if (!two[0][0])
		sdbm_pair(two[0], two[1]);
	for (int i = 0; i < 20; i++)
		memcpy(key + 8 * i, two[n >> i & 1], 8);
}

/* XXH3 multiplies what it reads with its constants mixed in: where the first eight octets are those of its default secret, one factor is 0 and the
 * next eight count for nothing. */
static void xxh3_key(uint32_t n, uint8_t key[160])
{
	static const uint8_t secret[8] = {0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe};

	memset(key, 'x', 32);
	memcpy(key, secret, 8);
	hf_put64(key + 8, n);
}

/* rapidhash takes the first eight octets of 17 and more against a constant of its own, to multiply them with the next eight: where they are equal,
 * these count for nothing. */
static void rapid_key(uint32_t n, uint8_t key[160])
{
	static const uint8_t secret[8] = {0xa3, 0xd4, 0x33, 0xd4, 0x2e, 0xa6, 0x33, 0x4b};

	memset(key, 'x', 32);
	memcpy(key, secret, 8);
	hf_put64(key + 8, n);
}

/* Kamailio's hash of a text: a sum over its words of four octets, so that any order of them has the same. */
static uint32_t core_hash(const uint8_t *p, size_t n)
{
	uint32_t h = 0;

	for (size_t i = 0; i + 4 <= n; i += 4)
		h += hf_get32(p + i) ^ hf_get32(p + i) >> 3;
	return h + (h >> 11) + (h >> 13) + (h >> 23);
}

static void core_key(uint32_t n, uint8_t key[160])
{
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t flip = n >> i & 1;

		hf_put32(key + 8 * i + 4 * flip, 0x61626300 + i);
		hf_put32(key + 8 * i + 4 * !flip, 0x78797a00 + i);
	}
}

/* Keys in arithmetic order, as a hash that multiplies would line them up. */
static void counted_key(uint32_t n, uint8_t key[160]) { snprintf((char *)key, 160, "%012llu@192.0.2.1", n * 65536ull); }

/* Chance itself, for comparison: nothing to craft. */
static void random_key(uint32_t n, uint8_t key[160]) { hf_put64(key, farm_fp(n)); }

/* Places that a look-up passes, of a thousand entries all but one (what is left is no cost of a key); *longest: of all. */
static uint32_t probes(const struct hf_engine *e, uint32_t *longest)
{
	uint32_t of[65] = {0}, all = 0, most = 0, behind = 0;

	for (unsigned i = 0; i < e->n_shards; i++)
		for (uint32_t at = 0; at < e->shard[i].t.places; at++) {
			const struct packed *p = &e->shard[i].t.at[at];
			uint32_t probe = packed_empty(p) ? 0 : at - entries_home(&e->shard[i].t, packed_fp(p)) + 1;

			assert_true(probe <= 64);
			of[probe] += probe > 0;
			all += probe > 0;
			*longest = probe > *longest ? probe : *longest;
		}
	for (most = 64; most && (behind + of[most]) * 1000ull <= all; most--)
		behind += of[most];
	return most;
}

/* Property 18: slots fill as by chance (p > 1e-6), no look-up passes more than 64 places, and of a thousand all but one pass at most twice what they pass
 * with keys of chance. A fingerprint by any of these hashes fails in the first. */
static void crafted(void **state)
{
	static const struct { void (*key)(uint32_t n, uint8_t key[160]); size_t length; } kinds[] = {{random_key, 8}, {sdbm_key, 160}, {xxh3_key, 32}, {rapid_key, 32}, {core_key, 160}, {counted_key, 22}};
	unsigned keys = farm_full() ? 1000000 : 200000;
	static uint32_t hits[SLOTS];
	uint32_t by_chance = 0;

	(void)state;
	for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		struct farm *f = farm_new(HF_MODE_AUTO, 10, 1500, keys, T0);
		double chi = 0, want = (double)keys / SLOTS;
		uint32_t longest = 0, sum = 0, core = 0, all_but_one;
		uint8_t key[160];

		memset(hits, 0, sizeof hits);
		for (uint32_t n = 0; n < keys; n++) {
			uint64_t fp;

			kinds[k].key(n, key);
			if (n == 0) {
				sum = sdbm(hf_bytes_of(key, kinds[k].length));
				core = core_hash(key, kinds[k].length);
			}
			assert_true(kinds[k].key != sdbm_key || sdbm(hf_bytes_of(key, 160)) == sum);
			assert_true(kinds[k].key != core_key || core_hash(key, 160) == core);
			fp = hf_fingerprint(farm_key, HF_LIT("call-id"), hf_bytes_of(key, kinds[k].length), 4096);
			hits[fp >> (HF_FP_BITS - 16)]++;
			assert_false(farm_ask(f, fp, HF_LIFE_START, 1000, HF_COUNTED, T0).full);
		}
		for (uint32_t j = 0; j < SLOTS; j++)
			chi += (hits[j] - want) * (hits[j] - want) / want;
		assert_true(chi < 65535 + 4.76 * 362); /* sigma; p > 1e-6 */
		all_but_one = probes(f->e, &longest);
		assert_in_range(longest, 2, 64);
		by_chance = k ? by_chance : all_but_one;
		assert_in_range(all_but_one, 1, 2 * by_chance);
		farm_check(f);
		farm_free(f);
	}
}

/* ---- 17: fingerprints of 16 bits ---- */

static uint64_t short_fp(uint64_t n) { return farm_fp(n) >> 44 << 44 | 1; }

/* A key without an entry is led astray by the exceptions that share its fingerprint, and by nothing else. */
static void strangers_entries(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 10, 0, 100000, T0);
	unsigned exceptions = 3000, asked = 200000, wrong = 0;
	double rate = exceptions / 65536.0; /* of fingerprints that lead astray */

	(void)state;
	for (uint64_t k = 0; farm_counts(f).exceptions < exceptions; k++) {
		uint16_t home = hf_engine_owner(f->e, slot_of(f->e, short_fp(k)));

		(void)farm_learn(f, short_fp(k), (uint16_t)(home % 10 + 1), HF_LIFE_START, 1000, HF_COUNTED, T0);
	}
	for (uint64_t k = 0; k < asked; k++) {
		struct hf_answer a = farm_ask(f, short_fp(1000000 + k), HF_LIFE_NONE, 0, 0, T0);

		wrong += a.server != hf_engine_owner(f->e, slot_of(f->e, short_fp(1000000 + k)));
	}
	assert_true(wrong > asked * rate * 0.8 && wrong < asked * rate * 1.2);
	farm_check(f);
	farm_free(f);
}

/* Sessions that servers open at random, 8,000 of 65,536 fingerprints: the later of two that share one is led to the first's server. All ends with
 * nothing left, though some end what is another's. */
static void shared_entries(void **state)
{
	enum { LIVE = 8000 };
	struct farm *f = farm_new(HF_MODE_AUTO, 10, 0, 100000, T0);
	static uint16_t at[LIVE];
	unsigned wrong = 0;
	uint64_t seed = 8;
	double want = 0, fresh = 1; /* fresh: the chance that nobody before had the fingerprint */

	(void)state;
	for (uint64_t k = 0; k < LIVE; k++) {
		at[k] = (uint16_t)(1 + farm_random(&seed) % 10);
		(void)farm_learn(f, short_fp(k), at[k], HF_LIFE_START, 1000, HF_COUNTED, T0);
		want += 0.9 * (1 - fresh);
		fresh *= 1 - 1.0 / 65536;
	}
	for (uint64_t k = 0; k < LIVE; k++)
		wrong += farm_ask(f, short_fp(k), HF_LIFE_TOUCH, 1000, HF_COUNTED, T0).server != at[k];
	assert_true(wrong > want * 0.8 && wrong < want * 1.2);
	farm_check(f);
	for (uint64_t k = 0; k < LIVE; k++)
		(void)farm_learn(f, short_fp(k), 0, HF_LIFE_END, 0, 0, T0);
	assert_int_equal(farm_counts(f).entries, 0);
	assert_int_equal(farm_counts(f).counted, 0);
	farm_check(f);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(crafted), cmocka_unit_test(strangers_entries), cmocka_unit_test(shared_entries)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
