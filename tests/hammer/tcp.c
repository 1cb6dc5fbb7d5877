/* Mutated openings and streams over many connections at once: each sends one or a few messages, in one piece or cut, hears what comes for
 * a moment, and ends by a reset (so that no port waits) or by a FIN. */
#include "hammer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS = 48, PATIENCE_MS = 20 };

struct conn {
	int fd;
	uint8_t *out;
	size_t n, at;
	double until; /* when it is closed whatever comes; 0: not all is sent */
	bool fin;
};

static void end(struct conn *c, bool reset)
{
	struct linger l = {reset, 0};

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
	close(c->fd);
	c->fd = -1;
}

static bool begin(struct hammer *h, struct conn *c)
{
	unsigned many = h->m.text ? 1 + mutate_random(&h->m, 6) : 1;

	c->fd = hammer_socket(&h->source, SOCK_STREAM);
	if (c->fd < 0)
		return false;
	c->n = c->at = 0;
	c->until = 0;
	c->fin = mutate_random(&h->m, 8) == 0;
	for (; many > 0 && c->n < MESSAGE; many--) {
		size_t n = mutate(&h->m, c->out + c->n, MESSAGE - c->n);

		hammer_remember(h, c->out + c->n, n);
		c->n += n;
		h->sent++;
	}
	if (!connect(c->fd, (struct sockaddr *)&h->gateway, sizeof h->gateway) || errno == EINPROGRESS)
		return true;
	end(c, true);
	return false;
}

static void put(struct hammer *h, struct conn *c)
{
	size_t left = c->n - c->at, some = mutate_random(&h->m, 3) ? left : 1 + mutate_random(&h->m, (uint32_t)left);
	ssize_t n = left ? send(c->fd, c->out + c->at, some, MSG_NOSIGNAL) : 0;

	if (n < 0 && errno != EAGAIN) {
		end(c, true);
		return;
	}
	c->at += n > 0 ? (size_t)n : 0;
	if (c->at < c->n)
		return;
	c->until = hammer_now() + PATIENCE_MS / 1e3;
	if (c->fin)
		shutdown(c->fd, SHUT_WR);
}

static void get(struct hammer *h, struct conn *c)
{
	static uint8_t b[MESSAGE];
	ssize_t n = recv(c->fd, b, sizeof b, 0);

	if (n > 0) {
		h->answers++;
		mutate_learn(&h->m, b, (size_t)n);
	} else if (n == 0 || errno != EAGAIN) {
		end(c, n != 0 || !c->fin);
	}
}

static bool turn(struct hammer *h, struct conn *c)
{
	struct pollfd p[CONNECTIONS];
	bool some = false;

	for (int i = 0; i < CONNECTIONS; i++) {
		if (c[i].fd >= 0 && c[i].until > 0 && hammer_now() > c[i].until)
			end(&c[i], !c[i].fin || mutate_random(&h->m, 16) != 0);
		if (c[i].fd < 0)
			some |= begin(h, &c[i]);
		p[i] = (struct pollfd){c[i].fd, (short)(POLLIN | (c[i].until > 0 ? 0 : POLLOUT)), 0};
	}
	poll(p, CONNECTIONS, 5);
	for (int i = 0; i < CONNECTIONS; i++) {
		if (c[i].fd >= 0 && p[i].revents & POLLOUT)
			put(h, &c[i]);
		if (c[i].fd >= 0 && p[i].revents & (POLLIN | POLLHUP | POLLERR)) {
			some = true;
			get(h, &c[i]);
		}
	}
	return some;
}

bool hammer_tcp(struct hammer *h)
{
	struct conn c[CONNECTIONS];
	double heard = hammer_now();

	for (int i = 0; i < CONNECTIONS; i++)
		c[i] = (struct conn){.fd = -1, .out = malloc(MESSAGE)};
	while (hammer_goes_on(h) && hammer_now() - heard < 5) {
		hammer_serve(h);
		if (turn(h, c))
			heard = hammer_now();
	}
	for (int i = 0; i < CONNECTIONS; i++) {
		if (c[i].fd >= 0)
			end(&c[i], true);
		free(c[i].out);
	}
	return hammer_now() - heard < 5;
}
