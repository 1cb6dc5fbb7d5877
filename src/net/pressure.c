/* Is a worker behind with its datagrams? A socket that is never read empty, turn after turn, brings more than is done: what the system drops then is
 * anybody's. So new sessions are refused meanwhile (ask.c), which is cheaper than to carry them, and leaves room for those that are up. It takes a
 * second to begin, for a burst and a pause of the machine are caught up with in less, and ends with the first turn that finds the end of the queue;
 * when it was so a moment ago it begins at once. Called by udp.c; pure but for the worker's mark. */
#include "udp.h"

enum {
	BEGIN_MS = 1000, /* twice what a client waits before it asks again (RFC 3261 17.1.1.1, T1) */
	GAP_MS = 100,    /* turns of a socket that is never empty follow each other; after this it was empty, or the machine was busy with others */
	AGAIN_MS = 5000, /* so long it is known to be behind: without that it would lose half a second of each */
	HOLDS_MS = 100,  /* behind the last such turn: turns of other sockets come between */
};

void pressure_turn(struct listening *l, bool full)
{
	struct worker *w = l->w;
	struct pressure *p = &l->pressure;

	if (!full) {
		p->since_ms = 0;
		return;
	}
	if (!p->since_ms || w->now_ms > p->last_ms + GAP_MS)
		p->since_ms = w->now_ms;
	p->last_ms = w->now_ms;
	if (w->now_ms < p->since_ms + BEGIN_MS && (!p->high_ms || w->now_ms >= p->high_ms + AGAIN_MS))
		return;
	p->high_ms = w->now_ms;
	w->sheds_until_ms = w->now_ms + HOLDS_MS;
}
