/* What a link to a member has carried for holds. What was written to a connection is in nobody's hands: when that breaks before an answer the message may
 * be lost, and a client on a connection does not send it again. So each link knows the names of the last holds that it was used for, and tells them of its
 * end; whether there was an answer the front knows. Called by deliver.c and stream.c. Knows no protocol. */
#include "awaited.h"

#include <stdlib.h>

#define NAMES 256u /* of one link: an answer takes a few milliseconds, as a rule */

struct awaited {
	unsigned n; /* how many there were */
	struct { uint32_t slot, generation; } at[NAMES];
};

void awaited_add(struct flow *link, const struct hf_flow_name *hold)
{
	struct awaited *a = link->stream->carried;

	if (!a)
		a = link->stream->carried = calloc(1, sizeof *a);
	if (!a)
		return; /* then its front's deadline is all there is */
	a->at[a->n % NAMES].slot = hold->slot;
	a->at[a->n++ % NAMES].generation = hold->generation;
}

/* What went by this link more than once, again for its client or its CANCEL, is told once: a second word would say that the same had failed twice. */
static bool was_told(const struct awaited *a, unsigned from, unsigned i)
{
	while (from < i && (a->at[from % NAMES].slot != a->at[i % NAMES].slot || a->at[from % NAMES].generation != a->at[i % NAMES].generation))
		from++;
	return from < i;
}

static void tell(struct flow *link, struct hold *x)
{
	struct worker *w = link->w;
	struct hf_event came;
	struct parcel p;

	hf_arena_reset(&w->arena);
	if (!hold_parcel(w, x, &p)) {
		hold_end(w, x);
		return;
	}
	p.chosen.server = link->server_hash;
	p.ev.kind = HF_EV_FAIL;
	p.ev.bytes = HF_NONE;
	p.ev.reason = link->end == HF_R_DONE ? HF_R_FLOW_GONE : link->end;
	p.ev.chosen = &p.chosen;
	deliver_enter(&p, x, &came);
	deliver_run(&p);
}

void awaited_lost(struct flow *link)
{
	struct awaited *a = link->stream->carried;
	struct worker *w = link->w;

	unsigned from = a && a->n > NAMES ? a->n - NAMES : 0;

	for (unsigned i = from; a && w->snap && i < a->n; i++) {
		const struct hf_flow_name name = {(uint8_t)w->index, a->at[i % NAMES].slot, a->at[i % NAMES].generation, w->net->site.boot};
		struct hold *x = was_told(a, from, i) ? NULL : hold_find(w, link->rt, &name);

		if (x)
			tell(link, x);
	}
}
