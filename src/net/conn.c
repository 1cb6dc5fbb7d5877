/* The life of a flow from accept to conn_close: gathering the opening, running steps. See flow.h for the phases.
 * Knows no protocol; conn_acts.c does what a step says, dial.c connects, pump.c relays, conn_end.c ends it. */
#include <errno.h>
#include <sys/socket.h>

#include "flow.h"
#include "tale.h"

static const struct snap_service *service_of(const struct flow *f) { return snap_service(f->w->snap, f->service); }

/* ---- what a flow waits for ---- */

void conn_deadline(struct flow *f, uint64_t ms)
{
	if (!f->deadline.of)
		return;
	if (ms)
		timer_at(&f->deadline, f->w->now_ms + ms);
	else
		timer_stop(&f->deadline);
}

static bool wants_read(const struct flow *f, enum hf_side i)
{
	const struct side *s = &f->side[i];

	if (s->eof || f->stuck || (i == HF_SERVER && f->phase < PHASE_ANSWER))
		return false;
	if (f->phase == PHASE_RELAY)
		return !side_waits(&f->side[!i]);
	if (f->phase == PHASE_CLOSING)
		return i == HF_CLIENT;
	return buf_len(&s->in) < f->rt->front->max_opening;
}

/* The system refuses to watch a side, so that nothing would ever be heard of it. Not now: a step may be running. A relay has no deadline: pump_go_on looks. */
static void give_up(struct flow *f)
{
	f->end = f->end ? f->end : HF_R_NO_MEMORY;
	if (f->deadline.of)
		timer_set(&f->deadline, 0);
}

void conn_watch(struct flow *f)
{
	for (int i = 0; i < 2; i++) {
		struct side *s = &f->side[i];
		bool read, connecting = i == HF_SERVER && f->phase == PHASE_DIALING;
		unsigned edges = f->stream || s->bulk ? 0 : WATCH_EDGES;

		if (!s->watch.of)
			continue;
		read = wants_read(f, (enum hf_side)i);
		if (!watch_set(&s->watch, edges | (read ? HF_READ : 0u) | (connecting || side_waits(s) ? HF_WRITE : 0u)))
			give_up(f);
		else if (read && s->more && edges)
			watch_again(&s->watch);
		s->even = read && edges && s->watch.what;
	}
}

/* ---- steps ---- */

void conn_run(struct flow *f, struct hf_event *ev)
{
	struct parcel p = {.w = f->w, .service = service_of(f), .rt = f->rt, .flow = f};

	hf_arena_reset(&f->w->arena);
	flow_ctx(f, &p);
	p.ctx.flow = f->state;
	ev->listener = p.service ? snap_listener(p.service, f->listener, NULL) : NULL;
	ev->source = f->source;
	ev->local = f->local;
	ev->flow_name = conn_name(f);
	if (ev->kind != HF_EV_BYTES)
		ev->bytes = buf_view(&f->side[HF_CLIENT].in);
	p.ev = *ev;
	if (f->tale && ev->kind == HF_EV_WAKE && f->phase == PHASE_RELAY)
		tale_proved(f->tale);
	f->busy = true;
	deliver_run(&p);
	f->busy = false;
}

void conn_step(struct flow *f, struct hf_event *ev)
{
	unsigned failed;

	if (!service_of(f))
		f->end = HF_R_SERVICE_REMOVED;
	else
		conn_run(f, ev);
	failed = f->failed;
	f->failed = 0;
	if (f->end)
		conn_finish(f);
	else if (failed) /* a dial, at once */
		dial_failed(f, failed);
	else if (f->phase == PHASE_RELAY)
		pump_go_on(f);
	else
		conn_watch(f);
}

/* ---- what comes in ---- */

/* What a client still says to a flow that is ending: unread octets would make a reset of our FIN. False: it failed. */
static bool swallow(struct flow *f)
{
	struct side *c = &f->side[HF_CLIENT];
	ssize_t n = recv(c->fd, f->w->scratch, LETTER_MAX, 0);

	c->eof |= n == 0;
	c->more = n == LETTER_MAX || (n > 0 && c->last);
	return n >= 0 || errno == EAGAIN || errno == EINTR;
}

/* The PROXY header, where one must come first. False: it is not there yet, or the flow has ended. */
static bool introduced(struct flow *f)
{
	unsigned reason;
	enum hf_err e = accept_proxy(f, &reason);

	if (e == HF_ENOENT)
		conn_watch(f);
	else if (e != HF_OK)
		conn_close(f, reason);
	return e == HF_OK;
}

/* Octets of a side before RELAY. */
static void opening(struct flow *f, enum hf_side side)
{
	struct side *s = &f->side[side];
	struct hf_event ev = {.kind = HF_EV_BYTES, .side = side};
	bool asked;

	if (!side_gather(f, s)) {
		conn_close(f, side == HF_CLIENT ? HF_R_CLIENT_ERROR : HF_R_SERVER_ERROR);
		return;
	}
	if (f->proxied && side == HF_CLIENT && !introduced(f))
		return;
	if (f->phase == PHASE_QUEUED && s->eof) {
		conn_close(f, HF_R_CLIENT_CLOSED);
		return;
	}
	ev.bytes = buf_view(&s->in);
	ev.eof = s->eof;
	/* the client's surplus waits for RELAY; that it gives up concerns a front that holds it */
	asked = side == HF_SERVER || f->phase == PHASE_OPENING || (f->phase == PHASE_WAITING && s->eof);
	if (!asked || (!s->eof && (!buf_len(&s->in) || buf_len(&s->in) < s->need))) { /* it may be looked at before anything has come */
		conn_watch(f);
		return;
	}
	if (s->eof && !buf_len(&s->in) && side == HF_CLIENT) {
		conn_close(f, HF_R_CLIENT_CLOSED);
		return;
	}
	s->need = 0;
	conn_step(f, &ev);
}

static void side_ready(struct flow *f, enum hf_side side, unsigned what)
{
	struct side *s = &f->side[side];

	if (what & HF_WRITE && side_drain(s) != HF_OK) {
		conn_close(f, f->end ? f->end : side == HF_CLIENT ? HF_R_CLIENT_ERROR : HF_R_SERVER_ERROR);
		return;
	}
	if (f->phase == PHASE_CLOSING && what & HF_READ && side == HF_CLIENT && !swallow(f))
		conn_close(f, f->end);
	else if (f->phase == PHASE_CLOSING)
		conn_finish(f);
	else if (what & HF_READ && wants_read(f, side))
		opening(f, side);
	else
		conn_watch(f);
}

void conn_client_ready(void *arg, unsigned what)
{
	struct flow *f = arg;
	struct worker *w = f->w;

	side_told(&f->side[HF_CLIENT], what);
	if (f->phase == PHASE_RELAY) {
		pump_ready(f, HF_CLIENT, what);
		return;
	}
	worker_clock(w);
	if (f->phase == PHASE_MESSAGES)
		stream_ready(f, what);
	else if (f->phase == PHASE_LINKING)
		link_ready(f);
	else
		side_ready(f, HF_CLIENT, what);
	if (w->dirty)
		worker_flush(w);
}

void conn_server_ready(void *arg, unsigned what)
{
	struct flow *f = arg;

	side_told(&f->side[HF_SERVER], what);
	if (f->phase == PHASE_RELAY) {
		pump_ready(f, HF_SERVER, what);
		return;
	}
	worker_clock(f->w);
	if (f->phase == PHASE_DIALING)
		dial_done(f);
	else
		side_ready(f, HF_SERVER, what);
}

void conn_expired(void *arg)
{
	struct flow *f = arg;
	struct hf_event ev = {.kind = HF_EV_WAKE};

	worker_clock(f->w);
	if (f->end && f->phase < PHASE_LINKING) {
		conn_close(f, f->end);
	} else if (f->phase == PHASE_WAITING) {
		const struct snap_service *s = service_of(f);

		f->phase = PHASE_OPENING;
		conn_deadline(f, s ? s->conf->handshake_timeout : 1);
		conn_step(f, &ev);
	} else if (f->phase == PHASE_QUEUED) {
		dial_waited(f);
	} else if (f->phase == PHASE_DIALING) {
		dial_failed(f, HF_R_DIAL_TIMEOUT);
	} else if (f->phase == PHASE_LINKING) {
		link_failed(f, HF_R_DIAL_TIMEOUT);
	} else if (f->phase == PHASE_MESSAGES) {
		stream_expired(f);
	} else {
		conn_close(f, HF_R_HANDSHAKE_TIMEOUT);
	}
}
