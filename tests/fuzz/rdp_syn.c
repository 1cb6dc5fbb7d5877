/* Fuzz: a datagram that belongs to nothing yet. The first octet chooses the source and what the engine says, the rest is the datagram.
 * Held to: no fault; it is asked for or dropped with a reason, by one act; what is asked for is a whole SYN, and the id in it, turned round, asks for the same. */
#include <stdlib.h>

#include "option.h"
#include "rdp.h"
#include "reasons.h"
#include "syn.h"
#include "x224.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)

static struct hf_site site = {.hash_key = "0123456789abcde", .n_sign = 1};
static struct rdp_conf conf = {.udp_idle = 60000};
static const struct hf_ctx fresh = {.site = &site, .conf = &conf, .now_ms = 1};

static const struct hf_act *step(struct hf_event ev, struct hf_acts *acts, uint8_t how)
{
	static const struct hf_addr sources[2] = {{.family = 4, .ip = {192, 0, 2, 51}, .port = 4000}, {.family = 6, .ip = {0x20, 1, 0x0d, 0xb8}, .port = 4000}};
	struct hf_ctx ctx = fresh;

	ev.source = sources[how & 1];
	ev.transport = HF_UDP;
	hf_rdp_front.step(&ctx, &ev, acts);
	MUST(acts->n == 1);
	return &acts->a[0];
}

/* The same with its id in the other order. */
static void turned(const struct hf_ask *q, struct hf_bytes all, uint8_t how)
{
	static const uint8_t from[X224_ID] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	uint8_t *p = malloc(all.n);
	struct hf_acts acts;
	const struct hf_act *a;

	memcpy(p, all.p, all.n);
	for (unsigned i = 0; i < X224_ID; i++)
		p[16 + i] = all.p[16 + from[i]];
	a = step((struct hf_event){.kind = HF_EV_BYTES, .bytes = hf_bytes_of(p, all.n)}, &acts, how);
	MUST(a->kind == HF_ACT_ASK && a->ask.beside[0] == q->beside[1] && a->ask.beside[1] == q->beside[0] && a->ask.beside[2] == q->beside[2]);
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes all = hf_bytes_of(data + 1, size ? size - 1 : 0);
	struct hf_chosen c = {.server = size ? data[0] & 2 : 0, .none = HF_R_NO_SESSION};
	struct hf_acts acts;
	const struct hf_act *a;

	if (!size)
		return 0;
	a = step((struct hf_event){.kind = HF_EV_BYTES, .bytes = all}, &acts, data[0]);
	MUST(a->kind == HF_ACT_ASK || (a->kind == HF_ACT_DROP && a->end.reason >= RDP_R_UDP_SHORT && a->end.reason <= RDP_R_UDP_NO_FLOW));
	if (a->kind != HF_ACT_ASK)
		return 0;
	MUST(all.n >= 1132 && a->ask.beside[2] && !a->ask.beside[0] == !a->ask.beside[1]);
	if (a->ask.beside[0])
		turned(&a->ask, all, data[0]);
	a = step((struct hf_event){.kind = HF_EV_CHOICE, .chosen = &c}, &acts, data[0]);
	MUST(a->kind == (c.server ? HF_ACT_RELAY : HF_ACT_DROP));
	return 0;
}
