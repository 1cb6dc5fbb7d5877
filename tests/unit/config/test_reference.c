/* The files in conf/ against the protocols of the program: holdfast.ini is what --print-config says, the examples are valid. */
#include "optrows.h"
#include "optval.h"
#include "print.h"

#ifndef HF_SOURCE_DIR
#define HF_SOURCE_DIR "."
#endif

static size_t slurp(const char *name, char *buf, size_t cap)
{
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(buf, 1, cap - 1, f) : 0;

	if (!f)
		fail_msg("%s is not there", name);
	fclose(f);
	buf[n] = 0;
	return n;
}

/* Said by name, since a bad row stops every start. Fails for a row whose default its own reader refuses. */
static void test_rows_take_their_defaults(void **state)
{
	(void)state;
	for (unsigned i = 0; hf_fronts[i]; i++) {
		const struct hf_front *f = hf_fronts[i];
		_Alignas(16) char *blob = test_calloc(1, f->conf_size + 1);

		for (unsigned r = 0; r < f->n_options; r++) {
			const struct hf_option *row = &f->options[r];
			char why[200];
			struct hf_writer w = hf_writer_on(why, sizeof why);
			struct hf_bytes name = hf_bytes_str(row->name);

			if (row->dflt && optval_read(row, hf_bytes_str(row->dflt), blob, &w) != HF_OK)
				fail_msg("%s: %s = %s: %.*s", f->name, row->name, row->dflt, (int)w.n, why);
			if (optrows_find(&optrows_service, name) || optrows_find(&optrows_pool, name) || !row->help || (row->sections & HF_IN_GATEWAY))
				fail_msg("%s: %s: a common name, no help, or no section of a front's", f->name, row->name);
			if (row->sections == (HF_IN_SERVICE | HF_IN_POOL)) /* a pool has one answer, and its services have copies of it */
				fail_msg("%s: %s: stands in services and in pools, where two could disagree unseen", f->name, row->name);
		}
		for (unsigned d = 0; d < f->n_defaults; d++) {
			struct hf_bytes name = hf_bytes_str(f->defaults[d].option);

			if (!optrows_find(&optrows_service, name) && !optrows_find(&optrows_pool, name))
				fail_msg("%s: a default for %s, which no common option is", f->name, f->defaults[d].option);
		}
		test_free(blob);
	}
}

static void test_reference(void **state)
{
	(void)state;
	check_reference();
}

/* Fails when a row changed and conf/holdfast.ini was not made anew. */
static void test_holdfast_ini(void **state)
{
	static char file[sizeof printed];

	(void)state;
	print_all();
	slurp(HF_SOURCE_DIR "/conf/holdfast.ini", file, sizeof file);
	if (strcmp(file, printed) != 0)
		fail_msg("conf/holdfast.ini is not what the program prints: holdfast --print-config > conf/holdfast.ini");
}

/* Fails when an option of an example was renamed or its range changed. */
static void test_examples(void **state)
{
	static const char *const names[] = {HF_SOURCE_DIR "/conf/sip.ini", HF_SOURCE_DIR "/conf/rdp.ini", HF_SOURCE_DIR "/conf/examples/web-phones.ini"};
	static char file[sizeof printed];

	(void)state;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		slurp(names[i], file, sizeof file);
		accepts(file);
		if (found.n != 1)
			show();
		assert_int_equal(found.errors, 0);
		assert_int_equal(found.n, 1); /* that a second gateway would need the secret */
		assert_non_null(strstr(found.list[0].text, "cluster-secret-file"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_take_their_defaults), cmocka_unit_test_teardown(test_reference, drop_all),
		cmocka_unit_test_teardown(test_holdfast_ini, drop_all), cmocka_unit_test_teardown(test_examples, drop_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
