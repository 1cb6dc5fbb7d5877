/* What is told to a hold: a note, or a parcel that is passed on. A hold on this worker is told at once; one on another by letter, which names it
 * by tag and boot. A note wakes nobody: its worker reads it with its next datagrams, or within a few moments (hold.c).
 * A name of another boot is of a parcel that was sent before a restart. Its client may have sent it again since, by whatever worker: all are told, and
 * a parcel goes round until one knows it.
 * What a parcel caused to be sent is to arrive before what the one behind it causes, also when that is passed on and sent by the other worker: who has told
 * a hold something this turn sends its datagrams before it passes that hold a parcel.
 * Knows no protocol. */
#include "inside.h"
#include "keepers.h"
#include "udp.h"

static bool is_old(const struct worker *w, const struct hf_flow_name *to) { return to->boot != w->net->site.boot; }

static struct worker *other(const struct worker *w, unsigned i) { return i < w->net->n_workers && i != w->index ? &w->net->workers[i] : NULL; }

/* Whom a parcel goes to that w does not know, w being the one who has it. An old name is made to say who had it first. NULL: nobody else. */
static struct worker *next_keeper(const struct worker *w, const struct hf_flow_name *to)
{
	unsigned next = (w->index + 1u) % w->net->n_workers;

	return !is_old(w, to) ? other(w, to->worker) : next == to->worker ? NULL : other(w, next);
}

static uint64_t bit_of(const struct hf_flow_name *to) { return 1ull << (to->slot & 63); }

bool told_pass(struct parcel *p, const struct hf_flow_name *to)
{
	struct letter l = {.kind = LETTER_PASS, .service = p->rt->id, .flow = *to, .addr = p->ev.source, .transport = p->ev.transport,
		.listener = p->ev.listener ? p->ev.listener->hash : 0};
	struct worker *w;
	struct hf_bytes b = hf_bytes_sub(p->ev.bytes, 0, p->took ? p->took : p->ev.bytes.n);

	if (is_old(p->w, to))
		l.flow.worker = (uint8_t)p->w->index;
	w = next_keeper(p->w, &l.flow);
	if (!w || b.n > LETTER_MAX)
		return false;
	if (p->w->told & bit_of(to)) /* as a rule an answer is a turn's first */
		udp_flush(p->w);
	if (letter_post(w, &l, b))
		return true;
	parcel_count(p, HF_R_LETTER_BOX_FULL);
	return false;
}

void told_note(struct parcel *p, const struct hf_act *act)
{
	const struct letter l = {.kind = LETTER_NOTE, .service = p->rt->id, .flow = act->note.to};
	struct hf_bytes note = hf_bytes_of(act->note.octets, HF_NOTE);
	struct hold *x = hold_find(p->w, p->rt, &act->note.to);
	bool old = is_old(p->w, &act->note.to);

	if (x && x == p->hold)
		parcel_count(p, HF_R_BAD_STEP); /* a step of this hold is running */
	else if (x)
		hold_step(p->w, x, HF_EV_NOTE, note);
	for (unsigned i = 0; !x && i < p->w->net->n_workers; i++) {
		struct worker *w = old || i == act->note.to.worker ? other(p->w, i) : NULL;

		if (w)
			p->w->told |= bit_of(&act->note.to);
		if (w && !letter_post(w, &l, note))
			parcel_count(p, HF_R_LETTER_BOX_FULL);
	}
}

bool told_carry(struct parcel *p, uint64_t tag)
{
	const struct letter l = {.kind = LETTER_CARRY, .service = p->rt->id, .flow = p->ev.flow_name, .addr = p->ev.source, .local = p->ev.local,
		.transport = p->ev.transport, .listener = p->ev.listener->hash, .member = p->ev.member};
	struct worker *to = p->hold || p->story || p->carried ? NULL : keepers_find(p->w->net->keepers, tag, p->w);
	struct hf_bytes b = hf_bytes_sub(p->ev.bytes, 0, p->took ? p->took : p->ev.bytes.n);

	if (!to || b.n > LETTER_MAX)
		return false;
	if (letter_post(to, &l, b))
		return true;
	parcel_count(p, HF_R_LETTER_BOX_FULL);
	return false;
}

/* It came to another worker, which has counted it and looked at its source. If what it is about has ended meanwhile, it is a new one here. */
static void carried(struct worker *w, const struct snap_service *s, const struct letter *l, struct hf_bytes body)
{
	struct parcel p = {.w = w, .service = s, .rt = s->rt, .pool = s->pool->rt, .at = s->pool, .carried = true};
	const struct hf_listener_info *info = snap_listener(s, l->listener, NULL);
	_Alignas(8) uint8_t state[HF_FLOW_STATE] = {0}; /* it is whole: what its connection remembers of others does not matter */

	if (!info)
		info = &s->infos[0];
	hf_arena_reset(&w->arena);
	deliver_ctx(w, s, &p.ctx);
	p.ctx.flow = state;
	p.ev = (struct hf_event){.kind = HF_EV_BYTES, .bytes = body, .listener = info, .source = l->addr, .local = l->local, .transport = l->transport, .flow_name = l->flow};
	deliver_speaker(s, info, &p.ev);
	if (l->member) {
		p.ev.member = l->member;
		p.ev.from_servers = true;
	}
	deliver_run(&p);
}

/* The parcel as if it had come here; whatever the hold wants with it, or none of it is left. */
static void passed(struct worker *w, const struct snap_service *s, const struct letter *l, struct hf_bytes body)
{
	struct hold *x = hold_find(w, s->rt, &l->flow);
	const struct hf_listener_info *info = snap_listener(s, l->listener, NULL);
	struct parcel p = {.w = w, .service = s, .rt = s->rt, .pool = s->pool->rt, .at = s->pool};

	if (!x && is_old(w, &l->flow) && next_keeper(w, &l->flow) && letter_post(next_keeper(w, &l->flow), l, body))
		return;
	if (!info)
		info = &s->infos[0];
	hf_arena_reset(&w->arena);
	deliver_ctx(w, s, &p.ctx);
	p.ev = (struct hf_event){.kind = HF_EV_LETTER, .bytes = body, .listener = info, .source = l->addr, .local = info->addr, .transport = l->transport};
	deliver_speaker(s, info, &p.ev);
	if (x)
		deliver_enter(&p, x, &w->came);
	deliver_run(&p);
}

void told_take(struct worker *w, const struct snap_service *s, const struct letter *l, struct hf_bytes body)
{
	struct hold *x;

	if (l->kind == LETTER_PASS || l->kind == LETTER_CARRY) {
		(l->kind == LETTER_PASS ? passed : carried)(w, s, l, body);
		return;
	}
	x = hold_find(w, s->rt, &l->flow);
	if (x && body.n == HF_NOTE) {
		hf_arena_reset(&w->arena);
		hold_step(w, x, HF_EV_NOTE, body);
	}
}
