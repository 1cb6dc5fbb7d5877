/* A collection's token chooses the pool and says no more: whatever the cut, the step asks for that pool first and then, in it, as for a client without a
 * name. Each fails without its line of choose_pool (ask.c) or by_many (keys.c). */
#include "kit.h"

enum { H1 = 0x11 };

#define TSV(name) "\"tsv://MS Terminal Services Plugin.1." name "\" 0d0a " NEG

static struct kit *with_collections(void)
{
	struct kit *k = kit_new();

	k->conf.collections = (struct hf_pool_words){.n = 3, .list = {{HF_LIT("Sales"), HF_LIT("s"), 1}, {HF_LIT("Big Apps"), HF_LIT("a"), 2}, {HF_LIT("Office"), HF_LIT("farm"), 0}}};
	return k;
}

/* The first octets of a new flow: a pool is entered, and nothing else is done; -1: none is. */
static int entered(struct kit *k, struct hf_bytes r)
{
	const struct hf_act *a;

	kit_flow(k, "192.0.2.51:40000");
	kit_client(k, r, false);
	a = &k->acts.a[0];
	if (k->acts.n != 1 || a->kind != HF_ACT_POOL)
		return -1;
	assert_int_equal(a->pool.has.family, 0);
	return (int)a->pool.at;
}

static void names(void **state)
{
	static const struct { const char *variable; int pool; bool unknown; } rows[] = {
		{TSV("Sales"), 1, false}, {TSV("sALES"), 1, false}, {TSV("Sales "), 1, false}, {TSV("Big Apps"), 2, false}, {TSV("Office"), 0, false},
		{"\"tsv://VMResource.1.big apps\" 0d0a " NEG, 2, false}, {"\"mth://SALES\" 0d0a " NEG, 1, false}, {"\"mth://SALES\" 0d0a", 1, false},
		{TSV("Sale"), -1, true}, {TSV("Saless"), -1, true}, {TSV("Sales%20"), -1, true}, {TSV(""), -1, true}, {"\"mth://\" 0d0a " NEG, -1, true},
		{"\"Sales\" 0d0a " NEG, -1, false}, {USER("Sales"), -1, false}, {NEG, -1, false}, {TOKEN("2915407823"), -1, false},
	};
	struct kit *k = with_collections();

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes r = request(rows[i].variable);

		if (entered(k, r) != rows[i].pool || kit_counted(k, RDP_R_COLLECTION_UNKNOWN) != rows[i].unknown)
			fail_msg("%s", rows[i].variable);
		done(r);
	}
	k->conf.collections.n = 0; /* where none is listed none is missing */
	assert_int_equal(entered(k, k->client = request(TSV("Sales"))), -1);
	assert_false(kit_counted(k, RDP_R_COLLECTION_UNKNOWN));
	forget(k);
	free(k);
}

/* Cut anywhere it is not whole, and enters no pool before it is. */
static void cuts(void **state)
{
	struct kit *k = with_collections();
	struct hf_bytes r = request(TSV("Sales"));

	(void)state;
	kit_flow(k, "192.0.2.51:40000");
	for (size_t n = 1; n < r.n; n++) {
		uint8_t *part = malloc(n);

		memcpy(part, r.p, n);
		kit_client(k, hf_bytes_of(part, n), false);
		assert_true(k->acts.n == 1 && k->acts.a[0].kind == HF_ACT_MORE);
		free(part);
	}
	kit_client(k, r, false);
	assert_int_equal(k->acts.a[0].kind, HF_ACT_POOL);
	done(r);
	free(k);
}

/* In its pool it is a client without a name, by that pool's own time; a cookie beside the token is not believed. */
static void in_the_pool(void **state)
{
	static const char *const rows[] = {TSV("Sales"), "\"tsv://VMResource.1.Sales\" 0d0a " USER("alice")};
	struct kit *k = with_collections();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct hf_bytes r = request(rows[i]);
		const struct hf_ask *q;

		assert_int_equal(entered(k, r), 1);
		k->conf.source_linger = 77000;
		q = kit_ask(k, r); /* the same event again */
		assert_true(q->key.fp == fp(k, "source", "192.0.2.51") && q->life == HF_LIFE_OPEN && q->life_s == 77 && !q->hint && !q->hint_addr.family);
		assert_true(q->flags & HF_COUNTED && kit_counted(k, RDP_R_TOKEN_AND_COOKIE) == (i == 1));
		kit_choice(k, H1, HF_WHY_HOME);
		assert_int_equal(k->acts.a[0].kind, HF_ACT_SEND);
		done(r);
	}
	free(k);
}

/* A redirect's address may be that of a host of any of the pools; without collections there is but one. */
static void redirected(void **state)
{
	struct kit *k = with_collections();
	struct hf_bytes r = request(TOKEN("673059850.15629.0000"));
	struct hf_addr want;

	(void)state;
	assert_int_equal(hf_addr_read(HF_LIT("10.20.30.40:3389"), 0, &want), HF_OK);
	kit_flow(k, "192.0.2.51:1");
	kit_client(k, r, false);
	assert_true(k->acts.n == 1 && k->acts.a[0].kind == HF_ACT_POOL && hf_addr_eq(&k->acts.a[0].pool.has, &want));
	assert_true(hf_addr_eq(&kit_ask(k, r)->hint_addr, &want));
	kit_key(k, "user source");
	kit_flow(k, "192.0.2.51:1");
	kit_ask(k, r); /* tokens decide nothing */
	kit_key(k, "token user source");
	k->conf.collections.n = 0;
	kit_flow(k, "192.0.2.51:1");
	assert_true(hf_addr_eq(&kit_ask(k, r)->hint_addr, &want));
	done(r);
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(cuts), cmocka_unit_test(in_the_pool), cmocka_unit_test(redirected)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
