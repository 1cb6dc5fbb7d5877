/* The toy front: a third protocol that keeps the contract honest. Lines of text, over TCP and in datagrams:
 *
 *   open KEY            TCP: the line goes to the key's server; after the server's first line all is relayed
 *   name                TCP: answers `WORKER SLOT GENERATION BOOT`, this flow's name
 *   hold MS KEY TEXT    UDP: TEXT goes to the key's server, MS later
 *   learn KEY           UDP: the key gets an entry where it would go now; answers with that server's name
 *   tell W S G B TEXT   both: TEXT goes to the client of the flow so named, on whatever worker */
#include "toy.h"

#include <stddef.h>

#define LIFE_S 3600u
#define MARK 8u
#define LINE_MAX 512u

struct toy_flow {
	uint32_t done, sent; /* octets of lines dealt with; the same with the `open` line, 0 before there is one */
	uint64_t fp;         /* of the entry that counts this flow */
};

static struct hf_bytes word(struct hf_bytes *line)
{
	size_t n = hf_bytes_find(*line, ' ');
	struct hf_bytes w = hf_bytes_sub(*line, 0, n);

	*line = hf_bytes_sub(*line, n + 1, line->n);
	return w;
}

static bool is(struct hf_bytes w, const char *verb) { return hf_bytes_eq(w, hf_bytes_str(verb)); }

static bool number(struct hf_bytes *line, uint64_t max, uint32_t *out)
{
	uint64_t v = 0;
	bool ok = hf_read_uint(word(line), max, &v) == HF_OK;

	*out = (uint32_t)v;
	return ok;
}

static struct hf_key key_of(const struct hf_ctx *ctx, struct hf_bytes k)
{
	return (struct hf_key){k.n ? hf_fingerprint(ctx->site->hash_key, HF_LIT("toy"), k, LINE_MAX) : 0, hf_arena_copy(ctx->arena, k)};
}

static void stop(const struct hf_ctx *ctx, struct hf_acts *acts, unsigned reason)
{
	hf_act(acts, ctx->flow ? HF_ACT_CLOSE : HF_ACT_DROP)->end.reason = reason;
}

static struct hf_send *say(struct hf_acts *acts, enum hf_to to, struct hf_bytes base)
{
	struct hf_send *s = &hf_act(acts, HF_ACT_SEND)->send;

	s->to = to;
	s->base = base;
	return s;
}

static void ask(const struct hf_ctx *ctx, struct hf_bytes key, enum hf_life life, bool again, struct hf_acts *acts)
{
	struct hf_ask *q = &hf_act(acts, HF_ACT_ASK)->ask;

	q->key = key_of(ctx, key);
	q->life = life;
	q->life_s = LIFE_S;
	q->flags = HF_COUNTED | HF_TENTATIVE;
	q->again = again;
}

static void learn(struct hf_key key, const struct hf_chosen *c, enum hf_life life, struct hf_acts *acts)
{
	struct hf_act *a = hf_act(acts, HF_ACT_LEARN);

	a->learn.key = key;
	a->learn.server = c ? c->server : 0;
	a->learn.why = c ? c->why : HF_WHY_NONE;
	a->learn.life = life;
	a->learn.life_s = LIFE_S;
	a->learn.flags = HF_COUNTED;
}

static bool tell(struct hf_bytes line, struct hf_acts *acts)
{
	struct hf_flow_name f;
	uint32_t worker;

	if (!number(&line, UINT8_MAX, &worker) || !number(&line, UINT32_MAX, &f.slot) || !number(&line, UINT32_MAX, &f.generation) ||
	    !number(&line, UINT32_MAX, &f.boot) || !line.n)
		return false;
	f.worker = (uint8_t)worker;
	say(acts, HF_TO_FLOW, line)->flow = f;
	return true;
}

static bool name(const struct hf_ctx *ctx, const struct hf_flow_name *f, struct hf_acts *acts)
{
	struct hf_writer w = hf_writer_on(hf_arena_alloc(ctx->arena, 64), 64);

	if (!w.p)
		return false;
	hf_w_printf(&w, "%u %u %u %u\n", (unsigned)f->worker, (unsigned)f->slot, (unsigned)f->generation, (unsigned)f->boot);
	say(acts, HF_TO_CLIENT, hf_writer_view(&w));
	return true;
}

/* ---- flows ---- */

static struct hf_bytes open_line(const struct toy_flow *f, struct hf_bytes all) { return hf_bytes_sub(all, f->done, f->sent - f->done); }

static struct hf_bytes open_key(const struct toy_flow *f, struct hf_bytes all)
{
	struct hf_bytes line = open_line(f, all);

	line.n--; /* its end */
	word(&line);
	return line;
}

/* One line, without its end. False: it is not one of ours. */
static bool flow_line(const struct hf_ctx *ctx, const struct hf_event *ev, struct hf_bytes line, struct hf_acts *acts)
{
	struct toy_flow *f = ctx->flow;
	uint32_t to = f->done + (uint32_t)line.n + 1;
	struct hf_bytes verb = word(&line);

	if (is(verb, "open") && line.n) {
		f->sent = to;
		ask(ctx, line, HF_LIFE_OPEN, false, acts);
		return true;
	}
	f->done = to;
	return is(verb, "name") ? name(ctx, &ev->flow_name, acts) : is(verb, "tell") && tell(line, acts);
}

static void client(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct toy_flow *f = ctx->flow;

	while (!f->sent) {
		struct hf_bytes rest = hf_bytes_sub(ev->bytes, f->done, ev->bytes.n);
		size_t n = hf_bytes_find(rest, '\n');

		if (n == rest.n) {
			hf_act(acts, HF_ACT_MORE)->need = ev->bytes.n + 1; /* a client that has closed is net's affair */
			return;
		}
		if (acts->n == HF_ACTS_MAX - 1 || !flow_line(ctx, ev, hf_bytes_sub(rest, 0, n), acts)) {
			stop(ctx, acts, TOY_R_BAD_LINE);
			return;
		}
	}
}

static void server(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const struct toy_flow *f = ctx->flow;
	struct hf_act *a;

	if (hf_bytes_find(ev->bytes, '\n') == ev->bytes.n) {
		hf_act(acts, HF_ACT_MORE)->need = ev->bytes.n + 1;
		return;
	}
	a = hf_act(acts, HF_ACT_RELAY);
	a->relay.client_used = f->sent;
	a->relay.mark = MARK;
}

/* ---- datagrams: how far KEY is behind the verb stands in the hold's state ---- */

static void datagram(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const struct toy_conf *conf = ctx->conf;
	struct hf_bytes line = ev->bytes, verb = word(&line);
	uint32_t ms;

	if (is(verb, "learn")) {
		ask(ctx, line, HF_LIFE_NONE, false, acts);
	} else if (is(verb, "hold") && number(&line, conf->hold_max, &ms)) {
		struct hf_act *a = hf_act(acts, HF_ACT_HOLD);

		a->hold.ms = ms;
		hf_put32(a->hold.state, (uint32_t)(ev->bytes.n - line.n));
	} else if (!is(verb, "tell") || !tell(line, acts)) {
		stop(ctx, acts, TOY_R_BAD_LINE);
	}
}

static void datagram_choice(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct hf_bytes line = ev->bytes, verb = word(&line);

	if (is(verb, "learn")) {
		learn(key_of(ctx, line), ev->chosen, HF_LIFE_START, acts);
		say(acts, HF_TO_SOURCE, ev->chosen->name);
		return;
	}
	word(&line); /* MS and KEY of `hold` */
	word(&line);
	say(acts, HF_TO_SERVER, line)->server = ev->chosen->server;
}

/* ---- the contract ---- */

static void bytes(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	(!ctx->flow ? datagram : ev->side == HF_SERVER ? server : client)(ctx, ev, acts);
}

static void choice(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct toy_flow *f = ctx->flow;

	if (!ev->chosen->server) {
		stop(ctx, acts, HF_R_NO_SERVER);
	} else if (!f) {
		datagram_choice(ctx, ev, acts);
	} else {
		f->fp = key_of(ctx, open_key(f, ev->bytes)).fp;
		say(acts, HF_TO_SERVER, open_line(f, ev->bytes))->server = ev->chosen->server;
	}
}

static void fail(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	if (ctx->flow)
		ask(ctx, open_key(ctx->flow, ev->bytes), HF_LIFE_START, true, acts);
	else
		stop(ctx, acts, ev->reason);
}

static void wake(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const struct toy_flow *f = ctx->flow;
	struct hf_bytes line;

	if (f) {
		learn((struct hf_key){.fp = f->fp}, NULL, HF_LIFE_TOUCH, acts);
		return;
	}
	line = hf_bytes_sub(ev->bytes, hf_get32(ev->hold), ev->bytes.n);
	hf_act(acts, HF_ACT_FREE);
	ask(ctx, word(&line), HF_LIFE_START, false, acts);
}

static void end(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	const struct toy_flow *f = ctx->flow;

	(void)ev;
	if (f->fp)
		learn((struct hf_key){.fp = f->fp}, NULL, HF_LIFE_CLOSE, acts);
}

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	static void (*const steps[])(struct hf_ctx *, const struct hf_event *, struct hf_acts *) = {
		[HF_EV_BYTES] = bytes, [HF_EV_CHOICE] = choice, [HF_EV_FAIL] = fail, [HF_EV_WAKE] = wake, [HF_EV_END] = end,
	};

	acts->n = 0;
	steps[ev->kind](ctx, ev, acts);
}

static enum hf_err key_read(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	*out = key_of(ctx, text);
	return out->fp ? HF_OK : HF_EINVAL;
}

static const struct hf_option options[] = {
	{.name = "toy-hold-max", .type = HF_OPT_TIME, .sections = HF_IN_SERVICE, .reload = HF_RELOAD_LIVE, .min = 1, .max = 60000, .unit = "s", .dflt = "10s",
	 .help = "The longest time that a datagram may ask to be held.", .offset = offsetof(struct toy_conf, hold_max)},
};

static const struct hf_reason_def reasons[] = {{"bad-line", "a line that is none of the protocol's"}};

const struct hf_front hf_toy_front = {
	.name = "toy", .transports = HF_TRANSPORT_BIT(HF_UDP) | HF_TRANSPORT_BIT(HF_TCP), .server_transport = HF_TCP, .port = 7777, .datagrams = true,
	.max_opening = 4 * LINE_MAX, .options = options, .n_options = 1, .conf_size = sizeof(struct toy_conf), .reasons = reasons, .n_reasons = 1,
	.step = step, .key_read = key_read,
};
