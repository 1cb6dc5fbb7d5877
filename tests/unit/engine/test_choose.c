/* Deciding and lives, one rule a test; the calls are literal and so are the times (milliseconds). */
#include "farm.h"

enum { T0 = 1000000, S = 1000 };

static uint16_t other(const struct farm *f, uint16_t id) { return id == f->id[0] ? f->id[1] : f->id[0]; }
static uint32_t load(struct farm *f, uint16_t id) { return farm_server(f, id).sessions; }
static bool known(struct farm *f, uint64_t fp, uint64_t now) { return farm_ask(f, fp, HF_LIFE_NONE, 0, 0, now).known; }

/* A session starts at its slot's owner and stays known; without ledger_add's insert the second question is not known. */
static void starts_at_home(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 1000, T0);

	(void)state;
	for (uint64_t k = 0; k < 300; k++) {
		uint64_t fp = farm_fp(k);
		struct hf_answer a = farm_ask(f, fp, HF_LIFE_START, 100, HF_COUNTED, T0), b;

		assert_true(a.server >= 1 && a.server <= 3);
		assert_false(a.known);
		assert_int_equal(a.why == HF_WHY_HOME, a.server == hf_engine_owner(f->e, (uint32_t)(fp >> 44)));
		b = farm_ask(f, fp, HF_LIFE_NONE, 0, 0, T0);
		assert_true(b.known);
		assert_int_equal(b.server, a.server);
		assert_int_equal(b.why, HF_WHY_ENTRY);
		b = farm_ask(f, fp, HF_LIFE_NONE, 0, HF_BOND, T0);
		assert_int_equal(b.why, HF_WHY_BOND);
	}
	assert_int_equal(farm_counts(f).counted, 300);
	farm_check(f);
	farm_free(f);
}

/* The digest through the whole engine equals the frozen one: slot owners are what the method says. */
static void digest_is_golden(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 10, 1500, 1000, T0), *g = farm_empty(HF_MODE_AUTO, 0, 10, T0);

	(void)state;
	assert_int_equal(hf_engine_digest(f->e), 0x9f71de8e7a80fa13u);
	farm_free(f);
	g->n = 3;
	for (unsigned i = 0; i < 3; i++) {
		snprintf(g->m[i].name, sizeof g->m[i].name, "pbx%u", 3 - i);
		g->m[i].weight = i == 0 ? 50 : 100;
	}
	assert_int_equal(farm_apply(g, T0), HF_OK);
	assert_int_equal(hf_engine_digest(g->e), 0x2f1747deb2b9d218u);
	assert_int_equal(farm_server(g, hf_engine_find(g->e, HF_LIT("pbx3"))).slots, 13070);
	farm_free(g);
}

/* What rings on is kept from its last sign: it counts once, is not firm by that, and counts no more when it has ended. Fails when START counts or
 * makes firm whatever its flags say. */
static void rings_on(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0);
	struct hf_answer a;
	uint16_t id;

	(void)state;
	id = farm_ask(f, 7, HF_LIFE_START, 200, HF_COUNTED | HF_TENTATIVE, T0).server;
	for (unsigned i = 1; i <= 4; i++)
		assert_int_equal(farm_learn(f, 7, id, HF_LIFE_START, 200, HF_TENTATIVE, T0 + i * 150 * S), HF_OK);
	assert_int_equal(load(f, id), 1);
	a = farm_ask(f, 7, HF_LIFE_START, 200, HF_COUNTED | HF_TENTATIVE, T0 + 790 * S);
	assert_true(a.known && !a.firm && a.server == id);
	assert_int_equal(load(f, id), 1);
	assert_int_equal(farm_learn(f, 7, id, HF_LIFE_LINGER, 32, 0, T0 + 800 * S), HF_OK);
	assert_int_equal(farm_learn(f, 7, id, HF_LIFE_START, 200, HF_TENTATIVE, T0 + 801 * S), HF_OK); /* a late 180 */
	assert_int_equal(load(f, id), 0);
	farm_free(f);
}

/* START, TOUCH, LINGER, END as affinity.h says, with the load after each. */
static void a_call(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0);
	struct hf_where w;
	uint16_t id;

	(void)state;
	id = farm_ask(f, 7, HF_LIFE_START, 200, HF_COUNTED | HF_TENTATIVE, T0).server;
	assert_int_equal(load(f, id), 1);
	id = farm_ask(f, 7, HF_LIFE_START, 100, HF_COUNTED | HF_TENTATIVE, T0 + S).server; /* retransmitted: idempotent, not shorter */
	assert_int_equal(load(f, id), 1);
	hf_engine_where(f->e, 7, &w, T0 + S);
	assert_true(w.expires_s >= 199 && w.expires_s <= 203);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_TOUCH, 3600, HF_COUNTED, T0 + 2 * S), HF_OK);
	hf_engine_where(f->e, 7, &w, T0 + 2 * S);
	assert_true(w.expires_s >= 3600 && w.expires_s <= 3604);
	assert_int_equal(w.server, id);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_LINGER, 32, 0, T0 + 3 * S), HF_OK); /* BYE */
	assert_int_equal(load(f, id), 0);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_LINGER, 32, 0, T0 + 3 * S), HF_OK); /* and again: no count below 0 */
	assert_int_equal(load(f, id), 0);
	assert_int_equal(farm_ask(f, 7, HF_LIFE_TOUCH, 3600, HF_COUNTED, T0 + 4 * S).server, id); /* another fork goes on */
	assert_int_equal(load(f, id), 1);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_END, 0, 0, T0 + 5 * S), HF_OK);
	assert_int_equal(farm_learn(f, 7, 0, HF_LIFE_END, 0, 0, T0 + 5 * S), HF_ENOENT);
	assert_int_equal(load(f, id), 0);
	assert_int_equal(farm_counts(f).entries, 0);
	farm_check(f);
	farm_free(f);
}

/* A key that another one places: where says the server of that one's slot, or of its bond; an entry of its own comes first, and its time is its own. With 0
 * the fallback answers, and no slot. Without entry_step the time is the bond's. */
static void where_by(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 0, 100, T0);
	uint64_t place = (uint64_t)5 << 44, key = (uint64_t)6 << 44;
	uint16_t owner = hf_engine_owner(f->e, 5), other = owner % 3 + 1;
	struct hf_where w;

	(void)state;
	hf_engine_where_by(f->e, key, place, &w, T0);
	assert_true(w.slot == 5 && w.owner == owner && w.server == owner && w.why == HF_WHY_HOME && !w.known);
	assert_int_equal(farm_learn(f, place, other, HF_LIFE_START, 100, HF_BOND, T0), HF_OK);
	hf_engine_where_by(f->e, key, place, &w, T0);
	assert_true(w.owner == owner && w.server == other && w.why == HF_WHY_BOND && !w.known);
	assert_int_equal(farm_learn(f, key, owner, HF_LIFE_START, 3600, 0, T0), HF_OK);
	hf_engine_where_by(f->e, key, place, &w, T0);
	assert_true(w.server == owner && w.why == HF_WHY_ENTRY && w.known && w.expires_s >= 3600);
	hf_engine_where_by(f->e, key + 1, 0, &w, T0);
	assert_true(w.slot == UINT32_MAX && !w.owner && w.server && w.why == HF_WHY_FALLBACK && w.runner_up && w.runner_up != w.server);
	farm_free(f);
}

/* A touch writes only when an eighth of the life is gone: at 0 s left of 100 s of an 800 s life nothing changes, at 104 s all of it. */
static void touch_writes_late(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 2, 0, 100, T0);
	struct hf_where w;

	(void)state;
	(void)farm_ask(f, 5, HF_LIFE_START, 800, HF_COUNTED, T0);
	(void)farm_ask(f, 5, HF_LIFE_TOUCH, 800, HF_COUNTED, T0 + 92 * S);
	hf_engine_where(f->e, 5, &w, T0 + 92 * S);
	assert_true(w.expires_s <= 712);
	(void)farm_ask(f, 5, HF_LIFE_TOUCH, 800, HF_COUNTED, T0 + 104 * S);
	hf_engine_where(f->e, 5, &w, T0 + 104 * S);
	assert_true(w.expires_s >= 800);
	(void)farm_ask(f, 5, HF_LIFE_TOUCH, 80, HF_COUNTED, T0 + 108 * S); /* never shorter */
	hf_engine_where(f->e, 5, &w, T0 + 108 * S);
	assert_true(w.expires_s >= 790);
	farm_free(f);
}

/* A subscription in a call's dialog changes nothing of the call: it is touched without the flag, and what ends the subscription leaves what counts as it
 * is; the call's own end does not. Fails when a touch takes the count, or LINGER does not look at its flag. */
static void within_a_call(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 2, 0, 100, T0);
	struct hf_where w;
	uint16_t id;

	(void)state;
	id = farm_ask(f, 5, HF_LIFE_START, 800, HF_COUNTED | HF_TENTATIVE, T0).server;
	(void)farm_ask(f, 5, HF_LIFE_TOUCH, 100, 0, T0 + S);
	assert_int_equal(load(f, id), 1);
	assert_int_equal(farm_learn(f, 5, 0, HF_LIFE_LINGER, 32, HF_COUNTED, T0 + 2 * S), HF_OK);
	assert_int_equal(load(f, id), 1);
	hf_engine_where(f->e, 5, &w, T0 + 2 * S);
	assert_true(w.expires_s >= 790);
	assert_int_equal(farm_learn(f, 5, 0, HF_LIFE_LINGER, 32, 0, T0 + 3 * S), HF_OK);
	(void)farm_ask(f, 5, HF_LIFE_TOUCH, 32, 0, T0 + 4 * S);
	assert_int_equal(load(f, id), 0);
	(void)farm_ask(f, 6, HF_LIFE_START, 800, 0, T0);
	assert_int_equal(farm_learn(f, 6, 0, HF_LIFE_LINGER, 32, HF_COUNTED, T0 + S), HF_OK); /* a subscription of its own */
	hf_engine_where(f->e, 6, &w, T0 + S);
	assert_true(w.expires_s <= 36);
	farm_check(f);
	farm_free(f);
}

/* Two servers took a call, and its client ends the one that it does not want, by that one's cookie: the other goes on. Before an answer, and with no
 * server named, it ends wherever it is. Fails without is_others, or when that takes a tentative one for answered. */
static void ends_elsewhere(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 2, 0, 100, T0);
	uint16_t at = farm_ask(f, 5, HF_LIFE_START, 200, HF_COUNTED | HF_TENTATIVE, T0).server, not_at = at == f->id[0] ? f->id[1] : f->id[0];
	struct hf_question bye = {.key = {.fp = 5}, .hint = not_at, .hint_why = HF_WHY_COOKIE, .life = HF_LIFE_LINGER, .life_s = 32};
	struct hf_answer a;

	(void)state;
	assert_int_equal(farm_learn(f, 5, not_at, HF_LIFE_LINGER, 32, 0, T0), HF_OK);
	assert_int_equal(load(f, at), 0);
	assert_int_equal(farm_learn(f, 5, at, HF_LIFE_START, 800, HF_COUNTED, T0), HF_OK);
	(void)farm_ask(f, 5, HF_LIFE_START, 800, HF_COUNTED | HF_TENTATIVE, T0);
	assert_int_equal(farm_learn(f, 5, at, HF_LIFE_START, 800, HF_COUNTED, T0), HF_OK);
	hf_engine_choose(f->e, &bye, &a, T0 + S);
	assert_int_equal(a.server, not_at);
	assert_int_equal(farm_learn(f, 5, not_at, HF_LIFE_LINGER, 32, 0, T0 + S), HF_OK);
	assert_int_equal(load(f, at), 1);
	assert_int_equal(farm_ask(f, 5, HF_LIFE_NONE, 0, 0, T0 + 400 * S).server, at);
	bye.hint = at;
	hf_engine_choose(f->e, &bye, &a, T0 + 400 * S);
	assert_int_equal(load(f, at), 0);
	farm_check(f);
	farm_free(f);
}

/* An answer that is repeated behind the end counts nobody; one that comes behind a refusal does (another server's, late), and a new start does. Fails
 * without has_ended, or when it does not look at TENTATIVE. */
static void answers_behind_the_end(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 1, 0, 100, T0);
	struct hf_where w;

	(void)state;
	(void)farm_ask(f, 5, HF_LIFE_START, 200, HF_COUNTED | HF_TENTATIVE, T0);
	assert_int_equal(farm_learn(f, 5, 0, HF_LIFE_START, 800, HF_COUNTED, T0), HF_OK);
	assert_int_equal(farm_learn(f, 5, 0, HF_LIFE_LINGER, 32, 0, T0), HF_OK);
	assert_int_equal(farm_learn(f, 5, 0, HF_LIFE_START, 800, HF_COUNTED, T0 + S), HF_OK);
	assert_int_equal(load(f, 1), 0);
	hf_engine_where(f->e, 5, &w, T0 + S);
	assert_true(w.expires_s <= 36);
	(void)farm_ask(f, 5, HF_LIFE_START, 200, HF_COUNTED | HF_TENTATIVE, T0 + 2 * S);
	assert_int_equal(load(f, 1), 1);
	assert_int_equal(farm_learn(f, 5, 0, HF_LIFE_START, 800, HF_COUNTED, T0 + 2 * S), HF_OK);
	assert_int_equal(load(f, 1), 1);
	(void)farm_ask(f, 6, HF_LIFE_START, 200, HF_COUNTED | HF_TENTATIVE, T0);
	assert_int_equal(farm_learn(f, 6, 0, HF_LIFE_LINGER, 32, 0, T0), HF_OK);
	assert_int_equal(load(f, 1), 1);
	assert_int_equal(farm_learn(f, 6, 0, HF_LIFE_START, 800, HF_COUNTED, T0 + S), HF_OK);
	assert_int_equal(load(f, 1), 2);
	farm_check(f);
	farm_free(f);
}

/* What makes no entry: NONE, LINGER, CLOSE, END, and TOUCH without a hint. */
static void nothing_is_made(void **state)
{
	static const enum hf_life lives[] = {HF_LIFE_NONE, HF_LIFE_LINGER, HF_LIFE_CLOSE, HF_LIFE_END, HF_LIFE_TOUCH};
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0);

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct hf_answer a = farm_ask(f, 77, lives[i], 100, HF_COUNTED, T0);

		assert_int_equal(a.server, hf_engine_owner(f->e, 0));
		assert_int_equal(a.why, HF_WHY_HOME);
		assert_false(a.known);
		assert_int_equal(farm_counts(f).entries, 0);
		assert_int_equal(farm_learn(f, 77, 0, lives[i], 100, 0, T0), HF_ENOENT);
	}
	farm_check(f);
	farm_free(f);
}

/* hint, then refs, then entry; an OFF server's hint does not count, a drained or down or removed one's does. */
static void order_of_evidence(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0);
	struct hf_question q = {.hint_why = HF_WHY_COOKIE, .key = {.fp = 10}, .life = HF_LIFE_TOUCH, .life_s = 60, .flags = HF_COUNTED};
	struct hf_answer a;
	uint16_t home = hf_engine_owner(f->e, 0), b = other(f, home), c = (uint16_t)(6 - home - b);

	(void)state;
	assert_int_equal(farm_learn(f, 20, c, HF_LIFE_START, 60, HF_COUNTED, T0), HF_OK);
	q.refs[1] = 20;
	hf_engine_choose(f->e, &q, &a, T0); /* a ref names it; TOUCH without hint makes nothing */
	assert_int_equal(a.server, c);
	assert_int_equal(a.why, HF_WHY_DIALOG);
	assert_int_equal(farm_counts(f).entries, 1);
	q.hint = b;
	hf_engine_choose(f->e, &q, &a, T0); /* a good cookie makes the entry */
	assert_int_equal(a.server, b);
	assert_int_equal(a.why, HF_WHY_COOKIE);
	assert_int_equal(farm_ask(f, 10, HF_LIFE_NONE, 0, 0, T0).server, b);
	assert_int_equal(load(f, b), 1);
	hf_engine_mark(f->e, b, HF_MARK_DOWN, true, T0);
	hf_engine_mark(f->e, b, HF_MARK_DRAIN, true, T0);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_equal(a.server, b);
	assert_int_equal(farm_ask(f, 10, HF_LIFE_NONE, 0, 0, T0).server, b);
	hf_engine_mark(f->e, b, HF_MARK_OFF, true, T0);
	hf_engine_choose(f->e, &q, &a, T0); /* off: the ref goes, and the entry follows it */
	assert_int_equal(a.server, c);
	assert_true(a.known);
	assert_int_equal(load(f, b), 0);
	assert_int_equal(load(f, c), 2);
	q.hint = 999;
	q.refs[1] = 0;
	hf_engine_choose(f->e, &q, &a, T0); /* no such server: the entry */
	assert_int_equal(a.server, c);
	assert_int_equal(a.why, HF_WHY_ENTRY);
	farm_check(f);
	farm_free(f);
}

/* START keeps the server of an entry; learn moves it only when told. */
static void moves_when_told(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0);
	uint16_t home = farm_ask(f, 9, HF_LIFE_START, 60, HF_COUNTED, T0).server, b = other(f, home);
	struct hf_lesson l = {.key = {.fp = 9}, .server = b, .life = HF_LIFE_START, .life_s = 60, .flags = HF_COUNTED};

	(void)state;
	assert_int_equal(hf_engine_learn(f->e, &l, T0), HF_OK);
	assert_int_equal(farm_ask(f, 9, HF_LIFE_NONE, 0, 0, T0).server, home);
	l.move = true;
	assert_int_equal(hf_engine_learn(f->e, &l, T0), HF_OK);
	assert_int_equal(farm_ask(f, 9, HF_LIFE_NONE, 0, 0, T0).server, b);
	assert_int_equal(load(f, home), 0);
	assert_int_equal(load(f, b), 1);
	assert_int_equal(farm_counts(f).exceptions, 1);
	farm_check(f);
	farm_free(f);
}

/* avoid: without `move` the entry stands; with it the entry and its load go elsewhere; placement never goes there. */
static void avoids(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0);
	struct hf_question q = {.key = {.fp = 30}, .life = HF_LIFE_START, .life_s = 60, .flags = HF_COUNTED, .n_avoid = 1};
	struct hf_answer a;
	uint16_t home = hf_engine_owner(f->e, 0);

	(void)state;
	q.avoid = &home;
	(void)farm_ask(f, 30, HF_LIFE_START, 60, HF_COUNTED, T0);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_equal(a.server, home);
	q.move = true;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_not_equal(a.server, home);
	assert_int_equal(a.why, HF_WHY_FAILOVER);
	assert_true(a.known);
	assert_int_equal(load(f, home), 0);
	assert_int_equal(load(f, a.server), 1);
	q.key.fp = 31;
	q.hint = home;
	q.hint_why = HF_WHY_TOKEN;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_not_equal(a.server, home);
	q.avoid = f->id;
	q.n_avoid = 3;
	q.key.fp = 32;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_equal(a.server, HF_NO_SERVER);
	assert_false(a.known);
	assert_int_equal(farm_counts(f).entries, 2);
	farm_check(f);
	farm_free(f);
}

/* A session that has been answered is not moved for the asking, one that has not is, and counts once. Fails without is_firm in choose_known. */
static void unless_firm(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 3, 1500, 100, T0);
	struct hf_question q = {.key = {.fp = 30}, .life = HF_LIFE_START, .life_s = 60, .flags = HF_COUNTED | HF_TENTATIVE, .n_avoid = 1, .move = true, .unless_firm = true};
	struct hf_answer a;
	uint16_t first, second;

	(void)state;
	first = farm_ask(f, 30, HF_LIFE_START, 60, HF_COUNTED | HF_TENTATIVE, T0).server;
	q.avoid = &first;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_not_equal(a.server, first);
	assert_false(a.firm);
	assert_int_equal(load(f, first) + load(f, a.server), 1);
	second = a.server;
	(void)farm_ask(f, 30, HF_LIFE_START, 60, HF_COUNTED, T0);
	q.avoid = &second;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_equal(a.server, second);
	assert_true(a.firm);
	assert_int_equal(load(f, second), 1);
	farm_free(f);
}

/* `place`: another fingerprint's slot decides, and its entry's server before that. */
static void placed_by_another(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 10, 0, 100, T0);
	struct hf_question q = {.key = {.fp = farm_fp(1)}, .place = farm_fp(2), .life = HF_LIFE_START, .life_s = 60, .flags = HF_COUNTED};
	struct hf_answer a;
	uint16_t owner = hf_engine_owner(f->e, slot_of(f->e, q.place)), b = other(f, owner);

	(void)state;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_equal(a.server, owner);
	assert_int_equal(a.why, HF_WHY_HOME);
	assert_int_equal(farm_learn(f, q.place, b, HF_LIFE_START, 60, HF_BOND, T0), HF_OK);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_equal(a.server, owner); /* its own entry first */
	q.key.fp = farm_fp(3);
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_equal(a.server, b);
	assert_int_equal(a.why, HF_WHY_BOND);
	q.key.fp = farm_fp(4);
	q.avoid = &b;
	q.n_avoid = 1;
	hf_engine_choose(f->e, &q, &a, T0);
	assert_int_equal(a.server, owner);
	farm_check(f);
	farm_free(f);
}

/* Who asks for the server alone gets the one that the full answer names, whatever has happened to the pool; at rest without the table being
 * read, or known would be told. Fails when a slot's exceptions, a hint or a server's state is not looked at. */
static void the_server_alone(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 5, 1250, 20000, T0);
	unsigned unread = 0;

	(void)state;
	for (uint64_t k = 0; k < 5000; k++)
		farm_ask(f, farm_fp(k), HF_LIFE_START, 1000, HF_COUNTED, T0);
	for (unsigned step = 0; step < 4; step++) {
		if (step == 1)
			hf_engine_mark(f->e, f->id[0], HF_MARK_DOWN, true, T0);
		else if (step == 2)
			hf_engine_weigh(f->e, f->id[1], 20, T0);
		else if (step == 3)
			hf_engine_mark(f->e, f->id[2], HF_MARK_OFF, true, T0);
		for (uint64_t k = 0; k < 6000; k++) {
			struct hf_question q = {.key.fp = farm_fp(k), .life = HF_LIFE_NONE, .hint = k % 7 ? 0 : f->id[k % 5], .hint_why = HF_WHY_COOKIE};
			struct hf_answer whole, alone;

			hf_engine_choose(f->e, &q, &whole, T0);
			q.server_only = true;
			hf_engine_choose(f->e, &q, &alone, T0);
			assert_int_equal(alone.server, whole.server);
			unread += whole.known && !alone.known;
		}
		while (hf_engine_tick(f->e, T0))
			;
	}
	assert_true(unread > 4000);
	farm_free(f);
}

/* What a sweep has to look at follows the sessions there are, not those there may be: 500 in a table for a million. */
static void a_sweep_is_as_long_as_the_table(void **state)
{
	struct farm *f = farm_empty(HF_MODE_AUTO, 1500, 1 << 20, T0);
	struct hf_engine_counts c;
	unsigned gone = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		farm_name(f, i, 100);
	f->n = 3;
	assert_int_equal(farm_apply(f, T0), HF_OK);
	for (uint64_t k = 0; k < 500; k++) {
		struct hf_question q = {.key.fp = farm_fp(k), .life = HF_LIFE_START, .life_s = 10, .flags = HF_COUNTED};
		struct hf_answer a;

		hf_engine_choose(f->e, &q, &a, T0);
	}
	hf_engine_counts(f->e, &c);
	assert_in_range(c.places, 500, 16384); /* of 1.2 million; fails where places of the whole memory are counted */
	for (int pass = 0; pass < 2; pass++) /* what is taken out is a look too */
		gone += hf_engine_sweep(f->e, T0 + 15000, (unsigned)c.places);
	assert_int_equal(gone, 500);
	farm_free(f);
}

/* An expired entry met by a question is absent and taken out, its load with it; the sweep finds the others. */
static void expires(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 4, 1500, 20000, T0);

	(void)state;
	for (uint64_t k = 0; k < 10000; k++)
		(void)farm_ask(f, farm_fp(k), HF_LIFE_START, k % 2 ? 32 : 3600, HF_COUNTED, T0);
	assert_true(known(f, farm_fp(1), T0 + 31 * S));
	assert_false(known(f, farm_fp(1), T0 + 36 * S));
	assert_int_equal(farm_counts(f).entries, 9999);
	assert_int_equal(hf_engine_sweep(f->e, T0 + 36 * S, 50000), 4999);
	assert_int_equal(farm_counts(f).entries, 5000);
	farm_check(f);
	for (unsigned i = 0; i < 60; i++) /* small steps go round as well */
		hf_engine_sweep(f->e, T0 + 3604 * S, 500);
	assert_int_equal(farm_counts(f).entries, 0);
	assert_int_equal(farm_counts(f).counted, 0);
	farm_check(f);
	farm_free(f);
}

/* Full: a server is still named, nothing is counted for it; a tentative entry nearby gives way. */
static void full(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 2, 1500, 10, T0);
	struct hf_answer a;

	(void)state;
	for (uint64_t k = 1; k <= 10; k++)
		assert_false(farm_ask(f, k, HF_LIFE_START, 60, HF_COUNTED, T0).full);
	a = farm_ask(f, 11, HF_LIFE_START, 60, HF_COUNTED, T0);
	assert_true(a.full);
	assert_true(a.server);
	assert_int_equal(farm_counts(f).counted, 10);
	assert_int_equal(farm_learn(f, 12, 1, HF_LIFE_START, 60, HF_COUNTED, T0), HF_EFULL);
	assert_int_equal(farm_learn(f, 3, 0, HF_LIFE_END, 0, 0, T0), HF_OK);
	assert_false(farm_ask(f, 13, HF_LIFE_START, 60, HF_COUNTED | HF_TENTATIVE, T0).full);
	assert_false(farm_ask(f, 14, HF_LIFE_START, 60, HF_COUNTED, T0).full); /* in place of 13 */
	assert_false(known(f, 13, T0));
	assert_int_equal(farm_counts(f).entries, 10);
	farm_check(f);
	farm_free(f);
}

/* Mode none remembers nothing. */
static void remembers_nothing(void **state)
{
	struct farm *f = farm_new(HF_MODE_NONE, 3, 0, 10, T0);
	struct hf_answer a = farm_ask(f, 5, HF_LIFE_START, 60, HF_COUNTED, T0);

	(void)state;
	assert_int_equal(a.server, hf_engine_owner(f->e, 0));
	assert_int_equal(farm_counts(f).entries, 0);
	assert_int_equal(farm_learn(f, 5, 1, HF_LIFE_START, 60, 0, T0), HF_ENOENT);
	assert_int_equal(farm_ask(f, 0, HF_LIFE_START, 60, HF_COUNTED, T0).why, HF_WHY_FALLBACK);
	farm_free(f);
}

/* where says what choose then does, and changes nothing; runner_up is where it would go without that server. */
static void where_foretells(void **state)
{
	struct farm *f = farm_new(HF_MODE_AUTO, 5, 1100, 1000, T0);

	(void)state;
	for (uint64_t k = 0; k < 500; k++) {
		struct hf_engine_counts before = farm_counts(f), after;
		struct hf_where w, v;
		struct hf_answer a;

		hf_engine_where(f->e, farm_fp(k), &w, T0);
		after = farm_counts(f);
		assert_true(before.entries == after.entries && before.counted == after.counted && before.exceptions == after.exceptions);
		a = farm_ask(f, farm_fp(k), HF_LIFE_START, 100, HF_COUNTED, T0);
		assert_int_equal(a.server, w.server);
		assert_int_equal(a.why, w.why);
		assert_false(w.known);
		assert_true(w.runner_up && w.runner_up != w.server);
		hf_engine_where(f->e, farm_fp(k), &v, T0);
		assert_true(v.known);
		assert_int_equal(v.server, w.server);
		assert_int_equal(v.owner, w.owner);
	}
	farm_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_server_alone), cmocka_unit_test(a_sweep_is_as_long_as_the_table), cmocka_unit_test(starts_at_home), cmocka_unit_test(digest_is_golden), cmocka_unit_test(a_call), cmocka_unit_test(where_by), cmocka_unit_test(rings_on),
		cmocka_unit_test(touch_writes_late), cmocka_unit_test(within_a_call), cmocka_unit_test(ends_elsewhere), cmocka_unit_test(answers_behind_the_end), cmocka_unit_test(nothing_is_made), cmocka_unit_test(order_of_evidence),
		cmocka_unit_test(moves_when_told), cmocka_unit_test(avoids), cmocka_unit_test(unless_firm), cmocka_unit_test(placed_by_another),
		cmocka_unit_test(expires), cmocka_unit_test(full), cmocka_unit_test(remembers_nothing), cmocka_unit_test(where_foretells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
