/* Agents: what a server says of itself over a port of its own, beside health (private to net). One hangs on each probe. Control thread. */
#ifndef NET_AGENT_H
#define NET_AGENT_H

#include "agent_word.h"
#include "probing.h"

struct agent {
	struct probe *of;
	struct hf_addr at;            /* the port in force; 0: it has none */
	int fd;                       /* -1: no question is under way */
	struct hf_watch *watch;
	struct hf_timer *timer;       /* the next question, or the deadline of this one */
	bool asked;                   /* the connection stands, and what is to be said first has been said */
	bool silent;                  /* the last question had no answer */
	bool drains, empty;           /* it said drain; it said 0%: one mark has both */
	uint32_t percent, max_sessions; /* in force */
	size_t n;
	uint8_t got[AGENT_LINE_MAX];
};

struct agent *agent_new(struct probe *of) HF_MUST_USE;
void agent_apply(struct agent *a);  /* its probe's pool and member have changed */
/* What its server has said is in force from now on. False: nothing of it is known, and nothing has changed. */
bool agent_heard(struct agent *a, struct hf_bytes line);
void agent_free(struct agent *a);   /* NULL is fine */

#endif
