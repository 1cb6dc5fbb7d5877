/* Pages over HTTP (net/http.c): one request, one answer, and bounds for who sends half of one, too much, or never reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "holdfast/http.h"
#include "sock.h"

static struct hf_loop *loop;
static struct hf_timer *stop;
static struct hf_http *http;
static struct hf_addr at;
static char asked[64];
static char got[1 << 24];
#define BIG (12u << 20) /* more than both ends of a connection hold */

static unsigned page(void *arg, struct hf_bytes path, const char **type, struct hf_writer *w)
{
	(void)arg;
	snprintf(asked, sizeof asked, "%.*s", (int)path.n, (const char *)path.p);
	if (hf_bytes_eq(path, HF_LIT("/big"))) {
		*w = hf_writer_on(calloc(1, BIG), BIG);
		w->n = BIG;
		return 200;
	}
	if (hf_bytes_eq(path, HF_LIT("/full"))) {
		*w = hf_writer_on(malloc(4), 4);
		hf_w_str(w, "12345");
		return 200;
	}
	if (!hf_bytes_eq(path, HF_LIT("/page")))
		return 404;
	*type = "text/x-page";
	*w = hf_writer_on(malloc(16), 16);
	hf_w_str(w, "hello\n");
	return 503;
}

static void halt(void *arg) { hf_loop_stop(arg); }

static void run(unsigned ms)
{
	hf_timer_set(stop, ms);
	hf_loop_run(loop);
}

static int up(void **state)
{
	char text[200];
	struct hf_writer why = hf_writer_on(text, sizeof text);

	(void)state;
	loop = hf_loop_new();
	stop = hf_timer_new(loop, halt, loop);
	at = (struct hf_addr){.family = 4, .ip = {127, 0, 0, 1}};
	http = hf_http_open(loop, &at, page, NULL, &why);
	asked[0] = 0;
	return http && at.port ? 0 : -1;
}

static int down(void **state)
{
	(void)state;
	hf_http_close(http);
	hf_timer_free(stop);
	hf_loop_free(loop);
	return 0;
}

static int client(const char *text)
{
	int fd = sock_connect(&at, true, NULL);

	assert_true(fd >= 0);
	for (int i = 0; send(fd, text, strlen(text), MSG_NOSIGNAL) < 0; i++) {
		assert_true(errno == EAGAIN && i < 1000);
		run(1);
	}
	return fd;
}

/* All until the server's end. */
static size_t hear(int fd)
{
	size_t n = 0;

	for (int i = 0; i < 3000; i++) {
		ssize_t m = recv(fd, got + n, sizeof got - 1 - n, MSG_DONTWAIT);

		if (m == 0 || (m < 0 && errno != EAGAIN))
			break;
		n += m > 0 ? (size_t)m : 0;
		run(m > 0 ? 0 : 1);
	}
	got[n] = 0;
	close(fd);
	run(1);
	return n;
}

/* The whole answer; the query is none of the path. Fails with a length that is wrong, or a status that is lost. */
static void a_page(void **state)
{
	(void)state;
	hear(client("GET /page?x=1 HTTP/1.1\r\nHost: x\r\n\r\n"));
	assert_string_equal(asked, "/page");
	assert_string_equal(got, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/x-page\r\nContent-Length: 6\r\nCache-Control: no-store\r\n"
		"X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nhello\n");
	hear(client("HEAD /page HTTP/1.0\n\n"));
	assert_non_null(strstr(got, "Content-Length: 6\r\n"));
	assert_string_equal(strstr(got, "\r\n\r\n"), "\r\n\r\n");
	hear(client("GET http://192.0.2.1:9870/page?x=1 HTTP/1.1\r\n\r\n")); /* as through a proxy; fails without path_of */
	assert_string_equal(asked, "/page");
	assert_int_equal(strncmp(got, "HTTP/1.1 503 ", 13), 0);
}

/* What is no request, no path of ours or no method of ours. Fails with a step of answer() that is left out. */
static void refused(void **state)
{
	static const struct { const char *say, *hear; } cases[] = {
		{"GET /none HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found\r\n"}, {"POST /page HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed\r\n"},
		{"GET page HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"}, {"GET /page\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
		{"\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"}, {"GET http://x HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"}, {"GET /full HTTP/1.1\r\n\r\n", "HTTP/1.1 500 Internal Server Error\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		hear(client(cases[i].say));
		assert_int_equal(strncmp(got, cases[i].hear, strlen(cases[i].hear)), 0);
	}
}

/* In every cut it is the same request. */
static void cut(void **state)
{
	static const char say[] = "GET /page HTTP/1.1\r\nA: b\r\n\r\n";

	(void)state;
	for (size_t n = 1; n < sizeof say - 1; n++) {
		char first[64];
		int fd;

		snprintf(first, sizeof first, "%.*s", (int)n, say);
		fd = client(first);
		run(1);
		assert_int_equal(send(fd, say + n, sizeof say - 1 - n, MSG_NOSIGNAL), sizeof say - 1 - n);
		hear(fd);
		assert_non_null(strstr(got, "hello"));
	}
}

/* A header without an end is refused when its room is full. Fails without the 431. */
static void too_long(void **state)
{
	static char say[5000];

	(void)state;
	memset(say, 'a', sizeof say - 1);
	hear(client(say));
	assert_int_equal(strncmp(got, "HTTP/1.1 431 ", 13), 0);
}

/* A page that is larger than what the system takes at once comes whole. Fails without the wait for room. */
static void big(void **state)
{
	(void)state;
	assert_true(hear(client("GET /big HTTP/1.1\r\n\r\n")) > BIG);
	assert_string_equal(asked, "/big");
}

/* More than may come wait at the door, and come in when one goes. Fails with a bound that never opens again, or with none. */
static void many(void **state)
{
	int fd[16], last;

	(void)state;
	for (int i = 0; i < 16; i++)
		fd[i] = client("GET /pa");
	run(20);
	last = client("GET /page HTTP/1.1\r\n\r\n");
	run(20);
	assert_int_equal(recv(last, got, sizeof got, MSG_DONTWAIT), -1);
	close(fd[3]);
	hear(last);
	assert_non_null(strstr(got, "hello"));
	for (int i = 0; i < 16; i++)
		if (i != 3)
			close(fd[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_page, up, down), cmocka_unit_test_setup_teardown(refused, up, down), cmocka_unit_test_setup_teardown(cut, up, down),
		cmocka_unit_test_setup_teardown(too_long, up, down), cmocka_unit_test_setup_teardown(big, up, down), cmocka_unit_test_setup_teardown(many, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
