/* Guests of a small server on a control loop (net floor): accepted one by one, bounded in number and time, and answered. It knows no octet of what they
 * say. When descriptors run out a reserve lets one in, and others wait at the door without the loop spinning. One thread. */
#ifndef HOLDFAST_GUESTS_H
#define HOLDFAST_GUESTS_H

#include "bytes.h"
#include "loop.h"

struct hf_guests;

/* Begins the server's own struct of one. */
struct hf_guest {
	struct hf_guests *in;
	void *arg;              /* the server */
	int fd;
	struct hf_watch *watch; /* HF_READ at first */
	struct hf_timer *timer; /* its end, unless it is set anew: 5 s for the request, and again for each part of the answer that is taken */
};

struct hf_guest_kind {
	const char *name; /* for the log */
	unsigned max;     /* at once */
	size_t size;      /* of the server's own struct, which is zeroed */
	void (*ready)(struct hf_guest *g, unsigned what); /* as hf_watch_fn */
	void (*leave)(struct hf_guest *g); /* it ends: gives up what is its own, not its memory */
};

/* fd: listens and does not block; not owned. NULL: no memory. */
struct hf_guests *hf_guests_open(struct hf_loop *loop, int fd, const struct hf_guest_kind *kind, void *arg) HF_MUST_USE;
void hf_guests_close(struct hf_guests *s); /* all leave; NULL is fine */

/* Sends from *sent on, as much as is taken. HF_OK: that was all; HF_EFULL: the rest when it is ready to be written; HF_ECLOSED: it has gone. */
enum hf_err hf_guest_send(struct hf_guest *g, struct hf_bytes octets, size_t *sent) HF_MUST_USE;
void hf_guest_end(struct hf_guest *g); /* g is gone */

#endif
