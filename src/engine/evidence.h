/* Who is named for a key, and whether that holds (private to the engine): choose.c asks it before anybody is placed. */
#ifndef HF_ENGINE_EVIDENCE_H
#define HF_ENGINE_EVIDENCE_H

#include "inside.h"

/* Whether a server that is named, by whom ever, is the answer. */
static inline enum hf_verdict evidence_verdict(const struct hf_engine *e, const struct hf_question *q, uint16_t id)
{
	if (!id)
		return HF_VERDICT_MISSING;
	if (!serves(e, id))
		return HF_VERDICT_OFF;
	return among(q->avoid, q->n_avoid, id) ? HF_VERDICT_TRIED : HF_VERDICT_TAKEN;
}

/* The question names a server that is down, to be tried once more. */
static inline bool evidence_knocks(const struct hf_engine *e, const struct hf_question *q, uint16_t server)
{
	return q->knocks && atomic_load_explicit(&e->hot[server].knock, memory_order_relaxed);
}

/* It is down, for longer than what is bound to it holds, and not to be tried once more. */
bool evidence_gone(const struct hf_engine *e, const struct hf_question *q, uint16_t server, uint64_t now_ms);
/* What binds a key to the server is bound anew by the question (it renews), and better elsewhere. */
bool evidence_leaves(const struct hf_engine *e, const struct hf_question *q, uint16_t server, uint64_t now_ms);

/* Whether an entry at `server` answers the question as it is. live: it has live flows, and does not leave a server that only drains. With `place` it is not
 * what is made anew, but what has begun by that. */
static inline enum hf_verdict evidence_stays(const struct hf_engine *e, const struct hf_question *q, uint16_t server, bool live, uint64_t now_ms)
{
	if (!serves(e, server))
		return HF_VERDICT_OFF;
	if (q->move && among(q->avoid, q->n_avoid, server))
		return HF_VERDICT_TRIED;
	if (live && state_of(e, server) == HF_STATE_DRAIN)
		return HF_VERDICT_TAKEN;
	return q->renews && !q->place && evidence_leaves(e, q, server, now_ms) ? HF_VERDICT_LEAVES : HF_VERDICT_TAKEN;
}

/* For how long what is bound to a server must not be placed anew, should that not answer; 0: it may be at once. */
uint64_t evidence_hold_ms(const struct hf_engine *e, uint16_t id, uint64_t now_ms);
/* Answers by the hint or a reference of the question, where one holds. */
void evidence_named(struct hf_engine *e, const struct hf_question *q, struct hf_answer *a, uint64_t now_ms);
/* The key apart of the question's own has an entry, so that the own one's is not for it. */
bool evidence_apart(struct hf_engine *e, const struct hf_question *q, uint64_t now_ms);
/* Another key's entry; false, and its server is 0: it has none. */
bool evidence_entry(struct hf_engine *e, uint64_t fp, struct entry *x, uint64_t now_ms);
void evidence_trace(const struct hf_engine *e, const struct hf_question *q, enum hf_step_kind kind, uint64_t fp, const struct entry *x, enum hf_verdict v,
		    uint64_t now_ms);

#endif
