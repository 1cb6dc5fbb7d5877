/* Views and number readers, the arena, and the names of errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast/arena.h"
#include "holdfast/nearest.h"

static struct hf_bytes b(const char *s) { return hf_bytes_str(s); }

/* Each fails without the clamp, the fold or the length check of its function. */
static void test_views(void **state)
{
	(void)state;
	assert_true(hf_bytes_eq(b("ab"), b("ab")) && !hf_bytes_eq(b("ab"), b("Ab")) && !hf_bytes_eq(b("ab"), b("abc")) && hf_bytes_eq(HF_NONE, b("")));
	assert_true(hf_bytes_ieq(b("aB-Z"), b("Ab-z")) && !hf_bytes_ieq(b("a"), b("ab")) && !hf_bytes_ieq(b("["), b("{")) && !hf_bytes_ieq(b("@"), b("`")));
	assert_true(hf_bytes_starts(b("sip:a"), b("sip:")) && !hf_bytes_starts(b("si"), b("sip")) && hf_bytes_starts(b("x"), HF_NONE));
	assert_true(hf_bytes_istarts(b("SIP:a"), b("sip:")) && !hf_bytes_istarts(b("SI"), b("sip")));
	assert_int_equal(hf_bytes_find(b("a:b:"), ':'), 1);
	assert_int_equal(hf_bytes_find(b("ab"), ':'), 2);
	assert_int_equal(hf_bytes_find(HF_NONE, ':'), 0);
	assert_true(hf_bytes_eq(hf_bytes_sub(b("abc"), 1, 9), b("bc")) && hf_bytes_eq(hf_bytes_sub(b("abc"), 9, SIZE_MAX), b("")) && hf_bytes_sub(HF_NONE, 3, 3).n == 0);
	assert_true(hf_bytes_eq(hf_bytes_trim(b(" \t a b\t ")), b("a b")) && hf_bytes_trim(b(" \t")).n == 0 && hf_bytes_eq(hf_bytes_trim(b("\na")), b("\na")));
	struct hf_bytes rest = b("\t a\tbc  d/1\t ");

	assert_true(hf_bytes_eq(hf_bytes_word(&rest), b("a")) && hf_bytes_eq(rest, b("bc  d/1")));
	assert_true(hf_bytes_eq(hf_bytes_word(&rest), b("bc")) && hf_bytes_eq(hf_bytes_word(&rest), b("d/1")) && hf_bytes_word(&rest).n == 0 && rest.n == 0);
	assert_true(hf_bytes_cmp(b("a"), b("ab")) < 0 && hf_bytes_cmp(b("b"), b("ab")) > 0 && hf_bytes_cmp(b("ab"), b("ab")) == 0 && hf_bytes_cmp(b("\xff"), b("a")) > 0);
	assert_true(hf_bytes_cmp(HF_NONE, b("")) == 0 && hf_bytes_cmp(b("abc"), b("ab")) > 0);
	assert_true(hf_bytes_same_secret(b("tag"), b("tag")) && !hf_bytes_same_secret(b("tag"), b("tab")) && !hf_bytes_same_secret(b("ta"), b("tag")));
}

/* The largest value passes, one more does not, and no length wraps round. Fails without either half of the check in hf_read_uint. */
static void test_read_uint(void **state)
{
	static const struct { const char *text; uint64_t max; enum hf_err e; uint64_t v; } t[] = {
		{"0", 0, HF_OK, 0}, {"7", 9, HF_OK, 7}, {"0000000000000000000000000000009", 9, HF_OK, 9}, {"10", 9, HF_ERANGE, 0}, {"1", 0, HF_ERANGE, 0},
		{"65535", 65535, HF_OK, 65535}, {"65536", 65535, HF_ERANGE, 0}, {"18446744073709551615", UINT64_MAX, HF_OK, UINT64_MAX},
		{"18446744073709551616", UINT64_MAX, HF_ERANGE, 0}, {"99999999999999999999999999999999999999", UINT64_MAX, HF_ERANGE, 0},
		{"4294967297", UINT32_MAX, HF_ERANGE, 0}, {"256", 256, HF_OK, 256}, {"5", 3, HF_ERANGE, 0},
		{"", 9, HF_EINVAL, 0}, {"-1", 9, HF_EINVAL, 0}, {"+1", 9, HF_EINVAL, 0}, {" 1", 9, HF_EINVAL, 0}, {"1 ", 9, HF_EINVAL, 0},
		{"0x1", 9, HF_EINVAL, 0}, {"1.0", 9, HF_EINVAL, 0}, {"99999999999999999999x", 9, HF_EINVAL, 0}, {":", 99, HF_EINVAL, 0}, {"/", 99, HF_EINVAL, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		uint64_t v = 77;
		enum hf_err e = hf_read_uint(b(t[i].text), t[i].max, &v);

		if (e != t[i].e || v != (e == HF_OK ? t[i].v : 77))
			fail_msg("%s up to %llu: %d %llu", t[i].text, (unsigned long long)t[i].max, e, (unsigned long long)v);
	}
}

static void test_read_hex(void **state)
{
	uint8_t out[3] = {9, 9, 9};

	(void)state;
	assert_int_equal(hf_read_hex(b("00fFA9"), out, 3), HF_OK);
	assert_memory_equal(out, "\x00\xff\xa9", 3);
	assert_int_equal(hf_read_hex(b("00fFA"), out, 3), HF_EINVAL);
	assert_int_equal(hf_read_hex(b("00fFA9a"), out, 3), HF_EINVAL);
	assert_int_equal(hf_read_hex(b("1122g3"), out, 3), HF_EINVAL);
	assert_memory_equal(out, "\x00\xff\xa9", 3); /* nothing half read */
}

static void test_octets(void **state)
{
	uint8_t o[8];

	(void)state;
	hf_put64(o, 0x0102030405060708);
	assert_memory_equal(o, "\1\2\3\4\5\6\7\10", 8);
	assert_true(hf_get64(o) == 0x0102030405060708 && hf_get32(o + 4) == 0x05060708 && hf_get16(o + 6) == 0x0708);
	hf_put32(o, 0xfffffffe);
	assert_true(hf_get32(o) == 0xfffffffe && hf_get16(o) == 0xffff);
}

/* Aligned, bounded, and refusing when told to; fails without the comparison against what is left (a huge n would wrap). */
static void test_arena(void **state)
{
	_Alignas(16) uint8_t mem[64];
	struct hf_arena a;
	uint8_t *p, *q;

	(void)state;
	hf_arena_init(&a, mem, sizeof mem);
	p = hf_arena_alloc(&a, 1);
	q = hf_arena_zalloc(&a, 48);
	assert_true(p == mem && q == mem + 16 && q[0] == 0 && q[47] == 0);
	assert_null(hf_arena_alloc(&a, 1));
	assert_null(hf_arena_alloc(&a, SIZE_MAX));
	assert_null(hf_arena_copy(&a, b("x")).p);
	hf_arena_reset(&a);
	a.fail_at = 2;
	assert_true(hf_bytes_eq(hf_arena_copy(&a, b("xy")), b("xy")));
	assert_null(hf_arena_alloc(&a, 1));
	assert_non_null(hf_arena_alloc(&a, 1));
}

/* Fails without the swap of neighbours, the fold of letters or the cut at 64. */
static void test_edits(void **state)
{
	static const struct { const char *a, *b; unsigned n; } t[] = {
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "ABC", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "abcd", 1}, {"abc", "xbc", 1}, {"kitten", "sitting", 3},
		{"ca", "abc", 3}, {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaX", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaY", 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++)
		assert_int_equal(hf_edits(b(t[i].a), b(t[i].b)), t[i].n);
}

static void test_error_texts(void **state)
{
	(void)state;
	assert_string_equal(hf_err_text(HF_OK), "done");
	assert_string_equal(hf_err_text(HF_ECLOSED), "closed");
	assert_string_equal(hf_err_text((enum hf_err)99), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views), cmocka_unit_test(test_read_uint), cmocka_unit_test(test_read_hex), cmocka_unit_test(test_octets),
		cmocka_unit_test(test_arena), cmocka_unit_test(test_edits), cmocka_unit_test(test_error_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
