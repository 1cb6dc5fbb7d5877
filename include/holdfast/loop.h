/* Event loops of control threads (net floor): the one door to libevent; workers have a leaner one (net/poller.h). A loop belongs to one thread;
 * nothing here may be called from another. */
#ifndef HOLDFAST_LOOP_H
#define HOLDFAST_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct hf_loop;
struct hf_watch; /* a descriptor that is watched */
struct hf_timer; /* one shot */

enum { HF_READ = 1, HF_WRITE = 2 };
typedef void hf_watch_fn(void *arg, unsigned what); /* what: HF_READ | HF_WRITE bits that are ready */

typedef void hf_timer_fn(void *arg);

struct hf_loop *hf_loop_new(void) HF_MUST_USE; /* NULL: no memory */
void hf_loop_free(struct hf_loop *l);
void hf_loop_run(struct hf_loop *l);  /* until stop */
void hf_loop_stop(struct hf_loop *l);

/* The watch does not own the descriptor: free it before the descriptor is closed. NULL: no memory. */
struct hf_watch *hf_watch_new(struct hf_loop *l, int fd, unsigned what, hf_watch_fn *fn, void *arg) HF_MUST_USE;
void hf_watch_free(struct hf_watch *w);               /* NULL is fine */
/* 0: watch nothing, which never fails. False: the system refuses; it watches nothing, and the next call tries anew. */
bool hf_watch_set(struct hf_watch *w, unsigned what);

struct hf_timer *hf_timer_new(struct hf_loop *l, hf_timer_fn *fn, void *arg) HF_MUST_USE;
void hf_timer_set(struct hf_timer *t, uint64_t ms);   /* from now; a set timer is moved */
void hf_timer_stop(struct hf_timer *t);
void hf_timer_free(struct hf_timer *t);               /* NULL is fine */

/* Signals: on one loop of the process only. */
struct hf_watch *hf_loop_signal(struct hf_loop *l, int signo, hf_watch_fn *fn, void *arg) HF_MUST_USE;

#endif
