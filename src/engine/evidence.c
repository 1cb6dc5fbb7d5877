/* What a question has in its hand: the server that it names itself, and those of its references; and for how long what is bound to a server
 * holds. The bonds of the keys that place it are kin.c's. Nothing is placed or changed here. Any thread; the lock of another key's shard is taken
 * only where its entry cannot be read without. */
#include "evidence.h"

void evidence_trace(const struct hf_engine *e, const struct hf_question *q, enum hf_step_kind kind, uint64_t fp, const struct entry *x, enum hf_verdict v,
		    uint64_t now_ms)
{
	struct hf_step *step = trace_step(e, q->trace, kind, x->server, v);

	step->fp = fp;
	step->flags = x->flags;
	step->expires_s = x->server ? tick_left(x->expiry, now_ms) * (TICK_MS / 1000) : 0;
}

bool evidence_entry(struct hf_engine *e, uint64_t fp, struct entry *x, uint64_t now_ms)
{
	struct shard *s = shard_of(e, fp);
	struct glimpse g = ledger_glance(s, fp, true, now_ms);
	uint32_t place;

	*x = (struct entry){fp, g.flags, g.is == GLANCE_NONE ? 0 : g.server, g.expiry};
	if (g.is == GLANCE_BUSY) {
		spin_lock(&s->lock);
		if (!ledger_look(e, s, fp, now_ms, &place, x))
			x->server = 0;
		spin_unlock(&s->lock);
	}
	return x->server != 0;
}

/* The server of a reference's entry, 0 without one that serves. */
static uint16_t ref_server(struct hf_engine *e, const struct hf_question *q, uint64_t fp, uint64_t now_ms)
{
	enum hf_verdict v;
	struct entry x;

	(void)evidence_entry(e, fp, &x, now_ms);
	v = evidence_verdict(e, q, x.server);
	if (q->trace)
		evidence_trace(e, q, HF_STEP_REF, fp, &x, v, now_ms);
	return v == HF_VERDICT_TAKEN || v == HF_VERDICT_TRIED ? x.server : 0;
}

bool evidence_apart(struct hf_engine *e, const struct hf_question *q, uint64_t now_ms)
{
	struct entry x;

	if (!evidence_entry(e, q->apart, &x, now_ms))
		return false;
	if (q->trace)
		evidence_trace(e, q, HF_STEP_ENTRY, q->apart, &x, HF_VERDICT_SOURCES, now_ms);
	return true;
}

uint64_t evidence_hold_ms(const struct hf_engine *e, uint16_t id, uint64_t now_ms)
{
	uint64_t hold = atomic_load_explicit(&e->on_down_ms, memory_order_relaxed), since, gone;

	if (hf_engine_state(e, id, &since) != HF_STATE_DOWN)
		return hold;
	gone = now_ms > since ? now_ms - since : 0;
	return hold > gone ? hold - gone : 0;
}

bool evidence_gone(const struct hf_engine *e, const struct hf_question *q, uint16_t server, uint64_t now_ms)
{
	return state_of(e, server) == HF_STATE_DOWN && !evidence_hold_ms(e, server, now_ms) && !evidence_knocks(e, q, server);
}

bool evidence_leaves(const struct hf_engine *e, const struct hf_question *q, uint16_t server, uint64_t now_ms)
{
	switch (state_of(e, server)) {
	case HF_STATE_DOWN: return evidence_gone(e, q, server, now_ms);
	case HF_STATE_DRAIN: return atomic_load_explicit(&e->drain_moves, memory_order_relaxed) && !atomic_load_explicit(&e->hot[server].rests, memory_order_relaxed);
	default: return false;
	}
}

/* As a hint or reference: a session that goes on goes there in any state but OFF, what only begins need not. */
static enum hf_verdict leads(const struct hf_engine *e, const struct hf_question *q, uint16_t id, struct hf_answer *a, uint64_t now_ms)
{
	enum hf_verdict v = evidence_verdict(e, q, id);

	if (v != HF_VERDICT_TAKEN || !q->renews || !evidence_leaves(e, q, id, now_ms))
		return v;
	a->left = true;
	return HF_VERDICT_LEAVES;
}

void evidence_named(struct hf_engine *e, const struct hf_question *q, struct hf_answer *a, uint64_t now_ms)
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
		uint16_t id = q->refs[i] ? ref_server(e, q, q->refs[i], now_ms) : 0;

		if (leads(e, q, id, a, now_ms) == HF_VERDICT_TAKEN) {
			a->server = id;
			a->why = HF_WHY_DIALOG;
			return;
		}
	}
}
