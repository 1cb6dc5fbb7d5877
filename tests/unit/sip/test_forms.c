/* The forms that travel in messages: the published example octet for octet, and that a changed octet is never believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "forms.h"

#include "holdfast/hash.h"

static struct hf_site site;
static struct hf_addr client;

#define CALL_ID HF_LIT("a84b4c76e66710@192.0.2.51")
#define FROM_TAG HF_LIT("1928301774")
#define BRANCH HF_LIT("z9hG4bKnade5nvlg79s8")
#define HF HF_LIT("6265k5u0ro4u7ru6dflo87nuqt9avg0008ph7h17j38goi9l909g")
#define COOKIE HF_LIT("hfd-4266nqs43qbt8jfuo7d17p0")
#define FLOW HF_LIT("hff-4260jovfor0000hj2f25ot8tta9mh7a3")

static int setup(void **state)
{
	(void)state;
	site = (struct hf_site){.n_sign = 1, .boot = 0x5a17c0de};
	for (int i = 0; i < 16; i++) {
		site.hash_key[i] = (uint8_t)i;
		site.sign[0][i] = (uint8_t)(16 + i);
		site.sign[1][i] = (uint8_t)(32 + i);
	}
	return hf_addr_read(HF_LIT("192.0.2.51:5060"), 0, &client) != HF_OK;
}

static void same(struct hf_bytes got, struct hf_bytes want)
{
	assert_int_equal(got.n, want.n);
	assert_memory_equal(got.p, want.p, want.n);
}

static uint32_t h32(const char *label, struct hf_bytes text)
{
	struct hf_sip s;

	hf_sip_init(&s, site.hash_key, 1, 3);
	hf_sip_add(&s, hf_bytes_str(label));
	hf_sip_add(&s, text);
	return (uint32_t)(hf_sip_end(&s) >> 32);
}

static uint32_t listener(void) { return h32("listen:", HF_LIT("udp://192.0.2.1:5060")); }
static uint32_t pbx1(void) { return hf_server_hash(site.hash_key, HF_LIT("pbx"), HF_LIT("pbx1")); }

static struct sip_hf example(void)
{
	struct sip_loop l = {HF_LIT("sip:bob@example.com"), HF_NONE, CALL_ID, FROM_TAG, HF_NONE, HF_LIT("314159")};

	return (struct sip_hf){.opening = true, .boot = site.boot, .listener = listener(), .server = pbx1(), .loop = sip_loop_hash(&site, &l), .source = client};
}

/* Fails without the magic, the server or the lengths in sip_branch. */
static void branch_of_the_example(void **state)
{
	uint8_t out[SIP_BRANCH_LEN];

	(void)state;
	sip_branch(&site, HF_LIT("z9hG4bK776asdhds"), HF_LIT("192.0.2.51:5060"), pbx1(), out);
	same(hf_bytes_of(out, sizeof out), BRANCH);
}

/* Fails when any field of sip_hf_write moves or the branch is left out of the tag. */
static void via_parameter_of_the_example(void **state)
{
	uint8_t buf[SIP_HF_TEXT_MAX];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct sip_hf h = example();

	(void)state;
	sip_hf_write(&site, &h, BRANCH, &w);
	same(hf_writer_view(&w), HF);
}

/* Fails when the cookie's tag leaves out Call-ID or the opener's tag. */
static void cookie_of_the_example(void **state)
{
	uint8_t buf[SIP_COOKIE_LEN];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct sip_cookie c = {false, pbx1()};

	(void)state;
	sip_cookie_write(&site, &c, CALL_ID, FROM_TAG, &w);
	same(hf_writer_view(&w), COOKIE);
}

static void flow_token_of_the_example(void **state)
{
	uint8_t buf[SIP_FLOW_TEXT_MAX];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct sip_flow f = {.listener = listener(), .remote = client};

	(void)state;
	sip_flow_write(&site, &f, &w);
	same(hf_writer_view(&w), FLOW);
}

/* Fails when a reader takes a field from a wrong place. */
static void all_are_read_back(void **state)
{
	struct sip_hf h, e = example();
	struct sip_cookie c;
	struct sip_flow f;

	(void)state;
	assert_true(sip_hf_read(&site, HF, BRANCH, &h));
	assert_true(h.opening && h.boot == e.boot && h.listener == e.listener && h.server == e.server && h.loop == e.loop);
	assert_true(hf_addr_eq(&h.source, &client) && !h.local.family && !h.has_hold && !h.has_connection);
	assert_true(sip_cookie_read(&site, COOKIE, CALL_ID, FROM_TAG, &c));
	assert_true(c.server == pbx1() && !c.server_opened);
	assert_true(sip_flow_read(&site, FLOW, &f));
	assert_true(f.listener == listener() && hf_addr_eq(&f.remote, &client) && !f.stream);
}

static bool read_hf(struct hf_bytes t) { struct sip_hf h; return sip_hf_read(&site, t, BRANCH, &h); }
static bool read_cookie(struct hf_bytes t) { struct sip_cookie c; return sip_cookie_read(&site, t, CALL_ID, FROM_TAG, &c); }
static bool read_flow(struct hf_bytes t) { struct sip_flow f; return sip_flow_read(&site, t, &f); }

/* Every octet of the text replaced by every other one, every cut, and one octet more: refused; upper case: read. */
static void refuses_all_but(struct hf_bytes text, bool (*read)(struct hf_bytes))
{
	uint8_t t[160];

	memcpy(t, text.p, text.n);
	assert_true(read(hf_bytes_of(t, text.n)));
	for (size_t i = 0; i < text.n; i++) {
		for (unsigned c = 0; c < 256; c++) {
			t[i] = (uint8_t)c;
			assert_int_equal(read(hf_bytes_of(t, text.n)), hf_lower((uint8_t)c) == text.p[i]);
		}
		t[i] = text.p[i];
	}
	for (size_t n = 0; n < text.n; n++)
		assert_false(read(hf_bytes_of(t, n)));
	t[text.n] = '0';
	assert_false(read(hf_bytes_of(t, text.n + 1)));
	for (size_t i = 0; i < text.n; i++)
		t[i] = text.p[i] >= 'a' && text.p[i] <= 'z' ? (uint8_t)(text.p[i] - 32) : text.p[i];
	assert_true(read(hf_bytes_of(t, text.n)));
}

/* Fails when tag_holds is not asked, or compares fewer octets. */
static void a_changed_octet_is_refused(void **state)
{
	(void)state;
	refuses_all_but(HF, read_hf);
	refuses_all_but(COOKIE, read_cookie);
	refuses_all_but(FLOW, read_flow);
}

/* Fails when the tag leaves out what the form stands in. */
static void another_context_is_refused(void **state)
{
	struct sip_cookie c;
	struct sip_hf h;

	(void)state;
	assert_false(sip_hf_read(&site, HF, HF_LIT("z9hG4bKnade5nvlg79s9"), &h));
	assert_false(sip_cookie_read(&site, COOKIE, HF_LIT("a84b4c76e66710@192.0.2.52"), FROM_TAG, &c));
	assert_false(sip_cookie_read(&site, COOKIE, CALL_ID, HF_LIT("1928301775"), &c));
	assert_false(sip_cookie_read(&site, COOKIE, CALL_ID, HF_NONE, &c));
}

/* The first key signs, both verify: a rotation in two steps keeps what is out there valid. */
static void both_keys_verify_the_first_signs(void **state)
{
	struct hf_site next = site;
	struct sip_cookie c = {true, 7};
	uint8_t buf[SIP_COOKIE_LEN];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct sip_flow f;

	(void)state;
	memcpy(next.sign[0], site.sign[1], 16);
	memcpy(next.sign[1], site.sign[0], 16);
	assert_false(sip_flow_read(&next, FLOW, &f));
	next.n_sign = 2;
	assert_true(sip_flow_read(&next, FLOW, &f));
	sip_cookie_write(&next, &c, CALL_ID, FROM_TAG, &w);
	assert_false(sip_cookie_read(&site, hf_writer_view(&w), CALL_ID, FROM_TAG, &c));
	assert_true(sip_cookie_read(&next, hf_writer_view(&w), CALL_ID, FROM_TAG, &c));
	assert_true(c.server_opened && c.server == 7);
}

static bool same_name(const struct hf_flow_name *a, const struct hf_flow_name *b)
{
	return a->worker == b->worker && a->slot == b->slot && a->generation == b->generation && a->boot == b->boot;
}

/* The longest of each kind fits its stated length and comes back whole. */
static void the_longest_forms(void **state)
{
	struct hf_flow_name name = {3, 0xabcdef, 0x01020304, site.boot}, stale = {3, 0xabcdef, 0x01020304, 9};
	struct sip_hf h = {.boot = site.boot, .listener = 1, .server = 2, .loop = 3, .has_hold = true, .hold = name, .has_connection = true, .connection = name}, back;
	struct sip_flow f = {.listener = 1, .stream = true, .connection = stale}, flow;
	uint8_t buf[SIP_HF_TEXT_MAX], fbuf[SIP_FLOW_TEXT_MAX];
	struct hf_writer w = hf_writer_on(buf, sizeof buf), fw = hf_writer_on(fbuf, sizeof fbuf);

	(void)state;
	assert_int_equal(hf_addr_read(HF_LIT("[2001:db8::51]:5062"), 0, &h.source), HF_OK);
	assert_int_equal(hf_addr_read(HF_LIT("[2001:db8::1]:0"), 0, &h.local), HF_OK);
	f.remote = h.source;
	f.local = h.local;
	sip_hf_write(&site, &h, BRANCH, &w);
	assert_int_equal(w.n, SIP_HF_TEXT_MAX);
	assert_true(sip_hf_read(&site, hf_writer_view(&w), BRANCH, &back));
	assert_true(hf_addr_eq(&back.source, &h.source) && hf_addr_eq(&back.local, &h.local));
	assert_true(same_name(&back.hold, &name));
	assert_true(same_name(&back.connection, &name));
	sip_flow_write(&site, &f, &fw);
	assert_int_equal(fw.n, SIP_FLOW_TEXT_MAX);
	assert_true(sip_flow_read(&site, hf_writer_view(&fw), &flow));
	assert_true(hf_addr_eq(&flow.remote, &f.remote) && hf_addr_eq(&flow.local, &f.local));
	assert_true(same_name(&flow.connection, &stale));
}

/* Fails when a field is missing from the To tag's cover: an ACK of another transaction would be swallowed. */
static void own_to_tag(void **state)
{
	uint8_t buf[SIP_TO_TAG_LEN];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);

	(void)state;
	sip_to_tag_write(&site, CALL_ID, FROM_TAG, HF_LIT("1"), &w);
	assert_int_equal(w.n, SIP_TO_TAG_LEN);
	assert_true(sip_to_tag_read(&site, hf_writer_view(&w), CALL_ID, FROM_TAG, HF_LIT("1")));
	assert_false(sip_to_tag_read(&site, hf_writer_view(&w), CALL_ID, FROM_TAG, HF_LIT("2")));
	assert_false(sip_to_tag_read(&site, hf_writer_view(&w), CALL_ID, HF_NONE, HF_LIT("1")));
	assert_false(sip_to_tag_read(&site, hf_writer_view(&w), HF_LIT("x"), FROM_TAG, HF_LIT("1")));
	assert_false(sip_to_tag_read(&site, HF_NONE, CALL_ID, FROM_TAG, HF_LIT("1")));
	buf[8] ^= 1;
	assert_false(sip_to_tag_read(&site, hf_writer_view(&w), CALL_ID, FROM_TAG, HF_LIT("1")));
}

/* A branch of RFC 2543 depends on the whole Via, the From tag, Call-ID, CSeq number, Request-URI and server. */
static void old_branches_differ_by_every_field(void **state)
{
	const struct sip_old_via v = {HF_LIT("SIP/2.0/UDP a"), HF_LIT("f"), HF_LIT("c"), HF_LIT("1"), HF_LIT("sip:x")};
	struct sip_old_via o[5] = {v, v, v, v, v};
	uint8_t a[SIP_BRANCH_LEN], b[SIP_BRANCH_LEN];

	(void)state;
	o[0].via = HF_LIT("SIP/2.0/UDP b");
	o[1].from_tag = HF_NONE;
	o[2].call_id = HF_LIT("d");
	o[3].cseq = HF_LIT("2");
	o[4].uri = HF_LIT("sip:y");
	sip_branch_old(&site, &v, 1, a);
	assert_true(sip_branch_magic(hf_bytes_of(a, sizeof a)));
	for (int i = 0; i < 5; i++) {
		sip_branch_old(&site, &o[i], 1, b);
		assert_memory_not_equal(a, b, sizeof a);
	}
	sip_branch_old(&site, &v, 2, b);
	assert_memory_not_equal(a, b, sizeof a);
	assert_false(sip_branch_magic(HF_LIT("z9hG4bK")));
}

/* Pieces too long for one run of octets hash as the same octets: fails when the spill loses or repeats a piece. */
static void long_fields_hash_alike(void **state)
{
	static uint8_t big[1000];
	static const size_t lengths[] = {0, 300, 369, 370, 371, 384, 1000};

	(void)state;
	memset(big, 'x', sizeof big);
	for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		struct hf_bytes uri = {big, lengths[i]};
		struct sip_loop l = {uri, HF_NONE, CALL_ID, FROM_TAG, HF_NONE, HF_LIT("1")};
		struct hf_sip s;

		hf_sip_init(&s, site.hash_key, 1, 3);
		hf_sip_add(&s, HF_LIT("loop:"));
		hf_sip_lp(&s, uri);
		hf_sip_lp(&s, HF_NONE);
		hf_sip_lp(&s, CALL_ID);
		hf_sip_lp(&s, FROM_TAG);
		hf_sip_lp(&s, HF_NONE);
		hf_sip_lp(&s, HF_LIT("1"));
		assert_int_equal(sip_loop_hash(&site, &l), (uint32_t)(hf_sip_end(&s) >> 32));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branch_of_the_example), cmocka_unit_test(via_parameter_of_the_example), cmocka_unit_test(cookie_of_the_example),
		cmocka_unit_test(flow_token_of_the_example), cmocka_unit_test(all_are_read_back), cmocka_unit_test(a_changed_octet_is_refused),
		cmocka_unit_test(another_context_is_refused), cmocka_unit_test(both_keys_verify_the_first_signs), cmocka_unit_test(the_longest_forms),
		cmocka_unit_test(own_to_tag), cmocka_unit_test(old_branches_differ_by_every_field),
		cmocka_unit_test(long_fields_hash_alike),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
