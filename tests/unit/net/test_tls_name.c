/* Names in certificates (RFC 5922 7.1, 7.2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tls_name.h"

/* Each line falls without the rule that it stands for. */
static void names(void **state)
{
	static const struct { const char *host; enum tls_name_kind kind; const char *name, *scheme; bool is; } t[] = {
		{"pbx.example.com", TLS_NAME_HOST, "pbx.example.com", NULL, true}, {"pbx.example.com", TLS_NAME_HOST, "PBX.Example.COM", NULL, true},
		{"pbx.example.com", TLS_NAME_HOST, "*.example.com", NULL, false}, {"pbx.example.com", TLS_NAME_HOST, "example.com", NULL, false},
		{"example.com", TLS_NAME_HOST, "pbx.example.com", NULL, false}, {"", TLS_NAME_HOST, "", NULL, false},
		{"example.com", TLS_NAME_URI, "sip:example.com", "sip", true}, {"example.com", TLS_NAME_URI, "SIP:EXAMPLE.com", "sip", true},
		{"example.com", TLS_NAME_URI, "sips:example.com", "sip", false}, {"example.com", TLS_NAME_URI, "sip:bob@example.com", "sip", false},
		{"example.com", TLS_NAME_URI, "sip:example.com:5061", "sip", false}, {"example.com", TLS_NAME_URI, "sip:example.com;transport=tls", "sip", false},
		{"example.com", TLS_NAME_URI, "sip:example.com", NULL, false}, {"example.com", TLS_NAME_URI, "sip", "sip", false}, {"", TLS_NAME_URI, "sip:", "sip", false},
		{"example.com", TLS_NAME_URI, "example.com", "sip", false}, {"example.com", TLS_NAME_ADDR, "\300\0\2\1", NULL, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct tls_wanted w = {.host = hf_bytes_str(t[i].host)};

		assert_int_equal(hf_addr_read_ip(HF_LIT("192.0.2.1"), &w.addr), HF_OK);
		if (tls_name_is(&w, t[i].kind, hf_bytes_str(t[i].name), t[i].scheme) != t[i].is)
			fail_msg("%s for %s", t[i].name, t[i].host);
	}
}

/* A name with a NUL in it is no shorter name. */
static void embedded_nul(void **state)
{
	struct tls_wanted w = {.host = HF_LIT("example.com")};

	(void)state;
	assert_false(tls_name_is(&w, TLS_NAME_HOST, HF_LIT("example.com\0.example.net"), NULL));
}

static void addresses(void **state)
{
	struct tls_wanted w = {.host = HF_NONE};

	(void)state;
	assert_int_equal(hf_addr_read_ip(HF_LIT("192.0.2.1"), &w.addr), HF_OK);
	assert_true(tls_name_is(&w, TLS_NAME_ADDR, HF_LIT("\300\0\2\1"), NULL));
	assert_false(tls_name_is(&w, TLS_NAME_ADDR, HF_LIT("\300\0\2\2"), NULL));
	assert_false(tls_name_is(&w, TLS_NAME_ADDR, HF_LIT("\300\0\2"), NULL));
	assert_false(tls_name_is(&w, TLS_NAME_HOST, HF_LIT("192.0.2.1"), NULL)); /* an address is asked for as one (RFC 5922 7.1) */
	assert_int_equal(hf_addr_read_ip(HF_LIT("2001:db8::1"), &w.addr), HF_OK);
	assert_true(tls_name_is(&w, TLS_NAME_ADDR, HF_LIT("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"), NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(embedded_nul), cmocka_unit_test(addresses)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
