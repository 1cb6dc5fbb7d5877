/* The copy elsewhere: what changes is marked, a copy of marked ranges is what the table holds, and from a copy another engine is made that
 * answers the same. And the slots that a former engine filled. */
#include "farm.h"

enum { T0 = 1000000, KEYS = 20000 };

static struct hf_record room[HF_COPY_MAX];
static uint8_t texts[HF_COPY_MAX][HF_TEXT_MAX];
static struct hf_copy copy = {0, room, texts};

/* What whoever keeps the copy knows, by key number. */
static struct { struct hf_record r; uint8_t text[HF_TEXT_MAX]; bool there; } known[KEYS];

static unsigned number_of(uint64_t fp)
{
	static struct { uint64_t fp; unsigned n; } table[1 << 16];
	static bool made;
	uint32_t i;

	for (unsigned n = 0; !made && n < KEYS; n++) {
		for (i = (uint32_t)farm_fp(n) & 0xffff; table[i].fp; i = (i + 1) & 0xffff)
			;
		table[i].fp = farm_fp(n);
		table[i].n = n;
	}
	made = true;
	for (i = (uint32_t)fp & 0xffff; table[i].fp != fp; i = (i + 1) & 0xffff)
		assert_true(table[i].fp != 0);
	return table[i].n;
}

static void take_range(struct farm *f, struct hf_range r, uint64_t now)
{
	uint64_t end = r.to;

	for (; r.from <= end; r.from = r.to + 1) {
		r.to = end;
		hf_engine_copy(f->e, &r, &copy, now);
		for (unsigned k = 0; k < KEYS; k++)
			if (known[k].there && farm_fp(k) >= r.from && farm_fp(k) <= r.to)
				known[k].there = false;
		for (unsigned i = 0; i < copy.n; i++) {
			unsigned k = number_of(copy.r[i].fp);

			assert_true(copy.r[i].fp >= r.from && copy.r[i].fp <= r.to);
			known[k].r = copy.r[i];
			known[k].there = true;
			memcpy(known[k].text, copy.r[i].text.p ? copy.r[i].text.p : (const uint8_t *)"", copy.r[i].text.n);
		}
	}
}

static unsigned take(struct farm *f, bool all, uint64_t now)
{
	struct hf_range r = {0, 0};
	uint64_t from = 0;
	unsigned n = 0;

	while (all ? hf_engine_whole(f->e, from, &r) : hf_engine_changed(f->e, from, &r)) {
		from = r.to + 1;
		take_range(f, r, now);
		n++;
		if (from >> HF_FP_BITS)
			break;
	}
	return n;
}

static bool check_one(void *arg, const struct hf_record *r)
{
	unsigned k = number_of(r->fp), *n = arg;

	++*n;
	assert_true(known[k].there && known[k].r.server == r->server && known[k].r.flags == r->flags && known[k].r.expires_s == r->expires_s);
	assert_true(known[k].r.why == r->why && hf_bytes_eq(hf_bytes_of(known[k].text, known[k].r.text.n), r->text));
	return true;
}

/* What is known is what the table holds. */
static void check_known(struct farm *f, uint64_t now)
{
	unsigned n = 0, m = 0;

	hf_engine_each(f->e, check_one, &n, now);
	for (unsigned k = 0; k < KEYS; k++)
		m += known[k].there;
	assert_int_equal(n, m);
}

static void act(struct farm *f, uint64_t *seed, uint64_t now)
{
	char text[40];
	uint64_t k = farm_random(seed) % 3000, what = farm_random(seed) % 5;
	struct hf_question q = {.key = {farm_fp(k), hf_bytes_of(text, (size_t)snprintf(text, sizeof text, "user:number-%llu", (unsigned long long)k))},
		.life = what < 3 ? HF_LIFE_START : what == 3 ? HF_LIFE_END : HF_LIFE_LINGER, .life_s = 40 + (uint32_t)(farm_random(seed) % 4000), .flags = HF_COUNTED | HF_BOND};
	struct hf_lesson l = {.key = q.key, .life = q.life, .life_s = q.life_s, .flags = q.flags};
	struct hf_answer a;

	if (what < 3)
		hf_engine_choose(f->e, &q, &a, now);
	else
		(void)hf_engine_learn(f->e, &l, now);
}

/* A random life in steps, with all that changed taken between them: the copy follows. Fails without copy_changed in any of add, set and drop, and
 * when a bit is taken after the range was read. */
static void follows(enum hf_mode mode, uint32_t max_entries)
{
	struct farm *f = farm_new(mode, 5, 1250, max_entries, T0);
	uint64_t seed = 3, now = T0;

	memset(known, 0, sizeof known);
	assert_int_equal(hf_engine_track(f->e), HF_OK);
	for (unsigned i = 0; i < 2000; i++)
		act(f, &seed, now);
	take(f, true, now);
	check_known(f, now);
	assert_int_equal(take(f, false, now), 0); /* a whole copy takes all marks */
	for (unsigned round = 0; round < 60; round++) {
		unsigned acts = (unsigned)(farm_random(&seed) % 60), n;

		for (unsigned i = 0; i < acts; i++)
			act(f, &seed, now);
		hf_engine_sweep(f->e, now, 5000);
		n = take(f, false, now);
		assert_true(acts < 20 || (n > 0 && n <= 3000));
		if (round % 10 == 0) {
			while (hf_engine_sweep(f->e, now, 100000)) /* what is over is no change before it goes */
				;
			take(f, false, now);
			check_known(f, now);
			assert_int_equal(take(f, false, now), 0);
		}
		now += 4000;
		for (unsigned k = 0; k < KEYS; k++) /* time passes for the copy too */
			if (known[k].there)
				known[k].r.expires_s = known[k].r.expires_s > 4 ? known[k].r.expires_s - 4 : 0;
	}
	farm_free(f);
}

static void follows_all(void **state)
{
	(void)state;
	follows(HF_MODE_TABLE, 3500);
	follows(HF_MODE_AUTO, 500000); /* many shards and ranges */
}

static void give_back(struct farm *to, struct farm *from, uint64_t now)
{
	for (uint16_t id = 1; id <= hf_engine_last_id(from->e); id++) {
		struct hf_member_record r;

		if (hf_engine_record(from->e, id, &r))
			assert_int_equal(hf_engine_restore(to->e, id, &r, now), HF_OK);
	}
	for (unsigned k = 0; k < KEYS; k++) {
		struct hf_record r = known[k].r;

		if (!known[k].there)
			continue;
		r.text = hf_bytes_of(known[k].text, known[k].r.text.n);
		assert_int_equal(hf_engine_restore_entry(to->e, &r, now), HF_OK);
	}
}

/* Another engine, with a list of another order and other shards, made of the copy: each user where he was, with what is shown of him; a
 * server that is not listed any more keeps its users and takes none. Fails when restore drops text or flags. */
static void comes_back(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 5, 1250, 3500, T0), *g = farm_empty(HF_MODE_TABLE, 1250, 100000, 5000);
	uint64_t seed = 9;
	struct hf_server_view v;
	uint16_t old;

	(void)state;
	memset(known, 0, sizeof known);
	assert_int_equal(hf_engine_track(f->e), HF_OK);
	for (unsigned i = 0; i < 5000; i++)
		act(f, &seed, T0);
	take(f, true, T0 + 8000);
	for (unsigned k = 0; k < KEYS; k++)
		known[k].r.since_ms = 5000 - (uint64_t)k * 100; /* most of them before the clock's begin */
	give_back(g, f, 5000);
	g->n = 4; /* s5, s4, s3, new: s1 and s2 are gone */
	for (unsigned i = 0; i < 3; i++)
		farm_name(g, i, 100), snprintf(g->m[i].name, sizeof g->m[i].name, "s%u", 5 - i);
	farm_name(g, 3, 100);
	snprintf(g->m[3].name, sizeof g->m[3].name, "new");
	assert_int_equal(farm_apply(g, 5000), HF_OK);
	farm_check(g);
	for (unsigned k = 0; k < 3000; k++) {
		struct hf_where a, b;

		hf_engine_where(f->e, farm_fp(k), &a, T0 + 8000);
		hf_engine_where(g->e, farm_fp(k), &b, 5000);
		assert_true(a.known == b.known && a.known == known[k].there);
		if (!a.known)
			continue;
		assert_string_equal(farm_server(g, b.server).name, farm_server(f, a.server).name);
		assert_true(b.expires_s >= a.expires_s && b.expires_s <= a.expires_s + 4);
	}
	assert_int_equal(farm_counts(g).entries, farm_counts(f).entries);
	old = hf_engine_find(g->e, HF_LIT("s1"));
	assert_true(hf_engine_server(g->e, old, &v) && v.removed && v.sessions > 0 && v.state == HF_STATE_DRAIN);
	for (unsigned k = 5000; k < 5200; k++)
		assert_true(farm_ask(g, farm_fp(k), HF_LIFE_START, 60, 0, 5000).server != old);
	farm_free(f);
	farm_free(g);
}

static bool since_is(void *arg, const struct hf_record *r)
{
	*(uint64_t *)arg = r->since_ms;
	return false;
}

/* What is restored twice is there once, with the later values; what cannot be is refused; a range is emptied, and no neighbour. */
static void one_by_one(void **state)
{
	struct farm *f = farm_empty(HF_MODE_TABLE, 0, 2, 5000);
	struct hf_record r = {.fp = 100, .text = HF_LIT("user:x"), .flags = HF_BOND, .expires_s = 60, .since_ms = (uint64_t)0 - 7000, .why = HF_WHY_HOME};
	const struct hf_member_record s1 = {.name = "s1", .run_weight = HF_WEIGHT_FILE}, s2 = {.name = "s2", .run_weight = HF_WEIGHT_FILE};
	uint64_t since = 0;

	(void)state;
	r.server = 1;
	assert_int_equal(hf_engine_restore_entry(f->e, &r, 5000), HF_EINVAL); /* nobody has the id */
	assert_int_equal(hf_engine_restore(f->e, 1, &s1, 5000), HF_OK);
	assert_int_equal(hf_engine_restore(f->e, 2, &s2, 5000), HF_OK);
	assert_int_equal(hf_engine_restore_entry(f->e, &r, 5000), HF_OK);
	r.server = 2;
	assert_int_equal(hf_engine_restore_entry(f->e, &r, 5000), HF_OK);
	assert_int_equal(farm_counts(f).entries, 1);
	hf_engine_each(f->e, since_is, &since, 5000);
	assert_int_equal(5000 - since, 12000); /* differences count, not the numbers */
	r.fp = (uint64_t)1 << 60;
	assert_int_equal(hf_engine_restore_entry(f->e, &r, 5000), HF_EINVAL);
	r.fp = 102;
	assert_int_equal(hf_engine_restore_entry(f->e, &r, 5000), HF_OK);
	r.fp = ((uint64_t)1 << 60) - 1;
	assert_int_equal(hf_engine_restore_entry(f->e, &r, 5000), HF_EFULL);
	hf_engine_erase(f->e, &(struct hf_range){101, ((uint64_t)1 << 60) - 1});
	assert_int_equal(farm_counts(f).entries, 1);
	hf_engine_erase(f->e, &(struct hf_range){100, 100});
	assert_int_equal(farm_counts(f).entries, 0);
	farm_free(f);
}

static void again(struct farm *f)
{
	hf_engine_free(f->e);
	f->e = hf_engine_new(&f->conf, f->mem, T0);
	assert_non_null(f->e);
}

/* An unchanged pool finds its slots as they were: a slot whose owner is another in the mapping stays so, which no fill would leave. Any change, of a
 * weight, a server, a mark before the death, or a kill in the middle of one, and all slots are filled anew. Fails without the mark, and without
 * its end before the first slot changes. */
static void kept_slots(void **state)
{
	static const enum hf_method methods[] = {HF_METHOD_CARP, HF_METHOD_RING, HF_METHOD_MAGLEV, HF_METHOD_MODULO};

	(void)state;
	for (unsigned m = 0; m < 4; m++) {
		struct farm *f = farm_of(methods[m], HF_MODE_AUTO, 5, 1000, 3000, T0);
		uint64_t fill = hf_engine_digest(f->e), fill_50;
		uint16_t other;

		for (unsigned i = 0; i < 2000; i++)
			farm_ask(f, farm_fp(i), HF_LIFE_START, 3600, HF_COUNTED, T0);
		other = hf_engine_owner(f->e, 77) == 1 ? 2 : 1;
		ledger_own(f->e, 77, other);
		again(f);
		assert_int_equal(farm_apply(f, T0), HF_OK);
		assert_false(farm_counts(f).changing);
		assert_int_equal(hf_engine_owner(f->e, 77), other);
		farm_check(f); /* exceptions and all */
		f->m[2].weight = 50;
		again(f);
		assert_int_equal(farm_apply(f, T0), HF_OK);
		assert_int_not_equal(hf_engine_owner(f->e, 77), other);
		farm_check(f);
		fill_50 = hf_engine_digest(f->e);
		f->m[2].weight = 100;
		assert_int_equal(farm_apply(f, T0), HF_OK);
		for (unsigned i = 0; i < 30 && hf_engine_digest(f->e) == fill_50; i++)
			hf_engine_tick(f->e, T0); /* and dies there */
		f->m[2].weight = 50;
		again(f);
		assert_int_equal(farm_apply(f, T0), HF_OK);
		assert_int_equal(hf_engine_digest(f->e), fill_50);
		f->m[2].weight = 100;
		assert_int_equal(farm_apply(f, T0), HF_OK);
		farm_settle(f, T0);
		assert_int_equal(hf_engine_digest(f->e), fill);
		hf_engine_mark(f->e, f->id[1], HF_MARK_DOWN, true, T0);
		farm_settle(f, T0);
		other = hf_engine_owner(f->e, 77) == f->id[0] ? f->id[2] : f->id[0];
		ledger_own(f->e, 77, other);
		again(f); /* it is still down */
		assert_int_equal(farm_apply(f, T0), HF_OK);
		assert_int_equal(hf_engine_owner(f->e, 77), other);
		farm_check(f);
		farm_free(f);
	}
}

/* A mapping in which bits changed by themselves: any start is a sound one. */
static void damaged(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 5, 1000, 50000, T0);
	uint64_t seed = 5;
	unsigned rounds = farm_full() ? 5000 : 100;
	uint8_t *good = malloc(f->need);

	(void)state;
	for (unsigned i = 0; i < 20000; i++)
		farm_ask(f, farm_fp(i), HF_LIFE_START, 3600, HF_COUNTED, T0);
	memcpy(good, f->mem, f->need);
	for (unsigned r = 0; r < rounds; r++) {
		uint64_t n = 1 + farm_random(&seed) % (r % 2 ? 3 : 3000);
		size_t where = r % 3 ? f->need : 65536 + 300000; /* of every third the head, names and slots alone */

		hf_engine_free(f->e);
		memcpy(f->mem, good, f->need);
		while (n--)
			((uint8_t *)f->mem)[farm_random(&seed) % where] ^= (uint8_t)(1 << farm_random(&seed) % 8);
		f->e = hf_engine_new(&f->conf, f->mem, T0);
		assert_non_null(f->e);
		assert_int_equal(farm_apply(f, T0), HF_OK);
		farm_settle(f, T0);
		farm_check(f);
		for (unsigned i = 0; i < 100; i++)
			farm_ask(f, farm_fp(i), HF_LIFE_START, 3600, HF_COUNTED, T0);
		if (r % 2 && r % 3)
			assert_true(farm_counts(f).entries == 0 || farm_counts(f).entries > 20000 - 6 * 2);
	}
	free(good);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_all), cmocka_unit_test(comes_back), cmocka_unit_test(one_by_one), cmocka_unit_test(kept_slots), cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
