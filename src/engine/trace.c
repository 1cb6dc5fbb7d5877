/* What deciding has looked at, written for people who ask why (hf_engine_explain). Bounded; any thread.
 * It judges nothing: verdicts and costs come from choose.c and place.c, which decide by them. */
#include "inside.h"

static const char *const steps[] = {
#define X(e, name) name,
	HF_STEPS(X)
#undef X
};
static const char *const verdicts[] = {
#define X(e, name) name,
	HF_VERDICTS(X)
#undef X
};

const char *hf_step_name(enum hf_step_kind k) { return k < HF_STEP_COUNT ? steps[k] : "unknown"; }
const char *hf_verdict_name(enum hf_verdict v) { return v < HF_VERDICT_COUNT ? verdicts[v] : "unknown"; }

static struct hf_step step_of(const struct hf_engine *e, enum hf_step_kind kind, uint16_t id, enum hf_verdict v)
{
	struct hf_step s = {.kind = kind, .verdict = v, .server = id, .state = HF_STATE_OFF, .cap = UINT32_MAX};

	if (!id || id > last_id(e))
		return s;
	s.state = state_of(e, id);
	s.sessions = LOAD_COUNTED(load_word(e, id));
	s.cap = place_cap(e, id);
	return s;
}

struct hf_step *trace_step(const struct hf_engine *e, struct hf_trace *t, enum hf_step_kind kind, uint16_t id, enum hf_verdict v)
{
	struct hf_step *s = &t->step[t->n < HF_TRACE_STEPS ? t->n++ : HF_TRACE_STEPS - 1];

	*s = step_of(e, kind, id, v);
	return s;
}

void trace_back(struct hf_trace *t, unsigned n)
{
	t->n = n;
	t->passed = 0;
}

void trace_amend(struct hf_trace *t, enum hf_step_kind kind, uint16_t id, enum hf_verdict v)
{
	for (unsigned i = t->n; i--;)
		if (t->step[i].kind == kind && t->step[i].server == id) {
			t->step[i].verdict = v;
			return;
		}
}

void trace_rival(struct hf_engine *e, struct hf_trace *t, uint16_t id, uint64_t cost, enum hf_verdict v)
{
	unsigned first = t->n, at;

	while (first && t->step[first - 1].kind == HF_STEP_RIVAL)
		first--;
	for (at = t->n; at > first && place_before(e, id, cost, t->step[at - 1].server, t->step[at - 1].cost); at--)
		;
	t->passed++;
	if (at - first >= HF_TRACE_RIVALS - 1) /* one place is for who is taken */
		return;
	if (t->n - first < HF_TRACE_RIVALS - 1)
		t->n++;
	memmove(&t->step[at + 1], &t->step[at], (t->n - 1 - at) * sizeof t->step[0]);
	t->step[at] = step_of(e, HF_STEP_RIVAL, id, v);
	t->step[at].cost = cost;
}
