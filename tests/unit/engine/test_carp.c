/* The frozen fill: golden digests, the logarithm's table, and the shares of slots.
 * One changed constant or shift in carp.c makes the digests fail; the table tests say whether the logarithm is to blame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "carp.h"
#include "holdfast/hash.h"

static const struct ground ground = {0};
static const uint8_t key[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

struct farm {
	unsigned n;
	char name[256][8];
	struct rival r[256];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Rivals sorted by name; ids are places in f->name. */
static void sort(struct farm *f, const uint32_t *weight)
{
	const char *p[256];

	for (unsigned i = 0; i < f->n; i++)
		p[i] = f->name[i];
	qsort(p, f->n, sizeof p[0], by_name);
	for (unsigned i = 0; i < f->n; i++) {
		uint16_t id = (uint16_t)((p[i] - f->name[0]) / 8);

		f->r[i] = (struct rival){carp_method.seed(key, hf_bytes_str(p[i])), weight[id], id};
	}
}

static uint64_t fill(const struct farm *f, unsigned bits, unsigned *share)
{
	static const uint8_t zero[16];
	uint16_t *owner = malloc(sizeof *owner << bits);
	struct hf_sip s;

	memset(share, 0, f->n * sizeof *share);
	carp_method.fill(&ground, f->r, f->n, 1u << bits, owner);
	hf_sip_init(&s, zero, 2, 4);
	for (uint32_t j = 0; j < 1u << bits; j++) {
		const char *name = f->name[owner[j]];

		hf_sip_add(&s, hf_bytes_of(name, strlen(name) + 1));
		share[owner[j]]++;
	}
	free(owner);
	return hf_sip_end(&s);
}

static void pbx(void **state)
{
	struct farm f = {3, {"pbx1", "pbx2", "pbx3"}, {{0}}};
	const uint32_t w[] = {100, 100, 50};
	unsigned share[3];

	(void)state;
	sort(&f, w);
	assert_int_equal(fill(&f, 16, share), 0x2f1747deb2b9d218u);
	assert_int_equal(share[0], 26234);
	assert_int_equal(share[1], 26232);
	assert_int_equal(share[2], 13070);
}

static void ten_equal(void **state)
{
	struct farm f = {.n = 10};
	uint32_t w[10];
	unsigned share[10];

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		snprintf(f.name[i], sizeof f.name[i], "s%u", i + 1);
		w[i] = 100;
	}
	sort(&f, w);
	assert_int_equal(fill(&f, 16, share), 0x9f71de8e7a80fa13u);
}

static void all_weights(void **state)
{
	static struct farm f = {.n = 256};
	uint32_t w[256];
	unsigned share[256];

	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		snprintf(f.name[i], sizeof f.name[i], "w%u", i + 1);
		w[i] = i + 1;
	}
	sort(&f, w);
	assert_int_equal(fill(&f, 20, share), 0x51c31f3a39ee9ff7u);
}

static void logarithm(void **state)
{
	(void)state;
	assert_int_equal(carp_log(0), 0);
	assert_int_equal(carp_log(1), 756295);
	assert_int_equal(carp_log(2048), 1256197404);
	assert_int_equal(carp_log(4095), 2147105430);
	assert_int_equal(carp_log(4096), 2147483648u);
}

/* The single cost and the fill decide alike: `cost` with another scale or slot than `fill` fails here. */
static void cost_and_fill_agree(void **state)
{
	struct farm f = {3, {"b", "a", "ab"}, {{0}}};
	const uint32_t w[] = {1, 256, 99};
	uint16_t owner[1024];

	(void)state;
	sort(&f, w);
	carp_method.fill(&ground, f.r, 3, 1024, owner);
	for (uint32_t j = 0; j < 1024; j++) {
		const struct lot l = {&ground, j, 0};
		unsigned best = 0;

		for (unsigned i = 1; i < 3; i++)
			if (carp_method.cost(&l, f.r[i].seed, f.r[i].weight) < carp_method.cost(&l, f.r[best].seed, f.r[best].weight))
				best = i;
		assert_int_equal(owner[j], f.r[best].id);
		assert_true(carp_draw(f.r[0].seed, j) & 1);
	}
}

/* Equal seeds cost the same: the name that sorts first keeps the slot (`<` made `<=` fails here), and nobody gives NO_OWNER. */
static void ties_and_none(void **state)
{
	const struct rival twins[] = {{7, 100, 5}, {7, 100, 4}};
	uint16_t owner[300];

	(void)state;
	carp_method.fill(&ground, twins, 2, 300, owner);
	for (int j = 0; j < 300; j++)
		assert_int_equal(owner[j], 5);
	carp_method.fill(&ground, twins, 0, 300, owner);
	for (int j = 0; j < 300; j++)
		assert_int_equal(owner[j], 65535);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logarithm), cmocka_unit_test(pbx), cmocka_unit_test(ten_equal), cmocka_unit_test(all_weights),
		cmocka_unit_test(cost_and_fill_agree), cmocka_unit_test(ties_and_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
