/* The end of a flow: what was told to the client goes out, both sides are closed, the front hears of it; conn_close is the only exit. Called by all that
 * deals with flows. Knows no protocol. */
#include <unistd.h>

#include "gate.h"
#include "path.h"
#include "sock.h"
#include "tale.h"

#define DRAIN_MS 2000 /* what was sent to a client that is refused has this long to arrive */

void conn_close_later(struct flow *f, unsigned reason)
{
	if (!f->end)
		f->end = reason;
	if (!f->busy)
		conn_finish(f);
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
void conn_finish(struct flow *f)
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
	conn_run(f, &ev);
	tale_end(f, reason);
	worker_count(f->w, f->rt, reason);
	worker_bump(&f->rt->counts[f->w->index].open_flows, -UINT64_C(1));
	atomic_fetch_sub_explicit(&f->w->net->open_flows, 1, memory_order_relaxed);
	flow_free(f);
}
