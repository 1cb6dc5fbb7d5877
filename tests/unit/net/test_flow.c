/* The table of flows and their buffers (net/flow.c): a stale name finds nothing, buffers keep order and bounds. */
#include "rig.h"

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts) { (void)ctx, (void)ev, (void)acts; }

static int up(void **state)
{
	rig_step = step;
	return rig_up(state);
}

/* Fails when flow_find does not compare generations, or flow_new does not count them up. */
static void stale_names(void **state)
{
	struct flow *a = flow_new(rig.w, false), *b = flow_new(rig.w, false);
	uint32_t slot = a->slot, old = a->generation;

	(void)state;
	assert_int_not_equal(a->slot, b->slot);
	assert_ptr_equal(flow_find(rig.w, slot, old), a);
	flow_free(a);
	assert_null(flow_find(rig.w, slot, old));
	a = flow_new(rig.w, false);
	assert_int_equal(a->slot, slot); /* the slot is used again */
	assert_null(flow_find(rig.w, slot, old));
	assert_ptr_equal(flow_find(rig.w, slot, a->generation), a);
	assert_null(flow_find(rig.w, 1000000, 1));
	assert_null(flow_find(rig.w, UINT32_MAX, 0));
	flow_free(a);
	flow_free(b);
}

/* More flows than a first table holds, freed and taken in another order. Fails when grow or the chain of free slots loses one. */
static void many(void **state)
{
	enum { N = 1000 };
	static struct flow *f[N];
	static bool used[N];
	uint32_t seed = 7;

	(void)state;
	for (int i = 0; i < N; i++)
		f[i] = flow_new(rig.w, false);
	for (int turn = 0; turn < 5 * N; turn++) {
		unsigned i = (seed = seed * 1664525u + 1013904223u) >> 16;

		flow_free(f[i % N]);
		f[i % N] = flow_new(rig.w, false);
	}
	memset(used, 0, sizeof used);
	for (int i = 0; i < N; i++) {
		assert_in_range(f[i]->slot, 0, N - 1);
		assert_false(used[f[i]->slot]);
		used[f[i]->slot] = true;
		assert_ptr_equal(flow_find(rig.w, f[i]->slot, f[i]->generation), f[i]);
	}
	for (int i = 0; i < N; i++)
		flow_free(f[i]);
}

/* Fails when buf_room grows past max, or moves octets wrongly to the front. */
static void buffers(void **state)
{
	struct buf b = {0};
	uint8_t in[700] = {0}, want = 0, got = 0;

	(void)state;
	assert_false(buf_add(&b, in, 700, 699));
	assert_int_equal(buf_view(&b).n, 0);
	for (int turn = 0; turn < 500; turn++) {
		size_t n = (size_t)turn * 37 % 600;

		for (size_t i = 0; i < n; i++)
			in[i] = want++;
		if (!buf_add(&b, in, n, 1000)) {
			assert_true(buf_len(&b) + n > 1000);
			want = (uint8_t)(want - n);
		}
		for (size_t left = (size_t)turn * 53 % 500; left && buf_len(&b); left--, buf_took(&b, 1))
			assert_int_equal(buf_view(&b).p[0], got++);
	}
	assert_true(b.b->cap <= 2048);
	buf_free(&b);
	assert_null(b.b);
}

/* A flow that no slot is left for is refused with a reason, as one above max-flows is. Fails without the comparison in conn_acceptable. */
static void limit(void **state)
{
	int c[4];

	(void)state;
	rig.conf.gateway.max_flows = 2;
	for (int i = 0; i < 2; i++)
		c[i] = rig_client();
	for (int i = 2; i < 4; i++) {
		c[i] = sock_connect(&rig.info.addr, true, NULL);
		for (int turn = 0; turn < 1000 && rig_count(HF_R_FLOW_LIMIT) < (uint64_t)i - 1; turn++)
			conn_acceptable(&rig.listening, HF_READ);
		assert_int_equal(rig_count(HF_R_FLOW_LIMIT), i - 1);
		assert_true(rig_ended(c[i]));
	}
	assert_int_equal(rig_open(), 2);
	assert_int_equal(rig.net->open_flows, 2);
	close(c[0]);
	RIG_UNTIL(rig_open() == 1);
	close(c[0] = rig_client()); /* room again */
	for (int i = 1; i < 4; i++)
		close(c[i]);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(stale_names), T(many), T(buffers), T(limit)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
