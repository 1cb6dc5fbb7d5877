/* What is told to a hold: a note, or a parcel that is passed on. A hold on this worker is told at once; one on another by letter, which names it
 * by tag and boot. A note wakes nobody: its worker reads it with its next datagrams, or within a few moments (hold.c).
 * Knows no protocol. */
#include "inside.h"

static struct worker *keeper(const struct parcel *p, const struct hf_flow_name *to)
{
	struct hf_net *net = p->w->net;

	return to->worker < net->n_workers && to->worker != p->w->index && to->boot == net->site.boot ? &net->workers[to->worker] : NULL;
}

bool told_pass(struct parcel *p, const struct hf_flow_name *to)
{
	const struct letter l = {.kind = LETTER_PASS, .service = p->rt->id, .flow = *to, .addr = p->ev.source, .transport = p->ev.transport,
		.listener = p->ev.listener ? p->ev.listener->hash : 0};
	struct worker *w = keeper(p, to);
	struct hf_bytes b = hf_bytes_sub(p->ev.bytes, 0, p->took ? p->took : p->ev.bytes.n);

	if (!w || b.n > LETTER_MAX)
		return false;
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
	struct worker *w = keeper(p, &act->note.to);

	if (x && x == p->hold)
		parcel_count(p, HF_R_BAD_STEP); /* a step of this hold is running */
	else if (x)
		hold_step(p->w, x, HF_EV_NOTE, note);
	else if (w && !letter_post(w, &l, note))
		parcel_count(p, HF_R_LETTER_BOX_FULL);
}

/* The parcel as if it had come here; whatever the hold wants with it, or none of it is left. */
static void passed(struct worker *w, const struct snap_service *s, const struct letter *l, struct hf_bytes body)
{
	struct hold *x = hold_find(w, s->rt, &l->flow);
	const struct hf_listener_info *info = snap_listener(s, l->listener, NULL);
	struct parcel p = {.w = w, .service = s, .rt = s->rt, .pool = s->pool->rt, .at = s->pool};

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

	if (l->kind == LETTER_PASS) {
		passed(w, s, l, body);
		return;
	}
	x = hold_find(w, s->rt, &l->flow);
	if (x && body.n == HF_NOTE) {
		hf_arena_reset(&w->arena);
		hold_step(w, x, HF_EV_NOTE, body);
	}
}
