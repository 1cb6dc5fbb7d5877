/* The pool's members: ids, renames, removal and return, marks and weights, reaping, what a next engine finds, and no memory. */
#include <errno.h>

/* The allocation of this number fails (1 is the next; 0 none). The files that allocate are compiled into this program with it. */
static long fail_at;

static _Bool starves(void) { return fail_at && --fail_at == 0; }

#include <stdlib.h>
static void *starve_calloc(size_t n, size_t of) { return starves() ? NULL : calloc(n, of); }
static void *starve_malloc(size_t n) { return starves() ? NULL : malloc(n); }
#define calloc starve_calloc
#define malloc starve_malloc
#include "change.c"
#include "engine.c"
#include "records.c"
#undef calloc
#undef malloc

#include "farm.h"

enum { T0 = 1000000 };

/* Ids are given in order, kept by name, and given again only after reap; a name that returns takes up its sessions. */
static void ids(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	uint16_t gone[8];

	(void)state;
	assert_true(f->id[0] == 1 && f->id[1] == 2 && f->id[2] == 3);
	assert_int_equal(farm_learn(f, 5, 2, HF_LIFE_START, 60, 0, T0), HF_OK);
	f->m[1] = f->m[2];
	f->n = 2;
	assert_int_equal(farm_apply(f, T0 + 7), HF_OK);
	assert_true(f->id[0] == 1 && f->id[1] == 3);
	assert_true(farm_server(f, 2).removed && farm_server(f, 2).state == HF_STATE_DRAIN && farm_server(f, 2).since_ms == T0 + 7);
	assert_int_equal(hf_engine_reap(f->e, gone, 8), 0); /* its slots are not swept yet */
	farm_settle(f, T0);
	assert_int_equal(hf_engine_reap(f->e, gone, 8), 0); /* an entry, though not counted, names it */
	assert_int_equal(farm_ask(f, 5, HF_LIFE_NONE, 0, 0, T0).server, 2);
	hf_engine_mark(f->e, 2, HF_MARK_OFF, true, T0);
	farm_name(f, 2, 100);
	snprintf(f->m[2].name, sizeof f->m[2].name, "s2");
	f->n = 3;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_int_equal(f->id[2], 2);
	assert_int_equal(farm_server(f, 2).state, HF_STATE_UP); /* marks do not outlive the line */
	assert_int_equal(farm_ask(f, 5, HF_LIFE_NONE, 0, 0, T0).server, 2);
	hf_engine_advise(f->e, 2, 50, 7, T0);
	f->n = 2;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	assert_int_equal(farm_learn(f, 5, 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	assert_int_equal(hf_engine_reap(f->e, gone, 8), 1);
	assert_int_equal(gone[0], 2);
	assert_int_equal(hf_engine_find(f->e, HF_LIT("s2")), 0);
	assert_int_equal(hf_engine_state(f->e, 2, NULL), HF_STATE_OFF);
	assert_int_equal(farm_learn(f, 5, 2, HF_LIFE_START, 60, 0, T0), HF_ENOENT);
	snprintf(f->m[2].name, sizeof f->m[2].name, "new");
	f->n = 3;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_int_equal(f->id[2], 2);
	assert_true(farm_server(f, 2).percent == 0 && farm_server(f, 2).max_sessions == 0); /* of another server */
	farm_check(f);
	farm_free(f);
}

/* was= hands the id on, unless the old name is in the list itself; the slots become those of the new name. */
static void renames(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0), *g;

	(void)state;
	assert_int_equal(farm_learn(f, 5, 2, HF_LIFE_START, 60, HF_COUNTED, T0), HF_OK);
	strcpy(f->m[1].name, "new");
	strcpy(f->m[1].was, "s2");
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	assert_int_equal(f->id[1], 2);
	assert_string_equal(farm_server(f, 2).name, "new");
	assert_string_equal(farm_server(f, 2).was, "s2");
	assert_int_equal(farm_ask(f, 5, HF_LIFE_NONE, 0, 0, T0).server, 2);
	g = farm_empty(HF_MODE_AUTO, 0, 10, T0);
	g->n = 3;
	memcpy(g->m, f->m, sizeof g->m);
	assert_int_equal(farm_apply(g, T0), HF_OK);
	assert_int_equal(hf_engine_digest(f->e), hf_engine_digest(g->e));
	farm_name(f, 3, 100);
	strcpy(f->m[3].name, "more");
	strcpy(f->m[3].was, "s1"); /* s1 is still there */
	f->n = 4;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_true(f->id[0] == 1 && f->id[3] == 4);
	strcpy(f->m[0].name, "one");
	strcpy(f->m[0].was, "s1"); /* two claim s1 now; "more" is somebody already */
	strcpy(f->m[3].name, "two");
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_true(f->id[0] == 1 && f->id[3] == 5);
	farm_check(f);
	farm_free(g);
	farm_free(f);
}

static void rename_to(struct farm *f, unsigned i, const char *name, const char *was)
{
	strcpy(f->m[i].name, name);
	strcpy(f->m[i].was, was);
	assert_int_equal(farm_apply(f, T0), HF_OK);
}

static void former_are(struct farm *f, uint16_t id, const char *want)
{
	char got[2 * HF_NAME_MAX] = "";
	struct hf_member_record r;

	assert_true(hf_engine_record(f->e, id, &r));
	for (unsigned i = 0; hf_member_former(&r, i).n; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "", (const char *)hf_member_former(&r, i).p);
	assert_string_equal(got, want);
}

/* A server renamed again and again is known by its last names, also to the next engine, and keeps its sessions; a line that tells nothing of them takes
 * none away. A name that it bears again is no former one, and one that another has borne since is that one's. Without list_former for a
 * name that it had only what `was` tells is known. */
static void renamed_again(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 2, 0, 100, T0);

	(void)state;
	assert_int_equal(farm_learn(f, 5, 1, HF_LIFE_START, 60, HF_COUNTED, T0), HF_OK);
	rename_to(f, 0, "b", "s1");
	rename_to(f, 0, "c", "b");
	former_are(f, 1, "b s1");
	rename_to(f, 0, "c", "b");
	rename_to(f, 0, "c", "");
	former_are(f, 1, "b s1");
	hf_engine_free(f->e);
	f->e = hf_engine_new(&f->conf, f->mem, T0);
	rename_to(f, 0, "d", "c");
	rename_to(f, 0, "e", "d");
	rename_to(f, 0, "f", "e");
	rename_to(f, 0, "c", "f");
	former_are(f, 1, "f e d b s1");
	assert_true(f->id[0] == 1 && farm_ask(f, 5, HF_LIFE_NONE, 0, 0, T0).server == 1);
	rename_to(f, 1, "e", "s2"); /* a name that was another's ... */
	rename_to(f, 1, "g", "e");  /* ... has been this one's since */
	former_are(f, 1, "f d b s1");
	former_are(f, 2, "e s2");
	farm_check(f);
	farm_free(f);
}

/* Of former names the oldest give way, when they are too many or have no room. Without `put` the ninth is kept. */
static void oldest_names_go(void **state)
{
	struct hf_member_record r = {.name = "n0"};
	char name[HF_NAME_MAX + 1] = "n0";
	unsigned n = 0;

	(void)state;
	for (unsigned i = 1; i <= 10; i++) {
		snprintf(name, sizeof name, "n%u", i);
		hf_member_rename(&r, hf_bytes_str(name), HF_NONE);
	}
	while (hf_member_former(&r, n).n)
		n++;
	assert_int_equal(n, HF_FORMER_MAX);
	assert_true(hf_bytes_eq(hf_member_former(&r, 0), HF_LIT("n9")) && hf_bytes_eq(hf_member_former(&r, 7), HF_LIT("n2")));
	memset(name, 'x', HF_NAME_MAX - 3);
	name[HF_NAME_MAX - 3] = 0;
	hf_member_rename(&r, hf_bytes_str(name), HF_LIT("n10"));
	hf_member_rename(&r, HF_LIT("last"), hf_bytes_str(name));
	assert_true(hf_bytes_eq(hf_member_former(&r, 0), hf_bytes_str(name)) && !hf_member_former(&r, 1).n);
	memset(name, 'y', HF_NAME_MAX);
	name[HF_NAME_MAX] = 0;
	hf_member_rename(&r, HF_LIT("it"), hf_bytes_str(name));
	assert_true(hf_bytes_eq(hf_member_former(&r, 0), hf_bytes_str(name)) && kept_sound(&r));
	assert_string_equal(r.name, "it");
}

/* A list that will not do changes nothing. */
static void refused_whole(void **state)
{
	static char name[HF_SERVERS_MAX + 1][8];
	static struct hf_member_conf m[HF_SERVERS_MAX + 1];
	static uint16_t id[HF_SERVERS_MAX + 1];
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	uint64_t digest = hf_engine_digest(f->e);

	(void)state;
	for (unsigned i = 0; i <= HF_SERVERS_MAX; i++) {
		snprintf(name[i], sizeof name[i], "x%u", i);
		m[i] = (struct hf_member_conf){.name = hf_bytes_str(name[i]), .weight = 1};
	}
	assert_int_equal(hf_engine_apply(f->e, m, HF_SERVERS_MAX + 1, id, T0), HF_EFULL);
	assert_int_equal(hf_engine_apply(f->e, m, HF_SERVERS_MAX - 2, id, T0), HF_EFULL); /* three ids are still held */
	m[1] = m[0];
	assert_int_equal(hf_engine_apply(f->e, m, 2, id, T0), HF_EINVAL);
	m[1].name = HF_NONE;
	assert_int_equal(hf_engine_apply(f->e, m, 2, id, T0), HF_EINVAL);
	m[1] = m[2];
	m[1].weight = 257;
	assert_int_equal(hf_engine_apply(f->e, m, 2, id, T0), HF_EINVAL);
	assert_int_equal(hf_engine_last_id(f->e), 3);
	farm_settle(f, T0);
	assert_int_equal(hf_engine_digest(f->e), digest);
	farm_free(f);
}

/* OFF, then DOWN, then DRAIN (weight 0, busy, removed too), else UP; since is when the state began; a flap ends where it began. */
static void states(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	static const struct { enum hf_mark mark; bool on; enum hf_state is; } steps[] = {
		{HF_MARK_BUSY, true, HF_STATE_DRAIN}, {HF_MARK_DOWN, true, HF_STATE_DOWN}, {HF_MARK_OFF, true, HF_STATE_OFF},
		{HF_MARK_DOWN, false, HF_STATE_OFF}, {HF_MARK_OFF, false, HF_STATE_DRAIN}, {HF_MARK_DRAIN, true, HF_STATE_DRAIN},
		{HF_MARK_BUSY, false, HF_STATE_DRAIN}, {HF_MARK_DRAIN, false, HF_STATE_UP},
	};
	uint64_t digest = hf_engine_digest(f->e), since, at = T0;

	(void)state;
	for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		enum hf_state was = hf_engine_state(f->e, 2, NULL);

		hf_engine_mark(f->e, 2, steps[i].mark, steps[i].on, T0 + 10 * (i + 1));
		at = steps[i].is != was ? T0 + 10 * (i + 1) : at;
		assert_int_equal(hf_engine_state(f->e, 2, &since), steps[i].is);
		assert_int_equal(since, at);
		hf_engine_tick(f->e, T0);
	}
	farm_settle(f, T0);
	assert_int_equal(hf_engine_digest(f->e), digest);
	hf_engine_mark(f->e, 99, HF_MARK_OFF, true, T0);
	hf_engine_mark(f->e, 0, HF_MARK_OFF, true, T0);
	farm_check(f);
	farm_free(f);
}

/* A run-time weight holds over an apply until the file's own weight changes, or is asked for. */
static void run_time_weights(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);

	(void)state;
	hf_engine_weigh(f->e, 1, 10, T0);
	hf_engine_weigh(f->e, 1, 257, T0); /* no weight */
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_true(farm_server(f, 1).weight == 10 && farm_server(f, 1).file_weight == 100);
	f->m[0].weight = 90;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	assert_true(farm_server(f, 1).weight == 90 && farm_server(f, 1).file_weight == 90);
	hf_engine_weigh(f->e, 1, 0, T0);
	assert_int_equal(farm_server(f, 1).state, HF_STATE_DRAIN);
	hf_engine_weigh(f->e, 1, HF_WEIGHT_FILE, T0);
	assert_int_equal(farm_server(f, 1).weight, 90);
	farm_settle(f, T0);
	farm_check(f);
	farm_free(f);
}

/* Where a server is may be found and not written: then a new place is no new line, and what was set by hand stays. Fails when other_line() compares it. */
static void found_elsewhere(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 1, 0, 100, T0);
	struct hf_member_conf c = {.name = HF_LIT("s1"), .weight = 100, .at = {7}, .at_found = true};

	(void)state;
	hf_engine_weigh(f->e, 1, 10, T0);
	assert_int_equal(hf_engine_apply(f->e, &c, 1, f->id, T0), HF_OK);
	assert_true(farm_server(f, 1).weight == 10 && farm_server(f, 1).at[0] == 7);
	c.at_found = false;
	c.at[0] = 8;
	assert_int_equal(hf_engine_apply(f->e, &c, 1, f->id, T0), HF_OK);
	assert_true(farm_server(f, 1).weight == 100 && farm_server(f, 1).at[0] == 8);
	farm_settle(f, T0);
	farm_free(f);
}

/* The next engine over the same mapping: sessions, loads and names are there; another key or form starts empty; rubbish does no harm. */
static void takes_over(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1250, 1000, T0);
	uint16_t lives[200];
	uint64_t seed = 8;

	(void)state;
	for (uint64_t k = 0; k < 200; k++)
		lives[k] = farm_ask(f, farm_fp(k), HF_LIFE_START, 900, HF_COUNTED, T0).server;
	hf_engine_free(f->e);
	f->e = hf_engine_new(&f->conf, f->mem, T0);
	assert_int_equal(farm_counts(f).counted, 200);
	assert_int_equal(farm_ask(f, farm_fp(0), HF_LIFE_NONE, 0, 0, T0).server, lives[0]); /* before any apply */
	f->n = 2;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	for (uint64_t k = 0; k < 200; k++)
		assert_int_equal(farm_ask(f, farm_fp(k), HF_LIFE_NONE, 0, 0, T0).server, lives[k]);
	farm_check(f);
	hf_engine_free(f->e);
	f->conf.hash_key[0] ^= 1;
	f->e = hf_engine_new(&f->conf, f->mem, T0);
	assert_true(farm_counts(f).entries == 0 && hf_engine_last_id(f->e) == 0);
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_check(f);
	hf_engine_free(f->e);
	for (size_t i = sizeof(struct region_head) + 64; i + 8 <= f->need; i += 8) {
		uint64_t r = farm_random(&seed);

		memcpy((uint8_t *)f->mem + i, &r, 8);
	}
	f->e = hf_engine_new(&f->conf, f->mem, T0);
	assert_int_equal(farm_counts(f).entries, 0);
	farm_free(f);
}

/* A bond whose flow outlived its stamp is found by the next engine too, because the sweep stamps it anew. */
static void takes_over_flows(void **state)
{
	struct farm *f = farm_new(HF_MODE_TABLE, 3, 1250, 100, T0);
	uint64_t later = T0 + 3600000;
	uint16_t id = (uint16_t)(hf_engine_owner(f->e, 0) % 3 + 1); /* not where it would be placed */

	(void)state;
	assert_int_equal(farm_learn(f, 5, id, HF_LIFE_OPEN, 60, HF_COUNTED, T0), HF_OK);
	assert_int_equal(hf_engine_sweep(f->e, later, 1000), 0);
	hf_engine_free(f->e);
	f->e = hf_engine_new(&f->conf, f->mem, later);
	assert_int_equal(farm_apply(f, later), HF_OK);
	assert_int_equal(farm_ask(f, 5, HF_LIFE_OPEN, 60, HF_COUNTED, later).server, id);
	assert_true(farm_server(f, id).sessions == 1);
	farm_check(f);
	farm_free(f);
}

/* How many allocations new makes; it gives nothing while one of them fails. */
static long starve_new(const struct farm *f, enum hf_method method)
{
	struct hf_engine_conf c = f->conf;

	c.method = method;
	for (long n = 1;; n++) {
		void *mem = calloc(1, f->need);
		struct hf_engine *e;

		fail_at = n;
		e = hf_engine_new(&c, mem, T0);
		hf_engine_free(e);
		free(mem);
		if (e)
			return n - 1;
		assert_true(n < 10);
	}
}

/* Every allocation of new, apply and a table's entry fails once: no leak, no half change, and the next try does it. */
static void starving(void **state)
{
	struct farm *f = farm_empty(HF_MODE_TABLE, 1250, 1000, T0);
	struct hf_answer a;

	(void)state;
	assert_int_equal(starve_new(f, HF_METHOD_MAGLEV), starve_new(f, HF_METHOD_RING) + 1); /* a fill in steps has its scratch from the start */
	fail_at = 1;
	f->n = 3;
	for (unsigned i = 0; i < 3; i++)
		farm_name(f, i, 100);
	assert_int_equal(farm_apply(f, T0), HF_OK); /* no memory to fill at once: by ticks */
	fail_at = 0;
	a = farm_ask(f, 5, HF_LIFE_NONE, 0, 0, T0);
	farm_settle(f, T0);
	assert_int_equal(farm_ask(f, 5, HF_LIFE_NONE, 0, 0, T0).server, a.server);
	for (long n = 1; n <= 2; n++) {
		fail_at = n;
		a = farm_ask(f, 5, HF_LIFE_OPEN, 60, HF_COUNTED, T0);
		assert_true(a.server && a.full && farm_counts(f).entries == 0 && farm_counts(f).counted == 0);
	}
	fail_at = 0;
	assert_false(farm_ask(f, 5, HF_LIFE_OPEN, 60, HF_COUNTED, T0).full);
	farm_check(f);
	farm_free(f);
}

/* What a conf may not say: there is no such engine. Without conf_fits a factor below 1 leaves places that nobody can fill. */
static void impossible(void **state)
{
	static const struct hf_engine_conf good = {.slot_bits = 16, .load_factor_milli = 1000, .max_entries = 10, .ring_points = 256};
	struct hf_engine_conf bad[12];
	struct hf_engine_conf c = good;
	void *mem = calloc(1, hf_engine_need(&c));
	struct hf_engine *e;
	unsigned n = 0;

	(void)state;
	while (n < 12)
		bad[n++] = good;
	bad[0].slot_bits = 12;
	bad[1].slot_bits = 21;
	bad[2].load_factor_milli = 900;
	bad[3].load_factor_milli = 10001;
	bad[4].max_entries = 0;
	bad[5].max_entries = (1u << 28) + 1;
	bad[6].mode = HF_MODE_NONE + 1;
	bad[7].method = HF_METHOD_MODULO + 1;
	bad[8].balance = HF_BALANCE_RANDOM + 1;
	bad[9].fallback = HF_FALLBACK_SOURCE + 1;
	bad[10].method = bad[11].method = HF_METHOD_RING;
	bad[10].ring_points = 0;
	bad[11].ring_points = 1025;
	for (unsigned i = 0; i < n; i++)
		assert_null(hf_engine_new(&bad[i], mem, T0));
	e = hf_engine_new(&good, mem, T0);
	assert_non_null(e);
	hf_engine_free(e);
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible),
		cmocka_unit_test(ids), cmocka_unit_test(renames), cmocka_unit_test(renamed_again), cmocka_unit_test(oldest_names_go), cmocka_unit_test(refused_whole), cmocka_unit_test(states),
		cmocka_unit_test(run_time_weights), cmocka_unit_test(found_elsewhere), cmocka_unit_test(takes_over), cmocka_unit_test(takes_over_flows), cmocka_unit_test(starving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
