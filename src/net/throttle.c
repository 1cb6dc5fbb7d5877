/* Connections of sources that say more than they may (max-rate-source): not read until their source has a share of a second again, and so slowed
 * down by the transport itself. Nothing of theirs is lost or overtaken, and what waits is at most a buffer of each. First come, first served: who
 * waits is asked again a few times a second, by one timer a worker. Called by stream.c. */
#include "flow.h"
#include "guard.h"

#define LOOK_MS 50 /* a rate is kept however long this is: a bucket holds a second's worth; as often as a phone or trunk may be late unheard */

static void look(void *arg)
{
	struct worker *w = arg;
	struct flow *list = w->slow.first;

	worker_clock(w);
	w->slow.first = NULL;
	w->slow.end = &w->slow.first;
	for (struct flow *next; list; list = next) {
		next = list->stream->next_slow;
		list->stream->slow = SLOW_ASKED;
		stream_again(list);
	}
	worker_flush(w);
}

/* False: no memory for the timer, so that it does not wait. */
static bool enter(struct worker *w, struct flow *f)
{
	if (!w->slow.timer.of && !timer_init(&w->slow.timer, poller_timers(w->poller), look, w))
		return false;
	if (!w->slow.first)
		timer_set(&w->slow.timer, LOOK_MS);
	f->stream->next_slow = NULL;
	*w->slow.end = f;
	w->slow.end = &f->stream->next_slow;
	return true;
}

bool throttle_waits(struct flow *f, const struct snap_service *s)
{
	if (f->stream->slow == SLOW_WAITS)
		return true;
	if (!s->conf->max_rate_source || f->stream->link || !guard_over(f->w, s, snap_listener(s, f->listener, NULL), &f->source) || !enter(f->w, f))
		return false;
	if (f->stream->slow == SLOW_NOT)
		worker_count(f->w, f->rt, HF_R_SOURCE_RATE);
	f->stream->slow = SLOW_WAITS;
	return true;
}

void throttle_heard(struct flow *f, const struct snap_service *s)
{
	f->stream->slow = SLOW_NOT;
	if (s->conf->max_rate_source && !f->stream->link)
		guard_heard(f->w, s, &f->source);
}

void throttle_forget(struct flow *f)
{
	struct flow **at = &f->w->slow.first;

	if (f->stream->slow != SLOW_WAITS)
		return;
	while (*at != f)
		at = &(*at)->stream->next_slow;
	*at = f->stream->next_slow;
	if (!*at)
		f->w->slow.end = at;
	f->stream->slow = SLOW_NOT;
}
