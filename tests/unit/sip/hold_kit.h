/* front_kit.h with a hold, as net keeps one: literal octets and times in, all that goes out recorded. The engine answers with a hint, else with the
 * first of pbx1, pbx2, pbx3 (192.0.2.101 to .103) that is not to be avoided. */
#ifndef HOLD_KIT_H
#define HOLD_KIT_H

#include "front_kit.h"

enum { HK_SENT = 12, HK_SERVERS = 3 };

struct hk {
	struct kit k;
	struct { struct hf_send send; char text[3000]; } sent[HK_SENT];
	unsigned n_sent;
	bool on, shed, spare, full, firm; /* there is a hold; its octets are gone, or may go; no more can be held; the entry is firm */
	struct hf_event came;
	uint8_t octets[3000], state[HF_HOLD_STATE] __attribute__((aligned(8)));
	uint64_t tag;
	uint32_t ms;
	bool down[HK_SERVERS];     /* out of reach */
	bool no_tcp;               /* ... of all connections */
	bool open;                 /* a phone's is open */
	enum hf_why why;           /* the engine's */
	uint32_t hold_ms;          /* the pool waits so long for the server of a bound key */
	bool stream;               /* of the client; servers are UDP */
	struct hf_act learnt[8], evidence[8];
	unsigned n_learnt, n_evidence, reasons[HF_REASON_MAX], n_asked, n_passed;
	struct hf_ask ask;
};

static inline uint32_t hk_server(const struct hk *h, unsigned i)
{
	char name[] = "pbx1";

	name[3] = (char)('1' + i);
	return kit_server(&h->k, name);
}

static inline void hk_choose(struct hk *h, const struct hf_ask *q, struct hf_chosen *c)
{
	static const char *const names[] = {"pbx1", "pbx2", "pbx3"};

	*c = (struct hf_chosen){.none = HF_R_NO_SERVER, .firm = h->firm, .why = h->why, .hold_ms = h->hold_ms};
	if (h->on)
		c->hold = (struct hf_flow_name){0, 5, 7, h->k.site.boot};
	else if (q->holds && !h->full)
		c->hold = (struct hf_flow_name){0, 5, 7, h->k.site.boot};
	for (unsigned i = 0; i < HK_SERVERS; i++) {
		bool avoid = q->hint && q->hint != hk_server(h, i);

		for (unsigned j = 0; j < q->n_avoid; j++)
			avoid |= q->avoid[j] == hk_server(h, i);
		if (avoid)
			continue;
		c->server = hk_server(h, i);
		c->name = hf_bytes_str(names[i]);
		c->addr = kit_addr("192.0.2.101:5060");
		c->addr.ip[3] = (uint8_t)(101 + i);
		c->out = &h->k.listeners[0];
		c->out_addr = c->out->addr;
		return;
	}
}

static inline void hk_event(struct hk *h, struct hf_event ev);

static inline void hk_send(struct hk *h, const struct hf_send *s, unsigned *failed)
{
	if (h->no_tcp && s->to == HF_TO_SERVER && s->transport == HF_TCP) {
		*failed = HF_R_DIAL_FAILED;
		return;
	}
	if (s->if_open && !h->open) {
		*failed = HF_R_FLOW_GONE;
		return;
	}
	for (unsigned i = 0; i < HK_SERVERS; i++)
		if (s->to == HF_TO_SERVER && s->server == hk_server(h, i) && h->down[i]) {
			*failed = HF_R_DIAL_FAILED;
			return;
		}
	assert_in_range(h->n_sent, 0, HK_SENT - 1);
	kit_apply(&h->k, s);
	assert_in_range(h->k.out_n, 0, sizeof h->sent[0].text - 1);
	h->sent[h->n_sent].send = *s;
	memcpy(h->sent[h->n_sent++].text, h->k.out, h->k.out_n + 1);
}

static inline void hk_hold(struct hk *h, const struct hf_event *ev, const struct hf_act *a)
{
	if (!h->on) {
		struct hf_bytes b = a->hold.keep.p ? a->hold.keep : ev->bytes;

		assert_in_range(b.n, 0, sizeof h->octets);
		h->on = true;
		h->shed = h->spare = false;
		h->tag = a->hold.tag;
		h->came = *ev;
		h->came.kind = HF_EV_BYTES;
		memcpy(h->octets, b.p, b.n);
		h->came.bytes = hf_bytes_of(h->octets, b.n);
	}
	h->k.ctx.races = a->hold.races;
	h->ms = a->hold.ms;
	h->shed |= a->hold.shed;
	h->spare |= a->hold.spare;
	memcpy(h->state, a->hold.state, sizeof h->state);
}

static inline void hk_enter(struct hk *h, struct hf_event *ev)
{
	if (h->shed)
		h->came.bytes = HF_NONE;
	ev->hold = h->state;
	ev->held = &h->came;
}

/* One step. What comes next: BYTES, nothing. */
static inline enum hf_event_kind hk_step(struct hk *h, struct hf_event *ev, struct hf_chosen *c, bool *frees)
{
	enum hf_event_kind next = HF_EV_BYTES;
	struct hf_acts acts = {0};
	unsigned failed = 0;

	hf_sip_front.step(&h->k.ctx, ev, &acts);
	for (unsigned i = 0; i < acts.n; i++) {
		const struct hf_act *a = &acts.a[i];

		assert_int_equal(next, HF_EV_BYTES); /* ASK and PASS are the last acts */
		switch (a->kind) {
		case HF_ACT_ASK:
			h->ask = a->ask;
			h->n_asked++;
			next = HF_EV_CHOICE;
			if (a->ask.tag && h->on && a->ask.tag == h->tag && !ev->hold) {
				next = HF_EV_HELD;
				hk_enter(h, ev);
			} else {
				hk_choose(h, &a->ask, c);
			}
			break;
		case HF_ACT_PASS:
			next = HF_EV_LETTER;
			h->n_passed++;
			assert_int_equal(a->note.to.generation, 7);
			if (h->on)
				hk_enter(h, ev);
			break;
		case HF_ACT_NOTE:
			assert_int_equal(a->note.to.generation, 7);
			if (h->on) {
				struct hf_event note = h->came;
				void *parcel = h->k.ctx.parcel;

				note.kind = HF_EV_NOTE;
				note.bytes = hf_bytes_of(a->note.octets, HF_NOTE);
				hk_event(h, note);
				h->k.ctx.parcel = parcel;
			}
			break;
		case HF_ACT_SEND: hk_send(h, &a->send, &failed); break;
		case HF_ACT_HOLD: hk_hold(h, ev, a); break;
		case HF_ACT_FREE: *frees = true; break;
		case HF_ACT_LEARN: h->learnt[h->n_learnt++ % 8] = *a; break;
		case HF_ACT_EVIDENCE: h->evidence[h->n_evidence++ % 8] = *a; break;
		case HF_ACT_DROP: h->reasons[a->end.reason]++; break;
		case HF_ACT_TOOK: break;
		default: fail_msg("act %d", a->kind);
		}
	}
	if (next == HF_EV_BYTES && failed && ev->kind != HF_EV_FAIL) {
		ev->reason = failed;
		next = HF_EV_FAIL;
		if (h->on && !ev->hold)
			hk_enter(h, ev);
	}
	return next;
}

static inline void hk_event(struct hk *h, struct hf_event ev)
{
	struct hf_chosen c = {0};
	bool frees = false, wakes = ev.kind == HF_EV_WAKE;
	enum hf_event_kind next;

	h->k.ctx.parcel = NULL;
	if (ev.kind == HF_EV_NOTE || (ev.kind == HF_EV_FAIL && !ev.bytes.n) || wakes)
		hk_enter(h, &ev);
	if (wakes)
		h->ms = 0;
	for (int turn = 0; (next = hk_step(h, &ev, &c, &frees)) != HF_EV_BYTES; turn++) {
		assert_in_range(turn, 0, 15);
		ev.kind = next;
		ev.chosen = &c;
	}
	if (frees || (wakes && !h->ms))
		h->on = false;
}

static inline void hk_clear(struct hk *h)
{
	h->n_sent = h->n_learnt = h->n_evidence = h->n_asked = h->n_passed = 0;
	memset(h->reasons, 0, sizeof h->reasons);
	hf_arena_reset(&h->k.arena);
}

/* Octets from an address, at a time. */
static inline void hk_feed(struct hk *h, uint64_t ms, const char *from, const char *text)
{
	struct hf_event ev = {.kind = HF_EV_BYTES, .bytes = hf_bytes_str(text), .listener = &h->k.listeners[h->stream ? 1 : 0], .source = kit_addr(from)};

	hk_clear(h);
	h->k.ctx.now_ms = ms;
	for (unsigned i = 0; i < HK_SERVERS; i++)
		if (ev.source.ip[3] == 101 + i)
			ev.member = hk_server(h, i);
	ev.from_servers = ev.member != 0;
	if (ev.member)
		ev.listener = &h->k.listeners[0];
	ev.local = ev.listener->addr;
	if (h->stream && !ev.member) {
		static uint8_t flow[HF_FLOW_STATE] __attribute__((aligned(8)));

		memset(flow, 0, sizeof flow);
		h->k.ctx.flow = flow;
		ev.transport = HF_TCP;
		ev.flow_name = (struct hf_flow_name){1, 2, 3, h->k.site.boot};
	}
	hk_event(h, ev);
	h->k.ctx.flow = NULL;
}

static inline void hk_wake(struct hk *h, uint64_t ms)
{
	struct hf_event ev = h->came;

	assert_true(h->on);
	hk_clear(h);
	h->k.ctx.now_ms = ms;
	ev.kind = HF_EV_WAKE;
	hk_event(h, ev);
}

/* The connection by which it went to a server has ended. */
static inline void hk_lost(struct hk *h, uint64_t ms, unsigned server)
{
	const struct hf_chosen c = {.server = hk_server(h, server)};
	struct hf_event ev = h->came;

	assert_true(h->on);
	hk_clear(h);
	h->k.ctx.now_ms = ms;
	ev.kind = HF_EV_FAIL;
	ev.bytes = HF_NONE;
	ev.reason = HF_R_SERVER_ERROR;
	ev.chosen = &c;
	hk_event(h, ev);
}

static inline void hk_init(struct hk *h)
{
	memset(h, 0, sizeof *h);
	kit_init(&h->k);
	h->k.conf.failover = true;
	h->k.conf.try_timeout = 2000;
	h->k.conf.max_attempts = 3;
	kit_custom(&h->k, "failover-codes", "503");
	h->k.ctx.conf = &h->k.conf;
}

/* What is longer than 900 octets goes over TCP. */
static inline void hk_init_by_length(struct hk *h)
{
	hk_init(h);
	h->k.conf.udp_to_tcp = 900;
	kit_listener(&h->k, 1, "tcp://192.0.2.1:5060", false);
}

static inline void hk_went(struct hk *h, unsigned i, unsigned server, const char *method)
{
	assert_in_range(i, 0, h->n_sent - 1);
	assert_int_equal(h->sent[i].send.to, HF_TO_SERVER);
	assert_int_equal(h->sent[i].send.server, hk_server(h, server));
	if (strncmp(h->sent[i].text, method, strlen(method)) != 0)
		fail_msg("not %s but %s", method, h->sent[i].text);
}

static inline void hk_told(struct hk *h, unsigned i, const char *status)
{
	assert_in_range(i, 0, h->n_sent - 1);
	assert_int_equal(h->sent[i].send.to, HF_TO_RETURN);
	if (strncmp(h->sent[i].text, "SIP/2.0 ", 8) != 0 || strncmp(h->sent[i].text + 8, status, strlen(status)) != 0)
		fail_msg("not %s but %s", status, h->sent[i].text);
}

/* The answer to a message that went out. */
static inline const char *hk_answer(struct hk *h, const char *to_what, const char *status)
{
	memcpy(h->k.out, to_what, strlen(to_what) + 1);
	return kit_answer(&h->k, status, "s", NULL);
}

/* The branch of the topmost Via: 20 characters. */
static inline const char *hk_branch(const char *text)
{
	const char *p = strstr(text, ";branch=");

	assert_non_null(p);
	return p + 8;
}

static inline void hk_same_branch(const char *a, const char *b) { assert_memory_equal(hk_branch(a), hk_branch(b), 20); }

#endif
