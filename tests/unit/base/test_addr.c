/* Addresses: what is one, and how it is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast/addr.h"

static const char *text_of(const struct hf_addr *a)
{
	static char t[80];
	struct hf_writer w = hf_writer_on(t, sizeof t - 1);

	hf_w_addr(&w, a);
	t[w.n] = 0;
	return t;
}

static void test_read(void **state)
{
	static const struct { const char *text; const char *want; } t[] = {
		{"192.0.2.1", "192.0.2.1:5060"}, {"192.0.2.1:0", "192.0.2.1:0"}, {"192.0.2.1:65535", "192.0.2.1:65535"}, {"0.0.0.0:1", "0.0.0.0:1"},
		{"[2001:db8::1]", "[2001:db8::1]:5060"}, {"[2001:db8::1]:7", "[2001:db8::1]:7"}, {"2001:DB8::1", "[2001:db8::1]:5060"}, {"::", "[::]:5060"},
		{"[::ffff:192.0.2.1]:7", "[::ffff:192.0.2.1]:7"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct hf_addr a;

		assert_int_equal(hf_addr_read(hf_bytes_str(t[i].text), 5060, &a), HF_OK);
		assert_string_equal(text_of(&a), t[i].want);
	}
}

/* Nothing is guessed, and *out stays; fails without the bracket and port checks of hf_addr_read. */
static void test_refused(void **state)
{
	static const struct { const char *text; enum hf_err e; } t[] = {
		{"", HF_EINVAL}, {"192.0.2", HF_EINVAL}, {"192.0.2.256", HF_EINVAL}, {"192.0.2.01", HF_EINVAL}, {"192.0.2.1.", HF_EINVAL}, {"192.0.2.0001", HF_EINVAL}, {".192.0.2", HF_EINVAL}, {"192.0.2.1a", HF_EINVAL}, {"192.0.2.1:", HF_EINVAL}, {"192.0.2.1:x", HF_EINVAL}, {"192.0.2.1:65536", HF_ERANGE},
		{"192.0.2.1:99999999999999999999", HF_ERANGE}, {"192.0.2.1 ", HF_EINVAL}, {"[192.0.2.1]", HF_EINVAL}, {"[2001:db8::1", HF_EINVAL}, {"2001:db8::1]", HF_EINVAL},
		{"[2001:db8::1]x", HF_EINVAL}, {"[2001:db8::1]:", HF_EINVAL}, {"[2001:db8::1]5060", HF_EINVAL}, {"[]", HF_EINVAL}, {"[]:1", HF_EINVAL}, {"host:1", HF_EINVAL},
		{"0192.0.2.1", HF_EINVAL}, {"fe80::1%eth0", HF_EINVAL}, {"1:2:3:4:5:6:7:8:9", HF_EINVAL},
	};
	struct hf_addr a = {.port = 9}, was = a;

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		if (hf_addr_read(hf_bytes_str(t[i].text), 5060, &a) != t[i].e)
			fail_msg("%s", t[i].text);
		assert_memory_equal(&a, &was, sizeof a);
	}
	assert_int_equal(hf_addr_read_ip(hf_bytes_of("192.0.2.1\0x", 11), &a), HF_EINVAL); /* a NUL ends no text */
}

static void test_compare(void **state)
{
	struct hf_addr a, b;

	(void)state;
	assert_int_equal(hf_addr_read(HF_LIT("192.0.2.1:7"), 1, &a), HF_OK);
	b = a;
	assert_true(hf_addr_eq(&a, &b) && hf_addr_ip_eq(&a, &b) && !hf_addr_is_any(&a));
	b.port = 8;
	assert_true(!hf_addr_eq(&a, &b) && hf_addr_ip_eq(&a, &b));
	assert_int_equal(hf_addr_read(HF_LIT("[::ffff:192.0.2.1]:7"), 1, &b), HF_OK);
	assert_false(hf_addr_ip_eq(&a, &b));
	hf_addr_unmap(&b);
	assert_true(hf_addr_eq(&a, &b) && hf_addr_ip(&b).n == 4);
	assert_int_equal(hf_addr_read(HF_LIT("[::1]:7"), 1, &b), HF_OK);
	hf_addr_unmap(&b);
	assert_true(b.family == 6 && hf_addr_ip(&b).n == 16);
	assert_int_equal(hf_addr_read(HF_LIT("[::]:7"), 1, &b), HF_OK);
	assert_true(hf_addr_is_any(&b));
	memset(&b, 0, sizeof b);
	assert_string_equal(text_of(&b), "-:0");
}

/* Prefixes by their form, and the network that is left of an address; fails without the mask of hf_w_net, or its unmapping. */
static void test_networks(void **state)
{
	static const struct { const char *prefix, *addr, *want; } t[] = {
		{"", "192.0.2.51", "192.0.2.51"}, {"/24", "192.0.2.51", "192.0.2.0/24"}, {"/32", "192.0.2.51", "192.0.2.51"}, {"/1", "192.0.2.51", "128.0.0.0/1"},
		{"/33", "192.0.2.51", "192.0.2.51"}, {"/33", "2001:db8:8000::1", "2001:db8:8000::/33"}, {"/128", "2001:db8::1", "2001:db8::1"},
		{"/24", "2001:db8::1", "2001:db8::1"}, {"/24/20", "2001:db8::1", "2001::/20"}, {"/31/64", "192.0.2.51", "192.0.2.50/31"},
		{"/24", "::ffff:192.0.2.51", "192.0.2.0/24"}, {"/24/127", "2001:db8::7", "2001:db8::6/127"},
	};
	static const char *const bad[] = {"24", "/", "/0", "/129", "/x", "/24/", "/24/0", "/24/129", "/33/64", "//64", "/24/64/", "/-1", "/ 24"};
	struct hf_prefix p;

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		char text[64];
		struct hf_writer w = hf_writer_on(text, sizeof text);
		struct hf_addr a;

		assert_int_equal(hf_addr_read_ip(hf_bytes_str(t[i].addr), &a), HF_OK);
		assert_true(hf_prefix_read(hf_bytes_str(t[i].prefix), &p));
		hf_w_net(&w, &a, p);
		if (!hf_bytes_eq(hf_writer_view(&w), hf_bytes_str(t[i].want)))
			fail_msg("%s%s: %.*s", t[i].addr, t[i].prefix, (int)w.n, text);
	}
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (hf_prefix_read(hf_bytes_str(bad[i]), &p))
			fail_msg("%s", bad[i]);
}

static void test_transports(void **state)
{
	enum hf_transport t;

	(void)state;
	for (unsigned i = 0; i < HF_TRANSPORTS; i++)
		assert_true(hf_transport_read(hf_bytes_str(hf_transport_name((enum hf_transport)i)), &t) && t == i);
	assert_true(hf_transport_read(HF_LIT("WSS"), &t) && t == HF_WSS);
	assert_false(hf_transport_read(HF_LIT("sctp"), &t) || hf_transport_read(HF_LIT(""), &t) || hf_transport_read(HF_LIT("ud"), &t));
	assert_string_equal(hf_transport_name(HF_TRANSPORTS), "?");
	assert_true(hf_transport_is_stream(HF_TLS) && !hf_transport_is_stream(HF_UDP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_refused), cmocka_unit_test(test_compare), cmocka_unit_test(test_networks), cmocka_unit_test(test_transports)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
