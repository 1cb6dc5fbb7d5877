/* The toy front's step, event by event: what a front may ask of net, in its smallest form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "toy.h"

static struct hf_site site = {.hash_key = "0123456789abcde", .n_sign = 1};
static struct toy_conf conf = {.hold_max = 1000};
static uint8_t memory[1024], state[HF_FLOW_STATE] __attribute__((aligned(16)));
static struct hf_arena arena;
static struct hf_ctx ctx = {.site = &site, .conf = &conf, .arena = &arena};
static struct hf_chosen chosen = {.server = 7, .name = {(const uint8_t *)"one", 3}, .why = HF_WHY_HOME};
static struct hf_acts acts;

static void start(bool flow)
{
	memset(state, 0, sizeof state);
	ctx.flow = flow ? state : NULL;
}

static const struct hf_act *step(struct hf_event ev)
{
	hf_arena_init(&arena, memory, sizeof memory);
	ev.flow_name = (struct hf_flow_name){.worker = 1, .slot = 22, .generation = 333, .boot = 4294967295};
	hf_toy_front.step(&ctx, &ev, &acts);
	return acts.n ? &acts.a[acts.n - 1] : NULL;
}

static const struct hf_act *said(enum hf_side side, const char *text)
{
	return step((struct hf_event){.kind = HF_EV_BYTES, .side = side, .bytes = hf_bytes_str(text)});
}

static const struct hf_act *chose(const char *text, uint32_t server)
{
	chosen.server = server;
	return step((struct hf_event){.kind = HF_EV_CHOICE, .bytes = hf_bytes_str(text), .chosen = &chosen});
}

static uint64_t fp(const char *key) { return hf_fingerprint(site.hash_key, HF_LIT("toy"), hf_bytes_str(key), SIZE_MAX); }

static void assert_says(const struct hf_act *a, enum hf_to to, const char *text)
{
	assert_int_equal(a->kind, HF_ACT_SEND);
	assert_int_equal(a->send.to, to);
	assert_int_equal(a->send.base.n, strlen(text));
	assert_memory_equal(a->send.base.p, text, strlen(text));
}

/* open: cut anywhere it waits; it is asked for, sent, relayed behind the server's line, learnt at the mark, closed at the end. */
static void test_open(void **unused)
{
	static const char all[] = "open k one\nrest";
	const struct hf_act *a;

	(void)unused;
	start(true);
	for (size_t n = 0; n < 11; n++) {
		a = step((struct hf_event){.kind = HF_EV_BYTES, .bytes = hf_bytes_of(all, n)});
		assert_true(a->kind == HF_ACT_MORE && a->need == n + 1);
	}
	a = said(HF_CLIENT, all);
	assert_true(a->kind == HF_ACT_ASK && a->ask.key.fp == fp("k one") && a->ask.life == HF_LIFE_OPEN && !a->ask.again);
	a = chose(all, 7);
	assert_says(a, HF_TO_SERVER, "open k one\n");
	assert_int_equal(a->send.server, 7);
	a = step((struct hf_event){.kind = HF_EV_FAIL, .bytes = hf_bytes_str(all), .chosen = &chosen});
	assert_true(a->kind == HF_ACT_ASK && a->ask.again && a->ask.life == HF_LIFE_START && a->ask.key.fp == fp("k one"));
	assert_says(chose(all, 8), HF_TO_SERVER, "open k one\n");
	assert_int_equal(said(HF_SERVER, "o")->need, 2);
	a = said(HF_SERVER, "ok\nmore");
	assert_true(a->kind == HF_ACT_RELAY && a->relay.client_used == 11 && a->relay.server_used == 0 && a->relay.mark == 8);
	a = step((struct hf_event){.kind = HF_EV_WAKE});
	assert_true(a->kind == HF_ACT_LEARN && a->learn.life == HF_LIFE_TOUCH && a->learn.key.fp == fp("k one") && a->learn.flags == HF_COUNTED);
	a = step((struct hf_event){.kind = HF_EV_END});
	assert_true(a->kind == HF_ACT_LEARN && a->learn.life == HF_LIFE_CLOSE);
}

/* name and tell are answered while the flow stays open, and are not said twice. */
static void test_name_and_tell(void **unused)
{
	(void)unused;
	start(true);
	said(HF_CLIENT, "name\ntell 2 3 4 5 hello\n");
	assert_int_equal(acts.n, 3);
	assert_says(&acts.a[0], HF_TO_CLIENT, "1 22 333 4294967295\n");
	assert_says(&acts.a[1], HF_TO_FLOW, "hello");
	assert_true(acts.a[1].send.flow.worker == 2 && acts.a[1].send.flow.slot == 3 && acts.a[1].send.flow.generation == 4 && acts.a[1].send.flow.boot == 5);
	assert_int_equal(acts.a[2].kind, HF_ACT_MORE);
	said(HF_CLIENT, "name\ntell 2 3 4 5 hello\nopen k\n");
	assert_int_equal(acts.n, 1);
	assert_true(acts.a[0].kind == HF_ACT_ASK && acts.a[0].ask.key.fp == fp("k"));
	assert_says(chose("name\ntell 2 3 4 5 hello\nopen k\n", 7), HF_TO_SERVER, "open k\n");
	assert_int_equal(said(HF_SERVER, "\n")->relay.client_used, 31);
}

static void test_bad_lines(void **unused)
{
	static const char *const lines[] = {"\n", "open\n", "open \n", "shut\n", "tell 256 1 1 1 x\n", "tell 1 1 1 4294967296 x\n", "tell 1 1 1 1\n",
	                                    "name\nname\nname\nname\nname\nname\nname\nname\n"};

	(void)unused;
	for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		const struct hf_act *a;

		start(true);
		a = said(HF_CLIENT, lines[i]);
		assert_true(a->kind == HF_ACT_CLOSE && a->end.reason == TOY_R_BAD_LINE);
	}
	start(true);
	said(HF_CLIENT, "open k\n");
	assert_int_equal(chose("open k\n", 0)->end.reason, HF_R_NO_SERVER);
	assert_null(step((struct hf_event){.kind = HF_EV_END}));
}

/* hold: kept with its state, woken, asked for, sent. */
static void test_hold(void **unused)
{
	static const char text[] = "hold 250 k some text";
	const struct hf_act *a;
	uint8_t kept[HF_HOLD_STATE];

	(void)unused;
	start(false);
	a = said(HF_CLIENT, text);
	assert_true(a->kind == HF_ACT_HOLD && a->hold.ms == 250);
	memcpy(kept, a->hold.state, sizeof kept);
	a = step((struct hf_event){.kind = HF_EV_WAKE, .bytes = hf_bytes_str(text), .hold = kept});
	assert_true(acts.n == 2 && acts.a[0].kind == HF_ACT_FREE && a->kind == HF_ACT_ASK && a->ask.key.fp == fp("k") && a->ask.life == HF_LIFE_START);
	a = chose(text, 7);
	assert_says(a, HF_TO_SERVER, "some text");
	assert_int_equal(a->send.server, 7);
	assert_int_equal(said(HF_CLIENT, "hold 1001 k x")->kind, HF_ACT_DROP);
}

/* learn: asked without a trace, then learnt where the answer was, which the source is told. */
static void test_learn(void **unused)
{
	const struct hf_act *a;

	(void)unused;
	start(false);
	a = said(HF_CLIENT, "learn k");
	assert_true(a->kind == HF_ACT_ASK && a->ask.life == HF_LIFE_NONE && a->ask.key.fp == fp("k"));
	a = chose("learn k", 9);
	assert_says(a, HF_TO_SOURCE, "one");
	assert_true(acts.a[0].kind == HF_ACT_LEARN && acts.a[0].learn.server == 9 && acts.a[0].learn.life == HF_LIFE_START);
	assert_int_equal(said(HF_CLIENT, "tell 1 2 3 4 x")->send.to, HF_TO_FLOW);
	assert_int_equal(said(HF_CLIENT, "open k")->end.reason, TOY_R_BAD_LINE);
	assert_int_equal(step((struct hf_event){.kind = HF_EV_FAIL, .reason = HF_R_NO_ROUTE})->end.reason, HF_R_NO_ROUTE);
}

static void test_key_read(void **unused)
{
	struct hf_key key;

	(void)unused;
	hf_arena_init(&arena, memory, sizeof memory);
	assert_int_equal(hf_toy_front.key_read(&ctx, HF_LIT("k one"), &key), HF_OK);
	assert_true(key.fp == fp("k one"));
	assert_int_equal(hf_toy_front.key_read(&ctx, HF_NONE, &key), HF_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open), cmocka_unit_test(test_name_and_tell), cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_hold), cmocka_unit_test(test_learn), cmocka_unit_test(test_key_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
