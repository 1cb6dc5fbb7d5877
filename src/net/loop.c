/* Event loops over libevent: the only file that includes it. See holdfast/loop.h.
 * Bases are made without locks (one thread each); other threads wake a loop through an eventfd that it watches. Room for the library's
 * part is what the library that is loaded says. */
#include "holdfast/loop.h"

#include <event2/event.h>
#include <stdlib.h>

struct hf_loop {
	struct event_base *base;
};

/* libevent's event stands behind each. */
struct hf_watch {
	hf_watch_fn *fn;
	void *arg;
	unsigned what; /* that it watches for */
};
struct hf_timer {
	hf_timer_fn *fn;
	void *arg;
};

static struct event *event_of(struct hf_watch *w) { return (struct event *)(void *)(w + 1); }
static struct event *event_of_timer(struct hf_timer *t) { return (struct event *)(void *)(t + 1); }

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

static short flags(unsigned what) { return (short)(EV_PERSIST | (what & HF_READ ? EV_READ : 0) | (what & HF_WRITE ? EV_WRITE : 0)); }

struct hf_watch *hf_watch_new(struct hf_loop *l, int fd, unsigned what, hf_watch_fn *fn, void *arg)
{
	struct hf_watch *w = calloc(1, sizeof *w + event_get_struct_event_size());

	if (!w)
		return NULL;
	*w = (struct hf_watch){fn, arg, what};
	event_assign(event_of(w), l->base, fd, flags(what), ready, w);
	if (!what || event_add(event_of(w), NULL) == 0)
		return w;
	free(w);
	return NULL;
}

bool hf_watch_set(struct hf_watch *w, unsigned what)
{
	struct event *e = event_of(w);

	if (w->what == what)
		return true;
	event_del(e);
	event_assign(e, event_get_base(e), event_get_fd(e), flags(what), ready, w);
	w->what = !what || event_add(e, NULL) == 0 ? what : 0;
	return w->what == what;
}

void hf_watch_free(struct hf_watch *w)
{
	if (!w)
		return;
	event_del(event_of(w));
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
	struct hf_timer *t = calloc(1, sizeof *t + event_get_struct_event_size());

	if (!t)
		return NULL;
	*t = (struct hf_timer){fn, arg};
	evtimer_assign(event_of_timer(t), l->base, expired, t);
	return t;
}

void hf_timer_set(struct hf_timer *t, uint64_t ms)
{
	struct timeval tv = {(time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000)};

	evtimer_add(event_of_timer(t), &tv);
}

void hf_timer_stop(struct hf_timer *t) { evtimer_del(event_of_timer(t)); }

void hf_timer_free(struct hf_timer *t)
{
	if (!t)
		return;
	evtimer_del(event_of_timer(t));
	free(t);
}

struct hf_watch *hf_loop_signal(struct hf_loop *l, int signo, hf_watch_fn *fn, void *arg)
{
	struct hf_watch *w = calloc(1, sizeof *w + event_get_struct_event_size());

	if (!w)
		return NULL;
	*w = (struct hf_watch){.fn = fn, .arg = arg};
	evsignal_assign(event_of(w), l->base, signo, ready, w);
	if (evsignal_add(event_of(w), NULL) == 0)
		return w;
	free(w);
	return NULL;
}
