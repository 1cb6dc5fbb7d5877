/* Deciding: the order hint, refs, entry, placement, and what then becomes of the key's entry. choose and learn share it,
 * and explain is choose with a trace: it answers the same and writes what was looked at instead of any change.
 * Any thread. Start and end run under the lock of the key's shard. */
#include "inside.h"

/* What is done with an entry, as one value; choose and learn both speak it. */
struct wish {
	enum hf_life life;
	uint32_t life_s;
	unsigned flags;
};

static bool makes(enum hf_life life) { return life == HF_LIFE_START || life == HF_LIFE_OPEN; }

static uint32_t longer(uint32_t a, uint32_t b, uint64_t now_ms) { return tick_left(a, now_ms) > tick_left(b, now_ms) ? a : b; }

/* A touch writes only when an eighth of the life is gone, or when flags change: most packets of a session write nothing. */
static unsigned touched(unsigned had, unsigned flags) { return (had & HF_BOND) | (flags & (HF_COUNTED | HF_BOND)); }

static bool due(uint32_t had, uint32_t expiry, uint64_t now_ms)
{
	uint32_t whole = tick_left(expiry, now_ms);

	return tick_left(had, now_ms) + (whole + 7) / 8 <= whole;
}

/* x as it is after the wish; false: it ends. */
static bool live(struct entry *x, struct record *r, const struct wish *w, uint64_t now_ms)
{
	uint32_t expiry = tick_of_life(now_ms, w->life_s);

	switch (w->life) {
	case HF_LIFE_OPEN:
		if (r)
			r->flows++;
		/* fallthrough */
	case HF_LIFE_START:
		if (!(w->flags & HF_TENTATIVE))
			x->flags &= ~(unsigned)HF_TENTATIVE;
		x->flags |= w->flags & (HF_COUNTED | HF_BOND);
		x->expiry = longer(x->expiry, expiry, now_ms);
		break;
	case HF_LIFE_TOUCH:
		x->flags = touched(x->flags, w->flags);
		if (due(x->expiry, expiry, now_ms))
			x->expiry = expiry;
		break;
	case HF_LIFE_LINGER:
		x->flags &= ~(unsigned)HF_COUNTED;
		x->expiry = expiry;
		break;
	case HF_LIFE_CLOSE:
		if (r && r->flows && --r->flows)
			break;
		x->expiry = expiry;
		return !(x->flags & w->flags & HF_TENTATIVE);
	case HF_LIFE_END:
		return false;
	case HF_LIFE_NONE:
		break;
	}
	return true;
}

/* Applies the wish to the entry at place; its server may have been changed in x. */
static void write_back(struct hf_engine *e, struct shard *s, uint32_t place, struct entry *x, const struct wish *w, enum taken taken,
		       uint64_t now_ms)
{
	struct record *r = record_of(e, s, x->fp);
	struct entry old = entry_unpack(&s->t.at[place]);

	if (r && w->life != HF_LIFE_NONE)
		r->seen_ms = now_ms;
	if (!live(x, r, w, now_ms)) { /* what ends was not placed anew */
		ledger_drop(e, s, place);
		return;
	}
	if (taken != TAKEN_NOT || !entry_same(x, &old))
		ledger_set(e, s, place, x, taken);
}

/* An entry at `place`, where ledger_find found none. */
static bool make(struct hf_engine *e, struct shard *s, uint32_t place, const struct hf_lesson *l, enum taken taken, uint64_t now_ms)
{
	unsigned keep = l->life == HF_LIFE_TOUCH ? HF_COUNTED | HF_BOND : HF_COUNTED | HF_TENTATIVE | HF_BOND;
	const struct entry x = {l->key.fp, l->flags & keep, l->server, tick_of_life(now_ms, l->life_s)};
	const struct birth from = {l->key.text, now_ms, l->life == HF_LIFE_OPEN, l->why};

	return ledger_add(e, s, place, &x, taken, &from);
}

/* Whether a server that is named, by whom ever, is the answer. */
static inline enum hf_verdict named_verdict(const struct hf_engine *e, const struct hf_question *q, uint16_t id)
{
	if (!id)
		return HF_VERDICT_MISSING;
	if (!serves(e, id))
		return HF_VERDICT_OFF;
	return among(q->avoid, q->n_avoid, id) ? HF_VERDICT_TRIED : HF_VERDICT_TAKEN;
}

__attribute__((noinline)) static void trace_entry(const struct hf_engine *e, const struct hf_question *q, enum hf_step_kind kind, uint64_t fp, const struct entry *x,
						  enum hf_verdict v, uint64_t now_ms)
{
	struct hf_step *step = trace_step(e, q->trace, kind, x->server, v);

	step->fp = fp;
	step->flags = x->flags;
	step->expires_s = x->server ? tick_left(x->expiry, now_ms) * (TICK_MS / 1000) : 0;
}

/* The server of another key's entry, 0 without one that serves. */
static uint16_t entry_server(struct hf_engine *e, const struct hf_question *q, enum hf_step_kind kind, uint64_t fp, uint64_t now_ms)
{
	struct shard *s = shard_of(e, fp);
	struct glimpse g = ledger_glance(s, fp, now_ms);
	struct entry x = {fp, g.flags, g.is == GLANCE_NONE ? 0 : g.server, g.expiry};
	enum hf_verdict v;
	uint32_t place;

	if (g.is == GLANCE_BUSY) {
		spin_lock(&s->lock);
		if (!ledger_look(e, s, fp, now_ms, &place, &x))
			x.server = 0;
		spin_unlock(&s->lock);
	}
	v = named_verdict(e, q, x.server);
	if (q->trace)
		trace_entry(e, q, kind, fp, &x, v, now_ms);
	return v == HF_VERDICT_TAKEN || v == HF_VERDICT_TRIED ? x.server : 0;
}

static uint16_t bond_of(struct hf_engine *e, const struct hf_question *q, uint64_t now_ms)
{
	uint16_t id = entry_server(e, q, HF_STEP_BOND, q->place, now_ms);

	return id || !q->place_else ? id : entry_server(e, q, HF_STEP_BOND, q->place_else, now_ms);
}

/* For how long what is bound to a server must not be placed anew, should that not answer; 0: it may be at once. */
static uint64_t binding_ms(const struct hf_engine *e, uint16_t id, uint64_t now_ms)
{
	uint64_t hold = atomic_load_explicit(&e->on_down_ms, memory_order_relaxed), since, gone;

	if (hf_engine_state(e, id, &since) != HF_STATE_DOWN)
		return hold;
	gone = now_ms > since ? now_ms - since : 0;
	return hold > gone ? hold - gone : 0;
}

/* What binds the question's key to the server is bound anew by it, and better elsewhere. */
static bool gives_way(const struct hf_engine *e, const struct hf_question *q, uint16_t server, uint64_t now_ms)
{
	switch (q->renews ? state_of(e, server) : HF_STATE_UP) {
	case HF_STATE_DOWN: return !binding_ms(e, server, now_ms);
	case HF_STATE_DRAIN: return atomic_load_explicit(&e->drain_moves, memory_order_relaxed);
	default: return false;
	}
}

/* As a hint or reference: a session that goes on goes there in any state but OFF, what only begins need not. */
static enum hf_verdict leads(const struct hf_engine *e, const struct hf_question *q, uint16_t id, struct hf_answer *a, uint64_t now_ms)
{
	enum hf_verdict v = named_verdict(e, q, id);

	if (v != HF_VERDICT_TAKEN || !gives_way(e, q, id, now_ms))
		return v;
	a->left = true;
	return HF_VERDICT_LEAVES;
}

/* A server that the question itself names, or a reference of it. */
static void named(struct hf_engine *e, const struct hf_question *q, struct hf_answer *a, uint64_t now_ms)
{
	enum hf_verdict v = leads(e, q, q->hint, a, now_ms);

	if (q->trace && q->hint)
		trace_step(e, q->trace, HF_STEP_HINT, q->hint, v);
	if (v == HF_VERDICT_TAKEN) {
		a->server = q->hint;
		a->why = q->hint_why;
		return;
	}
	for (int i = 0; i < 2 && q->refs[0] | q->refs[1]; i++) {
		uint16_t id = q->refs[i] ? entry_server(e, q, HF_STEP_REF, q->refs[i], now_ms) : 0;

		if (leads(e, q, id, a, now_ms) == HF_VERDICT_TAKEN) {
			a->server = id;
			a->why = HF_WHY_DIALOG;
			return;
		}
	}
}

/* A new session: at the server of the placing keys' entries (a bond), else by placement; not `wanted`: nothing remembers it, so whatever else
 * comes of it must find the same answer. */
static enum taken place_new(struct hf_engine *e, const struct hf_question *q, uint16_t bond, bool wanted, struct hf_answer *a, uint64_t now_ms)
{
	struct place p = {.slot = slot_of(e, q->place ? q->place : q->key.fp), .avoid = q->avoid, .n_avoid = q->n_avoid, .trace = q->trace,
			  .take = wanted && q->flags & HF_COUNTED && !q->trace, .home = !wanted && e->conf.mode != HF_MODE_NONE};
	bool open = named_verdict(e, q, bond) == HF_VERDICT_TAKEN;
	bool down = open && state_of(e, bond) == HF_STATE_DOWN && !binding_ms(e, bond, now_ms);
	enum hf_verdict b = !open ? HF_VERDICT_MISSING : gives_way(e, q, bond, now_ms) ? HF_VERDICT_LEAVES : down ? HF_VERDICT_STATE : HF_VERDICT_TAKEN;
	struct placed to = {0, HF_WHY_NONE, TAKEN_NOT};

	if (q->trace && open)
		trace_amend(q->trace, HF_STEP_BOND, bond, b);
	if (b != HF_VERDICT_TAKEN)
		to = q->unplaced ? place_fallback(e, q, wanted) : place_session(e, &p);
	if (!to.server && open) {
		to = (struct placed){bond, HF_WHY_BOND, TAKEN_NOT};
		if (q->trace && b != HF_VERDICT_TAKEN)
			trace_step(e, q->trace, HF_STEP_LAST, bond, HF_VERDICT_TAKEN);
	}
	a->server = to.server;
	a->why = to.server && q->move && q->n_avoid ? HF_WHY_FAILOVER : to.why;
	return to.taken;
}

/* Of a session that has been answered and has not ended. */
static bool is_firm(unsigned flags) { return (flags & (HF_COUNTED | HF_TENTATIVE)) == HF_COUNTED; }

/* Whether an entry at `server` answers the question as it is. live: it has live flows, and does not leave a server that only drains. */
static inline enum hf_verdict stay_verdict(const struct hf_engine *e, const struct hf_question *q, uint16_t server, bool live, uint64_t now_ms)
{
	if (!serves(e, server))
		return HF_VERDICT_OFF;
	if (q->move && among(q->avoid, q->n_avoid, server))
		return HF_VERDICT_TRIED;
	if (live && state_of(e, server) == HF_STATE_DRAIN)
		return HF_VERDICT_TAKEN;
	return gives_way(e, q, server, now_ms) ? HF_VERDICT_LEAVES : HF_VERDICT_TAKEN;
}

static bool has_flows(const struct hf_engine *e, const struct shard *s, uint64_t fp)
{
	const struct record *r = record_of(e, s, fp);

	return r && r->flows;
}

static void answer_known(const struct hf_question *q, uint16_t server, struct hf_answer *a)
{
	a->server = server;
	a->why = q->flags & HF_BOND ? HF_WHY_BOND : HF_WHY_ENTRY;
}

/* Most questions change nothing: a session is touched whose life has hardly begun, or an answer is all that is asked for. They take no lock.
 * False: it is decided under the lock. */
static bool choose_unlocked(struct hf_engine *e, const struct shard *s, const struct hf_question *q, uint16_t bond, struct hf_answer *a,
			    uint64_t now_ms)
{
	struct glimpse g;

	if (q->life != HF_LIFE_NONE && (q->life != HF_LIFE_TOUCH || e->conf.mode == HF_MODE_TABLE)) /* a record shows when it was seen */
		return false;
	g = ledger_glance(s, q->key.fp, now_ms);
	if (g.is == GLANCE_NONE && q->life == HF_LIFE_NONE) {
		if (!a->server)
			place_new(e, q, bond, false, a, now_ms);
		return true;
	}
	if (g.is != GLANCE_LIVE || stay_verdict(e, q, g.server, false, now_ms) != HF_VERDICT_TAKEN)
		return false;
	if (q->life == HF_LIFE_TOUCH && (touched(g.flags, q->flags) != g.flags || due(g.expiry, tick_of_life(now_ms, q->life_s), now_ms)))
		return false;
	a->known = true;
	a->firm = is_firm(g.flags);
	if (!a->server)
		answer_known(q, g.server, a);
	return true;
}

/* What the question is about; one that is only explained has no life of its own. */
static enum hf_life life_of(const struct hf_question *q) { return q->trace ? q->trace->life : q->life; }

/* The key has an entry. */
static void choose_known(struct hf_engine *e, struct shard *s, uint32_t place, struct entry *x, const struct hf_question *q, uint16_t bond,
			 struct hf_answer *a, uint64_t now_ms)
{
	const struct wish w = {q->life, q->life_s, q->flags};
	bool stays = stay_verdict(e, q, x->server, q->renews && has_flows(e, s, x->fp), now_ms) == HF_VERDICT_TAKEN ||
		     (q->unless_firm && is_firm(x->flags));
	bool rewrites = makes(q->life) || q->life == HF_LIFE_TOUCH;
	enum taken taken = TAKEN_NOT;
	struct record *r;

	a->known = true;
	a->firm = is_firm(x->flags);
	if (!a->server && stays) {
		answer_known(q, x->server, a);
	} else if (!a->server) {
		a->left = q->renews;
		taken = place_new(e, q, bond || !q->renews ? bond : x->server, makes(life_of(q)) || life_of(q) == HF_LIFE_TOUCH, a, now_ms);
	}
	if (!stays && rewrites && (taken != TAKEN_NOT || serves(e, a->server))) {
		x->server = a->server;
		r = record_of(e, s, x->fp);
		if (r)
			r->why = (uint8_t)a->why;
	}
	write_back(e, s, place, x, &w, taken, now_ms);
}

static void choose_new(struct hf_engine *e, struct shard *s, uint32_t place, const struct hf_question *q, uint16_t bond, struct hf_answer *a,
		       uint64_t now_ms)
{
	bool hinted = q->hint && a->server == q->hint;
	bool wanted = makes(life_of(q)) || (q->life == HF_LIFE_TOUCH && hinted), placed = !a->server;
	enum taken taken = TAKEN_NOT;

	a->over = makes(q->life) && quota_over(e, q->source, now_ms) && ledger_crowded(e);
	wanted &= !a->over;
	if (placed)
		taken = place_new(e, q, bond, wanted, a, now_ms);
	if (!wanted || q->trace || !(taken != TAKEN_NOT || serves(e, a->server))) /* seen under the lock: from here on the id is in use */
		return;
	a->full = !make(e, s, place, &(struct hf_lesson){q->key, a->server, q->life, q->life_s, q->flags, a->why, false}, taken, now_ms);
	if (a->full && placed) /* what comes next of it is answered by the hash too */
		place_new(e, q, bond, false, a, now_ms);
}

/* Only looks: nothing is wanted of the entry (explain has seen to it), and an expired one stays where it is. */
static void choose_traced(struct hf_engine *e, struct shard *s, const struct hf_question *q, uint16_t bond, struct hf_answer *a, uint64_t now_ms)
{
	struct entry x;
	uint32_t place;

	shard_lock(e, s, q->key.fp);
	if (ledger_look(e, s, q->key.fp, now_ms, &place, &x)) {
		trace_entry(e, q, HF_STEP_ENTRY, q->key.fp, &x, stay_verdict(e, q, x.server, q->renews && has_flows(e, s, x.fp), now_ms), now_ms);
		choose_known(e, s, place, &x, q, bond, a, now_ms);
	} else {
		x = (struct entry){0};
		trace_entry(e, q, HF_STEP_ENTRY, q->key.fp, &x, HF_VERDICT_MISSING, now_ms);
		choose_new(e, s, place, q, bond, a, now_ms);
	}
	spin_unlock(&s->lock);
}

/* Apart, so that who needs no lock pays nothing for what it keeps on the stack. */
__attribute__((noinline)) static void choose_locked(struct hf_engine *e, struct shard *s, const struct hf_question *q, uint16_t bond,
						    struct hf_answer *a, uint64_t now_ms)
{
	struct entry x;
	uint32_t place;

	shard_lock(e, s, q->key.fp);
	if (ledger_find(e, s, q->key.fp, now_ms, &place, &x))
		choose_known(e, s, place, &x, q, bond, a, now_ms);
	else
		choose_new(e, s, place, q, bond, a, now_ms);
	spin_unlock(&s->lock);
}

/* Who asks for the server alone has it from a hint, or from a slot none of whose sessions is elsewhere. */
static inline bool at_rest(const struct hf_engine *e, const struct hf_question *q, struct hf_answer *a)
{
	uint32_t word;

	if (a->server)
		return true;
	if (!q->key.fp || (q->place && q->place != q->key.fp) || q->n_avoid || q->unplaced || (e->conf.mode != HF_MODE_AUTO && e->conf.mode != HF_MODE_HASH))
		return false;
	word = slot_word(e, slot_of(e, q->key.fp));
	if (SLOT_EXCEPTIONS(word) || SLOT_OWNER(word) == NO_OWNER || state_of(e, SLOT_OWNER(word)) != HF_STATE_UP)
		return false;
	a->server = SLOT_OWNER(word);
	a->why = HF_WHY_HOME;
	return true;
}

void hf_engine_choose(struct hf_engine *e, const struct hf_question *q, struct hf_answer *a, uint64_t now_ms)
{
	uint16_t bond = 0;
	struct shard *s;

	memset(a, 0, sizeof *a);
	named(e, q, a, now_ms);
	if (q->server_only && q->life == HF_LIFE_NONE && !q->renews && !q->trace && at_rest(e, q, a))
		return;
	if (!q->key.fp && !q->place && !a->server) {
		struct placed to = place_fallback(e, q, false);

		a->server = to.server;
		a->why = to.why;
	}
	if (!a->server && q->place && q->place != q->key.fp)
		bond = bond_of(e, q, now_ms);
	if (q->key.fp && e->conf.mode != HF_MODE_NONE) {
		s = shard_of(e, q->key.fp);
		if (q->trace)
			choose_traced(e, s, q, bond, a, now_ms);
		else if (!choose_unlocked(e, s, q, bond, a, now_ms))
			choose_locked(e, s, q, bond, a, now_ms);
	} else if (!a->server && (q->key.fp || q->place)) {
		place_new(e, q, bond, false, a, now_ms);
	}
	if (q->renews && (a->why == HF_WHY_BOND || a->why == HF_WHY_ENTRY || a->why == HF_WHY_TOKEN || a->why == HF_WHY_DIALOG))
		a->hold_ms = binding_ms(e, a->server, now_ms);
}

void hf_engine_explain(struct hf_engine *e, const struct hf_question *q, struct hf_answer *a, struct hf_trace *t, uint64_t now_ms)
{
	struct hf_question look = *q;

	t->n = t->passed = 0;
	t->slot = q->place || q->key.fp ? slot_of(e, q->place ? q->place : q->key.fp) : UINT32_MAX;
	t->life = q->life;
	look.life = HF_LIFE_NONE;
	look.trace = t;
	hf_engine_choose(e, &look, a, now_ms);
}

static enum hf_err learn_locked(struct hf_engine *e, struct shard *s, const struct hf_lesson *l, uint64_t now_ms)
{
	const struct wish w = {l->life, l->life_s, l->flags};
	struct record *r;
	struct entry x;
	uint32_t place;

	if (!ledger_find(e, s, l->key.fp, now_ms, &place, &x)) {
		if (!serves(e, l->server) || !(makes(l->life) || l->life == HF_LIFE_TOUCH))
			return HF_ENOENT;
		return make(e, s, place, l, TAKEN_NOT, now_ms) ? HF_OK : HF_EFULL;
	}
	if (l->server && l->server != x.server && serves(e, l->server) && (l->move || !serves(e, x.server))) {
		x.server = l->server;
		r = record_of(e, s, x.fp);
		if (r)
			r->why = (uint8_t)l->why;
	}
	write_back(e, s, place, &x, &w, TAKEN_NOT, now_ms);
	return HF_OK;
}

enum hf_err hf_engine_learn(struct hf_engine *e, const struct hf_lesson *l, uint64_t now_ms)
{
	struct shard *s;
	enum hf_err err;

	if (!l->key.fp || e->conf.mode == HF_MODE_NONE)
		return HF_ENOENT;
	s = shard_of(e, l->key.fp);
	shard_lock(e, s, l->key.fp);
	err = learn_locked(e, s, l, now_ms);
	spin_unlock(&s->lock);
	return err;
}
