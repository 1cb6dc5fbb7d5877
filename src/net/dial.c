/* Connecting a flow to the server that was chosen. A dial that fails before any octet was sent goes back to the front as FAIL;
 * it asks for another candidate, waits, or refuses. */
#include <errno.h>
#include <unistd.h>

#include "flow.h"
#include "sock.h"

static void note_tried(struct flow *f, uint16_t id)
{
	for (unsigned i = 0; i < f->n_tried; i++)
		if (f->tried[i] == id)
			return;
	if (f->n_tried < TRIED_MAX)
		f->tried[f->n_tried++] = id;
}

static void connected(struct flow *f)
{
	const struct snap_service *sv = snap_service(f->w->snap, f->service);

	atomic_store_explicit(&f->pool->members[f->server].failures, 0, memory_order_relaxed);
	f->phase = PHASE_ANSWER;
	conn_deadline(f, sv ? sv->conf->handshake_timeout : 1);
}

/* A server on this machine takes the opening at once, which spares two turns; elsewhere the send says EAGAIN until the connection stands. */
void dial_start(struct flow *f, const struct snap_member *m, uint64_t timeout_ms, struct hf_bytes first)
{
	struct side *s = &f->side[HF_SERVER];
	const struct snap_service *sv = snap_service(f->w->snap, f->service);
	bool done;

	HF_BUG_ON(!sv || !f->busy);
	flow_at(f, sv->pool->rt, m);
	f->phase = PHASE_DIALING;
	accept_opened(f);
	note_tried(f, m->id);
	s->fd = sock_dial(&m->addr);
	if (s->fd < 0) {
		f->failed = sock_want(errno) ? HF_R_NO_MEMORY : HF_R_DIAL_FAILED;
		return;
	}
	if (first.n && side_put(s, first.p, first.n) != HF_OK) {
		f->failed = HF_R_DIAL_FAILED;
		return;
	}
	done = first.n && !buf_len(&s->out);
	watch_init(&s->watch, f->w->poller, s->fd, conn_server_ready, f);
	if (!watch_set(&s->watch, WATCH_EDGES | HF_READ | (done ? 0u : HF_WRITE)))
		f->failed = HF_R_NO_MEMORY;
	else if (done)
		connected(f);
	else
		conn_deadline(f, timeout_ms);
}

void dial_done(struct flow *f)
{
	struct side *s = &f->side[HF_SERVER];

	if (buf_len(&s->out) ? side_drain(s) != HF_OK : sock_error(s->fd) != 0) {
		dial_failed(f, HF_R_DIAL_FAILED);
	} else if (!buf_len(&s->out)) {
		connected(f);
		conn_watch(f);
	}
}

void dial_failed(struct flow *f, unsigned reason)
{
	struct side *s = &f->side[HF_SERVER];
	const struct snap_service *sv = snap_service(f->w->snap, f->service);
	struct hf_chosen who = {.server = f->server_hash};
	struct hf_event ev = {.kind = HF_EV_FAIL, .reason = reason, .chosen = &who};

	if (reason != HF_R_NO_MEMORY) /* our own want says nothing about the server */
		atomic_fetch_add_explicit(&f->pool->members[f->server].failures, 1, memory_order_relaxed);
	worker_count(f->w, f->rt, reason);
	if (s->watch.of)
		watch_close(&s->watch);
	else if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	buf_free(&s->out);
	f->phase = PHASE_OPENING;
	conn_deadline(f, sv ? sv->conf->handshake_timeout : 1);
	conn_step(f, &ev);
}
