/* Classes of faults that users of other balancers met, each by its number in our list, asked of an engine: who takes what another has lost, what
 * weights are worth, and whether the place in the list matters. */
#include "farm.h"

enum { KEYS = 70000, T0 = 1000000 };

static uint16_t before[KEYS], after[KEYS];

/* Where each key is at home; nothing is remembered. */
static void homes(struct farm *f, uint16_t *of, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		of[i] = farm_ask(f, farm_fp(i), HF_LIFE_NONE, 0, 0, T0).server;
}

static unsigned count(const uint16_t *of, unsigned n, uint16_t server)
{
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++)
		k += of[i] == server;
	return k;
}

/* A share of a down server is spread over all that are left, and nobody else's key moves; its return gives back the same. The next of the
 * list as the heir, in place of the slot's runner-up, fails. */
static void b01_b148_the_share_of_a_dead_server(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 6, 0, 100, T0);
	unsigned lost;

	(void)state;
	homes(f, before, 60000);
	lost = count(before, 60000, f->id[3]);
	hf_engine_mark(f->e, f->id[3], HF_MARK_DOWN, true, T0);
	farm_settle(f, T0);
	homes(f, after, 60000);
	for (unsigned i = 0; i < 60000; i++)
		assert_true(after[i] == before[i] || before[i] == f->id[3]);
	for (unsigned s = 0; s < 6; s++) {
		unsigned won = count(after, 60000, f->id[s]) - count(before, 60000, f->id[s]);

		assert_true(s == 3 || (won > lost / 5 * 0.9 && won < lost / 5 * 1.1));
	}
	hf_engine_mark(f->e, f->id[3], HF_MARK_DOWN, false, T0);
	farm_settle(f, T0);
	homes(f, after, 60000);
	assert_memory_equal(before, after, 60000 * sizeof *after);
	farm_free(f);
}

/* 1:2:4 is 10, 20 and 40 thousand of 70; a weight that changes by a hundredth moves about that share and no other key. */
static void b02_weights(void **state)
{
	struct farm *f = farm_empty(HF_MODE_AUTO, 0, 100, T0);
	unsigned moved = 0;

	(void)state;
	f->n = 3;
	for (unsigned i = 0; i < 3; i++)
		farm_name(f, i, 50u << i);
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	homes(f, before, KEYS);
	for (unsigned i = 0; i < 3; i++) {
		unsigned want = 10000u << i, got = count(before, KEYS, f->id[i]);

		assert_true(got > want * 0.97 && got < want * 1.03);
	}
	f->m[2].weight++;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	homes(f, after, KEYS);
	for (unsigned i = 0; i < KEYS; i++)
		if (before[i] != after[i]) {
			assert_int_equal(after[i], f->id[2]);
			moved++;
		}
	assert_true(moved > 50 && moved < 400); /* 201/351 - 200/350 of 70000 is 86; a slot is about one key */
	farm_free(f);
}

/* Sixty equal servers: the share of each does not follow its place in the list, and no remainder falls to the first. */
static void b04_sixty_servers(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 60, 0, 100, T0);
	unsigned first = 0, last = 0;

	(void)state;
	homes(f, before, 60000);
	for (unsigned i = 0; i < 60; i++) {
		unsigned got = count(before, 60000, f->id[i]);

		assert_true(got > 800 && got < 1200);
		*(i < 30 ? &first : &last) += got;
	}
	assert_true(first > 0.96 * last && last > 0.96 * first);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(b01_b148_the_share_of_a_dead_server), cmocka_unit_test(b02_weights), cmocka_unit_test(b04_sixty_servers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
