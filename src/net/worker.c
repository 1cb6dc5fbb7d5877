/* A worker: a thread with its own loop, sockets, flows, holds and buffers. It takes a new snapshot between two events and says so. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holdfast/log.h"
#include "export.h"
#include "lend.h"
#include "udp.h"
#include "notice.h"
#include "path.h"
#include "leads.h"
#include "seek.h"

static void ring(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

void worker_wake(struct worker *w) { ring(w->wake_fd); }

/* ---- listeners of the snapshot in force ---- */

static struct listening *listening_of(struct worker *w, const struct socks *x)
{
	for (unsigned i = 0; i < w->n_open; i++)
		if (w->open[i]->socks == x)
			return w->open[i];
	return NULL;
}

static bool listen_on(struct worker *w, struct socks *x)
{
	struct listening **list = realloc(w->open, (w->n_open + 1) * sizeof *list), *l = calloc(1, sizeof *l);

	if (list)
		w->open = list;
	if (!list || !l) {
		free(l);
		return false;
	}
	l->w = w;
	l->socks = x;
	watch_init(&l->watch, w->poller, x->fd[w->index], hf_transport_is_stream(x->transport) ? conn_acceptable : udp_readable, l);
	w->open[w->n_open++] = l;
	return true;
}

static void stop_listening(struct listening *l)
{
	lend_end(l);
	timer_fini(&l->pause);
	gather_free(l);
	watch_fini(&l->watch);
	free(l);
}

static void take_service(struct worker *w, const struct snap_service *s)
{
	for (unsigned i = 0; i < s->n_infos; i++) {
		struct listening *l = listening_of(w, s->socks[i]);

		if (!l && listen_on(w, s->socks[i]))
			l = w->open[w->n_open - 1];
		if (l) {
			l->service = s->rt->id;
			l->at = i;
			l->seen = true;
		}
		if (!l || (!l->away && !watch_set(&l->watch, HF_READ)))
			hf_log(HF_LOG_ERROR, "event=listen-failed service=%s worker=%u error=\"no memory\"", s->rt->name, w->index);
	}
}

static void take_snapshot(struct worker *w)
{
	struct hf_snapshot *s = atomic_exchange(&w->next, NULL);

	if (!s)
		return;
	for (unsigned i = 0; i < w->n_open; i++)
		w->open[i]->seen = false;
	for (unsigned i = 0; i < s->n_services; i++)
		take_service(w, &s->services[i]);
	for (unsigned i = 0; i < w->n_open;)
		if (w->open[i]->seen) {
			i++;
		} else {
			stop_listening(w->open[i]);
			w->open[i] = w->open[--w->n_open];
		}
	w->snap = s;
	paths_settle(w);
	w->exporting = s->conf->gateway.hep.family != 0;
	atomic_store(&w->seen, s->generation);
	ring(w->net->receipt_fd);
}

static void woken(void *arg, unsigned what)
{
	struct worker *w = arg;
	unsigned offs;
	uint64_t n;

	(void)what;
	while (read(w->wake_fd, &n, sizeof n) < 0 && errno == EINTR)
		;
	worker_clock(w);
	if (atomic_load(&w->stop)) {
		flows_free(w);
		paths_free(w);
		poller_stop(w->poller);
		return;
	}
	take_snapshot(w);
	offs = atomic_load(&w->net->offs);
	if (offs != w->offs) {
		flows_end_off(w);
		paths_end_off(w);
	}
	w->offs = offs;
	lend_look(w);
	if (w->snap)
		deliver_letters(w);
	worker_flush(w);
}

/* ---- start and end ---- */

enum hf_err worker_init(struct hf_net *net, unsigned index)
{
	struct worker *w = &net->workers[index];
	uint8_t *mem;

	w->net = net;
	w->index = index;
	w->dirty_end = &w->dirty;
	w->slow.end = &w->slow.first;
	worker_clock(w);
	w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->wake_fd < 0)
		return HF_EIO;
	/* mapped, so that what no parcel has needed costs nothing */
	mem = mmap(NULL, NET_ARENA + 3 * LETTER_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	w->poller = poller_new();
	w->udp = udp_new();
	w->flows = flows_new();
	w->links = links_new();
	w->paths = paths_new();
	w->exports = exports_new();
	if (mem == MAP_FAILED || !w->poller || !w->udp || !w->flows || !w->links || !w->paths || !w->exports || !letter_init(&w->box, net->letter_box))
		return HF_ENOMEM;
	hf_arena_init(&w->arena, mem, NET_ARENA);
	w->scratch = mem + NET_ARENA;
	w->letter = w->scratch + LETTER_MAX;
	w->reader = w->letter + LETTER_MAX;
	w->holds = holds_new(w);
	w->leads = leads_new(net->site.hash_key, SEEK_NAMES);
	watch_init(&w->wake, w->poller, w->wake_fd, woken, w);
	return w->holds && w->leads && watch_set(&w->wake, HF_READ) ? HF_OK : HF_ENOMEM;
}

static void *run(void *arg)
{
	struct worker *w = arg;

	poller_run(w->poller);
	return NULL;
}

enum hf_err worker_start(struct worker *w)
{
	return pthread_create(&w->thread, NULL, run, w) == 0 ? HF_OK : HF_EIO;
}

void worker_stop(struct worker *w)
{
	if (!w->running)
		return;
	atomic_store(&w->stop, true);
	worker_wake(w);
	pthread_join(w->thread, NULL);
	w->running = false;
}

void worker_fini(struct worker *w)
{
	HF_BUG_ON(w->running);
	flows_free(w); /* of a worker that never ran */
	paths_free(w);
	pipes_free(w);
	ring_free(w->ring);
	exports_free(w->exports);
	for (unsigned i = 0; i < w->n_open; i++)
		stop_listening(w->open[i]);
	free(w->open);
	if (w->holds)
		holds_free(w->holds);
	leads_free(w->leads);
	timer_fini(&w->slow.timer);
	watch_fini(&w->wake);
	poller_free(w->poller);
	udp_free(w->udp);
	links_free(w->links);
	letter_fini(&w->box);
	if (w->arena.p)
		munmap(w->arena.p, NET_ARENA + 3 * LETTER_MAX);
	if (w->wake_fd >= 0)
		close(w->wake_fd);
}
