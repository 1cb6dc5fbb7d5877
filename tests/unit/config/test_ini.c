/* The INI reader: what is taken, and each form of line that is not, with its line number. */
#include "fronts.h"
#include "help.h"

/* Fails without the trims in ini.c (entry) and without its CR line. */
static void test_blanks_and_line_ends(void **state)
{
	(void)state;
	accepts("  # a comment\r\n\t; another\r\n\r\n[ service   calls ]\r\n\tprotocol=tide \t\r\nlisten\t=  192.0.2.1:7000\r\n  pool = pbx\r\n[pool pbx]\r\nserver = a\t192.0.2.11   weight=7");
	assert_string_equal(conf->services[0].name, "calls");
	assert_string_equal(conf->pools[0].servers[0].name, "a");
	assert_int_equal(conf->pools[0].servers[0].weight, 7);
	assert_int_equal(conf->pools[0].servers[0].line, 9);
}

/* Fails without the byte order mark's line in ini_read(); elsewhere it is no blank. */
static void test_byte_order_mark(void **state)
{
	(void)state;
	refuses(GOOD_SERVICE GOOD_POOL "\xef\xbb\xbf" "slots = 16\n", 7, "neither [SECTION] nor NAME = VALUE");
	accepts("\xef\xbb\xbf" GOOD_SERVICE GOOD_POOL);
}

/* One form of fault a row; each fails without the check that says its text. */
static void test_forms_refused(void **state)
{
	static const struct { const char *text; unsigned line; const char *part; } rows[] = {
		{"workers = 4\n" GOOD_SERVICE GOOD_POOL, 1, "before the first [SECTION]"},
		{GOOD_SERVICE GOOD_POOL "[gateway\n", 7, "ends in ]"},
		{GOOD_SERVICE GOOD_POOL "[]\n", 7, "needs a name"},
		{GOOD_SERVICE GOOD_POOL "[ ]\n", 7, "needs a name"},
		{GOOD_SERVICE GOOD_POOL "[gateway] # x\n", 7, "ends in ]"},
		{GOOD_SERVICE GOOD_POOL "[pool a b]\n", 7, "one word"},
		{GOOD_SERVICE GOOD_POOL "[pool -a]\n", 7, "letter or digit first"},
		{GOOD_SERVICE GOOD_POOL "[pool \xc3\xa9]\n", 7, "\\xc3\\xa9"},
		{GOOD_SERVICE GOOD_POOL "[gateway x]\n", 7, "has no name of its own"},
		{GOOD_SERVICE GOOD_POOL "[pool]\n", 7, "needs a name"},
		{GOOD_SERVICE GOOD_POOL "[gateway]\nworkers\n", 8, "neither [SECTION] nor NAME = VALUE"},
		{GOOD_SERVICE GOOD_POOL "[gateway]\n= 4\n", 8, "neither [SECTION] nor NAME = VALUE"},
		{GOOD_SERVICE GOOD_POOL "[gateway]\nwork ers = 4\n", 8, "neither [SECTION] nor NAME = VALUE"},
		{GOOD_SERVICE GOOD_POOL "[gateway]\nworkers =\n", 8, "has no value"},
		{GOOD_SERVICE GOOD_POOL "[gateway]\nworkers = \t \n", 8, "has no value"},
		{GOOD_SERVICE GOOD_POOL "# a\x01\n", 7, "control octet 0x01 at column 4"},
		{GOOD_SERVICE GOOD_POOL "# a\rb\n", 7, "control octet 0x0d"},
		{GOOD_SERVICE GOOD_POOL "# \x7f\n", 7, "control octet 0x7f"},
		{GOOD_SERVICE GOOD_POOL "[gateways]\nx = 1\n", 7, "did you mean gateway?"},
		{GOOD_SERVICE GOOD_POOL "[elsewhere]\n", 7, "there are [gateway], [service NAME] and [pool NAME]"},
		{GOOD_SERVICE GOOD_POOL GOOD_POOL, 7, "[pool pbx]: stands in line 5 already"},
		{"[gateway]\n[gateway]\n" GOOD_SERVICE GOOD_POOL, 2, "[gateway]: stands in line 1 already"},
		{GOOD_SERVICE "pool = pbx\n" GOOD_POOL, 5, "pool: given twice in this section, first in line 4"},
		{GOOD_SERVICE GOOD_POOL "slots = 16\nslots = 16\n", 8, "slots: given twice in this section, first in line 7"},
		{"", 1, "nothing to do"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		refuses(rows[i].text, rows[i].line, rows[i].part);
}

/* Fails when clean() in ini.c stops at a NUL. */
static void test_nul_is_refused(void **state)
{
	static const char text[] = GOOD_SERVICE GOOD_POOL "[gateway]\nuser = a\0b\n";

	(void)state;
	assert_int_equal(parse_n(text, sizeof text - 1), HF_EINVAL);
	assert_true(has(true, 8, "control octet 0x00 at column 9"));
}

/* 4096 octets pass, one more does not; fails without the INI_LINE_MAX check. */
static void test_line_length(void **state)
{
	static char text[5000];
	int n = snprintf(text, sizeof text, "%s%s", GOOD_SERVICE, GOOD_POOL);

	(void)state;
	memset(text + n, '#', 4096);
	assert_int_equal(parse_n(text, (size_t)n + 4096), HF_OK);
	text[n + 4096] = '#';
	assert_int_equal(parse_n(text, (size_t)n + 4097), HF_EINVAL);
	assert_true(has(true, 7, "a line of 4097 octets: at most 4096"));
}

/* Fails without the INI_FILE_MAX check of hf_conf_parse. */
static void test_file_size(void **state)
{
	static char text[(1 << 20) + 1];
	int n = snprintf(text, sizeof text, "%s%s", GOOD_SERVICE, GOOD_POOL);

	(void)state;
	memset(text + n, '\n', sizeof text - (size_t)n);
	assert_int_equal(parse_n(text, 1 << 20), HF_OK);
	assert_int_equal(parse_n(text, (1 << 20) + 1), HF_EINVAL);
	assert_true(has(true, 0, "longer than 1048576 octets"));
}

/* Names of 63 octets pass, of 64 do not; fails without the bound in ini_is_name, and the sanitizer names copy_name. */
static void test_name_length(void **state)
{
	char name[65], text[400];

	(void)state;
	memset(name, 'n', 64);
	name[64] = 0;
	snprintf(text, sizeof text, GOOD_SERVICE "[pool pbx]\nserver = %s 192.0.2.11\n", name + 1);
	accepts(text);
	assert_string_equal(conf->pools[0].servers[0].name, name + 1);
	snprintf(text, sizeof text, GOOD_SERVICE "[pool pbx]\nserver = %s 192.0.2.11\nserver = b 192.0.2.12\n", name);
	refuses(text, 6, "a name is 1 to 63");
	snprintf(text, sizeof text, GOOD_SERVICE GOOD_POOL "[pool %s]\n", name);
	refuses(text, 7, "a name is one word");
}

/* What other formats would cut off stays, and is said; fails without surprises() in ini.c. */
static void test_surprises_are_warned_of(void **state)
{
	(void)state;
	accepts("[gateway]\nstate-dir = /srv/a # b\nrun-dir = \"/run/x\"\n" GOOD_SERVICE GOOD_POOL);
	assert_true(hf_bytes_eq(conf->gateway.state_dir, HF_LIT("/srv/a # b")));
	assert_true(hf_bytes_eq(conf->gateway.run_dir, HF_LIT("\"/run/x\"")));
	assert_true(has(false, 2, "part of the value"));
	assert_true(has(false, 3, "quotes are part of the value"));
}

/* All errors come, in the order of the file, although they were found step by step; fails without finding_sort. */
static void test_all_are_listed_in_order(void **state)
{
	(void)state;
	assert_int_equal(parse("[gateway]\nworkers = 0\nfoo = 1\n[service a]\npool = none\n[pool b]\nslots = 1\nbar\n"), HF_EINVAL);
	for (unsigned i = 1; i < found.n; i++)
		assert_true(found.list[i - 1].line <= found.list[i].line);
	assert_true(has(true, 2, "workers = 0") && has(true, 3, "foo: unknown option") && has(true, 4, "no protocol line"));
	assert_true(has(true, 4, "no listen line") && has(true, 5, "there is no [pool none]") && has(true, 6, "no server line"));
	assert_true(has(true, 7, "slots = 1: 16..20") && has(true, 8, "neither"));
	assert_int_equal(found.errors, 8);
	assert_null(conf);
}

/* A file of nothing but faults costs bounded memory; fails without finding_full in finding_add. */
static void test_findings_are_bounded(void **state)
{
	static char text[200000];

	(void)state;
	for (size_t i = 0; i + 2 <= sizeof text; i += 2)
		memcpy(text + i, "x\n", 2);
	assert_int_equal(parse_n(text, sizeof text), HF_EINVAL);
	assert_int_equal(found.n, 1000);
	assert_true(found.errors > 90000);
	assert_true(strstr(found.list[999].text, "more than 1000 findings") != NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_blanks_and_line_ends, drop_all), cmocka_unit_test_teardown(test_forms_refused, drop_all), cmocka_unit_test_teardown(test_byte_order_mark, drop_all),
		cmocka_unit_test_teardown(test_nul_is_refused, drop_all), cmocka_unit_test_teardown(test_line_length, drop_all),
		cmocka_unit_test_teardown(test_file_size, drop_all), cmocka_unit_test_teardown(test_name_length, drop_all),
		cmocka_unit_test_teardown(test_surprises_are_warned_of, drop_all), cmocka_unit_test_teardown(test_all_are_listed_in_order, drop_all),
		cmocka_unit_test_teardown(test_findings_are_bounded, drop_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
