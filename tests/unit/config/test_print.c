/* The reference, with protocols of the test. */
#include "fronts.h"
#include "optrows.h"
#include "optval.h"
#include "print.h"

/* Every default as printed is the default as loaded, of common options and a front's. Fails when print.c shows row->dflt in
 * place of optrows_default, or when a default's text is not what its row would take. */
static void test_defaults_are_printed(void **state)
{
	static const struct optrows *const common[] = {&optrows_gateway, &optrows_service, &optrows_pool};
	static char all[sizeof printed];
	struct hf_conf *a;

	(void)state;
	check_reference();
	print_all();
	memcpy(all, printed, printed_n + 1);
	accepts(printed);
	a = conf;
	conf = NULL;
	uncomment(all);
	accepts(all);
	for (unsigned t = 0; t < 3; t++)
		for (unsigned i = 0; i < common[t]->n; i++) {
			const struct hf_option *row = &common[t]->rows[i];
			const void *x[] = {&a->gateway, &a->services[1], &a->pools[1]}, *y[] = {&conf->gateway, &conf->services[1], &conf->pools[1]};

			if (!optval_same(row, x[t], y[t]))
				fail_msg("%s", row->name);
		}
	for (unsigned i = 0; i < 3; i++) /* those without custom readers, whose struct has padding */
		assert_true(optval_same(&tide_options[i], a->services[0].front_conf, conf->services[0].front_conf));
	assert_true(a->pools[0].probe == HF_CONF_PROBE_FRONT && conf->pools[0].probe == HF_CONF_PROBE_FRONT);
	hf_conf_free(a);
}

/* Each option stands there once a protocol with help, range and reload class. Fails without the parts of explain(). */
static void test_what_a_row_says(void **state)
{
	(void)state;
	print_all();
	assert_non_null(strstr(printed, "\n# How long a wave is. (1ms..1m)\n#swell = 2s\n"));
	assert_non_null(strstr(printed, "\n# How deep. (1..99 fathoms) A change holds for what is new.\n#depth = 7\n"));
	assert_non_null(strstr(printed, "\n# Whether it roars. (no) May stand in [service NAME] too.\n#loud = no\n"));
	assert_non_null(strstr(printed, "\n# What it is called. (1..8 octets) A change takes a restart.\n#label =\n"));
	assert_non_null(strstr(printed, "(none | connect | program | sound)\n#probe = sound\n"));
	assert_non_null(strstr(printed, "\n#load-factor = 1.5\n"));
	assert_non_null(strstr(printed, "\n#load-factor = 1.25\n"));
	assert_non_null(strstr(printed, "\nprotocol = reef\n"));
	assert_non_null(strstr(printed, "(hash | least-sessions | round-robin | random)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_defaults_are_printed, drop_all), cmocka_unit_test_teardown(test_what_a_row_says, drop_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
