/* Tokens without number, made up, bent and broken: none leads to an address outside the pool. What a token may say is an address or a member of our own
 * signature, which net looks up among the members; whatever it says, the request is sent to the member that was chosen and to nobody else. Fails where a
 * number wraps in token.c, a tag is not compared in signed.c, or a step sends to what a token names. Twenty thousand; HOLDFAST_FULL=1: a million. */
#include "kit.h"
#include "signed.h"

static const struct { uint32_t hash; const char *at; } members[] = {{0x11, "10.20.30.40:3389"}, {0x22, "10.20.30.41:3390"}, {0x33, "[2001:db8::1e14:2830]:3389"}, {0x44, "192.0.2.9:443"}};
#define MEMBERS (sizeof members / sizeof members[0])

static uint64_t dice = 1;

static unsigned roll(unsigned n)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(dice >> 33) % n;
}

static char good_signed[SIGNED_MAX];

/* A token of one of several sorts, most of them one step beside a good one. */
static void make(char *t, size_t cap)
{
	static const char *const heads[] = {"Cookie: msts=", "cookie: MSTS=", "Cookie: msts= ", "Cookie:msts=", "tsv://", "mth://", ""};
	static const unsigned long long near[] = {673059850, 689837066, 4294967295u, 4294967296u, 673059850 + (1ull << 32), 15629, 15885, 65535, 65536, 15629 + 65536, 0};
	unsigned sort = roll(5);

	if (sort == 0) { /* numbers at the edges, and their like */
		snprintf(t, cap, "%s%llu%c%llu%c%.*s%.*s", heads[roll(7)], near[roll(11)] + roll(3), ".,"[roll(16) == 0], near[roll(11)], ". "[roll(16) == 0], (int)roll(9), "00000000",
			 (int)roll(3), "  ");
	} else if (sort == 1) { /* any address */
		snprintf(t, cap, "Cookie: msts=%llu.%u.0000", (unsigned long long)roll(1u << 31) * 2 + roll(2), roll(70000));
	} else if (sort == 2) { /* one of ours, one character changed or none */
		snprintf(t, cap, "%s", good_signed);
		t[strlen(SIGNED_HEAD) + roll((unsigned)(strlen(t) - strlen(SIGNED_HEAD)))] = (char)('0' + roll(75));
	} else if (sort == 3) { /* an address as people would write it */
		snprintf(t, cap, "Cookie: msts=%u.%u.%u.%u:%u", roll(256), roll(256), roll(256), roll(256), roll(65536));
	} else { /* anything that may stand in a line */
		size_t n = 1 + roll(60);

		for (size_t i = 0; i < n; i++)
			t[i] = (char)(0x20 + roll(95));
		t[n] = 0;
	}
}

/* The address in a token, read another way: the C library's numbers, the octets by division. */
static bool names(const char *t, const struct hf_addr *a)
{
	unsigned long long ip, port;
	char *end;

	if (strncasecmp(t, "Cookie: msts=", 13) != 0 || t[13] < '0' || t[13] > '9')
		return false;
	ip = strtoull(t + 13, &end, 10);
	if (ip > 4294967295u || *end != '.' || end[1] < '0' || end[1] > '9')
		return false;
	port = strtoull(end + 1, &end, 10);
	return port <= 65535 && *end == '.' && a->family == 4 && a->ip[0] == ip % 256 && a->ip[1] == ip / 256 % 256 && a->ip[2] == ip / 65536 % 256 &&
	       a->ip[3] == ip / 16777216 && a->port == port % 256 * 256 + port / 256;
}

/* As net does: a member by its exact address and port, or by its hash; else somebody who is placed. */
static uint32_t chosen_for(const struct hf_ask *q, enum hf_why *why)
{
	for (unsigned i = 0; i < MEMBERS; i++) {
		struct hf_addr at;

		assert_int_equal(hf_addr_read(hf_bytes_str(members[i].at), 0, &at), HF_OK);
		*why = q->hint_why;
		if (q->hint == members[i].hash || (q->hint_addr.family && hf_addr_eq(&q->hint_addr, &at)))
			return members[i].hash;
	}
	*why = HF_WHY_HOME;
	return members[roll(MEMBERS)].hash;
}

static void one(struct kit *k, const char *token, unsigned *led)
{
	size_t n = X224_MIN + strlen(token) + 2;
	uint8_t p[X224_MAX] = {3, 0, 0, (uint8_t)n, (uint8_t)(n - 5), 0xe0};
	const struct hf_ask *q;
	enum hf_why why;
	uint32_t at;

	memcpy(p + X224_MIN, token, strlen(token));
	memcpy(p + n - 2, "\r\n", 2);
	kit_flow(k, "192.0.2.51:1");
	kit_client(k, hf_bytes_of(p, n), false);
	if (k->acts.a[k->acts.n - 1].kind != HF_ACT_ASK) /* its first octet is that of a block, say */
		return;
	q = &k->acts.a[k->acts.n - 1].ask;
	if (q->hint_addr.family && !names(token, &q->hint_addr))
		fail_msg("'%s' is read as another address", token);
	if (q->hint && strcmp(token, good_signed) != 0)
		fail_msg("'%s' is believed", token);
	at = chosen_for(q, &why);
	*led += why == HF_WHY_TOKEN;
	kit_choice(k, at, why);
	for (unsigned i = 0; i < k->acts.n; i++)
		if (k->acts.a[i].kind == HF_ACT_SEND && (k->acts.a[i].send.to != HF_TO_SERVER || k->acts.a[i].send.server != at || k->acts.a[i].send.addr.family))
			fail_msg("'%s' is sent elsewhere", token);
	assert_non_null(kit_nth(k, HF_ACT_SEND, 0));
}

static void none_leads_outside(void **state)
{
	const char *full = getenv("HOLDFAST_FULL");
	unsigned times = full && *full == '1' ? 1000000 : 20000, led = 0;
	struct kit *k = kit_new();
	struct hf_writer w = hf_writer_on(good_signed, sizeof good_signed - 1);
	char token[X224_MAX], *line;

	(void)state;
	memcpy(k->site.sign[0], "fedcba9876543210", 16);
	k->ctx.unix_ms = 1700000000000u;
	assert_int_equal(hf_rdp_front.token_write(&k->ctx, &(struct hf_token){.server = 0x22, .until_s = 1700000600u}, &w), HF_OK);
	line = strstr(good_signed, SIGNED_HEAD);
	memmove(good_signed, line, strlen(line) + 1);
	for (unsigned i = 0; i < times; i++) {
		make(token, sizeof token);
		one(k, token, &led);
	}
	assert_true(led > times / 1000 && led < times / 10); /* some are good, else nothing is tried */
	k->client = HF_NONE;
	free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(none_leads_outside)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
