/* How the tale of a session looks as a line of JSON (private to net; tale.c calls it). Names come from holdfast/fields.h. */
#ifndef NET_TELL_H
#define NET_TELL_H

#include "holdfast/lines.h"
#include "tale.h"

#define TALE_FACTS 6
#define TALE_RULE 15
#define TALE_TEXT HF_TEXT_MAX /* octets of a key's text */

struct tale {
	struct tale *next;         /* sessions by key */
	uint64_t fp;
	uint64_t begin_ms;
	uint64_t answered_ms, until_ms; /* sessions by key: when it was answered for good (0: not yet), when it is over if nothing more comes */
	struct service_rt *rt;     /* sessions by key: likewise the next two */
	struct pool_rt *pool;
	struct hf_addr source;
	uint16_t server;           /* id; 0: none */
	uint16_t code;             /* the last that came of it; 0: none */
	uint8_t why;               /* enum hf_why */
	uint8_t failovers;
	bool asked, reached, proved; /* flows: for a server; octets were relayed; enough of them both ways */
	bool led;                  /* flows: another key's bond named the server */
	char rule[TALE_RULE + 1];  /* flows: the kind of the key that they were asked by; empty: something else decided */
	uint8_t n_facts, n_text;
	uint8_t fact[TALE_FACTS];  /* reasons that were counted on its way */
	uint8_t *text;             /* of the key, where names are logged; else NULL */
};

/* Flows that ended before they had proved themselves, by source: a client that is sent elsewhere comes again at once. */
#define LEGS 1024
struct legs {
	pthread_mutex_t lock;
	struct leg { uint64_t source, end_ms; struct pool_rt *pool; uint32_t n; uint16_t server; } leg[LEGS]; /* n: in a row */
};

void tell_flow(struct flow *f, const struct tale *t, unsigned reason, struct legs *legs);
void tell_session(struct hf_net *net, const struct tale *t, const char *ended, uint64_t now_ms);

#endif
