/* When a worker is behind, by literal times, and what is refused meanwhile: new sessions, and nothing of those that are up. */
#include "rig.h"
#include "udp.h"

static struct hf_ask question;
static struct hf_chosen got;

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	(void)ctx;
	if (ev->kind == HF_EV_BYTES)
		hf_act(acts, HF_ACT_ASK)->ask = question;
	else if (ev->kind == HF_EV_CHOICE)
		got = *ev->chosen;
}

static int up(void **state)
{
	int e = rig_up(state);

	rig_step = step;
	rig.listening = (struct listening){.w = rig.w};
	rig.w->now_ms = 1000000;
	rig.w->sheds_until_ms = 0;
	return e;
}

static bool turn(uint64_t ms, bool full)
{
	rig.w->now_ms = 1000000 + ms;
	pressure_turn(&rig.listening, full);
	return rig.w->now_ms < rig.w->sheds_until_ms;
}

/* Turns each 10 ms from one moment to another, the last one left out, none of which finds the end of the queue. */
static void full_turns(uint64_t from, uint64_t to)
{
	for (uint64_t t = from; t < to; t += 10)
		assert_false(turn(t, true));
}

/* A second without an end of the queue; not less, and not with an end in between. Fails without since_ms. */
static void begins_late(void **state)
{
	(void)state;
	full_turns(0, 1000);
	assert_true(turn(1000, true));
	assert_true(turn(1010, false)); /* of the one before */
	assert_false(turn(1100, false));
}

static void an_end_between(void **state)
{
	(void)state;
	for (uint64_t t = 0; t < 6000; t += 10)
		assert_false(turn(t, t % 900 != 0));
}

/* A burst that fills a turn to the last place leaves no turn that would find the end; nor is a process that had no processor behind its
 * clients. Fails without last_ms. */
static void a_pause_between(void **state)
{
	(void)state;
	for (uint64_t t = 0; t < 60000; t += 101)
		assert_false(turn(t, true));
	full_turns(70000, 70990);
	assert_true(turn(71000, true));
}

/* Known to be behind it begins at once, for five seconds. Fails without high_ms. */
static void begins_again(void **state)
{
	(void)state;
	full_turns(0, 1000);
	assert_true(turn(1000, true));
	(void)turn(1010, false);
	assert_false(turn(2000, false));
	assert_true(turn(2010, true));
	assert_false(turn(7000, false));
	assert_false(turn(7011, true));
}

static uint64_t ref;

static unsigned ask(uint64_t fp, enum hf_life life, unsigned flags, bool urgent)
{
	struct hf_addr from = {.family = 4, .ip = {192, 0, 2, 7}, .port = 5060};

	question = (struct hf_ask){.key = {.fp = fp}, .refs = {{.fp = ref}}, .life = life, .life_s = 60, .flags = flags, .urgent = urgent};
	got = (struct hf_chosen){0};
	deliver_datagram(rig.w, &rig.service, 0, HF_LIT("text"), &from, &rig.info.addr);
	return got.server ? HF_R_NONE : got.none;
}

/* Fails without shed() in ask_act, or when it asks for less than a new session that counts. */
static void what_is_refused(void **state)
{
	(void)state;
	assert_int_equal(ask(5, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);
	rig.w->sheds_until_ms = rig.w->now_ms + 1;
	assert_int_equal(ask(6, HF_LIFE_START, HF_COUNTED | HF_TENTATIVE, false), HF_R_OVERLOAD);
	assert_int_equal(ask(6, HF_LIFE_OPEN, HF_COUNTED, false), HF_R_OVERLOAD);
	assert_int_equal(ask(5, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);  /* it is known */
	assert_int_equal(ask(6, HF_LIFE_TOUCH, HF_COUNTED, false), HF_R_NONE);  /* within a session */
	assert_int_equal(ask(6, HF_LIFE_START, 0, false), HF_R_NONE);           /* no session */
	assert_int_equal(ask(7, HF_LIFE_START, HF_COUNTED, true), HF_R_NONE);   /* an emergency call */
	ref = 5;
	assert_int_equal(ask(9, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);  /* it names a session that there is */
	ref = 55;
	assert_int_equal(ask(10, HF_LIFE_START, HF_COUNTED, false), HF_R_OVERLOAD);
	ref = 0;
	rig.w->now_ms++;
	assert_int_equal(ask(8, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);
}

/* Three a second: what names a session that nobody knows is one of them, or anybody could say so; who names one that is up is none, and emergency calls
 * have as many of their own. Fails when refs are believed unseen, or without the second bucket: either floods without an end. */
static void who_passes_over(void **state)
{
	unsigned passed[3] = {0};

	(void)state;
	rig.service_conf.max_cps = 3;
	assert_int_equal(ask(5, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);
	for (unsigned i = 0; i < 20; i++) {
		ref = 55;
		passed[0] += ask(100 + i, HF_LIFE_START, HF_COUNTED, false) == HF_R_NONE;
		ref = 5;
		passed[1] += ask(200 + i, HF_LIFE_START, HF_COUNTED, false) == HF_R_NONE;
		ref = 0;
		passed[2] += ask(300 + i, HF_LIFE_START, HF_COUNTED, true) == HF_R_NONE;
	}
	assert_int_equal(passed[0], 2);
	assert_int_equal(passed[1], 20);
	assert_int_equal(passed[2], 3);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)
int main(void)
{
	const struct CMUnitTest tests[] = {T(begins_late), T(an_end_between), T(a_pause_between), T(begins_again), T(what_is_refused), T(who_passes_over)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
