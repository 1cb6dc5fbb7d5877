/* SipHash against the vectors of its authors, and what is built on it. A change here would send every session elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast/affinity.h"
#include "holdfast/hash.h"

static uint8_t key[16], in[64];

static int fill(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 64; i++)
		in[i] = (uint8_t)i;
	memcpy(key, in, 16);
	return 0;
}

/* Aumasson and Bernstein, appendix A (15 octets) and the table of their reference code: key 00..0f, input 00, 01, ... */
static void test_siphash_2_4(void **state)
{
	static const uint64_t want[] = {
		0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d, 0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137, 0x93f5f5799a932462,
	};

	(void)state;
	for (unsigned n = 0; n < sizeof want / sizeof want[0]; n++)
		assert_true(hf_sip24(key, hf_bytes_of(in, n)) == want[n]);
	assert_true(hf_sip24(key, hf_bytes_of(in, 15)) == 0xa129ca6149be45e5);
}

/* The same key and inputs with one and three rounds, as the maps of other languages use it. */
static void test_siphash_1_3(void **state)
{
	(void)state;
	assert_true(hf_sip13(key, HF_NONE) == 0xabac0158050fc4dc);
	assert_true(hf_sip13(key, hf_bytes_of(in, 1)) == 0xc9f49bf37d57ca93);
}

/* In pieces of every size it is the same hash; fails without the tail kept between pieces. */
static void test_pieces(void **state)
{
	(void)state;
	for (unsigned n = 0; n <= 64; n++)
		for (unsigned piece = 1; piece <= 17; piece++) {
			struct hf_sip a, b;

			hf_sip_init(&a, key, 1, 3);
			hf_sip_init(&b, key, 2, 4);
			for (unsigned at = 0; at < n; at += piece) {
				hf_sip_add(&a, hf_bytes_sub(hf_bytes_of(in, n), at, piece));
				hf_sip_add(&b, hf_bytes_sub(hf_bytes_of(in, n), at, piece));
			}
			assert_true(hf_sip_end(&a) == hf_sip13(key, hf_bytes_of(in, n)));
			assert_true(hf_sip_end(&b) == hf_sip24(key, hf_bytes_of(in, n)));
		}
}

static void test_numbers_in_pieces(void **state)
{
	struct hf_sip s;

	(void)state;
	hf_sip_init(&s, key, 2, 4);
	hf_sip_u16(&s, 0x0102);
	hf_sip_u32(&s, 0x03040506);
	hf_sip_lp(&s, HF_LIT("ab"));
	assert_true(hf_sip_end(&s) == hf_sip24(key, HF_LIT("\1\2\3\4\5\6\0\2ab")));
}

/* Top 60 bits of kind:octets, the octets cut at the cap; and the name of a server under its pool. */
static void test_fingerprints(void **state)
{
	(void)state;
	assert_true(hf_fingerprint(key, HF_LIT("call-id"), HF_LIT("abc"), 80) == hf_sip13(key, HF_LIT("call-id:abc")) >> 4);
	assert_true(hf_fingerprint_text(key, HF_LIT("call-id:abc")) == hf_fingerprint(key, HF_LIT("call-id"), HF_LIT("abc"), 80));
	assert_true(hf_fingerprint(key, HF_LIT("k"), HF_LIT("abcdef"), 3) == hf_sip13(key, HF_LIT("k:abc")) >> 4);
	assert_true(hf_server_hash(key, HF_LIT("pbx"), HF_LIT("a")) == (uint32_t)(hf_sip13(key, HF_LIT("name:pbx\0a")) >> 32));
	assert_true(hf_server_hash(key, HF_LIT("pb"), HF_LIT("xa")) != hf_server_hash(key, HF_LIT("pbx"), HF_LIT("a")));
	assert_string_equal(hf_why_name(HF_WHY_COOKIE), "cookie");
	assert_string_equal(hf_why_name(HF_WHY_COUNT), "?");
	assert_string_equal(hf_state_name(HF_STATE_DRAIN), "drain");
	assert_string_equal(hf_state_name(HF_STATE_COUNT), "?");
}

/* Whatever the length, and however long the kind: put together first or in pieces. Fails when the bound of what is put together lets one octet too many in
 * (sanitizer), or when one way forgets the colon or the cap. */
static void test_fingerprints_of_any_length(void **state)
{
	uint8_t text[256];

	(void)state;
	for (size_t n = 0; n < 240; n++)
		for (size_t k = 0; k <= n && k < 16; k++) {
			memset(text, 'k', k);
			text[k] = ':';
			for (size_t i = 0; i < n - k; i++)
				text[k + 1 + i] = (uint8_t)i;
			assert_true(hf_fingerprint(key, hf_bytes_of(text, k), hf_bytes_of(text + k + 1, n - k), SIZE_MAX) == hf_fingerprint_text(key, hf_bytes_of(text, n + 1)));
			assert_true(hf_fingerprint(key, hf_bytes_of(text, k), hf_bytes_of(text + k + 1, n - k), 7) == hf_fingerprint_text(key, hf_bytes_of(text, n - k < 7 ? n + 1 : k + 8)));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_siphash_2_4), cmocka_unit_test(test_siphash_1_3), cmocka_unit_test(test_pieces), cmocka_unit_test(test_numbers_in_pieces), cmocka_unit_test(test_fingerprints),
		cmocka_unit_test(test_fingerprints_of_any_length),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
