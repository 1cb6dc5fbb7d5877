/* RDP over UDP (syn.c): the SYN datagram by literal octets and in every cut, the names by which it finds its connection, and the steps of a datagram. */
#include "kit.h"
#include "syn.h"

#define HEAD(flags) "ffffffff 0040" flags "11223344 04d004d0"
#define ID "a1b2c3d4e5f60718293a4b5c6d7e8f90"
#define TURNED "d4c3b2a1f6e51807293a4b5c6d7e8f90"
#define FILL "00*1216"       /* up to 1232 octets */
#define FILL_ID "00*1200"

static unsigned verdict(const char *text)
{
	struct hf_bytes b = hex(text);
	struct syn s;
	unsigned r = syn_read(b, &s);

	assert_true(r == 0 || s.id.n == 0);
	done(b);
	return r;
}

/* Each field that opens a transport or not. Fails with the check of that field. */
static void test_fields(void **state)
{
	static const struct { const char *text; unsigned reason; } rows[] = {
		{HEAD("0001") FILL, 0}, {HEAD("0201") FILL, 0},           /* reliable, lossy */
		{HEAD("1001") "00010002" FILL, 0},                        /* version 2 */
		{HEAD("1001") "00010101" FILL, 0},                        /* version 3: a cookie's hash is not ours to read */
		{HEAD("8061") FILL, 0},                                   /* bits that nobody knows, or that say nothing here */
		{"", RDP_R_UDP_SHORT}, {"ffffffff 004000", RDP_R_UDP_SHORT},
		{"ffffffff 00400000", RDP_R_UDP_NO_FLOW}, {HEAD("0000") FILL, RDP_R_UDP_NO_FLOW}, {HEAD("0800") FILL, RDP_R_UDP_NO_FLOW},
		{"00000001 0040000c 00*100", RDP_R_UDP_NO_FLOW}, {"16feff00 00000000 000000*20", RDP_R_UDP_NO_FLOW},
		{HEAD("0005") FILL, RDP_R_UDP_FLAGS}, {HEAD("0003") FILL, RDP_R_UDP_FLAGS}, {HEAD("0009") FILL, RDP_R_UDP_FLAGS},
		{HEAD("0011") FILL, RDP_R_UDP_FLAGS}, {HEAD("0101") FILL, RDP_R_UDP_FLAGS},
		{"fffffffe 00400001 11223344 04d004d0" FILL, RDP_R_UDP_FLAGS},
		{HEAD("0001"), RDP_R_UDP_SHORT}, {HEAD("0001") "00*1115", RDP_R_UDP_SHORT}, {HEAD("0001") "00*1116", 0},
		{"ffffffff 00400001 11223344 046c046c" FILL, 0},
		{"ffffffff 00400001 11223344 046b04d0" FILL, RDP_R_UDP_MTU}, {"ffffffff 00400001 11223344 04d0046b" FILL, RDP_R_UDP_MTU},
		{"ffffffff 00400001 11223344 04d104d0" FILL, RDP_R_UDP_MTU}, {"ffffffff 00400001 11223344 04d004d1" FILL, RDP_R_UDP_MTU},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (verdict(rows[i].text) != rows[i].reason)
			fail_msg("%s: %u, not %u", rows[i].text, verdict(rows[i].text), rows[i].reason);
}

/* Fails when a cut is read beyond its end (under a sanitizer), or opens something before it is filled up. */
static void test_every_cut(void **state)
{
	struct hf_bytes all = hex(HEAD("0801") ID FILL_ID);

	(void)state;
	assert_int_equal(all.n, 1232);
	for (size_t n = 0; n <= all.n; n++) {
		uint8_t *p = malloc(n ? n : 1);
		struct syn s;
		unsigned want = n < 1132 ? RDP_R_UDP_SHORT : 0;

		if (n)
			memcpy(p, all.p, n);
		assert_int_equal(syn_read(hf_bytes_of(p, n), &s), want);
		assert_int_equal(s.id.n, want ? 0 : X224_ID);
		free(p);
	}
	done(all);
}

/* ---- the steps ---- */

static const struct hf_act *datagram(struct kit *k, const char *text)
{
	struct hf_bytes b = hex(text);

	k->ctx.flow = NULL;
	kit_step(k, (struct hf_event){.kind = HF_EV_BYTES, .bytes = b, .transport = HF_UDP});
	done(b);
	k->ctx.flow = k->flow;
	assert_int_equal(k->acts.n, 1);
	return &k->acts.a[0];
}

static const struct hf_act *chosen(struct kit *k, uint32_t server, unsigned none)
{
	struct hf_chosen c = {.server = server, .none = none};

	k->ctx.flow = NULL;
	kit_step(k, (struct hf_event){.kind = HF_EV_CHOICE, .chosen = &c, .transport = HF_UDP});
	k->ctx.flow = k->flow;
	assert_int_equal(k->acts.n, 1);
	return &k->acts.a[0];
}

/* The names that a connection of this request is found by, once its host has confirmed. */
static void names_of(struct kit *k, const char *source, const char *variable, uint64_t names[2])
{
	ask_for(k, source, variable);
	kit_choice(k, 1, HF_WHY_HOME);
	kit_server(k, CONFIRM, false);
	memcpy(names, kit_act(k, HF_ACT_RELAY)->relay.names, 2 * sizeof names[0]);
	forget(k);
}

#define NEG_ID "01080800 0b000000 06002400" ID "00*16"
#define COOKIE "\"Cookie: mstshash=alice\" 0d0a "

/* r66: a SYN asks by the id in the order of the request, by it in the other order, and by its source; a connection has the first and the last of them, whatever
 * the service's `key` has. Fails when either order is left out, when the id of the chain is used, and when the port of a source counts. */
static void r66_names(void **state)
{
	struct kit *k = kit_new();
	uint64_t names[2], plain[2];
	const struct hf_ask *q;

	(void)state;
	names_of(k, "192.0.2.51:40000", COOKIE NEG_ID, names);
	names_of(k, "192.0.2.51:40001", COOKIE NEG, plain);
	assert_true(names[0] && names[1] && names[0] != names[1]);
	assert_true(plain[0] == 0 && plain[1] == names[1]);

	kit_flow(k, "192.0.2.51:50000");
	q = &datagram(k, HEAD("0801") ID FILL_ID)->ask;
	assert_int_equal(k->acts.a[0].kind, HF_ACT_ASK);
	assert_true(q->beside[0] == names[0] && q->beside[2] == names[1] && q->key.fp == 0);
	q = &datagram(k, HEAD("0801") TURNED FILL_ID)->ask;
	assert_true(q->beside[1] == names[0] && q->beside[0] != names[0] && q->beside[2] == names[1]);
	q = &datagram(k, HEAD("0001") FILL)->ask;
	assert_true(q->beside[0] == 0 && q->beside[1] == 0 && q->beside[2] == names[1]);
	kit_flow(k, "192.0.2.52:50000");
	q = &datagram(k, HEAD("0801") ID FILL_ID)->ask;
	assert_true(q->beside[0] == names[0] && q->beside[2] != names[1]);
	kit_flow(k, "[::ffff:192.0.2.51]:50000");
	assert_true(datagram(k, HEAD("0001") FILL)->ask.beside[2] == names[1]);
	free(k);
}

/* r65: bound, or dropped with the reason, and nothing is sent by the front. Fails when a refusal passes, or the time of silence is not the option's. */
static void r65_bound_or_dropped(void **state)
{
	struct kit *k = kit_new();
	const struct hf_act *a;

	(void)state;
	k->conf.udp_idle = 7000;
	a = datagram(k, HEAD("0001"));
	assert_true(a->kind == HF_ACT_DROP && a->end.reason == RDP_R_UDP_SHORT && !a->end.count_only);
	a = chosen(k, 9, 0);
	assert_true(a->kind == HF_ACT_RELAY && a->relay.idle_ms == 7000);
	a = chosen(k, 0, HF_R_MANY_SESSIONS);
	assert_true(a->kind == HF_ACT_DROP && a->end.reason == HF_R_MANY_SESSIONS);
	free(k);
}

/* A host that has not confirmed has no session, so that nothing can be beside it. Fails when any relay has names. */
static void test_no_session_no_names(void **state)
{
	struct kit *k = kit_new();
	const struct hf_act *a;

	(void)state;
	ask_for(k, "192.0.2.51:40000", COOKIE NEG_ID);
	kit_choice(k, 1, HF_WHY_HOME);
	kit_server(k, "03000013 0ed00000123400 0300080005000000", false);
	a = kit_act(k, HF_ACT_RELAY);
	assert_true(a->relay.names[0] == 0 && a->relay.names[1] == 0 && a->relay.mark == 0);
	forget(k);
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields), cmocka_unit_test(test_every_cut), cmocka_unit_test(r66_names), cmocka_unit_test(r65_bound_or_dropped),
		cmocka_unit_test(test_no_session_no_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
