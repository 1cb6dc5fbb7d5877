/* What would happen with a message, told and not done: its parcel runs through deliver.c as any other, without a worker, and what the front
 * asks for comes here. It decides nothing itself. Control thread. */
#include "explain.h"
#include "flow.h"
#include "holdfast/clock.h"

static struct hf_note *note(struct parcel *p, const struct hf_act *act)
{
	struct hf_story *s = p->story;
	struct hf_note *n;

	s->cut |= s->n == HF_NOTES_MAX;
	n = &s->note[s->n < HF_NOTES_MAX ? s->n++ : HF_NOTES_MAX - 1];
	*n = (struct hf_note){.act = *act};
	return n;
}

static uint16_t member_of(const struct parcel *p, uint32_t hash)
{
	const struct snap_member *m = hash ? snap_by_hash(p->at, hash) : NULL;

	return m ? m->id : HF_NO_SERVER;
}

void explain_act(struct parcel *p, const struct hf_act *act)
{
	struct hf_note *n = note(p, act);

	if (act->kind == HF_ACT_SEND && act->send.to == HF_TO_SERVER)
		n->server = member_of(p, act->send.server);
	else if (act->kind == HF_ACT_LEARN || act->kind == HF_ACT_END)
		n->server = member_of(p, act->learn.server);
}

void explain_count(struct parcel *p, unsigned reason)
{
	struct hf_act act = {.kind = HF_ACT_DROP, .end = {reason, true}};

	note(p, &act);
}

void explain_ask(struct parcel *p, const struct hf_act *act, const struct hf_question *q, const struct snap_member *near, struct hf_answer *a)
{
	struct hf_note *n = note(p, act);

	n->server = q->hint;
	n->near = near ? near->id : HF_NO_SERVER;
	n->near_port = near ? near->addr.port : 0;
	hf_engine_explain(p->at->rt->engine, q, &n->answer, &n->trace, p->ctx.now_ms);
	*a = n->answer;
}

void explain_shed(struct parcel *p, const struct hf_act *act, const struct hf_question *q) { note(p, act)->server = q->hint; }

void explain_beside(struct parcel *p, const struct hf_act *act, const struct hf_answer *a) { note(p, act)->answer = *a; }

/* ---- where it comes from ---- */

static const struct hf_listener_info *listener_for(const struct snap_service *s, unsigned family, enum hf_transport t)
{
	const struct hf_listener_info *best = &s->infos[0];
	unsigned most = 0;

	for (unsigned i = 0; i < s->n_infos; i++) {
		const struct hf_listener_info *l = &s->infos[i];
		unsigned n = 4u * (t == HF_TRANSPORTS || l->transport == t) + 2u * (!family || l->addr.family == family) + !l->inside;

		if (n > most) {
			most = n;
			best = l;
		}
	}
	return best;
}

/* RFC 5737, RFC 3849: nobody's */
static struct hf_addr nobody(unsigned family)
{
	static const uint8_t four[4] = {192, 0, 2, 1}, six[4] = {0x20, 0x01, 0x0d, 0xb8};
	struct hf_addr a = {.family = (uint8_t)family, .port = 40000};

	memcpy(a.ip, family == 6 ? six : four, 4);
	a.ip[15] = family == 6;
	return a;
}

/* Where it arrives: a wildcard listener is reached at an address of this machine. */
static struct hf_addr local_of(const struct snap_service *s, const struct hf_listener_info *l)
{
	for (unsigned i = 0; l->wildcard && i < s->n_own; i++)
		if (s->own[i].family == l->addr.family && s->own[i].port == l->addr.port && !hf_addr_is_any(&s->own[i]))
			return s->own[i];
	return l->addr;
}

bool hf_net_explain(const struct hf_net *net, unsigned i, struct hf_bytes message, const struct hf_addr *from, enum hf_transport transport, struct hf_arena *arena,
		    struct hf_story *out)
{
	const struct snap_service *s = i < net->snap->n_services ? &net->snap->services[i] : NULL;
	struct flow flow = {.rt = s ? s->rt : NULL};
	struct parcel p = {.service = s, .rt = flow.rt, .story = out, .anchors = net->anchors};

	if (!s || (transport != HF_TRANSPORTS && !(s->conf->front->transports & HF_TRANSPORT_BIT(transport))))
		return false;
	if (transport == HF_TRANSPORTS && s->conf->front->datagram_flows)
		transport = s->conf->front->server_transport; /* what opens a session; datagrams go beside that */
	*out = (struct hf_story){.service = s->conf, .listener = listener_for(s, from->family, transport), .from = *from};
	out->transport = transport == HF_TRANSPORTS ? out->listener->transport : transport;
	if (!from->family)
		out->from = nobody(out->listener->addr.family);
	p.pool = flow.pool = s->pool->rt;
	p.at = s->pool;
	net_ctx(net, s, arena, hf_clock_ms(), &p.ctx);
	p.ev = (struct hf_event){.kind = HF_EV_BYTES, .side = HF_CLIENT, .bytes = message, .listener = out->listener, .source = out->from,
		.local = local_of(s, out->listener), .transport = out->transport};
	deliver_speaker(s, out->listener, &p.ev);
	if (hf_transport_is_stream(out->transport)) {
		p.flow = &flow;
		p.ctx.flow = flow.state;
	}
	deliver_run(&p);
	out->pool = p.at->conf;
	out->remark = p.ctx.seen.remark;
	return true;
}
