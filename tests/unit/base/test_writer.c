/* The bounded writer and its forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast/writer.h"

static uint8_t room[256];

static void is(const struct hf_writer *w, const char *want)
{
	assert_false(w->full);
	assert_int_equal(w->n, strlen(want));
	assert_memory_equal(w->p, want, w->n);
}

static void test_pieces(void **state)
{
	struct hf_writer w = hf_writer_on(room, sizeof room);

	(void)state;
	hf_w_str(&w, "a");
	hf_w_bytes(&w, HF_LIT("bc"));
	hf_w_bytes(&w, HF_NONE);
	hf_w_u8(&w, 1);
	hf_w_u16(&w, 0x0203);
	hf_w_u32(&w, 0x04050607);
	hf_w_u64(&w, 0x08090a0b0c0d0e0f);
	is(&w, "abc\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17");
	w = hf_writer_on(room, sizeof room);
	hf_w_dec(&w, 0);
	hf_w_str(&w, " ");
	hf_w_dec(&w, UINT64_MAX);
	hf_w_hex(&w, HF_LIT(" \xaf"));
	hf_w_printf(&w, "%s-%d", "x", 7);
	is(&w, "0 1844674407370955161520afx-7");
}

/* At every room too small: full, nothing beyond, and full for good. Fails without `w->full ||` in hf_w_mem. */
static void test_full(void **state)
{
	(void)state;
	for (size_t cap = 0; cap < 20; cap++) {
		uint8_t mem[21];
		struct hf_writer w = hf_writer_on(mem, cap);

		memset(mem, 0xee, sizeof mem);
		hf_w_str(&w, "0123456789");
		hf_w_dec(&w, 1234567890);
		hf_w_u8(&w, 'x');
		assert_true(w.full && w.n <= cap && mem[cap] == 0xee);
		if (cap < 10)
			assert_int_equal(w.n, 0); /* what came later was short enough, and still is not written */
		w = hf_writer_on(mem, cap);
		hf_w_b32(&w, HF_LIT("0123456789abcdef"));
		assert_true(w.full && w.n == 0 && mem[cap] == 0xee);
		w = hf_writer_on(mem, cap);
		hf_w_json(&w, HF_LIT("0123456789\x01\x02\x03"));
		assert_true(w.full && w.n <= cap && mem[cap] == 0xee);
	}
}

/* RFC 4648 section 10 without padding, and the two characters that are its own; one text for the same octets. */
static void test_base64url(void **state)
{
	static const struct { const char *plain, *text; } t[] = {
		{"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff\xbf", "-_-_"},
	};
	static const char *const bad[] = {"", "A", "Zh", "Zm9", "Zg=", "Zg==", "+/+/", "Z g", "Zm9vY", "-_-_-"};
	uint8_t out[8];

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct hf_writer w = hf_writer_on(room, sizeof room);
		struct hf_bytes plain = hf_bytes_str(t[i].plain);

		hf_w_b64url(&w, plain);
		is(&w, t[i].text);
		assert_int_equal(hf_b64url_read(hf_bytes_str(t[i].text), out, plain.n), plain.n);
		assert_memory_equal(out, plain.p, plain.n);
		assert_int_equal(hf_b64url_read(hf_bytes_str(t[i].text), out, plain.n - 1), 0);
	}
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(hf_b64url_read(hf_bytes_str(bad[i]), out, sizeof out), 0);
}

/* RFC 4648 section 10, in lower case and without padding; each read back in either case. */
static void test_base32hex(void **state)
{
	static const struct { const char *plain, *text, *upper; } t[] = {
		{"f", "co", "CO"}, {"fo", "cpng", "CPNG"}, {"foo", "cpnmu", "CPNMU"}, {"foob", "cpnmuog", "CPNMUOG"}, {"fooba", "cpnmuoj1", "CPNMUOJ1"}, {"foobar", "cpnmuoj1e8", "CPNMUOJ1E8"},
	};
	uint8_t out[8];

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct hf_writer w = hf_writer_on(room, sizeof room);
		struct hf_bytes plain = hf_bytes_str(t[i].plain);

		hf_w_b32(&w, plain);
		is(&w, t[i].text);
		assert_int_equal(hf_b32_len(plain.n), w.n);
		assert_int_equal(hf_b32_read(hf_bytes_str(t[i].text), out, sizeof out), plain.n);
		assert_memory_equal(out, plain.p, plain.n);
		assert_int_equal(hf_b32_read(hf_bytes_str(t[i].upper), out, plain.n), plain.n);
		assert_int_equal(hf_b32_read(hf_bytes_str(t[i].upper), out, plain.n - 1), 0);
	}
}

/* One text an octet string: other lengths, other last bits, other letters are none. Fails without the checks of hf_b32_read. */
static void test_base32hex_refused(void **state)
{
	static const char *const bad[] = {"", "c", "cpn", "cpnmuo", "cp", "cpnh", "cpnmv", "cpnw", "cpn=", "co======", "c o", "cpnz", "cpnmuoj1c"};
	uint8_t out[16];

	(void)state;
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (hf_b32_read(hf_bytes_str(bad[i]), out, sizeof out))
			fail_msg("%s", bad[i]);
}

/* Eight characters are read at once: each octet is judged by itself wherever it stands. Fails when a digit's range, or the test for
 * octets above 127, is off by one. */
static void test_base32hex_each(void **state)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvABCDEFGHIJKLMNOPQRSTUV";
	uint8_t text[16], out[16];

	(void)state;
	for (unsigned at = 0; at < sizeof text; at++)
		for (int c = 0; c < 256; c++) {
			const char *d = c ? strchr(digits, c) : NULL;
			unsigned v = d ? (unsigned)(d - digits) : 0, bit = at * 5;

			memset(text, '0', sizeof text);
			text[at] = (uint8_t)c;
			assert_int_equal(hf_b32_read(hf_bytes_of(text, sizeof text), out, sizeof out), d ? 10 : 0);
			v = v > 31 ? v - 22 : v;
			if (d)
				assert_int_equal((out[bit / 8] << 8 | out[bit / 8 + 1]) >> (11 - bit % 8) & 31, v);
		}
}

/* The output is ASCII and one JSON string whatever comes in; fails without a case of json_short or the range check. */
static void test_json(void **state)
{
	struct hf_writer w = hf_writer_on(room, sizeof room);

	(void)state;
	hf_w_json(&w, hf_bytes_of("a\"\\/\n\r\t\0\x1f\x7e\x7f\xc3\xa9", 13));
	is(&w, "\"a\\\"\\\\/\\n\\r\\t\\u0000\\u001f~\\u007f\\u00c3\\u00a9\"");
	w = hf_writer_on(room, sizeof room);
	hf_w_json(&w, HF_NONE);
	is(&w, "\"\"");
}

static void test_escaped(void **state)
{
	struct hf_writer w = hf_writer_on(room, sizeof room);

	(void)state;
	hf_w_escaped(&w, hf_bytes_of("a \"\\\n\0\x7f\xff~", 9));
	is(&w, "a \\x22\\x5c\\x0a\\x00\\x7f\\xff~");
}

/* Fails where a backslash, which a domain's users have, is taken for an octet that must not be shown, or where one such is. */
static void test_printable(void **state)
{
	struct hf_writer w = hf_writer_on(room, sizeof room), again;
	uint8_t twice[64];

	(void)state;
	hf_w_printable(&w, hf_bytes_of("CORP\\alice \"\n\0\x1b\x7f\xff~", 18));
	is(&w, "CORP\\alice \"\\x0a\\x00\\x1b\\x7f\\xff~");
	again = hf_writer_on(twice, sizeof twice);
	hf_w_printable(&again, hf_writer_view(&w));
	is(&again, "CORP\\alice \"\\x0a\\x00\\x1b\\x7f\\xff~");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_full), cmocka_unit_test(test_base64url), cmocka_unit_test(test_base32hex), cmocka_unit_test(test_base32hex_refused), cmocka_unit_test(test_base32hex_each),
		cmocka_unit_test(test_json), cmocka_unit_test(test_escaped), cmocka_unit_test(test_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
