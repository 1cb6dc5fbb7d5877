/* One-shot timers of a worker: a heap, the earliest first. Times are hf_clock_ms's. One thread; what a timer belongs to holds it. */
#ifndef NET_TIMER_H
#define NET_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "holdfast/err.h"

typedef void timer_fn(void *arg);

struct timer {
	timer_fn *fn;
	void *arg;
	struct timers *of;   /* NULL: not made */
	uint64_t due_ms;
	uint32_t place;      /* in the heap + 1; 0: not set */
};

struct timers {
	struct timer **heap; /* the n that are set; room for all that are made, so that setting one never fails */
	uint32_t n, made, cap;
	uint64_t run_ms;     /* timers_run is at it, of that time; 0: it is not */
};

void timers_fini(struct timers *ts); /* when all its timers are ended */
bool timer_init(struct timer *t, struct timers *ts, timer_fn *fn, void *arg) HF_MUST_USE; /* false: no memory */
void timer_fini(struct timer *t);    /* one that was not made is fine */
void timer_at(struct timer *t, uint64_t due_ms); /* a set timer is moved; in a call of timers_run to behind it */
void timer_set(struct timer *t, uint64_t ms);    /* from now */
void timer_stop(struct timer *t);
/* Milliseconds until the first is due, at most a day; -1: none is set. */
int timers_wait(const struct timers *ts, uint64_t now_ms);
/* Calls those that are due, the earliest first, each once: what they set anew waits for the next time. A timer may end any. */
void timers_run(struct timers *ts, uint64_t now_ms);

#endif
