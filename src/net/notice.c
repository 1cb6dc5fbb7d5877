/* Counting and noting what passes; see notice.h. Called by deliver.c and by who sends; decides nothing. */
#include "notice.h"

#include "export.h"

struct tally *notice_tally(const struct worker *w, const struct pool_rt *pool, const struct snap_member *m)
{
	struct tally *t = pool->tallies && m ? &pool->tallies[(size_t)w->index * (HF_SERVERS_MAX + 1) + m->id] : NULL;

	if (!t || atomic_load_explicit(&t->server, memory_order_relaxed) == m->hash)
		return t;
	for (unsigned i = 0; i < HF_WHY_COUNT; i++)
		atomic_store_explicit(&t->why[i], 0, memory_order_relaxed);
	for (unsigned i = 0; i < HF_CLASSES; i++)
		atomic_store_explicit(&t->answers[i], 0, memory_order_relaxed);
	atomic_store_explicit(&t->server, m->hash, memory_order_relaxed);
	return t;
}

static unsigned class_of(unsigned code) { return code >= 100 && code < 100 * HF_CLASSES ? code / 100 : 0; }

static void count(struct parcel *p, const struct hf_seen *s, const struct snap_member *m)
{
	struct counts *c = &p->rt->counts[p->w->index];
	struct tally *t = s->code ? notice_tally(p->w, p->pool, m) : NULL;

	if (s->name > HF_NAMES_MAX)
		return;
	worker_bump(s->code ? &c->answered[s->name - 1][class_of(s->code)] : &c->asked[s->name - 1], 1);
	if (t)
		worker_bump(&t->answers[class_of(s->code)], 1);
}

/* Once for all that comes of a parcel. */
static uint64_t session_of(struct parcel *p)
{
	if (!p->session)
		p->session = ring_session(p->ctx.seen.session);
	return p->session;
}

void notice_came(struct parcel *p)
{
	const struct hf_seen *s = &p->ctx.seen;
	const struct snap_member *m = p->ev.member && p->at ? snap_by_hash(p->at, p->ev.member) : NULL;

	count(p, s, m);
	if (p->w->exporting && p->rt->front->capture)
		exports_add(p->w, p, NULL, hf_transport_is_stream(p->ev.transport), &p->ev.source, &p->ev.local);
	if (!p->w->ring)
		return;
	ring_add(p->w->ring, &(struct hf_passed){.at_us = p->w->now_us, .session = session_of(p), .peer = p->ev.source, .own_port = p->ev.local.port,
		.transport = p->ev.transport, .server = m ? m->id : 0, .service = p->rt->id, .name = s->name, .code = s->code, .octets = (uint32_t)s->octets.n});
}

static enum hf_why why_of(const struct parcel *p, const struct snap_member *m)
{
	return p->chosen.server == m->hash ? p->chosen.why : HF_WHY_COOKIE; /* what is sent without asking goes where the message or its hold says */
}

void notice_placed(struct parcel *p, const struct snap_member *m)
{
	struct tally *t = p->w ? notice_tally(p->w, p->pool, m) : NULL;

	if (t)
		worker_bump(&t->why[why_of(p, m)], 1);
}

void notice_out(struct parcel *p, const struct hf_send *s, enum hf_transport t, const struct hf_addr *from, uint16_t own_port, const struct hf_addr *to)
{
	const struct hf_seen *seen = &p->ctx.seen;
	const struct snap_member *m = s->to == HF_TO_SERVER ? worker_by_hash(p->w, p->at, s->server) : NULL;
	bool other = s->name | s->code;
	struct hf_addr own = *from;

	own.port = own_port;
	if (p->w->exporting && p->rt->front->capture)
		exports_add(p->w, p, s, hf_transport_is_stream(t), &own, to);
	if (!p->w->ring)
		return;
	ring_add(p->w->ring, &(struct hf_passed){.at_us = p->w->now_us, .session = session_of(p), .out = true, .peer = *to, .own_port = own_port, .transport = t,
		.server = m ? m->id : 0, .service = p->rt->id, .name = other ? s->name : seen->name, .code = other ? s->code : seen->code, .why = m ? why_of(p, m) : HF_WHY_NONE});
}
