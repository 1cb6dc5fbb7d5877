/* Probes through the door, and the option readers. */
#include "front_kit.h"

static struct kit k;
static struct hf_probe probe;
static char sent[2048];

static int setup(void **state)
{
	struct hf_writer w = hf_writer_on(sent, sizeof sent - 1);

	(void)state;
	kit_init(&k);
	probe = (struct hf_probe){.server = kit_server(&k, "pbx1"), .name = HF_LIT("pbx1"), .addr = kit_addr("192.0.2.101:5060"), .local = kit_addr("192.0.2.1:40000"), .id = 7};
	assert_true(hf_sip_front.probe_write(&k.ctx, &probe, &w));
	sent[w.n] = 0;
	return 0;
}
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

/* Fails when libosip2 leaves out or adds a field. */
static void the_request(void **state)
{
	struct sip_msg m;
	const struct sip_limits limits = k.conf.limits;

	(void)state;
	assert_int_equal(sip_scan(hf_bytes_str(sent), false, &limits, &k.arena, &m), SIP_GOOD);
	assert_int_equal(m.method_id, SIP_OPTIONS);
	assert_int_equal(m.max_forwards, 70);
	assert_true(hf_bytes_eq(m.uri.text, HF_LIT("sip:192.0.2.101:5060")));
	assert_true(hf_bytes_eq(m.via[0].sent_by, HF_LIT("192.0.2.1:40000")) && m.via[0].rport);
	assert_int_equal(m.via[0].branch.n, SIP_BRANCH_LEN);
	assert_true(m.from_tag.p && !m.to_tag.p && m.n_vias == 1 && m.has_content_length);
}

/* Another method from another user. Fails when the CSeq keeps its method, or From our own name. */
static void what_it_says(void **state)
{
	static const struct { const char *from, *want; } rows[] = {
		{"monitor", "<sip:monitor@192.0.2.1:40000>;tag="}, {"sip:ping@example.com", "<sip:ping@example.com>;tag="},
		{"sip:192.0.2.9:5070;transport=udp", "<sip:192.0.2.9:5070;transport=udp>;tag="}};

	(void)state;
	kit_custom(&k, "probe-method", "INFO");
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hf_writer w = hf_writer_on(sent, sizeof sent - 1);
		struct sip_msg m;

		kit_custom(&k, "probe-from", rows[i].from);
		assert_true(hf_sip_front.probe_write(&k.ctx, &probe, &w));
		sent[w.n] = 0;
		assert_int_equal(sip_scan(hf_bytes_str(sent), false, &k.conf.limits, &k.arena, &m), SIP_GOOD);
		assert_int_equal(m.method_id, SIP_INFO);
		assert_true(hf_bytes_starts(m.from, hf_bytes_str(rows[i].want)));
	}
}

static enum hf_probe_result answer(const char *status, const char *extra, uint32_t *busy_ms)
{
	char text[2048];
	const char *via = strstr(sent, "Via: ");

	snprintf(text, sizeof text, "SIP/2.0 %s" CRLF "%.*s" CRLF "From: <sip:h@gw>;tag=1" CRLF "To: <sip:pbx>;tag=2" CRLF "Call-ID: z" CRLF "CSeq: 1 OPTIONS" CRLF "%sContent-Length: 0" CRLF CRLF,
		 status, (int)(strstr(via, CRLF) - via), via, extra);
	return hf_sip_front.probe_read(&k.ctx, &probe, hf_bytes_str(text), busy_ms);
}

/* 408 comes from a proxy in between and is no sign of life; 503 asks for rest (B104). */
static void the_answers(void **state)
{
	static const struct { const char *status; enum hf_probe_result r; } rows[] = {
		{"100 Trying", HF_PROBE_MORE}, {"200 OK", HF_PROBE_OK}, {"302 Moved", HF_PROBE_OK}, {"404 Not Found", HF_PROBE_OK}, {"407 x", HF_PROBE_OK},
		{"408 Request Timeout", HF_PROBE_FAILED}, {"486 Busy", HF_PROBE_OK}, {"500 x", HF_PROBE_FAILED}, {"503 x", HF_PROBE_BUSY}, {"603 x", HF_PROBE_FAILED},
	};
	uint32_t ms = 5;

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(answer(rows[i].status, "", &ms), rows[i].r);
	assert_int_equal(ms, 5);
	assert_int_equal(answer("503 x", "Retry-After: 18000;duration=60" CRLF, &ms), HF_PROBE_BUSY);
	assert_int_equal(ms, 3600000);
	assert_int_equal(answer("503 x", "Retry-After: 30" CRLF, &ms), HF_PROBE_BUSY);
	assert_int_equal(ms, 30000);
}

/* An answer is known by our branch, whoever sends it: another probe's, another start's and noise are not it (B101). */
static void only_our_branch(void **state)
{
	uint32_t ms = 0;
	char big[5000];

	(void)state;
	probe.id++;
	assert_int_equal(answer("200 OK", "", &ms), HF_PROBE_NOT_MINE);
	probe.id--;
	k.site.boot++;
	assert_int_equal(answer("200 OK", "", &ms), HF_PROBE_NOT_MINE);
	k.site.boot--;
	assert_int_equal(hf_sip_front.probe_read(&k.ctx, &probe, hf_bytes_str(sent), &ms), HF_PROBE_NOT_MINE);
	assert_int_equal(hf_sip_front.probe_read(&k.ctx, &probe, HF_NONE, &ms), HF_PROBE_NOT_MINE);
	assert_int_equal(hf_sip_front.probe_read(&k.ctx, &probe, HF_LIT("SIP/2.0 200\0OK\r\n\r\n"), &ms), HF_PROBE_NOT_MINE);
	memset(big, ';', sizeof big);
	assert_int_equal(hf_sip_front.probe_read(&k.ctx, &probe, hf_bytes_of(big, sizeof big), &ms), HF_PROBE_NOT_MINE);
	assert_int_equal(hf_sip_front.probe_read(&k.ctx, &probe, hf_bytes_of(big, 100), &ms), HF_PROBE_NOT_MINE);
	assert_int_equal(answer("200 OK", "", &ms), HF_PROBE_OK);
}

/* Over a stream: what comes before the answer is passed over, and nothing is judged before it is whole. Fails when the framing goes. */
static void over_a_stream(void **state)
{
	char text[4096], branch[128];
	const char *via;
	uint32_t ms = 0;
	size_t n, first;
	struct hf_writer w = hf_writer_on(sent, sizeof sent - 1);

	(void)state;
	probe.transport = HF_TCP;
	assert_true(hf_sip_front.probe_write(&k.ctx, &probe, &w));
	sent[w.n] = 0;
	via = strstr(sent, "Via: ");
	assert_int_equal(strncmp(via, "Via: SIP/2.0/TCP 192.0.2.1:40000;branch=z9hG4bK", 47), 0);
	snprintf(branch, sizeof branch, "%.*s", (int)(strstr(via, CRLF) - via), via);
#define REST "From: <sip:h@gw>;tag=1" CRLF "To: <sip:pbx>;tag=2" CRLF "Call-ID: z" CRLF "CSeq: 1 OPTIONS" CRLF
	first = (size_t)snprintf(text, sizeof text, CRLF "OPTIONS sip:h@gw SIP/2.0" CRLF "Via: SIP/2.0/TCP a;branch=z9hG4bKz" CRLF REST "l: 3" CRLF CRLF "SIP" "SIP/2.0 100 Trying" CRLF "%s" CRLF REST "l: 0" CRLF CRLF, branch);
	n = first + (size_t)snprintf(text + first, sizeof text - first, "SIP/2.0 200 OK" CRLF "%s" CRLF REST "Content-Length: 5" CRLF CRLF "body\n", branch);
	for (size_t i = 0; i < n; i++) {
		hf_arena_reset(&k.arena);
		assert_int_equal(hf_sip_front.probe_read(&k.ctx, &probe, hf_bytes_of(text, i), &ms), HF_PROBE_MORE);
	}
	assert_int_equal(hf_sip_front.probe_read(&k.ctx, &probe, hf_bytes_of(text, n), &ms), HF_PROBE_OK);
	memcpy(text + first, "SIP/2.0 503", 11);
	assert_int_equal(hf_sip_front.probe_read(&k.ctx, &probe, hf_bytes_of(text, n), &ms), HF_PROBE_BUSY);
	assert_int_equal(answer("200 OK", "l: 0" CRLF, &ms), HF_PROBE_FAILED); /* two lengths */
	assert_int_equal(hf_sip_front.probe_read(&k.ctx, &probe, HF_LIT("HTTP/1.1 400 Bad Request\r\n\r\n"), &ms), HF_PROBE_FAILED);
}

/* Every cut of an answer, and each octet changed: no crash, and never well unless our branch stands in it. */
static void cut_and_changed_answers(void **state)
{
	char text[1024];
	const char *via = strstr(sent, "Via: ");
	uint32_t ms;
	int n = snprintf(text, sizeof text, "SIP/2.0 200 OK" CRLF "%.*s" CRLF "From: <sip:h@gw>;tag=1" CRLF "To: <sip:pbx>;tag=2" CRLF "Call-ID: z" CRLF "CSeq: 1 OPTIONS" CRLF CRLF, (int)(strstr(via, CRLF) - via), via);

	(void)state;
	for (int i = 0; i < n; i++) {
		hf_sip_front.probe_read(&k.ctx, &probe, hf_bytes_of(text, (size_t)i), &ms);
		for (unsigned c = 1; c < 256; c += 7) {
			char kept = text[i];

			text[i] = (char)c;
			hf_sip_front.probe_read(&k.ctx, &probe, hf_bytes_of(text, (size_t)n), &ms);
			text[i] = kept;
		}
	}
}

static enum hf_err reads(const char *option, const char *text, char said[256])
{
	struct sip_conf conf;
	struct hf_writer why = hf_writer_on(said, 255);
	enum hf_err e = HF_ENOENT;

	for (unsigned i = 0; i < hf_sip_front.n_options; i++)
		if (strcmp(hf_sip_front.options[i].name, option) == 0)
			e = hf_sip_front.options[i].read(hf_bytes_str(text), (char *)&conf + hf_sip_front.options[i].offset, &why);
	said[why.n] = 0;
	return e;
}

static void option_texts(void **state)
{
	char said[256];

	(void)state;
	assert_int_equal(reads("probe-codes", "200-299 404", said), HF_OK);
	assert_int_equal(reads("probe-codes", "100-299", said), HF_EINVAL);
	assert_int_equal(reads("probe-codes", "299-200", said), HF_EINVAL);
	assert_int_equal(reads("probe-codes", "2xx", said), HF_EINVAL);
	assert_int_equal(reads("probe-codes", "", said), HF_EINVAL);
	assert_int_equal(reads("probe-codes", "1 2 3", said), HF_EINVAL);
	assert_string_equal(said, "\"1\" is no status code or range such as 200-299");
}

/* What would begin a call, or break a header, is no probe. Fails when a reader takes all it is given. */
static void probe_texts(void **state)
{
	static const struct { const char *option, *text; bool good; } rows[] = {
		{"probe-method", "OPTIONS", true}, {"probe-method", "X-PING", true}, {"probe-method", "INVITE", false}, {"probe-method", "ACK", false},
		{"probe-method", "CANCEL", false}, {"probe-method", "options", false}, {"probe-method", "A B", false}, {"probe-method", "", false},
		{"probe-method", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG", false}, {"probe-from", "sip:a@example.com", true}, {"probe-from", "a.b+c", true},
		{"probe-from", "sip:[2001:db8::1]:5060", true}, {"probe-from", "a b", false}, {"probe-from", "a>b", false}, {"probe-from", "sip:a@example.com?x=y", false},
		{"probe-from", "tel:112", false}, {"probe-from", "a@b", false}, {"probe-from", "sip:", false}, {"probe-from", "\"a\"", false}, {"probe-from", "", false}};
	char said[256], line[300] = "sip:a@";

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		if ((reads(rows[i].option, rows[i].text, said) == HF_OK) != rows[i].good)
			fail_msg("%s = %s: %s", rows[i].option, rows[i].text, said);
	memset(line + 6, 'b', 123);
	assert_int_equal(reads("probe-from", line, said), HF_EINVAL);
	line[128] = 0;
	assert_int_equal(reads("probe-from", line, said), HF_OK);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {T(the_request), T(the_answers), T(only_our_branch), T(cut_and_changed_answers), T(over_a_stream), T(what_it_says), T(option_texts), T(probe_texts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
