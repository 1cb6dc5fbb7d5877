/* Names to addresses: the one door to c-ares. Control thread; it never waits. */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "holdfast/addr.h"
#include "holdfast/err.h"
#include "holdfast/loop.h"

#define RESOLVED_MAX 32 /* addresses of a name that are looked at */

struct resolver;
struct resolved {
	const char *error;  /* a constant; NULL: it has addresses */
	bool none;          /* error: it is known that it has none */
	unsigned n;         /* at least 1 then */
	struct hf_addr addr[RESOLVED_MAX]; /* port 0; as they came */
	uint32_t ttl_s;     /* the shortest of them */
};
typedef void resolver_fn(void *arg, const struct resolved *r);

struct srv_target { /* RFC 2782 */
	char host[256];     /* small letters, without a dot at the end; not empty */
	uint16_t port, priority, weight;
};
struct resolved_srv {
	const char *error;  /* a constant; NULL: it names somebody */
	bool none;          /* error: it is known that it names nobody */
	unsigned n;         /* at least 1 then */
	struct srv_target target[RESOLVED_MAX]; /* the first ones in the order of priority, host, port; each host and port once */
	uint32_t ttl_s;     /* the shortest of them */
};
typedef void resolver_srv_fn(void *arg, const struct resolved_srv *r);

/* server: who is asked; family 0: whom the system asks (resolv.conf, hosts), as it is now; whole: names are, and the system's own domains are not tried
 * behind them. NULL: no memory, or nothing to ask with. */
struct resolver *resolver_new(struct hf_loop *loop, const struct hf_addr *server, bool whole) HF_MUST_USE;
void resolver_free(struct resolver *r); /* what is asked is not answered any more; NULL is fine. Not inside a resolver_fn */
/* Asks for A and AAAA. fn is called once, now or later. */
void resolver_ask(struct resolver *r, const char *host, resolver_fn *fn, void *arg);
/* Asks for SRV; likewise. */
void resolver_ask_srv(struct resolver *r, const char *host, resolver_srv_fn *fn, void *arg);

/* A host's name in small letters, without dots at its end. False: it is none. Any thread. */
bool resolver_host(struct hf_bytes from, char out[256]);

#endif
