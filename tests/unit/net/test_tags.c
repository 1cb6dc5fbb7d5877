/* The table of tags (net/tags.c): each is found while it is there, whatever went in and out beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "tags.h"

#define N 64u

static struct tags tags;
static char thing[4 * N];

static int up(void **state)
{
	(void)state;
	tags = (struct tags){0};
	return tags_widen(&tags, N) ? 0 : -1;
}

static int down(void **state)
{
	(void)state;
	free(tags.cell);
	return 0;
}

static unsigned count(uint64_t tag, const void *of)
{
	unsigned n = 0;

	for (const struct tag_cell *c = tags_first(&tags, tag); c->of; c = tags_next(&tags, c))
		n += c->tag == tag && c->of == of;
	return n;
}

static uint64_t tag_at(unsigned place, unsigned i) { return (uint64_t)place << 32 | i; }

/* A run over the table's end, out of which the middle is taken. Fails when what stands behind a hole does not move up, or moves before its own place. */
static void holes(void **state)
{
	static const unsigned own[] = {126, 126, 127, 126, 0, 127, 1, 0}; /* of 128 places */
	enum { RUN = sizeof own / sizeof *own };

	(void)state;
	for (unsigned out = 0; out < RUN; out++) {
		for (unsigned i = 0; i < RUN; i++)
			tags_put(&tags, tag_at(own[i], i), &thing[i]);
		tags_take(&tags, tag_at(own[out], out), &thing[out]);
		for (unsigned i = 0; i < RUN; i++)
			assert_int_equal(count(tag_at(own[i], i), &thing[i]), i != out);
		for (unsigned i = 0; i < RUN; i++)
			if (i != out)
				tags_take(&tags, tag_at(own[i], i), &thing[i]);
	}
}

/* The same tag twice: each goes by what it is of. Fails when the first of that tag is taken. */
static void same_tag(void **state)
{
	(void)state;
	tags_put(&tags, 5, &thing[0]);
	tags_put(&tags, 5, &thing[1]);
	tags_take(&tags, 5, &thing[1]);
	assert_int_equal(count(5, &thing[0]), 1);
	assert_int_equal(count(5, &thing[1]), 0);
}

/* In and out at random, twice as wide in between. Fails when widening forgets one. */
static void many(void **state)
{
	bool in[4 * N] = {false};
	uint64_t tag[4 * N];
	uint32_t x = 7;

	(void)state;
	for (unsigned i = 0; i < 4 * N; i++) {
		x = x * 1664525u + 1013904223u;
		tag[i] = (uint64_t)(x >> 4) << 32 | i;
	}
	assert_true(tags_widen(&tags, 2 * N));
	for (unsigned turn = 0, n = 0; turn < 20000; turn++) {
		unsigned i;

		x = x * 1664525u + 1013904223u;
		i = (x >> 10) % (4 * N);
		if (turn == 10000)
			assert_true(tags_widen(&tags, 4 * N));
		if (in[i])
			tags_take(&tags, tag[i], &thing[i]);
		else if (n < (turn < 10000 ? 2 * N : 4 * N))
			tags_put(&tags, tag[i], &thing[i]);
		else
			continue;
		in[i] = !in[i];
		n += in[i] ? 1u : -1u;
		for (unsigned k = i % 16; k < 4 * N; k += 16)
			assert_int_equal(count(tag[k], &thing[k]), in[k]);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(holes), T(same_tag), T(many)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
