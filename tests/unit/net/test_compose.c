/* Splices over octets (net/udp.c): what fronts ask for is what goes out, and what cannot be is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "udp.h"

static size_t compose(char *out, size_t cap, const char *base, const struct hf_splice *s, unsigned n)
{
	return udp_compose((uint8_t *)out, cap, hf_bytes_str(base), s, n);
}

static void in_order(void **state)
{
	struct hf_splice s[] = {{0, 0, HF_LIT("<")}, {2, 3, HF_LIT("--")}, {5, 1, HF_NONE}, {8, 0, HF_LIT(">")}};
	char out[32];

	(void)state;
	assert_int_equal(compose(out, sizeof out, "abcdefgh", s, 4), 8);
	assert_memory_equal(out, "<ab--gh>", 8);
}

/* Fails when the bounds in udp_compose are taken out. */
static void out_of_order_or_bounds(void **state)
{
	struct hf_splice back[] = {{4, 2, HF_NONE}, {5, 0, HF_LIT("x")}}, behind[] = {{9, 0, HF_LIT("x")}}, cut[] = {{7, 2, HF_NONE}};
	char out[32];

	(void)state;
	assert_int_equal(compose(out, sizeof out, "abcdefgh", back, 2), 0);
	assert_int_equal(compose(out, sizeof out, "abcdefgh", behind, 1), 0);
	assert_int_equal(compose(out, sizeof out, "abcdefgh", cut, 1), 0);
}

/* Fails when compose does not look at the writer's `full`. */
static void room(void **state)
{
	struct hf_splice s[] = {{8, 0, HF_LIT("9")}};
	char out[9];

	(void)state;
	assert_int_equal(compose(out, 8, "abcdefgh", s, 1), 0);
	assert_int_equal(compose(out, 9, "abcdefgh", s, 1), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_order), cmocka_unit_test(out_of_order_or_bounds), cmocka_unit_test(room)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
