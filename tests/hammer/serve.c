/* The pool's servers, as bad as the clients: they answer with right and with mutated responses, late, twice or not at all. And the strangers:
 * addresses that messages name and where nothing may arrive. */
#include "hammer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ACCEPTED = 256 };
static int accepted[ACCEPTED]; /* connections to the servers; 0: free. A new one ends the oldest in its place */
static unsigned n_accepted;

/* An answer is the request's head with another first line; that line stays, or a response might become a request, which a member may send anywhere.
 * For the same reason a stream's answer has no more than one message in it, and only single octets of it are changed. */
static size_t answer(struct hammer *h, const uint8_t *p, size_t n, uint8_t *out, size_t room, bool stream)
{
	static const char *const lines[] = {"100 Trying", "180 Ringing", "200 OK", "200 OK", "404 Not Found", "486 Busy Here", "503 Service Unavailable", "699 x"};
	const uint8_t *eol = memchr(p, '\n', n), *blank = memmem(p, n, "\r\n\r\n", 4);
	size_t head, rest;

	if (!eol || !blank || blank < eol || n < 12 || !memcmp(p, "SIP/2.0", 7))
		return 0;
	n = stream ? (size_t)(blank - p) + 4 : n;
	head = (size_t)snprintf((char *)out, room, "SIP/2.0 %s\r\n", lines[mutate_random(&h->m, 8)]);
	rest = n - (size_t)(eol - p) - 1;
	if (head + rest > room)
		return 0;
	memcpy(out + head, eol + 1, rest);
	if (stream)
		return head + mutate_octet(&h->m, out + head, rest);
	return mutate_random(&h->m, 2) ? head + rest : mutate_again(&h->m, out, head + rest, room, head);
}

static void datagrams(struct hammer *h, int fd)
{
	static uint8_t in[MESSAGE], out[MESSAGE];
	struct sockaddr_in from;
	socklen_t len = sizeof from;
	ssize_t n;

	while ((n = recvfrom(fd, in, sizeof in, MSG_DONTWAIT, (struct sockaddr *)&from, &len)) >= 0) {
		size_t k = mutate_random(&h->m, 4) ? answer(h, in, (size_t)n, out, sizeof out, false) : 0;

		h->at_servers++;
		if (k)
			sendto(fd, out, k, 0, (struct sockaddr *)&from, len);
		if (k && mutate_random(&h->m, 16) == 0)
			sendto(fd, out, k, 0, (struct sockaddr *)&from, len);
	}
}

static void confirm(struct hammer *h, int fd)
{
	uint8_t out[600] = {3, 0, 0, 19, 14, 0xd0, 0, 0, 0x12, 0x34, 0, 2, 0, 8, 0, 1, 0, 0, 0};
	size_t n = mutate_random(&h->m, 2) ? 19 : mutate_again(&h->m, out, 19, sizeof out, 0);

	send(fd, out, n, MSG_NOSIGNAL);
}

static void connections(struct hammer *h)
{
	static uint8_t in[MESSAGE], out[MESSAGE];

	for (unsigned i = 0; i < ACCEPTED; i++) {
		ssize_t n = accepted[i] ? recv(accepted[i], in, sizeof in, MSG_DONTWAIT) : -1;

		if (n > 0) {
			h->at_servers++;
			size_t k = h->m.text ? answer(h, in, (size_t)n, out, sizeof out, true) : 0;

			if (k)
				send(accepted[i], out, k, MSG_NOSIGNAL | MSG_DONTWAIT);
			else if (!h->m.text && mutate_random(&h->m, 4))
				confirm(h, accepted[i]);
		}
		if (n == 0 || (n > 0 && mutate_random(&h->m, h->m.text ? 64 : 8) == 0)) {
			close(accepted[i]);
			accepted[i] = 0;
		}
	}
}

static void take(struct hammer *h, int fd)
{
	int c;

	while ((c = accept4(fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		int *at = &accepted[n_accepted++ % ACCEPTED];

		h->at_servers++;
		if (*at)
			close(*at);
		*at = c;
	}
}

static int type_of(int fd)
{
	int type = 0;
	socklen_t n = sizeof type;

	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n);
	return type;
}

static void stranger(struct hammer *h, int fd)
{
	uint8_t b[2000];
	int c;

	if (type_of(fd) == SOCK_DGRAM) {
		for (ssize_t n; (n = recv(fd, b, sizeof b, MSG_DONTWAIT)) >= 0; h->at_strangers++)
			fprintf(stderr, "at a stranger: %.*s\n", (int)n, (char *)b);
		return;
	}
	while ((c = accept(fd, NULL, NULL)) >= 0) {
		h->at_strangers++;
		fprintf(stderr, "a stranger was dialled\n");
		close(c);
	}
}

void hammer_serve(struct hammer *h)
{
	for (unsigned i = 0; i < h->n_servers; i++)
		type_of(h->servers[i]) == SOCK_DGRAM ? datagrams(h, h->servers[i]) : take(h, h->servers[i]);
	connections(h);
	for (unsigned i = 0; i < h->n_strangers; i++)
		stranger(h, h->strangers[i]);
}
