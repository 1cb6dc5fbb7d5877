/* Tables: text, flows, since, seen, why; their entries while flows live; the counts that must never fall below 0. */
#include "farm.h"

enum { T0 = 1000000, S = 1000 };

static struct hf_answer ask(struct farm *f, uint64_t fp, const char *text, enum hf_life life, uint32_t life_s, unsigned flags, uint64_t now)
{
	struct hf_question q = {.key = {fp, hf_bytes_str(text)}, .life = life, .life_s = life_s, .flags = flags};
	struct hf_answer a;

	hf_engine_choose(f->e, &q, &a, now);
	return a;
}

struct seen {
	unsigned n, stop_at;
	struct hf_record r;
	char text[200];
};

static bool see(void *arg, const struct hf_record *r)
{
	struct seen *s = arg;

	s->n++;
	s->r = *r;
	memcpy(s->text, r->text.p ? r->text.p : (const uint8_t *)"", r->text.n);
	s->text[r->text.n] = 0;
	return s->n != s->stop_at;
}

static struct seen look(struct farm *f, uint64_t now)
{
	struct seen s = {0};

	hf_engine_each(f->e, see, &s, now);
	return s;
}

/* A desktop's bond: opened twice, closed twice, then it lingers and ends. Without the flow count the first close starts the linger. */
static void a_bond(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 1250, 100, T0);
	struct hf_answer a = ask(f, 7, "user:alice", HF_LIFE_OPEN, 60, HF_COUNTED | HF_TENTATIVE | HF_BOND, T0);
	struct seen s = look(f, T0 + S);

	(void)state;
	assert_int_equal(s.n, 1);
	assert_string_equal(s.text, "user:alice");
	assert_true(s.r.flows == 1 && s.r.why == HF_WHY_HOME && s.r.since_ms == T0 && s.r.server == a.server);
	assert_int_equal(s.r.flags, HF_COUNTED | HF_TENTATIVE | HF_BOND);
	a = ask(f, 7, "", HF_LIFE_OPEN, 60, HF_COUNTED | HF_BOND, T0 + 2 * S);
	assert_true(a.known && a.why == HF_WHY_BOND);
	s = look(f, T0 + 3 * S);
	assert_true(s.r.flows == 2 && s.r.seen_ms == T0 + 2 * S && s.r.since_ms == T0);
	assert_int_equal(s.r.flags, HF_COUNTED | HF_BOND);
	assert_int_equal(farm_server(f, a.server).sessions, 1);
	assert_true(ask(f, 7, "", HF_LIFE_NONE, 0, 0, T0 + 3600 * (uint64_t)S).known); /* live flows outlive the stamp */
	assert_int_equal(hf_engine_sweep(f->e, T0 + 3600 * (uint64_t)S, 1000), 0);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_CLOSE, 100, 0, T0 + 4000 * (uint64_t)S), HF_OK);
	assert_int_equal(look(f, T0 + 4000 * (uint64_t)S).r.flows, 1);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_CLOSE, 100, 0, T0 + 5000 * (uint64_t)S), HF_OK);
	s = look(f, T0 + 5000 * (uint64_t)S);
	assert_true(s.r.flows == 0 && s.r.expires_s >= 100 && s.r.expires_s <= 104 && s.r.flags & HF_COUNTED);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_CLOSE, 100, 0, T0 + 5001 * (uint64_t)S), HF_OK); /* once too often */
	assert_int_equal(look(f, T0 + 5001 * (uint64_t)S).r.flows, 0);
	assert_false(ask(f, 7, "", HF_LIFE_NONE, 0, 0, T0 + 5106 * (uint64_t)S).known);
	assert_int_equal(look(f, T0 + 5106 * (uint64_t)S).n, 0);
	farm_check(f);
	farm_free(f);
}

/* r25: who is away for nine hours finds his host, as one does for 24; the sweep that goes round meanwhile takes nothing that has time left. Fails when a time
 * of life is cut to anything below a day. */
static void r25_nine_hours(void **state)
{
	enum { HOUR = 3600 * S };
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 1250, 100, T0);
	uint16_t at = ask(f, 7, "user:alice", HF_LIFE_OPEN, 86400, HF_COUNTED | HF_BOND, T0).server, other = (uint16_t)(at % 3 + 1);

	(void)state;
	assert_int_equal(farm_learn(f, 8, other, HF_LIFE_START, 86400, HF_COUNTED | HF_BOND, T0), HF_OK);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_CLOSE, 86400, 0, T0), HF_OK);
	for (unsigned h = 1; h <= 23; h++) {
		struct hf_answer a = ask(f, 7, "", HF_LIFE_NONE, 0, 0, T0 + h * (uint64_t)HOUR), b = ask(f, 8, "", HF_LIFE_NONE, 0, 0, T0 + h * (uint64_t)HOUR);

		assert_int_equal(hf_engine_sweep(f->e, T0 + h * (uint64_t)HOUR, 1000), 0);
		assert_true(a.known && a.server == at && b.known && b.server == other);
	}
	assert_false(ask(f, 7, "", HF_LIFE_NONE, 0, 0, T0 + 24 * (uint64_t)HOUR + 8 * S).known);
	farm_check(f);
	farm_free(f);
}

/* A tentative bond ends with the last flow that proved nothing, one that is firm by another flow does not; END ends one whatever its flows. */
static void tentative_ends(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 1250, 100, T0);

	(void)state;
	(void)ask(f, 7, "user:bob", HF_LIFE_OPEN, 60, HF_COUNTED | HF_TENTATIVE, T0);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_CLOSE, 100, 0, T0), HF_OK);
	assert_int_equal(farm_counts(f).entries, 1);
	(void)ask(f, 7, "user:bob", HF_LIFE_OPEN, 60, HF_COUNTED | HF_TENTATIVE, T0);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_CLOSE, 100, HF_TENTATIVE, T0), HF_OK);
	assert_int_equal(farm_counts(f).entries, 0);
	(void)ask(f, 7, "user:bob", HF_LIFE_OPEN, 60, HF_COUNTED, T0);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_CLOSE, 100, HF_TENTATIVE, T0), HF_OK);
	assert_int_equal(farm_counts(f).entries, 1);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_CLOSE, 100, 0, T0), HF_ENOENT);
	assert_int_equal(farm_counts(f).counted, 0);
	farm_check(f);
	farm_free(f);
}

/* A long key is kept to 128 octets; every record is walked once until the callback says stop; records go with their entries. */
static void walks(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 1250, 20000, T0);
	struct seen s = {.stop_at = 10};
	char text[190];

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = 0;
	for (uint64_t k = 0; k < 20000; k++)
		assert_false(ask(f, farm_fp(k), text, HF_LIFE_START, 100, HF_COUNTED, T0).full);
	assert_true(ask(f, 1, text, HF_LIFE_START, 100, HF_COUNTED, T0).full);
	assert_int_equal(look(f, T0).n, 20000);
	assert_int_equal(strlen(look(f, T0).text), 128);
	hf_engine_each(f->e, see, &s, T0);
	assert_int_equal(s.n, 10);
	assert_int_equal(hf_engine_sweep(f->e, T0 + 200 * S, 100000), 20000);
	for (unsigned i = 0; i < f->e->n_shards; i++)
		assert_int_equal(f->e->shard[i].records.used, 0);
	farm_free(f);
}

/* A flow that lives for weeks: the sweep sets the stamp anew before its 18 bits wrap, and nothing is lost at any hour. */
static void weeks(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 1250, 10, T0);
	uint64_t hour = 3600 * S, now = T0;

	(void)state;
	(void)ask(f, 7, "user:eve", HF_LIFE_OPEN, 60, HF_COUNTED, T0);
	for (unsigned i = 0; i < 24 * 30; i++, now += hour) {
		assert_true(ask(f, 7, "", HF_LIFE_NONE, 0, 0, now).known);
		assert_int_equal(hf_engine_sweep(f->e, now, 500), 0);
	}
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_CLOSE, 100, 0, now), HF_OK);
	assert_int_equal(hf_engine_sweep(f->e, now + 104 * S, 500), 1);
	farm_free(f);
}

/* Memory: at a million entries 14 octets each, the slots and the pool's own fixed tables apart; a page is not touched before it is used. */
static void octets(void **state)
{
	struct hf_engine_conf c = {.mode = HF_MODE_AUTO, .slot_bits = 16, .max_entries = 1000000}, one = c;

	(void)state;
	one.max_entries = 1;
	assert_true(hf_engine_need(&c) - hf_engine_need(&one) <= 14 * (size_t)c.max_entries);
	assert_true(hf_engine_need(&one) < 1200000);
	c.max_entries = 1u << 28;
	assert_true(hf_engine_need(&c) / 14 <= c.max_entries);
}

/* Every size takes exactly max_entries, however the fingerprints fall. */
static void every_size(void **state)
{
	static const uint32_t sizes[] = {1, 2, 7, 100, 8191, 8192, 16384, 50000, 200000};

	(void)state;
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct farm *f = farm_new(HF_MODE_AUTO, 3, 1250, sizes[i], T0);

		for (uint32_t k = 0; k < sizes[i]; k++)
			assert_false(farm_ask(f, farm_fp(k), HF_LIFE_START, 100, HF_COUNTED, T0).full);
		assert_true(farm_ask(f, farm_fp(sizes[i]), HF_LIFE_START, 100, HF_COUNTED, T0).full);
		farm_check(f);
		farm_free(f);
	}
}

/* Where a run reaches the table's end there is no room although max_entries is far: full, and nothing is left of the try. */
static void no_room(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 1250, 1000, T0);
	uint64_t fp = ((uint64_t)1 << 60) - 1;
	struct hf_answer a;

	(void)state;
	do
		a = ask(f, fp--, "user:x", HF_LIFE_START, 100, HF_COUNTED, T0);
	while (!a.full);
	assert_true(a.server && farm_counts(f).entries == ENTRIES_SLACK + 1 && farm_counts(f).counted == ENTRIES_SLACK + 1);
	assert_int_equal(f->e->shard[0].records.used, ENTRIES_SLACK + 1);
	farm_check(f);
	farm_free(f);
}

/* More than 255 exceptions in one slot: the count sticks at 255 while they go, is exact again after a change, and answers stay right. */
static void saturation(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 1000, T0);
	uint16_t home = hf_engine_owner(f->e, 0), b = home == 1 ? 2 : 1;

	(void)state;
	for (uint64_t fp = 1; fp <= 400; fp++)
		assert_int_equal(farm_learn(f, fp, b, HF_LIFE_START, 100, HF_COUNTED, T0), HF_OK);
	assert_int_equal(SLOT_EXCEPTIONS(slot_word(f->e, 0)), 255);
	assert_int_equal(farm_counts(f).exceptions, 400);
	for (uint64_t fp = 1; fp <= 390; fp++)
		assert_int_equal(farm_learn(f, fp, 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	assert_int_equal(SLOT_EXCEPTIONS(slot_word(f->e, 0)), 255);
	assert_int_equal(farm_counts(f).exceptions, 10);
	farm_check(f);
	hf_engine_mark(f->e, home, HF_MARK_DOWN, true, T0);
	farm_settle(f, T0);
	assert_int_equal(SLOT_EXCEPTIONS(slot_word(f->e, 0)), hf_engine_owner(f->e, 0) == b ? 0 : 10);
	farm_check(f);
	farm_free(f);
}

static unsigned opened(struct farm *f, uint64_t source, uint64_t now)
{
	struct hf_question q = {.key = {.fp = 7}, .life = HF_LIFE_OPEN, .life_s = 60, .flags = HF_COUNTED | HF_BOND, .source = source};
	struct hf_answer a;

	hf_engine_choose(f->e, &q, &a, now);
	return a.row;
}

static void closed(struct farm *f, uint64_t source, uint32_t lasted_ms, uint64_t now)
{
	assert_int_equal(hf_engine_learn(f->e, &(struct hf_lesson){.key = {.fp = 7}, .life = HF_LIFE_CLOSE, .life_s = 60, .source = source, .lasted_ms = lasted_ms}, now), HF_OK);
}

/* Brief flows of one source in a row are told to the next one of it, while that comes at once: not after a pause, not to another source, which begins a
 * row of its own, and not for flows side by side or one that was not brief. Without in_a_row nothing is told; without its gap, everything. */
static void rows(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 0, 100, T0);
	uint64_t t = T0;

	(void)state;
	for (unsigned n = 0; n < 300; n++) {
		assert_int_equal(opened(f, 51, t), n < 255 ? n : 255);
		closed(f, 51, 2000, t + 2000);
		t += 2000 + (n % 2 ? 3000 : 0);
	}
	assert_int_equal(opened(f, 51, t), 255);
	closed(f, 51, 0, t + 60 * S); /* it stayed */
	assert_int_equal(opened(f, 51, t += 61 * S), 0);
	closed(f, 51, 1000, t += S);
	assert_int_equal(opened(f, 51, t - 500), 1); /* there before the end of the other was seen */
	closed(f, 51, 1000, t += 500);
	assert_int_equal(opened(f, 52, t), 0);
	assert_int_equal(opened(f, 51, t + 3001), 0);
	assert_int_equal(opened(f, 51, t + 3000), 2);
	closed(f, 52, 1, t + 1);
	assert_int_equal(opened(f, 51, t + 2), 0); /* the row is another's now */
	assert_int_equal(opened(f, 52, t + 2), 1);

	t += 100 * S; /* four side by side, none of which goes on with another */
	for (unsigned i = 0; i < 4; i++)
		closed(f, 53, 3000, t + i * 100);
	assert_int_equal(opened(f, 53, t + 400), 1);
	closed(f, 0, 5, t + 500); /* whose it was is not known */
	assert_int_equal(opened(f, 53, t + 600), 1);
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bond), cmocka_unit_test(r25_nine_hours), cmocka_unit_test(rows), cmocka_unit_test(tentative_ends), cmocka_unit_test(walks), cmocka_unit_test(weeks),
		cmocka_unit_test(octets), cmocka_unit_test(every_size), cmocka_unit_test(no_room), cmocka_unit_test(saturation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
