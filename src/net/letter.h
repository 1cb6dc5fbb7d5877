/* Letters (private to net; letter.c): what threads tell each other, by value, bounded in octets. A box a worker: any thread fills it, its owner empties it.
 * A letter names flows and holds by (worker, slot, generation, boot), and never holds a pointer. */
#ifndef NET_LETTER_H
#define NET_LETTER_H

#include <pthread.h>
#include <stdatomic.h>

#include "holdfast/net.h"

struct worker;

struct box {
	pthread_mutex_t lock;
	uint8_t *ring;
	size_t cap, head, used;
	bool rung;          /* its owner has been woken for what is in it */
	atomic_bool any;
};

enum letter_kind {
	LETTER_TO_FLOW = 1,
	LETTER_PASS,        /* a parcel as received, for a hold */
	LETTER_CARRY,       /* a request as received, for who keeps the one that it is about */
	LETTER_NOTE,        /* HF_NOTE octets for a hold: its worker is not woken for it */
	LETTER_FLOW_ENDED,  /* the flow: what is beside it ends, too */
	LETTER_FOUND,       /* where a name leads that this worker wanted to know (search.h) */
	LETTER_FORGET,      /* ... what it was told of names holds no longer */
	LETTER_TURN,        /* a flow that waits at a gate is first, and there is room */
};
struct letter {
	uint32_t size;      /* of what follows the head */
	uint16_t kind;
	uint16_t service;   /* id */
	struct hf_flow_name flow; /* or a hold's. CARRY: that it came over */
	/* TO_FLOW, framed: when the flow is gone, to addr over transport (port 0: nowhere; UDP: back to the front). PASS, CARRY: where it came from, and over what */
	struct hf_addr addr, local; /* local: CARRY, where it arrived */
	uint32_t listener;  /* hash */
	uint32_t member;    /* CARRY: who speaks, by hash, where the connection says so */
	enum hf_transport transport;
};
bool letter_init(struct box *b, size_t cap);
void letter_fini(struct box *b);
/* Any thread. False: the box is full; nothing was put in. */
bool letter_post(struct worker *to, const struct letter *head, struct hf_bytes body) HF_MUST_USE;
/* The owner: takes the oldest letter into buf (LETTER_MAX octets). */
#define LETTER_MAX (128u * 1024)
bool letter_take(struct box *b, struct letter *head, uint8_t *buf);
/* Is there any? Without the lock; true a little late is fine. */
static inline bool letter_any(struct box *b) { return atomic_load_explicit(&b->any, memory_order_acquire); }

#endif
