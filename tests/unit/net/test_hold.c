/* Holds (net/hold.c): woken in the order of their deadlines, bounded in count and octets, and none ends without a reason. */
#include "rig.h"

#include <malloc.h>

static unsigned woken, again_ms;
static uint32_t last_due;
static bool in_order, holds_on;

static uint32_t due_of(const void *state)
{
	uint32_t due;

	memcpy(&due, state, sizeof due);
	return due;
}

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	(void)ctx;
	assert_int_equal(ev->kind, HF_EV_WAKE);
	assert_int_equal(ev->bytes.n, 4);
	assert_memory_equal(ev->bytes.p, "held", 4);
	assert_ptr_equal(ev->listener, &rig.info);
	in_order &= due_of(ev->hold) >= last_due;
	last_due = due_of(ev->hold);
	woken++;
	if (holds_on)
		hf_act(acts, HF_ACT_HOLD)->hold.ms = again_ms;
}

static int up(void **state)
{
	rig_step = step;
	woken = last_due = again_ms = 0;
	in_order = true;
	holds_on = false;
	return rig_up(state);
}

static struct hold *keep_as(uint32_t ms, struct hf_bytes octets, uint64_t tag)
{
	struct parcel p = {.w = rig.w, .service = &rig.service, .rt = &rig.rt};
	uint8_t state[HF_HOLD_STATE] = {0};

	memcpy(state, &ms, sizeof ms);
	p.ev.bytes = octets;
	p.ev.listener = &rig.info;
	return hold_keep(&p, ms, state, octets, tag);
}

static enum hf_err keep_octets(uint32_t ms, struct hf_bytes octets) { return keep_as(ms, octets, 0) ? HF_OK : HF_EFULL; }

static enum hf_err keep(uint32_t ms) { return keep_octets(ms, HF_LIT("held")); }

/* Fails when what is due is taken in another order than that of the deadlines. */
static void order(void **state)
{
	uint32_t x = 12345;

	(void)state;
	rig.conf.gateway.max_holds = 1000;
	for (int i = 0; i < 1000; i++) {
		x = x * 1664525u + 1013904223u;
		assert_int_equal(keep(1 + (x >> 16) % 40), HF_OK);
	}
	RIG_UNTIL(woken == 1000);
	assert_true(in_order);
	assert_int_equal(last_due, 40);
}

/* A later deadline that comes first does not put off an earlier one. Fails when the timer is not moved to a new head. */
static void earlier_comes_later(void **state)
{
	(void)state;
	assert_int_equal(keep(60000), HF_OK);
	assert_int_equal(keep(1), HF_OK);
	RIG_UNTIL(woken == 1);
	assert_int_equal(last_due, 1);
}

/* Fails without the comparison with max_holds. */
static void count_bound(void **state)
{
	(void)state;
	rig.conf.gateway.max_holds = 3;
	for (int i = 0; i < 3; i++)
		assert_int_equal(keep(1), HF_OK);
	assert_int_equal(keep(1), HF_EFULL);
	RIG_UNTIL(woken == 3);
	assert_int_equal(keep(60000), HF_OK);
}

/* 16 MiB a worker. Fails without OCTETS_MAX, or when a wake does not give its octets back. */
static void octets_bound(void **state)
{
	static uint8_t big[65535];
	unsigned n = 0;

	(void)state;
	rig.conf.gateway.max_holds = 100000;
	while (keep_octets(60000, hf_bytes_of(big, sizeof big)) == HF_OK)
		n++;
	assert_int_equal(n, (16u << 20) / sizeof big);
}

/* Octets that may go stay while half of the room is free, and go above it: what must be kept has the other half. Fails without the comparison. */
static void spare_octets(void **state)
{
	static uint8_t big[1 << 20];
	struct hf_bytes octets = hf_bytes_of(big, sizeof big);
	struct hf_event came;
	struct hold *last = NULL;

	(void)state;
	rig.conf.gateway.max_holds = 100;
	for (unsigned i = 1; i <= 9; i++) {
		last = keep_as(60000, octets, i);
		assert_non_null(last);
		hold_spare(rig.w, last);
		hold_came(last, &rig.service, &came);
		assert_int_equal(came.bytes.n, i <= 8 ? sizeof big : 0);
	}
	for (unsigned i = 0; i < 8; i++)
		assert_non_null(keep_as(60000, octets, 100 + i));
	assert_null(keep_as(60000, octets, 200));
}

static void octets_come_back(void **state)
{
	(void)state;
	rig.conf.gateway.max_holds = 10;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(keep(1), HF_OK);
		RIG_UNTIL(woken == (unsigned)i + 1);
	}
}

/* A front that holds again at once does not keep the loop. Fails (for ever) when a hold may be due in the same tick. */
static void again_at_once(void **state)
{
	(void)state;
	holds_on = true;
	assert_int_equal(keep(1), HF_OK);
	for (int i = 0; i < 5; i++)
		rig_run(2);
	assert_in_range(woken, 1, 100);
}

/* One that nobody needs to be told of ends by itself, and its place is free. Fails when it is woken, or stays. */
static void silent(void **state)
{
	const uint8_t none[HF_HOLD_STATE] = {0};
	struct hold *x = keep_as(60000, HF_LIT("held"), 7);

	(void)state;
	assert_non_null(x);
	rig.conf.gateway.max_holds = 1;
	hold_again(rig.w, x, 1, none, true);
	RIG_UNTIL(!hold_tagged(rig.w, &rig.rt, 7));
	assert_int_equal(woken, 0);
	assert_non_null(keep_as(60000, HF_LIT("held"), 7));
}

/* Fails when a hold whose service is gone ends without being counted. */
static void service_removed(void **state)
{
	(void)state;
	assert_int_equal(keep(1), HF_OK);
	rig.snap.n_services = 0;
	RIG_UNTIL(rig_count(HF_R_SERVICE_REMOVED) == 1);
	assert_int_equal(woken, 0);
}

/* Fails when holds_free does not count. */
static void at_the_end(void **state)
{
	(void)state;
	assert_int_equal(keep(60000), HF_OK);
	assert_int_equal(keep(1000), HF_OK);
	holds_free(rig.w->holds);
	rig.w->holds = NULL;
	assert_int_equal(rig_count(HF_R_SHUTDOWN), 2);
}

static size_t heap(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* A request that is held costs its octets and at most 512 more, with all that malloc and the lists take; what stays when the octets are gone costs no more
 * than those. Just behind a doubling, where the lists are longest for what is in them. Fails with a state or a place that grows beyond it. */
static void cost(void **state)
{
	enum { N = 4097, MESSAGE = 1000, MORE = 512 };
	static uint8_t octets[MESSAGE];
	static struct hold *held[N];
	size_t before, whole, shed;
	void *volatile one;

	(void)state;
	before = heap();
	one = malloc(MESSAGE);
	if (heap() == before) {
		free(one);
		print_message("the allocator of a sanitizer does not tell what it has given out\n");
		skip();
	}
	free(one);
	rig.conf.gateway.max_holds = N;
	before = heap();
	for (unsigned i = 0; i < N; i++) {
		held[i] = keep_as(60000, hf_bytes_of(octets, MESSAGE), i + 1);
		assert_non_null(held[i]);
	}
	whole = (heap() - before) / N;
	for (unsigned i = 0; i < N; i++)
		hold_shed(rig.w, held[i]);
	shed = (heap() - before) / N;
	print_message("a held request of %d octets: %zu octets; its octets gone: %zu\n", MESSAGE, whole, shed);
	assert_true(whole > MESSAGE && whole <= MESSAGE + MORE);
	assert_true(shed > HF_HOLD_STATE && shed <= MORE);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(order), T(earlier_comes_later), T(count_bound), T(octets_bound), T(spare_octets), T(cost), T(octets_come_back), T(again_at_once), T(silent),
		T(service_removed), T(at_the_end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
