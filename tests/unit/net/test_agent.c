/* What agents say (net/agent_word.c): literal lines, cuts and refusals; and what becomes of it (net/agent.c): marks beside health and the operator,
 * shares and bounds. Engine and probe are real, no connection is made. */
#include "rig.h"

#include "agent.h"

static void none(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts) { (void)ctx, (void)ev, (void)acts; }

static int up(void **state)
{
	rig_step = none;
	return rig_up(state);
}

/* Fails when a word, a separator or a number of the list is not read, or text behind '#' is. */
static void words(void **state)
{
	static const struct { const char *line; struct agent_said want; bool known; } rows[] = {
		{"up", {.health = AGENT_UP}, true},
		{"DOWN", {.health = AGENT_DOWN}, true},
		{"fail#disk up 90%", {.health = AGENT_DOWN}, true},
		{"stopped # ready", {.health = AGENT_DOWN}, true},
		{"up ready 75%", {.health = AGENT_UP, .duty = AGENT_READY, .has_percent = true, .percent = 75}, true},
		{"75%,maxconn:30\tdrain", {.duty = AGENT_DRAIN, .has_percent = true, .percent = 75, .has_max = true, .max_sessions = 30}, true},
		{" ,, maint ,", {.duty = AGENT_MAINT}, true},
		{"0%", {.has_percent = true}, true},
		{"1000%", {.has_percent = true, .percent = 1000}, true},
		{"1001%", {.strange = 1}, false},
		{"MaxConn:4294967295", {.has_max = true, .max_sessions = UINT32_MAX}, true},
		{"maxconn:4294967296", {.strange = 1}, false},
		{"maxconn: 3", {.strange = 2}, false},
		{"maxconn:", {.strange = 1}, false},
		{"%", {.strange = 1}, false},
		{"-5%", {.strange = 1}, false},
		{"+5% up", {.health = AGENT_UP, .strange = 1}, true},
		{"5.5%", {.strange = 1}, false},
		{"99999999999999999999%", {.strange = 1}, false},
		{"upp down!", {.strange = 2}, false},
		{"up down", {.health = AGENT_DOWN}, true},
		{"drain ready", {.duty = AGENT_READY}, true},
		{"10% 20%", {.has_percent = true, .percent = 20}, true},
		{"", {.strange = 0}, false},
		{"#up", {.strange = 0}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct agent_said *w = &rows[i].want;
		struct agent_said s;
		bool known = agent_read(hf_bytes_str(rows[i].line), &s);

		if (known != rows[i].known || s.health != w->health || s.duty != w->duty || s.has_percent != w->has_percent || s.percent != w->percent ||
		    s.has_max != w->has_max || s.max_sessions != w->max_sessions || s.strange != w->strange)
			fail_msg("%s: %d %d %d %u %u %u", rows[i].line, known, s.health, s.duty, s.percent, s.max_sessions, s.strange);
	}
}

/* Fails when a line is taken before its end has come, or is longer than a line may be. */
static void lines(void **state)
{
	static const struct { const char *got; bool eof; enum hf_err e; size_t n; } rows[] = {
		{"up", false, HF_ENOENT, 0}, {"up\n", false, HF_OK, 2}, {"up\rdown", false, HF_OK, 2}, {"up", true, HF_OK, 2}, {"", true, HF_OK, 0}, {"", false, HF_ENOENT, 0},
		{"\nup", false, HF_OK, 0}};
	char long_line[AGENT_LINE_MAX + 1];
	struct hf_bytes line;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		enum hf_err e = agent_line(hf_bytes_str(rows[i].got), rows[i].eof, &line);

		if (e != rows[i].e || (e == HF_OK && line.n != rows[i].n))
			fail_msg("row %zu", i);
	}
	memset(long_line, 'a', sizeof long_line);
	long_line[AGENT_LINE_MAX - 1] = '\n';
	assert_int_equal(agent_line(hf_bytes_of(long_line, AGENT_LINE_MAX - 1), false, &line), HF_ENOENT);
	assert_int_equal(agent_line(hf_bytes_of(long_line, AGENT_LINE_MAX), false, &line), HF_OK);
	long_line[AGENT_LINE_MAX - 1] = 'a';
	assert_int_equal(agent_line(hf_bytes_of(long_line, AGENT_LINE_MAX), false, &line), HF_EFULL);
	assert_int_equal(agent_line(hf_bytes_of(long_line, AGENT_LINE_MAX), true, &line), HF_EFULL);
}

/* ---- what becomes of it ---- */

static struct probes all;
static struct probe probe;

static struct agent *made(void)
{
	struct agent *a;

	all = (struct probes){.net = rig.net};
	probe = (struct probe){.all = &all, .rt = &rig.pool_rt, .pool = &rig.pool, .m = &rig.member, .id = 1, .fd = -1, .name = "ts1"};
	rig.pool_conf.agent_interval = 2000;
	rig.member.agent = 9999;
	a = agent_new(&probe);
	assert_non_null(a);
	agent_apply(a);
	return a;
}

static struct hf_server_view view(void)
{
	struct hf_server_view v;

	assert_true(hf_engine_server(rig.pool_rt.engine, 1, &v));
	return v;
}

static enum hf_state said(struct agent *a, const char *line)
{
	agent_heard(a, hf_bytes_str(line));
	return view().state;
}

/* Each pair of a cause and its end stands beside the others. Fails when the agent's words write health's or the operator's marks, when its silence
 * or half a word ends something, or when 0% and drain end each other. */
static void beside_others(void **state)
{
	struct agent *a = made();
	struct hf_engine *e = rig.pool_rt.engine;

	(void)state;
	assert_int_equal(said(a, "down # out of disk"), HF_STATE_DOWN);
	assert_string_equal(rig.pool_rt.members[1].last_failure, "agent: down # out of disk");
	assert_int_equal(said(a, "50%"), HF_STATE_DOWN);      /* only up brings it up */
	assert_int_equal(said(a, "ready"), HF_STATE_DOWN);
	assert_int_equal(said(a, "uo"), HF_STATE_DOWN);
	hf_engine_mark(e, 1, HF_MARK_DOWN, true, 0);
	assert_int_equal(said(a, "up"), HF_STATE_DOWN);       /* health says so too */
	hf_engine_mark(e, 1, HF_MARK_DOWN, false, 0);
	assert_int_equal(view().state, HF_STATE_UP);

	hf_engine_mark(e, 1, HF_MARK_DRAIN, true, 0);
	assert_int_equal(said(a, "up ready 100%"), HF_STATE_DRAIN); /* the operator's */
	assert_int_equal(said(a, "drain"), HF_STATE_DRAIN);
	hf_engine_mark(e, 1, HF_MARK_DRAIN, false, 0);
	assert_int_equal(view().state, HF_STATE_DRAIN);        /* the agent's */
	assert_int_equal(view().ends_ms, 0);
	assert_int_equal(said(a, "0%"), HF_STATE_DRAIN);
	assert_int_equal(said(a, "up"), HF_STATE_DRAIN);
	assert_int_equal(said(a, "ready"), HF_STATE_DRAIN);
	assert_int_equal(said(a, "drain 10%"), HF_STATE_DRAIN);
	assert_int_equal(said(a, "20%"), HF_STATE_DRAIN);
	assert_int_equal(said(a, "ready"), HF_STATE_UP);

	assert_int_equal(said(a, "maint"), HF_STATE_OFF);
	assert_false(hf_engine_cuts(e, 1));                    /* who is there stays */
	hf_engine_mark(e, 1, HF_MARK_OFF, true, 0);
	assert_true(hf_engine_cuts(e, 1));
	assert_int_equal(said(a, "ready"), HF_STATE_OFF);
	hf_engine_mark(e, 1, HF_MARK_OFF, false, 0);
	assert_int_equal(view().state, HF_STATE_UP);
	agent_free(a);
}

/* Fails when a share or bound that is not said any more is forgotten, or outlives the agent. */
static void shares(void **state)
{
	struct agent *a = made();

	(void)state;
	assert_int_equal(said(a, "30% maxconn:7"), HF_STATE_UP);
	assert_true(view().percent == 30 && view().max_sessions == 7 && view().weight == 100);
	(void)said(a, "up");
	assert_true(view().percent == 30 && view().max_sessions == 7);
	(void)said(a, "maxconn:0");
	assert_true(view().percent == 30 && view().max_sessions == 0);
	(void)said(a, "maxconn:9 drain");
	rig.member.agent = 0;
	agent_apply(a);
	assert_true(view().percent == 0 && view().max_sessions == 0 && view().state == HF_STATE_UP && !rig.pool_rt.members[1].agent_ms);
	agent_free(a);
}

/* A server that has another name now is asked anew: of its share nothing is known until it says so. Fails when what is in force and what the agent
 * believes to be are two things. */
static void shares_of_before(void **state)
{
	struct agent *a = made();

	(void)state;
	(void)said(a, "30% maxconn:7");
	agent_free(a);
	a = made();
	assert_true(view().percent == 0 && view().max_sessions == 0);
	agent_free(a);
}

/* After a restart what was said is in force, until the same is said otherwise; another address of the member is another agent. */
static void marks_are_kept(void **state)
{
	struct agent *a = made();

	(void)state;
	(void)said(a, "down drain");
	agent_free(a);
	a = made();
	assert_int_equal(view().state, HF_STATE_DOWN);
	assert_int_equal(said(a, "up"), HF_STATE_DRAIN);
	assert_int_equal(said(a, "100%"), HF_STATE_UP);
	(void)said(a, "down");
	rig.member.agent = 9998;
	agent_apply(a);
	assert_int_equal(view().state, HF_STATE_UP);
	rig.member.agent = 0;
	agent_apply(a);
	hf_engine_mark(rig.pool_rt.engine, 1, HF_MARK_AGENT_DOWN, true, 0);
	agent_apply(a); /* left by a gateway that asked: nobody would ever say otherwise */
	assert_int_equal(view().state, HF_STATE_UP);
	agent_free(a);
}

/* What an agent wrote is shown, and can do nothing to a terminal. Fails when it is kept as it came. */
static void shown(void **state)
{
	struct agent *a = made();
	char line[AGENT_LINE_MAX];

	(void)state;
	(void)said(a, "  up # \x1b[2J\"\t");
	assert_string_equal(rig.pool_rt.members[1].agent, "up # \\x1b[2J\"");
	memset(line, 0xff, sizeof line);
	memcpy(line, "up #", 4);
	assert_true(agent_heard(a, hf_bytes_of(line, sizeof line)));
	assert_int_equal(strlen(rig.pool_rt.members[1].agent), 4 + 4 * ((HF_AGENT_SHOWN - 1) / 4 - 4));
	assert_false(agent_heard(a, HF_LIT("hello")));
	assert_int_equal(strncmp(rig.pool_rt.members[1].agent, "up #", 4), 0);
	agent_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words), cmocka_unit_test(lines), cmocka_unit_test_setup_teardown(beside_others, up, rig_down), cmocka_unit_test_setup_teardown(shares, up, rig_down),
		cmocka_unit_test_setup_teardown(shares_of_before, up, rig_down),
		cmocka_unit_test_setup_teardown(marks_are_kept, up, rig_down), cmocka_unit_test_setup_teardown(shown, up, rig_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
