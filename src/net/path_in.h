/* A path as path.c, path_copy.c and tell.c know it. */
#ifndef NET_PATH_IN_H
#define NET_PATH_IN_H

#include "path.h"

struct path {
	struct path *next_client, *next_flow; /* of a list of the table */
	struct worker *w;
	struct service_rt *rt;
	struct pool_rt *pool;
	uint16_t service, server; /* ids; the engine keeps the server's for it */
	uint32_t listener;     /* hash */
	struct hf_addr client, local;
	struct beside beside;
	uint64_t begin_ms, last_ms;
	uint64_t up, down;     /* octets */
	uint32_t idle_ms;
	uint32_t source_at;    /* counted: there (sources.h) */
	bool counted;          /* among its source's */
	bool answered, shown;  /* a datagram of the server went to the client; one of the client came after it */
	bool over;             /* its flow has ended */
	struct watch watch;    /* the socket that is connected to the server */
	struct timer timer;
};

/* path.c */
struct path *path_find(struct worker *w, uint32_t listener, const struct hf_addr *client, const struct hf_addr *local);
void path_end(struct path *p, unsigned reason); /* its only end; it is gone */
/* path_copy.c */
void path_up(struct path *p, struct hf_bytes bytes);
void path_readable(void *path, unsigned what);
/* tell.c */
void tell_path(const struct path *p, unsigned reason);

#endif
