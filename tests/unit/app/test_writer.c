/* The writer of answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "holdfast/json.h"
#include "json.h"

static void writes_every_kind(void **state)
{
	static const char want[] = "{\"ok\":true,\"name\":\"a\\\"b\\u00ff\",\"boot\":\"0000beef\",\"cap\":null,\"drops\":{\"no-server\":3,\"x\":18446744073709551615},"
				   "\"listen\":[\"u\",7,[]],\"pools\":[{\"error\":\"\"},{}]}";
	struct json j = json_new();

	(void)state;
	json_open(&j, JSON_ITEM, '{');
	json_bool(&j, HF_F_OK, true);
	json_text(&j, HF_F_NAME, HF_LIT("a\"b\xff"));
	json_hex(&j, HF_F_BOOT, 0xbeef, 8);
	json_null(&j, HF_F_CAP);
	json_open(&j, HF_F_DROPS, '{');
	json_count(&j, "no-server", 3);
	json_count(&j, "x", UINT64_MAX);
	json_close(&j, '}');
	json_open(&j, HF_F_LISTEN, '[');
	json_str(&j, JSON_ITEM, "u");
	json_uint(&j, JSON_ITEM, 7);
	json_open(&j, JSON_ITEM, '[');
	json_close(&j, ']');
	json_close(&j, ']');
	json_open(&j, HF_F_POOLS, '[');
	json_open(&j, JSON_ITEM, '{');
	json_str(&j, HF_F_ERROR, "");
	json_close(&j, '}');
	json_open(&j, JSON_ITEM, '{');
	json_close(&j, '}');
	json_close(&j, ']');
	json_close(&j, '}');
	assert_false(json_failed(&j));
	assert_int_equal(j.w.n, sizeof want - 1);
	assert_memory_equal(j.w.p, want, sizeof want - 1);
	json_free(&j);
}

/* Members of every length around the first growth: without the name's part in begin() some of these are cut. */
static void grows_as_needed(void **state)
{
	static uint8_t octets[400];

	(void)state;
	memset(octets, 0xff, sizeof octets);
	for (size_t n = 0; n < sizeof octets; n++) {
		struct json j = json_new();
		struct hf_json all, v;

		json_open(&j, JSON_ITEM, '{');
		json_text(&j, HF_F_NAME, hf_bytes_of(octets, n));
		for (unsigned i = 0; i < 400; i++)
			json_bool(&j, HF_F_CONFIG_GENERATION, true);
		json_close(&j, '}');
		assert_false(json_failed(&j));
		assert_int_equal(hf_json_read(hf_writer_view(&j.w), &all), HF_OK);
		assert_true(hf_json_find(&all, "name", &v));
		assert_int_equal(v.raw.n, n * 6);
		json_free(&j);
	}
}

/* The end of the line has its place behind the last bracket, wherever the memory ends: the 2 in json_close. */
static void the_end_of_the_line_fits(void **state)
{
	(void)state;
	for (unsigned depth = 2040; depth < 2060; depth++) {
		struct json j = json_new();

		for (unsigned i = 0; i < depth; i++)
			json_open(&j, JSON_ITEM, '[');
		for (unsigned i = 0; i < depth; i++)
			json_close(&j, ']');
		hf_w_u8(&j.w, '\n');
		assert_false(json_failed(&j));
		json_free(&j);
	}
}

/* The bound in grow(). */
static void stops_at_its_bound(void **state)
{
	size_t n = JSON_MAX / 6 + 1;
	uint8_t *octets = calloc(1, n);
	struct json j = json_new();

	(void)state;
	json_open(&j, JSON_ITEM, '{');
	json_text(&j, HF_F_NAME, hf_bytes_of(octets, n));
	assert_true(json_failed(&j));
	json_close(&j, '}');
	assert_true(j.w.cap <= JSON_MAX);
	json_free(&j);
	free(octets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_every_kind), cmocka_unit_test(grows_as_needed), cmocka_unit_test(the_end_of_the_line_fits),
		cmocka_unit_test(stops_at_its_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
