/* Fuzz: a whole flow of the RDP front. The first octet chooses options and events, the second seeds the cuts, the next two say how many of the
 * remaining octets are the client's; the others are the host's.
 * Held to: whole, octet by octet and in any pieces the flow asks and learns the same and comes to the same end; every octet of the client
 * goes to the host exactly once; acts are those that the contract allows at that point. */
#include <stdlib.h>

#include "holdfast/hash.h"

#include "flow.h"
#include "option.h"
#include "rdp.h"
#include "x224.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)
enum { HOST = 7, ENDS_CLIENT = 16, ENDS_HOST = 32, DIAL_FAILS = 64, BOUND = 128 };
enum how { HOW_WHOLE, HOW_OCTETS, HOW_PIECES };

static struct hf_site site = {.hash_key = "0123456789abcde", .n_sign = 1};
static struct rdp_conf conf;
static struct hf_listener_info listener = {.transport = HF_TCP};
static _Alignas(16) uint8_t memory[4096], state[HF_FLOW_STATE];
static struct hf_arena arena;
static struct hf_ctx ctx = {.site = &site, .conf = &conf, .pool = HF_LIT("farm"), .listeners = &listener, .n_listeners = 1, .arena = &arena, .flow = state};

struct flow {
	uint8_t options;
	uint64_t sum;
	struct hf_bytes client; /* what it has sent so far */
	size_t sent, need;
	bool failed, holds, asked, pooled, enters, relayed, closed;
};

static void note(struct flow *f, const void *p, size_t n)
{
	struct hf_sip s;

	hf_sip_init(&s, site.hash_key, 1, 3);
	hf_sip_add(&s, hf_bytes_of(&f->sum, sizeof f->sum));
	hf_sip_add(&s, hf_bytes_of(p, n));
	f->sum = hf_sip_end(&s);
}

static void note_act(struct flow *f, const struct hf_act *a)
{
	uint64_t fact[6] = {(uint64_t)a->kind};

	switch (a->kind) {
	case HF_ACT_ASK:
		memcpy(fact + 1, (uint64_t[]){a->ask.key.fp, a->ask.refs[0].fp, a->ask.refs[1].fp, (uint64_t)a->ask.life << 32 | a->ask.flags, a->ask.hint_addr.port}, 40);
		break;
	case HF_ACT_LEARN:
		memcpy(fact + 1, (uint64_t[]){a->learn.key.fp, a->learn.server, a->learn.life, a->learn.life_s, a->learn.flags}, 40);
		break;
	case HF_ACT_DROP:
	case HF_ACT_CLOSE:
		fact[1] = a->end.reason;
		break;
	case HF_ACT_RELAY:
		fact[1] = a->relay.mark;
		break;
	case HF_ACT_SEND:
		fact[1] = a->send.to;
		break;
	default:
		break;
	}
	note(f, fact, sizeof fact);
}

/* What net would do with an act. */
static void take(struct flow *f, const struct hf_event *ev, const struct hf_act *a)
{
	if (a->kind == HF_ACT_MORE) {
		MUST(ev->kind == HF_EV_BYTES && !ev->eof && a->need > ev->bytes.n && a->need <= hf_rdp_front.max_opening);
		f->need = a->need;
		return;
	}
	note_act(f, a);
	switch (a->kind) {
	case HF_ACT_POOL: /* once, before all else that it does; the step is called again */
		MUST(ev->kind == HF_EV_BYTES && ev->side == HF_CLIENT && !f->pooled && !f->asked && !f->sent && (a->pool.has.family ? !a->pool.at : a->pool.at == 1));
		f->pooled = f->enters = true;
		break;
	case HF_ACT_ASK:
		MUST(!f->sent && ev->kind != HF_EV_CHOICE && ev->kind != HF_EV_END);
		f->asked = true;
		break;
	case HF_ACT_SEND:
		MUST(a->send.n_splices == 0 && !f->relayed);
		if (a->send.to == HF_TO_SERVER) {
			MUST(ev->kind == HF_EV_CHOICE && !a->send.base.p && a->send.server == HOST);
			f->sent = f->client.n;
		} else {
			MUST(a->send.to == HF_TO_CLIENT);
			MUST(hf_bytes_eq(a->send.base, hf_bytes_of(x224_refusal, sizeof x224_refusal)) || (conf.require && a->send.base.n == 19));
		}
		break;
	case HF_ACT_HOLD:
		MUST(ev->kind == HF_EV_FAIL && a->hold.ms);
		f->holds = true;
		break;
	case HF_ACT_RELAY: /* what was sent goes out once, the rest of the buffer follows */
		MUST(ev->side == HF_SERVER && f->sent && a->relay.client_used == f->sent && a->relay.server_used == 0);
		f->relayed = true;
		break;
	case HF_ACT_CLOSE:
		MUST(!f->relayed && ev->kind != HF_EV_END);
		f->closed = true;
		break;
	case HF_ACT_LEARN:
		MUST(a->learn.key.fp);
		break;
	case HF_ACT_DROP:
		MUST(a->end.count_only);
		break;
	default:
		abort();
	}
}

/* In memory of their own, so that a read past what has come is seen. */
static void step(struct flow *f, struct hf_event ev)
{
	struct hf_acts acts = {0};
	uint8_t *p = malloc(ev.bytes.n ? ev.bytes.n : 1);

	MUST(p);
	if (ev.bytes.n)
		memcpy(p, ev.bytes.p, ev.bytes.n);
	ev.bytes = hf_bytes_of(p, ev.bytes.n);
	ev.source = (struct hf_addr){.family = 4, .ip = {192, 0, 2, 51}, .port = 4000};
	ev.listener = &listener;
	hf_arena_init(&arena, memory, f->options & 8 ? 64 : sizeof memory);
	f->need = 0;
	f->asked = f->holds = f->enters = false;
	hf_rdp_front.step(&ctx, &ev, &acts);
	for (unsigned i = 0; i < acts.n; i++) {
		MUST(i + 1 == acts.n || (acts.a[i].kind != HF_ACT_ASK && acts.a[i].kind != HF_ACT_CLOSE && acts.a[i].kind != HF_ACT_MORE));
		take(f, &ev, &acts.a[i]);
	}
	if (f->enters) {
		MUST(acts.n == 1);
		step(f, ev);
	}
	free(p);
}

/* The engine's answers, and one dial that fails when the options say so. */
static void choices(struct flow *f)
{
	struct hf_chosen c = {.server = HOST, .why = f->options & BOUND ? HF_WHY_BOND : HF_WHY_HOME, .known = f->options & BOUND, .hold_ms = f->options & BOUND && f->options & 2 ? 60000 : 0, .left = f->options & 4};

	while (f->asked) {
		step(f, (struct hf_event){.kind = HF_EV_CHOICE, .bytes = f->client, .chosen = &c});
		MUST(f->sent || f->closed);
		if (!(f->options & DIAL_FAILS) || f->failed)
			continue;
		f->failed = true;
		f->sent = 0;
		step(f, (struct hf_event){.kind = HF_EV_FAIL, .bytes = f->client, .chosen = &c, .reason = HF_R_DIAL_FAILED});
		if (f->holds)
			step(f, (struct hf_event){.kind = HF_EV_WAKE, .bytes = f->client});
		MUST(f->asked || f->closed);
	}
}

static size_t piece(enum how how, uint32_t *dice, size_t left)
{
	size_t n;

	*dice = *dice * 1664525 + 1013904223;
	n = how == HOW_WHOLE ? left : how == HOW_OCTETS ? 1 : 1 + (*dice >> 8) % left;
	return n < left ? n : left;
}

/* One side's octets, as long as the flow takes them. */
static void speak(struct flow *f, enum hf_side side, struct hf_bytes all, enum how how, uint32_t *dice, bool ends)
{
	struct hf_bytes got = hf_bytes_sub(all, 0, 0);

	f->need = 0;
	while ((got.n < all.n || ends) && !f->closed && !f->relayed) {
		bool last = got.n == all.n;

		got = hf_bytes_sub(all, 0, got.n + (last ? 0 : piece(how, dice, all.n - got.n)));
		if (side == HF_CLIENT)
			f->client = got;
		if (got.n >= f->need || last)
			step(f, (struct hf_event){.kind = HF_EV_BYTES, .side = side, .bytes = got, .eof = last});
		choices(f);
		if (last)
			break;
	}
}

static struct flow play(uint8_t options, struct hf_bytes client, struct hf_bytes host, enum how how, uint32_t dice)
{
	struct flow f = {.options = options};

	memset(state, 0, sizeof state);
	ctx.now_ms = 1000000;
	speak(&f, HF_CLIENT, client, how, &dice, options & ENDS_CLIENT);
	if (f.sent && !f.closed)
		speak(&f, HF_SERVER, host, how, &dice, options & ENDS_HOST);
	if (f.relayed && !f.closed)
		step(&f, (struct hf_event){.kind = HF_EV_WAKE});
	step(&f, (struct hf_event){.kind = HF_EV_END, .reason = HF_R_DONE});
	return f;
}

static const struct rdp_chain chains[4] = {
	{3, {RDP_BY_TOKEN, RDP_BY_USER, RDP_BY_SOURCE}, {32, 128}},
	{4, {RDP_BY_TOKEN, RDP_BY_USER, RDP_BY_CORRELATION, RDP_BY_SOURCE}, {24, 64}},
	{2, {RDP_BY_USER, RDP_BY_CORRELATION}, {32, 128}},
	{2, {RDP_BY_CORRELATION, RDP_BY_SOURCE_PORT}, {32, 128}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes all = hf_bytes_of(data + 4, size > 4 ? size - 4 : 0);
	struct hf_bytes client, host;
	struct flow f[3];

	if (size < 4 || all.n > 1024)
		return 0;
	client = hf_bytes_sub(all, 0, hf_get16(data + 2));
	host = hf_bytes_sub(all, client.n, all.n);
	conf = (struct rdp_conf){.key = chains[data[0] >> 2 & 3], .user_match = data[0] & 1, .own_domains = HF_LIT("contoso, lab"), .linger = 86400000,
				 .dial_retry = 1000, .dial_limit = 10000, .firm_after = 1024, .source_limit = 4, .user_sources = 3, .source_linger = 900000, .redirect_rounds = 5, .collections = {1, {{HF_LIT("Sales"), HF_LIT("sales"), 1}}},
				 .pre_connection = data[1] & 1, .direct_tls = data[1] >> 1 & 1, .require = (data[1] >> 2) % 3};
	for (unsigned how = 0; how < 3; how++)
		f[how] = play(data[0], client, host, (enum how)how, data[1]);
	for (unsigned how = 1; how < 3; how++)
		MUST(f[how].sum == f[0].sum && f[how].relayed == f[0].relayed && f[how].closed == f[0].closed);
	return 0;
}
