/* Event loops over libevent: the only file that includes it. See holdfast/loop.h.
 * Bases are made without locks (one thread each); other threads wake a loop through an eventfd that it watches. */
#include "holdfast/loop.h"

#include <event2/event.h>
#include <stdlib.h>

struct hf_loop {
	struct event_base *base;
};

struct hf_watch {
	struct hf_loop *loop;
	struct event *ev;
	hf_watch_fn *fn;
	void *arg;
	int fd;
	unsigned what;
};

struct hf_timer {
	struct event *ev;
	hf_timer_fn *fn;
	void *arg;
};

struct hf_loop *hf_loop_new(void)
{
	struct event_config *cfg = event_config_new();
	struct hf_loop *l = calloc(1, sizeof *l);

	if (cfg && l) {
		event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
		l->base = event_base_new_with_config(cfg);
	}
	if (cfg)
		event_config_free(cfg);
	if (l && l->base)
		return l;
	free(l);
	return NULL;
}

void hf_loop_free(struct hf_loop *l)
{
	if (!l)
		return;
	event_base_free(l->base);
	free(l);
}

void hf_loop_run(struct hf_loop *l) { event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY); }
void hf_loop_stop(struct hf_loop *l) { event_base_loopbreak(l->base); }

static void ready(evutil_socket_t fd, short what, void *arg)
{
	struct hf_watch *w = arg;

	(void)fd;
	w->fn(w->arg, (what & (EV_READ | EV_SIGNAL) ? HF_READ : 0u) | (what & EV_WRITE ? HF_WRITE : 0u));
}

struct hf_watch *hf_watch_new(struct hf_loop *l, int fd, unsigned what, hf_watch_fn *fn, void *arg)
{
	struct hf_watch *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	*w = (struct hf_watch){.loop = l, .fn = fn, .arg = arg, .fd = fd};
	w->ev = event_new(l->base, fd, EV_PERSIST, ready, w);
	if (!w->ev) {
		free(w);
		return NULL;
	}
	hf_watch_set(w, what);
	return w;
}

void hf_watch_set(struct hf_watch *w, unsigned what)
{
	short flags = (short)(EV_PERSIST | (what & HF_READ ? EV_READ : 0) | (what & HF_WRITE ? EV_WRITE : 0));

	if (w->what == what)
		return;
	event_del(w->ev);
	event_assign(w->ev, w->loop->base, w->fd, flags, ready, w);
	w->what = what;
	if (what)
		event_add(w->ev, NULL);
}

void hf_watch_free(struct hf_watch *w)
{
	if (!w)
		return;
	event_free(w->ev);
	free(w);
}

static void expired(evutil_socket_t fd, short what, void *arg)
{
	struct hf_timer *t = arg;

	(void)fd;
	(void)what;
	t->fn(t->arg);
}

struct hf_timer *hf_timer_new(struct hf_loop *l, hf_timer_fn *fn, void *arg)
{
	struct hf_timer *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->fn = fn;
	t->arg = arg;
	t->ev = evtimer_new(l->base, expired, t);
	if (t->ev)
		return t;
	free(t);
	return NULL;
}

void hf_timer_set(struct hf_timer *t, uint64_t ms)
{
	struct timeval tv = {(time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000)};

	evtimer_add(t->ev, &tv);
}

void hf_timer_stop(struct hf_timer *t) { evtimer_del(t->ev); }

void hf_timer_free(struct hf_timer *t)
{
	if (!t)
		return;
	event_free(t->ev);
	free(t);
}

struct hf_watch *hf_loop_signal(struct hf_loop *l, int signo, hf_watch_fn *fn, void *arg)
{
	struct hf_watch *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	*w = (struct hf_watch){.loop = l, .fn = fn, .arg = arg, .fd = signo};
	w->ev = evsignal_new(l->base, signo, ready, w);
	if (!w->ev || evsignal_add(w->ev, NULL) != 0) {
		if (w->ev)
			event_free(w->ev);
		free(w);
		return NULL;
	}
	return w;
}
