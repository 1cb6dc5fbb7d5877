/* What a step of a flow's front says is to be done with the flow: more octets, a dial, a hold, relaying; and what letters say. Called by deliver.c and
 * letter.c. Knows no protocol; it ends nothing while a step runs. */
#include "gate.h"
#include "path.h"
#include "notice.h"
#include "udp.h"

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
