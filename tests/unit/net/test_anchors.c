/* Relayed flows by name (net/anchors.c): one, several and none of a name, of a service; how many paths one may have; what is left when it has gone. */
#include "anchors.h"
#include "rig.h"

static struct anchors *t;
static struct flow *flows[3];

static int up(void **state)
{
	static const uint8_t key[16];

	rig_up(state);
	t = anchors_new(key);
	assert_non_null(t);
	for (unsigned i = 0; i < 3; i++) {
		flows[i] = flow_new(rig.w, false);
		flows[i]->service = 1;
		flows[i]->server_hash = 100 + i;
	}
	return 0;
}

static int down(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		(void)anchors_leave(t, flows[i]);
		flow_free(flows[i]);
	}
	anchors_free(t);
	return rig_down(state);
}

static void enter(unsigned i, uint64_t a, uint64_t b) { anchors_enter(t, flows[i], (uint64_t[2]){a, b}); }
static unsigned find(uint16_t service, uint64_t a, uint64_t b, struct beside *out) { return anchors_find(t, service, (uint64_t[HF_BESIDE]){a, b}, out); }

/* The first name that any has decides, and it must be one flow's. Fails when a later name is looked at all the same, when of two the last one is taken, and
 * when a flow of another service counts. */
static void by_name(void **state)
{
	struct beside b;

	(void)state;
	enter(0, 1, 7);
	enter(1, 2, 7);
	assert_int_equal(find(1, 1, 7, &b), HF_R_NONE);
	assert_true(b.server == 100 && b.name == 1 && b.flow.slot == flows[0]->slot && b.flow.boot == 99);
	assert_int_equal(find(1, 0, 2, &b), HF_R_NONE);
	assert_int_equal(b.server, 101);
	assert_int_equal(find(1, 3, 7, &b), HF_R_MANY_SESSIONS);
	assert_int_equal(find(1, 7, 1, &b), HF_R_MANY_SESSIONS);
	assert_int_equal(find(1, 3, 0, &b), HF_R_NO_SESSION);
	assert_int_equal(find(2, 1, 7, &b), HF_R_NO_SESSION);
	flows[2]->service = 2;
	enter(2, 1, 9);
	assert_int_equal(find(1, 1, 0, &b), HF_R_NONE);
	assert_int_equal(b.server, 100);
	(void)anchors_leave(t, flows[1]);
	assert_int_equal(find(1, 3, 7, &b), HF_R_NONE); /* the only one that is left, whichever came last */
	assert_int_equal(b.server, 100);
}

/* A flow without names, and one that has the same twice. Fails when 0 is a name, and when a name counts twice. */
static void odd_names(void **state)
{
	struct beside b;

	(void)state;
	enter(0, 0, 0);
	assert_null(flows[0]->anchor);
	assert_int_equal(find(1, 0, 0, &b), HF_R_NO_SESSION);
	enter(1, 5, 5);
	assert_int_equal(find(1, 5, 0, &b), HF_R_NONE);
	enter(1, 6, 6);
	assert_int_equal(find(1, 6, 0, &b), HF_R_NO_SESSION); /* it has entered before */
}

/* Fails without the bound, when a path that has gone is counted on, when the workers are forgotten, and when what has left is joined. */
static void paths(void **state)
{
	struct beside b;

	(void)state;
	enter(0, 1, 0);
	enter(1, 1, 2);
	assert_int_equal(find(1, 2, 0, &b), HF_R_NONE);
	for (unsigned i = 0; i < ANCHOR_PATHS; i++)
		assert_true(anchors_join(t, &b, i));
	assert_false(anchors_join(t, &b, 5));
	anchors_part(t, &b);
	assert_true(anchors_join(t, &b, 63));
	assert_true(anchors_lives(t, &b));
	assert_true(anchors_leave(t, flows[1]) == ((UINT64_C(1) << ANCHOR_PATHS) - 1) + (UINT64_C(1) << 63));
	assert_false(anchors_lives(t, &b));
	assert_false(anchors_join(t, &b, 1));
	anchors_part(t, &b);
	assert_int_equal(anchors_leave(t, flows[0]), 0);
	assert_int_equal(anchors_leave(t, flows[0]), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
int main(void)
{
	const struct CMUnitTest tests[] = {T(by_name), T(odd_names), T(paths)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
