/* URIs and addresses of record, from literal text.
 * Breaks when: sip_host forgets the bracket (ipv6 rows), sip_port its range (70000), sip_tail its '@' rules, uri_tail `lr`,
 * aor_user the escapes, the password or the phone separators. */
#include "sip_data.h"

#define B(x) hf_bytes_str(x)

static void same(struct hf_bytes got, const char *want, const char *text)
{
	if (want ? !got.p || !hf_bytes_eq(got, B(want)) : got.p != NULL)
		fail_msg("%s: \"%.*s\", not \"%s\"", text, (int)got.n, (const char *)got.p, want ? want : "(absent)");
}

static void good(void **state)
{
	static const struct { const char *text, *scheme, *user, *host, *params, *headers, *maddr, *transport; unsigned port; bool lr; } t[] = {
		{"sip:bob@example.com", "sip", "bob", "example.com", "", "", NULL, NULL, 0, false},
		{"SIPS:example.com:5061", "SIPS", NULL, "example.com", "", "", NULL, NULL, 5061, false},
		{"sip:bob:secret@example.com.;lr", "sip", "bob:secret", "example.com.", ";lr", "", NULL, NULL, 0, true},
		{"sip:192.0.2.1:5060;lr=on", "sip", NULL, "192.0.2.1", ";lr=on", "", NULL, NULL, 5060, true},
		{"sip:192.0.2.1;LR;Transport=tcp;maddr=192.0.2.9", "sip", NULL, "192.0.2.1", ";LR;Transport=tcp;maddr=192.0.2.9", "", "192.0.2.9", "tcp", 0, true},
		{"sip:h;transport;lrx", "sip", NULL, "h", ";transport;lrx", "", NULL, "", 0, false},
		{"sip:h;maddr=a?Replaces=a%40b", "sip", NULL, "h", ";maddr=a", "?Replaces=a%40b", "a", NULL, 0, false},
		{"sip:h?a=b@c;lr", "sip", "h?a=b", "c", ";lr", "", NULL, NULL, 0, true},
		{"sip:u@h?a=b@c", "sip", "u", "h", "", "?a=b@c", NULL, NULL, 0, false},
		{"sip:user;par=u%40example.net@example.com", "sip", "user;par=u%40example.net", "example.com", "", "", NULL, NULL, 0, false},
		{"sip:[2001:db8::10]:5070", "sip", NULL, "[2001:db8::10]", "", "", NULL, NULL, 5070, false},
		{"sip:[2001:db8::10:5070]", "sip", NULL, "[2001:db8::10:5070]", "", "", NULL, NULL, 0, false},
		{"sip:u@[2001:db8:::192.0.2.1];x=\\", "sip", "u", "[2001:db8:::192.0.2.1]", ";x=\\", "", NULL, NULL, 0, false},
		{"sip:h:0", "sip", NULL, "h", "", "", NULL, NULL, 0, false},
		{"sip:h:00005060", "sip", NULL, "h", "", "", NULL, NULL, 5060, false},
		{"tel:+1-201-555-0123;phone-context=x", "tel", "+1-201-555-0123", NULL, ";phone-context=x", "", NULL, NULL, 0, false},
		{"urn:service:sos", "urn", NULL, NULL, NULL, NULL, NULL, NULL, 0, false},
		{"soap.beep://192.0.2.103:3002", "soap.beep", NULL, NULL, NULL, NULL, NULL, NULL, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct sip_uri u;

		if (!sip_uri_read(B(t[i].text), &u))
			fail_msg("%s: refused", t[i].text);
		same(u.scheme, t[i].scheme, t[i].text);
		same(u.user, t[i].user, t[i].text);
		same(u.host, t[i].host, t[i].text);
		if (t[i].params) {
			assert_true(hf_bytes_eq(u.params, B(t[i].params)));
			assert_true(hf_bytes_eq(u.headers, B(t[i].headers)));
		}
		same(u.maddr, t[i].maddr, t[i].text);
		same(u.transport, t[i].transport, t[i].text);
		assert_int_equal(u.port, t[i].port);
		assert_int_equal(u.lr, t[i].lr);
		assert_int_equal(u.sip, t[i].scheme[0] != 't' && t[i].scheme[0] != 'u' && strlen(t[i].scheme) == 3);
		assert_int_equal(u.sips, !strcmp(t[i].scheme, "SIPS"));
	}
}

static void bad(void **state)
{
	static const char *const t[] = {"", "s", "sip", "sip:", ":x", "1sip:h", "bob@example.com", "<sip:h>", "sip:bob@", "sip:@h", "sip:h:", "sip:h:x",
		"sip:h:70000", "sip:h:65536", "sip:h:-1", "sip:h:+5", "sip:h:50a0", "sip:h:18446744073709556676", "sip:2001:db8::10", "sip:[2001:db8::1",
		"sip:[]", "sip:[fe80::1%25eth0]", "sip:[2001:db8::1]x", "sip:a@b@c", "sip:a@b;x=@c", "sip:a b@c", "sip:a@b;x y", "sip:h;a=\"b\"", "sip:h\t",
		"sip:h\x7f", "sip:h_,x", "tel:", "tel:;x", "sip:a@h%41"};
	struct sip_uri u;

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
		if (sip_uri_read(B(t[i]), &u))
			fail_msg("%s: taken", t[i]);
	assert_false(sip_uri_read(hf_bytes_of("sip:a\0b@c", 9), &u));
	assert_false(sip_uri_read(HF_NONE, &u));
	assert_true(sip_uri_read(B("sip:h:65535"), &u));
	assert_int_equal(u.port, 65535);
}

/* Every prefix ends somewhere: an octet read beyond it is seen by the address sanitizer. */
static void cut(void **state)
{
	static const char text[] = "sips:us%20er:pw@[2001:db8::1]:5061;lr=on;maddr=h;transport=tcp?a=b";
	struct hf_arena a;

	(void)state;
	for (size_t n = 0; n < sizeof text; n++) {
		uint8_t *p = malloc(n ? n : 1);
		struct sip_uri u;

		memcpy(p, text, n);
		hf_arena_init(&a, data_arena, sizeof data_arena);
		if (sip_uri_read(hf_bytes_of(p, n), &u))
			assert_non_null(sip_aor(&u, &a).p);
		free(p);
	}
}

static void param(void **state)
{
	struct hf_bytes p = HF_LIT(" ; a = 1;B=\"x;y\" ;c;d=;aa=2");

	(void)state;
	assert_true(hf_bytes_eq(sip_param(p, HF_LIT("A")), HF_LIT("1")));
	assert_true(hf_bytes_eq(sip_param(p, HF_LIT("b")), HF_LIT("\"x;y\"")));
	assert_non_null(sip_param(p, HF_LIT("c")).p);
	assert_int_equal(sip_param(p, HF_LIT("c")).n, 0);
	assert_non_null(sip_param(p, HF_LIT("d")).p);
	assert_true(hf_bytes_eq(sip_param(p, HF_LIT("aa")), HF_LIT("2")));
	assert_null(sip_param(p, HF_LIT("y")).p);
	assert_null(sip_param(HF_NONE, HF_LIT("y")).p);
	assert_null(sip_param(HF_LIT(";;y=1"), HF_LIT("y")).p); /* broken before it */
}

static void aor(void **state)
{
	static const struct { const char *text, *want; } t[] = {
		{"sip:Bob@Example.COM", "Bob@example.com"},
		{"sip:%42ob:secret@example.com:5060;x=y?h=1", "Bob@example.com"},
		{"sips:bob@example.com:5061", "bob@example.com"},
		{"sip:bob@example.com:5061", "bob@example.com:5061"},
		{"sip:bob%3asecret@example.com", "bob:secret@example.com"},
		{"sip:b%zzb%4@h", "b%zzb%4@h"},
		{"sip:b%4", NULL},
		{"sip:sips%3Auser%40example.com@example.net", "sips:user@example.com@example.net"},
		{"sip:EXAMPLE.com", "example.com"},
		{"sip:x@[2001:DB8::1]", "x@[2001:db8::1]"},
		{"tel:+1-201-555-0123", "+12015550123"},
		{"tel:+1(201)5550.123;ext=1", "+12015550123"},
		{"urn:service:sos", "urn:service:sos"},
	};
	struct hf_arena a;
	struct sip_uri u;

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		hf_arena_init(&a, data_arena, sizeof data_arena);
		if (!sip_uri_read(B(t[i].text), &u))
			assert_null(t[i].want);
		else
			same(sip_aor(&u, &a), t[i].want, t[i].text);
	}
	hf_arena_init(&a, data_arena, sizeof data_arena);
	assert_true(sip_uri_read(B("sip:null-%00-null@h"), &u));
	assert_true(hf_bytes_eq(sip_aor(&u, &a), hf_bytes_of("null-\0-null@h", 13)));
	a.fail_at = 1;
	assert_null(sip_aor(&u, &a).p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good), cmocka_unit_test(bad), cmocka_unit_test(cut), cmocka_unit_test(param), cmocka_unit_test(aor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
