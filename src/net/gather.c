/* Gathering: a socket that datagrams reach faster than is worth a wake each is read once a pause instead of once an arrival, as network
 * cards moderate their interrupts. A wake costs as much as the work on a message, so that at thousands a second a fifth to a third of the
 * processor time is saved, for a delay of at most the pause; where little comes, nothing is delayed. Called by udp.c; one a worker and socket.
 * Only the socket waits: timers, letters and connections of the worker go on. */
#include "inside.h"

#define WINDOW_MS 8 /* over which arrivals are counted: some pauses, so that one burst of a quiet peer begins nothing */
#define BEGIN 2     /* datagrams a pause from which on it pays; below, the timer costs what the wakes did */
#define END 1       /* and at fewer it ends */

static void again(void *arg)
{
	struct listening *l = arg;

	udp_readable(l, HF_READ);
}

static bool pays(const struct gather *g, uint64_t ms, uint64_t pause_ms)
{
	return pause_ms && (uint64_t)g->seen * pause_ms >= (g->on ? END : BEGIN) * ms;
}

static bool ready(struct listening *l)
{
	if (!l->pause)
		l->pause = hf_timer_new(l->w->loop, again, l);
	return l->pause != NULL;
}

void gather_turn(struct listening *l, unsigned got, bool more)
{
	struct gather *g = &l->gather;
	uint64_t pause_ms = l->w->snap->conf->gateway.udp_gather, ms = l->w->now_ms - g->since_ms;

	g->seen += got;
	if (ms >= WINDOW_MS) {
		g->on = pays(g, ms, pause_ms) && ready(l);
		g->since_ms = l->w->now_ms;
		g->seen = 0;
	}
	hf_watch_set(l->watch, g->on ? 0 : HF_READ);
	if (g->on)
		hf_timer_set(l->pause, more ? 0 : pause_ms);
}

void gather_stop(struct listening *l)
{
	if (l->gather.on)
		hf_timer_stop(l->pause);
	l->gather = (struct gather){0};
}
