/* Every cut of whole messages, as datagram and on a stream; streams of several messages; an arena that fails at each step.
 * Each piece lies alone in memory of its length, so that the address sanitizer sees any octet read beyond it.
 * Breaks when: frame() or head_complete() count wrongly, the "no empty line" fault goes, or a full arena is not noticed. */
#include "sip_data.h"

#define HEAD "Via: SIP/2.0/TCP h;branch=z9hG4bK-1, SIP/2.0/UDP i\r\nFrom: \"A \\\"\" <sip:a@h>;tag=f\r\nTo: <sip:b@[::1]>\r\nCall-ID: c@h\r\n"
#define FOLDS "v:\r\n SIP/2.0/TCP\r\n h : 5 ;\r\n branch=x,\r\n SIP/2.0/UDP i\r\nf:\r\n <sip:a@h>\r\n ;tag=f\r\nt:\r\n <sip:b@h>\r\ni:\r\n c\r\nCSeq: 1\r\n INVITE\r\n" \
	"Route: <sip:a>,\r\n <sip:b>\r\nRoute: <sip:c>\r\nProxy-Require: a\r\nProxy-Require:\r\n b,\r\n c\r\nReplaces: a;\r\n x=y\r\nr: a\r\n ;b\r\nm: \"a\r\n b\" <sip:a\r\n >\r\n" \
	"Event: a\r\n ;b\r\nJoin: a\r\n ;b\r\nTarget-Dialog: a\r\n ;b\r\nSubscription-State: a\r\n ;b\r\n"

static const char *const messages[] = {
	"INVITE sip:b@h;x=y SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\nRoute: <sip:a;lr>, <sip:b>\r\nContact: <sip:a@h>;expires=5\r\nContent-Length: 8\r\n\r\na\r\n\r\nb\r\n",
	"SIP/2.0 200 OK\r\n" HEAD "CSeq: 1 INVITE\r\nl:0\r\n\r\n",
	"INVITE sip:b@h SIP/2.0\r\n" FOLDS "l:\r\n 2\r\n\r\nxy",
	"\r\n\r\nOPTIONS tel:1;x SIP/2.0\r\nl: 1\r\n" HEAD "CSeq: 1 OPTIONS\r\n\r\n\n",
};

/* A copy with nothing behind it. */
static struct hf_bytes alone(const void *p, size_t n)
{
	uint8_t *q = malloc(n ? n : 1);

	assert_non_null(q);
	memcpy(q, p, n);
	return hf_bytes_of(q, n);
}

static void datagrams(void **state)
{
	struct sip_msg m;

	(void)state;
	for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
		struct hf_bytes whole = hf_bytes_str(messages[i]);

		for (size_t n = 0; n <= whole.n; n++) {
			struct hf_bytes part = alone(whole.p, n);
			enum sip_fault f = data_scan(part, false, &wide_limits, &m);

			if ((f == SIP_GOOD) != (n == whole.n) || f == SIP_INCOMPLETE || f == SIP_NO_LENGTH)
				fail_msg("message %zu cut at %zu: %d", i, n, f);
			free((void *)part.p);
		}
	}
}

static void streams(void **state)
{
	struct sip_msg m;

	(void)state;
	for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
		struct hf_bytes whole = hf_bytes_str(messages[i]);
		size_t head = (size_t)(strstr(strstr(messages[i], "SIP/2.0"), "\r\n\r\n") - messages[i]) + 4;

		for (size_t n = 0; n < whole.n; n++) {
			struct hf_bytes part = alone(whole.p, n);

			assert_int_equal(data_scan(part, true, &wide_limits, &m), SIP_INCOMPLETE);
			assert_int_equal(m.need, n < head ? 0 : whole.n);
			free((void *)part.p);
		}
		assert_int_equal(data_scan(whole, true, &wide_limits, &m), SIP_GOOD);
		assert_int_equal(m.used, whole.n);
		assert_true(m.framed);
	}
}

/* All messages in one run of octets: each is found where the one before it ends. */
static void pipeline(void **state)
{
	static uint8_t all[8192];
	struct hf_writer w = hf_writer_on(all, sizeof all);
	struct hf_bytes rest;
	struct sip_msg m;

	(void)state;
	for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++)
		hf_w_str(&w, messages[i]);
	hf_w_str(&w, "\r\n\r\n\r");
	rest = hf_writer_view(&w);
	for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
		assert_int_equal(data_scan(rest, true, &wide_limits, &m), SIP_GOOD);
		assert_int_equal(m.used, strlen(messages[i]));
		rest = hf_bytes_sub(rest, m.used, rest.n);
	}
	assert_int_equal(data_scan(rest, true, &wide_limits, &m), SIP_INCOMPLETE);
	assert_int_equal(m.used, 4);
}

/* Faults of framing end the connection, other faults leave it usable. */
static void framing(void **state)
{
	static const struct { const char *text; enum sip_fault fault; bool framed; size_t left; } t[] = {
		{"INVITE sip:b@h SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\n\r\n", SIP_NO_LENGTH, false, 0},
		{"INVITE sip:b@h SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\nl: -1\r\n\r\n", SIP_BAD, false, 0},
		{"INVITE sip:b@h SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\nl: 0\r\nl: 0\r\n\r\n", SIP_BAD, false, 0},
		{"INVITE sip:b@h SIP/2.0\r\n" HEAD "CSeq: 1 INVITE\r\nl: 65535\r\n\r\n", SIP_TOO_LONG, false, 0},
		{"INVITE sip:b@h SIP/2.0\r\n" HEAD "CSeq: 1 BYE\r\nl: 1\r\n\r\nxy", SIP_BAD, true, 1},
		{"INVITE sip:b@h SIP/3.0\r\n" HEAD "CSeq: 1 INVITE\r\nl: 1\r\n\r\nxy", SIP_VERSION, true, 1},
		{"INVITE sip:b@h SIP/2.0\r\n" HEAD "CSeq: 1 BYE\r\nl: 9\r\n\r\nxy", SIP_INCOMPLETE, false, 0},
		{"INVITE sip:b@h SIP/2.0\r\n" HEAD "CSeq: 1 BYE\r\n\r\nxy", SIP_BAD, false, 2},
		{"GET / HTTP/1.1\r\n\r\n", SIP_GARBAGE, false, 0},
		{"\x16\x03\x01", SIP_GARBAGE, false, 3},
		{"rtpmap:0 PCMU/8000\r\n", SIP_INCOMPLETE, false, 0}, /* may still become a header that is refused */
	};
	struct sip_msg m;

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct hf_bytes raw = hf_bytes_str(t[i].text);

		if (data_scan(raw, true, &usual_limits, &m) != t[i].fault || m.framed != t[i].framed)
			fail_msg("row %zu: %d (%s), framed %d", i, m.fault, m.why ? m.why : "", m.framed);
		if (m.fault != SIP_INCOMPLETE && m.fault != SIP_GARBAGE)
			assert_int_equal(raw.n - m.used, t[i].left);
	}
}

/* A head without end is refused when it is longer than any message may be. */
static void endless(void **state)
{
	static uint8_t raw[65536];
	struct sip_msg m;

	(void)state;
	memset(raw, 'a', sizeof raw);
	assert_int_equal(data_scan(hf_bytes_of(raw, 65535), true, &usual_limits, &m), SIP_INCOMPLETE);
	assert_int_equal(data_scan(hf_bytes_of(raw, 65536), true, &usual_limits, &m), SIP_TOO_LONG);
	assert_false(m.framed || m.answerable);
}

static void starved(void **state)
{
	struct hf_bytes raw = hf_bytes_str(messages[2]);
	struct hf_arena a;
	struct sip_msg m;
	long n = 0;

	(void)state;
	do {
		hf_arena_init(&a, data_arena, sizeof data_arena);
		a.fail_at = ++n;
		sip_scan(raw, false, &usual_limits, &a, &m);
		if (a.fail_at == 0 && m.fault != SIP_TOO_LONG)
			fail_msg("allocation %ld: %d", n, m.fault);
	} while (a.fail_at == 0);
	assert_int_equal(m.fault, SIP_GOOD);
	assert_true(n > 12); /* each of the folded values */
	for (size_t cap = 0; cap < 1024; cap++) {
		uint8_t *p = malloc(cap ? cap : 1);

		hf_arena_init(&a, p, cap);
		sip_scan(raw, false, &usual_limits, &a, &m);
		assert_true(m.fault == SIP_TOO_LONG || m.fault == SIP_GOOD);
		free(p);
	}
	assert_int_equal(m.fault, SIP_GOOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams), cmocka_unit_test(streams), cmocka_unit_test(pipeline), cmocka_unit_test(framing),
		cmocka_unit_test(endless), cmocka_unit_test(starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
