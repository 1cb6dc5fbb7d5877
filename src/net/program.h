/* Programs that are run once each: started without a shell, the first line they print kept, killed with all that they started, reaped.
 * Knows nothing of why one is run. One thread: that of the loop. */
#ifndef NET_PROGRAM_H
#define NET_PROGRAM_H

#include <stdbool.h>

#include "holdfast/loop.h"

/* At one time: each takes most of a core for its first milliseconds, which are the workers' too. */
#define PROGRAMS_MAX 16
#define PROGRAM_SAID 64 /* octets of its first line, escaped, with the NUL */

struct programs; /* those of a loop */
struct program;

/* It has ended: status as of waitpid(2), `said` its first line, "" if it printed none. Both it and `said` are gone after the call. */
typedef void program_fn(void *arg, int status, const char *said);

/* room: one has ended, whoever waited for it, and there is place for another. NULL: no memory. */
struct programs *programs_new(struct hf_loop *l, void (*room)(void *arg), void *arg) HF_MUST_USE;
void programs_free(struct programs *all); /* what still runs is killed, and nobody is told; NULL is fine */
bool programs_full(const struct programs *all);

/* argv[0] is its path. It gets an empty standard input and none of our descriptors, signals and variables, and is the first of a process group. Once
 * it has ended `done` is called, and what it left behind in its group is killed. NULL: errno says why. */
struct program *program_start(struct programs *all, char *const argv[], program_fn *done, void *arg) HF_MUST_USE;
/* What it has printed so far, as `said`. */
void program_said(const struct program *p, char said[PROGRAM_SAID]);
/* Killed, with its group; `done` is not called, and p is not the caller's any more. */
void program_leave(struct program *p);

#endif
