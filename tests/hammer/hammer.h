/* What the parts of the hammer share: the run's limits, its counts, its sockets. */
#ifndef HAMMER_H
#define HAMMER_H

#include "mutate.h"

#include <netinet/in.h>

enum { STRANGERS = 8, SERVERS = 8, RING = 64, MESSAGE = 65000 };

struct hammer {
	struct mutator m;
	struct sockaddr_in gateway, source;
	int strangers[STRANGERS], servers[SERVERS]; /* sockets where nothing may come; servers of the pool, played here */
	unsigned n_strangers, n_servers;
	struct { uint8_t *p; size_t n; } ring[RING]; /* what was sent last */
	uint64_t sent, limit, answers, at_servers, at_strangers;
	double end;
	const char *ring_file;
};

double hammer_now(void);
bool hammer_goes_on(const struct hammer *h);
void hammer_remember(struct hammer *h, const uint8_t *p, size_t n);
/* Reads what came to the strangers and plays the servers. */
void hammer_serve(struct hammer *h);
/* A socket with a bound address, -1 with a line on standard error. */
int hammer_socket(const struct sockaddr_in *at, int type);
bool hammer_addr(const char *text, struct sockaddr_in *a);
/* The two ways to send; false: the gateway is gone or silent. */
bool hammer_udp(struct hammer *h);
bool hammer_tcp(struct hammer *h);

#endif
