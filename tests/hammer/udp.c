/* Mutated datagrams at full speed: from a few sockets, so that every worker gets some, and after each handful a STUN binding request. Its
 * answer says that the worker has taken all that came before it; so nothing is lost in a full buffer. */
#include "hammer.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { SOCKETS = 8, HANDFUL = 24 };
static const uint8_t stun[20] = "\x00\x01\x00\x00\x21\x12\xa4\x42hammerhammer";

/* -> the STUN answer was among what came */
static bool listen_to(struct hammer *h, int fd)
{
	static uint8_t b[MESSAGE];
	bool answered = false;
	ssize_t n;

	while ((n = recv(fd, b, sizeof b, MSG_DONTWAIT)) > 0) {
		if (n == 32 && b[0] == 1 && b[1] == 1) {
			answered = true;
			continue;
		}
		h->answers++;
		mutate_learn(&h->m, b, (size_t)n);
	}
	return answered;
}

/* Five seconds without an answer: it has died, or spins. */
static bool wait_for(struct hammer *h, int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	for (int i = 0; i < 100; i++) {
		hammer_serve(h);
		if (i > 0 && send(fd, stun, sizeof stun, 0) < 0 && i > 20)
			return false;
		poll(&p, 1, 50);
		if (listen_to(h, fd))
			return true;
	}
	return false;
}

bool hammer_udp(struct hammer *h)
{
	static uint8_t out[MESSAGE];
	int fd[SOCKETS];
	bool good = true;

	for (int i = 0; i < SOCKETS; i++) {
		fd[i] = hammer_socket(&h->source, SOCK_DGRAM);
		if (fd[i] < 0 || connect(fd[i], (struct sockaddr *)&h->gateway, sizeof h->gateway))
			return false;
	}
	for (unsigned i = 0; good && hammer_goes_on(h); i = (i + 1) % SOCKETS) {
		for (int k = 0; k < HANDFUL; k++) {
			size_t n = mutate(&h->m, out, sizeof out);

			hammer_remember(h, out, n);
			send(fd[i], out, n, 0);
			h->sent++;
		}
		send(fd[i], stun, sizeof stun, 0);
		good = wait_for(h, fd[i]);
	}
	for (int i = 0; i < SOCKETS; i++)
		close(fd[i]);
	return good;
}
