/* How long an answer of a name server holds (net/dns_ttl.c): literal messages, every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dns_ttl.h"

#define HEAD(questions, answers) "\0\7\x85\x80\0" questions "\0" answers "\0\0\0\0"
#define QUESTION "\4_sip\4_udp\7example\3com\0\0\x21\0\1"
#define RECORD(ttl) "\xc0\x0c\0\x21\0\1" ttl "\0\7\0\1\0\1\x13\xc4\0"
#define TTL(text) dns_ttl(hf_bytes_of((const uint8_t *)(text), sizeof(text) - 1))

/* The shortest, wherever it stands; an owner that is written out, and no question at all. Fails without `least`, or when a name is taken for a pointer. */
static void the_shortest(void **state)
{
	(void)state;
	assert_int_equal(TTL(HEAD("\1", "\2") QUESTION RECORD("\0\0\1\x2c") RECORD("\0\0\0\x4d")), 77);
	assert_int_equal(TTL(HEAD("\1", "\2") QUESTION RECORD("\0\0\0\x4d") RECORD("\0\0\1\x2c")), 77);
	assert_int_equal(TTL(HEAD("\1", "\1") QUESTION "\3abc\xc0\x0c\0\x21\0\1\0\1\0\0\0\0"), 65536);
	assert_int_equal(TTL(HEAD("\0", "\1") "\0\0\x21\0\1\xff\xff\xff\xff\0\0"), 4294967295u);
	assert_int_equal(TTL(HEAD("\1", "\0") QUESTION), 0);
	assert_int_equal(TTL(HEAD("\1", "\1") QUESTION "\x43" "abc\0\0\x21\0\1\0\0\0\5\0\0"), 0); /* a label of a kind that there is not */
	assert_int_equal(TTL(HEAD("\1", "\3") QUESTION RECORD("\0\0\0\x4d") RECORD("\0\0\0\x4d")), 0);
}

/* Fails without any of the three comparisons with the end. */
static void every_cut(void **state)
{
	static const char m[] = HEAD("\1", "\2") QUESTION RECORD("\0\0\1\x2c") RECORD("\0\0\0\x4d") "and more";
	const size_t whole = sizeof m - sizeof "and more";

	(void)state;
	for (size_t n = 0; n < sizeof m; n++)
		assert_int_equal(dns_ttl(hf_bytes_of((const uint8_t *)m, n)), n < whole ? 0 : 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_shortest), cmocka_unit_test(every_cut)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
