/* The log: whole lines, nothing that a peer sent breaks one, and a bound on what peers can cause. Reads its own stderr through a pipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "holdfast/clock.h"
#include "holdfast/log.h"

static int was, ends[2];
static char got[65536];

static int catch(void **state)
{
	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_true(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	was = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	hf_log_set_level(HF_LOG_INFO);
	return 0;
}

static int loose(void **state)
{
	(void)state;
	dup2(was, STDERR_FILENO);
	close(was);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static unsigned lines(void)
{
	ssize_t n = read(ends[0], got, sizeof got - 1);
	unsigned count = 0;

	got[n > 0 ? n : 0] = 0;
	for (char *p = got; *p; p++)
		count += *p == '\n';
	return count;
}

/* Fails without the escape in emit(). */
static void test_one_event_one_line(void **state)
{
	(void)state;
	hf_log(HF_LOG_INFO, "event=x text=%s", "a\nb\r\x1b[31m\x7f\xc3\xa9");
	assert_int_equal(lines(), 1);
	assert_string_equal(got, "event=x text=a\\x0ab\\x0d\\x1b[31m\\x7f\xc3\xa9\n");
}

/* A line too long is cut and still ends; fails without the bound in emit(). */
static void test_long_line(void **state)
{
	static char big[5000];

	(void)state;
	memset(big, '\n', sizeof big - 1);
	hf_log(HF_LOG_WARN, "%s", big);
	assert_int_equal(lines(), 1);
	assert_true(strlen(got) < 2048 && strlen(got) > 2000);
}

static void test_levels(void **state)
{
	(void)state;
	hf_log(HF_LOG_DEBUG, "event=no");
	hf_log_set_level(HF_LOG_ERROR);
	hf_log(HF_LOG_WARN, "event=no");
	hf_log(HF_LOG_ERROR, "event=yes");
	assert_int_equal(lines(), 1);
	assert_string_equal(got, "event=yes\n");
}

/* At most a burst a second and cause, other causes on their own. Done some times, so that one run lies within one second. */
static void test_limit(void **state)
{
	(void)state;
	for (unsigned try = 0; try < 8; try++) {
		uint64_t second = hf_clock_ms() / 1000;

		for (unsigned i = 0; i < 100; i++)
			hf_log_limited(HF_LOG_WARN, 10 + 2 * try, "event=a");
		hf_log_limited(HF_LOG_WARN, 11 + 2 * try, "event=b");
		if (lines() == HF_LOG_BURST + 1 && strstr(got, "event=b"))
			return;
		assert_true(hf_clock_ms() / 1000 != second);
	}
	fail();
}

/* Escaped, cut, and four of them hold at once; fails without the ring of hf_log_text. */
static void test_text(void **state)
{
	static uint8_t big[300];
	const char *a = hf_log_text(HF_LIT("a b\"\n\xff")), *b = hf_log_text(HF_LIT("b")), *c = hf_log_text(HF_LIT("c")), *d = hf_log_text(hf_bytes_of(big, sizeof big));

	(void)state;
	assert_string_equal(a, "a b\\x22\\x0a\\xff");
	assert_string_equal(b, "b");
	assert_string_equal(c, "c");
	assert_int_equal(strlen(d), 128 * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_event_one_line, catch, loose), cmocka_unit_test_setup_teardown(test_long_line, catch, loose),
		cmocka_unit_test_setup_teardown(test_levels, catch, loose), cmocka_unit_test_setup_teardown(test_limit, catch, loose), cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
