/* A flow of the RDP front: its state, and what the files of its steps share (flow.c, ask.c, session.c).
 * A flow goes OPENING -> ASKED -> (HELD -> ASKED)* -> RELAYED. The request itself stays in net's buffer and is read again when needed. */
#ifndef HOLDFAST_RDP_FLOW_H
#define HOLDFAST_RDP_FLOW_H

#include "holdfast/front.h"

enum phase { OPENING, ASKED, HELD, RELAYED };

struct rdp_flow {
	uint64_t started_ms;  /* first choice: dial-limit counts from here */
	uint64_t hold_until_ms; /* the server chosen is waited for until then, should it not answer */
	uint64_t asked_fp;    /* the key that was asked for with an entry; 0 = none */
	uint64_t entry_fp;    /* the entry that counts this flow as live; 0 = none */
	uint64_t alias_fp;    /* the source, as a second name of a user's bond; 0 = none yet */
	uint64_t other_fp;    /* how the same user may be written, as another name; 0 = none */
	uint64_t unclaimed_fp; /* by_source: its session is one of nobody known, and this says so; by_user: it was taken to such a one; 0: not */
	uint64_t id_fp;       /* the connection's id, as another name of it; 0 = none */
	uint64_t id_name;     /* the connection's id, for what comes by UDP; 0 = none */
	uint32_t server, linger_s, sent;
	uint16_t blob;      /* octets before its request */
	uint8_t phase, nth; /* nth: of its source's bonds, where that decides */
	bool asked_before : 1;
	bool again : 1;     /* its last question was for another host than those that failed */
	bool found : 1;     /* its entry was there before it */
	bool bound : 1;     /* to the server chosen, as long as that may come back */
	bool known : 1;     /* its entry is firm, or not to be made tentative by us */
	bool moved : 1;     /* it was bound and had to leave */
	bool counted : 1;   /* its entry is */
	bool by_user : 1, by_source : 1, confirmed : 1;
	bool proved : 1;    /* firm-after octets went each way */
	bool named : 1;     /* a token or a connection's id came before its key: whose entry it is shows in the answer */
	bool direct : 1;    /* TLS in place of a request */
	bool leg : 1;       /* a later leg of a redirect may belong where this one was */
	bool placed : 1;    /* its pool is settled */
	bool brief : 1;     /* its entry's key is a connection's id, which is of no use once that is over */
};
_Static_assert(sizeof(struct rdp_flow) <= HF_FLOW_STATE, "flow state");

/* flow.c: acts that several steps use */
void flow_close(struct hf_acts *acts, unsigned reason);
void flow_refuse(struct hf_acts *acts, unsigned reason);
void flow_count(struct hf_acts *acts, unsigned reason); /* a fact; 0 is none */
struct hf_act *flow_learn(struct hf_acts *acts, struct hf_key key, enum hf_life life, const struct rdp_flow *f);
unsigned flow_flags(const struct rdp_flow *f);          /* of its entry */
uint32_t flow_linger_s(const struct hf_ctx *ctx, const struct rdp_flow *f);
#define LEG_S 10u /* a second leg of a redirect follows the first within seconds */
static inline struct hf_key flow_key(uint64_t fp) { return (struct hf_key){.fp = fp}; }

/* ask.c: until a host has taken the connection */
void ask_opening(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts); /* octets of the client */
void ask_choice(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts);
void ask_fail(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts);
void ask_again(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts);   /* a hold is over */

/* session.c: from there on */
void session_reply(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts); /* octets of the host */
void session_firm(struct rdp_flow *f, struct hf_acts *acts);
void session_end(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts);

#endif
