/* A member's request names its next hop by a host: what this worker knows of it answers at once, else the parcel waits as a hold while search.c asks, with
 * all that come here for the same name, in order. Nobody but a member may ask, so that no client's octets make us ask anybody or choose an address; a parcel
 * that comes again does not ask again. Knows no protocol. */
#include "flow.h"
#include "resolve.h"
#include "search.h"
#include "seek.h"

#define SHARE 4      /* one in so many of max-holds may wait for a name: requests of clients have the others */
#define WAIT_MS 5000 /* a name server has had two tries by then (resolve.c), and who sent the parcel has not given up */

struct waits { /* the state of such a hold */
	struct hold *next;
	struct lead *lead;
	uint64_t spread;
	uint16_t port;
	uint8_t transport;
};
_Static_assert(sizeof(struct waits) <= HF_HOLD_STATE, "a hold's state");

static struct waits *waits_of(struct hold *x) { return (struct waits *)(void *)hold_state(x); }

/* ---- the parcel's side ---- */

static bool name_of(const struct parcel *p, const struct hf_seek *q, struct lead_name *out)
{
	char host[256];

	memset(out, 0, sizeof *out);
	if (!resolver_host(q->host, host))
		return false;
	memcpy(out->host, host, sizeof out->host); /* at most 253 octets are taken */
	out->service = p->rt->id;
	out->ways = (uint16_t)q->ways;
	return true;
}

static struct hf_bytes octets_of(const struct parcel *p) { return hf_bytes_sub(p->ev.bytes, 0, p->took ? p->took : p->ev.bytes.n); }

static void enter(struct lead *at, struct hold *x, const struct hf_seek *q)
{
	*waits_of(x) = (struct waits){.lead = at, .spread = q->spread, .port = q->port, .transport = (uint8_t)q->transport};
	if (at->waiting.last)
		waits_of(at->waiting.last)->next = x;
	else
		at->waiting.first = x;
	at->waiting.last = x;
	hold_seeks(x);
}

/* The reason why it cannot. */
static unsigned wait_for(struct parcel *p, const struct hf_seek *q, const struct lead_name *name, struct lead *at)
{
	static const uint8_t nothing[HF_HOLD_STATE];
	struct hold *x;

	if (p->w->seeking > p->w->snap->conf->gateway.max_holds / SHARE)
		return HF_R_HOLD_LIMIT;
	if (!at)
		at = leads_add(p->w->leads, name);
	if (!at)
		return HF_R_SEEK_LIMIT;
	if (!at->asked && !search_ask(p->w->net->searches, p->w->index, name))
		return HF_R_SEEK_LIMIT;
	at->asked = true;
	x = hold_keep(p, WAIT_MS, nothing, octets_of(p), q->tag);
	if (!x)
		return HF_R_HOLD_LIMIT;
	enter(at, x, q);
	p->w->seeking++;
	return HF_R_NONE;
}

void seek_act(struct parcel *p, const struct hf_act *act)
{
	const struct hf_seek *q = &act->seek;
	struct lead *at = NULL;
	struct lead_name name;
	bool named = !parcel_paired(p) && name_of(p, q, &name);
	struct hf_found *out = &p->w->found;

	p->next = HF_EV_FOUND;
	p->ev.found = out;
	*out = (struct hf_found){.reason = HF_R_UNRESOLVED};
	if (named)
		at = leads_find(p->w->leads, &name);
	if (!send_may_choose(p)) {
		out->reason = HF_R_NOT_A_MEMBER;
	} else if (at && lead_is_known(at, p->ctx.now_ms)) {
		spots_order(&at->said, q, out);
	} else if (named && q->tag && hold_tagged(p->w, p->rt, q->tag)) {
		parcel_count(p, HF_R_SOUGHT);
		p->next = HF_EV_BYTES;
	} else if (named && q->tag && told_carry(p, q->tag)) {
		p->next = HF_EV_BYTES; /* its twin waits on another worker */
	} else if (named) {
		out->reason = wait_for(p, q, &name, at);
		if (out->reason == HF_R_NONE)
			p->next = HF_EV_BYTES;
	}
}

/* ---- the answer's side ---- */

/* The parcel goes on, and is a hold no more. */
static void go_on(struct worker *w, struct hold *x, const struct hf_found *found)
{
	struct parcel p;

	w->seeking--;
	if (hold_parcel(w, x, &p)) {
		hf_arena_reset(&w->arena);
		p.ev.kind = HF_EV_FOUND;
		p.ev.found = found;
		deliver_run(&p);
	}
	hold_end(w, x);
}

static void told(struct worker *w, struct lead *at)
{
	struct hold *x;

	while ((x = at->waiting.first) != NULL) {
		const struct waits *v = waits_of(x);
		const struct hf_seek q = {.port = v->port, .transport = (enum hf_transport)v->transport, .spread = v->spread};
		struct hf_found found;

		at->waiting.first = v->next;
		if (!v->next)
			at->waiting.last = NULL;
		spots_order(&at->said, &q, &found);
		go_on(w, x, &found);
	}
	at->asked = false; /* not before: one that is asked for is not forgotten */
}

void seek_letter(struct worker *w, const struct letter *l, struct hf_bytes body)
{
	struct search_said m;
	struct lead *at;

	if (l->kind == LETTER_FORGET) {
		leads_forget(w->leads);
		return;
	}
	HF_BUG_ON(body.n != sizeof m);
	memcpy(&m, body.p, sizeof m);
	at = leads_find(w->leads, &m.name);
	if (!at)
		return;
	at->said = m.said;
	at->until_ms = w->now_ms + m.said.keep_ms;
	told(w, at);
}

void seek_late(struct worker *w, struct hold *x)
{
	const struct hf_found nowhere = {.reason = HF_R_UNRESOLVED};
	struct lead *at = waits_of(x)->lead;
	struct hold *before = NULL;

	for (struct hold *i = at->waiting.first; i != x; i = waits_of(i)->next)
		before = i;
	if (before)
		waits_of(before)->next = waits_of(x)->next;
	else
		at->waiting.first = waits_of(x)->next;
	if (at->waiting.last == x)
		at->waiting.last = before;
	at->asked = at->waiting.first != NULL; /* else the next one asks again: an answer may have been lost */
	go_on(w, x, &nowhere);
}
