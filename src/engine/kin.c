/* One user under several keys: his name in two spellings, the address that he comes from. Each key has an entry of its own; the record of a second
 * name says of which bond it is one. So that they never part, a second name leads where its bond is, and a bond that has to be left is left by all
 * of them at once: by the first question that finds it so. Called by choose.c, without a lock. It must not know which keys there are, or why. */
#include "kin.h"

#include "evidence.h"
#include "wish.h"

/* The bond that this key's entry goes after now; 0: it is its own. One that counts is, as long as flows of it are live. */
static uint64_t one_up(struct hf_engine *e, uint64_t fp, uint64_t now_ms)
{
	struct shard *s = shard_of(e, fp);
	const struct record *r;
	struct entry x;
	uint32_t place;
	uint64_t up = 0;

	spin_lock(&s->lock);
	r = ledger_look(e, s, fp, now_ms, &place, &x) ? record_of(e, s, fp) : NULL;
	if (r && !(x.flags & HF_COUNTED && r->flows))
		up = record_alias(r);
	spin_unlock(&s->lock);
	return up;
}

/* The question's own key does not answer by itself: it has no entry, or one that has to be left or goes after somebody. */
static bool is_led(struct hf_engine *e, const struct hf_question *q, uint64_t now_ms)
{
	struct shard *s = q->key.fp ? shard_of(e, q->key.fp) : NULL;
	const struct record *r;
	struct entry x;
	uint32_t place;
	bool led = true;

	if (!s)
		return true;
	spin_lock(&s->lock);
	if (ledger_look(e, s, q->key.fp, now_ms, &place, &x)) {
		r = record_of(e, s, q->key.fp);
		led = (r && r->has_alias && !r->flows) || evidence_stays(e, q, x.server, r && r->flows, now_ms) != HF_VERDICT_TAKEN;
	}
	spin_unlock(&s->lock);
	return led;
}

/* Whose bond the entry of b->by is, as far as entries are there. */
static void follow_up(struct hf_engine *e, const struct entry *x, struct bond *b, uint64_t now_ms)
{
	uint64_t at = b->by;
	struct entry up;

	b->of = x->flags & HF_COUNTED ? at : 0;
	for (unsigned i = 0; i < KIN_HOPS && (at = one_up(e, at, now_ms)) != 0 && evidence_entry(e, at, &up, now_ms); i++) {
		b->on_the_way[i] = b->of;
		b->of = at;
	}
}

/* The bond of `x`, under its shard's lock: it stays, or is placed as a new session of its own key, if it `may` be moved. */
static void settle(struct hf_engine *e, struct shard *s, uint32_t place, struct entry *x, const struct hf_question *q, bool may, struct bond *b,
		   uint64_t now_ms)
{
	const struct record *r = record_of(e, s, x->fp);
	const struct place p = {.slot = slot_of(e, x->fp), .avoid = q->avoid, .n_avoid = q->n_avoid, .trace = q->trace, .take = x->flags & HF_COUNTED && !q->trace,
				.counts = x->flags & HF_COUNTED, .now_ms = now_ms};
	enum hf_verdict v = evidence_stays(e, q, x->server, r && r->flows, now_ms);
	struct placed to = {0, HF_WHY_NONE, TAKEN_NOT};

	if (q->trace)
		evidence_trace(e, q, HF_STEP_BOND, x->fp, x, v, now_ms);
	b->server = x->server;
	if (v == HF_VERDICT_TAKEN)
		return;
	if (may)
		to = place_session(e, &p);
	b->leaves = to.taken == TAKEN_NOT && !serves(e, to.server); /* seen under the lock: from here on the id is in use */
	if (b->leaves)
		return;
	b->server = to.server;
	if (q->trace)
		return;
	wish_rename(e, s, x, to.server, q->move && q->n_avoid ? HF_WHY_FAILOVER : to.why);
	ledger_set(e, s, place, x, to.taken);
}

/* Where the bond of another key leads, from now on. False: it has gone. */
static bool bring(struct hf_engine *e, const struct hf_question *q, uint64_t fp, bool may, struct bond *b, uint64_t now_ms)
{
	struct shard *s = shard_of(e, fp);
	struct entry x;
	uint32_t place;
	bool found;

	shard_lock(e, s, fp);
	found = ledger_look(e, s, fp, now_ms, &place, &x);
	if (found)
		settle(e, s, place, &x, q, may, b, now_ms);
	spin_unlock(&s->lock);
	return found;
}

/* A second name says where its bond is now, for as long as that one may outlive it. */
static void rename_alias(struct hf_engine *e, const struct bond *b, uint16_t was, uint64_t now_ms)
{
	struct shard *s = shard_of(e, b->by);
	struct entry x;
	uint32_t place;

	shard_lock(e, s, b->by);
	if (ledger_look(e, s, b->by, now_ms, &place, &x) && x.server == was && serves(e, b->server)) {
		wish_rename(e, s, &x, b->server, HF_WHY_BOND);
		ledger_set(e, s, place, &x, TAKEN_NOT);
	}
	spin_unlock(&s->lock);
}

/* The entry of a placing key, as it stands. */
static struct bond standing(struct hf_engine *e, const struct hf_question *q, uint64_t fp, const struct entry *x, uint64_t now_ms)
{
	enum hf_verdict v = evidence_verdict(e, q, x->server);
	bool serving = v == HF_VERDICT_TAKEN || v == HF_VERDICT_TRIED;

	if (q->trace)
		evidence_trace(e, q, HF_STEP_BOND, fp, x, v, now_ms);
	return (struct bond){.server = serving ? x->server : 0, .leaves = serving && q->renews && evidence_leaves(e, q, x->server, now_ms), .by = fp};
}

static struct bond of_key(struct hf_engine *e, const struct hf_question *q, uint64_t fp, bool may, uint64_t now_ms)
{
	struct bond b = {.by = fp};
	struct entry x;
	bool there = evidence_entry(e, fp, &x, now_ms);

	if (there && q->renews && !q->place)
		follow_up(e, &x, &b, now_ms);
	if (!b.of || !bring(e, q, b.of, may, &b, now_ms))
		return standing(e, q, fp, &x, now_ms);
	b.alias = b.of != fp;
	if (b.alias && b.server != x.server && !b.leaves && !q->trace)
		rename_alias(e, &b, x.server, now_ms);
	return b;
}

struct bond kin_bond(struct hf_engine *e, const struct hf_question *q, uint64_t now_ms)
{
	const uint64_t keys[] = {q->place, q->place_else, q->place_last};
	bool may = q->renews && !q->place && is_led(e, q, now_ms);
	struct bond b = {0};

	for (unsigned i = 0; i < sizeof keys / sizeof keys[0] && !b.server; i++)
		if (keys[i])
			b = of_key(e, q, keys[i], may, now_ms);
	return b;
}
