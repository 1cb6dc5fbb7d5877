/* When a worker is behind, by literal times, and what is refused meanwhile: new sessions, and nothing of those that are up. */
#include "rig.h"
#include "udp.h"

static struct hf_ask question;
static struct hf_chosen got;
static uint64_t ref;  /* what `ask` says besides */
static uint32_t hint;
static bool opens;

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

static int up_roomy(void **state)
{
	int e;

	rig_entries = 1000;
	e = up(state);
	rig_entries = 1;
	ref = 0;
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

static unsigned ask(uint64_t fp, enum hf_life life, unsigned flags, bool urgent)
{
	struct hf_addr from = {.family = 4, .ip = {192, 0, 2, 7}, .port = 5060};

	question = (struct hf_ask){.key = {.fp = fp}, .refs = {{.fp = ref}}, .hint = hint, .hint_why = HF_WHY_TOKEN, .opens = opens, .life = life, .life_s = 60, .flags = flags, .urgent = urgent};
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

/* Three, whoever opened them: what counts already goes on, and so does who names it or is named a server by a token of it; what has ended, or was never
 * counted, fills a place as a new one does. Emergency calls fill it to twice as many. Without is_filled() all pass; with goes_on() in its place what was
 * challenged passes; without the sum over states in hf_engine_sessions a server that drains would make room. */
static void a_filled_service(void **state)
{
	struct hf_engine *e = rig.pool_rt.engine;
	const struct hf_lesson challenged = {.key = {.fp = 4}, .life = HF_LIFE_LINGER, .life_s = 32}, gone = {.key = {.fp = 2}, .life = HF_LIFE_END};

	(void)state;
	rig.service_conf.max_sessions = 3;
	assert_int_equal(ask(4, HF_LIFE_START, HF_COUNTED | HF_TENTATIVE, false), HF_R_NONE);
	assert_int_equal(hf_engine_learn(e, &challenged, rig.w->now_ms), HF_OK);
	for (uint64_t fp = 1; fp <= 3; fp++)
		assert_int_equal(ask(fp, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);
	hf_engine_mark(e, 1, HF_MARK_DRAIN, true, rig.w->now_ms);
	hf_engine_mark(e, 1, HF_MARK_DOWN, true, rig.w->now_ms);
	assert_int_equal(hf_engine_sessions(e), 3);
	assert_int_equal(ask(5, HF_LIFE_START, HF_COUNTED, false), HF_R_SESSIONS);
	assert_int_equal(ask(5, HF_LIFE_OPEN, HF_COUNTED, false), HF_R_SESSIONS);
	hf_engine_mark(e, 1, HF_MARK_DRAIN, false, rig.w->now_ms);
	hf_engine_mark(e, 1, HF_MARK_DOWN, false, rig.w->now_ms);
	assert_int_equal(ask(5, HF_LIFE_START, HF_COUNTED, false), HF_R_SESSIONS);
	assert_int_equal(ask(4, HF_LIFE_START, HF_COUNTED, false), HF_R_SESSIONS); /* it was challenged, and others have come meanwhile */
	assert_int_equal(ask(3, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);     /* sent again */
	assert_int_equal(ask(5, HF_LIFE_TOUCH, HF_COUNTED, false), HF_R_NONE);     /* within a session */
	assert_int_equal(ask(5, HF_LIFE_START, 0, false), HF_R_NONE);              /* no session: a message, a registration */
	ref = 3;
	assert_int_equal(ask(6, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);     /* a transfer */
	ref = 0;
	for (uint64_t fp = 10; fp <= 11; fp++)
		assert_int_equal(ask(fp, HF_LIFE_START, HF_COUNTED, true), HF_R_NONE);
	assert_int_equal(hf_engine_sessions(e), 6);
	assert_int_equal(ask(12, HF_LIFE_START, HF_COUNTED, true), HF_R_SESSIONS);
	rig.service_conf.max_sessions = 6;
	assert_int_equal(ask(13, HF_LIFE_START, HF_COUNTED, false), HF_R_SESSIONS);
	assert_int_equal(hf_engine_learn(e, &gone, rig.w->now_ms), HF_OK);
	assert_int_equal(ask(13, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);
}

/* What will be learnt as a session is one, whatever it asks with: a desktop whose token or id decides. Fails without `opens` in may_open(), and without
 * WHY_TOKEN in is_led() a host that redirects gets nobody. */
static void learnt_later(void **state)
{
	(void)state;
	rig.service_conf.max_sessions = 1;
	assert_int_equal(ask(1, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);
	opens = true;
	assert_int_equal(ask(2, HF_LIFE_NONE, 0, false), HF_R_SESSIONS);
	assert_int_equal(ask(1, HF_LIFE_NONE, 0, false), HF_R_NONE);
	hint = RIG_MEMBER;
	assert_int_equal(ask(2, HF_LIFE_NONE, 0, false), HF_R_NONE);
	hint = 0;
	opens = false;
	assert_int_equal(ask(2, HF_LIFE_NONE, 0, false), HF_R_NONE);
}

/* Who asks why is told so, and nothing of a second is used up. Fails when explanations pass over the limits. */
static void is_explained(void **state)
{
	static uint8_t memory[HF_EXPLAIN_ARENA];
	static struct hf_story story;
	struct hf_arena arena;
	struct hf_addr nobody = {0};

	(void)state;
	rig.service_conf.max_sessions = 1;
	rig.net->snap = &rig.snap;
	hf_arena_init(&arena, memory, sizeof memory);
	assert_int_equal(ask(1, HF_LIFE_START, HF_COUNTED, false), HF_R_NONE);
	question = (struct hf_ask){.key = {.fp = 2}, .life = HF_LIFE_START, .life_s = 60, .flags = HF_COUNTED};
	assert_true(hf_net_explain(rig.net, 0, HF_LIT("text"), &nobody, HF_TRANSPORTS, &arena, &story));
	assert_true(got.server == 0 && got.none == HF_R_SESSIONS);
	assert_true(story.n == 1 && story.note[0].act.kind == HF_ACT_ASK && !story.note[0].answer.server && !story.note[0].trace.n);
	rig.net->snap = NULL;
	assert_int_equal(hf_engine_sessions(rig.pool_rt.engine), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)
#define R(f) cmocka_unit_test_setup_teardown(f, up_roomy, rig_down)
int main(void)
{
	const struct CMUnitTest tests[] = {T(begins_late), T(an_end_between), T(a_pause_between), T(begins_again), T(what_is_refused), T(who_passes_over), R(a_filled_service), R(learnt_later), R(is_explained)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
