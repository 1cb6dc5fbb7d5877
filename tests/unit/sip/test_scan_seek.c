/* The seeks of the scanner against one octet after the other: each kind, each octet, each place, and each way to look at what is left at the end.
 * test_scan_seek_words.c runs the same without SSE2.
 * Breaks when: a kind's bits in scan_seek.h leave out an octet that its predicate has, or the last block is shifted by one too few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scan_seek.h"

enum { LONGEST = 40 };

static const struct {
	const char *name;
	bool (*is)(uint8_t c);
	const uint8_t *(*seek)(const uint8_t *p, const uint8_t *end, const uint8_t *lo);
} kinds[] = {
#define X(name, one, all) {#name, sip_is_##name, sip_seek_##name},
	SIP_KINDS(X)
#undef X
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static uint8_t text[LONGEST];

/* The first octet from `c` on that the kind has, or has not. */
static uint8_t one_that(size_t k, bool has, unsigned c)
{
	while (kinds[k].is((uint8_t)c) != has)
		c++;
	return (uint8_t)c;
}

static void holds(size_t k, size_t from, size_t n)
{
	size_t want = from;

	while (want < n && !kinds[k].is(text[want]))
		want++;
	for (size_t lo = 0; lo <= from; lo++)
		if (kinds[k].seek(text + from, text + n, text + lo) != text + want)
			fail_msg("%s: from %zu to %zu, readable from %zu", kinds[k].name, from, n, lo);
}

static void every_octet(void **state)
{
	(void)state;
	for (size_t k = 0; k < KINDS; k++)
		for (unsigned c = 0; c < 256; c++)
			for (size_t at = 0; at < LONGEST; at += 3) {
				memset(text, one_that(k, false, 'a'), sizeof text);
				text[at] = (uint8_t)c;
				holds(k, 0, LONGEST);
				holds(k, at, at + 1);
			}
}

static void every_end(void **state)
{
	(void)state;
	for (size_t k = 0; k < KINDS; k++)
		for (size_t n = 0; n <= LONGEST; n++)
			for (size_t from = 0; from <= n; from++)
				for (size_t at = 0; at <= n; at++) {
					memset(text, one_that(k, false, 'a'), sizeof text);
					if (at < LONGEST)
						text[at] = one_that(k, true, 0);
					if (from > 0)
						text[from - 1] = one_that(k, true, 0); /* what stands before is none of its business */
					holds(k, from, n);
				}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_octet), cmocka_unit_test(every_end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
