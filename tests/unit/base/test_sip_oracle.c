/* Our SipHash against OpenSSL's, both counts of rounds, every length up to 200, whole and in pieces. Fails when a rotation or the tail is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>

#include "holdfast/hash.h"

static uint64_t openssl(const uint8_t key[16], const uint8_t *p, size_t n, unsigned c, unsigned d)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "SIPHASH", NULL);
	EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
	unsigned size = 8;
	OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_MAC_PARAM_SIZE, &size), OSSL_PARAM_construct_uint(OSSL_MAC_PARAM_C_ROUNDS, &c),
		OSSL_PARAM_construct_uint(OSSL_MAC_PARAM_D_ROUNDS, &d), OSSL_PARAM_construct_end()};
	uint8_t out[8];
	size_t len = 0;
	uint64_t v = 0;

	assert_int_equal(EVP_MAC_CTX_set_params(ctx, params), 1);
	assert_int_equal(EVP_MAC_init(ctx, key, 16, NULL), 1);
	assert_int_equal(EVP_MAC_update(ctx, p, n), 1);
	assert_int_equal(EVP_MAC_final(ctx, out, &len, sizeof out), 1);
	assert_int_equal(len, 8);
	for (int i = 7; i >= 0; i--)
		v = v << 8 | out[i];
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(mac);
	return v;
}

static uint64_t in_pieces(const uint8_t key[16], const uint8_t *p, size_t n, int c, int d, size_t piece)
{
	struct hf_sip s;

	hf_sip_init(&s, key, c, d);
	for (size_t at = 0; at < n; at += piece)
		hf_sip_add(&s, hf_bytes_of(p + at, n - at < piece ? n - at : piece));
	return hf_sip_end(&s);
}

static void same_as_openssl(void **state)
{
	uint8_t key[16], text[200];

	(void)state;
	for (unsigned i = 0; i < sizeof key; i++)
		key[i] = (uint8_t)(i * 29 + 5);
	for (unsigned i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)(i * 37 + 11);
	for (size_t n = 0; n <= sizeof text; n++) {
		uint64_t v13 = openssl(key, text, n, 1, 3), v24 = openssl(key, text, n, 2, 4);

		assert_true(hf_sip13(key, hf_bytes_of(text, n)) == v13);
		assert_true(hf_sip24(key, hf_bytes_of(text, n)) == v24);
		for (size_t piece = 1; piece < 20; piece++) {
			assert_true(in_pieces(key, text, n, 1, 3, piece) == v13);
			assert_true(in_pieces(key, text, n, 2, 4, piece) == v24);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_openssl)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
