/* Connecting a flow to the server that was chosen. A dial that fails before any octet was sent goes back to the front as FAIL;
 * it asks for another candidate, waits, or refuses. */
#include <errno.h>
#include <unistd.h>

#include "gate.h"
#include "proxy.h"
#include "sock.h"

#define LOOK_MS 1000u /* a letter that was lost, or a server that went, costs who waits at its gate so long */
#define KNOCK_MS 500u /* a machine that is there answers by then, wherever it stands; one that is gone costs who is bound to it no more */

static struct member_rt *server_rt(const struct flow *f) { return &f->pool->members[f->server]; }
static bool is_up(const struct flow *f) { return hf_engine_state(f->pool->engine, f->server, NULL) == HF_STATE_UP; }
static bool is_off(const struct flow *f) { return hf_engine_state(f->pool->engine, f->server, NULL) == HF_STATE_OFF; }

/* How long it is tried. One that is down for a moment only, unless others got through to it. */
static uint64_t dial_ms(const struct flow *f, const struct snap_pool *pool)
{
	bool doubtful = f->knocks && !is_up(f) && !atomic_load_explicit(&server_rt(f)->back, memory_order_relaxed);
	uint64_t ms = pool->conf->dial_timeout;

	return doubtful && ms > KNOCK_MS ? KNOCK_MS : ms;
}

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

	atomic_store_explicit(&server_rt(f)->failures, 0, memory_order_relaxed);
	if (!is_up(f))
		atomic_fetch_add_explicit(&server_rt(f)->back, 1, memory_order_relaxed);
	gate_through(f);
	f->phase = PHASE_ANSWER;
	conn_deadline(f, sv ? sv->conf->handshake_timeout : 1);
}

/* Connects, with `first`, or what waits already, as the first octets. A server on this machine takes them at once, which spares two turns; elsewhere
 * the send says EAGAIN until the connection stands. */
static void begin(struct flow *f, const struct snap_member *m, uint64_t timeout_ms, struct hf_bytes first)
{
	struct side *s = &f->side[HF_SERVER];
	bool done, speaks = first.n || buf_len(&s->out);

	f->phase = PHASE_DIALING;
	s->fd = sock_dial(&m->addr, NULL);
	if (s->fd < 0) {
		f->failed = sock_want(errno) ? HF_R_NO_MEMORY : HF_R_DIAL_FAILED;
		return;
	}
	if ((first.n ? side_put(s, first.p, first.n) : side_drain(s)) != HF_OK) {
		f->failed = HF_R_DIAL_FAILED;
		return;
	}
	done = speaks && !buf_len(&s->out);
	watch_init(&s->watch, f->w->poller, s->fd, conn_server_ready, f);
	if (!watch_set(&s->watch, WATCH_EDGES | HF_READ | (done ? 0u : HF_WRITE)))
		f->failed = HF_R_NO_MEMORY;
	else if (done)
		connected(f);
	else
		conn_deadline(f, timeout_ms);
}

/* It looks around once a second. */
static void wait_on(struct flow *f, uint64_t ms)
{
	uint64_t slice = ms < LOOK_MS ? ms : LOOK_MS;

	f->queued_ms = (uint32_t)(ms - slice);
	conn_deadline(f, slice ? slice : 1);
}

static void wait_turn(struct flow *f, uint64_t timeout_ms, struct hf_bytes first)
{
	f->phase = PHASE_QUEUED;
	if (first.n && !buf_add(&f->side[HF_SERVER].out, first.p, first.n, OUT_MAX)) {
		f->failed = HF_R_NO_MEMORY;
		return;
	}
	f->queued_down = !is_up(f);
	wait_on(f, timeout_ms);
}

/* A header comes first, at once with what follows it. */
static bool introduce(struct flow *f, struct hf_bytes *first)
{
	uint8_t octets[PROXY_HEADER_MAX];
	struct hf_writer w = hf_writer_on(octets, sizeof octets);
	struct buf *out = &f->side[HF_SERVER].out;
	bool put;

	proxy_write(&w, &f->source, &f->local);
	put = buf_add(out, octets, w.n, OUT_MAX) && buf_add(out, first->p, first->n, OUT_MAX);
	*first = HF_NONE;
	return put;
}

void dial_start(struct flow *f, const struct snap_pool *pool, const struct snap_member *m, struct hf_bytes first)
{
	HF_BUG_ON(!f->busy);
	flow_at(f, f->pool, m);
	accept_opened(f);
	note_tried(f, m->id);
	if (m->send_proxy && !introduce(f, &first)) {
		f->failed = HF_R_NO_MEMORY;
		return;
	}
	switch (gate_enter(f)) {
	case GATE_PASSED:
		begin(f, m, dial_ms(f, pool), first);
		break;
	case GATE_QUEUED:
		wait_turn(f, dial_ms(f, pool), first);
		break;
	default:
		f->failed = HF_R_SERVER_QUEUE;
	}
}

/* False: it waits as before. True: it does no more, and may have ended. */
static bool turned(struct flow *f)
{
	const struct snap_pool *pool = snap_service(f->w->snap, f->service) ? flow_pool(f) : NULL;
	const struct snap_member *m = pool ? worker_by_hash(f->w, pool, f->server_hash) : NULL;
	unsigned failed;

	if (!m || is_off(f)) {
		dial_failed(f, m ? HF_R_SERVER_QUEUE : HF_R_NOT_A_MEMBER);
		return true;
	}
	if (!gate_turn(f))
		return false;
	begin(f, m, dial_ms(f, pool), HF_NONE);
	failed = f->failed;
	f->failed = 0;
	if (failed)
		dial_failed(f, failed);
	else
		conn_watch(f);
	return true;
}

void dial_turn(struct flow *f) { (void)turned(f); }

/* It was to wait for a moment, and its server has come back meanwhile: it waits as others do. */
static void wait_on_for(struct flow *f)
{
	const struct snap_pool *pool = flow_pool(f);
	uint64_t ms = f->knocks && pool ? dial_ms(f, pool) : 0;

	f->knocks = false;
	if (ms > KNOCK_MS)
		f->queued_ms = (uint32_t)(ms - KNOCK_MS);
}

/* Who is not bound to a server that goes down meanwhile has no reason to wait for it; the front knows. */
void dial_waited(struct flow *f)
{
	bool goes = !f->queued_down && !is_up(f);

	if (turned(f))
		return;
	if (!f->queued_ms)
		wait_on_for(f);
	if (goes || !f->queued_ms)
		dial_failed(f, HF_R_SERVER_QUEUE);
	else
		wait_on(f, f->queued_ms);
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

	if (reason != HF_R_NO_MEMORY && reason != HF_R_SERVER_QUEUE) { /* neither our own want nor our patience says anything about the server */
		atomic_fetch_add_explicit(&server_rt(f)->failures, 1, memory_order_relaxed);
		atomic_store_explicit(&server_rt(f)->back, 0, memory_order_relaxed);
	}
	worker_count(f->w, f->rt, reason);
	if (f->phase == PHASE_QUEUED)
		gate_leave(f);
	else
		gate_failed(f);
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
