/* A worker's loop: descriptors by epoll, and its timers. One thread. The control thread has holdfast/loop.h instead, which knows signals and what
 * a library wants; here every system call and every octet of a watch counts, as flows are many and most of their packets small. */
#ifndef NET_POLLER_H
#define NET_POLLER_H

#include "holdfast/loop.h"
#include "timer.h"

enum { /* beside HF_READ and HF_WRITE */
	WATCH_EDGES = 4,
	WATCH_END = 8,       /* told only, with edges: the peer will send no more, or it failed; octets may be there before that */
};
struct poller;

/* A descriptor that is watched; part of what it belongs to. Without WATCH_EDGES it is told each turn what is ready of what it watches for. With it,
 * it is told when something comes, once, and what it has watched for it goes on watching for: its reader takes all there is (the system gives
 * less than was asked for, or none) or says watch_again. So a flow costs the system one call in its life, and is not looked at when it has
 * been read. A change between the two tells what is ready. */
struct watch {
	hf_watch_fn *fn;
	void *arg;
	struct poller *of;   /* NULL: not made */
	int fd;
	unsigned what;       /* that it watches for; 0: the system does not know it */
	struct watch *next, **at; /* of those that are told again */
};

struct poller *poller_new(void) HF_MUST_USE; /* NULL: no memory, no descriptor */
void poller_free(struct poller *p);          /* when all watches and timers have ended; NULL is fine */
void poller_run(struct poller *p);           /* until stop: turns of what is ready, then what is due */
void poller_stop(struct poller *p);          /* behind the call that says so: what this turn has still to tell is lost, for what it is about may be gone */
struct timers *poller_timers(struct poller *p);

void watch_init(struct watch *w, struct poller *p, int fd, hf_watch_fn *fn, void *arg); /* it watches for nothing yet */
/* False: the system refuses; it watches for nothing, and the next call tries anew. 0 never fails. */
bool watch_change(struct watch *w, unsigned what);
static inline bool watch_set(struct watch *w, unsigned what)
{
	if (what & w->what & WATCH_EDGES)
		what |= w->what;
	return what == w->what || watch_change(w, what);
}
/* Tells HF_READ once more, behind what is ready now, whatever the system says; needs no system call. */
void watch_again(struct watch *w);
/* Nothing of it is told any more, also not of this turn. It does not own the descriptor: end it before that is closed. One that was not made is fine. */
void watch_fini(struct watch *w);
/* The same, and closes the descriptor, which must have no other name (dup, fork): the system forgets it by that alone. */
void watch_close(struct watch *w);

#endif
