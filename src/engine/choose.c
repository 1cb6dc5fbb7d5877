/* Deciding: the order hint, refs, entry, bonds, placement. Who is named is evidence.c's and kin.c's, who is free place.c's, what then becomes of the
 * key's entry wish.c's. Explain is choose with a trace: it answers the same and writes what was looked at instead of any change.
 * Any thread. Start and end run under the lock of the key's shard. */
#include "evidence.h"
#include "kin.h"
#include "wish.h"

/* A new session: at the server of the placing keys' entries (a bond), else by placement; not `wanted`: nothing remembers it, so whatever else
 * comes of it must find the same answer. */
static enum taken place_new(struct hf_engine *e, const struct hf_question *q, const struct bond *bond, bool wanted, struct hf_answer *a, uint64_t now_ms)
{
	struct place p = {.slot = slot_of(e, q->place ? q->place : q->key.fp), .avoid = q->avoid, .n_avoid = q->n_avoid, .trace = q->trace,
			  .take = wanted && q->flags & HF_COUNTED && !q->trace, .counts = wanted && q->flags & HF_COUNTED, .now_ms = now_ms,
			  .by_slot = q->at_home, .uncapped = q->at_home, .home = (!wanted || q->urgent) && e->conf.mode != HF_MODE_NONE};
	bool open = evidence_verdict(e, q, bond->server) == HF_VERDICT_TAKEN;
	bool down = open && evidence_gone(e, q, bond->server, now_ms);
	enum hf_verdict b = !open ? HF_VERDICT_MISSING : bond->leaves ? HF_VERDICT_LEAVES : down ? HF_VERDICT_STATE : HF_VERDICT_TAKEN;
	struct placed to = {0, HF_WHY_NONE, TAKEN_NOT};

	if (q->trace && open)
		trace_amend(q->trace, HF_STEP_BOND, bond->server, b);
	if (b != HF_VERDICT_TAKEN)
		to = q->unplaced ? place_fallback(e, q, wanted) : place_session(e, &p);
	if (!to.server && open) {
		to = (struct placed){bond->server, HF_WHY_BOND, TAKEN_NOT};
		if (q->trace && b != HF_VERDICT_TAKEN)
			trace_step(e, q->trace, HF_STEP_LAST, bond->server, HF_VERDICT_TAKEN);
	}
	a->server = to.server;
	a->why = to.server && q->move && q->n_avoid ? HF_WHY_FAILOVER : to.why;
	return to.taken;
}

/* Of a session that has been answered and has not ended. */
static bool is_firm(unsigned flags) { return (flags & (HF_COUNTED | HF_TENTATIVE)) == HF_COUNTED; }

/* What the question is about; one that is only explained has no life of its own. */
static enum hf_life life_of(const struct hf_question *q) { return q->trace ? q->trace->life : q->life; }

/* As evidence_stays; and who was led by this bond when he was made goes after it, once nothing of his own is live. */
static enum hf_verdict entry_stays(const struct hf_engine *e, const struct shard *s, const struct hf_question *q, const struct entry *x,
				   const struct bond *bond, uint64_t now_ms)
{
	const struct record *r = q->renews ? record_of(e, s, x->fp) : NULL;

	if (r && kin_follows(bond, r, x->server))
		return HF_VERDICT_LEAVES;
	return evidence_stays(e, q, x->server, r && r->flows, now_ms);
}

static unsigned row_of(const struct hf_engine *e, const struct shard *s, const struct hf_question *q, uint64_t now_ms)
{
	const struct record *r = record_of(e, s, q->key.fp);

	return r && q->source ? wish_row(r, q->source, now_ms) : 0;
}

/* Nothing else names a server, and it is not of a flow that is counted already: such a one asks with START. */
static bool may_be_crowded(const struct hf_question *q, const struct hf_answer *a) { return !a->server && life_of(q) != HF_LIFE_START; }

/* The key's entry would answer one flow, or one more source, than it may: which; TAKEN: it would not. */
static enum hf_verdict crowded(const struct hf_engine *e, const struct shard *s, const struct hf_question *q, const struct hf_answer *a)
{
	const struct record *r = (q->max_flows | q->max_sources) && may_be_crowded(q, a) ? record_of(e, s, q->key.fp) : NULL;

	if (r && q->max_flows && r->flows >= q->max_flows)
		return HF_VERDICT_FLOWS;
	return r && q->max_sources && holders_full(&r->holders, q->source, q->max_sources) ? HF_VERDICT_SOURCES : HF_VERDICT_TAKEN;
}

/* Said to the first of them that would have opened a flow, and to nobody who only looks. */
static bool is_news(const struct hf_engine *e, const struct shard *s, const struct hf_question *q)
{
	struct record *r = record_of(e, s, q->key.fp);
	bool news = q->life == HF_LIFE_OPEN && !r->told;

	r->told |= news;
	return news;
}

static void answer_known(const struct hf_question *q, uint16_t server, struct hf_answer *a)
{
	a->server = server;
	a->why = q->flags & HF_BOND ? HF_WHY_BOND : HF_WHY_ENTRY;
}

/* Most questions change nothing: a session is touched whose life has hardly begun, or an answer is all that is asked for. They take no lock.
 * False: it is decided under the lock. */
static bool choose_unlocked(struct hf_engine *e, const struct shard *s, const struct hf_question *q, const struct bond *bond, struct hf_answer *a,
			    uint64_t now_ms)
{
	struct glimpse g;

	if (q->max_flows || q->max_sources || (q->life != HF_LIFE_NONE && (q->life != HF_LIFE_TOUCH || e->conf.mode == HF_MODE_TABLE))) /* a record shows when it was seen */
		return false;
	if (bond->of && e->conf.mode == HF_MODE_TABLE) /* ... and whom its key goes after */
		return false;
	g = ledger_glance(s, q->key.fp, q->life == HF_LIFE_NONE, now_ms);
	if (g.is == GLANCE_NONE && q->life == HF_LIFE_NONE) {
		if (!a->server)
			place_new(e, q, bond, false, a, now_ms);
		return true;
	}
	if (g.is != GLANCE_LIVE || evidence_stays(e, q, g.server, false, now_ms) != HF_VERDICT_TAKEN)
		return false;
	if (q->life == HF_LIFE_TOUCH && (wish_touched(g.flags, q->flags) != g.flags || wish_due(g.expiry, tick_of_life(now_ms, q->life_s), now_ms)))
		return false;
	a->known = true;
	a->counted = g.flags & HF_COUNTED;
	a->firm = is_firm(g.flags);
	if (!a->server)
		answer_known(q, g.server, a);
	return true;
}

/* The key has an entry. */
static void choose_known(struct hf_engine *e, struct shard *s, uint32_t place, struct entry *x, const struct hf_question *q, const struct bond *bond,
			 struct hf_answer *a, uint64_t now_ms)
{
	const struct bond own = {.server = q->renews ? x->server : 0, .leaves = true};
	const struct bond *follow = bond->server && (q->place || bond->of) ? bond : &own; /* what is nobody's is for a key without an entry */
	const struct wish w = {.life = q->life, .life_s = q->life_s, .flags = q->flags, .at = a->server == q->hint ? q->hint : 0, .source = q->source};
	bool stays = entry_stays(e, s, q, x, bond, now_ms) == HF_VERDICT_TAKEN || (q->unless_firm && is_firm(x->flags));
	bool rewrites = wish_makes(q->life) || q->life == HF_LIFE_TOUCH;
	enum hf_verdict full = crowded(e, s, q, a);
	enum taken taken = TAKEN_NOT;

	if (e->conf.mode == HF_MODE_TABLE && wish_makes(q->life))
		wish_record(e, s, x->fp, &(struct birth){.text = q->key.text, .now_ms = now_ms, .why = HF_WHY_ENTRY, .alias_of = kin_again(bond, x->server)});
	a->known = true;
	a->counted = x->flags & HF_COUNTED;
	a->firm = is_firm(x->flags);
	a->row = life_of(q) == HF_LIFE_OPEN ? row_of(e, s, q, now_ms) : 0;
	if (full != HF_VERDICT_TAKEN) {
		a->crowded = true;
		a->news = full == HF_VERDICT_SOURCES && is_news(e, s, q);
		return;
	}
	if (!a->server && stays) {
		answer_known(q, x->server, a);
	} else if (!a->server) {
		a->left = q->renews;
		taken = place_new(e, q, follow, wish_makes(life_of(q)) || life_of(q) == HF_LIFE_TOUCH, a, now_ms);
	}
	if (!stays && rewrites && (taken != TAKEN_NOT || serves(e, a->server)))
		wish_rename(e, s, x, a->server, a->why);
	wish_apply(e, s, place, x, &w, taken, now_ms);
}

static void choose_new(struct hf_engine *e, struct shard *s, uint32_t place, const struct hf_question *q, const struct bond *bond, struct hf_answer *a,
		       uint64_t now_ms)
{
	bool hinted = q->hint && a->server == q->hint;
	bool wanted = wish_makes(life_of(q)) || (life_of(q) == HF_LIFE_TOUCH && hinted), placed = !a->server;
	unsigned steps = q->trace ? q->trace->n : 0;
	enum taken taken = TAKEN_NOT;

	a->over = wish_makes(life_of(q)) && quota_over(e, q->source, q->trace, now_ms) && ledger_crowded(e);
	wanted &= !a->over;
	if (placed)
		taken = place_new(e, q, bond, wanted, a, now_ms);
	if (!wanted || !(taken != TAKEN_NOT || serves(e, a->server))) /* seen under the lock: from here on the id is in use */
		return;
	if (q->trace)
		a->full = !ledger_room(e, s, q->key.fp, q->flags, now_ms);
	else
		a->full = !wish_make(e, s, place, &(struct hf_lesson){.key = q->key, .server = a->server, .life = q->life, .life_s = q->life_s, .flags = q->flags, .why = a->why, .source = q->source, .alias_of = kin_made(bond, a)}, taken, now_ms);
	if (!a->full || !placed)
		return;
	if (q->trace)
		trace_back(q->trace, steps);
	place_new(e, q, bond, false, a, now_ms); /* what comes next of it is answered by the hash too */
}

/* Only looks: nothing is wanted of the entry (explain has seen to it), and an expired one stays where it is. */
static void choose_traced(struct hf_engine *e, struct shard *s, const struct hf_question *q, const struct bond *bond, struct hf_answer *a, uint64_t now_ms)
{
	enum hf_verdict v;
	struct entry x;
	uint32_t place;

	shard_lock(e, s, q->key.fp);
	if (ledger_look(e, s, q->key.fp, now_ms, &place, &x)) {
		v = crowded(e, s, q, a);
		if (v == HF_VERDICT_TAKEN)
			v = entry_stays(e, s, q, &x, bond, now_ms);
		evidence_trace(e, q, HF_STEP_ENTRY, q->key.fp, &x, v, now_ms);
		choose_known(e, s, place, &x, q, bond, a, now_ms);
	} else {
		x = (struct entry){0};
		evidence_trace(e, q, HF_STEP_ENTRY, q->key.fp, &x, HF_VERDICT_MISSING, now_ms);
		choose_new(e, s, place, q, bond, a, now_ms);
	}
	spin_unlock(&s->lock);
}

/* Apart, so that who needs no lock pays nothing for what it keeps on the stack. */
__attribute__((noinline)) static void choose_locked(struct hf_engine *e, struct shard *s, const struct hf_question *q, const struct bond *bond,
						    struct hf_answer *a, uint64_t now_ms)
{
	struct entry x;
	uint32_t place;

	if (wish_makes(q->life) && !a->server)
		place_fetch(e, slot_of(e, q->place ? q->place : q->key.fp));
	shard_lock(e, s, q->key.fp);
	if (ledger_find(e, s, q->key.fp, now_ms, &place, &x))
		choose_known(e, s, place, &x, q, bond, a, now_ms);
	else
		choose_new(e, s, place, q, bond, a, now_ms);
	spin_unlock(&s->lock);
}

/* The bond of another key than its own may place it. */
static inline bool places_by_bond(const struct hf_question *q) { return q->place ? q->place != q->key.fp : (q->place_else | q->place_last) != 0; }

/* Who asks for the server alone has it from a hint, or from a slot none of whose sessions is elsewhere. */
static inline bool at_rest(const struct hf_engine *e, const struct hf_question *q, struct hf_answer *a)
{
	uint32_t word;

	if (a->server)
		return true;
	if (!q->key.fp || places_by_bond(q) || q->n_avoid || q->unplaced || (e->conf.mode != HF_MODE_AUTO && e->conf.mode != HF_MODE_HASH))
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
	struct bond bond = {0};
	struct shard *s;

	memset(a, 0, sizeof *a);
	if (q->hint || q->refs[0] | q->refs[1])
		evidence_named(e, q, a, now_ms);
	if (q->apart && may_be_crowded(q, a) && evidence_apart(e, q, now_ms)) {
		a->crowded = true;
		return;
	}
	if (q->server_only && q->life == HF_LIFE_NONE && !q->renews && !q->trace && at_rest(e, q, a))
		return;
	if (!q->key.fp && !q->place && !a->server) {
		struct placed to = place_fallback(e, q, false);

		a->server = to.server;
		a->why = to.why;
	}
	if (!a->server && places_by_bond(q))
		bond = kin_bond(e, q, now_ms);
	if (q->key.fp && e->conf.mode != HF_MODE_NONE) {
		s = shard_of(e, q->key.fp);
		if (q->trace)
			choose_traced(e, s, q, &bond, a, now_ms);
		else if (!choose_unlocked(e, s, q, &bond, a, now_ms))
			choose_locked(e, s, q, &bond, a, now_ms);
	} else if (!a->server && (q->key.fp || q->place)) {
		place_new(e, q, &bond, false, a, now_ms);
	}
	if (a->why == HF_WHY_BOND && !a->known && a->server == bond.server)
		a->led_by = bond.by;
	if (q->renews && (a->why == HF_WHY_BOND || a->why == HF_WHY_ENTRY || a->why == HF_WHY_TOKEN || a->why == HF_WHY_DIALOG)) {
		a->hold_ms = evidence_hold_ms(e, a->server, now_ms);
		a->knock = !a->hold_ms && evidence_knocks(e, q, a->server);
	}
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
