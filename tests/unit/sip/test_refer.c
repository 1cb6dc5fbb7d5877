/* Dialogs that a request names: what a Refer-To says of one, what is learnt when a REFER passes, and where an INVITE goes that names a dialog of
 * which nothing is known. */
#include "front_kit.h"

static struct kit k;
static int setup(void **state) { (void)state; kit_init(&k); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PHONE "192.0.2.51:5060"

static uint64_t call_fp(const char *call_id) { return hf_fingerprint(k.site.hash_key, HF_LIT("call-id"), hf_bytes_str(call_id), SIZE_MAX); }

static struct hf_bytes read_it(const char *value) { return sip_refer_read(hf_bytes_str(value), 64, &k.arena); }

static void reads(const char *value, const char *want)
{
	struct hf_bytes got = read_it(value);

	if (!hf_bytes_eq(got, hf_bytes_str(want)))
		fail_msg("%s: read \"%.*s\", want \"%s\"", value, (int)got.n, (const char *)got.p, want);
}

/* The forms that phones write (RFC 5589 7), with each octet of name and value escaped or not. Fails without unescape, or when names keep their case. */
static void forms(void **state)
{
	(void)state;
	reads("<sip:carol@example.com?Replaces=cy%40192.0.2.9%3Bto-tag%3D1%3Bfrom-tag%3D2>", "cy@192.0.2.9");
	reads("<sip:carol@example.com?Replaces=cy;to-tag=1>", "cy");
	reads("sip:carol@example.com?Replaces=cy%3Bto-tag%3D1", "cy");
	reads("\"Carol, <x>;\" <sips:carol@[2001:db8::9]:5061;transport=tcp?Require=replaces&Replaces=c%79%3bto-tag%3D1&Subject=a>;method=INVITE", "cy");
	reads("<sip:carol@example.com?re%50LACES=%20cy%20%3Bto-tag%3D1>", "cy");
	reads("<sip:c@example.com?Replaces=%7Ba%2Bb%25%7D%3Bx>", "{a+b%}");
	reads("<sip:c;x=%3F@example.com?Replaces=cy>", "cy");
}

/* What cannot be followed is not: bad escapes, controls, none, two, too long, no URI. Fails without is_call_id, and without the count. */
static void no_forms(void **state)
{
	static const char *const none[] = {
		"<sip:carol@example.com>", "<sip:carol@example.com?>", "<sip:carol@example.com?Replaces>", "<sip:carol@example.com?Replaces=>",
		"<sip:carol@example.com?Replaces=%3Bto-tag%3D1>", "<sip:c@example.com?Replaces=a%>", "<sip:c@example.com?Replaces=a%4>", "<sip:c@example.com?Replaces=a%4x>",
		"<sip:c@example.com?Replaces=%zzcy>", "<sip:c@example.com?Replaces=a%00b>", "<sip:c@example.com?Replaces=a%0D%0AVia:x>", "<sip:c@example.com?Replaces=a%20b>",
		"<sip:c@example.com?Replaces=a%2Cb>", "<sip:c@example.com?Replaces=cy&Replaces=cz>", "<sip:c@example.com?Replaces=cy&replaces=cy>",
		"<sip:c@example.com?Replacesx=cy>", "<sip:c@example.com?Replace=cy>", "<sip:c@example.com;Replaces=cy>", "<sip:c@example.com>?Replaces=cy", "<sip:c@example.com?Replaces=cy",
		"\"<sip:c@example.com?Replaces=cy>", "", "<>", "?Replaces=cy", "<sip:?Replaces=cy>", "<tel:112?Replaces=cy%zz>"};
	char text[4096] = "<sip:c@example.com?";

	(void)state;
	for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
		reads(none[i], "");
	for (unsigned i = 0; i < 40; i++)
		strcat(text, "Replaces=cy%3Bto-tag%3D1&");
	strcat(text, ">");
	reads(text, "");
	for (unsigned n = 63; n < 66; n++) {
		char id[80] = "";

		memset(id, 'x', n);
		snprintf(text, sizeof text, "<sip:c@example.com?Replaces=%s%%3Bto-tag%%3D1>", id);
		reads(text, n <= 64 ? id : "");
	}
}

/* Without room nothing is followed, and nothing else happens. */
static void no_room(void **state)
{
	uint8_t mem[16];
	struct hf_arena arena;

	(void)state;
	hf_arena_init(&arena, mem, sizeof mem);
	assert_int_equal(sip_refer_read(HF_LIT("<sip:c@example.com?Replaces=cy%3Bto-tag%3D1%3Bfrom-tag%3D2>"), 64, &arena).n, 0);
}

#define REFER_TO "Refer-To: <sip:carol@example.com?Replaces=cy%3Bto-tag%3D1%3Bfrom-tag%3D2>" CRLF

static void learnt(const char *from, const char *to_tag, const char *extra)
{
	kit_feed(&k, from, kit_request((struct kit_request){.method = "REFER", .to_tag = to_tag, .extra = extra}));
	assert_int_equal(k.n_learnt, 1);
	assert_int_equal(k.learnt[0].learn.key.fp, call_fp("cy"));
	assert_int_equal(k.learnt[0].learn.life, HF_LIFE_START);
	assert_int_equal(k.learnt[0].learn.server, 0);
	assert_int_equal(k.learnt[0].learn.flags, HF_TENTATIVE);
	assert_int_equal(k.learnt[0].learn.life_s, 200);
}

/* The dialog that is to be replaced stays remembered, whoever refers; its octets go on as they came. Fails without sip_refer_learn. */
static void what_a_refer_leaves(void **state)
{
	(void)state;
	learnt(PHONE, "b1", REFER_TO);
	assert_int_equal(k.ask.refs[0].fp, 0); /* it goes where its own dialog is */
	assert_true(kit_says(&k, REFER_TO));
	learnt(PHONE, "b1", "r:" CRLF " <sip:carol@example.com?Replaces=cy>" CRLF);
	k.ctx.hash_mode = true;
	learnt(PHONE, "b1", REFER_TO);
	k.ctx.hash_mode = false;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "REFER", .to_tag = "b1", .extra = REFER_TO REFER_TO}));
	assert_int_equal(k.n_learnt, 0);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INFO", .to_tag = "b1", .extra = REFER_TO}));
	assert_int_equal(k.n_learnt, 0);
}

/* Out of a dialog the one that it names is evidence, behind Target-Dialog. Fails without sip_referred in named(). */
static void a_refer_of_its_own(void **state)
{
	(void)state;
	learnt(PHONE, NULL, REFER_TO);
	assert_int_equal(k.ask.refs[0].fp, call_fp("cy"));
	assert_int_equal(k.ask.refs[1].fp, 0);
	learnt(PHONE, NULL, "Target-Dialog: ct;local-tag=1;remote-tag=2" CRLF REFER_TO);
	assert_int_equal(k.ask.refs[0].fp, call_fp("ct"));
	assert_int_equal(k.ask.refs[1].fp, call_fp("cy"));
}

/* Replaces, Join or Target-Dialog of a dialog that nobody knows: it is placed as that was, where a Call-ID places, and counted. Fails when
 * sip_place takes its own Call-ID, or to_server counts nothing. */
static void unknown_dialogs(void **state)
{
	static const char *const names[] = {"Replaces: cy;to-tag=1;from-tag=2", "Join: cy;to-tag=1;from-tag=2", "Target-Dialog: cy;local-tag=1;remote-tag=2", "Replaces: cy"};
	char id[300] = "", line[400];

	(void)state;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(line, sizeof line, "%s" CRLF, names[i]);
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = line}));
		assert_int_equal(k.ask.key.fp, call_fp("c1"));
		assert_int_equal(k.ask.refs[0].fp, call_fp("cy"));
		assert_int_equal(k.ask.place, call_fp("cy"));
		assert_true(k.ask.at_home);
		assert_int_equal(k.counted, SIP_R_NO_DIALOG);
		assert_true(hf_bytes_eq(k.ask.place_octets, HF_LIT("cy")));
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .to_tag = "b1", .extra = line}));
		assert_int_equal(k.ask.place, 0);
		assert_false(k.ask.at_home);
	}
	k.chosen.why = HF_WHY_DIALOG; /* it is known */
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = line}));
	assert_int_equal(k.n_counted, 0);
	k.chosen.why = HF_WHY_HOME;
	memset(id, 'x', 200);
	snprintf(line, sizeof line, "Replaces: %s;to-tag=1;from-tag=2" CRLF, id);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = line}));
	assert_int_equal(k.ask.refs[0].fp, call_fp(id));
	assert_int_equal(k.ask.place, hf_fingerprint(k.site.hash_key, HF_LIT("call-id"), hf_bytes_str(id), 80));
	kit_custom(&k, "key", "token:0:3");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "Replaces: abcdef;to-tag=1;from-tag=2" CRLF}));
	assert_int_equal(k.ask.place, hf_fingerprint(k.site.hash_key, HF_LIT("token"), HF_LIT("abc"), 80));
	kit_custom(&k, "key", "from-user");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "Replaces: cy;to-tag=1;from-tag=2" CRLF}));
	assert_int_equal(k.ask.place, hf_fingerprint(k.site.hash_key, HF_LIT("from-user"), HF_LIT("alice"), 80));
	assert_false(k.ask.at_home);
}

/* Dozens of Replaces in one request: it is refused, as two are (RFC 3891 3). */
static void dozens(void **state)
{
	char many[3000] = "";

	(void)state;
	for (unsigned i = 0; i < 48; i++)
		strcat(many, "Replaces: cy;to-tag=1;from-tag=2" CRLF);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = many}));
	assert_int_equal(k.n_asked, 0);
	assert_int_equal(strncmp(k.out, "SIP/2.0 400 ", 12), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {T(forms), T(no_forms), T(no_room), T(what_a_refer_leaves), T(a_refer_of_its_own), T(unknown_dialogs), T(dozens)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
