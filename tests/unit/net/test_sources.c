/* Connections by source (net/sources.c): limits, the two counts, /64 for IPv6, and what happens when the table is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sources.h"

static const uint8_t key[16];

static struct hf_addr addr(const char *text)
{
	struct hf_addr a;

	assert_int_equal(hf_addr_read(hf_bytes_str(text), 1, &a), HF_OK);
	return a;
}

/* Fails when either limit, or either way of leaving, is forgotten. */
static void limits(void **state)
{
	struct sources *s = sources_new(key);
	struct hf_addr a = addr("192.0.2.51"), other_port = addr("192.0.2.51:7"), b = addr("192.0.2.52");
	uint32_t at = 0, at_b;

	(void)state;
	assert_int_equal(sources_enter(s, &a, 3, 2, &at), SOURCE_COUNTED);
	assert_int_equal(sources_enter(s, &other_port, 3, 2, &at), SOURCE_COUNTED);
	assert_int_equal(sources_enter(s, &a, 3, 2, &at), SOURCE_REFUSED); /* two openings */
	assert_int_equal(sources_enter(s, &b, 3, 2, &at_b), SOURCE_COUNTED);
	sources_opened(s, at);
	assert_int_equal(sources_enter(s, &a, 3, 2, &at), SOURCE_COUNTED);
	sources_opened(s, at);
	assert_int_equal(sources_enter(s, &a, 3, 2, &at), SOURCE_REFUSED); /* three open */
	sources_leave(s, at, false);
	assert_int_equal(sources_enter(s, &a, 3, 2, &at), SOURCE_COUNTED);
	sources_leave(s, at, true);
	assert_int_equal(sources_enter(s, &a, 3, 2, &at), SOURCE_COUNTED);
	assert_int_equal(sources_enter(s, &a, 0, 0, &at), SOURCE_COUNTED); /* no limit */
	sources_free(s);
}

/* Fails when all of an IPv6 address counts. */
static void a_64(void **state)
{
	struct sources *s = sources_new(key);
	struct hf_addr a = addr("[2001:db8:0:1::1]:1"), b = addr("[2001:db8:0:1:ffff::2]:2"), c = addr("[2001:db8:0:2::1]:1");
	uint32_t at;

	(void)state;
	assert_int_equal(sources_enter(s, &a, 1, 0, &at), SOURCE_COUNTED);
	assert_int_equal(sources_enter(s, &b, 1, 0, &at), SOURCE_REFUSED);
	assert_int_equal(sources_enter(s, &c, 1, 0, &at), SOURCE_COUNTED);
	sources_free(s);
}

/* More sources than there are places: none is refused for that, none that is counted is lost. Fails when a full shard overwrites. */
static void crowd(void **state)
{
	static uint32_t at[200000];
	struct sources *s = sources_new(key);
	struct hf_addr a = addr("10.0.0.0");
	unsigned counted = 0;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		enum source_verdict v;

		hf_put32(a.ip, 0x0a000000 + i);
		v = sources_enter(s, &a, 1, 0, &at[i]);
		assert_int_not_equal(v, SOURCE_REFUSED);
		counted += v == SOURCE_COUNTED;
	}
	assert_in_range(counted, 50000, 65536);
	for (unsigned i = 0; i < 200000; i++) {
		hf_put32(a.ip, 0x0a000000 + i);
		if (sources_enter(s, &a, 1, 0, &at[i]) == SOURCE_REFUSED) {
			sources_leave(s, at[i], true);
			counted--;
		}
	}
	assert_int_equal(counted, 0);
	sources_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(limits), cmocka_unit_test(a_64), cmocka_unit_test(crowd)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
