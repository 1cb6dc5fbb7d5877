/* Lines of the admin socket. A refusal is checked by its text, so the removal of any check in src/app/command.c is seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "command.h"

static char why_text[2048];

static enum hf_err read_line(const char *line, struct command *c)
{
	struct hf_writer why = hf_writer_on(why_text, sizeof why_text - 1);
	enum hf_err e = command_read(hf_bytes_str(line), c, &why);

	assert_false(why.full);
	why_text[why.n] = 0;
	return e;
}

static void assert_bytes(struct hf_bytes b, const char *want)
{
	assert_int_equal(b.n, strlen(want));
	if (b.n)
		assert_memory_equal(b.p, want, b.n);
}

static void reads_good_lines(void **state)
{
	static const struct { const char *line; enum command_kind kind; const char *pool, *server, *key; unsigned weight; bool of_file; } good[] = {
		{"status", COMMAND_STATUS, "", "", "", 0, false},
		{"  status\t ", COMMAND_STATUS, "", "", "", 0, false},
		{"servers", COMMAND_SERVERS, "", "", "", 0, false},
		{"reload", COMMAND_RELOAD, "", "", "", 0, false},
		{"drain pbx1", COMMAND_DRAIN, "", "pbx1", "", 0, false},
		{"drain pbx/pbx1", COMMAND_DRAIN, "pbx", "pbx1", "", 0, false},
		{"undrain  pbx1", COMMAND_UNDRAIN, "", "pbx1", "", 0, false},
		{"off pbx/pbx1", COMMAND_OFF, "pbx", "pbx1", "", 0, false},
		{"on pbx1", COMMAND_ON, "", "pbx1", "", 0, false},
		{"weight pbx1 0", COMMAND_WEIGHT, "", "pbx1", "", 0, false},
		{"weight pbx/pbx1 256", COMMAND_WEIGHT, "pbx", "pbx1", "", 256, false},
		{"weight pbx1 0050", COMMAND_WEIGHT, "", "pbx1", "", 50, false},
		{"weight pbx1 file", COMMAND_WEIGHT, "", "pbx1", "", 0, true},
		{"where abc", COMMAND_WHERE, "", "", "abc", 0, false},
		{"where call-id:a@b", COMMAND_WHERE, "", "", "call-id:a@b", 0, false},
		{"where user:john  smith ", COMMAND_WHERE, "", "", "user:john  smith", 0, false},
		{"where --pool pbx user:x y", COMMAND_WHERE, "pbx", "", "user:x y", 0, false},
		{"where user:x y --pool pbx", COMMAND_WHERE, "pbx", "", "user:x y", 0, false},
		{"where --pool a --pool b x --pool c", COMMAND_WHERE, "c", "", "x", 0, false},
		{"move user:x ts2 --pool p", COMMAND_MOVE, "p", "ts2", "user:x", 0, false},
		{"forget x --pool p", COMMAND_FORGET, "p", "", "x", 0, false},
		{"explain user:x --pool p", COMMAND_EXPLAIN, "p", "", "user:x", 0, false},
		{"where --poolx", COMMAND_WHERE, "", "", "--poolx", 0, false},
		{"sessions", COMMAND_SESSIONS, "", "", "", 0, false},
		{"sessions --limit 3 --server s1 --pool p", COMMAND_SESSIONS, "p", "s1", "", 0, false},
		{"move user:john smith ts2", COMMAND_MOVE, "", "ts2", "user:john smith", 0, false},
		{"move --pool p x ts2", COMMAND_MOVE, "p", "ts2", "x", 0, false},
		{"forget --pool p x y", COMMAND_FORGET, "p", "", "x y", 0, false},
		{"token --user alice --ttl 8h --server ts1 --pool p", COMMAND_TOKEN, "p", "ts1", "", 0, false},
		{"token --ttl 3650d --server ts1", COMMAND_TOKEN, "", "ts1", "", 0, false},
		{"simulate add s9", COMMAND_SIMULATE, "", "s9", "", 100, false},
		{"simulate add s9 weight=7 --pool p", COMMAND_SIMULATE, "p", "s9", "", 7, false},
		{"simulate --pool p add s9 --pool q", COMMAND_SIMULATE, "q", "s9", "", 100, false},
		{"simulate weight p/s1 256", COMMAND_SIMULATE, "p", "s1", "", 256, false},
		{"simulate remove s1 --pool p", COMMAND_SIMULATE, "p", "s1", "", 0, false},
		{"explain a b", COMMAND_EXPLAIN, "", "", "a b", 0, false},
		{"explain --pool p user:x", COMMAND_EXPLAIN, "p", "", "user:x", 0, false},
		{"explain --message 00 --pool p", COMMAND_EXPLAIN, "p", "", "", 0, false},
	};
	struct command c;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_int_equal(read_line(good[i].line, &c), HF_OK);
		assert_int_equal(c.kind, good[i].kind);
		assert_bytes(c.pool, good[i].pool);
		assert_bytes(c.server, good[i].server);
		assert_bytes(c.key, good[i].key);
		assert_int_equal(c.weight, good[i].weight);
		assert_int_equal(c.weight_of_file, good[i].of_file);
	}
}

static void refuses_bad_lines(void **state)
{
	static const struct { const char *line; enum hf_err e; const char *why; } bad[] = {
		{"", HF_EINVAL, "no command ''; nearest: on, off, move"},
		{"drian x", HF_EINVAL, "no command 'drian'; nearest: drain, undrain, on"},
		{"STATUS", HF_EINVAL, "no command 'STATUS'; nearest: status, servers, drain"},
		{"status now", HF_EINVAL, "there is more than was expected: 'now' (usage: status)"},
		{"servers pbx", HF_EINVAL, "there is more than was expected: 'pbx' (usage: servers)"},
		{"token", HF_EINVAL, "a token names a user, a server or both (usage: token [--pool POOL] [--user USER] [--server SERVER] [--ttl TIME])"},
		{"token --user", HF_EINVAL, "--user wants a user (usage: token [--pool POOL] [--user USER] [--server SERVER] [--ttl TIME])"},
		{"token --user a b", HF_EINVAL, "there is more than was expected: 'b' (usage: token [--pool POOL] [--user USER] [--server SERVER] [--ttl TIME])"},
		{"token --user a --ttl 999ms", HF_ERANGE, "--ttl wants a time from 1s to 3650d, with s, m, h or d; got '999ms' (usage: token [--pool POOL] [--user USER] [--server SERVER] [--ttl TIME])"},
		{"token --user a --ttl 3651d", HF_ERANGE, "--ttl wants a time from 1s to 3650d, with s, m, h or d; got '3651d' (usage: token [--pool POOL] [--user USER] [--server SERVER] [--ttl TIME])"},
		{"token --user a --ttl 60", HF_ERANGE, "--ttl wants a time from 1s to 3650d, with s, m, h or d; got '60' (usage: token [--pool POOL] [--user USER] [--server SERVER] [--ttl TIME])"},
		{"reload all of it", HF_EINVAL, "there is more than was expected: 'all of it' (usage: reload)"},
		{"drain", HF_EINVAL, "a server is named as SERVER or POOL/SERVER (usage: drain [POOL/]SERVER)"},
		{"drain /pbx1", HF_EINVAL, "a server is named as SERVER or POOL/SERVER (usage: drain [POOL/]SERVER)"},
		{"drain pbx/", HF_EINVAL, "a server is named as SERVER or POOL/SERVER (usage: drain [POOL/]SERVER)"},
		{"drain a b", HF_EINVAL, "there is more than was expected: 'b' (usage: drain [POOL/]SERVER)"},
		{"undrain", HF_EINVAL, "a server is named as SERVER or POOL/SERVER (usage: undrain [POOL/]SERVER)"},
		{"weight", HF_EINVAL, "a server is named as SERVER or POOL/SERVER (usage: weight [POOL/]SERVER 0..256|file)"},
		{"weight a", HF_EINVAL, "a weight is a number from 0 to 256, or the word file; got '' (usage: weight [POOL/]SERVER 0..256|file)"},
		{"weight a 257", HF_ERANGE, "a weight is a number from 0 to 256, or the word file; got '257' (usage: weight [POOL/]SERVER 0..256|file)"},
		{"weight a 18446744073709551616", HF_ERANGE,
			"a weight is a number from 0 to 256, or the word file; got '18446744073709551616' (usage: weight [POOL/]SERVER 0..256|file)"},
		{"weight a -1", HF_EINVAL, "a weight is a number from 0 to 256, or the word file; got '-1' (usage: weight [POOL/]SERVER 0..256|file)"},
		{"weight a 1x", HF_EINVAL, "a weight is a number from 0 to 256, or the word file; got '1x' (usage: weight [POOL/]SERVER 0..256|file)"},
		{"simulate add s9 weight=", HF_ERANGE, "a weight is a number from 0 to 256; got '' (usage: simulate [--pool POOL] add SERVER [weight=0..256] | remove SERVER | drain SERVER | "
			"undrain SERVER | weight SERVER 0..256)"},
		{"where x --pool", HF_EINVAL, "--pool wants the name of a pool (usage: where [--pool POOL] [KIND:]KEY)"},
		{"weight a FILE", HF_EINVAL, "a weight is a number from 0 to 256, or the word file; got 'FILE' (usage: weight [POOL/]SERVER 0..256|file)"},
		{"weight a 5 5", HF_EINVAL, "there is more than was expected: '5' (usage: weight [POOL/]SERVER 0..256|file)"},
		{"where", HF_EINVAL, "the key is missing: [KIND:]KEY (usage: where [--pool POOL] [KIND:]KEY)"},
		{"where --pool", HF_EINVAL, "--pool wants the name of a pool (usage: where [--pool POOL] [KIND:]KEY)"},
		{"move ts2", HF_EINVAL, "a key and the server that it is to go to are wanted (usage: move [--pool POOL] [KIND:]KEY SERVER)"},
		{"sessions --limit 0", HF_ERANGE, "--limit wants a number from 1 to 10000; got '0' (usage: sessions [--pool POOL] [--server SERVER] [--limit 1..10000])"},
		{"sessions --limit 10001", HF_ERANGE, "--limit wants a number from 1 to 10000; got '10001' (usage: sessions [--pool POOL] [--server SERVER] [--limit 1..10000])"},
		{"sessions x", HF_EINVAL, "there is more than was expected: 'x' (usage: sessions [--pool POOL] [--server SERVER] [--limit 1..10000])"},
		{"where --pool pbx", HF_EINVAL, "the key is missing: [KIND:]KEY (usage: where [--pool POOL] [KIND:]KEY)"},
	};
	struct command c;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(read_line(bad[i].line, &c), bad[i].e);
		assert_string_equal(why_text, bad[i].why);
	}
}

/* What was typed comes back escaped and cut (command_quote): a log or terminal is safe from it, and the sentence has room. */
static void errors_repeat_little_and_safely(void **state)
{
	char line[COMMAND_LINE_MAX];
	struct command c;

	(void)state;
	assert_int_equal(read_line("a\x1b[2J\"", &c), HF_EINVAL);
	assert_non_null(strstr(why_text, "'a\\x1b[2J\"'"));
	memset(line, 'x', sizeof line - 1);
	line[sizeof line - 1] = 0;
	assert_int_equal(read_line(line, &c), HF_EINVAL);
	assert_true(strlen(why_text) < 200);
	assert_non_null(strstr(why_text, "xxx...'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_good_lines), cmocka_unit_test(refuses_bad_lines), cmocka_unit_test(errors_repeat_little_and_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
