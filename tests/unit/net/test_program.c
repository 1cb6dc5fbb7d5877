/* Programs that are run once, on a loop of the test's own; /bin/sh is the program, and what it is told to do is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast/front.h"
#include "program.h"

const struct hf_front *const hf_fronts[] = {NULL};

static struct hf_loop *loop;
static struct programs *all;
static struct hf_timer *limit;
static unsigned ends;
static int status;
static char said[PROGRAM_SAID];
static bool late;

static unsigned rooms;
static void room(void *arg) { (void)arg, rooms++; }

static void ended(void *arg, int st, const char *text)
{
	(void)arg;
	ends++;
	status = st;
	snprintf(said, sizeof said, "%s", text);
	hf_loop_stop(loop);
}

static void too_late(void *arg)
{
	late = true;
	hf_loop_stop(arg);
}

/* Turns the loop until a program has ended; false: not within ms. */
static bool turn(unsigned ms)
{
	late = false;
	hf_timer_set(limit, ms);
	hf_loop_run(loop);
	hf_timer_stop(limit);
	return !late;
}

static struct program *start(const char *script)
{
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char *)script, (char[]){"probe"}, (char[]){"192.0.2.7"}, NULL};

	return program_start(all, argv, ended, NULL);
}

static void run(const char *script)
{
	ends = 0;
	assert_non_null(start(script));
	assert_true(turn(10000));
	assert_int_equal(ends, 1);
}

static bool no_children(void) { return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD; }

static int set_up(void **state)
{
	(void)state;
	loop = hf_loop_new();
	all = loop ? programs_new(loop, room, NULL) : NULL;
	limit = loop ? hf_timer_new(loop, too_late, loop) : NULL;
	return all && limit ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	programs_free(all);
	hf_timer_free(limit);
	hf_loop_free(loop);
	return no_children() ? 0 : -1;
}

/* How it ended, and the first line, escaped; each row fails without its line in program_said or with another status. */
static void test_ends(void **state)
{
	static const struct { const char *script; int code; const char *said; } t[] = {
		{"exit 0", 0, ""},
		{"echo; exit 3", 3, ""},
		{"echo $1; echo more; exit 1", 1, "192.0.2.7"},
		{"echo both >&2; exit 1", 1, "both"},
		{"printf 'no line end'", 0, "no line end"},
		{"printf 'a\"b\\033\\\\'", 0, "a\\x22b\\x1b\\x5c"},
		{"cat; echo empty input", 0, "empty input"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		run(t[i].script);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), t[i].code);
		assert_string_equal(said, t[i].said);
	}
	run("kill -TERM $$");
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	run("i=0; while [ $i -lt 100 ]; do printf 0123456789; i=$((i+1)); done");
	assert_int_equal(strlen(said), PROGRAM_SAID - 1);
	assert_true(no_children());
}

/* Nothing of ours is its: no descriptor above 2 (fails without closefrom, as fd has no CLOEXEC), no variable, no signal that we ignore. */
static void test_bare(void **state)
{
	int fd = open("/dev/null", O_RDONLY);

	(void)state;
	assert_true(fd > 2);
	setenv("HOLDFAST_SECRET", "x", 1);
	signal(SIGPIPE, SIG_IGN);
	run("for f in 3 4 5 6 7 8 9; do (: <&$f) 2>/dev/null && exit 1; done; [ -z \"$HOLDFAST_SECRET\" ] || exit 2; kill -PIPE $$; exit 3");
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
	close(fd);
}

/* Who started us may ignore the ends of children, and hands that down. Fails when nobody takes it back: then there is nothing to wait for, and no end. */
static void test_ignored_children(void **state)
{
	programs_free(all);
	signal(SIGCHLD, SIG_IGN);
	all = programs_new(loop, room, NULL);
	test_ends(state);
	signal(SIGCHLD, SIG_DFL);
}

/* Gone, or waiting for its new parent to see so. */
static bool is_dead(const char *pid)
{
	char path[96], stat[200] = "";
	bool dead = true;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	f = fopen(path, "r");
	if (f) {
		dead = !fgets(stat, sizeof stat, f) || strstr(stat, ") Z ");
		fclose(f);
	}
	return dead;
}

/* What it leaves behind in its group ends with it; fails without the kill in reap. */
static void test_group(void **state)
{
	(void)state;
	run("sleep 600 & echo $!; exit 0");
	assert_true(said[0] >= '1' && said[0] <= '9');
	for (unsigned i = 0; i < 5000 && !is_dead(said); i++)
		usleep(1000);
	assert_true(is_dead(said));
}

/* One that is left is killed, reaped, and nobody is told; what it has said so far can be had. Fails without the kill in program_leave (it sleeps for
 * ten minutes), or when ended() calls a done that has left. */
static void test_left(void **state)
{
	struct program *p = start("echo half; exec sleep 600");
	char so_far[PROGRAM_SAID] = "";

	(void)state;
	assert_non_null(p);
	for (unsigned i = 0; i < 5000 && !*so_far; i++) {
		program_said(p, so_far);
		usleep(1000);
	}
	assert_string_equal(so_far, "half");
	ends = 0;
	program_leave(p);
	for (unsigned i = 0; i < 500 && !no_children(); i++)
		(void)turn(20);
	assert_true(no_children());
	assert_int_equal(ends, 0);
}

/* So many and no more say programs_full; one that fills its pipe waits there; there is room
 * again when one has ended, also one that was left. programs_free ends them all (tear_down looks for children). */
static void test_full(void **state)
{
	struct program *first = NULL;

	(void)state;
	for (unsigned i = 0; i < PROGRAMS_MAX; i++) {
		struct program *p = start("while :; do echo and on and on; done");

		assert_false(i < PROGRAMS_MAX - 1 && programs_full(all));
		assert_non_null(p);
		first = first ? first : p;
	}
	assert_true(programs_full(all));
	rooms = 0;
	program_leave(first);
	for (unsigned i = 0; i < 500 && programs_full(all); i++)
		(void)turn(20);
	assert_false(programs_full(all));
	assert_int_equal(rooms, 1);
}

/* Why it cannot be run, and nothing is left of it; fails when the errno of the spawn is lost. */
static void test_refused(void **state)
{
	char *argv[] = {(char[]){"/nonexistent/probe"}, NULL}, *dir[] = {(char[]){"/tmp"}, NULL};

	(void)state;
	assert_null(program_start(all, argv, ended, NULL));
	assert_int_equal(errno, ENOENT);
	assert_null(program_start(all, dir, ended, NULL));
	assert_int_equal(errno, EACCES);
	assert_true(no_children());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ends, set_up, tear_down), cmocka_unit_test_setup_teardown(test_ignored_children, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bare, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_group, set_up, tear_down), cmocka_unit_test_setup_teardown(test_left, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down), cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
