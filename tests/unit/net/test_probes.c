/* Who is probed (net/probes.c): what is under way when the configuration changes. */
#include "probing.h"
#include "program.h"
#include "rig.h"

static struct hf_timer *enough;

static void stop(void *arg) { hf_loop_stop(arg); }

static void control(unsigned ms)
{
	hf_timer_set(enough, ms);
	hf_loop_run(rig.control);
}

static int up(void **state)
{
	rig_up(state);
	enough = hf_timer_new(rig.control, stop, rig.control);
	rig.net->snap = &rig.snap;
	rig.pool_conf.probe = HF_CONF_PROBE_PROGRAM;
	rig.pool_conf.probe_program = HF_LIT("/bin/sleep 600");
	rig.pool_conf.probe_interval = 60000;
	rig.pool_conf.probe_timeout = 50;
	rig.pool_conf.probe_rise = rig.pool_conf.probe_fall = 1;
	rig.pool_conf.agent_interval = 60000;
	return 0;
}

static int down(void **state)
{
	rig.net->snap = NULL;
	hf_timer_free(enough);
	return rig_down(state);
}

/* A probe that is no longer asked for says nothing: nobody would ever say otherwise. Fails when it is left to end by itself; late() shows that it would. */
static void not_asked_any_more(void **state)
{
	(void)state;
	probes_apply(rig.net->probes);
	while (!rig.net->probes->list->program)
		control(1);
	rig.pool_conf.probe = HF_CONF_PROBE_NONE;
	probes_apply(rig.net->probes);
	control(100);
	assert_int_equal(hf_engine_state(rig.pool_rt.engine, 1, NULL), HF_STATE_UP);
}

static void late(void **state)
{
	(void)state;
	probes_apply(rig.net->probes);
	for (unsigned i = 0; i < 5000 && hf_engine_state(rig.pool_rt.engine, 1, NULL) == HF_STATE_UP; i++)
		control(1);
	assert_int_equal(hf_engine_state(rig.pool_rt.engine, 1, NULL), HF_STATE_DOWN);
	assert_string_equal(rig.pool_rt.members[1].last_failure, "no end in time");
}

static void nobody(void *arg, int status, const char *said) { (void)arg, (void)status, (void)said; }

/* As many programs run as may: a probe waits, is begun by the end of one and by nothing else, and not any more once it is not asked for. Fails without the
 * call of room, without unqueue, when it waits twice, or when it stays though its kind has changed. */
static void waits_for_an_end(void **state)
{
	struct probes *all = rig.net->probes;
	char *argv[] = {(char[]){"/bin/sleep"}, (char[]){"600"}, NULL};
	struct program *p[PROGRAMS_MAX];

	(void)state;
	rig.pool_conf.probe_timeout = 60000;
	for (unsigned i = 0; i < PROGRAMS_MAX; i++)
		assert_non_null(p[i] = program_start(all->programs, argv, nobody, NULL));
	probes_apply(all);
	while (!all->queue)
		control(1);
	control(120);
	assert_true(all->queue == all->list && !all->list->program);
	rig.pool_conf.probe = HF_CONF_PROBE_NONE;
	probes_apply(all);
	assert_true(!all->queue && all->queue_end == &all->queue);
	rig.pool_conf.probe = HF_CONF_PROBE_PROGRAM;
	probe_due(all->list);
	assert_true(all->queue == all->list);
	program_leave(p[0]);
	while (!all->list->program)
		control(1);
	assert_true(!all->queue && programs_full(all->programs));
	probe_stop(all->list);
	while (programs_full(all->programs))
		control(1);
	assert_non_null(p[0] = program_start(all->programs, argv, nobody, NULL));
	probe_due(all->list);
	assert_true(all->queue == all->list);
	rig.pool_conf.probe = HF_CONF_PROBE_CONNECT;
	probes_apply(all);
	assert_true(!all->queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(not_asked_any_more, up, down), cmocka_unit_test_setup_teardown(late, up, down),
		cmocka_unit_test_setup_teardown(waits_for_an_end, up, down)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
