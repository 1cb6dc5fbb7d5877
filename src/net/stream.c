/* Connections that carry messages (framed fronts): accepted ones, and links that we dialled. Each message is a parcel as a datagram is one:
 * it may go to any server, and what goes out over a connection is gathered and sent once a turn.
 * A reader waits while the connection that it feeds is full; nothing is queued without a bound. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "export.h"
#include "flow.h"
#include "peers.h"
#include "udp.h"

#define HIGH (128u * 1024) /* octets waiting in a connection: who feeds it is not read any more */
#define LOW (32u * 1024)   /* ... and is read again */
#define HALF_MS 5000       /* a peer that has closed its half still gets answers for so long; most that close are gone */

static const struct snap_service *service_of(const struct flow *f) { return snap_service(f->w->snap, f->service); }

/* ---- out ---- */

static void soil(struct flow *f)
{
	if (f->stream->dirty)
		return;
	f->stream->dirty = true;
	f->stream->next_dirty = NULL;
	*f->w->dirty_end = f; /* in the order in which they got something to send */
	f->w->dirty_end = &f->stream->next_dirty;
}

void stream_end_later(struct flow *f, unsigned reason)
{
	if (!f->end)
		f->end = reason;
	soil(f);
}

static size_t room_for(struct hf_bytes base, const struct hf_splice *s, unsigned n)
{
	size_t sum = base.n;

	for (unsigned i = 0; i < n; i++)
		sum += s[i].put.n;
	return sum;
}

/* The reader of `from` waits for f. */
static void block(struct flow *from, struct flow *f)
{
	struct worker *w = f->w;

	if (!from || from == f || from->stream->blocked)
		return;
	from->stream->blocked = f->stream->awaited = true;
	from->stream->blocked_by = conn_name(f);
	from->stream->next_blocked = w->blocked;
	w->blocked = from;
}

enum hf_err stream_put(struct flow *f, struct flow *from, struct hf_bytes base, const struct hf_splice *splices, unsigned n_splices)
{
	struct buf *b = &f->side[HF_CLIENT].out;
	bool web = f->stream->web.on;
	size_t n = room_for(base, splices, n_splices), head = web ? WEB_HEAD : 0;
	uint8_t *p;

	if (f->end || f->phase == PHASE_CLOSING || (web && !f->stream->web.open))
		return HF_ECLOSED;
	if (!buf_room(b, n + (web ? WEB_HEAD + WEB_ROOM : 0), OUT_MAX))
		return HF_EFULL;
	p = b->b->p + b->b->n;
	n = udp_compose(p + head, b->b->cap - b->b->n - head, base, splices, n_splices);
	if (n == 0)
		return HF_EINVAL;
	b->b->n += (uint32_t)(web ? web_frame(f, p, n) : n);
	f->told = true;
	f->stream->last_ms = f->w->now_ms;
	if (buf_len(b) > HIGH)
		block(from, f);
	soil(f);
	return HF_OK;
}

bool stream_say(struct flow *f, struct hf_bytes octets)
{
	if (!buf_add(&f->side[HF_CLIENT].out, octets.p, octets.n, OUT_MAX))
		return false;
	f->told = true;
	soil(f);
	return true;
}

static bool may_read(const struct flow *f)
{
	const struct side *s = &f->side[HF_CLIENT];

	return !s->eof && !f->stream->blocked && f->stream->slow != SLOW_WAITS && !f->stuck && buf_len(&s->in) < f->rt->front->max_opening;
}

static void watch(struct flow *f)
{
	struct side *s = &f->side[HF_CLIENT];

	if (f->phase == PHASE_MESSAGES && !watch_set(&s->watch, wire_wants(s->wire, may_read(f), buf_len(&s->out) > 0)))
		stream_end_later(f, HF_R_NO_MEMORY); /* nothing would be heard of it */
}

static void parcels(struct flow *f);
static void take_in(struct flow *f);

/* Those that waited for f go on; a flow that is gone lets go too. */
static void unblock(struct worker *w, struct flow *f)
{
	struct flow *list = w->blocked, *next;

	if (!f->stream->awaited)
		return; /* many may wait for others */
	f->stream->awaited = false;
	w->blocked = NULL;
	for (; list; list = next) {
		next = list->stream->next_blocked;
		if (list->stream->blocked_by.slot == f->slot && list->stream->blocked_by.generation == f->generation) {
			list->stream->blocked = false;
			stream_again(list);
		} else {
			list->stream->next_blocked = w->blocked;
			w->blocked = list;
		}
	}
}

static unsigned failure(const struct flow *f)
{
	unsigned r = f->side[HF_CLIENT].wire ? layers_failed(f) : 0;

	return r ? r : f->stream->link ? HF_R_SERVER_ERROR : HF_R_CLIENT_ERROR;
}

static void drain(struct flow *f)
{
	struct buf *out = &f->side[HF_CLIENT].out;

	if (side_drain(&f->side[HF_CLIENT]) != HF_OK)
		f->end = (uint16_t)failure(f);
	f->stream->cut = buf_len(out) && (f->stream->cut || out->b->at); /* the rest may begin inside a message */
	f->stream->again = f->stream->again && buf_len(out);
}

static void clean(struct flow *f)
{
	struct side *s = &f->side[HF_CLIENT];

	if (f->stream->resume && !f->end) {
		f->stream->resume = false;
		parcels(f);
	}
	while (wire_again(s->wire) && may_read(f) && !f->end)
		take_in(f);
	if (f->phase == PHASE_MESSAGES && !f->end)
		drain(f);
	if (buf_len(&s->out) < LOW)
		unblock(f->w, f);
	if (f->end && f->stream->link) {
		link_end(f);
	} else if (f->end) {
		web_bye(f);
		conn_close_later(f, f->end);
	} else {
		watch(f);
	}
}

void worker_flush(struct worker *w)
{
	udp_flush(w);
	while (w->dirty) {
		struct flow *f = w->dirty;

		w->dirty = f->stream->next_dirty;
		if (!w->dirty)
			w->dirty_end = &w->dirty;
		f->stream->dirty = false;
		clean(f);
	}
	udp_flush(w);
	w->told = 0;
	if (w->exporting)
		exports_flush(w);
}

void stream_again(struct flow *f)
{
	f->stream->resume = true;
	soil(f);
}

static void leave_dirty(struct worker *w, const struct flow *f)
{
	struct flow **at = &w->dirty;

	while (*at != f)
		at = &(*at)->stream->next_dirty;
	*at = f->stream->next_dirty;
	if (!*at)
		w->dirty_end = at;
}

static void leave_blocked(struct worker *w, const struct flow *f)
{
	struct flow **at = &w->blocked;

	while (*at != f)
		at = &(*at)->stream->next_blocked;
	*at = f->stream->next_blocked;
}

void stream_forget(struct flow *f)
{
	if (f->stream->dirty)
		leave_dirty(f->w, f);
	if (f->stream->blocked)
		leave_blocked(f->w, f);
	f->stream->dirty = f->stream->blocked = false;
	throttle_forget(f);
	unblock(f->w, f);
	link_forget(f);
	peers_leave(f->w->net->peers, f);
}

/* ---- in ---- */

/* One step: the octets that its message took, 0 when it is not whole. */
static size_t one(struct flow *f, const struct snap_service *s, struct hf_bytes bytes)
{
	struct side *c = &f->side[HF_CLIENT];
	struct parcel p = {.w = f->w, .service = s, .rt = f->rt, .pool = s->pool->rt, .at = s->pool, .flow = f};
	const struct hf_listener_info *l = snap_listener(s, f->listener, NULL);

	hf_arena_reset(&f->w->arena);
	deliver_ctx(f->w, s, &p.ctx);
	p.ctx.flow = f->state;
	p.ev = (struct hf_event){.kind = HF_EV_BYTES, .side = HF_CLIENT, .eof = c->eof, .bytes = bytes, .listener = l ? l : &s->infos[0],
		.source = f->source, .local = f->local, .transport = f->transport, .flow_name = conn_name(f), .member = f->stream->link ? f->server_hash : 0};
	p.ev.from_servers = p.ev.member || p.ev.listener->inside || snap_in(&s->conf->servers_from, &f->source);
	if (!p.ev.member && p.ev.from_servers) {
		const struct snap_member *m = snap_speaker(s->pool, &f->source, true);

		p.ev.member = m ? m->hash : 0;
	}
	f->busy = true;
	deliver_run(&p);
	f->busy = false;
	if (p.took || f->stream->web.on)
		worker_bump(&f->rt->counts[f->w->index].parcels, 1);
	return p.took;
}

/* The octets that are dealt with now; 0: more must come. */
static size_t next(struct flow *f, const struct snap_service *s)
{
	struct hf_bytes message = buf_view(&f->side[HF_CLIENT].in);
	size_t n;

	if (!f->stream->web.on)
		return one(f, s, message);
	n = web_take(f, s, &message);
	if (message.n)
		one(f, s, message);
	if (message.n && !n)
		web_too_long(f); /* behind the answer */
	return n;
}

/* How long a connection may be idle before it is looked at: a WebSocket is pinged. */
static uint64_t idle_ms(const struct flow *f, const struct snap_service *s)
{
	return f->stream->web.open && s->conf->web_ping && s->conf->web_ping < s->conf->idle_timeout ? s->conf->web_ping : s->conf->idle_timeout;
}

/* A message that has begun has the handshake's time to end; between messages the connection may be idle for long. */
static void arm(struct flow *f, const struct snap_service *s, bool progress)
{
	bool partial = (buf_len(&f->side[HF_CLIENT].in) > 0 || f->stream->web.ws.begun) && !f->stream->blocked && f->stream->slow != SLOW_WAITS;

	f->stream->last_ms = f->w->now_ms;
	if (partial && f->stream->armed == ARM_PARTIAL) {
		if (progress)
			f->stream->partial_ms = f->w->now_ms;
	} else if (partial) {
		f->stream->armed = ARM_PARTIAL;
		f->stream->partial_ms = f->w->now_ms;
		conn_deadline(f, s->conf->handshake_timeout);
	} else if (f->stream->armed != ARM_IDLE && (progress || f->stream->armed == ARM_PARTIAL)) {
		f->stream->armed = ARM_IDLE;
		conn_deadline(f, idle_ms(f, s));
	}
}

/* All whole messages that are there. What they cause to be closed is closed later, by worker_flush. */
static void parcels(struct flow *f)
{
	struct side *c = &f->side[HF_CLIENT];
	const struct snap_service *s = service_of(f);
	bool progress = false;
	size_t n;

	if (s && f->proxied && !f->end) {
		unsigned reason;
		enum hf_err e = accept_proxy(f, &reason);

		if (e == HF_OK)
			peers_enter(f->w->net->peers, f);
		else if (e != HF_ENOENT)
			stream_end_later(f, reason);
	}
	while (s && !f->end && !f->proxied && !f->stream->blocked && !f->stuck && buf_len(&c->in) && buf_len(&c->in) >= c->need && !throttle_waits(f, s)) {
		c->need = 0;
		n = next(f, s);
		if (n == 0 || n > buf_len(&c->in))
			break;
		buf_took(&c->in, n);
		progress = true;
		throttle_heard(f, s);
		accept_opened(f);
	}
	if (buf_len(&c->in) == 0 && c->in.b != &f->w->reading)
		buf_free(&c->in); /* an idle connection keeps no buffer */
	if (!s)
		stream_end_later(f, HF_R_SERVICE_REMOVED);
	else if (c->eof && f->stream->web.on)
		stream_end_later(f, HF_R_DONE); /* it ends by a frame, or is gone */
	else if (c->eof && !f->stream->blocked)
		conn_deadline(f, HALF_MS);
	else
		arm(f, s, progress);
	if (buf_len(&c->in) >= f->rt->front->max_opening && !progress && !f->stream->blocked && f->stream->slow != SLOW_WAITS)
		stream_end_later(f, HF_R_TOO_BIG);
}

void stream_begin(struct flow *f)
{
	f->phase = PHASE_MESSAGES;
	f->stream->web.on = !f->stream->link && hf_transport_is_web((enum hf_transport)f->transport);
	if (!f->stream->link && !f->proxied)
		peers_enter(f->w->net->peers, f);
	f->stream->armed = ARM_FIRST;
	f->stream->last_ms = f->w->now_ms;
}

/* Octets are read into the worker's own buffer: only what is left of a message that is not whole is kept by the connection.
 * False: the connection failed. */
static bool gather(struct flow *f)
{
	struct side *s = &f->side[HF_CLIENT];
	struct worker *w = f->w;
	size_t have = buf_len(&s->in), max = f->rt->front->max_opening;
	ssize_t n;

	HF_BUG_ON(max > LETTER_MAX);
	if (have)
		return side_gather(f, s);
	n = wire_read(s->wire, s->fd, w->reader, max);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	s->eof = n == 0;
	s->octets += (uint64_t)n;
	buf_free(&s->in);
	w->reading = (struct block){.p = w->reader, .n = (uint32_t)n};
	s->in.b = &w->reading;
	return true;
}

/* What is left of the worker's buffer becomes the connection's own. False: no memory. */
static bool settle(struct flow *f)
{
	struct buf *in = &f->side[HF_CLIENT].in, rest = {0};
	struct hf_bytes left = buf_view(in);

	if (in->b != &f->w->reading)
		return true;
	*in = (struct buf){0};
	if (left.n && !buf_add(&rest, left.p, left.n, left.n))
		return false;
	*in = rest;
	return true;
}

static void take_in(struct flow *f)
{
	struct side *s = &f->side[HF_CLIENT];

	if (!gather(f))
		stream_end_later(f, failure(f));
	else if (s->eof && !buf_len(&s->in) && (f->stream->link || !f->told))
		stream_end_later(f, HF_R_DONE);
	else
		parcels(f);
	if (!settle(f))
		stream_end_later(f, HF_R_NO_MEMORY);
}

/* A layer may read when the socket takes octets, and write when octets have come. */
void stream_ready(struct flow *f, unsigned what)
{
	struct worker *w = f->w;

	if (f->side[HF_CLIENT].wire ? may_read(f) : what & HF_READ)
		take_in(f);
	soil(f);
	worker_flush(w);
}

/* Idle for less than it may be. */
static void stays(struct flow *f, const struct snap_service *s, uint64_t left)
{
	uint64_t quiet = f->w->now_ms - f->stream->last_ms, look = idle_ms(f, s);

	if (f->stream->armed == ARM_IDLE && f->stream->web.open && look < s->conf->idle_timeout) {
		if (quiet >= look)
			web_ping(f);
		look = quiet >= look ? look : look - quiet;
		left = look < left ? look : left;
	}
	conn_deadline(f, left);
}

void stream_expired(struct flow *f)
{
	struct worker *w = f->w;
	const struct snap_service *s = service_of(f);
	uint64_t from = f->stream->armed == ARM_PARTIAL ? f->stream->partial_ms : f->stream->last_ms;
	uint64_t limit = !s || f->side[HF_CLIENT].eof ? 0 : f->stream->armed == ARM_IDLE ? s->conf->idle_timeout : s->conf->handshake_timeout;

	if (limit && f->stream->armed != ARM_FIRST && from + limit > w->now_ms)
		stays(f, s, from + limit - w->now_ms);
	else
		stream_end_later(f, f->stream->armed == ARM_IDLE || f->side[HF_CLIENT].eof ? HF_R_DONE : HF_R_HANDSHAKE_TIMEOUT);
	worker_flush(w);
}
