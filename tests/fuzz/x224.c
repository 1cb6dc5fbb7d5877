/* Fuzz: the RDP front. The first octet chooses options and events, the rest is a client's octets (and once more a host's).
 * Held to: no fault; every prefix waits or comes to the same end as the whole; a flow asks only for what was whole, and is
 * answered with acts that the contract allows. */
#include <stdlib.h>

#include "keys.h"
#include "option.h"
#include "rdp.h"
#include "x224.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hf_site site = {.hash_key = "0123456789abcde", .n_sign = 1};
static struct rdp_conf conf;
static uint8_t memory[4096], flow[HF_FLOW_STATE] __attribute__((aligned(16)));
static struct hf_arena arena;
static struct hf_ctx ctx = {.site = &site, .conf = &conf, .arena = &arena, .flow = flow, .now_ms = 1};

static void set_options(uint8_t how)
{
	conf = (struct rdp_conf){.key = {3, {RDP_BY_TOKEN, RDP_BY_USER, RDP_BY_SOURCE}, {32, 128}}, .user_match = how & 1, .own_domains = HF_LIT("contoso, lab"),
	                         .linger = 86400000, .dial_retry = 1000, .dial_limit = 10000, .firm_after = 1024};
	if (how & 4)
		conf.key = (struct rdp_chain){3, {RDP_BY_USER, RDP_BY_TOKEN, RDP_BY_CORRELATION}, {32, 128}};
	hf_arena_init(&arena, memory, how & 8 ? 64 : sizeof memory);
	memset(flow, 0, sizeof flow);
}

/* Each prefix in memory of its own, so that a read past its end is seen. */
static void cuts(struct hf_bytes all)
{
	struct x224_request r;
	size_t need;
	unsigned end = x224_read(all, &r, &need);

	HF_BUG_ON(end == 0 && (r.len > all.n || r.len > X224_MAX || r.len < X224_MIN));
	for (size_t n = 0; n < all.n && n <= X224_MAX; n++) {
		uint8_t *p = malloc(n ? n : 1);
		unsigned early;

		if (n)
			memcpy(p, all.p, n);
		early = x224_read(hf_bytes_of(p, n), &r, &need);
		HF_BUG_ON(early == X224_WAIT ? need <= n : early != end);
		free(p);
	}
}

static const struct hf_act *step(struct hf_event ev, struct hf_acts *acts)
{
	ev.source = (struct hf_addr){.family = 4, .ip = {192, 0, 2, 51}, .port = 4000};
	hf_arena_reset(&arena);
	hf_rdp_front.step(&ctx, &ev, acts);
	for (unsigned i = 0; i + 1 < acts->n; i++)
		HF_BUG_ON(acts->a[i].kind == HF_ACT_ASK || acts->a[i].kind == HF_ACT_CLOSE);
	return acts->n ? &acts->a[acts->n - 1] : NULL;
}

static void run(uint8_t how, struct hf_bytes all)
{
	struct hf_chosen c = {.server = 7, .why = how & 16 ? HF_WHY_BOND : HF_WHY_HOME, .hold_ms = how & 16 && how & 2 ? 60000 : 0, .left = how & 32};
	struct hf_acts acts;
	const struct hf_act *a = step((struct hf_event){.kind = HF_EV_BYTES, .side = HF_CLIENT, .bytes = all, .eof = how & 64}, &acts);

	HF_BUG_ON(!a || (a->kind != HF_ACT_ASK && a->kind != HF_ACT_CLOSE && a->kind != HF_ACT_MORE));
	if (a->kind == HF_ACT_ASK) {
		a = step((struct hf_event){.kind = HF_EV_CHOICE, .bytes = all, .chosen = &c}, &acts);
		HF_BUG_ON(a->kind != HF_ACT_SEND || a->send.base.p);
		if (how & 128) {
			a = step((struct hf_event){.kind = HF_EV_FAIL, .bytes = all, .chosen = &c, .reason = HF_R_DIAL_FAILED}, &acts);
			if (a->kind == HF_ACT_HOLD)
				a = step((struct hf_event){.kind = HF_EV_WAKE, .bytes = all}, &acts);
			HF_BUG_ON(a->kind != HF_ACT_ASK);
			step((struct hf_event){.kind = HF_EV_CHOICE, .bytes = all, .chosen = &c}, &acts);
		}
		a = step((struct hf_event){.kind = HF_EV_BYTES, .side = HF_SERVER, .bytes = all, .eof = how & 64}, &acts);
		if (a->kind == HF_ACT_RELAY)
			step((struct hf_event){.kind = HF_EV_WAKE}, &acts);
	}
	step((struct hf_event){.kind = HF_EV_END, .reason = HF_R_DONE}, &acts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes all = hf_bytes_of(data + 1, size ? size - 1 : 0);
	struct hf_key key;

	if (!size)
		return 0;
	set_options(data[0]);
	cuts(all);
	run(data[0], all);
	if (rdp_key_read(&ctx, all, &key) == HF_OK)
		HF_BUG_ON(key.fp == 0);
	return 0;
}
