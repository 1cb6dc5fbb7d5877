/* Random programs of changes over live sessions, against a plain list that remembers where each session lives: no session is ever answered with
 * another server, and the exceptions are exactly the sessions that do not live at their slot's owner. */
#include "farm.h"

enum { T0 = 1000000, LIVE_MAX = 100000, SMALL = 3000, POOL = 24 };

struct session { uint64_t fp; uint16_t server; bool counted; };

struct world {
	struct farm *f;
	struct session *live;
	unsigned n, most, names;
	uint64_t seed, now, checks;
};

static unsigned pick(struct world *w, unsigned n) { return (unsigned)(farm_random(&w->seed) % n); }

static void check_one(struct world *w, const struct session *s)
{
	static const enum hf_life lives[] = {HF_LIFE_NONE, HF_LIFE_TOUCH, HF_LIFE_START};
	unsigned flags = s->counted ? HF_COUNTED : 0;
	struct hf_answer a = farm_ask(w->f, s->fp, lives[pick(w, 3)], 900000, flags, w->now);

	assert_true(a.known);
	assert_int_equal(a.server, s->server);
	w->checks++;
}

static void check_all(struct world *w)
{
	for (unsigned i = 0; i < w->n; i++)
		check_one(w, &w->live[i]);
	assert_int_equal(farm_counts(w->f).entries, w->n);
	farm_check(w->f);
}

/* The exceptions are the sessions that the list knows away from their slots' owners, each in its slot: with check_all, which finds every session where
 * the list has it and no other, both inclusions. */
static void check_exceptions(struct world *w)
{
	static uint16_t in_slot[1 << 16];
	struct hf_engine *e = w->f->e;
	uint64_t exceptions = 0;

	memset(in_slot, 0, sizeof in_slot);
	for (unsigned i = 0; i < w->n; i++) {
		uint32_t slot = slot_of(e, w->live[i].fp);

		if (hf_engine_owner(e, slot) == w->live[i].server)
			continue;
		exceptions++;
		in_slot[slot]++;
		assert_int_not_equal(SLOT_EXCEPTIONS(slot_word(e, slot)), 0);
	}
	assert_int_equal(farm_counts(w->f).exceptions, exceptions);
	for (uint32_t j = 0; j < e->n_slots; j++)
		assert_true(SLOT_EXCEPTIONS(slot_word(e, j)) == EXCEPTIONS_MAX || SLOT_EXCEPTIONS(slot_word(e, j)) == in_slot[j]);
}

static void start(struct world *w)
{
	struct session s = {farm_random(&w->seed) >> 4 | 1, 0, pick(w, 8) != 0};
	unsigned flags = s.counted ? HF_COUNTED : 0;

	if (w->n == w->most)
		return;
	if (pick(w, 3) == 0) { /* opened by a server, whatever its state */
		s.server = (uint16_t)(1 + pick(w, hf_engine_last_id(w->f->e)));
		if (hf_engine_state(w->f->e, s.server, NULL) == HF_STATE_OFF)
			return;
		assert_int_equal(farm_learn(w->f, s.fp, s.server, HF_LIFE_START, 900000, flags, w->now), HF_OK);
	} else {
		struct hf_answer a = farm_ask(w->f, s.fp, HF_LIFE_START, 900000, flags, w->now);

		s.server = a.server;
		if (!s.server)
			return;
		assert_int_equal(hf_engine_state(w->f->e, s.server, NULL), HF_STATE_UP);
	}
	w->live[w->n++] = s;
}

static void end(struct world *w)
{
	unsigned i = w->n ? pick(w, w->n) : 0;

	if (!w->n)
		return;
	assert_int_equal(farm_learn(w->f, w->live[i].fp, 0, HF_LIFE_END, 0, 0, w->now), HF_OK);
	assert_int_equal(farm_learn(w->f, w->live[i].fp, 0, HF_LIFE_END, 0, 0, w->now), HF_ENOENT); /* BYE twice */
	w->live[i] = w->live[--w->n];
}

static void apply(struct world *w) { assert_int_equal(farm_apply(w->f, w->now), HF_OK); }

static void add(struct world *w)
{
	struct farm *f = w->f;

	if (f->n == POOL)
		return;
	farm_name(f, f->n, 1 + pick(w, 256));
	snprintf(f->m[f->n].name, sizeof f->m[0].name, "p%u", w->names < 60 ? w->names++ : pick(w, 60)); /* also names that were there */
	for (unsigned i = 0; i < f->n; i++)
		if (!strcmp(f->m[i].name, f->m[f->n].name))
			return;
	f->n++;
	apply(w);
}

static void take_out(struct world *w)
{
	unsigned i = pick(w, w->f->n);

	if (w->f->n <= 2)
		return;
	w->f->m[i] = w->f->m[--w->f->n];
	apply(w);
}

static void rename_one(struct world *w)
{
	struct farm *f = w->f;
	unsigned i = pick(w, f->n);
	uint16_t id = f->id[i];

	memcpy(f->m[i].was, f->m[i].name, sizeof f->m[i].was);
	snprintf(f->m[i].name, sizeof f->m[i].name, "r%u", w->names++);
	apply(w);
	assert_int_equal(f->id[i], id); /* its sessions go with it */
	f->m[i].was[0] = 0;
}

static void weigh(struct world *w)
{
	unsigned i = pick(w, w->f->n);

	if (pick(w, 2)) {
		hf_engine_weigh(w->f->e, w->f->id[i], pick(w, 4) ? pick(w, 257) : HF_WEIGHT_FILE, w->now);
		return;
	}
	w->f->m[i].weight = pick(w, 257);
	apply(w);
}

static void mark(struct world *w)
{
	hf_engine_mark(w->f->e, w->f->id[pick(w, w->f->n)], (enum hf_mark)pick(w, 3), pick(w, 2), w->now);
}

static void flap(struct world *w)
{
	uint16_t id = w->f->id[pick(w, w->f->n)];
	uint64_t seen;

	hf_engine_mark(w->f->e, id, HF_MARK_DOWN, true, w->now);
	if (pick(w, 2))
		hf_engine_tick(w->f->e, w->now);
	hf_engine_mark(w->f->e, id, HF_MARK_DOWN, false, w->now + 5);
	assert_true(hf_engine_state(w->f->e, id, &seen) != HF_STATE_DOWN && seen <= w->now + 5);
}

static void tick(struct world *w)
{
	for (unsigned i = pick(w, 20); i; i--)
		hf_engine_tick(w->f->e, w->now);
}

/* Another engine takes over the mapping, and its first apply brings another pool. */
static void restart(struct world *w)
{
	struct farm *f = w->f;

	hf_engine_free(f->e);
	f->e = hf_engine_new(&f->conf, f->mem, w->now);
	assert_non_null(f->e);
	if (pick(w, 2) && f->n < POOL) {
		farm_name(f, f->n, 50);
		snprintf(f->m[f->n].name, sizeof f->m[0].name, "n%u", w->names++);
		f->n++;
	} else if (f->n > 2) {
		f->n--;
	}
	apply(w);
}

static void reap(struct world *w)
{
	uint16_t ids[4];
	unsigned n = hf_engine_reap(w->f->e, ids, 4);

	while (n--) {
		for (unsigned i = 0; i < w->n; i++)
			assert_int_not_equal(w->live[i].server, ids[n]);
		for (unsigned i = 0; i < w->f->n; i++)
			assert_int_not_equal(w->f->id[i], ids[n]);
	}
	assert_int_equal(hf_engine_sweep(w->f->e, w->now, pick(w, 3000)), 0);
}

/* Properties 8 and 9. A change that deletes an entry, an owner rewritten without a recount, or a rename under a new id fails here. */
static void program(struct world *w, unsigned steps, unsigned live, unsigned each)
{
	static void (*const changes[])(struct world *) = {add, add, take_out, rename_one, weigh, weigh, mark, mark, mark, flap, tick, tick, tick, tick, restart, reap, reap};

	w->most = live;
	w->live = calloc(live, sizeof *w->live);
	while (live == LIVE_MAX && w->n < live - live / 50)
		start(w);
	for (unsigned i = 0; i < steps; i++) {
		changes[pick(w, sizeof changes / sizeof changes[0])](w);
		for (unsigned k = pick(w, 60); k; k--)
			(pick(w, 20) < 11 ? start : end)(w);
		for (unsigned k = 0; k < 30 && w->n; k++)
			check_one(w, &w->live[pick(w, w->n)]);
		check_exceptions(w);
		if (i % each == 0)
			check_all(w);
		w->now += pick(w, 100);
	}
	check_all(w);
	farm_settle(w->f, w->now);
	check_all(w);
	while (w->n)
		end(w);
	farm_check(w->f);
	assert_int_equal(farm_counts(w->f).counted, 0);
	assert_int_equal(farm_counts(w->f).exceptions, 0);
	free(w->live);
}

static void random_programs(void **state)
{
	static const enum hf_mode modes[] = {HF_MODE_AUTO, HF_MODE_TABLE, HF_MODE_HASH};

	(void)state;
	for (unsigned m = 0; m < 3; m++) {
		struct world w = {.f = farm_new(modes[m], 5, modes[m] == HF_MODE_HASH ? 0 : 1250, 2 * SMALL, T0), .seed = 100 + m, .now = T0};

		program(&w, farm_full() ? 10000 : 500, SMALL, 40);
		assert_true(w.checks > 10000);
		farm_free(w.f);
	}
}

/* Property 8 at its size: 10,000 changes over 100,000 live sessions, a hundred million answers; the plain run makes a hundredth of the changes. */
static void a_large_program(void **state)
{
	unsigned steps = farm_full() ? 10000 : 100;
	struct world w = {.f = farm_new(HF_MODE_AUTO, 5, 1250, 2 * LIVE_MAX, T0), .seed = 300, .now = T0};

	(void)state;
	program(&w, steps, LIVE_MAX, farm_full() ? 9 : 25);
	assert_true(w.checks >= (farm_full() ? 100000000u : 400000u));
	farm_free(w.f);
}

/* The same with fills that move more than they must. */
static void random_programs_of_others(void **state)
{
	(void)state;
	for (enum hf_method m = HF_METHOD_RING; m <= HF_METHOD_MODULO; m++) {
		struct world w = {.f = farm_of(m, HF_MODE_AUTO, 5, 1250, 2 * SMALL, T0), .seed = 200 + m, .now = T0};

		program(&w, farm_full() ? 5000 : 250, SMALL, 40);
		assert_true(w.checks > 5000);
		farm_free(w.f);
	}
}

/* For the same events `auto` and a table placed by hash answer the same; and every known answer names the entry's server. */
static void auto_equals_table(void **state)
{
	struct farm *f[2] = {farm_new(HF_MODE_AUTO, 7, 1100, SMALL, T0), farm_new(HF_MODE_TABLE, 7, 1100, SMALL, T0)};
	uint64_t seed = 12, now = T0;

	(void)state;
	for (unsigned i = 0; i < (farm_full() ? 3000000u : 60000u); i++) {
		uint64_t r = farm_random(&seed), fp = farm_fp(r % 2000);
		struct hf_question q = {.key = {.fp = fp}, .life = (enum hf_life)(r >> 20 & 3), .life_s = 40 + (uint32_t)(r >> 30 & 255), .flags = r >> 40 & 3};
		uint16_t id = (uint16_t)(1 + (r >> 44) % 7);
		struct hf_answer a[2];

		q.hint = (r >> 50) % 16 == 0 ? id : 0;
		for (int k = 0; k < 2; k++) {
			hf_engine_choose(f[k]->e, &q, &a[k], now);
			if ((r >> 54) % 50 == 0)
				hf_engine_mark(f[k]->e, id, (enum hf_mark)(r >> 60 & 3), r >> 62 & 1, now);
			if ((r >> 54) % 8 == 1)
				hf_engine_tick(f[k]->e, now);
			if ((r >> 54) % 8 == 2)
				hf_engine_sweep(f[k]->e, now, 200);
		}
		assert_memory_equal(&a[0], &a[1], sizeof a[0]);
		now += r & 63;
	}
	for (int k = 0; k < 2; k++) {
		farm_check(f[k]);
		farm_free(f[k]);
	}
}

/* Property 20: without any end event all are gone one tick and one sweep after their lives, and loads are exactly 0. */
static void all_expire(void **state)
{
	unsigned n = farm_full() ? 1000000 : 60000;
	struct farm *f = farm_new(HF_MODE_AUTO, 10, 1500, n, T0);

	(void)state;
	for (uint64_t k = 0; k < n; k++)
		assert_false(farm_ask(f, farm_fp(k), HF_LIFE_START, 100, HF_COUNTED, T0).full);
	assert_int_equal(farm_counts(f).counted, n);
	farm_check(f);
	assert_int_equal(hf_engine_sweep(f->e, T0 + 99000, 2 * n), 0);
	assert_int_equal(hf_engine_sweep(f->e, T0 + 104000, 4 * n), n);
	assert_int_equal(farm_counts(f).entries, 0);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(farm_server(f, f->id[i]).sessions, 0);
	farm_check(f);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs), cmocka_unit_test(a_large_program), cmocka_unit_test(random_programs_of_others), cmocka_unit_test(auto_equals_table), cmocka_unit_test(all_expire)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
