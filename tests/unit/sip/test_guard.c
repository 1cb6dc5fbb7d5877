/* Whom limits pass over, and whom nobody wants. */
#include "front_kit.h"

static struct kit k;
static int setup(void **state) { (void)state; kit_init(&k); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PHONE "192.0.2.51:5060"

/* Emergency calls in the forms that phones write them, and what only looks like one. Fails when called() leaves a password, parameters or separators,
 * or is_under() takes what merely begins so. */
static void urgent(void **state)
{
	static const struct { const char *uri; bool urgent; } rows[] = {
		{"urn:service:sos", true}, {"URN:Service:SOS.police", true}, {"urn:service:sosx", false}, {"urn:service:counseling", false},
		{"sip:112@example.com", true}, {"sips:911@example.com", false /* 416 */}, {"sip:112:pw@example.com;user=phone", true}, {"sip:112;phone-context=+49@example.com", true},
		{"sip:%3112@example.com", true}, {"tel:1-1-2", true}, {"tel:112;phone-context=+49", true}, {"sip:1120@example.com", false}, {"sip:+112@example.com", false},
		{"sip:x112@example.com", false}, {"sip:112.example.com", false}, {"sip:example.com", false}, {"tel:0112", false}};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = rows[i].uri}));
		if (strncmp(rows[i].uri, "sips:", 5) == 0)
			continue;
		assert_int_equal(k.n_asked, 1);
		if (k.ask.urgent != rows[i].urgent)
			fail_msg("%s", rows[i].uri);
	}
}

/* Words of the operator's, and other requests. Who names a dialog is no emergency: anybody can. Fails when the list is not read, or refs are a reason. */
static void who_else(void **state)
{
	(void)state;
	kit_custom(&k, "priority-uri", "sip:dispatch@example.com 0118999");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:112@example.com"}));
	assert_false(k.ask.urgent);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:dispatch@example.com;user=phone"}));
	assert_true(k.ask.urgent);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:dispatch@example.community"}));
	assert_false(k.ask.urgent);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:0118999@example.com"}));
	assert_true(k.ask.urgent);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "MESSAGE", .uri = "sip:0118999@example.com"}));
	assert_false(k.ask.urgent);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .to_tag = "b1", .uri = "sip:0118999@example.com"}));
	assert_false(k.ask.urgent);
	kit_custom(&k, "key", "from-user");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "Replaces: cy;to-tag=1;from-tag=2" CRLF}));
	assert_true(k.ask.refs[0].fp && !k.ask.urgent && !k.ask.at_home);
	kit_custom(&k, "priority-uri", "off");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .uri = "urn:service:sos"}));
	assert_false(k.ask.urgent);
}

/* More new calls than may be opened: 503 with Retry-After, and its own reason. */
static void refused(void **state)
{
	(void)state;
	kit_choose(&k, NULL, NULL);
	k.chosen.none = HF_R_CALL_RATE;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	assert_int_equal(strncmp(k.out, "SIP/2.0 503 ", 12), 0);
	assert_true(kit_says(&k, "Retry-After: "));
	assert_int_equal(k.reason, HF_R_CALL_RATE);
}

/* Dropped without an answer, whatever else is wrong with it; a server's is not, nor who only mentions it. Fails without sip_is_scanner in sip_check. */
static void scanners(void **state)
{
	static const struct { const char *agent; bool dropped; } rows[] = {
		{"friendly-scanner", true}, {"Friendly-Scanner/1.8", true}, {"sipcli/v1.8", true}, {"SIPVicious", true}, {"  sipcli", true}, {"friendly-phone", false},
		{"not sipcli", false}, {"sipcl", false}, {"", false}};
	char line[200];

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(line, sizeof line, "USER-AGENT: %s" CRLF, rows[i].agent);
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "OPTIONS", .extra = line}));
		assert_int_equal(k.n_asked, !rows[i].dropped);
		assert_int_equal(k.n_sent, !rows[i].dropped);
		if (rows[i].dropped)
			assert_int_equal(k.reason, SIP_R_SCANNER);
	}
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .cseq = "x", .extra = "User-Agent: sipcli" CRLF}));
	assert_int_equal(k.n_sent, 0);
	assert_int_equal(k.reason, SIP_R_SCANNER);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "User-Agent:" CRLF " sipcli" CRLF}));
	assert_int_equal(k.reason, SIP_R_SCANNER);
	kit_custom(&k, "deny-user-agent", "off");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "User-Agent: sipcli" CRLF}));
	assert_int_equal(k.n_sent, 1);
}

static bool vouched(const char *text)
{
	struct hf_event ev = {.kind = HF_EV_BYTES, .bytes = hf_bytes_str(text), .listener = k.at, .source = kit_addr(PHONE), .local = k.at->addr};

	hf_arena_reset(&k.arena);
	k.ctx.parcel = NULL;
	return hf_sip_front.vouches(&k.ctx, &ev);
}

/* What we signed is vouched for: a request with the cookie of its own dialog, a response with our Via; not a copy of either in another's. */
static void signed_by_us(void **state)
{
	char route[200], answer[4096];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	assert_false(vouched(kit_request((struct kit_request){.method = "INVITE"})));
	kit_route(&k, route, sizeof route);
	snprintf(answer, sizeof answer, "%s", kit_answer(&k, "200 OK", "b1", NULL));
	assert_true(vouched(answer));
	assert_true(vouched(kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .cseq = "2", .extra = route})));
	assert_false(vouched(kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .cseq = "2", .call_id = "c2", .extra = route})));
	assert_false(vouched(kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .extra = "Subject: hfd-;hf=" CRLF})));
	*(strstr(answer, ";hf=") + 9) ^= 1;
	assert_false(vouched(answer));
	assert_false(vouched("") || vouched(CRLF) || vouched("SIP/2.0 200 OK" CRLF ";hf=") || vouched("hfd-"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {T(urgent), T(who_else), T(refused), T(scanners), T(signed_by_us)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
