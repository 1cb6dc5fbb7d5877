/* The reference as text, for the tests of it. */
#ifndef TEST_PRINT_H
#define TEST_PRINT_H

#include "help.h"

static char printed[1 << 17];
static size_t printed_n;

static void keep_line(void *arg, const char *text)
{
	size_t n = strlen(text);

	(void)arg;
	assert_true(printed_n + n + 2 < sizeof printed);
	assert_null(strchr(text, '\n'));
	memcpy(printed + printed_n, text, n);
	printed[printed_n + n] = '\n';
	printed_n += n + 1;
	printed[printed_n] = 0;
}

static void print_all(void)
{
	printed_n = 0;
	hf_conf_print(keep_line, NULL);
}

/* The reference with every `#name = value` line taken into force; those without a value stay comments. Returns how many. */
static unsigned uncomment(char *text)
{
	unsigned n = 0;
	char *to = text;

	for (char *p = text; *p;) {
		char *end = strchr(p, '\n'), *eq = strstr(p, " = ");

		if (*p == '#' && p[1] != ' ' && eq && eq < end) {
			p++;
			n++;
		}
		memmove(to, p, (size_t)(end + 1 - p));
		to += end + 1 - p;
		p = end + 1;
	}
	*to = 0;
	return n;
}

/* The reference is a file without a fault, and so it is with all its defaults written out: they are the same values. */
static void check_reference(void)
{
	static char all[sizeof printed];
	struct hf_conf *by_default;
	struct hf_findings none = {NULL, 0, 0, 0};

	print_all();
	memcpy(all, printed, printed_n + 1);
	accepts(printed);
	by_default = conf;
	conf = NULL;
	assert_true(uncomment(all) > 20);
	accepts(all);
	assert_true(conf->n_services == by_default->n_services && conf->n_pools == by_default->n_pools && conf->n_services == conf->n_pools);
	for (unsigned i = 0; i < conf->n_services; i++) {
		const struct hf_conf_service *a = &conf->services[i], *b = &by_default->services[i];

		assert_true(a->front == b->front && a->front == hf_fronts[i]);
		assert_int_equal(a->handshake_timeout, b->handshake_timeout);
		assert_int_equal(a->receive_buffer, b->receive_buffer);
	}
	assert_int_equal(hf_conf_may_reload(by_default, conf, &none), HF_OK);
	assert_int_equal(none.n, 0);
	hf_findings_free(&none);
	hf_conf_free(by_default);
}

#endif
