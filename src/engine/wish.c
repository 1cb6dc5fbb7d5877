/* What becomes of a key's entry: it begins, lives on, lingers or ends; and learning, which names its server too. It decides nothing about where a
 * session goes: choose.c does, and calls this. Any thread, under the lock of the key's shard. */
#include "wish.h"

static uint32_t longer(uint32_t a, uint32_t b, uint64_t now_ms) { return tick_left(a, now_ms) > tick_left(b, now_ms) ? a : b; }

/* An answer that is repeated when its session has ended: firm it was, and counts no more. What is refused is not firm yet, and a late answer counts it. */
static bool has_ended(const struct entry *x, const struct wish *w)
{
	return w->life == HF_LIFE_START && (w->flags & (HF_COUNTED | HF_TENTATIVE | HF_BOND)) == HF_COUNTED && !(x->flags & (HF_COUNTED | HF_TENTATIVE));
}

#define ROW_GAP_MS 3000    /* a program comes back at once; people who try again take longer, most of the time */
#define ROW_OVERLAP_MS 500 /* ... and may be there before its last connection was seen to end. Flows side by side are no row */

unsigned wish_row(const struct record *r, uint64_t source, uint64_t now_ms)
{
	int32_t gap = (int32_t)((uint32_t)now_ms - r->row_ms);

	return r->row_from == source_folded(source) && gap >= -ROW_OVERLAP_MS && gap <= ROW_GAP_MS ? r->row : 0;
}

/* A brief flow has ended: one more, if it began where the one before it ended, else the first. */
static void in_a_row(struct record *r, const struct wish *w, uint64_t now_ms)
{
	unsigned before = wish_row(r, w->source, now_ms - w->lasted_ms);

	r->row = (uint8_t)(before < UINT8_MAX ? before + 1 : before);
	r->row_from = source_folded(w->source);
	r->row_ms = (uint32_t)now_ms;
}

/* Whose live flows there are goes with how many, so that neither can be without the other. */
static void flow_opens(struct record *r, uint64_t source)
{
	r->flows++;
	holders_open(&r->holders, source);
}

/* True: others are live. */
static bool flow_closes(struct record *r, uint64_t source)
{
	holders_close(&r->holders, source);
	if (r->flows && --r->flows)
		return true;
	holders_rest(&r->holders);
	return false;
}

/* What ends is elsewhere, and is not what the entry remembers: of two servers that both took a session the other one's part. */
static bool is_others(const struct entry *x, const struct wish *w) { return w->at && w->at != x->server && (x->flags & (HF_COUNTED | HF_TENTATIVE)) == HF_COUNTED; }

/* x as it is after the wish; false: it ends. */
static bool live(struct entry *x, struct record *r, const struct wish *w, uint64_t now_ms)
{
	uint32_t expiry = tick_of_life(now_ms, w->life_s);

	switch (w->life) {
	case HF_LIFE_OPEN:
		if (r)
			flow_opens(r, w->source);
		/* fallthrough */
	case HF_LIFE_START:
		if (has_ended(x, w))
			break;
		if (!(w->flags & HF_TENTATIVE))
			x->flags &= ~(unsigned)HF_TENTATIVE;
		x->flags |= w->flags & (HF_COUNTED | HF_BOND);
		x->expiry = longer(x->expiry, expiry, now_ms);
		break;
	case HF_LIFE_TOUCH:
		x->flags = wish_touched(x->flags, w->flags);
		if (wish_due(x->expiry, expiry, now_ms))
			x->expiry = expiry;
		break;
	case HF_LIFE_LINGER:
		if (x->flags & w->flags & HF_COUNTED || is_others(x, w))
			break;
		x->flags &= ~(unsigned)HF_COUNTED;
		x->expiry = expiry;
		break;
	case HF_LIFE_CLOSE:
		if (r && w->lasted_ms && w->source)
			in_a_row(r, w, now_ms);
		if (r && flow_closes(r, w->source))
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

void wish_record(struct hf_engine *e, struct shard *s, uint64_t fp, const struct birth *from)
{
	if (!record_of(e, s, fp) && ledger_record(e, s, fp, from))
		copy_changed(e, fp);
}

void wish_apply(struct hf_engine *e, struct shard *s, uint32_t place, struct entry *x, const struct wish *w, enum taken taken, uint64_t now_ms)
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

bool wish_make(struct hf_engine *e, struct shard *s, uint32_t place, const struct hf_lesson *l, enum taken taken, uint64_t now_ms)
{
	unsigned keep = l->life == HF_LIFE_TOUCH ? HF_COUNTED | HF_BOND : HF_COUNTED | HF_TENTATIVE | HF_BOND;
	const struct entry x = {l->key.fp, l->flags & keep, l->server, tick_of_life(now_ms, l->life_s)};
	const struct birth from = {l->key.text, now_ms, l->life == HF_LIFE_OPEN, l->why, l->alias_of};
	struct record *r;

	if (!ledger_add(e, s, place, &x, taken, &from))
		return false;
	r = from.flows ? record_of(e, s, x.fp) : NULL;
	if (r)
		holders_open(&r->holders, l->source);
	return true;
}

/* The bond that a second name has is over. Its shard may be another one, which is only glanced at: when that is busy, the bond lives. */
static bool is_over(struct hf_engine *e, const struct shard *s, uint64_t fp, uint64_t now_ms)
{
	const struct shard *its = shard_of(e, fp);
	uint32_t place;
	struct entry x;

	return its == s ? !ledger_look(e, s, fp, now_ms, &place, &x) : ledger_glance(its, fp, true, now_ms).is == GLANCE_NONE;
}

/* It is a second name from now on, of a bond at the same server, or of none any more. The first bond leads, as long as it lives. */
static void rename_after(struct hf_engine *e, struct shard *s, const struct entry *x, const struct hf_lesson *l, bool moved, uint64_t now_ms)
{
	const struct record *r = record_of(e, s, x->fp);
	uint64_t had = r ? record_alias(r) : 0;

	if (!r || had == l->alias_of)
		return;
	if (!moved && (!l->alias_of || x->server != l->server || (had && !is_over(e, s, had, now_ms))))
		return;
	records_alias(&s->records, x->fp, l->alias_of);
	copy_changed(e, x->fp);
}

static enum hf_err learn_locked(struct hf_engine *e, struct shard *s, const struct hf_lesson *l, uint64_t now_ms)
{
	const struct wish w = {.life = l->life, .life_s = l->life_s, .flags = l->flags, .at = l->server, .source = l->source, .lasted_ms = l->lasted_ms};
	struct entry x;
	uint32_t place;
	bool moved;

	if (!ledger_find(e, s, l->key.fp, now_ms, &place, &x)) {
		if (!serves(e, l->server) || !(wish_makes(l->life) || l->life == HF_LIFE_TOUCH))
			return HF_ENOENT;
		return wish_make(e, s, place, l, TAKEN_NOT, now_ms) ? HF_OK : HF_EFULL;
	}
	if (e->conf.mode == HF_MODE_TABLE && wish_makes(l->life))
		wish_record(e, s, x.fp, &(struct birth){.text = l->key.text, .now_ms = now_ms, .why = l->why});
	moved = l->server && l->server != x.server && serves(e, l->server) && (l->move || !serves(e, x.server));
	if (moved)
		wish_rename(e, s, &x, l->server, l->why);
	rename_after(e, s, &x, l, moved, now_ms);
	wish_apply(e, s, place, &x, &w, TAKEN_NOT, now_ms);
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
