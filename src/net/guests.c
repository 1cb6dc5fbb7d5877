/* See holdfast/guests.h. Called by http.c and by app's admin socket. */
#include "holdfast/guests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "holdfast/log.h"
#include "holdfast/reason.h"

#define DEADLINE_MS 5000
#define PAUSE_MS 200 /* before accept is tried again when descriptors or memory have run out */

struct hf_guests {
	struct hf_loop *loop;
	const struct hf_guest_kind *kind;
	void *arg;
	int fd, reserve;
	struct hf_watch *watch;
	struct hf_timer *resume;
	unsigned n;
	struct hf_guest *guest[]; /* kind->max */
};

static void keep_reserve(struct hf_guests *s)
{
	if (s->reserve < 0)
		s->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void hf_guest_end(struct hf_guest *g)
{
	struct hf_guests *s = g->in;
	unsigned i = 0;

	s->kind->leave(g);
	while (s->guest[i] != g)
		i++;
	s->guest[i] = s->guest[--s->n];
	hf_watch_free(g->watch);
	hf_timer_free(g->timer);
	close(g->fd);
	free(g);
	keep_reserve(s);
	hf_watch_set(s->watch, HF_READ);
}

enum hf_err hf_guest_send(struct hf_guest *g, struct hf_bytes octets, size_t *sent)
{
	while (*sent < octets.n) {
		ssize_t n = send(g->fd, octets.p + *sent, octets.n - *sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			hf_watch_set(g->watch, HF_WRITE);
			return HF_EFULL;
		}
		if (n <= 0)
			return HF_ECLOSED;
		*sent += (size_t)n;
		hf_timer_set(g->timer, DEADLINE_MS);
	}
	return HF_OK;
}

static void ready(void *arg, unsigned what)
{
	struct hf_guest *g = arg;

	g->in->kind->ready(g, what);
}

static void expired(void *arg) { hf_guest_end(arg); }

static void come(struct hf_guests *s, int fd)
{
	struct hf_guest *g = calloc(1, s->kind->size);

	if (!g) {
		close(fd);
		return;
	}
	*g = (struct hf_guest){.in = s, .arg = s->arg, .fd = fd, .watch = hf_watch_new(s->loop, fd, HF_READ, ready, g), .timer = hf_timer_new(s->loop, expired, g)};
	s->guest[s->n++] = g;
	if (!g->watch || !g->timer)
		hf_guest_end(g);
	else
		hf_timer_set(g->timer, DEADLINE_MS);
}

static int accept_one(struct hf_guests *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE) && s->reserve >= 0) {
		close(s->reserve);
		s->reserve = -1;
		fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	return fd;
}

static void acceptable(void *arg, unsigned what)
{
	struct hf_guests *s = arg;
	int fd = accept_one(s);

	(void)what;
	if (fd >= 0) {
		come(s, fd);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		hf_log_limited(HF_LOG_WARN, HF_R_NO_MEMORY, "event=%s-accept-failed error=\"%m\"", s->kind->name);
		hf_watch_set(s->watch, 0); /* else the loop would spin */
		hf_timer_set(s->resume, PAUSE_MS);
	}
	if (s->n == s->kind->max)
		hf_watch_set(s->watch, 0); /* until one ends */
}

static void resume(void *arg)
{
	struct hf_guests *s = arg;

	keep_reserve(s);
	if (s->n < s->kind->max)
		hf_watch_set(s->watch, HF_READ);
}

struct hf_guests *hf_guests_open(struct hf_loop *loop, int fd, const struct hf_guest_kind *kind, void *arg)
{
	struct hf_guests *s = calloc(1, sizeof *s + kind->max * sizeof s->guest[0]);

	if (!s)
		return NULL;
	*s = (struct hf_guests){.loop = loop, .kind = kind, .arg = arg, .fd = fd, .reserve = -1, .watch = hf_watch_new(loop, fd, HF_READ, acceptable, s), .resume = hf_timer_new(loop, resume, s)};
	keep_reserve(s);
	if (s->watch && s->resume)
		return s;
	hf_guests_close(s);
	return NULL;
}

void hf_guests_close(struct hf_guests *s)
{
	if (!s)
		return;
	while (s->n)
		hf_guest_end(s->guest[0]);
	hf_watch_free(s->watch);
	hf_timer_free(s->resume);
	if (s->reserve >= 0)
		close(s->reserve);
	free(s);
}
