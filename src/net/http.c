/* HTTP for pages; see holdfast/http.h. A client sends one request, gets one answer, and the connection ends: no state but the octets of both.
 * RFC 9112; what a request says beside its first line is read and of no use. */
#include "holdfast/http.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sock.h"

#define CLIENTS 16       /* at once: a scraper or two, somebody who looks */
#define REQUEST 4096     /* octets of a request */
#define DEADLINE_MS 5000 /* for the request, and again for each part of the answer that is taken */

struct client {
	struct hf_http *h;
	int fd;
	struct hf_watch *watch;
	struct hf_timer *timer;
	size_t n, sent, head_n;
	struct hf_writer page;
	bool answered;
	uint8_t request[REQUEST];
	char head[256];
};

struct hf_http {
	struct hf_loop *loop;
	int fd;
	struct hf_watch *watch;
	hf_http_page_fn *page;
	void *arg;
	struct client *client[CLIENTS];
	unsigned n;
};

static void end(void *arg)
{
	struct client *c = arg;
	struct hf_http *h = c->h;

	for (unsigned i = 0; i < CLIENTS; i++)
		if (h->client[i] == c)
			h->client[i] = NULL;
	h->n--;
	hf_watch_free(c->watch);
	hf_timer_free(c->timer);
	close(c->fd);
	free(c->page.p);
	free(c);
	hf_watch_set(h->watch, HF_READ);
}

/* ---- the answer ---- */

static void go_on(struct client *c)
{
	while (c->sent < c->head_n + c->page.n) {
		bool in_head = c->sent < c->head_n;
		const uint8_t *p = in_head ? (const uint8_t *)c->head + c->sent : c->page.p + (c->sent - c->head_n);
		ssize_t n = send(c->fd, p, in_head ? c->head_n - c->sent : c->page.n - (c->sent - c->head_n), MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			hf_watch_set(c->watch, HF_WRITE);
			return;
		}
		if (n <= 0)
			break;
		c->sent += (size_t)n;
		hf_timer_set(c->timer, DEADLINE_MS);
	}
	if (c->sent == c->head_n + c->page.n && shutdown(c->fd, SHUT_WR) == 0)
		hf_watch_set(c->watch, HF_READ); /* until it has closed too: unread octets would make a reset of our end, which may overtake the page */
	else
		end(c);
}

static void say(struct client *c, unsigned status, const char *type, bool no_body)
{
	static const struct { unsigned status; const char *text; } texts[] = {
		{200, "OK"}, {400, "Bad Request"}, {404, "Not Found"}, {405, "Method Not Allowed"}, {431, "Request Header Fields Too Large"}, {500, "Internal Server Error"}, {503, "Service Unavailable"}};
	struct hf_writer w = hf_writer_on(c->head, sizeof c->head);
	const char *text = "";

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (texts[i].status == status)
			text = texts[i].text;
	if (!c->page.n && status != 200) {
		free(c->page.p);
		c->page = hf_writer_on(malloc(64), 64);
		if (c->page.p)
			hf_w_printf(&c->page, "%u %s\n", status, text);
	}
	hf_w_printf(&w, "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%sConnection: close\r\n\r\n", status, text,
		    type, c->page.n, status == 405 ? "Allow: GET, HEAD\r\n" : "");
	c->head_n = w.n;
	if (no_body)
		c->page.n = 0;
	c->answered = true;
	go_on(c);
}

/* "GET /path?query HTTP/1.1" */
static void answer(struct client *c)
{
	struct hf_bytes line = hf_bytes_of(c->request, c->n), method, path;
	const char *type = "text/plain; charset=utf-8";
	bool head;
	unsigned status;

	line = hf_bytes_sub(line, 0, hf_bytes_find(line, '\n'));
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	method = hf_bytes_word(&line);
	path = hf_bytes_word(&line);
	head = hf_bytes_eq(method, HF_LIT("HEAD"));
	if (!path.n || path.p[0] != '/' || !hf_bytes_starts(line, HF_LIT("HTTP/1."))) {
		say(c, 400, type, false);
	} else if (!head && !hf_bytes_eq(method, HF_LIT("GET"))) {
		say(c, 405, type, false);
	} else {
		status = c->h->page(c->h->arg, hf_bytes_sub(path, 0, hf_bytes_find(path, '?')), &type, &c->page);
		if (c->page.full || !c->page.p) {
			status = c->page.full ? 500 : 404;
			type = "text/plain; charset=utf-8";
			c->page.n = 0;
		}
		say(c, status, type, head);
	}
}

/* ---- the request ---- */

static bool is_whole(const struct client *c)
{
	return memmem(c->request, c->n, "\r\n\r\n", 4) || memmem(c->request, c->n, "\n\n", 2);
}

static void ready(void *arg, unsigned what)
{
	struct client *c = arg;
	uint8_t rest[512];
	ssize_t n;

	if (c->answered && what & HF_WRITE) {
		go_on(c);
		return;
	}
	n = c->answered ? recv(c->fd, rest, sizeof rest, 0) : recv(c->fd, c->request + c->n, REQUEST - c->n, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end(c);
		return;
	}
	if (c->answered)
		return;
	c->n += (size_t)n;
	if (is_whole(c))
		answer(c);
	else if (c->n == REQUEST)
		say(c, 431, "text/plain; charset=utf-8", false);
}

static void come(struct hf_http *h, int fd)
{
	struct client *c = calloc(1, sizeof *c);
	unsigned i = 0;

	if (!c) {
		close(fd);
		return;
	}
	while (h->client[i])
		i++;
	h->client[i] = c;
	h->n++;
	c->h = h;
	c->fd = fd;
	c->watch = hf_watch_new(h->loop, fd, HF_READ, ready, c);
	c->timer = hf_timer_new(h->loop, end, c);
	if (!c->watch || !c->timer)
		end(c);
	else
		hf_timer_set(c->timer, DEADLINE_MS);
}

/* When descriptors have run out the loop would spin: nobody comes in until a client that is here has gone, or all have. */
static void acceptable(void *arg, unsigned what)
{
	struct hf_http *h = arg;
	int fd = accept4(h->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)what;
	if (fd >= 0)
		come(h, fd);
	if (h->n == CLIENTS || (fd < 0 && sock_want(errno) && h->n))
		hf_watch_set(h->watch, 0);
}

struct hf_http *hf_http_open(struct hf_loop *loop, struct hf_addr *at, hf_http_page_fn *page, void *arg, struct hf_writer *why)
{
	struct hf_http *h = calloc(1, sizeof *h);
	struct sockaddr_storage ss;
	socklen_t n = sock_put_addr(&ss, at);
	int one = 1;

	if (!h) {
		hf_w_str(why, "no memory");
		return NULL;
	}
	*h = (struct hf_http){.loop = loop, .page = page, .arg = arg};
	h->fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (h->fd >= 0)
		(void)setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (h->fd < 0 || bind(h->fd, (struct sockaddr *)&ss, n) < 0 || listen(h->fd, CLIENTS) < 0) {
		hf_w_str(why, "http: cannot listen at ");
		hf_w_addr(why, at);
		hf_w_printf(why, ": %s", strerror(errno));
		hf_http_close(h);
		return NULL;
	}
	*at = sock_local(h->fd);
	h->watch = hf_watch_new(loop, h->fd, HF_READ, acceptable, h);
	if (h->watch)
		return h;
	hf_w_str(why, "no memory");
	hf_http_close(h);
	return NULL;
}

void hf_http_close(struct hf_http *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < CLIENTS; i++)
		if (h->client[i])
			end(h->client[i]);
	hf_watch_free(h->watch);
	if (h->fd >= 0)
		close(h->fd);
	free(h);
}
