/* Deciding: the order hint, refs, entry, placement, and what then becomes of the key's entry. choose and learn share it,
 * and look.c asks the same placement. Any thread. Start and end run under the lock of the key's shard. */
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
static void touch(struct entry *x, const struct wish *w, uint32_t expiry, uint64_t now_ms)
{
	uint32_t whole = tick_left(expiry, now_ms);

	x->flags = (x->flags & HF_BOND) | (w->flags & (HF_COUNTED | HF_BOND));
	if (tick_left(x->expiry, now_ms) + (whole + 7) / 8 <= whole)
		x->expiry = expiry;
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
		touch(x, w, expiry, now_ms);
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
static void write_back(struct hf_engine *e, struct shard *s, uint32_t place, struct entry *x, const struct wish *w, bool reserved, uint64_t now_ms)
{
	struct record *r = record_of(e, s, x->fp);
	struct packed old = s->t.at[place], new;

	if (r && w->life != HF_LIFE_NONE)
		r->seen_ms = now_ms;
	if (!live(x, r, w, now_ms)) {
		if (reserved)
			ledger_load(e, x->server, -1, 0);
		ledger_drop(e, s, place);
		return;
	}
	new = entry_pack(x);
	if (reserved || memcmp(&new, &old, sizeof new) != 0)
		ledger_set(e, s, place, x, reserved);
}

static bool make(struct hf_engine *e, struct shard *s, uint16_t server, const struct wish *w, bool reserved, const struct hf_lesson *from, uint64_t now_ms)
{
	unsigned keep = w->life == HF_LIFE_TOUCH ? HF_COUNTED | HF_BOND : HF_COUNTED | HF_TENTATIVE | HF_BOND;
	struct entry x = {from->key.fp, w->flags & keep, server, tick_of_life(now_ms, w->life_s)};
	struct record *r;

	if (!ledger_add(e, s, &x, reserved, from, now_ms))
		return false;
	r = record_of(e, s, x.fp);
	if (r && w->life == HF_LIFE_OPEN)
		r->flows = 1;
	return true;
}

/* The server of a key's entry, 0 without one that serves. */
static uint16_t entry_server(struct hf_engine *e, uint64_t fp, uint64_t now_ms)
{
	struct shard *s = shard_of(e, fp);
	struct entry x;
	uint32_t place;
	uint16_t id = 0;

	spin_lock(&s->lock);
	if (ledger_find(e, s, fp, now_ms, &place, &x) && serves(e, x.server))
		id = x.server;
	spin_unlock(&s->lock);
	return id;
}

/* A server that the question itself names, or a reference of it. */
static void named(struct hf_engine *e, const struct hf_question *q, struct hf_answer *a, uint64_t now_ms)
{
	if (serves(e, q->hint) && !among(q->avoid, q->n_avoid, q->hint)) {
		a->server = q->hint;
		a->why = q->hint_why;
		return;
	}
	for (int i = 0; i < 2; i++) {
		uint16_t id = q->refs[i] ? entry_server(e, q->refs[i], now_ms) : 0;

		if (id && !among(q->avoid, q->n_avoid, id)) {
			a->server = id;
			a->why = HF_WHY_DIALOG;
			return;
		}
	}
}

/* A new session: at the server of the placing key's entry (a bond), else by placement. True: its load was counted. */
static bool place_new(struct hf_engine *e, const struct hf_question *q, uint16_t bond, bool take, struct hf_answer *a)
{
	struct place p = {slot_of(e, q->place ? q->place : q->key.fp), q->avoid, q->n_avoid, take};
	struct placed to;

	if (bond && serves(e, bond) && !among(q->avoid, q->n_avoid, bond)) {
		a->server = bond;
		a->why = HF_WHY_BOND;
		return false;
	}
	to = place_session(e, &p);
	a->server = to.server;
	a->why = to.why;
	return take && to.server;
}

static struct hf_lesson lesson_of(const struct hf_question *q, const struct hf_answer *a)
{
	return (struct hf_lesson){.key = q->key, .server = a->server, .why = a->why};
}

/* The key has an entry. */
static void choose_known(struct hf_engine *e, struct shard *s, uint32_t place, struct entry *x, const struct hf_question *q, uint16_t bond,
			 struct hf_answer *a, uint64_t now_ms)
{
	const struct wish w = {q->life, q->life_s, q->flags};
	bool stays = serves(e, x->server) && !(q->move && among(q->avoid, q->n_avoid, x->server));
	bool rewrites = makes(q->life) || q->life == HF_LIFE_TOUCH, reserved = false;
	struct record *r;

	a->known = true;
	if (!a->server && stays) {
		a->server = x->server;
		a->why = q->flags & HF_BOND ? HF_WHY_BOND : HF_WHY_ENTRY;
	} else if (!a->server) {
		reserved = place_new(e, q, bond, rewrites && q->flags & HF_COUNTED, a);
	}
	if (!stays && rewrites && serves(e, a->server)) {
		x->server = a->server;
		r = record_of(e, s, x->fp);
		if (r)
			r->why = (uint8_t)a->why;
	}
	write_back(e, s, place, x, &w, reserved, now_ms);
}

static void choose_new(struct hf_engine *e, struct shard *s, const struct hf_question *q, uint16_t bond, struct hf_answer *a, uint64_t now_ms)
{
	const struct wish w = {q->life, q->life_s, q->flags};
	bool hinted = q->hint && a->server == q->hint;
	bool wanted = makes(q->life) || (q->life == HF_LIFE_TOUCH && hinted), reserved = false;
	struct hf_lesson from;

	if (!a->server)
		reserved = place_new(e, q, bond, wanted && q->flags & HF_COUNTED, a);
	if (!wanted || !serves(e, a->server)) /* seen under the lock: from here on the id is in use */
		return;
	from = lesson_of(q, a);
	a->full = !make(e, s, a->server, &w, reserved, &from, now_ms);
}

void hf_engine_choose(struct hf_engine *e, const struct hf_question *q, struct hf_answer *a, uint64_t now_ms)
{
	bool remembers = q->key.fp && e->conf.mode != HF_MODE_NONE;
	uint16_t bond = 0;
	struct shard *s;
	struct entry x;
	uint32_t place;

	memset(a, 0, sizeof *a);
	named(e, q, a, now_ms);
	if (!q->key.fp && !q->place && !a->server) {
		struct placed to = place_fallback(e, q->avoid, q->n_avoid, q->spread);

		a->server = to.server;
		a->why = to.why;
	}
	if (!a->server && q->place && q->place != q->key.fp)
		bond = entry_server(e, q->place, now_ms);
	if (!remembers) {
		if (!a->server && (q->key.fp || q->place))
			place_new(e, q, bond, false, a);
		return;
	}
	s = shard_of(e, q->key.fp);
	spin_lock(&s->lock);
	if (ledger_find(e, s, q->key.fp, now_ms, &place, &x))
		choose_known(e, s, place, &x, q, bond, a, now_ms);
	else
		choose_new(e, s, q, bond, a, now_ms);
	spin_unlock(&s->lock);
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
		return make(e, s, l->server, &w, false, l, now_ms) ? HF_OK : HF_EFULL;
	}
	if (l->server && l->server != x.server && serves(e, l->server) && (l->move || !serves(e, x.server))) {
		x.server = l->server;
		r = record_of(e, s, x.fp);
		if (r)
			r->why = (uint8_t)l->why;
	}
	write_back(e, s, place, &x, &w, false, now_ms);
	return HF_OK;
}

enum hf_err hf_engine_learn(struct hf_engine *e, const struct hf_lesson *l, uint64_t now_ms)
{
	struct shard *s;
	enum hf_err err;

	if (!l->key.fp || e->conf.mode == HF_MODE_NONE)
		return HF_ENOENT;
	s = shard_of(e, l->key.fp);
	spin_lock(&s->lock);
	err = learn_locked(e, s, l, now_ms);
	spin_unlock(&s->lock);
	return err;
}
