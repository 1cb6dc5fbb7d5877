/* Tokens of our own: what is written is read, what is not ours or has had its time is ignored, and whom it names is whose session it is. */
#include <stdio.h>

#include "kit.h"
#include "signed.h"

#define NOW_S 1800000000u
#define HEAD "loadbalanceinfo:s:"

static struct kit *kit_signing(void)
{
	struct kit *k = kit_new();

	memcpy(k->site.sign[0], "sign-key-number1", 16);
	memcpy(k->site.sign[1], "sign-key-number2", 16);
	k->ctx.unix_ms = NOW_S * 1000ull;
	return k;
}

/* The token line, and the one of an .rdp file before it. */
static const char *line(struct kit *k, const char *user, uint32_t server, uint64_t until_s)
{
	static char text[512];
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);
	const struct hf_token t = {server, hf_bytes_str(user), until_s};

	assert_int_equal(hf_rdp_front.token_write(&k->ctx, &t, &w), HF_OK);
	text[w.n] = 0;
	assert_memory_equal(text, HEAD SIGNED_HEAD, sizeof HEAD SIGNED_HEAD - 1);
	assert_true(w.n - (sizeof HEAD - 1) + 2 <= SIGNED_MAX);
	return text + sizeof HEAD - 1;
}

static const struct hf_ask *ask_with(struct kit *k, const char *source, const char *token, const char *more)
{
	char variable[1024];

	snprintf(variable, sizeof variable, "\"%s\" 0d0a %s " NEG, token, more);
	return ask_for(k, source, variable);
}

/* Octet for octet, so that gateways of one cluster and portals with the key agree. */
static void test_form(void **state)
{
	struct kit *k = kit_signing();
	struct signed_token t;
	const char *text = line(k, "OFFICE\\Alice", 0x01020304, NOW_S + 60);

	(void)state;
	assert_string_equal(text, "Cookie: msts=hf1.7GtJ0jwBAgMEYWxpY2XOi6blT6ATDA");
	assert_int_equal(signed_read(&k->ctx, hf_bytes_str(text), &t), SIGNED_HOLDS);
	assert_int_equal(t.server, 0x01020304);
	assert_octets(t.user, "alice");
	assert_int_equal(signed_read(&k->ctx, HF_LIT("Cookie: msts=hf1.7GtJ0jwBAgMEYWxpY2XOi6blT6ATDA "), &t), SIGNED_HOLDS); /* made even */
	free(k);
}

/* Fails without `holds` in signed_read, or where any octet is not under the tag. */
static void test_forged(void **state)
{
	struct kit *k = kit_signing();
	struct signed_token t;
	char text[256];

	(void)state;
	snprintf(text, sizeof text, "%s", line(k, "alice", 7, NOW_S + 60));
	for (size_t i = sizeof SIGNED_HEAD - 1; text[i]; i++)
		for (unsigned bit = 0; bit < 7; bit++) {
			text[i] = (char)(text[i] ^ 1 << bit);
			assert_int_equal(signed_read(&k->ctx, hf_bytes_str(text), &t), SIGNED_FORGED);
			text[i] = (char)(text[i] ^ 1 << bit);
		}
	for (size_t n = sizeof SIGNED_HEAD - 1; n < strlen(text); n++)
		assert_int_equal(signed_read(&k->ctx, hf_bytes_of(text, n), &t), SIGNED_FORGED);
	k->ctx.pool = HF_LIT("other");
	assert_int_equal(signed_read(&k->ctx, hf_bytes_str(text), &t), SIGNED_FORGED); /* of another pool */
	free(k);
}

/* The last second of its time is not one of them. Keys that no longer sign are still believed. */
static void test_time_and_keys(void **state)
{
	struct kit *k = kit_signing();
	struct signed_token t;
	char text[256];

	(void)state;
	snprintf(text, sizeof text, "%s", line(k, "alice", 7, NOW_S + 60));
	k->ctx.unix_ms = (NOW_S + 60) * 1000ull - 1;
	assert_int_equal(signed_read(&k->ctx, hf_bytes_str(text), &t), SIGNED_HOLDS);
	k->ctx.unix_ms++;
	assert_int_equal(signed_read(&k->ctx, hf_bytes_str(text), &t), SIGNED_EXPIRED);
	k->ctx.unix_ms = NOW_S * 1000ull;
	k->site.n_sign = 2;
	memcpy(k->site.sign[1], k->site.sign[0], 16);
	memcpy(k->site.sign[0], "sign-key-number3", 16);
	assert_int_equal(signed_read(&k->ctx, hf_bytes_str(text), &t), SIGNED_HOLDS);
	k->site.n_sign = 1;
	assert_int_equal(signed_read(&k->ctx, hf_bytes_str(text), &t), SIGNED_FORGED);
	free(k);
}

static void test_what_cannot_be_written(void **state)
{
	struct kit *k = kit_signing();
	char name[SIGNED_USER + 2] = "";
	uint8_t text[512];
	static const struct { const char *user; uint32_t server; uint64_t until_s; enum hf_err e; } bad[] = {
		{"", 0, NOW_S, HF_EINVAL}, {"CORP\\", 0, NOW_S, HF_EINVAL}, {"a", 0, UINT32_MAX + 1ull, HF_ERANGE}};

	(void)state;
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct hf_writer w = hf_writer_on(text, sizeof text);
		const struct hf_token t = {bad[i].server, hf_bytes_str(bad[i].user), bad[i].until_s};

		assert_int_equal(hf_rdp_front.token_write(&k->ctx, &t, &w), bad[i].e);
		assert_int_equal(w.n, 0);
	}
	memset(name, 'x', SIGNED_USER);
	line(k, name, 1, NOW_S);
	name[SIGNED_USER] = 'x';
	{
		struct hf_writer w = hf_writer_on(text, sizeof text);
		const struct hf_token t = {1, hf_bytes_str(name), NOW_S};

		assert_int_equal(hf_rdp_front.token_write(&k->ctx, &t, &w), HF_ERANGE);
	}
	free(k);
}

/* The host is hinted, and where it was taken the user's session is there from now on, wherever it was. Fails without `is_signed` in ask.c. */
static void test_user_and_host(void **state)
{
	struct kit *k = kit_signing();
	const struct hf_ask *q = ask_with(k, "192.0.2.51:1", line(k, "alice", 7, NOW_S + 60), "");
	uint64_t alice = fp(k, "user", "alice");
	const struct hf_act *a;

	(void)state;
	assert_true(q->hint == 7 && q->hint_why == HF_WHY_TOKEN && q->key.fp == alice && q->life == HF_LIFE_NONE && !q->hint_addr.family);
	kit_choice(k, 7, HF_WHY_TOKEN);
	a = learnt(k, alice);
	assert_true(a && a->learn.server == 7 && a->learn.move && a->learn.life == HF_LIFE_OPEN && a->learn.flags == (HF_BOND | HF_COUNTED | HF_TENTATIVE));
	kit_server(k, CONFIRM, false);
	assert_non_null(learnt(k, fp(k, "users-at", "192.0.2.51"))); /* a second name, as for any user */
	forget(k);
	ask_with(k, "192.0.2.51:1", line(k, "alice", 7, NOW_S + 60), "");
	kit_choice(k, 8, HF_WHY_BOND); /* 7 has left the pool */
	assert_true(kit_counted(k, RDP_R_TOKEN_OUTSIDE));
	assert_false(learnt(k, alice)->learn.move);
	forget(k);
	free(k);
}

/* A user without a host is a user, surer than any cookie; a host without a user is remembered for the source that showed it. */
static void test_user_or_host(void **state)
{
	struct kit *k = kit_signing();
	const struct hf_ask *q = ask_with(k, "192.0.2.51:1", line(k, "alice", 0, NOW_S + 60), "\"Cookie: mstshash=bob\" 0d0a");
	char text[256];

	(void)state;
	assert_true(q->hint == 0 && q->key.fp == fp(k, "user", "alice") && q->life == HF_LIFE_OPEN);
	forget(k);
	snprintf(text, sizeof text, "%s", line(k, "", 7, NOW_S + 60));
	q = ask_with(k, "192.0.2.51:1", text, "");
	assert_true(q->hint == 7 && q->key.fp == fp(k, "source", "192.0.2.51"));
	kit_choice(k, 7, HF_WHY_TOKEN);
	strcat(text, " 192.0.2.51");
	assert_non_null(learnt(k, fp(k, "token", text)));
	forget(k);
	free(k);
}

/* What does not hold is no token: counted, and the next key decides. */
static void test_ignored(void **state)
{
	struct kit *k = kit_signing();
	const struct hf_ask *q = ask_with(k, "192.0.2.51:1", line(k, "alice", 7, NOW_S), "\"Cookie: mstshash=bob\" 0d0a");

	(void)state;
	assert_true(q->hint == 0 && q->key.fp == fp(k, "user", "bob") && kit_counted(k, RDP_R_TOKEN_EXPIRED));
	forget(k);
	q = ask_with(k, "192.0.2.51:1", "Cookie: msts=hf1.AAAA", "");
	assert_true(q->hint == 0 && q->key.fp == fp(k, "source", "192.0.2.51") && kit_counted(k, RDP_R_TOKEN_FORGED));
	forget(k);
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_form), cmocka_unit_test(test_forged), cmocka_unit_test(test_time_and_keys),
		cmocka_unit_test(test_what_cannot_be_written), cmocka_unit_test(test_user_and_host), cmocka_unit_test(test_user_or_host), cmocka_unit_test(test_ignored)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
