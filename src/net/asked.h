/* A name that is asked for again and again while the configuration has it: what servers' names (names.c) and those of SRV records (discover.c) have in
 * common (private to net). Control thread. */
#ifndef NET_ASKED_H
#define NET_ASKED_H

#include "inside.h"

struct asked { /* the first member of what is known of the name */
	struct asked *next;
	char host[256];
	unsigned failed; /* in a row */
	bool kept;       /* the snapshot in force has it */
	bool asking;     /* its answer is on the way, which names it by this address */
	struct hf_timer *timer;
};

/* A new one, in front of *list: of `size` octets, 0 but for its begin. ask(it) is called soon, and whenever it is time again. NULL: no memory, which is
 * logged. */
void *asked_new(struct asked **list, struct hf_loop *loop, struct hf_bytes host, size_t size, void (*ask)(void *arg)) HF_MUST_USE;
/* Before a snapshot is followed: none is kept. fresh: and all are asked for anew, as nobody answers any more who was asked before. */
void asked_begin(struct asked *list, bool fresh);
/* After it: those that are not kept go, but for those whose answer is on the way; they go the next time. */
void asked_forget(struct asked **list);
void asked_free(struct asked **list);

/* It was answered, for so long: when it is asked for again. */
void asked_found(struct asked *x, uint32_t ttl_s);
/* It was not; has: by what it said before, which holds. */
void asked_failed(struct asked *x, const char *why, bool has);

#endif
