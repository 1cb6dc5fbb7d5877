/* A held request (DESIGN 4, Failover): what is kept of it in a hold's few octets, and what the files about it share. Called by front.c,
 * reply.c and back.c. Never included from outside. */
#ifndef SIP_HOLD_H
#define SIP_HOLD_H

#include "inside.h"

enum { SIP_TRIES_MAX = 4 };

enum { /* flags of a hold */
	SIP_H_INVITE = 1,
	SIP_H_TRIES = 2,      /* silence sends it on: INVITE and REGISTER */
	SIP_H_STREAM = 4,     /* its client is on a connection and repeats nothing */
	SIP_H_CANCELLED = 8,
	SIP_H_TRYING = 16,    /* the client was told 100 */
	SIP_H_REPEATS = 32,   /* the current attempt is repeated by us: from a connection to a datagram */
	SIP_H_STAYS = 64,     /* no other server is tried any more */
};

/* Who has had the last word: 0 nobody yet, 1.. attempt done - 1, or an answer of ours. */
enum { SIP_DONE_CANCEL = 8, SIP_DONE_TIMEOUT, SIP_DONE_REFUSED, SIP_DONE_UNREACHED };

struct sip_hold {
	uint32_t server[SIP_TRIES_MAX]; /* in the order of the attempts */
	uint32_t n : 3;                 /* attempts; the last one is the current. 0: nothing is held, and it went outward (outward.c) */
	uint32_t resent : 1;            /* the current attempt went out anew, as its connection had ended without an answer */
	uint32_t by_length : 1;         /* it goes over TCP to who is reached by UDP, and what follows it does */
	uint32_t done : 4;
	uint32_t flags : 7;
	uint32_t seen : 8;              /* bit i: attempt i has sent a 1xx; bit 4 + i: it is over: answered for good, out of reach, or taken back */
	uint32_t refused : 8;           /* the best of those of failover-codes that were passed over, less SIP_REFUSED_AT; 0: none */
	uint32_t born, tried, again;    /* when it came, when the current attempt began (or CANCEL followed it), when that is repeated: ms, the low 32 bits */
};
_Static_assert(sizeof(struct sip_hold) == HF_HOLD_STATE, "hold");

/* What one step of a hold leaves for the next, behind ASK. */
struct sip_turn {
	enum { SIP_TURN_ON, SIP_TURN_REPEAT, SIP_TURN_NEXT, SIP_TURN_CANCEL } what;
	uint32_t server;         /* ON, REPEAT, CANCEL: it alone */
	bool again;              /* CANCEL: it has had one */
	struct sip_step request; /* NEXT, REPEAT, CANCEL: what is held, read again */
	bool has_answer;         /* NEXT: s->p is an answer that would have been the last */
	struct sip_hf hf;        /* its */
	unsigned reason;         /* NEXT: why */
};

enum {
	SIP_SAY_100_MS = 200,      /* RFC 3261 17.2.1 */
	SIP_T1_MS = 500, SIP_T2_MS = 4000, /* RFC 3261 17.1.1.1 */
	SIP_T4_MS = 5000,          /* so long a message may be under way: what comes later is no copy of the request */
	SIP_CANCEL_MS = 16 * SIP_T1_MS, /* a server that rang may be silent to CANCEL for so long: four of them are lost, or it is dead. The client waits four times as long (9.1) */
	SIP_LIMIT_MS = 32000,      /* Timers B and F: the client waits no longer, and answers are repeated so long */
};

static inline uint32_t sip_ms_since(const struct sip_step *s, uint32_t then) { return (uint32_t)s->ctx->now_ms - then; }
static inline uint32_t sip_ms_left(const struct sip_step *s, uint32_t then, uint64_t ms) { return sip_ms_since(s, then) < ms ? (uint32_t)ms - sip_ms_since(s, then) : 0; }

/* Which of several answers is to go up: 6xx, else one of the lower class (RFC 3261 16.7 step 6). 0 comes behind all. */
enum { SIP_REFUSED_AT = 399 };
static inline unsigned sip_answer_rank(unsigned status) { return status >= 600 ? 0 : status ? status / 100 : 9; }
static inline unsigned sip_held_refused(const struct sip_hold *h) { return h->refused ? h->refused + SIP_REFUSED_AT : 0; }

static inline void sip_held_refuse(struct sip_hold *h, unsigned status)
{
	if (status == 503 || status == 401 || status == 407) /* 503 would speak of us, and a challenge is none without the server's words */
		status = 500;
	if (sip_answer_rank(status) < sip_answer_rank(sip_held_refused(h)))
		h->refused = (status < SIP_REFUSED_AT + 256 ? status : 600) - SIP_REFUSED_AT; /* who counts what nobody knows has its class */
}

static inline bool sip_held_outward(const struct sip_hold *h) { return h->n == 0; }
static inline unsigned sip_held_current(const struct sip_hold *h) { return h->n - 1u; }
static inline bool sip_held_rang(const struct sip_hold *h, unsigned i) { return h->seen >> i & 1; }
static inline bool sip_held_over(const struct sip_hold *h, unsigned i) { return h->seen >> (4 + i) & 1; }
static inline void sip_held_end(struct sip_hold *h, unsigned i) { h->seen |= (uint8_t)(16u << i); }

static inline int sip_held_attempt(const struct sip_hold *h, uint32_t server)
{
	for (int i = h->n - 1; i >= 0; i--)
		if (h->server[i] == server)
			return i;
	return -1;
}

static inline bool sip_held_repeats(const struct sip_hold *h) { return h->flags & SIP_H_REPEATS && !sip_held_over(h, sip_held_current(h)); }

static inline bool sip_held_all_over(const struct sip_hold *h, unsigned but)
{
	for (unsigned i = 0; i < h->n; i++)
		if (i != but && !sip_held_over(h, i))
			return false;
	return true;
}

/* A note: octet 0 what, 2 status, 4 server. */
enum { SIP_NOTE_ANSWER = 1, SIP_NOTE_FAILED = 2, SIP_NOTE_DATAGRAM = 3 /* it has gone as a datagram after all */ };

/* ---- hold.c: what is kept, and who is asked ---- */

/* Behind the SEND of a first attempt: it is kept. */
void sip_hold_begin(struct sip_step *s, const struct hf_chosen *c);
void sip_hold_choice(struct sip_step *s, struct sip_hold *h, const struct hf_chosen *c);
/* HOLD with this state; the deadline that an open one needs; both. */
struct hf_act *sip_held_keep(struct sip_step *s, const struct sip_hold *h, uint32_t ms);
uint32_t sip_held_next_ms(const struct sip_step *s, const struct sip_hold *h);
void sip_held_go_on(struct sip_step *s, const struct sip_hold *h);
/* In the arena; NULL: no room. */
struct sip_turn *sip_turn_new(struct sip_step *s, int what);
/* Asks for one server and no other, p being what the next step finds. The last act of a step. */
void sip_held_ask(struct sip_step *s, struct sip_parcel *p, struct sip_turn *t, uint32_t server);
/* An attempt that rings and has lost: from now on it is over. -1: there is none. */
int sip_held_loser(struct sip_hold *h);
/* Its request is taken back, if there is one. The last act of a step. */
void sip_held_take_back(struct sip_step *s, const struct sip_hold *h, int loser);
/* The client has its answer: who is still at it elsewhere need not go on. */
void sip_held_finish(struct sip_step *s, struct sip_hold *h);
void sip_held_evidence(struct sip_step *s, uint32_t server);
/* Our own answer, h->done from now on; r: to what; NULL: it cannot be told. */
void sip_held_answer(struct sip_hold *h, struct sip_step *r, uint8_t done);
/* done: by what answer of ours. */
void sip_held_end_entry(struct sip_step *s, const struct sip_hold *h, const struct sip_step *r, uint8_t done);
void sip_held_give_up(struct sip_step *s, struct sip_hold *h, struct sip_step *r);
/* Asks for the next server; s->p may be an answer that is kept back meanwhile. False: there is no next attempt. */
bool sip_held_ask_next(struct sip_step *s, struct sip_hold *h, struct sip_turn *t);
/* The answer s->p of attempt i goes to the client, as the last word. */
void sip_held_relay(struct sip_step *s, struct sip_hold *h, const struct sip_hf *hf, int i);
/* The answer s->p goes no further; its server is told that it has arrived. r: the request, NULL: no room for it. */
void sip_held_absorb(struct sip_step *s, const struct sip_hold *h, struct sip_step *r, uint32_t server);
/* The answer s->p could have been made good by another server, and there is none: it goes up, or a better one that was passed over before, in our words.
 * r NULL: no room for those. */
void sip_held_last(struct sip_step *s, struct sip_hold *h, struct sip_step *r, const struct sip_hf *hf);

/* ---- react.c: the events ---- */

/* A request of its client: again, CANCEL or ACK. False: it is another one with the same branch. */
bool sip_hold_client(struct sip_step *s, struct sip_hold *h);
void sip_hold_note(struct sip_step *s, struct sip_hold *h, struct hf_bytes note);
/* A final answer that the hold is to see. */
void sip_hold_answer(struct sip_step *s, struct sip_hold *h, const struct sip_hf *hf);
void sip_hold_wake(struct sip_step *s, struct sip_hold *h);
/* It has gone to a server as a datagram, for want of a connection. */
void sip_hold_datagram(struct sip_step *s, struct sip_hold *h, uint32_t server);
/* Its connection to a server has ended. */
void sip_hold_lost(struct sip_step *s, struct sip_hold *h, uint32_t server, unsigned reason);
/* It could not be sent. */
void sip_hold_failed(struct sip_step *s, struct sip_hold *h, uint32_t server, unsigned reason);

/* ---- attempt.c: what goes out for it ---- */

/* Reads what is held again. False: it is kept no more, or there is no room. */
bool sip_held_read(struct sip_step *s, struct sip_step *out);
/* The tag of the request's transaction: what repeats it, cancels it or acknowledges its refusal has the same. */
uint64_t sip_held_tag(const struct sip_step *s);
/* Sends r to a server as to_server does (front.c). False: no room. */
bool sip_send_to(struct sip_step *r, const struct hf_chosen *c);
/* ACK of the answer s->p, which goes no further (RFC 3261 17.1.1.3). r: what is held; NULL: it is kept no more. */
void sip_send_ack(struct sip_step *s, const struct sip_step *r, uint32_t server);
/* CANCEL of what went to c. */
void sip_send_cancel(struct sip_step *r, const struct hf_chosen *c);
void sip_note_answer(struct sip_step *s, const struct sip_hf *hf);
void sip_note_failed(struct sip_step *s, const struct sip_hf *hf);
void sip_note_datagram(struct sip_step *s, const struct sip_hf *hf);

#endif
