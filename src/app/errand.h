/* Commands that look at whole tables take their time on a thread of their own, one after the other, so that neither the control loop nor a worker
 * waits (app floor, inside). A command prepares an errand on the control thread; admin.c sends it and gives the answer to its client.
 * Between run and the answer nothing of the errand is touched by the control thread but `stop`. */
#ifndef APP_ERRAND_H
#define APP_ERRAND_H

#include <stdatomic.h>

#include "gateway.h"
#include "json.h"

struct errand {
	/* On the errands' thread: a whole answer into j, or an error with `why`. It may ask of the gateway what any thread may. */
	enum hf_err (*run)(struct errand *x, struct json *j, struct hf_writer *why);
	void (*free)(struct errand *x);
	atomic_bool stop; /* nobody waits any more: run should end soon */

	/* errand.c's */
	struct errand *next;
	void (*done)(void *arg, struct json *out); /* NULL: its client is gone */
	void *arg;
	struct json out;
};

struct errands;
struct errands *errands_new(struct hf_loop *loop) HF_MUST_USE; /* NULL: no memory, or no descriptor */
/* Stops what runs, drops what waits, and ends the thread. */
void errands_free(struct errands *s);
/* Takes x over. done is called on the control thread, with an answer that it may take out. HF_ENOMEM: no thread; x is the caller's still. */
enum hf_err errands_send(struct errands *s, struct errand *x, void (*done)(void *arg, struct json *out), void *arg) HF_MUST_USE;
/* The client is gone: done is not called. */
void errands_forget(struct errands *s, struct errand *x);

/* Runs it here; a failure is an answer too. */
void errand_run(struct errand *x, struct json *j);

#endif
