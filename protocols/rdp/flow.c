/* Acts that several steps of a flow use; see flow.h. */
#include "flow.h"

#include "option.h"
#include "x224.h"

#define HASH_MODE_S 32u /* front.h: what a life is cut to in hash mode */

void flow_close(struct hf_acts *acts, unsigned reason)
{
	hf_act(acts, HF_ACT_CLOSE)->end.reason = reason;
}

/* The quiet way to say no to a valid request: clients give up after one attempt. */
void flow_refuse(struct hf_acts *acts, unsigned reason)
{
	struct hf_act *a = hf_act(acts, HF_ACT_SEND);

	a->send.to = HF_TO_CLIENT;
	a->send.base = hf_bytes_of(x224_refusal, sizeof x224_refusal);
	flow_close(acts, reason);
}

void flow_count(struct hf_acts *acts, unsigned reason)
{
	struct hf_act *a;

	if (!reason)
		return;
	a = hf_act(acts, HF_ACT_DROP);
	a->end.reason = reason;
	a->end.count_only = true;
}

struct hf_act *flow_learn(struct hf_acts *acts, struct hf_key key, enum hf_life life, const struct rdp_flow *f)
{
	struct hf_act *a = hf_act(acts, HF_ACT_LEARN);

	a->learn.key = key;
	a->learn.life = life;
	a->learn.life_s = f->linger_s;
	a->learn.flags = HF_BOND;
	return a;
}

unsigned flow_flags(const struct rdp_flow *f)
{
	return HF_BOND | (f->counted ? HF_COUNTED : 0) | (f->known ? 0 : HF_TENTATIVE);
}

uint32_t flow_linger_s(const struct hf_ctx *ctx, const struct rdp_flow *f)
{
	const struct rdp_conf *conf = ctx->conf;

	if (f->brief)
		return LEG_S;
	return ctx->hash_mode ? HASH_MODE_S : (uint32_t)((f->by_source ? conf->source_linger : conf->linger) / 1000);
}
