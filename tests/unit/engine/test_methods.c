/* The methods beside carp: their frozen fills, shares, what a change moves, their runners-up, and changes that overlap.
 * One changed constant or shift in ring.c, maglev.c or modulo.c makes the digests fail. */
#include "farm.h"

enum { SLOTS = 65536, T0 = 1000 };

static const enum hf_method others[] = {HF_METHOD_RING, HF_METHOD_MAGLEV, HF_METHOD_MODULO};
#define EACH_METHOD(m) for (const enum hf_method *m = others; m < others + 3; m++)

static void owners(const struct farm *f, uint16_t *out)
{
	for (uint32_t j = 0; j < SLOTS; j++)
		out[j] = hf_engine_owner(f->e, j);
}

static void down(struct farm *f, unsigned i, bool is) { hf_engine_mark(f->e, f->id[i], HF_MARK_DOWN, is, T0); }

/* Another engine of the method, with another form. */
static struct farm *formed(enum hf_method m, unsigned bits, uint32_t points)
{
	struct farm *f = farm_bare(m, HF_MODE_AUTO, 1500, 10, T0);

	hf_engine_free(f->e);
	free(f->mem);
	f->conf.slot_bits = bits;
	f->conf.ring_points = points;
	f->need = hf_engine_need(&f->conf);
	f->mem = calloc(1, f->need);
	f->e = hf_engine_new(&f->conf, f->mem, T0);
	assert_non_null(f->e);
	return f;
}

static uint64_t digest_of(struct farm *f)
{
	uint64_t digest;

	assert_int_equal(farm_apply(f, T0), HF_OK);
	digest = hf_engine_digest(f->e);
	farm_free(f);
	return digest;
}

/* Hash key 00 01 .. 0f, ring-points 256: pbx1 100, pbx2 100, pbx3 50 at 2^16 slots; s1 .. s10 at 100, 2^16; w1 .. w256 with wN of weight N, 2^20. */
static void golden(void **state)
{
	static const uint64_t want[][3] = {
		[HF_METHOD_CARP] = {0x2f1747deb2b9d218u, 0x9f71de8e7a80fa13u, 0x51c31f3a39ee9ff7u},
		[HF_METHOD_RING] = {0x4038c93bbe418b1fu, 0x9c2778751ccd5e3cu, 0x5838b4cad813c51cu},
		[HF_METHOD_MAGLEV] = {0x11313133f49a51ceu, 0x0726a9a50b691490u, 0xe5adcfb00279faa1u},
		[HF_METHOD_MODULO] = {0x83e9492dcc4a037fu, 0x898fc756b135f7dfu, 0xcc6d1e81a0300606u},
	};

	(void)state;
	for (enum hf_method m = HF_METHOD_CARP; m <= HF_METHOD_MODULO; m++) {
		struct farm *f[3] = {formed(m, 16, 256), formed(m, 16, 256), formed(m, 20, 256)};
		static const unsigned n[] = {3, 10, 256};

		for (unsigned k = 0; k < 3; k++) {
			f[k]->n = n[k];
			for (unsigned i = 0; i < n[k]; i++) {
				farm_name(f[k], i, k == 2 ? i + 1 : k == 0 && i == 2 ? 50 : 100);
				if (k != 1)
					snprintf(f[k]->m[i].name, sizeof f[k]->m[i].name, k ? "w%u" : "pbx%u", i + 1);
			}
			assert_int_equal(digest_of(f[k]), want[m][k]);
		}
	}
}

/* Shares of equal servers: maglev to a slot; modulo as chance has it; a ring's points spread them by about 1/16 besides.
 * A queue that sink() does not keep in order fails here. */
static void even(void **state)
{
	static const unsigned sizes[] = {1, 2, 3, 10, 64, 100};

	(void)state;
	EACH_METHOD(m)
		for (unsigned k = 0; k < 6; k++) {
			unsigned n = sizes[k];
			struct farm *f = farm_of(*m, HF_MODE_AUTO, n, 1500, 10, T0);
			double var = n / (double)SLOTS + (*m == HF_METHOD_RING ? 1 / 256.0 : 0);

			for (unsigned i = 0; i < n; i++) {
				double got = farm_server(f, f->id[i]).slots, want = SLOTS / (double)n, off = got / want - 1;

				if (*m == HF_METHOD_MAGLEV)
					assert_true(got > want - 1 && got < want + 1);
				else
					assert_true(off * off <= 4.5 * 4.5 * var);
			}
			farm_free(f);
		}
}

/* The peak of ten equal servers over sets of names: 1.10 on average. Points that stand alike in all segments of a server fail here. */
static void peak(void **state)
{
	double sum = 0;

	(void)state;
	for (unsigned set = 0; set < 40; set++) {
		double most = farm_peak(HF_METHOD_RING, set, T0);

		assert_true(most <= 1.25);
		sum += most / 40;
	}
	assert_true(sum <= 1.11);
}

/* Shares follow weights 0..256: maglev to a slot, the others as chance has it. A turn that forgets the weight fails here. */
static void weights(void **state)
{
	double total = 256 * 257 / 2;

	(void)state;
	EACH_METHOD(m) {
		struct farm *f = farm_bare(*m, HF_MODE_AUTO, 1500, 10, T0);
		double chi = 0;

		f->n = 257;
		for (unsigned i = 0; i < 257; i++)
			farm_name(f, i, i);
		assert_int_equal(farm_apply(f, T0), HF_OK);
		assert_int_equal(farm_server(f, f->id[0]).slots, 0);
		for (unsigned i = 1; i < 257; i++) {
			double want = SLOTS * i / total, got = farm_server(f, f->id[i]).slots, off = got - want;

			assert_true(*m == HF_METHOD_MAGLEV ? off > -1 && off < 1 : off * off <= 4.7 * 4.7 * want + 1);
			chi += off * off / want;
		}
		assert_true(chi < 378); /* 255 degrees of freedom: p > 1e-6 */
		farm_free(f);
	}
}

struct moves { unsigned all, third; };

static struct moves moved(const uint16_t *before, const uint16_t *after, uint16_t id)
{
	struct moves n = {0, 0};

	for (uint32_t j = 0; j < SLOTS; j++) {
		n.all += before[j] != after[j];
		n.third += before[j] != after[j] && before[j] != id && after[j] != id;
	}
	return n;
}

/* Adding, another weight, and removal: a ring moves no third party's slot, maglev below one in a hundred, modulo all but the few that stay
 * by chance. A return gives the fill back. Without `redraws` another weight leaves a ring's old points in force. */
static void moves(void **state)
{
	static uint16_t a[SLOTS], b[SLOTS];

	(void)state;
	EACH_METHOD(m)
		for (unsigned n = 2; n <= 50; n += 8) {
			struct farm *f = farm_of(*m, HF_MODE_AUTO, n, 1500, 10, T0);
			struct moves step[3];
			uint64_t digest;

			owners(f, a);
			farm_name(f, f->n++, 100);
			assert_int_equal(farm_apply(f, T0), HF_OK);
			farm_settle(f, T0);
			owners(f, b);
			step[0] = moved(a, b, f->id[n]);
			hf_engine_weigh(f->e, f->id[n], 57, T0);
			farm_settle(f, T0);
			owners(f, a);
			step[1] = moved(a, b, f->id[n]);
			digest = hf_engine_digest(f->e);
			down(f, 0, true);
			farm_settle(f, T0);
			owners(f, b);
			step[2] = moved(a, b, f->id[0]);
			for (unsigned k = 0; k < 3; k++) {
				if (*m == HF_METHOD_MODULO)
					assert_true(step[k].all > SLOTS * 0.93 * (n - 1 + (k < 2)) / (n + (k < 2)));
				else
					assert_true(step[k].third <= (*m == HF_METHOD_RING ? 0 : SLOTS / 100));
				assert_true(*m == HF_METHOD_MODULO || step[k].all < 1.4 * SLOTS / n + SLOTS / 100);
			}
			down(f, 0, false);
			farm_settle(f, T0);
			assert_int_equal(hf_engine_digest(f->e), digest);
			farm_free(f);
		}
}

/* The single cost and the fill decide alike: a point that either finds elsewhere fails here. */
static void ring_cost_and_fill_agree(void **state)
{
	static const struct rival r[] = {{0x1234567890abcdefu, 1, 9}, {0xfedcba9876543210u, 256, 7}, {42, 99, 8}};
	static uint16_t owner[SLOTS];

	(void)state;
	for (uint32_t points = 1; points <= 1024; points = points * 3 + 1) {
		const struct ground g = {16, points};

		ring_method.fill(&g, r, 3, SLOTS, owner);
		for (uint32_t j = 0; j < SLOTS; j++) {
			const struct lot l = {&g, j, 0};
			unsigned best = 0;

			for (unsigned i = 1; i < 3; i++)
				if (ring_method.cost(&l, r[i].seed, r[i].weight) < ring_method.cost(&l, r[best].seed, r[best].weight))
					best = i;
			assert_int_equal(owner[j], r[best].id);
		}
	}
}

/* A server alone takes the slots in the order that its costs say; `>>` of another width in slot_at fails here. Odd and even k. */
static void maglev_cost_is_the_order(void **state)
{
	(void)state;
	for (unsigned bits = 16; bits <= 17; bits++) {
		const struct rival r = {77, 64, 5};
		struct part part;
		uint16_t queue, *owner = calloc(1u << bits, sizeof *owner);
		struct filling f = {.r = &r, .n = 1, .ground = {bits, 0}, .owner = owner, .part = &part, .queue = &queue};

		for (uint32_t j = 0; j < 1u << bits; j++)
			owner[j] = NO_OWNER;
		maglev_method.begin(&f);
		assert_false(maglev_method.go_on(&f, 1000));
		for (uint32_t j = 0; j < 1u << bits; j++) {
			const struct lot l = {&f.ground, j, 0};

			assert_true((owner[j] == 5) == (maglev_method.cost(&l, 77, 64) <= 1000u << 20));
		}
		assert_true(maglev_method.go_on(&f, (1u << bits) - 1000));
		free(owner);
	}
}

/* Behind modulo's owner comes the next name, and behind the last the first; a server that is down is passed over. Renaming orders anew. */
static void modulo_takes_the_next_name(void **state)
{
	struct farm *f = farm_bare(HF_METHOD_MODULO, HF_MODE_AUTO, 0, 10, T0);
	static const char *const names[] = {"d", "b", "a", "c"};
	static const unsigned next[] = {2, 3, 1, 0}; /* of d: a; of b: c; ... */
	struct hf_where w;

	(void)state;
	f->n = 4;
	for (unsigned i = 0; i < 4; i++) {
		farm_name(f, i, 1 + i);
		strcpy(f->m[i].name, names[i]);
	}
	assert_int_equal(farm_apply(f, T0), HF_OK);
	for (uint64_t k = 0; k < 300; k++) {
		hf_engine_where(f->e, farm_fp(k), &w, T0);
		for (unsigned i = 0; i < 4; i++)
			if (w.owner == f->id[i])
				assert_int_equal(w.runner_up, f->id[next[i]]);
	}
	down(f, 3, true);
	for (uint64_t k = 0; k < 300; k++) { /* no tick yet: c still owns its slots */
		hf_engine_where(f->e, farm_fp(k), &w, T0);
		assert_true(w.owner != f->id[3] || (w.server == f->id[0] && w.why == HF_WHY_FAILOVER));
		assert_true(w.owner != f->id[1] || w.runner_up == f->id[0]);
	}
	strcpy(f->m[0].name, "0"); /* d's id, now before all */
	strcpy(f->m[0].was, "d");
	assert_int_equal(farm_apply(f, T0), HF_OK);
	farm_settle(f, T0);
	for (uint64_t k = 0; k < 300; k++) {
		hf_engine_where(f->e, farm_fp(k), &w, T0);
		assert_true(w.owner != f->id[0] || w.runner_up == f->id[2]);
	}
	farm_free(f);
}

/* Property 11: a blocked server's keys spread over the others: maglev evenly, a ring's arcs roughly. */
static void overflow(void **state)
{
	(void)state;
	EACH_METHOD(m) {
		struct farm *f = farm_of(*m, HF_MODE_AUTO, 10, 0, 10, T0);
		unsigned got[11] = {0}, all = farm_server(f, f->id[4]).slots;

		down(f, 4, true);
		for (uint32_t j = 0; j < SLOTS; j++)
			if (hf_engine_owner(f->e, j) == f->id[4])
				got[farm_ask(f, (uint64_t)j << 44 | 1, HF_LIFE_NONE, 0, 0, T0).server]++;
		for (unsigned i = 0; i < 10; i++) {
			double want = all / 9.0, off = got[f->id[i]] - want;

			if (i == 4)
				assert_int_equal(got[f->id[i]], 0);
			else if (*m == HF_METHOD_MAGLEV)
				assert_true(off * off <= 4.5 * 4.5 * want);
			else if (*m == HF_METHOD_RING)
				assert_true(got[f->id[i]] > want / 8 && got[f->id[i]] < want * 2.2);
		}
		farm_free(f);
	}
}

/* Between the ticks of a change every answer is a server that is up, and no slot names one that is forgotten. Something changes before each
 * tick, and still the first change is in force after a while: a fill that began anew with each change would never end. */
static void changes_overlap(void **state)
{
	(void)state;
	EACH_METHOD(m) {
		struct farm *f = farm_of(*m, HF_MODE_AUTO, 12, 0, 10, T0), *g;
		uint16_t gone = f->id[11], none[4];
		unsigned reaped = 0;

		f->n = 11;
		assert_int_equal(farm_apply(f, T0), HF_OK);
		assert_true(hf_engine_tick(f->e, T0));
		down(f, 3, true);
		for (unsigned i = 0; i < 400; i++) {
			hf_engine_weigh(f->e, f->id[i % 3], 50 + i % 7, T0);
			if (i % 5 == 0)
				down(f, 5, i % 2);
			hf_engine_tick(f->e, T0);
			reaped += hf_engine_reap(f->e, none, 4);
			for (uint64_t k = 0; k < 64; k++) {
				uint16_t id = farm_ask(f, farm_fp(i * 64 + k), HF_LIFE_NONE, 0, 0, T0).server;

				assert_int_equal(hf_engine_state(f->e, id, NULL), HF_STATE_UP);
				assert_false(reaped && hf_engine_owner(f->e, slot_of(f->e, farm_fp(k))) == gone);
			}
		}
		assert_int_equal(reaped, 1);
		assert_int_equal(hf_engine_state(f->e, gone, NULL), HF_STATE_OFF);
		assert_int_equal(farm_server(f, f->id[3]).slots, 0);
		farm_settle(f, T0);
		g = farm_bare(*m, HF_MODE_AUTO, 0, 10, T0);
		for (unsigned i = 0; i < 11; i++)
			if (farm_server(f, f->id[i]).state == HF_STATE_UP) {
				farm_name(g, g->n, farm_server(f, f->id[i]).weight);
				strcpy(g->m[g->n++].name, f->m[i].name);
			}
		assert_int_equal(farm_apply(g, T0), HF_OK);
		assert_int_equal(hf_engine_digest(f->e), hf_engine_digest(g->e));
		farm_free(g);
		farm_free(f);
	}
}

/* A fill is made in steps too: a tick that goes on after them fails here. */
static void ticks_are_bounded(void **state)
{
	(void)state;
	for (unsigned k = 1; k < 3; k++) {
		struct farm *f = farm_of(others[k], HF_MODE_AUTO, 12, 0, 10, T0);
		unsigned ticks = 1;

		down(f, 3, true);
		for (; hf_engine_tick(f->e, T0); ticks++)
			assert_in_range(f->e->work, 1, 12288 + 32);
		assert_in_range(ticks, SLOTS * 2 / 12288 + SLOTS / 12288, 210); /* a fill, and a look at each slot; half of them move at most */
		farm_free(f);
	}
}

/* Points are part of the fill, and so is the hash key; there is no ring without points or with more than 1024. */
static void what_decides(void **state)
{
	struct farm *f = formed(HF_METHOD_RING, 16, 1);
	struct hf_engine_conf c = f->conf;

	(void)state;
	for (uint32_t bad = 0; bad <= 1025; bad += 1025) {
		c.ring_points = bad;
		assert_null(hf_engine_new(&c, f->mem, T0));
	}
	farm_free(f);
	EACH_METHOD(m) {
		uint64_t by[3];

		for (unsigned k = 0; k < 3; k++) {
			f = formed(*m, 16, k == 1 ? 1024 : 256);
			if (k == 2) {
				hf_engine_free(f->e);
				f->conf.hash_key[3] ^= 1;
				f->e = hf_engine_new(&f->conf, f->mem, T0);
			}
			f->n = 5;
			for (unsigned i = 0; i < 5; i++)
				farm_name(f, i, 100);
			by[k] = digest_of(f);
		}
		assert_true((by[0] != by[1]) == (*m == HF_METHOD_RING));
		assert_true((by[0] != by[2]) == (*m != HF_METHOD_MODULO)); /* a list of names has no key */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden), cmocka_unit_test(even), cmocka_unit_test(peak), cmocka_unit_test(weights), cmocka_unit_test(moves),
		cmocka_unit_test(ring_cost_and_fill_agree), cmocka_unit_test(maglev_cost_is_the_order), cmocka_unit_test(modulo_takes_the_next_name),
		cmocka_unit_test(overflow), cmocka_unit_test(changes_overlap), cmocka_unit_test(ticks_are_bounded), cmocka_unit_test(what_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
