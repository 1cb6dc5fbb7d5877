/* WebSocket (net/ws_open.c, ws_frame.c, ws_key.c): octets as RFC 6455 writes them, every cut, and what must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "ws.h"

#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define FIRST "GET /calls HTTP/1.1\r\n"
#define REST "Host: 192.0.2.1:8080\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
#define PROTOCOL "Sec-WebSocket-Protocol: chat, talk\r\n"
#define GOOD FIRST REST KEY PROTOCOL

static uint8_t answer[WS_ANSWER_MAX];
static struct hf_writer out;
static size_t used;

static enum ws_opening opening(const char *text, size_t n, const char *origins)
{
	const struct ws_policy p = {.protocol = "talk", .origins = hf_bytes_str(origins)};

	out = hf_writer_on(answer, sizeof answer);
	used = 0;
	return ws_open(hf_bytes_of(text, n), &p, &used, &out);
}

static void says(const char *text)
{
	assert_int_equal(out.n, strlen(text));
	assert_memory_equal(answer, text, out.n);
}

/* The example of RFC 6455 1.3. Fails when an octet of the key, of the text behind it or of the hash is another. */
static void the_example(void **state)
{
	uint8_t accepted[WS_ACCEPT_LEN];

	(void)state;
	ws_accept((const uint8_t *)"dGhlIHNhbXBsZSBub25jZQ==", accepted);
	assert_memory_equal(accepted, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", WS_ACCEPT_LEN);
}

/* Fails when a cut head is answered, or when more than the head is taken. */
static void opened_and_cut(void **state)
{
	static const char whole[] = GOOD "\r\n\x81\x80" "abcd";
	size_t n = sizeof GOOD "\r\n" - 1;

	(void)state;
	for (size_t cut = 0; cut < n; cut++) {
		assert_int_equal(opening(whole, cut, ""), WS_HEAD_MORE);
		assert_int_equal(out.n, 0);
	}
	assert_int_equal(opening(whole, sizeof whole - 1, ""), WS_HEAD_GOOD);
	assert_int_equal(used, n);
	says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
	     "Sec-WebSocket-Protocol: talk\r\n\r\n");
}

/* Each row fails when its check is taken out. */
static void heads_refused(void **state)
{
	static const struct { const char *text, *status; } rows[] = {
		{"\x16\x03\x01", "400"},
		{"POST /calls HTTP/1.1\r\n" REST KEY PROTOCOL "\r\n", "405"},
		{"GET /calls HTTP/1.0\r\n" REST KEY PROTOCOL "\r\n", "400"},
		{"GET  HTTP/1.1\r\n" REST KEY PROTOCOL "\r\n", "400"},
		{"GET /calls HTTP/1.1 \r\n" REST KEY PROTOCOL "\r\n", "400"},
		{"GET /calls HTTP/1.1\r\nHost: a\r\n\r\n", "426"},
		{FIRST "Host: a\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" KEY PROTOCOL "\r\n", "426"},
		{FIRST "Host: a\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" KEY PROTOCOL "\r\n", "426"},
		{FIRST "Host: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n" KEY PROTOCOL "\r\n", "426"},
		{GOOD "Sec-WebSocket-Version: 13\r\n\r\n", "426"},
		{GOOD "Host: b\r\n\r\n", "400"},
		{FIRST "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" KEY PROTOCOL "\r\n", "400"},
		{FIRST REST PROTOCOL "\r\n", "400"},
		{GOOD KEY "\r\n", "400"},
		{FIRST REST PROTOCOL "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n\r\n", "400"},
		{FIRST REST PROTOCOL "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n\r\n", "400"},
		{FIRST REST PROTOCOL "Sec-WebSocket-Key: dGhlIHNhbXBsZ-Bub25jZQ==\r\n\r\n", "400"},
		{FIRST REST KEY "\r\n", "400"},
		{FIRST REST KEY "Sec-WebSocket-Protocol: talk2, tal\r\n\r\n", "400"},
		{GOOD "Content-Length: 5\r\n\r\n", "400"},
		{GOOD "Transfer-Encoding: chunked\r\n\r\n", "400"},
		{GOOD " folded\r\n\r\n", "400"},
		{GOOD "Bad Name: 1\r\n\r\n", "400"},
		{GOOD "X: a\rb\r\n\r\n", "400"},
		{GOOD "X: a\nb\r\n\r\n", "400"},
		{GOOD "X: a\x7f" "b\r\n\r\n", "400"},
		{GOOD "Origin: https://pages.example.net\r\n\r\n", "403"},
		{GOOD "Origin: https://pages.example.com\r\nOrigin: https://pages.example.com\r\n\r\n", "403"},
	};
	static const char chunk[] = "x";

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		char want[32];

		if (opening(rows[i].text, strlen(rows[i].text), "https://pages.example.com https://b.example.com:8443") != WS_HEAD_BAD)
			fail_msg("taken: %s", rows[i].text);
		snprintf(want, sizeof want, "HTTP/1.1 %s ", rows[i].status);
		if (memcmp(answer, want, strlen(want)) != 0)
			fail_msg("%.*s: %s", (int)out.n, (const char *)answer, rows[i].text);
		assert_false(out.full);
		assert_non_null(memmem(answer, out.n, "\r\n\r\n", 4));
	}
	assert_int_equal(opening(chunk, 0, ""), WS_HEAD_MORE);
}

/* A NUL is one octet too many for a C string above. */
static void odd_heads(void **state)
{
	static const char nul[] = GOOD "X: a\0b\r\n\r\n", body[] = GOOD "Content-Length: 0\r\n\r\n", page[] = GOOD "origin:\thttps://PAGES.example.com \r\n\r\n";
	static char longest[WS_HEAD_MAX + 4];

	(void)state;
	assert_int_equal(opening(nul, sizeof nul - 1, ""), WS_HEAD_BAD);
	assert_int_equal(opening(body, sizeof body - 1, ""), WS_HEAD_GOOD);
	assert_int_equal(opening(page, sizeof page - 1, "https://b.example.com https://pages.example.com"), WS_HEAD_GOOD);
	assert_int_equal(opening(GOOD "\r\n", sizeof GOOD + 1, "https://pages.example.com"), WS_HEAD_GOOD); /* no browser */
	memset(longest, 'x', sizeof longest);
	memcpy(longest, GOOD, sizeof GOOD - 1);
	assert_int_equal(opening(longest, WS_HEAD_MAX - 1, ""), WS_HEAD_MORE);
	assert_int_equal(opening(longest, WS_HEAD_MAX, ""), WS_HEAD_BAD);
	assert_memory_equal(answer, "HTTP/1.1 431 ", 13);
	memcpy(longest + WS_HEAD_MAX - 3, "\r\n\r\n", 4); /* its last octet is one too many */
	assert_int_equal(opening(longest, sizeof longest, ""), WS_HEAD_BAD);
}

/* ---- frames ---- */

#define MASK "\x37\xfa\x21\x3d"
#define HELLO "\x7f\x9f\x4d\x51\x58" /* "Hello" under that mask: RFC 6455 5.7 */

static uint8_t buf[80000];
static struct ws ws;
static struct ws_in in;

static enum ws_got frames(const void *p, size_t n, size_t max)
{
	ws = (struct ws){0};
	memcpy(buf, p, n);
	return ws_take(&ws, buf, n, max, &in);
}

/* Octet by octet, as a connection brings them: what it comes to, and how much had come then. */
static enum ws_got drip(const void *p, size_t n, size_t max, size_t *came)
{
	size_t have = 0;
	enum ws_got got = WS_GOT_MORE;

	ws = (struct ws){0};
	for (*came = 0; *came < n && got == WS_GOT_MORE; ) {
		buf[have++] = ((const uint8_t *)p)[(*came)++];
		got = ws_take(&ws, buf, have, max, &in);
		if (got == WS_GOT_MORE) {
			assert_true(in.left <= have && in.need > in.left);
			have = in.left;
		}
	}
	return got;
}

/* Whole, in fragments, with control frames between them. Fails when a fragment is not joined, a ping is lost or is taken for a part. */
static void messages(void **state)
{
	static const struct { const char *p; size_t n; bool text, ping; } rows[] = {
		{"\x81\x85" MASK HELLO, 11, true, false},
		{"\x82\x85" MASK HELLO, 11, false, false},
		{"\x01\x83" MASK "\x7f\x9f\x4d" "\x80\x82\x51\x58\0\0" "=7", 17, true, false},
		{"\x02\x80" MASK "\x89\x82" MASK "\x5f\x93" "\0\x80" MASK "\x80\x85" MASK HELLO, 31, false, true},
		{"\x8a\x80" MASK "\x89\x80" MASK "\x89\x82" MASK "\x5f\x93" "\x81\x80" MASK "\x82\x85" MASK HELLO, 37, false, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t came;

		memcpy(buf + rows[i].n, "\x81", 1);
		assert_int_equal(frames(rows[i].p, rows[i].n, 5), WS_GOT_MESSAGE);
		assert_int_equal(in.size, 5);
		assert_int_equal(in.used, rows[i].n);
		assert_memory_equal(buf, "Hello", 5);
		assert_int_equal(ws.text, rows[i].text);
		assert_int_equal(in.ping, rows[i].ping);
		if (in.ping) {
			assert_int_equal(in.n_echo, 2);
			assert_memory_equal(in.echo, "hi", 2);
		}
		assert_int_equal(drip(rows[i].p, rows[i].n, 5, &came), WS_GOT_MESSAGE);
		assert_int_equal(came, rows[i].n);
		assert_int_equal(in.size, 5);
	}
}

/* Each row fails when its check is taken out; with `late` the last octet is what makes it bad. */
static void frames_refused(void **state)
{
	static const struct { const char *p; size_t n; unsigned code; } rows[] = {
		{"\x81\x05" "Hello", 7, WS_PROTOCOL_ERROR},                 /* not masked */
		{"\x88\0", 2, WS_PROTOCOL_ERROR},
		{"\xc1\x85" MASK HELLO, 11, WS_PROTOCOL_ERROR},             /* reserved bits */
		{"\xa1\x85" MASK HELLO, 11, WS_PROTOCOL_ERROR},
		{"\x91\x85" MASK HELLO, 11, WS_PROTOCOL_ERROR},
		{"\x83\x85" MASK HELLO, 11, WS_PROTOCOL_ERROR},             /* reserved opcodes */
		{"\x8b\x80" MASK, 6, WS_PROTOCOL_ERROR},
		{"\x80\x85" MASK HELLO, 11, WS_PROTOCOL_ERROR},             /* nothing to go on with */
		{"\x01\x80" MASK "\x81\x85" MASK HELLO, 17, WS_PROTOCOL_ERROR}, /* a message in a message */
		{"\x09\x80" MASK, 6, WS_PROTOCOL_ERROR},                    /* a control frame in fragments, a long one */
		{"\x89\xfe\0\x7e" MASK, 8, WS_PROTOCOL_ERROR},
		{"\x81\xfe\0\x7d" MASK, 8, WS_PROTOCOL_ERROR},              /* not the shortest length */
		{"\x81\xff\0\0\0\0\0\0\xff\xff" MASK, 14, WS_PROTOCOL_ERROR},
		{"\x81\xff\x80\0\0\0\0\0\0\0" MASK, 14, WS_PROTOCOL_ERROR},   /* 2^63 */
		{"\x81\x81\0\0\0\0\x80", 7, WS_BAD_TEXT},
		{"\x01\x81\0\0\0\0\xc3" "\x80\x81\0\0\0\0\xc3", 14, WS_BAD_TEXT},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t came;

		if (frames(rows[i].p, rows[i].n, 12) != WS_GOT_BAD || in.code != rows[i].code)
			fail_msg("row %u: code %u", i, in.code);
		assert_int_equal(drip(rows[i].p, rows[i].n, 12, &came), WS_GOT_BAD);
		assert_int_equal(in.code, rows[i].code);
	}
}

/* Its first octets, one more than there may be, and no other; in fragments too, with a ping between them. Fails when it ends before they have come, so that
 * nobody could say what it was, and when more is waited for. */
static void too_long(void **state)
{
	static const struct { const char *p; size_t n; } rows[] = {
		{"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0" "HelloHelloHel", 27},
		{"\x82\xfe\0\xff\0\0\0\0" "HelloHelloHel", 21},
		{"\x01\x85" MASK HELLO "\0\x85" MASK HELLO "\x89\x80" MASK "\0\x83\0\0\0\0" "Hel", 37}, /* 13 of 12 */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t came;

		assert_int_equal(frames(rows[i].p, rows[i].n - 1, 12), WS_GOT_MORE);
		assert_int_equal(in.need, in.left + 1);
		assert_int_equal(frames(rows[i].p, rows[i].n, 12), WS_GOT_LONG);
		assert_int_equal(drip(rows[i].p, rows[i].n, 12, &came), WS_GOT_LONG);
		assert_int_equal(came, rows[i].n);
		assert_int_equal(in.code, WS_TOO_LONG);
		assert_int_equal(in.size, 13);
		assert_memory_equal(buf, "HelloHelloHel", 13);
	}
}

/* In mid-message too. Fails when a code that no peer may send is sent back. */
static void closes(void **state)
{
	static const struct { const char *p; size_t n; unsigned code; } rows[] = {
		{"\x88\x80" MASK, 6, WS_NORMAL}, {"\x88\x82\0\0\0\0\x03\xe9", 8, WS_GOING_AWAY}, {"\x88\x84\0\0\0\0\x0f\xa0" "ok", 10, 4000},
		{"\x88\x81\0\0\0\0\x0f", 7, WS_PROTOCOL_ERROR}, {"\x88\x82\0\0\0\0\x03\xed", 8, WS_PROTOCOL_ERROR}, {"\x88\x82\0\0\0\0\x03\xe7", 8, WS_PROTOCOL_ERROR},
		{"\x88\x82\0\0\0\0\x13\x88", 8, WS_PROTOCOL_ERROR}, {"\x88\x83\0\0\0\0\x03\xe8\xff", 9, WS_BAD_TEXT}, {"\x01\x80" MASK "\x88\x80" MASK, 12, WS_NORMAL},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(frames(rows[i].p, rows[i].n, 12), WS_GOT_CLOSE);
		assert_int_equal(in.code, rows[i].code);
	}
}

/* Fails when a bound that was lowered since makes the rest of a begun message a very large one. */
static void a_bound_that_is_lowered(void **state)
{
	(void)state;
	assert_int_equal(frames("\x02\x85" MASK HELLO, 11, 12), WS_GOT_MORE);
	assert_int_equal(in.left, 5);
	memcpy(buf + 5, "\x80\x85" MASK HELLO, 11);
	assert_int_equal(ws_take(&ws, buf, 16, 4, &in), WS_GOT_LONG);
	assert_int_equal(in.size, 6);
}

/* Each length at the edge of its form, there and back. */
static void lengths(void **state)
{
	static const struct { size_t n, head; } rows[] = {{0, 2}, {125, 2}, {126, 4}, {65535, 4}, {65536, 10}, {70000, 10}};
	uint8_t head[WS_HEAD_OUT];

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(ws_head(head, WS_BINARY, rows[i].n), rows[i].head);
		assert_int_equal(ws_head_len(rows[i].n), rows[i].head);
		memset(buf, 0, sizeof buf);
		memcpy(buf, head, rows[i].head);
		buf[1] |= 0x80; /* as a client would, under a mask of zeros */
		ws = (struct ws){0};
		assert_int_equal(ws_take(&ws, buf, rows[i].head + 4 + rows[i].n, 70000, &in), rows[i].n ? WS_GOT_MESSAGE : WS_GOT_MORE);
		assert_int_equal(rows[i].n ? in.size : 0, rows[i].n);
		assert_int_equal(rows[i].n ? in.used : in.left, rows[i].n ? rows[i].head + 4 + rows[i].n : 0);
	}
}

static void utf8(void **state)
{
	static const struct { const char *p; bool good; } rows[] = {
		{"", true}, {"plain text of some length", true}, {"J\xc3\xbcrgen", true}, {"\xe2\x82\xac", true}, {"\xf0\x9f\x93\x9e", true}, {"\xed\x9f\xbf", true}, {"\xf4\x8f\xbf\xbf", true},
		{"\x80", false}, {"\xc3", false}, {"\xc0\xaf", false}, {"\xe0\x9f\xbf", false}, {"\xed\xa0\x80", false}, {"\xf0\x8f\xbf\xbf", false}, {"\xf4\x90\x80\x80", false},
		{"\xf5\x80\x80\x80", false}, {"\xe2\x82", false}, {"12345678\xff", false}, {"\xe2\x28\xa1", false}, {"\xe2\x82\x28", false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		if (ws_utf8(hf_bytes_str(rows[i].p)) != rows[i].good)
			fail_msg("row %u", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_example), cmocka_unit_test(opened_and_cut), cmocka_unit_test(heads_refused), cmocka_unit_test(odd_heads),
		cmocka_unit_test(messages), cmocka_unit_test(frames_refused), cmocka_unit_test(too_long), cmocka_unit_test(closes), cmocka_unit_test(a_bound_that_is_lowered), cmocka_unit_test(lengths),
		cmocka_unit_test(utf8)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
