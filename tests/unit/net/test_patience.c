/* How the waits of names.c grow, by literal times: who is asked in vain is asked less often, and never less than the bound says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>

#include "patience.h"

/* Fails without the growth, and without either bound: a shift by 64 is no number, and a name server that is back is asked a day later. */
static void grows(void **state)
{
	static const uint64_t ask[] = {5000, 10000, 20000, 40000, 60000, 60000, 60000}, apply[] = {2000, 4000, 8000, 16000, 32000, 64000, 64000};

	(void)state;
	for (unsigned i = 0; i < sizeof ask / sizeof ask[0]; i++) {
		assert_int_equal(patience_ask_ms(i), ask[i]);
		assert_int_equal(patience_apply_ms(i), apply[i]);
	}
	assert_int_equal(patience_ask_ms(UINT_MAX), 60000);
	assert_int_equal(patience_apply_ms(UINT_MAX), 64000);
}

/* Fails without either bound: a name whose answer may be kept for no time would be asked for without a pause. */
static void kept(void **state)
{
	(void)state;
	assert_int_equal(patience_kept_ms(0), 5000);
	assert_int_equal(patience_kept_ms(6), 6000);
	assert_int_equal(patience_kept_ms(3601), 3600000);
	assert_int_equal(patience_kept_ms(UINT32_MAX), 3600000);
}

/* Three addresses, none of which answers: the first round goes on each 3 s, later ones are slower. Fails without the division by n (the second
 * address is waited for longer than the first), and without the bound. */
static void in_turn(void **state)
{
	static const uint64_t waits[] = {3000, 3000, 6000, 6000, 6000, 12000, 12000, 12000, 24000, 24000, 24000, 48000, 48000, 48000, 96000, 96000, 96000, 96000, 96000, 96000};
	struct patience p;
	uint64_t now = 1000000;

	(void)state;
	patience_begin(&p, now);
	assert_false(patience_over(&p, now + 2999));
	assert_true(patience_over(&p, now += 3000));
	for (unsigned i = 0; i < sizeof waits / sizeof waits[0]; i++) {
		patience_next(&p, 3, now);
		assert_false(patience_over(&p, now + waits[i] - 1));
		assert_true(patience_over(&p, now += waits[i]));
	}
}

/* One that nobody complained of for a minute had served: its name's next ones are tried as fast as at first; one that gave way a moment before that had
 * not. What the name says now begins anew, too. Fails without LONG_MS, or without `vain` reset. */
static void had_served(void **state)
{
	struct patience p;
	uint64_t now = 1000000;

	(void)state;
	patience_begin(&p, now);
	for (unsigned i = 0; i < 8; i++)
		patience_next(&p, 2, now = p.next_ms);
	assert_int_equal(p.next_ms - now, 48000);
	patience_next(&p, 2, now = p.next_ms + 59999);
	assert_int_equal(p.next_ms - now, 48000);
	patience_next(&p, 2, now = p.next_ms + 60000);
	assert_int_equal(p.next_ms - now, 3000);
	patience_next(&p, 2, now = p.next_ms);
	assert_int_equal(p.next_ms - now, 6000);
	patience_begin(&p, now);
	assert_int_equal(p.next_ms - now, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(grows), cmocka_unit_test(kept), cmocka_unit_test(in_turn), cmocka_unit_test(had_served)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
