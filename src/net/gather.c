/* Gathering: a socket that datagrams reach faster than is worth a wake each is read once a pause instead of once an arrival, as network
 * cards moderate their interrupts. A wake costs as much as the work on a message, so that at thousands a second a quarter of the
 * processor time is saved, for a delay of at most the pause; where little comes, nothing is delayed. Called by udp.c; one a worker and socket.
 * Only the socket waits: timers, letters and connections of the worker go on. */
#include "inside.h"

#include <sys/timerfd.h>
#include <unistd.h>

#define WINDOW_MS 8 /* over which arrivals are counted: some pauses, so that one burst of a quiet peer begins nothing */
#define BEGIN 4     /* datagrams a pause from which on it pays; at two, the timer costs what the wakes did */
#define END 3       /* and at fewer it ends */

/* A descriptor of its own for the pauses: the loop's timers go by a clock of four milliseconds. */
static void again(void *arg, unsigned what)
{
	struct listening *l = arg;
	uint64_t ticks;

	if (read(l->gather.fd, &ticks, sizeof ticks) == (ssize_t)sizeof ticks)
		udp_readable(l, what);
}

static bool tick_every(struct gather *g, uint64_t ms)
{
	struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
	struct itimerspec each = {t, t};

	return timerfd_settime(g->fd, 0, &each, NULL) == 0;
}

static bool pays(const struct gather *g, uint64_t ms, uint64_t pause_ms)
{
	return pause_ms && (uint64_t)g->seen * pause_ms >= (g->pause_ms ? END : BEGIN) * ms;
}

static bool ready(struct listening *l)
{
	struct gather *g = &l->gather;

	if (g->watch.of)
		return true;
	g->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (g->fd < 0)
		return false;
	watch_init(&g->watch, l->w->poller, g->fd, again, l);
	if (!watch_set(&g->watch, HF_READ))
		watch_close(&g->watch);
	return g->watch.of != NULL;
}

static void set_pause(struct listening *l, uint64_t ms)
{
	struct gather *g = &l->gather;

	if (ms != g->pause_ms && ready(l))
		g->pause_ms = tick_every(g, ms) ? ms : 0;
}

/* What cannot be watched again goes on being read once a pause: nobody else would ever read it. */
static void leave(struct listening *l)
{
	if (watch_set(&l->watch, HF_READ))
		set_pause(l, 0);
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
}

void gather_free(struct listening *l)
{
	watch_close(&l->gather.watch);
}
