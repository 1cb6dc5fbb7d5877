/* The header that tells servers where a client's request comes from: who has it, who may not, and which names it may have. */
#include "front_kit.h"

static struct kit k;
static int setup(void **state)
{
	(void)state;
	kit_init(&k);
	kit_custom(&k, "client-address-header", "X-Client-Address");
	return 0;
}
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PHONE "192.0.2.51:5060"
#define SERVER "192.0.2.101:5060"
#define TOLD "X-Client-Address: 192.0.2.51" CRLF

static unsigned times(const char *part)
{
	unsigned n = 0;

	for (const char *p = k.out; (p = strstr(p, part)); p++)
		n++;
	return n;
}

/* Once, whatever the request; an IPv6 address without brackets. Fails without sip_source_write in our_headers. */
static void told(void **state)
{
	static const char *const methods[] = {"INVITE", "ACK", "CANCEL", "REGISTER", "BYE"};

	(void)state;
	for (unsigned i = 0; i < sizeof methods / sizeof *methods; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = methods[i]}));
		assert_int_equal(times(CRLF TOLD), 1);
		assert_int_equal(times("X-Client"), 1);
	}
	kit_listener(&k, 0, "udp://[2001:db8::1]:5060", false);
	kit_feed(&k, "[2001:db8::51]:5060", kit_request((struct kit_request){.method = "INVITE"}));
	assert_int_equal(times("X-Client-Address: 2001:db8::51" CRLF), 1);
}

/* What a client writes there is gone, in each form that a header has and however often: it goes out as if it had not been said. Names that only look like
 * it stay. Fails when edit_source is not called, or cuts one line alone. */
static void forged(void **state)
{
	static const char *const forms[] = {"X-Client-Address: 10.0.0.1" CRLF, "x-client-address:10.0.0.1" CRLF, "X-CLIENT-ADDRESS \t: 10.0.0.1" CRLF, "X-Client-Address:" CRLF " 10.0.0.1" CRLF "\t,10.0.0.2" CRLF,
		"X-Client-Address:" CRLF, "X-Client-Address: 192.0.2.51" CRLF "X-Client-Address: 192.0.2.51" CRLF};
	char clean[4096], many[4000] = "";
	const char *message;

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "X-Client-Addresses: a" CRLF "Client-Address: b" CRLF}));
	assert_true(kit_says(&k, "X-Client-Addresses: a" CRLF "Client-Address: b" CRLF));
	strcpy(clean, k.out);
	for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
		char extra[300];

		snprintf(extra, sizeof extra, "X-Client-Addresses: a" CRLF "%sClient-Address: b" CRLF, forms[i]);
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = extra}));
		kit_wants(&k, clean);
		message = kit_request((struct kit_request){.method = "INVITE", .extra = "X-Client-Addresses: a" CRLF "Client-Address: b" CRLF});
		snprintf(many, sizeof many, "%.*s%s%s", (int)(strstr(message, "Via:") - message), message, forms[i], strstr(message, "Via:")); /* in front of all others */
		kit_feed(&k, PHONE, many);
		kit_wants(&k, clean);
	}
	many[0] = 0;
	for (int i = 0; i < 90; i++)
		strcat(many, i == 45 ? "X-Client-Addresses: a" CRLF "Client-Address: b" CRLF : "X-Client-Address: 10.0.0.1" CRLF);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = many}));
	kit_wants(&k, clean);
}

/* Whom a server calls is not told where the caller is; from server to server what the first one was told stays, and nothing is added. Fails when
 * sip_source_told does not look at who speaks, or sip_source_next leaves what goes outward. */
static void servers(void **state)
{
	(void)state;
	kit_feed(&k, SERVER, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@" PHONE, .extra = "X-Client-Address: 198.51.100.7" CRLF}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
	assert_int_equal(times("Client-Address"), 0);
	kit_feed(&k, SERVER, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:bob@192.0.2.1", .extra = "X-Client-Address: 198.51.100.7" CRLF}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(times("X-Client-Address: 198.51.100.7" CRLF), 1);
	assert_int_equal(times("Client-Address"), 1);
}

/* Nobody asked for it. */
static void off(void **state)
{
	(void)state;
	kit_custom(&k, "client-address-header", "off");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "X-Client-Address: 10.0.0.1" CRLF}));
	assert_int_equal(times("Client-Address"), 1);
	assert_int_equal(times("X-Client-Address: 10.0.0.1" CRLF), 1);
}

/* Names that mean something else, and no names. Fails for each that is missing in `taken`, and without the look at tokens. */
static void names(void **state)
{
	static const char *const bad[] = {"", "Via", "VIA", "v", "i", "X", "Call-ID", "Route", "record-route", "Path", "Max-Forwards", "Content-Length", "Contact", "From", "To", "CSeq", "Require",
		"P-Asserted-Identity", "X Client", "X-Client:", "X\xc3\xa4", "\"X\"", "a234567890123456789012345678901234567890123456789012345678901234x"};
	static const char *const good[] = {"off", "X-Client-Address", "X-AUTH-IP", "x_real.ip", "a23456789012345678901234567890123456789012345678901234567890123x"};
	char text[256];

	(void)state;
	for (unsigned i = 0; i < sizeof bad / sizeof *bad + sizeof good / sizeof *good; i++) {
		bool is_good = i >= sizeof bad / sizeof *bad;
		const char *name = is_good ? good[i - sizeof bad / sizeof *bad] : bad[i];
		struct hf_writer why = hf_writer_on(text, sizeof text);
		struct hf_bytes field;

		if ((sip_source_header_read(hf_bytes_str(name), &field, &why) == HF_OK) != is_good)
			fail_msg("\"%s\" is %s", name, is_good ? "refused" : "taken");
		assert_true(is_good || (why.n && !why.full));
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {T(told), T(forged), T(servers), T(off), T(names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
