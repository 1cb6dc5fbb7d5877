/* Names of next hops, looked up for workers (private to net). The names are those that members' requests bring: seek.c asks for nobody else. */
#ifndef NET_SEARCH_H
#define NET_SEARCH_H

#include "leads.h"

struct hf_net;
struct searches;

/* Control thread. */
struct searches *searches_new(struct hf_net *net) HF_MUST_USE;
void searches_free(struct searches *s); /* when the workers have stopped */
/* A reload: whoever was asked before does not answer any more, and what was said holds no longer. */
void searches_afresh(struct searches *s);

/* A worker: the answer comes to it as a letter, FOUND, with these octets; at once, if it is known. False: as many questions wait as may. */
bool search_ask(struct searches *s, unsigned worker, const struct lead_name *name) HF_MUST_USE;
struct search_said { struct lead_name name; struct spots said; };

#endif
