/* Gathering: a socket that datagrams reach faster than is worth a wake each is read once a pause instead of once an arrival, as network
 * cards moderate their interrupts. A wake costs as much as the work on a message, so that at thousands a second up to two fifths of the
 * processor time are saved, for a delay of at most the pause; where little comes, nothing is delayed. Called by udp.c; one a worker and socket.
 * Only the socket waits: timers, letters and connections of the worker go on. */
#include "udp.h"

#define WINDOW_MS 8 /* over which arrivals are counted: some pauses, so that one burst of a quiet peer begins nothing */
#define BEGIN 3     /* datagrams a pause from which on it pays; at two, the pauses' wakes cost what the others did */
#define END 2       /* and at fewer it ends */

static void again(void *arg) { udp_readable(arg, HF_READ); }

static bool pays(const struct gather *g, uint64_t ms, uint64_t pause_ms)
{
	return pause_ms && (uint64_t)g->seen * pause_ms >= (g->pause_ms ? END : BEGIN) * ms;
}

static void set_pause(struct listening *l, uint64_t ms)
{
	struct gather *g = &l->gather;

	if (g->timer.of || timer_init(&g->timer, poller_timers(l->w->poller), again, l))
		g->pause_ms = ms;
}

/* What cannot be watched again goes on being read once a pause: nobody else would ever read it. */
static void leave(struct listening *l)
{
	if (watch_set(&l->watch, HF_READ))
		l->gather.pause_ms = 0;
}

void gather_turn(struct listening *l, unsigned got, bool more)
{
	struct gather *g = &l->gather;
	uint64_t pause_ms = l->w->snap->conf->gateway.udp_gather, ms = l->w->now_ms - g->since_ms;

	g->seen += got;
	if (ms >= WINDOW_MS) {
		if (pays(g, ms, pause_ms))
			set_pause(l, pause_ms);
		else
			leave(l);
		g->since_ms = l->w->now_ms;
		g->seen = 0;
	}
	watch_set(&l->watch, g->pause_ms && !more ? 0 : HF_READ);
	if (g->pause_ms)
		timer_at(&g->timer, l->w->now_ms + g->pause_ms);
	else if (g->timer.of)
		timer_stop(&g->timer);
}

void gather_free(struct listening *l) { timer_fini(&l->gather.timer); }
