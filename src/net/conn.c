/* The life of a flow from accept to conn_close: gathering the opening, running steps, ending. See flow.h for the phases.
 * Knows no protocol; dial.c connects, pump.c relays. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "gate.h"
#include "holdfast/clock.h"
#include "path.h"
#include "sock.h"
#include "tale.h"
#include "notice.h"
#include "udp.h"

#define DRAIN_MS 2000      /* what was sent to a client that is refused has this long to arrive */

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

static void finish(struct flow *f);

static void run(struct flow *f, struct hf_event *ev)
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
		run(f, ev);
	failed = f->failed;
	f->failed = 0;
	if (f->end)
		finish(f);
	else if (failed) /* a dial, at once */
		dial_failed(f, failed);
	else if (f->phase == PHASE_RELAY)
		pump_go_on(f);
	else
		conn_watch(f);
}

/* ---- acts ---- */

void conn_more(struct parcel *p, size_t need)
{
	struct side *s = &p->flow->side[p->ev.side];

	s->need = need > UINT32_MAX ? UINT32_MAX : (uint32_t)need;
	if (s->eof || need > p->rt->front->max_opening)
		conn_close_later(p->flow, need > p->rt->front->max_opening ? HF_R_TOO_BIG : p->ev.side == HF_CLIENT ? HF_R_CLIENT_CLOSED : HF_R_SERVER_CLOSED);
}

void conn_send(struct parcel *p, const struct hf_send *s)
{
	struct flow *f = p->flow;
	struct worker *w = p->w;
	bool up = s->to == HF_TO_SERVER;
	struct hf_bytes base = s->base.p ? s->base : p->ev.bytes;
	size_t n = udp_compose(w->scratch, LETTER_MAX, base, s->splices, s->n_splices);
	const struct snap_member *m = up && p->at ? worker_by_hash(w, p->at, s->server) : NULL;
	struct side *to = &f->side[up ? HF_SERVER : HF_CLIENT];
	enum hf_err e;

	if ((up && !m) || (s->to != HF_TO_CLIENT && !up) || (n == 0 && base.n)) {
		conn_close_later(f, up && !m ? HF_R_NOT_A_MEMBER : HF_R_BAD_STEP);
		return;
	}
	if (up && f->phase == PHASE_QUEUED) {
		if (!buf_add(&to->out, w->scratch, n, OUT_MAX))
			conn_close_later(f, HF_R_BAD_STEP);
		return;
	}
	if (up && to->fd < 0) {
		if (!f->failed) {
			notice_placed(p, m);
			f->knocks = p->chosen.knock;
			dial_start(f, p->at, m, hf_bytes_of(w->scratch, n));
		}
		return;
	}
	f->told |= !up;
	e = side_put(to, w->scratch, n);
	if (e != HF_OK)
		conn_close_later(f, e == HF_EFULL ? HF_R_BAD_STEP : up ? HF_R_SERVER_ERROR : HF_R_CLIENT_ERROR);
}

void conn_hold(struct parcel *p, uint32_t ms)
{
	p->flow->phase = PHASE_WAITING;
	accept_opened(p->flow);
	conn_deadline(p->flow, ms ? ms : 1);
}

/* Datagrams may come to this service, and would open flows. */
static bool has_datagrams(const struct snap_service *s)
{
	bool any = false;

	for (unsigned i = 0; i < s->n_infos; i++)
		any |= s->infos[i].transport == HF_UDP;
	return any && s->rt->front->datagram_flows;
}

void conn_relay(struct parcel *p, const struct hf_act *act)
{
	struct flow *f = p->flow;
	size_t client_used = act->relay.client_used, server_used = act->relay.server_used;
	struct side *c = &f->side[HF_CLIENT], *s = &f->side[HF_SERVER];

	if (f->phase != PHASE_ANSWER || client_used > buf_len(&c->in) || server_used > buf_len(&s->in)) {
		conn_close_later(f, HF_R_BAD_STEP);
		return;
	}
	gate_leave(f);
	buf_took(&c->in, client_used);
	buf_took(&s->in, server_used);
	f->mark = act->relay.mark;
	if (has_datagrams(p->service))
		anchors_enter(f->w->net->anchors, f, act->relay.names);
	pump_start(f);
}

bool conn_deliver(struct worker *w, const struct hf_flow_name *name, struct hf_bytes bytes)
{
	struct flow *f = flow_find(w, name->slot, name->generation);
	struct side *c = f ? &f->side[HF_CLIENT] : NULL;

	if (f && f->rt->front->framed)
		return name->boot == w->net->site.boot && stream_put(f, NULL, bytes, NULL, 0) == HF_OK;
	if (!f || name->boot != w->net->site.boot || f->phase == PHASE_CLOSING || !buf_add(&c->out, bytes.p, bytes.n, OUT_MAX))
		return false;
	f->told = true;
	(void)side_drain(c); /* a client that is gone ends its flow by an event of its own: another flow's step may be running, in our arena */
	if (!f->busy)
		conn_watch(f);
	return true;
}

void conn_turn(struct worker *w, const struct hf_flow_name *name)
{
	struct flow *f = name->boot == w->net->site.boot ? flow_find(w, name->slot, name->generation) : NULL;

	if (f && f->phase == PHASE_QUEUED)
		dial_turn(f);
	else if (f && f->phase == PHASE_WAITING && f->gate)
		conn_expired(f);
}

struct hf_flow_name conn_name(const struct flow *f)
{
	return (struct hf_flow_name){.worker = (uint8_t)f->w->index, .slot = f->slot, .generation = f->generation, .boot = f->w->net->site.boot};
}

const uint16_t *conn_tried(const struct flow *f, unsigned *n)
{
	*n = f->n_tried;
	return f->n_tried < TRIED_MAX ? f->tried : NULL;
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
		finish(f);
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

/* ---- the end ---- */

void conn_close_later(struct flow *f, unsigned reason)
{
	if (!f->end)
		f->end = reason;
	if (!f->busy)
		finish(f);
}

static void close_side(struct flow *f, enum hf_side i)
{
	struct side *s = &f->side[i];

	if (i == HF_SERVER)
		gate_leave(f);
	pipe_return(f->w, s->pipe);
	s->pipe = NULL;
	wire_shut(s->wire);
	wire_free(s->wire);
	s->wire = NULL;
	if (s->watch.of)
		watch_close(&s->watch);
	else if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* Ends a flow whose step said so: what the client was told goes out first, then FIN, so that no reset overtakes it. */
static void finish(struct flow *f)
{
	struct side *c = &f->side[HF_CLIENT];

	if (!f->told || c->fd < 0 || !f->deadline.of) {
		conn_close(f, f->end);
		return;
	}
	if (f->phase != PHASE_CLOSING) {
		f->phase = PHASE_CLOSING;
		close_side(f, HF_SERVER);
		conn_deadline(f, DRAIN_MS);
	}
	if (buf_len(&c->out) == 0 && !c->shut) {
		wire_shut(c->wire);
		shutdown(c->fd, SHUT_WR);
		c->shut = true;
	}
	if (c->eof && c->shut)
		conn_close(f, f->end);
	else
		conn_watch(f);
}

void conn_close(struct flow *f, unsigned reason)
{
	struct hf_event ev = {.kind = HF_EV_END, .reason = reason};

	HF_BUG_ON(f->busy);
	stuck_free(f);
	accept_leave(f);
	if (f->anchor)
		paths_flow_ended(f, anchors_leave(f->w->net->anchors, f));
	if (f->rt->front->framed)
		stream_forget(f);
	if ((reason == HF_R_SERVER_ERROR || reason == HF_R_SERVER_OFF) && f->phase == PHASE_RELAY)
		sock_reset(f->side[HF_CLIENT].fd); /* so that the client's own reconnect begins */
	if (reason == HF_R_CLIENT_ERROR && f->side[HF_SERVER].fd >= 0)
		sock_reset(f->side[HF_SERVER].fd);
	close_side(f, HF_CLIENT);
	close_side(f, HF_SERVER);
	timer_fini(&f->deadline);
	run(f, &ev);
	tale_end(f, reason);
	worker_count(f->w, f->rt, reason);
	worker_bump(&f->rt->counts[f->w->index].open_flows, -UINT64_C(1));
	atomic_fetch_sub_explicit(&f->w->net->open_flows, 1, memory_order_relaxed);
	flow_free(f);
}
