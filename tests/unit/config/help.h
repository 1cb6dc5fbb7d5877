/* What the tests of the configuration share: a parse of literal text, and looks at what was found. Included by one source a program. */
#ifndef TEST_HELP_H
#define TEST_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "holdfast/config.h"

#define GOOD_SERVICE "[service calls]\nprotocol = tide\nlisten = udp://192.0.2.1:7000\npool = pbx\n"
#define GOOD_POOL "[pool pbx]\nserver = a 192.0.2.11\n"

static struct hf_findings found;
static struct hf_conf *conf;

static enum hf_err parse_n(const char *text, size_t n)
{
	hf_conf_free(conf);
	hf_findings_free(&found);
	conf = NULL;
	return hf_conf_parse("t.ini", hf_bytes_of(text, n), &conf, &found);
}

static inline enum hf_err parse(const char *text)
{
	return parse_n(text, strlen(text));
}

/* A finding of that line whose text has `part` in it. */
static bool has(bool error, unsigned line, const char *part)
{
	for (unsigned i = 0; i < found.n; i++)
		if (found.list[i].error == error && found.list[i].line == line && strstr(found.list[i].text, part))
			return true;
	return false;
}

static inline void show(void)
{
	for (unsigned i = 0; i < found.n; i++)
		print_message("  found %u: %s%s\n", found.list[i].line, found.list[i].error ? "" : "warning: ", found.list[i].text);
}

/* The text gives just this one error. */
static inline void refuses(const char *text, unsigned line, const char *part)
{
	enum hf_err e = parse(text);

	if (e != HF_EINVAL || found.errors != 1 || !has(true, line, part)) {
		print_message("text:\n%s\nwanted line %u: %s\n", text, line, part);
		show();
		fail();
	}
	assert_null(conf);
}

static inline void accepts(const char *text)
{
	if (parse(text) != HF_OK) {
		print_message("text:\n%s\n", text);
		show();
		fail();
	}
	assert_int_equal(found.errors, 0);
}

static inline int drop_all(void **state)
{
	(void)state;
	hf_conf_free(conf);
	hf_findings_free(&found);
	conf = NULL;
	return 0;
}

#endif
