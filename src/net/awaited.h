/* What a link has carried for holds (private to net); see awaited.c. A worker's own. */
#ifndef NET_AWAITED_H
#define NET_AWAITED_H

#include "flow.h"

/* It has gone out by this link, for that hold. */
void awaited_add(struct flow *link, const struct hf_flow_name *hold);
/* The link is ending: those holds that are still there are told, as of a SEND that failed. */
void awaited_lost(struct flow *link);

#endif
