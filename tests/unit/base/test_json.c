/* The JSON reader. Each refusal names the check in src/base/json.c whose removal makes it fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "holdfast/json.h"

/* Reads a copy on the heap, exactly as long as the text, so that a read behind its end is seen by the sanitizer. */
static enum hf_err check(const char *text, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	struct hf_json v;
	enum hf_err e;

	memcpy(copy, text, n);
	e = hf_json_read(hf_bytes_of(copy, n), &v);
	free(copy);
	return e;
}

static void takes_what_is_json(void **state)
{
	static const char *const good[] = {"null", "true", " false ", "0", "-0", "12", "-1.5e+3", "1E9", "\"\"", "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
		"[]", "[ ]", "{}", "{ }", "[1,2]", "[1 , [2],{}]", "{\"a\":1}", "{\"a\" : [ ] , \"b\":null}\n", "\"\x7f\xff\""};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_int_equal(check(good[i], strlen(good[i])), HF_OK);
}

static void refuses_what_is_not(void **state)
{
	static const char *const bad[] = {"", " ", "nul", "nulll", "True", "01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", /* word, number */
		"\"", "\"a", "\"a\nb\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\", /* string, escape */
		"[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{", "}", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1]", "{\"a\" 1}", /* members */
		"1 2", "{} x", "[]]"}; /* the end in hf_json_read */

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(check(bad[i], strlen(bad[i])), HF_EINVAL);
	assert_int_equal(check("\"a\0b\"", 5), HF_EINVAL);
	assert_int_equal(check("\"\\\0\"", 4), HF_EINVAL); /* escape: strchr finds the NUL unless c == 0 is refused */
}

/* Every cut of a good text is refused, and nothing is read behind its end: the end in at(). */
static void every_cut_is_refused(void **state)
{
	static const char text[] = "{\"ok\":true,\"a\":[1,-2.5e3,\"x\\u00e9\\n\",null,{}],\"b\":{\"c\":false}}";

	(void)state;
	for (size_t n = 0; n < sizeof text - 1; n++)
		assert_int_equal(check(text, n), HF_EINVAL);
	assert_int_equal(check(text, sizeof text - 1), HF_OK);
}

/* Without the depth in container() this overflows the stack. */
static void depth_is_bounded(void **state)
{
	size_t n = 1u << 20;
	char *text = malloc(n);

	(void)state;
	memset(text, '[', n);
	assert_int_equal(check(text, n), HF_ERANGE);
	memset(text + HF_JSON_DEPTH, ']', HF_JSON_DEPTH);
	assert_int_equal(check(text, 2 * HF_JSON_DEPTH), HF_OK);
	memset(text, '[', HF_JSON_DEPTH + 1);
	assert_int_equal(check(text, 2 * HF_JSON_DEPTH + 1), HF_ERANGE);
	free(text);
}

static void assert_raw(const struct hf_json *v, enum hf_json_kind kind, const char *raw)
{
	assert_int_equal(v->kind, kind);
	assert_int_equal(v->raw.n, strlen(raw));
	assert_memory_equal(v->raw.p, raw, v->raw.n);
}

static void steps_through_members(void **state)
{
	struct hf_json all, v, list;
	struct hf_bytes key;
	size_t at = 0;

	(void)state;
	assert_int_equal(hf_json_read(HF_LIT(" { \"a\" : [ 1 , \"]\" , [2] ] , \"b\\n\":{\"a\":7}, \"c\":-1 } "), &all), HF_OK);
	assert_true(hf_json_next(&all, &at, &key, &list));
	assert_true(hf_bytes_eq(key, HF_LIT("a")));
	assert_raw(&list, HF_JSON_ARRAY, "[ 1 , \"]\" , [2] ]");
	assert_true(hf_json_next(&all, &at, &key, &v));
	assert_true(hf_bytes_eq(key, HF_LIT("b\\n")));
	assert_raw(&v, HF_JSON_OBJECT, "{\"a\":7}");
	assert_true(hf_json_next(&all, &at, NULL, &v));
	assert_raw(&v, HF_JSON_NUMBER, "-1");
	assert_false(hf_json_next(&all, &at, &key, &v));
	assert_false(hf_json_next(&all, &at, &key, &v)); /* and stays at the end */
	at = 0;
	assert_true(hf_json_next(&list, &at, &key, &v));
	assert_raw(&v, HF_JSON_NUMBER, "1");
	assert_int_equal(key.n, 0);
	assert_true(hf_json_next(&list, &at, NULL, &v));
	assert_raw(&v, HF_JSON_STRING, "]");
	assert_true(hf_json_next(&list, &at, NULL, &v));
	assert_raw(&v, HF_JSON_ARRAY, "[2]");
	assert_false(hf_json_next(&list, &at, NULL, &v));
	at = 0;
	assert_false(hf_json_next(&v, &at, NULL, &v) && hf_json_next(&v, &at, NULL, &v));
	assert_true(hf_json_find(&all, "c", &v));
	assert_raw(&v, HF_JSON_NUMBER, "-1");
	assert_false(hf_json_find(&all, "d", &v));
	assert_false(hf_json_find(&list, "a", &v)); /* no object */
}

/* The kind is asked first: without that line the octets behind the first of a string would be taken for members. */
static void a_plain_value_has_no_members(void **state)
{
	struct hf_json v, out;
	size_t at = 0;

	(void)state;
	assert_int_equal(hf_json_read(HF_LIT("\"x1,2\""), &v), HF_OK);
	assert_false(hf_json_next(&v, &at, NULL, &out));
}

static void text_is_the_writers_inverse(void **state)
{
	uint8_t all[256], json[2048], back[512];
	struct hf_writer w = hf_writer_on(json, sizeof json), t = hf_writer_on(back, sizeof back);
	struct hf_json v;

	(void)state;
	for (unsigned i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	hf_w_json(&w, hf_bytes_of(all, 256));
	assert_int_equal(hf_json_read(hf_writer_view(&w), &v), HF_OK);
	hf_w_json_text(&t, v.raw);
	assert_int_equal(t.n, 256);
	assert_memory_equal(back, all, 256);
}

static void text_above_one_octet_is_utf8(void **state)
{
	uint8_t back[32];
	struct hf_writer t = hf_writer_on(back, sizeof back);

	(void)state;
	hf_w_json_text(&t, HF_LIT("\\u0142\\u20AC\\b\\f\\/"));
	assert_int_equal(t.n, 8);
	assert_memory_equal(back, "\xc5\x82\xe2\x82\xac\b\f/", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_is_json), cmocka_unit_test(refuses_what_is_not), cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(depth_is_bounded), cmocka_unit_test(steps_through_members), cmocka_unit_test(a_plain_value_has_no_members),
		cmocka_unit_test(text_is_the_writers_inverse), cmocka_unit_test(text_above_one_octet_is_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
