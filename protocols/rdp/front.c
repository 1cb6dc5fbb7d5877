/* The RDP front: a Connection Request in, a host chosen, the request and then everything else passed on octet for octet.
 *
 * Here events are given to the steps of a flow (ask.c, session.c) or of a datagram (syn.c), and the front is declared. Must not know sockets, the engine or
 * the clock; net calls step, the control thread calls the probe and key_read. */
#include "rdp.h"

#include "flow.h"
#include "keys.h"
#include "opening.h"
#include "option.h"
#include "reasons.h"
#include "signed.h"
#include "syn.h"
#include "x224.h"

#define OPENING_MAX (16384u + BLOB_MAX + X224_MAX) /* octets a client may send behind its request before the host has answered */

static void bytes(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;

	if (ev->side == HF_SERVER && f->phase == ASKED)
		session_reply(ctx, ev, acts);
	else if (ev->side == HF_CLIENT && f->phase == OPENING)
		ask_opening(ctx, ev, acts);
	else if (ev->side == HF_CLIENT && f->phase == HELD && ev->eof)
		flow_close(acts, HF_R_CLIENT_CLOSED);
	/* else: octets behind the request, which wait for the relay */
}

static void wake(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct rdp_flow *f = ctx->flow;

	if (f->phase == RELAYED)
		session_firm(f, acts);
	else if (f->phase == HELD)
		ask_again(ctx, ev, acts);
}

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	static void (*const steps[])(struct hf_ctx *, const struct hf_event *, struct hf_acts *) = {
		[HF_EV_BYTES] = bytes, [HF_EV_CHOICE] = ask_choice, [HF_EV_FAIL] = ask_fail, [HF_EV_WAKE] = wake, [HF_EV_END] = session_end,
	};

	acts->n = 0;
	if (ctx->flow)
		steps[ev->kind](ctx, ev, acts);
	else
		syn_step(ctx, ev, acts);
}

/* ---- probes ---- */

static bool probe_write(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_writer *w)
{
	(void)ctx;
	(void)p;
	hf_w_mem(w, x224_probe, sizeof x224_probe);
	return !w->full;
}

/* A host that refuses the protocols offered is alive. */
static enum hf_probe_result probe_read(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_bytes got, uint32_t *busy_ms)
{
	static const enum hf_probe_result results[] = {HF_PROBE_MORE, HF_PROBE_OK, HF_PROBE_OK, HF_PROBE_FAILED};
	size_t need;

	(void)ctx;
	(void)p;
	(void)busy_ms;
	return results[x224_read_reply(got, &need)];
}

/* A token's address is four octets (token.c). */
static const char *hint_word(const void *conf, unsigned family)
{
	return family != 6 && rdp_chain_has(&((const struct rdp_conf *)conf)->key, RDP_BY_TOKEN) ? "a routing token" : NULL;
}

static const struct hf_reason_def reasons[] = {
#define X(e, name, text) {name, text},
	RDP_REASONS(X)
#undef X
};

/* Sessions on a host are heavier and fewer than calls, so the cap is closer; a probe leaves a line in the log of most hosts. */
static const struct hf_default defaults[] = {{"affinity", "table"}, {"load-factor", "1.25"}, {"probe", "none"}, {"on-down", "hold 60s"}, {"drain-bound", "keep"}};

const struct hf_front hf_rdp_front = {
	.name = "rdp",
	.transports = HF_TRANSPORT_BIT(HF_TCP) | HF_TRANSPORT_BIT(HF_UDP),
	.datagram_flows = true,
	.server_transport = HF_TCP,
	.port = 3389,
	.max_opening = OPENING_MAX,
	.probe_name = "confirm",
	.options = rdp_options,
	.n_options = RDP_OPTIONS,
	.conf_size = sizeof(struct rdp_conf),
	.defaults = defaults,
	.n_defaults = sizeof defaults / sizeof defaults[0],
	.reasons = reasons,
	.n_reasons = sizeof reasons / sizeof reasons[0],
	.hint_word = hint_word,
	.step = step,
	.probe_write = probe_write,
	.probe_read = probe_read,
	.key_read = rdp_key_read,
	.token_write = signed_write,
};
