/* Where names of next hops lead, as name servers said last: a bounded table, one of each worker and one of the control thread (private to net).
 * Of one thread each. */
#ifndef NET_LEADS_H
#define NET_LEADS_H

#include "holdfast/front.h"

#define LEAD_HOST 254      /* octets of the longest name (RFC 1035 2.3.4), and a NUL */

/* What is asked. */
struct lead_name {
	uint16_t service;       /* id: its front's ways */
	uint16_t ways;          /* as in hf_seek */
	char host[LEAD_HOST];  /* small letters */
};

/* One place of an answer. */
struct spot {
	struct hf_addr addr;
	uint16_t priority, weight; /* RFC 2782: the lower number first; a share among equals */
	uint8_t transport;      /* HF_TRANSPORTS: the name's own address, whose transport and port are the asker's */
};
struct spots {
	uint32_t keep_ms;       /* so long it holds */
	unsigned n;             /* 0: nowhere */
	struct spot spot[HF_PLACES_MAX];
};

struct hold;
struct search;
struct lead { /* a name and what is known of it */
	struct lead *next;
	struct lead_name name;
	uint64_t until_ms;      /* `said` holds till then; 0: nothing was said */
	bool asked;             /* the answer is on its way: it is not forgotten */
	struct spots said;
	union {
		struct { struct hold *first, *last; } waiting; /* a worker's: parcels, in order */
		struct { struct search *search; uint64_t workers; } wanted; /* the control thread's: what is under way, who wants to know */
	};
};

struct leads;
struct leads *leads_new(const uint8_t key[16], unsigned max) HF_MUST_USE;
void leads_free(struct leads *t);
struct lead *leads_find(const struct leads *t, const struct lead_name *name);
/* A new one, in whose place another may have gone: the one whose answer ends first. NULL: all are asked for, or no memory. */
struct lead *leads_add(struct leads *t, const struct lead_name *name) HF_MUST_USE;
/* What was said holds no longer. */
void leads_forget(struct leads *t);
/* Calls for each. */
void leads_each(struct leads *t, void (*fn)(void *arg, struct lead *p), void *arg);

static inline bool lead_is_known(const struct lead *p, uint64_t now_ms) { return p->until_ms > now_ms; }

/* The first of all that were found, which are sorted: neither their order nor who is left out depends on an answer's. */
void spots_take(struct spots *out, struct spot *all, unsigned n);
/* The order for one asker: by priority, then by weight, where equal numbers `spread` give an equal order (RFC 2782, RFC 3263 4.3). */
void spots_order(const struct spots *s, const struct hf_seek *q, struct hf_found *out);

#endif
