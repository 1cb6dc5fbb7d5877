/* What is told in place of doing it, counting it, asking it, where a parcel is a story (private to net); explain.c. */
#ifndef NET_EXPLAIN_H
#define NET_EXPLAIN_H

#include "inside.h"

void explain_act(struct parcel *p, const struct hf_act *act);
void explain_beside(struct parcel *p, const struct hf_act *act, const struct hf_answer *a);
/* near: what nearly_hinted in ask.c found, or NULL. */
void explain_ask(struct parcel *p, const struct hf_act *act, const struct hf_question *q, const struct snap_member *near, struct hf_answer *a);
/* It was refused before anybody was chosen: what the front does then says why. */
void explain_shed(struct parcel *p, const struct hf_act *act, const struct hf_question *q);

#endif
