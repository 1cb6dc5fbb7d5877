/* The relay: octets both ways, half-close passed on, nothing read for a side that does not take it. Small traffic is copied through one
 * buffer a worker, bulk is spliced through a pipe that is borrowed for the turn (pipes.c): a copy is cheaper below its size, a splice above.
 * A relayed flow keeps no buffer and no pipe of its own while both sides keep up. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "flow.h"
#include "sock.h"

#define COPY (64u * 1024)  /* octets a read; more gains little over one shared buffer */
#define TURNS 4            /* reads a turn, so that a busy flow leaves the others their time */
#define BULK (16 * 1024)   /* octets of a read below which a copy is as cheap as a splice */
#define LULL 16            /* smaller ones in a row that end a bulk: its reads are uneven, and one copy costs as much as ten splices that were not needed */

static unsigned error_of(enum hf_side side) { return side == HF_CLIENT ? HF_R_CLIENT_ERROR : HF_R_SERVER_ERROR; }

/* FIN goes on once all that came before it has. */
static void pass_fin(struct flow *f, enum hf_side from)
{
	struct side *to = &f->side[!from];

	if (!f->side[from].eof || to->shut || side_waits(to))
		return;
	shutdown(to->fd, SHUT_WR);
	to->shut = true;
}

/* What a long session needs and a short one does without: most that knock and go have no octet behind their opening. The accepted socket
 * has it of its listener. */
static void tune(struct flow *f)
{
	const struct snap_pool *p = f->tuned ? NULL : flow_pool(f);

	if (p) /* one whose pool has just been removed keeps what the system gives */
		sock_tune(f->side[HF_SERVER].fd, p->conf->keep_alive);
	f->tuned = true;
}

/* A large read makes the side bulk; small ones end that in time. Who sends much waits for our word as soon as the window is full, which it is at first
 * when segments are long, as within a machine; and the system delays that word by up to 40 ms on a connection whose octets went both ways. */
static void judge(struct side *s, size_t n)
{
	if (n >= BULK) {
		if (!s->bulk)
			sock_ack(s->fd);
		s->bulk = LULL;
	} else if (s->bulk) {
		s->bulk--;
	}
}

/* One read. False: the flow is to end, for *reason. */
static bool copy(struct flow *f, enum hf_side from, size_t *moved, unsigned *reason)
{
	struct side *s = &f->side[from];
	ssize_t n = recv(s->fd, f->w->scratch, COPY, 0);

	if (n < 0) {
		*reason = error_of(from);
		s->more = errno == EINTR;
		return errno == EAGAIN || errno == EINTR;
	}
	s->eof = n == 0;
	s->more = n == COPY || (n && s->last);
	s->octets += *moved = (size_t)n;
	*reason = error_of(!from);
	if (n)
		tune(f);
	return n == 0 || side_put(&f->side[!from], f->w->scratch, (size_t)n) == HF_OK;
}

/* Out of the pipe, as far as the system takes it. False: the side failed. */
static bool push(struct side *to, struct pipe *p)
{
	while (p->n) {
		ssize_t n = splice(p->out, NULL, to->fd, NULL, p->n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		p->n -= (size_t)n;
	}
	return true;
}

/* One pipe's worth. False: the flow is to end, for *reason. */
static bool move(struct flow *f, enum hf_side from, struct pipe *p, size_t *moved, unsigned *reason)
{
	struct side *s = &f->side[from], *to = &f->side[!from];
	ssize_t n = splice(s->fd, NULL, p->in, NULL, PIPE_SIZE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	bool good = true;

	s->more = n >= COPY;
	if (n < 0) {
		good = errno == EAGAIN || errno == EINTR;
		*reason = error_of(from);
	} else {
		s->eof = n == 0;
		s->octets += *moved = p->n = (size_t)n;
		*reason = error_of(!from);
		if (n)
			tune(f);
		good = push(to, p);
	}
	if (p->n)
		to->pipe = p;
	else
		pipe_return(f->w, p);
	return good;
}

/* Until nothing is left, the other side has enough, or its turn is over. False: the flow is to end, for *reason. */
static bool take(struct flow *f, enum hf_side from, unsigned *reason)
{
	struct side *s = &f->side[from];
	bool good = true;

	for (int i = 0; good && i < TURNS && s->more && !s->eof && !f->stuck && !side_waits(&f->side[!from]); i++) {
		struct pipe *p = s->bulk ? pipe_borrow(f->w) : NULL;
		size_t n = 0;

		good = p ? move(f, from, p, &n, reason) : copy(f, from, &n, reason);
		judge(s, n);
	}
	return good;
}

/* What waits for a side, in order: the buffer, then the pipe. False: it failed. */
static bool drain(struct flow *f, struct side *s)
{
	if (side_drain(s) != HF_OK)
		return false;
	if (!s->pipe || buf_len(&s->out))
		return true;
	if (!push(s, s->pipe))
		return false;
	if (!s->pipe->n) {
		pipe_return(f->w, s->pipe);
		s->pipe = NULL;
	}
	return true;
}

static void marked(struct flow *f)
{
	struct hf_event ev = {.kind = HF_EV_WAKE};

	for (int i = 0; i < 2; i++)
		if (f->side[i].octets - f->mark_from[i] < f->mark)
			return;
	f->mark = 0;
	worker_clock(f->w);
	if (snap_service(f->w->snap, f->service))
		conn_step(f, &ev);
}

/* Nothing waits or is left to be read, and nobody has closed: what is watched for is what it was. So it is behind nearly every packet. */
static bool is_even(const struct side *s) { return s->even && !s->eof && !s->more && !s->bulk && !side_waits(s); }

/* Behind every event (which reads no clock: most only copy), and once behind the step that began the relay: both sides may have closed by then.
 * When all has gone both ways, the end of the sockets says so. */
void pump_go_on(struct flow *f)
{
	struct side *c = &f->side[HF_CLIENT], *s = &f->side[HF_SERVER];

	if (c->eof && s->eof && !side_waits(c) && !side_waits(s)) {
		f->end = HF_R_DONE;
	} else if (!is_even(c) || !is_even(s)) {
		pass_fin(f, HF_CLIENT);
		pass_fin(f, HF_SERVER);
		conn_watch(f);
	}
	if (f->end) { /* or it cannot be watched */
		worker_clock(f->w);
		conn_close(f, f->end);
	} else if (f->mark) {
		marked(f);
	}
}

void pump_start(struct flow *f)
{
	f->phase = PHASE_RELAY;
	timer_fini(&f->deadline); /* a session has no deadline any more, and may last for days */
	f->n_tried = 0; /* mark_from stands where they stood */
	for (int i = 0; i < 2; i++) {
		struct side *from = &f->side[i], *to = &f->side[!i];
		struct hf_bytes rest = buf_view(&from->in);

		f->mark_from[i] = from->octets - rest.n;
		if (rest.n && side_put(to, rest.p, rest.n) != HF_OK) {
			conn_close_later(f, error_of((enum hf_side)!i));
			return;
		}
		judge(from, rest.n); /* as much as fills the opening's room is the beginning of more */
		buf_free(&from->in);
	}
}

/* Room in a side is also room for what the other side's reader has left in the system. */
void pump_ready(struct flow *f, enum hf_side side, unsigned what)
{
	struct side *s = &f->side[side];
	unsigned reason = error_of(side);
	bool good = true;

	if (what & HF_WRITE && side_waits(s))
		good = drain(f, s) && take(f, !side, &reason);
	if (!good || !take(f, side, &reason)) {
		worker_clock(f->w);
		conn_close(f, reason);
		return;
	}
	pump_go_on(f);
}
