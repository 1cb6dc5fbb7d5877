/* The request reader against libfreerdp's: every message of the torture set is given to a peer over a socket pair, and both must
 * agree on the verdict, the token and the protocols. Where they may differ stands in a table, with why. */
#include "oracle.h"

/* Where the verdicts differ with FreeRDP 2.11: what it is (taken or closed by it), and why ours is as it is. */
static const struct { const char *file; bool theirs; const char *why; } differ[] = {
	{"i21-code-e1.hex", false, "the credit is the host's affair"},
	{"i23-class-4.hex", true, "classes above 0 are closed"},
	{"i36-cookie-inner-cr.hex", true, "readers disagree where such a line ends"},
	{"i37-cookie-inner-lf.hex", true, "the same"},
	{"i40-token-and-cookie.hex", false, "a balancer goes on with the token"},
	{"i43-cookie-lower-case.hex", false, "other balancers take it without case"},
	{"i44-cookie-no-blank.hex", false, "any line with CR LF is a token"},
	{"n04-length-swapped.hex", true, "a block of another length is malformed"},
	{"n08-correlation-missing.hex", true, "the flag promises a block"},
	{"n09-correlation-unflagged.hex", true, "a block without its flag is trailing octets"},
	{"n12-correlation-0d.hex", true, "the id must not hold 0D"},
};

static bool allowed(const char *file, bool theirs_is)
{
	for (unsigned i = 0; i < sizeof differ / sizeof differ[0]; i++)
		if (strcmp(differ[i].file, file) == 0)
			return differ[i].theirs == theirs_is;
	return false;
}

static unsigned compare(const char *file, struct hf_bytes b)
{
	struct verdict a = ours(b), o = theirs(b);

	if (a.taken != o.taken) {
		if (allowed(file, o.taken))
			return 0;
		print_error("%s: %s by us, %s by libfreerdp\n", file, a.taken ? "taken" : "closed", o.taken ? "taken" : "closed");
		return 1;
	}
	if (!a.taken)
		return 0;
	if (strcmp(a.token, o.token) != 0 || a.protocols != o.protocols) {
		print_error("%s: token '%s' and '%s', protocols %x and %x\n", file, a.token, o.token, (unsigned)a.protocols, (unsigned)o.protocols);
		return 1;
	}
	return 0;
}

/* Its answers, read by our reader of answers: it must be a Confirm or a negotiation failure. */
static void test_its_answers(void **state)
{
	static const struct { const char *variable; enum x224_reply is; } rows[] = {
		{"\"Cookie: mstshash=alice\" 0d0a 0100080000000000", X224_REPLY_CONFIRM},
		{"\"Cookie: mstshash=alice\" 0d0a 0100080003000000", X224_REPLY_NEG_FAILURE},
		{"010008000b000000", X224_REPLY_NEG_FAILURE},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes b = request(rows[i].variable);
		struct verdict v = theirs(b);
		size_t need;

		assert_int_equal(x224_read_reply(hf_bytes_of(v.reply, v.reply_len), &need), rows[i].is);
		done(b);
	}
}

static unsigned bad;

static void one(const char *file, struct hf_bytes b) { bad += compare(file, b); }

static void test_torture_set(void **state)
{
	unsigned rows = each_message(one);

	(void)state;
	print_message("%u messages, %u differ\n", rows, bad);
	assert_true(rows > 80);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_its_answers), cmocka_unit_test(test_torture_set)};

	setenv("WLOG_LEVEL", "OFF", 1); /* it logs every bad message */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
