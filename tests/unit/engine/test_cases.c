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

static unsigned sessions(struct farm *f, unsigned i) { return (unsigned)farm_server(f, f->id[i]).sessions; }

/* A limit that is set below what a server holds ends nothing and makes no count wrap: calls go on, new ones go elsewhere until enough have ended, each once
 * however often it is told so, and then come back. Without the look at the entry, a second end takes one from the next call. */
static void b06_limit_below_the_load(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 2, 0, 1000, T0);
	unsigned n = 0, held = 0;

	(void)state;
	for (; held < 10; n++)
		held += farm_ask(f, farm_fp(n), HF_LIFE_START, 1000, HF_COUNTED, T0).server == f->id[0];
	f->m[0].max = 4;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_int_equal(sessions(f, 0), 10);
	for (unsigned k = 0; k < 100; k++)
		assert_int_equal(farm_ask(f, farm_fp(1000 + k), HF_LIFE_START, 1000, HF_COUNTED, T0).server, f->id[1]);
	for (unsigned k = 0; k < n; k++) {
		if (farm_ask(f, farm_fp(k), HF_LIFE_TOUCH, 1000, HF_COUNTED, T0).server != f->id[0])
			continue;
		assert_int_equal(sessions(f, 0), held--);
		for (unsigned times = 0; times < 3; times++)
			(void)farm_learn(f, farm_fp(k), 0, HF_LIFE_LINGER, 32, 0, T0);
		assert_int_equal(sessions(f, 0), held);
	}
	assert_int_equal(held, 0);
	for (unsigned k = 0; k < 100; k++)
		(void)farm_ask(f, farm_fp(2000 + k), HF_LIFE_START, 1000, HF_COUNTED, T0);
	assert_int_equal(sessions(f, 0), 4);
	farm_check(f);
	farm_free(f);
}

/* A registration of 30 s, refreshed each 25 s for five minutes: calls to the user find its server at any moment of them, until 30 s, the front's 32, and a tick
 * have passed behind the last. Without the later expiry that each refresh writes, calls go astray after the first minute. */
static void b145_refreshed_each_25_s(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 5, 0, 1000, T0);
	const uint64_t user = farm_fp(7), last = T0 + 300000;
	const uint16_t owner = hf_engine_owner(f->e, slot_of(f->e, user)), at = owner == f->id[0] ? f->id[1] : f->id[0];

	(void)state;
	for (uint64_t t = T0; t <= last + 80000; t += 1000) {
		struct hf_question q = {.key = {.fp = farm_fp(t)}, .place = user};
		struct hf_answer a;

		if (t <= last && (t - T0) % 25000 == 0) {
			(void)farm_learn(f, user, at, HF_LIFE_LINGER, 62, HF_BOND, t);
			assert_int_equal(farm_learn(f, user, at, HF_LIFE_START, 62, HF_BOND, t), HF_OK);
		}
		hf_engine_choose(f->e, &q, &a, t);
		if (t <= last + 62000)
			assert_true(a.server == at && a.why == HF_WHY_BOND);
		else if (t > last + 62000 + 2 * 4000)
			assert_true(a.server == owner && a.why == HF_WHY_HOME);
	}
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(b01_b148_the_share_of_a_dead_server), cmocka_unit_test(b02_weights), cmocka_unit_test(b04_sixty_servers),
		cmocka_unit_test(b06_limit_below_the_load), cmocka_unit_test(b145_refreshed_each_25_s)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
