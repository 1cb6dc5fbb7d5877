/* Pools on the disk, from engine to file and back (net/keeping.c, kept_form.c, revive.c): who was where is known again, times go on whatever the wall
 * clock did, and what is damaged costs what it held and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t mono_ms = 1000000;
static time_t wall_s = 1800000000;
static uint64_t mono(void) { return mono_ms; }
static time_t wall(time_t *t) { (void)t; return wall_s; }

#include "holdfast/clock.h"
#define hf_clock_ms mono
#define time wall
#include "keeping.c"
#include "revive.c"
#undef time
#undef hf_clock_ms

/* ---- a disk of one file, in place of the store's thread ---- */

static const uint8_t key[16] = {3, 1, 4};
static char dir[64];
static bool full_form;

struct hf_disk_out { uint8_t *p; size_t n, cap; unsigned at[200000], records; long refuse; };
static struct hf_disk_out file;

bool hf_disk_put(struct hf_disk_out *out, uint16_t type, struct hf_bytes b)
{
	if (out->refuse && !--out->refuse)
		return false;
	while (out->cap < out->n + b.n + 8)
		out->p = realloc(out->p, out->cap = out->cap ? 2 * out->cap : 65536);
	out->at[out->records++] = (unsigned)out->n;
	hf_put16(out->p + out->n, type);
	hf_put32(out->p + out->n + 2, (uint32_t)b.n);
	memcpy(out->p + out->n + 6, b.p, b.n);
	out->n += 6 + b.n;
	return true;
}

/* Which records a load gives, by number; NULL: all. */
static bool (*gives)(unsigned record);

enum hf_err hf_disk_load(const char *d, const char *pool, const uint8_t k[16], void (*each)(void *, uint16_t, struct hf_bytes), void *arg, struct hf_disk_found *found)
{
	(void)d, (void)pool, (void)k;
	*found = (struct hf_disk_found){.there = true};
	for (unsigned i = 0; i < file.records; i++) {
		const uint8_t *p = file.p + file.at[i];
		uint8_t *copy = malloc(hf_get32(p + 2) + 1); /* of its own length, so that a sanitizer sees one octet beyond */

		memcpy(copy, p + 6, hf_get32(p + 2));
		if (!gives || gives(i)) {
			each(arg, hf_get16(p), hf_bytes_of(copy, hf_get32(p + 2)));
			found->records++;
		}
		free(copy);
	}
	return HF_OK;
}

/* ---- pools ---- */

struct pool { struct pool_rt rt; struct hf_conf_pool conf; struct hf_conf_server servers[8]; void *mem; struct hf_engine_conf e; };

static struct pool *pool_new(uint32_t max_entries)
{
	struct pool *p = calloc(1, sizeof *p);

	p->e = (struct hf_engine_conf){.mode = HF_MODE_TABLE, .slot_bits = 16, .load_factor_milli = 1250, .max_entries = max_entries, .ring_points = 256};
	memcpy(p->e.hash_key, key, 16);
	p->mem = calloc(1, hf_engine_need(&p->e));
	snprintf(p->rt.name, sizeof p->rt.name, "farm");
	p->rt.engine = hf_engine_new(&p->e, p->mem, mono_ms);
	assert_non_null(p->rt.engine);
	p->conf.servers = p->servers;
	return p;
}

static void lists(struct pool *p, const char *names) /* one letter a server */
{
	struct hf_member_conf m[8];
	uint16_t ids[8];

	p->conf.n_servers = 0;
	for (; *names; names++) {
		struct hf_conf_server *s = &p->servers[p->conf.n_servers];

		memset(s, 0, sizeof *s);
		s->name[0] = *names;
		s->weight = 100;
		m[p->conf.n_servers] = (struct hf_member_conf){.name = hf_bytes_str(s->name), .weight = 100, .at = {4}};
		p->conf.n_servers++;
	}
	assert_int_equal(hf_engine_apply(p->rt.engine, m, p->conf.n_servers, ids, mono_ms), HF_OK);
}

static void pool_free(struct pool *p)
{
	keeping_free(p->rt.keeping);
	hf_engine_free(p->rt.engine);
	free(p->mem);
	free(p);
}

static struct hf_key user(unsigned i, char text[40])
{
	struct hf_bytes t = hf_bytes_of(text, (size_t)snprintf(text, 40, "user:number-%u", i));

	return (struct hf_key){hf_fingerprint_text(key, t), t};
}

static char connect_user(struct pool *p, unsigned i, uint32_t life_s)
{
	char text[40];
	struct hf_question q = {.key = user(i, text), .life = HF_LIFE_START, .life_s = life_s, .flags = HF_BOND | HF_COUNTED};
	struct hf_answer a;
	struct hf_member_record r;

	hf_engine_choose(p->rt.engine, &q, &a, mono_ms);
	return hf_engine_record(p->rt.engine, a.server, &r) ? r.name[0] : 0;
}

/* Where the user is known to be; 0: nowhere. */
static char home(struct pool *p, unsigned i, struct hf_where *w)
{
	char text[40];
	struct hf_member_record r;

	hf_engine_where(p->rt.engine, user(i, text).fp, w, mono_ms);
	return w->known && hf_engine_record(p->rt.engine, w->server, &r) ? r.name[0] : 0;
}

static void write_all(struct pool *p)
{
	if (!p->rt.keeping)
		p->rt.keeping = keeping_new(&p->rt, dir, key, true);
	file.n = file.records = 0;
	assert_int_equal(keeping_write(p->rt.keeping, &file, true), HF_DISK_WROTE);
}

/* A power cut: another boot's clock, an empty engine, what the file holds. */
static struct pool *power_cut(struct pool *p, const char *listed, uint32_t max_entries, long away_s)
{
	struct pool *q;

	if (p)
		pool_free(p);
	mono_ms = 50000; /* soon after the boot */
	wall_s += away_s;
	q = pool_new(max_entries);
	for (const char *n = listed; *n; n++)
		q->servers[q->conf.n_servers].weight = 100, q->servers[q->conf.n_servers++].name[0] = *n;
	revive(&q->rt, &q->conf, dir, key);
	lists(q, listed);
	return q;
}

enum { USERS = 3000 };
static char was[USERS];

static struct pool *crowd(void)
{
	struct pool *p;

	mono_ms = 500000000;
	wall_s = 1800000000;
	gives = NULL;
	p = pool_new(10000);
	lists(p, "abcd");
	for (unsigned i = 0; i < USERS; i++)
		was[i] = connect_user(p, i, 1000 + i);
	return p;
}

struct kin { unsigned n; uint64_t fp, of; };

static bool kin_is(void *arg, const struct hf_record *r)
{
	struct kin *k = arg;

	assert_int_equal(r->alias_of, r->fp == k->fp ? k->of : 0);
	k->n++;
	return true;
}

/* A second name is one of the same bond afterwards: after a power cut, and where the tables are kept and the texts come from the file. Fails without
 * the octets behind the text, and without alias_of in describe or restore_entry. */
static void all_kin(struct pool *p, struct kin k)
{
	hf_engine_each(p->rt.engine, kin_is, &k, mono_ms);
	assert_int_equal(k.n, USERS);
}

static void second_names(void **state)
{
	static struct hf_disk_out next;
	struct pool *p = crowd();
	char text[40];
	const struct kin k = {0, user(7, text).fp, user(3, text).fp};
	const struct hf_lesson l = {.key = user(7, text), .server = 1, .life = HF_LIFE_START, .life_s = 5000, .flags = HF_BOND, .move = true, .alias_of = k.of};

	(void)state;
	assert_int_equal(hf_engine_learn(p->rt.engine, &l, mono_ms), HF_OK);
	write_all(p);
	all_kin(p, k);
	keeping_free(p->rt.keeping);
	hf_engine_free(p->rt.engine);
	p->rt.engine = hf_engine_new(&p->e, p->mem, mono_ms);
	lists(p, "abcd");
	p->rt.keeping = keeping_new(&p->rt, dir, key, false);
	assert_int_equal(keeping_write(p->rt.keeping, &next, true), HF_DISK_WROTE);
	free(next.p);
	next = (struct hf_disk_out){0};
	all_kin(p, k);
	p = power_cut(p, "abcd", 10000, 1);
	all_kin(p, k);
	pool_free(p);
}

static bool text_is(void *arg, const struct hf_record *r)
{
	unsigned *n = arg;
	char text[40];
	unsigned i;

	snprintf(text, sizeof text, "%.*s", (int)r->text.n, (const char *)r->text.p);
	assert_int_equal(sscanf(text, "user:number-%u", &i), 1);
	assert_true(hf_bytes_eq(user(i, text).text, r->text) && user(i, text).fp == r->fp);
	assert_int_equal((mono_ms - r->since_ms) / 1000, n[1]);
	n[0]++;
	return true;
}

/* All are back, with text, since and what is left of their lives, also in tables of another size and at a server that nobody lists; who was over
 * meanwhile is not. Fails when ages are taken for times, or ids for names. */
static void all_back(void **state)
{
	struct pool *p = crowd();
	unsigned n[2] = {0, 600};
	struct hf_where w;

	(void)state;
	hf_engine_mark(p->rt.engine, 2, HF_MARK_DRAIN, true, mono_ms);
	hf_engine_mark(p->rt.engine, 3, HF_MARK_DOWN, true, mono_ms);
	mono_ms += 100000;
	wall_s += 100;
	write_all(p);
	p = power_cut(p, "xdcb", 250000, 500);
	for (unsigned i = 0; i < USERS; i++) {
		uint32_t left = 1000 + i - 600;

		assert_int_equal(home(p, i, &w), was[i]);
		assert_true(w.expires_s >= left && w.expires_s <= left + 8);
	}
	hf_engine_each(p->rt.engine, text_is, n, mono_ms);
	assert_int_equal(n[0], USERS);
	assert_int_equal(hf_engine_state(p->rt.engine, hf_engine_find(p->rt.engine, HF_LIT("b")), NULL), HF_STATE_DRAIN);
	assert_int_equal(hf_engine_state(p->rt.engine, hf_engine_find(p->rt.engine, HF_LIT("c")), NULL), HF_STATE_UP); /* health is of another time */
	write_all(p);
	p = power_cut(p, "abcd", 10000, 1900);
	for (unsigned i = 0; i < USERS; i++)
		assert_int_equal(home(p, i, &w), 1000 + i > 600 + 1900 + 8 ? was[i] : 1000 + i < 2496 ? 0 : home(p, i, &w));
	pool_free(p);
}

/* A wall clock that went back lets no time pass; one that jumps while we run makes the next write a whole one. */
static void clocks(void **state)
{
	struct pool *p = crowd();
	struct hf_where w;

	(void)state;
	write_all(p);
	assert_int_equal(keeping_write(p->rt.keeping, &file, false), HF_DISK_WROTE);
	wall_s += 5;
	assert_int_equal(keeping_write(p->rt.keeping, &file, false), HF_DISK_WROTE);
	wall_s -= 3600 * 24 * 365;
	assert_int_equal(keeping_write(p->rt.keeping, &file, false), HF_DISK_AGAIN);
	wall_s += 3600 * 24 * 365;
	p = power_cut(p, "abcd", 10000, -3600L * 24 * 365 * 20);
	assert_true(home(p, 5, &w) == was[5] && w.expires_s >= 1005 && w.expires_s <= 1016);
	pool_free(p);
}

/* Changes behind a snapshot: what ended is gone, what moved is where it moved, a server that came is known. A rename wants a new snapshot. */
static void changes(void **state)
{
	struct pool *p = crowd();
	struct hf_where w;
	char text[40];
	unsigned n;

	(void)state;
	write_all(p);
	n = file.records;
	lists(p, "abcde");
	for (unsigned i = 0; i < 100; i++) {
		struct hf_lesson l = {.key = user(i, text), .life = HF_LIFE_END};

		assert_int_equal(hf_engine_learn(p->rt.engine, &l, mono_ms), HF_OK);
	}
	for (unsigned i = 100; i < 200; i++) {
		struct hf_lesson l = {.key = user(i, text), .server = 5, .life = HF_LIFE_START, .life_s = 5000, .move = true, .flags = HF_BOND};

		assert_int_equal(hf_engine_learn(p->rt.engine, &l, mono_ms), HF_OK);
	}
	assert_int_equal(keeping_write(p->rt.keeping, &file, false), HF_DISK_WROTE);
	assert_true(file.records - n <= 201);
	n = file.records;
	assert_int_equal(keeping_write(p->rt.keeping, &file, false), HF_DISK_WROTE);
	assert_int_equal(file.records, n);
	p = power_cut(p, "abcde", 10000, 1);
	for (unsigned i = 0; i < USERS; i++)
		assert_int_equal(home(p, i, &w), i < 100 ? 0 : i < 200 ? 'e' : was[i]);
	write_all(p);
	assert_int_equal(hf_engine_apply(p->rt.engine, &(struct hf_member_conf){.name = HF_LIT("z"), .was = HF_LIT("a"), .weight = 100}, 1, &(uint16_t){0}, mono_ms), HF_OK);
	assert_int_equal(keeping_write(p->rt.keeping, &file, false), HF_DISK_AGAIN);
	write_all(p);
	p = power_cut(p, "zbcde", 10000, 1);
	for (unsigned i = 200; i < USERS; i++)
		assert_int_equal(home(p, i, &w), was[i] == 'a' ? 'z' : was[i]);
	pool_free(p);
}

static unsigned lose;
static bool not_these(unsigned i) { return i % 7 != lose; }
static bool no_members(unsigned i) { return hf_get16(file.p + file.at[i]) != KEEPING_MEMBER; }

/* Records that are lost cost their entries; nobody is at a server where he was not. Servers whose record is lost are known from the configuration,
 * and those that nobody lists are unknown: not another one. */
static void damaged(void **state)
{
	struct pool *p = crowd();
	struct hf_where w;
	unsigned found;

	(void)state;
	write_all(p);
	for (lose = 0; lose < 7; lose++) {
		gives = not_these;
		p = power_cut(p, "cbad", 10000, 0);
		found = 0;
		for (unsigned i = 0; i < USERS; i++) {
			char is = home(p, i, &w);

			assert_true(is == 0 || is == was[i]);
			found += is != 0;
		}
		assert_true(found > USERS * 7 / 10);
	}
	gives = no_members;
	p = power_cut(p, "dcx", 10000, 0);
	for (unsigned i = 0; i < USERS; i++)
		assert_int_equal(home(p, i, &w), was[i] == 'c' || was[i] == 'd' ? was[i] : 0);
	pool_free(p);
	gives = NULL;
}

/* A put that is refused anywhere voids the turn; kept tables get their texts from the file, and nothing else of it. */
static void refused_and_texts(void **state)
{
	static struct hf_disk_out next;
	struct pool *p = crowd();
	struct hf_engine_counts c;
	unsigned n[2] = {0, 0};
	struct hf_where w;
	char text[40];

	(void)state;
	write_all(p);
	for (long i = 1; i < 12; i += 3) {
		file.refuse = i;
		assert_int_equal(keeping_write(p->rt.keeping, &file, true), HF_DISK_REFUSED);
		file.refuse = 0;
	}
	write_all(p);
	assert_int_equal(hf_engine_learn(p->rt.engine, &(struct hf_lesson){.key = user(7, text), .life = HF_LIFE_END}, mono_ms), HF_OK);
	keeping_free(p->rt.keeping);
	hf_engine_free(p->rt.engine); /* killed and started again on the same tables */
	p->rt.engine = hf_engine_new(&p->e, p->mem, mono_ms);
	lists(p, "abcd");
	p->rt.keeping = keeping_new(&p->rt, dir, key, false);
	assert_int_equal(keeping_write(p->rt.keeping, &next, true), HF_DISK_WROTE);
	free(next.p);
	hf_engine_each(p->rt.engine, text_is, n, mono_ms);
	assert_int_equal(n[0], USERS - 1);
	assert_int_equal(home(p, 7, &w), 0);
	hf_engine_counts(p->rt.engine, &c);
	assert_int_equal(c.entries, USERS - 1);
	pool_free(p);
}

/* Any octets at all as a payload: taken whole or not at all. Flipped bits of a good one (which no tag would let through) never crash, and an
 * entry is never at no server. */
static void any_octets(void **state)
{
	struct pool *p = crowd();
	uint64_t seed = 77;

	(void)state;
	write_all(p);
	for (unsigned r = 0; r < (full_form ? 300u : 30u); r++) {
		uint8_t *good = malloc(file.n);

		memcpy(good, file.p, file.n);
		for (unsigned i = 0; i < 40; i++) {
			unsigned record = (unsigned)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % file.records;
			size_t n = hf_get32(file.p + file.at[record] + 2);

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			file.p[file.at[record] + 6 + (seed >> 33) % n] ^= (uint8_t)(1 << (seed >> 20) % 8);
		}
		p = power_cut(p, "abcd", 10000, 0);
		for (unsigned i = 0; i < USERS; i += 17)
			assert_true(connect_user(p, i, 60) != 0);
		memcpy(file.p, good, file.n);
		free(good);
	}
	pool_free(p);
	free(file.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_back), cmocka_unit_test(second_names), cmocka_unit_test(clocks), cmocka_unit_test(changes), cmocka_unit_test(damaged), cmocka_unit_test(refused_and_texts),
		cmocka_unit_test(any_octets),
	};

	full_form = getenv("HOLDFAST_FULL") && getenv("HOLDFAST_FULL")[0] == '1';
	hf_log_set_level(HF_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
