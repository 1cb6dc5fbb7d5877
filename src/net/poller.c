/* epoll and timers in turns; see poller.h. Knows no flow, worker or protocol. */
#include "poller.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "holdfast/clock.h"

#define EVENTS 128 /* a call: more only makes the first wait longer for their answers */

struct poller {
	int ep;
	bool stop;
	int at, n;             /* of the events of this turn: which is told, how many there are */
	struct watch *again;   /* to be told behind those */
	struct timers timers;
	struct epoll_event event[EVENTS];
};

struct poller *poller_new(void)
{
	struct poller *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->ep = epoll_create1(EPOLL_CLOEXEC);
	if (p->ep >= 0)
		return p;
	free(p);
	return NULL;
}

void poller_free(struct poller *p)
{
	if (!p)
		return;
	timers_fini(&p->timers);
	close(p->ep);
	free(p);
}

struct timers *poller_timers(struct poller *p) { return &p->timers; }
void poller_stop(struct poller *p) { p->stop = true; }

/* ---- watches ---- */

void watch_init(struct watch *w, struct poller *p, int fd, hf_watch_fn *fn, void *arg)
{
	*w = (struct watch){.fn = fn, .arg = arg, .of = p, .fd = fd};
}

static uint32_t bits(unsigned what)
{
	return (what & HF_READ ? EPOLLIN : 0u) | (what & HF_WRITE ? EPOLLOUT : 0u) | (what & WATCH_EDGES ? EPOLLET | EPOLLRDHUP : 0u);
}

bool watch_change(struct watch *w, unsigned what)
{
	struct epoll_event e = {.events = bits(what), .data.ptr = w};
	int op = !what ? EPOLL_CTL_DEL : w->what ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	bool good = epoll_ctl(w->of->ep, op, w->fd, &e) == 0 || !what;

	if (!good && op == EPOLL_CTL_MOD)
		(void)epoll_ctl(w->of->ep, EPOLL_CTL_DEL, w->fd, &e);
	w->what = good ? what : 0;
	return good;
}

static void take_off(struct watch *w)
{
	if (!w->at)
		return;
	*w->at = w->next;
	if (w->next)
		w->next->at = w->at;
	w->at = NULL;
}

void watch_again(struct watch *w)
{
	if (w->at)
		return;
	w->next = w->of->again;
	w->at = &w->of->again;
	if (w->next)
		w->next->at = &w->next;
	*w->at = w;
}

/* What this turn has still to tell of it is struck out. */
static void strike(struct watch *w)
{
	struct poller *p = w->of;

	for (int i = p->at + 1; i < p->n; i++)
		if (p->event[i].data.ptr == w)
			p->event[i].data.ptr = NULL;
	take_off(w);
	w->of = NULL;
}

void watch_fini(struct watch *w)
{
	if (!w->of)
		return;
	if (w->what)
		(void)watch_change(w, 0);
	strike(w);
}

void watch_close(struct watch *w)
{
	if (!w->of)
		return;
	strike(w);
	close(w->fd);
}

/* ---- turns ---- */

static unsigned told(const struct watch *w, uint32_t e)
{
	bool end = e & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	unsigned what = (e & EPOLLIN || end ? HF_READ : 0u) | (e & (EPOLLOUT | EPOLLHUP | EPOLLERR) ? HF_WRITE : 0u);

	what &= w->what; /* which may have changed in this turn */
	return what && end && w->what & WATCH_EDGES ? what | WATCH_END : what;
}

static void tell_ready(struct poller *p)
{
	for (p->at = 0; p->at < p->n && !p->stop; p->at++) {
		struct watch *w = p->event[p->at].data.ptr;
		unsigned what = w ? told(w, p->event[p->at].events) : 0;

		if (!what)
			continue;
		if (what & HF_READ)
			take_off(w);
		w->fn(w->arg, what);
	}
	p->n = 0;
}

/* What is asked for meanwhile waits for the next turn. */
static void tell_again(struct poller *p)
{
	struct watch *list = p->again;

	p->again = NULL;
	if (list)
		list->at = &list;
	while (list) {
		struct watch *w = list;

		take_off(w);
		if (!p->stop)
			w->fn(w->arg, HF_READ);
	}
}

void poller_run(struct poller *p)
{
	uint64_t now_ms = hf_clock_ms(); /* as of the last look at the timers, when there are any */

	for (p->stop = false; !p->stop;) {
		int wait = p->again ? 0 : p->timers.n ? timers_wait(&p->timers, now_ms) : -1;

		p->n = epoll_wait(p->ep, p->event, EVENTS, wait);
		tell_ready(p);
		tell_again(p);
		if (!p->timers.n || p->stop)
			continue;
		now_ms = hf_clock_ms();
		timers_run(&p->timers, now_ms);
	}
}
