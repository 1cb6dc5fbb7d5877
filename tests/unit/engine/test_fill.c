/* The slots as the engine fills and changes them: balance, monotonicity, minimal disruption, weights. Exact where the claim is exact. */
#include "farm.h"

enum { SLOTS = 65536, T0 = 1000 };

static void owners(struct farm *f, uint16_t *out)
{
	for (uint32_t j = 0; j < SLOTS; j++)
		out[j] = hf_engine_owner(f->e, j);
}

static bool near(double got, double share, double sigmas)
{
	double want = SLOTS * share, off = got - want;

	return off * off <= sigmas * sigmas * want * (1 - share) + 1;
}

/* Property 1: each share within 1 +- 4.5 sqrt(n/2^k). */
static void balance(void **state)
{
	static const unsigned sizes[] = {1, 2, 3, 10, 64, 100, 1000};

	(void)state;
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		unsigned n = sizes[i];
		struct farm *f = farm_new(HF_MODE_AUTO, n, 1500, 10, T0);

		for (unsigned s = 0; s < n; s++) {
			double off = farm_server(f, f->id[s]).slots * (double)n / SLOTS - 1;

			assert_true(off * off <= 4.5 * 4.5 * n / SLOTS);
		}
		farm_free(f);
	}
}

/* The largest share of ten equal servers, 1 being the mean. */
static double peak_of(const char *before, int width, const char *after)
{
	static uint16_t owner[SLOTS];
	unsigned share[10] = {0}, most = 0;
	struct rival r[10];

	for (unsigned i = 0; i < 10; i++) {
		char name[HF_NAME_MAX + 1];

		snprintf(name, sizeof name, "%s%0*u%s", before, width, i + 1, after);
		r[i] = (struct rival){carp_method.seed(farm_key, hf_bytes_str(name)), 100, (uint16_t)i};
	}
	carp_method.fill(&(struct ground){16, 0}, r, 10, SLOTS, owner);
	for (uint32_t j = 0; j < SLOTS; j++)
		share[owner[j]]++;
	for (unsigned i = 0; i < 10; i++)
		most = share[i] > most ? share[i] : most;
	return most * 10.0 / SLOTS;
}

/* Property 1: ten servers, named as people name them, have a peak of at most 1.05 of the mean, and over a thousand sets of names it is at most 1.02
 * on average. A draw has no hard limit: shares spread by 1.17 %, so 1.05 is 4.3 sigma, which one set in
 * 10,000 passes: of 20,000 (the long form) two, the worst with 1.0535. */
static void peak(void **state)
{
	static const struct { const char *before, *after; int width; } forms[] = {
		{"s", "", 1}, {"pbx", "", 1}, {"ts", "", 1}, {"rdp", "", 1}, {"sip", "", 1}, {"asterisk-", "", 1}, {"fs", ".example.com", 2}, {"pbx", "", 2},
		{"node", ".example.net", 1}, {"192.0.2.", "", 1}, {"host-", "", 3}, {"", "", 1},
	};
	char name[16];
	unsigned above = 0, sets = farm_full() ? 20000 : 1000;
	double sum = 0, worst = 0;

	(void)state;
	carp_method.prepare();
	for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++)
		assert_true(peak_of(forms[i].before, forms[i].width, forms[i].after) <= 1.05);
	for (unsigned set = 0; set < sets; set++) {
		double most;

		snprintf(name, sizeof name, "n%u-", set);
		most = peak_of(name, 1, "");
		above += most > 1.05;
		worst = most > worst ? most : worst;
		sum += most;
	}
	assert_in_range(above, 0, farm_full() ? 2 : 1);
	assert_true(worst <= 1.0535);
	assert_true(sum / sets <= 1.02);
}

/* Server i is removed, and returns: its slots move, no other does, and then all are as before. */
static void one_leaves(struct farm *f, unsigned i, const uint16_t *before, uint16_t *after)
{
	unsigned n = f->n, moved = 0;
	uint16_t id = f->id[i];
	uint32_t share = farm_server(f, id).slots;

	assert_int_equal(farm_learn(f, 1, id, HF_LIFE_START, 1000, 0, T0), HF_OK); /* it keeps its id while somebody is there */
	memcpy(&f->m[n], &f->m[i], sizeof f->m[0]);
	memcpy(&f->m[i], &f->m[n - 1], sizeof f->m[0]);
	memcpy(&f->m[n - 1], &f->m[n], sizeof f->m[0]);
	f->n--;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	owners(f, after);
	for (uint32_t j = 0; j < SLOTS; j++)
		if (after[j] != before[j]) {
			assert_int_equal(before[j], id);
			moved++;
		}
	assert_int_equal(moved, share);
	f->n++;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	owners(f, after);
	for (uint32_t j = 0; j < SLOTS; j++)
		assert_int_equal(after[j], before[j]);
}

/* Properties 2 and 5: adding moves slots to the new server only, its share of them; removing moves only its own;
 * its return gives the table back slot for slot, as does a fresh engine. `anew` never set in visit() fails the removal. */
static void monotone(void **state)
{
	static uint16_t before[SLOTS], after[SLOTS];
	uint64_t seed = 3, digest;

	(void)state;
	for (unsigned set = 0; set < (farm_full() ? 1000u : 25u); set++) {
		unsigned n = 1 + (unsigned)(farm_random(&seed) % 40), moved = 0;
		struct farm *f = farm_new(HF_MODE_AUTO, n, 1500, 10, T0);
		uint32_t w = 0, own;

		for (unsigned i = 0; i < n; i++) {
			f->m[i].weight = 1 + (uint32_t)(farm_random(&seed) % 256);
			snprintf(f->m[i].name, sizeof f->m[i].name, "q%u-%u", set, i);
			w += f->m[i].weight;
		}
		assert_int_equal(farm_apply(f, T0), HF_OK);
		farm_settle(f, T0);
		owners(f, before);
		digest = hf_engine_digest(f->e);
		farm_name(f, f->n++, 1 + (uint32_t)(farm_random(&seed) % 256));
		assert_int_equal(farm_apply(f, T0), HF_OK);
		farm_settle(f, T0);
		owners(f, after);
		own = f->m[n].weight;
		for (uint32_t j = 0; j < SLOTS; j++)
			if (after[j] != before[j]) {
				assert_int_equal(after[j], f->id[n]);
				moved++;
			}
		assert_int_equal(moved, farm_server(f, f->id[n]).slots);
		assert_true(near(moved, own / (double)(w + own), 4.5));
		f->n--;
		assert_int_equal(farm_apply(f, T0), HF_OK);
		farm_settle(f, T0);
		owners(f, after);
		assert_memory_equal(before, after, sizeof before);
		assert_int_equal(hf_engine_digest(f->e), digest);
		if (n > 1)
			one_leaves(f, (unsigned)(farm_random(&seed) % n), before, after);
		assert_int_equal(hf_engine_digest(f->e), digest);
		farm_free(f);
	}
}

/* Property 6: shares follow weights (chi-square over 256 servers), weight 0 owns nothing, up only gains, down only loses. */
static void weights(void **state)
{
	static uint16_t before[SLOTS], after[SLOTS];
	struct farm *f = farm_empty(HF_MODE_AUTO, 1500, 10, T0);
	double chi = 0, total = 256 * 257 / 2;
	static const uint32_t path[] = {100, 101, 256, 3, 0, 1, 100};

	(void)state;
	f->n = 257;
	for (unsigned i = 0; i < 257; i++)
		farm_name(f, i, i);
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_int_equal(farm_server(f, f->id[0]).slots, 0);
	assert_int_equal(farm_server(f, f->id[0]).state, HF_STATE_DRAIN);
	for (unsigned i = 1; i < 257; i++) {
		double want = SLOTS * i / total, got = farm_server(f, f->id[i]).slots;

		assert_true(near(got, i / total, 4.5));
		chi += (got - want) * (got - want) / want;
	}
	assert_true(chi < 378); /* 255 degrees of freedom: p > 1e-6 */
	for (unsigned i = 0; i + 1 < sizeof path / sizeof path[0]; i++) {
		uint16_t id = f->id[100];

		owners(f, before);
		hf_engine_weigh(f->e, id, path[i + 1], T0);
		farm_settle(f, T0);
		owners(f, after);
		for (uint32_t j = 0; j < SLOTS; j++)
			if (after[j] != before[j])
				assert_int_equal(path[i + 1] > path[i] ? after[j] : before[j], id);
	}
	farm_free(f);
}

/* Any queued muddle of changes, ticked or not between, ends where a fresh engine starts; a tick's work is bounded. */
static void muddle_of(enum hf_method method, unsigned rounds)
{
	uint64_t seed = 11;

	for (unsigned round = 0; round < rounds; round++) {
		struct farm *f = farm_of(method, HF_MODE_AUTO, 30, 1500, 10, T0), *g;

		for (unsigned i = 0; i < 60; i++) {
			uint16_t id = f->id[farm_random(&seed) % 30];
			unsigned what = (unsigned)(farm_random(&seed) % 5);
			if (what == 0)
				hf_engine_weigh(f->e, id, (uint32_t)(farm_random(&seed) % 257), T0);
			else if (what < 4)
				hf_engine_mark(f->e, id, (enum hf_mark)what, farm_random(&seed) & 1, T0);
			else if (hf_engine_tick(f->e, T0))
				assert_in_range(f->e->work, 1, 12288 + 30 + 32);
		}
		farm_settle(f, T0);
		assert_false(farm_counts(f).changing);
		g = farm_bare(method, HF_MODE_AUTO, 1500, 10, T0);
		for (unsigned i = 0; i < 30; i++) {
			struct hf_server_view v = farm_server(f, f->id[i]);

			if (v.state != HF_STATE_UP)
				continue;
			strcpy(g->m[g->n].name, v.name);
			g->m[g->n++].weight = v.weight;
		}
		assert_int_equal(farm_apply(g, T0), HF_OK);
		assert_int_equal(hf_engine_digest(f->e), hf_engine_digest(g->e));
		farm_free(g);
		farm_free(f);
	}
}

/* A change beside 60,000 sessions: no tick does more than its work, a slot's included, and the whole no more than that of looking at each slot and
 * giving a tenth of them away. Without the entries in ledger_own's count ticks are longer than they say; the sum tells. */
static void work_of_a_change(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 10, 1500, 60000, T0);
	uint64_t total = 0, sessions = 0, moved;

	(void)state;
	for (uint64_t k = 0; k < 60000; k++)
		(void)farm_ask(f, farm_fp(k), HF_LIFE_START, 1000, HF_COUNTED, T0);
	for (unsigned n = 0; n < 2; n++) {
		bool more = true;

		f->n = n ? 10 : 11;
		if (!n)
			farm_name(f, 10, 100);
		moved = n ? farm_server(f, f->id[10]).slots : 0;
		assert_int_equal(farm_apply(f, T0), HF_OK);
		for (total = 0; more; total += f->e->work) {
			more = hf_engine_tick(f->e, T0);
			assert_true(f->e->work <= 12288 + 11 + 32 + 30);
		}
		moved = n ? moved : farm_server(f, f->id[10]).slots;
		sessions = moved * 60000 / SLOTS;
		assert_true(total >= SLOTS + moved * 32 + sessions * 9 / 10);
		assert_true(total <= SLOTS * 3 + moved * (32 + 11) + sessions * 11 / 10);
	}
	farm_free(f);
}

static void muddle(void **state)
{
	(void)state;
	muddle_of(HF_METHOD_CARP, farm_full() ? 300 : 15);
	for (enum hf_method m = HF_METHOD_RING; m <= HF_METHOD_MODULO; m++)
		muddle_of(m, farm_full() ? 100 : 6);
}

/* Order of lines does not matter, and nobody up means no owner. */
static void order_of(enum hf_method method)
{
	struct farm *f = farm_of(method, HF_MODE_AUTO, 12, 1500, 10, T0), *g = farm_bare(method, HF_MODE_AUTO, 1500, 10, T0);

	g->n = 12;
	for (unsigned i = 0; i < 12; i++) {
		farm_name(g, i, 100);
		snprintf(g->m[i].name, sizeof g->m[i].name, "s%u", (i * 5 + 7) % 12 + 1);
	}
	assert_int_equal(farm_apply(g, T0), HF_OK);
	assert_int_equal(hf_engine_digest(f->e), hf_engine_digest(g->e));
	for (unsigned i = 0; i < 12; i++)
		hf_engine_mark(f->e, f->id[i], HF_MARK_DOWN, true, T0);
	farm_settle(f, T0);
	for (uint32_t j = 0; j < SLOTS; j++) {
		assert_int_equal(hf_engine_owner(f->e, j), 0);
		assert_int_equal(SLOT_OWNER(slot_word(f->e, j)), 65535);
	}
	assert_int_equal(farm_ask(f, 99, HF_LIFE_START, 10, HF_COUNTED, T0).server, 0);
	for (unsigned i = 0; i < 12; i++)
		hf_engine_mark(f->e, f->id[i], HF_MARK_DOWN, false, T0);
	farm_settle(f, T0);
	assert_int_equal(hf_engine_digest(f->e), hf_engine_digest(g->e));
	farm_free(f);
	farm_free(g);
}

/* r53, r54: a server that comes at run time, in the middle of the lines, has the slots that it has where all have been there from the start, in another order:
 * its id, which the order of coming gave it, decides nothing. Fails with an id in a seed, or a fill that goes by lines. */
static void added_of(enum hf_method method)
{
	struct farm *f = farm_of(method, HF_MODE_AUTO, 8, 1500, 10, T0), *g = farm_bare(method, HF_MODE_AUTO, 1500, 10, T0);
	uint64_t before = hf_engine_digest(f->e);

	f->m[8] = f->m[4];
	farm_name(f, 4, 100);
	strcpy(f->m[4].name, "new");
	f->n = g->n = 9;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	for (unsigned i = 0; i < 9; i++)
		g->m[8 - i] = f->m[i];
	assert_int_equal(farm_apply(g, T0), HF_OK);
	assert_int_equal(hf_engine_digest(f->e), hf_engine_digest(g->e));
	assert_int_not_equal(hf_engine_digest(f->e), before);
	farm_free(f);
	farm_free(g);
}

static void r54_added_live(void **state)
{
	(void)state;
	for (enum hf_method m = HF_METHOD_CARP; m <= HF_METHOD_MODULO; m++)
		added_of(m);
}

static void order_and_nobody(void **state)
{
	(void)state;
	for (enum hf_method m = HF_METHOD_CARP; m <= HF_METHOD_MODULO; m++)
		order_of(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(balance), cmocka_unit_test(peak), cmocka_unit_test(monotone), cmocka_unit_test(weights), cmocka_unit_test(work_of_a_change),
		cmocka_unit_test(muddle), cmocka_unit_test(r54_added_live), cmocka_unit_test(order_and_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
