/* Places in a queue (net/turns.c): their order whatever comes and goes, and what a step costs with as many as may wait, counted in places looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

static unsigned looks;

#define TURNS_LOOK() (looks++)
#include "turns.c"

static uint64_t rnd = 20261130;

static uint32_t random32(void)
{
	rnd = rnd * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(rnd >> 32);
}

static void put(struct turns *p, uint32_t turn) { assert_true(turns_put(p, (struct hf_flow_name){.slot = ~turn}, turn)); }

/* In order, from the first to the last, and by each one's successor. */
static void same(const struct turns *p, const bool *there, uint32_t from, unsigned n)
{
	const struct turns_place *x = turns_first(p);
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!there[i])
			continue;
		found++;
		assert_true(x && x->turn == from + i && x->name.slot == ~(from + i));
		x = turns_after(p, x->turn);
	}
	assert_null(x);
	assert_int_equal(p->n, found);
}

/* Any order of coming and going, over the point where turns wrap, against a plain list. Fails when split or join takes the wrong side. */
static void any_order(void **state)
{
	enum { TURNS = 64 };
	const uint32_t from = UINT32_MAX - TURNS / 2;

	(void)state;
	for (unsigned run = 0; run < 200; run++) {
		bool there[TURNS] = {false};
		struct turns p = {0};

		for (unsigned i = 0; i < 200; i++) {
			uint32_t at = random32() % TURNS;

			if (there[at])
				turns_take(&p, from + at);
			else
				put(&p, from + at);
			there[at] = !there[at];
			if (i % 10 == 0)
				same(&p, there, from, TURNS);
		}
		same(&p, there, from, TURNS);
		turns_free(&p);
		assert_true(!p.root && !p.n);
	}
}

/* The most that a step may look at: the height of a random tree of a million is 50 or so, and never near this. */
#define LOOKS_MAX 200u

static void cheap(unsigned *most)
{
	*most = looks > *most ? looks : *most;
	looks = 0;
}

/* A million wait, as `connecting-queue` allows. They come one behind the other; some go from the middle, or come back with the turn that they had; each is
 * the first at last. Fails when any of it goes through a list: without the weights a step looks at a million. */
static void a_million(void **state)
{
	enum { MILLION = 1000000 };
	struct turns p = {0};
	unsigned most = 0;

	(void)state;
	looks = 0;
	for (uint32_t i = 1; i <= MILLION; i++) {
		put(&p, i);
		cheap(&most);
	}
	for (uint32_t i = 0; i < MILLION / 4; i++) {
		uint32_t turn = 1 + random32() % MILLION;
		const struct turns_place *next = turns_after(&p, turn - 1);

		cheap(&most);
		if (!next)
			continue;
		turn = next->turn;
		turns_take(&p, turn);
		cheap(&most);
		if (i % 2)
			put(&p, turn);
		cheap(&most);
	}
	for (uint32_t before = 0; p.n; cheap(&most)) {
		uint32_t turn = turns_first(&p)->turn;

		assert_true(turn > before);
		before = turn;
		turns_take(&p, turn);
	}
	assert_true(most <= LOOKS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(any_order), cmocka_unit_test(a_million)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
