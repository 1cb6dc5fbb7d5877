/* HTTP for pages; see holdfast/http.h. A client sends one request, gets one answer, and the connection ends: no state but the octets of both.
 * RFC 9112; what a request says beside its first line is read and of no use. Not libevent's evhttp: up to 2.1 it tells nobody of a connection before
 * its request and refuses none, so that they cannot be bounded. */
#include "holdfast/http.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "holdfast/guests.h"
#include "sock.h"

#define CLIENTS 16       /* at once: a scraper or two, somebody who looks */
#define REQUEST 4096     /* octets of a request */

struct client {
	struct hf_guest guest;
	size_t n, head_n, head_sent, page_sent;
	struct hf_writer page;
	bool answered;
	uint8_t request[REQUEST];
	char head[256];
};

struct hf_http {
	int fd;
	struct hf_guests *guests;
	hf_http_page_fn *page;
	void *arg;
};

static struct client *of(struct hf_guest *g) { return (struct client *)(void *)g; }

static void leave(struct hf_guest *g) { free(of(g)->page.p); }

/* ---- the answer ---- */

static void go_on(struct client *c)
{
	enum hf_err e = hf_guest_send(&c->guest, hf_bytes_of(c->head, c->head_n), &c->head_sent);

	if (e == HF_OK)
		e = hf_guest_send(&c->guest, hf_writer_view(&c->page), &c->page_sent);
	if (e == HF_EFULL)
		return;
	if (e == HF_OK && shutdown(c->guest.fd, SHUT_WR) == 0)
		hf_watch_set(c->guest.watch, HF_READ); /* until it has closed too: unread octets would make a reset of our end, which may overtake the page */
	else
		hf_guest_end(&c->guest);
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

/* Of http://HOST/path too, as a client behind a proxy asks (RFC 9112 3.2.2). */
static struct hf_bytes path_of(struct hf_bytes target)
{
	if (!hf_bytes_starts(target, HF_LIT("http://")))
		return target;
	target = hf_bytes_sub(target, sizeof "http://" - 1, target.n);
	return hf_bytes_sub(target, hf_bytes_find(target, '/'), target.n);
}

/* "GET /path?query HTTP/1.1" */
static void answer(struct client *c)
{
	struct hf_bytes line = hf_bytes_of(c->request, c->n), method, path;
	const char *type = "text/plain; charset=utf-8";
	struct hf_http *h = c->guest.arg;
	bool head;
	unsigned status;

	line = hf_bytes_sub(line, 0, hf_bytes_find(line, '\n'));
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	method = hf_bytes_word(&line);
	path = path_of(hf_bytes_word(&line));
	head = hf_bytes_eq(method, HF_LIT("HEAD"));
	if (!path.n || path.p[0] != '/' || !hf_bytes_starts(line, HF_LIT("HTTP/1."))) {
		say(c, 400, type, false);
	} else if (!head && !hf_bytes_eq(method, HF_LIT("GET"))) {
		say(c, 405, type, false);
	} else {
		status = h->page(h->arg, hf_bytes_sub(path, 0, hf_bytes_find(path, '?')), &type, &c->page);
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

static void ready(struct hf_guest *g, unsigned what)
{
	struct client *c = of(g);
	uint8_t rest[512];
	ssize_t n;

	if (c->answered && what & HF_WRITE) {
		go_on(c);
		return;
	}
	n = c->answered ? recv(g->fd, rest, sizeof rest, 0) : recv(g->fd, c->request + c->n, REQUEST - c->n, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hf_guest_end(g);
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

static const struct hf_guest_kind kind = {"http", CLIENTS, sizeof(struct client), ready, leave};

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
	*h = (struct hf_http){.page = page, .arg = arg};
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
	h->guests = hf_guests_open(loop, h->fd, &kind, h);
	if (h->guests)
		return h;
	hf_w_str(why, "no memory");
	hf_http_close(h);
	return NULL;
}

void hf_http_close(struct hf_http *h)
{
	if (!h)
		return;
	hf_guests_close(h->guests);
	if (h->fd >= 0)
		close(h->fd);
	free(h);
}
