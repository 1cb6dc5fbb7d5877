/* Sixteen octets at once say what each says alone: every octet in every place, among others of every kind.
 * test_wide_words.c runs the same over the words of eight that stand in where there is no SSE2.
 * Breaks when: a bound in wide.h is off by one, an octet above 127 is taken for a low one, or a bit is gathered into a neighbour's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "holdfast/wide.h"

static uint8_t octets[HF_WIDE];

static bool is_colon(uint8_t c) { return c == ':'; }
static bool is_control(uint8_t c) { return c <= 31; }
static bool is_letter(uint8_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_high(uint8_t c) { return c > 127; }
static bool is_zero_or_del(uint8_t c) { return c == 0 || c == 127; }

static unsigned colons(hf_wide w) { return hf_wide_bits(hf_wide_is(w, ':')); }
static unsigned controls(hf_wide w) { return hf_wide_bits(hf_wide_upto(w, 31)); }
static unsigned letters(hf_wide w) { return hf_wide_bits(hf_wide_in(hf_wide_small(w), 'a', 'z')); }
static unsigned zeros_and_dels(hf_wide w) { return hf_wide_bits(hf_wide_or(hf_wide_is(w, 0), hf_wide_in(w, 127, 127))); }

static const struct { bool (*one)(uint8_t c); unsigned (*all)(hf_wide w); } kinds[] = {
	{is_colon, colons}, {is_control, controls}, {is_letter, letters}, {is_high, hf_wide_high}, {is_zero_or_del, zeros_and_dels},
};

static void agree(void)
{
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		unsigned want = 0;

		for (unsigned i = 0; i < HF_WIDE; i++)
			want |= (unsigned)kinds[k].one(octets[i]) << i;
		if (kinds[k].all(hf_wide_at(octets)) != want)
			fail_msg("kind %zu: %x, expected %x", k, kinds[k].all(hf_wide_at(octets)), want);
	}
}

static void every_octet_everywhere(void **state)
{
	static const uint8_t among[] = {0, 1, 31, 32, ':' - 1, ':', ':' + 1, 'A' - 1, 'Z' + 1, 'a' - 1, 'z' + 1, 126, 127, 128, 255};

	(void)state;
	for (size_t a = 0; a < sizeof among; a++)
		for (unsigned at = 0; at < HF_WIDE; at++)
			for (unsigned c = 0; c < 256; c++) {
				memset(octets, among[a], sizeof octets);
				octets[at] = (uint8_t)c;
				agree();
			}
}

static void same_in_its_place(void **state)
{
	uint8_t other[HF_WIDE];

	(void)state;
	for (unsigned c = 0; c < 256; c++)
		for (unsigned d = 0; d < 256; d++)
			for (unsigned at = 0; at < HF_WIDE; at += 7) {
				memset(octets, (int)(d ^ 0x81), sizeof octets);
				memset(other, (int)d, sizeof other);
				octets[at] = (uint8_t)c;
				assert_int_equal(hf_wide_bits(hf_wide_same(hf_wide_at(octets), hf_wide_at(other))), (unsigned)(c == d) << at);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_octet_everywhere), cmocka_unit_test(same_in_its_place)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
