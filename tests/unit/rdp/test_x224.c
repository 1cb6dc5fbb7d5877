/* The request reader: the examples of the rules, every cut of them, and the edges of every length. */
#include "kit.h"

struct example {
	const char *name, *octets;
	unsigned end;               /* 0: whole */
	size_t len;
	const char *cookie, *token; /* NULL: none */
	long protocols;             /* -1: no negotiation block */
	uint8_t flags;
	bool correlation;
};

#define ALICE "436F6F6B69653A206D737473686173683D616C6963650D0A"
#define MSTS "436F6F6B69653A206D7374733D"

static const struct example examples[] = {
	{"V1", "0300002B26E00000000000" ALICE "010008000B000000", 0, 43, "alice", NULL, 0x0b, 0, false},
	{"V2", "030000130EE00000000000010008000B000000", 0, 19, NULL, NULL, 0x0b, 0, false},
	{"V3", "0300000B06E00000000000", 0, 11, NULL, NULL, -1, 0, false},
	{"V4", "0300002F2AE00000000000436F6F6B69653A206D737473686173683D434F4E544F534F5C610D0A010008000B000000", 0, 47, "CONTOSO\\a", NULL, 0x0b, 0, false},
	{"V5", "0300003631E00000000000" MSTS "3637333035393835302E31353632392E303030300D0A010008000B000000", 0, 54, NULL,
	 "Cookie: msts=673059850.15629.0000", 0x0b, 0, false},
	{"V6", "030000332EE00000000000" MSTS "3638393833373036362E31353838352E200D0A0100080001000000", 0, 51, NULL, "Cookie: msts=689837066.15885. ", 1, 0, false},
	{"V7", "0300002C27E00000000000" MSTS "323931353430373832330D0A0100080007000000", 0, 44, NULL, "Cookie: msts=2915407823", 7, 0, false},
	{"V8", "0300003E39E000000000007473763A2F2F4D53205465726D696E616C20536572766963657320506C7567696E2E312E53616C65730D0A010008000B000000", 0, 62, NULL,
	 "tsv://MS Terminal Services Plugin.1.Sales", 0x0b, 0, false},
	{"V9", "0300004D48E00000000000436F6F6B69653A206D737473686173683D626F620D0A010808000B00000006002400A1B2C3D4E5F60718293A4B5C6D7E8F90 00*16", 0, 77, "bob",
	 NULL, 0x0b, 8, true},
	{"V10", "0300002B26E00000000000436F6F6B69653A206D737473686173683D6361726F6C0D0A010208001B000000", 0, 43, "carol", NULL, 0x1b, 2, false},
	{"V11", "030000221DE00000000000436F6F6B69653A206D737473686173683D646176650D0A", 0, 34, "dave", NULL, -1, 0, false},
	{"I1", "0300002B20E00000000000" ALICE "010008000B000000", RDP_R_LI_MISMATCH, 0, NULL, NULL, -1, 0, false},
	{"I2", "030000221DE00000000000436F6F6B69653A206D737473686173683D616C6963650D", RDP_R_UNTERMINATED, 0, NULL, NULL, -1, 0, false},
	{"I3", "0300000406E00000000000", RDP_R_TPKT_LENGTH, 0, NULL, NULL, -1, 0, false},
	{"I4", "0300000702F080", RDP_R_TPKT_LENGTH, 0, NULL, NULL, -1, 0, false},
	{"I5", "160301003C010000380303 4A5B", RDP_R_NOT_RDP, 0, NULL, NULL, -1, 0, false},
	{"I6", "0300003631E00000000000" MSTS "3135383430303731352E34373837332E303030300D0A010008000B000000", 0, 54, NULL, "Cookie: msts=158400715.47873.0000", 0x0b,
	 0, false},
	{"I7", "0300003833E00000000000" MSTS "39393939393939393939392E31353632392E303030300D0A010008000B000000", 0, 56, NULL,
	 "Cookie: msts=99999999999.15629.0000", 0x0b, 0, false},
	{"I8", "0300002B26E00000000000" ALICE "010009000B000000", RDP_R_NEGREQ_LENGTH, 0, NULL, NULL, -1, 0, false},
	{"I9", "0300002B26E00000000000" ALICE "010808000B000000", RDP_R_CORRELATION, 0, NULL, NULL, -1, 0, false},
	{"I10", "0300002C27E00000000000436F6F6B69653A206D737473686173683D616C006963650D0A010008000B000000", RDP_R_NUL, 0, NULL, NULL, -1, 0, false},
	{"I11", "03000104FFE00000000000 \"Cookie: mstshash=\" 78*230 0D0A", RDP_R_TPKT_LENGTH, 0, NULL, NULL, -1, 0, false},
	{"I12", "0300004E49E00000000000" MSTS "3637333035393835302E31353632392E303030300D0A" ALICE "010008000B000000", 0, 78, "alice",
	 "Cookie: msts=673059850.15629.0000", 0x0b, 0, false},
	{"I13", "0300002B26E00000000040" ALICE "010008000B000000", RDP_R_NOT_CR, 0, NULL, NULL, -1, 0, false},
};
#define EXAMPLES (sizeof examples / sizeof examples[0])

/* The end that the first n octets come to, in a buffer of exactly n octets. */
static unsigned read_first(struct hf_bytes all, size_t n, size_t *need)
{
	struct x224_request r;
	uint8_t *p = malloc(n ? n : 1);
	unsigned end;

	memcpy(p, all.p, n);
	end = x224_read(hf_bytes_of(p, n), &r, need);
	free(p);
	return end;
}

static void check(const struct example *e, const struct x224_request *r)
{
	assert_int_equal(r->len, e->len);
	assert_int_equal(r->has_cookie, e->cookie != NULL);
	assert_int_equal(r->has_token, e->token != NULL);
	if (e->cookie)
		assert_octets(r->cookie, e->cookie);
	if (e->token)
		assert_octets(r->token, e->token);
	assert_int_equal(r->negotiates, e->protocols >= 0);
	assert_int_equal(r->protocols, e->protocols < 0 ? 0 : e->protocols);
	assert_int_equal(r->flags, e->flags);
	assert_int_equal(r->correlation.n, e->correlation ? 16 : 0);
}

/* Fails without any one check of fixed_part, lines, negotiation or correlation. */
static void test_examples(void **state)
{
	(void)state;
	for (unsigned i = 0; i < EXAMPLES; i++) {
		struct hf_bytes b = hex(examples[i].octets);
		struct x224_request r;
		size_t need;
		unsigned end = x224_read(b, &r, &need);

		if (end != examples[i].end)
			fail_msg("%s ends with %u, not %u", examples[i].name, end, examples[i].end);
		if (end == 0)
			check(&examples[i], &r);
		done(b);
	}
}

/* What is said early is what is said at the end, and `need` is never more than what decides. Fails without the length tests. */
static void test_every_cut(void **state)
{
	(void)state;
	for (unsigned i = 0; i < EXAMPLES; i++) {
		struct hf_bytes b = hex(examples[i].octets);
		bool decided = false;

		for (size_t n = 0; n <= b.n; n++) {
			size_t need;
			unsigned end = read_first(b, n, &need);

			assert_false(decided && end == X224_WAIT);
			if (end == X224_WAIT) {
				assert_true(need > n && (need <= b.n || n == b.n));
				continue;
			}
			decided = true;
			assert_int_equal(end, examples[i].end);
		}
		assert_true(decided);
		done(b);
	}
}

/* Following `need` alone, as net does, comes to the same end. Fails when next_need skips what decides or never reaches the length. */
static void test_need(void **state)
{
	(void)state;
	for (unsigned i = 0; i < EXAMPLES; i++) {
		struct hf_bytes b = hex(examples[i].octets);
		size_t n = 0, need = 0;
		unsigned end, steps = 0;

		while ((end = read_first(b, n, &need)) == X224_WAIT) {
			assert_true(need > n && need <= b.n && ++steps <= 5);
			n = need;
		}
		assert_int_equal(end, examples[i].end);
		done(b);
	}
}

/* I3 and I11 are closed after four octets, TLS after one. */
static void test_early(void **state)
{
	static const struct { const char *octets; unsigned end; } rows[] = {
		{"16", RDP_R_NOT_RDP}, {"47", RDP_R_NOT_RDP}, {"ff", RDP_R_NOT_RDP}, {"00", RDP_R_TPKT_VERSION}, {"02", RDP_R_TPKT_VERSION},
		{"03000000", RDP_R_TPKT_LENGTH}, {"0300000a", RDP_R_TPKT_LENGTH}, {"0300000b", X224_WAIT}, {"03000103", X224_WAIT},
		{"03000104", RDP_R_TPKT_LENGTH}, {"0300ffff", RDP_R_TPKT_LENGTH}, {"03010000", RDP_R_TPKT_LENGTH}, {"0300002b26d0", RDP_R_NOT_CR},
		{"0300002b25e0", RDP_R_LI_MISMATCH}, {"0300002b26e0 00000000 10", RDP_R_NOT_CR}, {"0300002b26e0 00000000 0f", X224_WAIT},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes b = hex(rows[i].octets);
		size_t need;

		assert_int_equal(read_first(b, b.n, &need), rows[i].end);
		done(b);
	}
}

static unsigned variable(const char *text, struct x224_request *r)
{
	struct hf_bytes b = request(text);
	size_t need;
	unsigned end = x224_read(b, r, &need);

	done(b);
	return end;
}

/* r02: data that holds 0D is no line when the variable part begins with 01. Fails without the type test in lines. */
static void r02_no_line_search(void **state)
{
	struct x224_request r;

	(void)state;
	assert_int_equal(variable("01000800 0d000000", &r), 0);
	assert_int_equal(r.protocols, 0x0d);
	assert_int_equal(variable("01000800 0d0a0000", &r), 0);
	assert_int_equal(r.protocols, 0x0a0d);
}

/* r08: a prefix of the cookie's prefix at the very end. Fails when the compare does not test the length. */
static void r08_prefix_at_the_end(void **state)
{
	struct x224_request r;

	(void)state;
	assert_int_equal(variable("\"Cookie: mstshas\"", &r), RDP_R_UNTERMINATED);
	assert_int_equal(variable("\"Cookie: mstshash\"", &r), RDP_R_UNTERMINATED);
	assert_int_equal(variable("\"Cookie: mstshas\" 0d0a", &r), 0);
	assert_true(r.has_token && !r.has_cookie);
	assert_int_equal(variable("\"Cookie: mstshash\" 0d0a", &r), 0);
	assert_true(r.has_token && !r.has_cookie);
}

/* r10: CR is the last octet of the request, and what came behind it in the same segment begins with LF, or is one more octet of memory: no line has ended.
 * Fails when line_end, or what it is given, reaches past the request. */
static void r10_lf_outside(void **state)
{
	struct hf_bytes b = hex("030000221DE00000000000 \"Cookie: mstshash=alice\" 0D 0A 010008000B000000");
	size_t need;

	(void)state;
	assert_int_equal(read_first(b, b.n, &need), RDP_R_UNTERMINATED);
	assert_int_equal(read_first(b, 34, &need), RDP_R_UNTERMINATED);
	assert_int_equal(read_first(b, 33, &need), X224_WAIT);
	done(b);
}

/* r09, r12: no TPKT length that leaves no room gets further than its four octets. Fails without the test for X224_MIN. */
static void r09_short_lengths(void **state)
{
	(void)state;
	for (uint8_t len = 0; len < 11; len++) {
		uint8_t b[11] = {3, 0, 0, len, (uint8_t)(len - 5), 0xe0};
		struct x224_request r;
		size_t need;

		assert_int_equal(x224_read(hf_bytes_of(b, sizeof b), &r, &need), RDP_R_TPKT_LENGTH);
		assert_int_equal(read_first(hf_bytes_of(b, sizeof b), 4, &need), RDP_R_TPKT_LENGTH);
	}
}

/* r24: a hand-written role is an ordinary name; a line without its end is not one. */
static void r24_role_line(void **state)
{
	struct x224_request r;

	(void)state;
	assert_int_equal(variable(USER("Role#Role_IN_0"), &r), 0);
	assert_true(r.has_cookie && r.cookie.n == strlen("Role#Role_IN_0") && !r.has_token);
	assert_int_equal(variable("\"Role#Role_IN_0\"", &r), RDP_R_UNTERMINATED);
}

/* r26: 221 octets of name are the most that fit with a negotiation block; with 222 the length indicator would be 255. */
static void r26_longest_name(void **state)
{
	struct x224_request r;

	(void)state;
	assert_int_equal(variable("\"Cookie: mstshash=\" 78*221 0d0a" NEG, &r), 0);
	assert_int_equal(r.len, 259);
	assert_int_equal(r.cookie.n, 221);
	assert_int_equal(variable("\"Cookie: mstshash=\" 78*222 0d0a" NEG, &r), RDP_R_TPKT_LENGTH);
}

/* h9: what a client writes whose one octet of a length cannot hold that of 230 octets of name: the length of the whole says so, before the other one is
 * looked at. Fails without the test for X224_MAX, or when the order of the two turns. */
static void h09_wrapped_length(void **state)
{
	struct hf_bytes b = hex("0300010c 07e00000000000 \"Cookie: mstshash=\" 78*230 0d0a" NEG);
	size_t need;

	(void)state;
	for (size_t n = 4; n <= b.n; n++)
		assert_int_equal(read_first(b, n, &need), RDP_R_TPKT_LENGTH);
	done(b);
}

/* What a host may judge and we do not: the reserved octet, a credit, references, options. Fails when any of them is looked at. */
static void test_not_judged(void **state)
{
	static const char *const rows[] = {"03ff0022 1de00000000000", "03000022 1def0000000000", "03000022 1de01234000000", "03000022 1de00000567800", "03000022 1de0000000000f"};
	char text[200];

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes b;
		struct x224_request r;
		size_t need;

		snprintf(text, sizeof text, "%s \"Cookie: mstshash=dave\" 0d0a", rows[i]);
		b = hex(text);
		assert_int_equal(x224_read(b, &r, &need), 0);
		assert_true(r.has_cookie && r.len == 34 && r.cookie.n == 4);
		done(b);
	}
}

/* A cookie's line is told in any case, and nothing else of it is: what is no cookie is a token. Fails with a prefix of one case. */
static void test_prefix(void **state)
{
	static const struct { const char *line; bool cookie; } rows[] = {
		{"\"Cookie: mstshash=A\"", true}, {"\"cookie: mstshash=A\"", true}, {"\"COOKIE: MSTSHASH=A\"", true}, {"\"cOOKIE: mSTShash=A\"", true},
		{"\"Cookie:mstshash=A\"", false}, {"\" Cookie: mstshash=A\"", false}, {"\"Cookie: mstshash A\"", false}, {"\"Cookie: msts=A\"", false},
	};
	char text[200];

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct x224_request r;

		snprintf(text, sizeof text, "%s 0d0a", rows[i].line);
		assert_int_equal(variable(text, &r), 0);
		assert_true(r.has_cookie == rows[i].cookie && r.has_token == !rows[i].cookie);
		assert_true(!r.has_cookie || r.cookie.n == 1);
	}
}

/* Lines and blocks out of order or twice. */
static void test_order(void **state)
{
	static const struct { const char *variable; unsigned end; } rows[] = {
		{"\"Cookie: mstshash=a\" 0d0a \"Cookie: mstshash=b\" 0d0a" NEG, RDP_R_DUPLICATE},
		{"\"Cookie: msts=1\" 0d0a \"Cookie: msts=2\" 0d0a" NEG, RDP_R_DUPLICATE},
		{"\"Cookie: mstshash=a\" 0d0a \"Cookie: msts=2\" 0d0a" NEG, 0},
		{"\"cOOKIE: MSTSHASH=a\" 0d0a" NEG, 0},
		{"\"Cookie: mstshash=\" 0d0a" NEG, 0},
		{"0d0a" NEG, RDP_R_NEGREQ_TYPE},
		{"\"a\" 0d \"b\" 0d0a" NEG, RDP_R_CONTROL},
		{"\"a\" 0a \"b\" 0d0a" NEG, RDP_R_CONTROL},
		{"\"a\" 1b \"b\" 0d0a" NEG, 0},
		{"\"a\" 0d0d0a" NEG, RDP_R_CONTROL},
		{NEG "\"Cookie: mstshash=a\" 0d0a", RDP_R_TRAILING},
		{NEG "00", RDP_R_TRAILING},
		{NEG NEG, RDP_R_TRAILING},
		{"\"a\" 0d0a 02000800 0b000000", RDP_R_NEGREQ_TYPE},
		{"\"a\" 0d0a 0100", RDP_R_NEGREQ_TRUNCATED},
		{"01", RDP_R_NEGREQ_TRUNCATED},
		{"0108080000000000 0600240011*16 00*15", RDP_R_CORRELATION},
		{"0108080000000000 0600240011*16 00*16", 0},
		{"0108080000000000 0600240011*16 00*17", RDP_R_TRAILING},
		{"0108080000000000 0700240011*16 00*16", RDP_R_CORRELATION},
		{"0108080000000000 0600250011*16 00*16", RDP_R_CORRELATION},
		{"0108080000000000 06002400 00 11*15 00*16", RDP_R_CORRELATION},
		{"0108080000000000 06002400 f4 11*15 00*16", RDP_R_CORRELATION},
		{"0108080000000000 06002400 11*15 0d 00*16", RDP_R_CORRELATION},
		{"01ff0800ffffffff 06002400 11*16 00*16", 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct x224_request r;
		unsigned end = variable(rows[i].variable, &r);

		if (end != rows[i].end)
			fail_msg("row %u: %u, not %u", i, end, rows[i].end);
	}
}

/* What hosts answer; fails without any check in x224_read_reply. */
static void test_replies(void **state)
{
	static const struct { const char *octets; enum x224_reply is; } rows[] = {
		{"", X224_REPLY_WAIT}, {"030000", X224_REPLY_WAIT}, {"03000013 0ed00000123400 02000800010000", X224_REPLY_WAIT},
		{CONFIRM, X224_REPLY_CONFIRM}, {"0300000b 06d00000123400", X224_REPLY_CONFIRM}, {CONFIRM "1603", X224_REPLY_CONFIRM},
		{"03000013 0ed00000123400 0300080005000000", X224_REPLY_NEG_FAILURE}, {"0300000b 06800000000000", X224_REPLY_OTHER},
		{"03000013 0dd00000123400 0200080001000000", X224_REPLY_OTHER}, {"15", X224_REPLY_OTHER}, {"0300000a", X224_REPLY_OTHER},
		{"03000104", X224_REPLY_OTHER},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes b = hex(rows[i].octets);
		size_t need;

		assert_int_equal(x224_read_reply(b, &need), rows[i].is);
		if (rows[i].is == X224_REPLY_WAIT)
			assert_true(need > b.n);
		done(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples), cmocka_unit_test(test_every_cut), cmocka_unit_test(test_need), cmocka_unit_test(test_early),
		cmocka_unit_test(r02_no_line_search), cmocka_unit_test(r08_prefix_at_the_end), cmocka_unit_test(r09_short_lengths), cmocka_unit_test(r10_lf_outside), cmocka_unit_test(h09_wrapped_length),
		cmocka_unit_test(r24_role_line), cmocka_unit_test(r26_longest_name), cmocka_unit_test(test_not_judged), cmocka_unit_test(test_prefix), cmocka_unit_test(test_order), cmocka_unit_test(test_replies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
