/* The SIP front on a bench for fuzz targets: fixed secrets and listeners, a scripted answer of the engine, and what goes out composed.
 * Every event is held to the contract of front.h. The gateway is 192.0.2.1, the pool has pbx1 192.0.2.101. One thread. */
#ifndef FUZZ_SIP_BENCH_H
#define FUZZ_SIP_BENCH_H

#include <stdlib.h>

#include "inside.h"
#include "sip.h"

#define MUST(x) do { if (!(x)) abort(); } while (0)

enum { BENCH_UDP, BENCH_TCP, BENCH_UDP_ANY, BENCH_UDP6, BENCH_LISTENERS };
enum { BENCH_PBX1 = 0x11111111, BENCH_BOOT = 0x5a17c0de };

/* What came of one parcel. */
struct bench_end {
	unsigned n_sent, n_dropped, n_asked, reason;
	size_t took, need;
	bool closed, seeks;       /* seeks: the last step has asked where a name leads */
	struct hf_send send;      /* valid until the next parcel */
	struct hf_bytes sent;     /* composed */
	struct hf_act learnt, evidence; /* kind: whether there was one */
};

struct bench {
	struct hf_site site;
	struct sip_conf conf;
	struct hf_listener_info listener[BENCH_LISTENERS];
	struct hf_addr own[BENCH_LISTENERS];
	struct hf_ctx ctx;
	struct hf_arena arena;
	struct hf_chosen chosen;
	struct hf_found found;
	_Alignas(16) uint8_t memory[1 << 18];
	_Alignas(16) uint8_t flow[HF_FLOW_STATE];
	uint8_t out[1 << 18];
};

static inline struct hf_addr bench_addr(const char *text)
{
	struct hf_addr a = {0};

	MUST(hf_addr_read(hf_bytes_str(text), 0, &a) == HF_OK);
	return a;
}

static inline void bench_say(void *arg, bool error, const char *option, const char *text) { (void)arg, (void)error, (void)option, (void)text; }

static inline void bench_listeners(struct bench *b)
{
	static const struct { const char *uri, *addr; enum hf_transport transport; bool wildcard; } rows[BENCH_LISTENERS] = {
		[BENCH_UDP] = {"udp://192.0.2.1:5060", "192.0.2.1:5060", HF_UDP, false}, [BENCH_TCP] = {"tcp://192.0.2.1:5060", "192.0.2.1:5060", HF_TCP, false},
		[BENCH_UDP_ANY] = {"udp://0.0.0.0:5070", "0.0.0.0:5070", HF_UDP, true}, [BENCH_UDP6] = {"udp://[2001:db8::1]:5060", "[2001:db8::1]:5060", HF_UDP, false},
	};

	for (unsigned i = 0; i < BENCH_LISTENERS; i++) {
		b->listener[i] = (struct hf_listener_info){.hash = 0x1000 + i, .transport = rows[i].transport, .wildcard = rows[i].wildcard, .addr = bench_addr(rows[i].addr),
							   .uri = hf_bytes_str(rows[i].uri)};
		b->own[i] = bench_addr(rows[i].wildcard ? "192.0.2.1:5070" : rows[i].addr);
	}
}

/* As at the start of the gateway; small: limits that short inputs reach. */
static inline void bench_init(struct bench *b, bool small)
{
	static const struct hf_says says = {bench_say, NULL};

	memset(&b->site, 0, sizeof b->site);
	memset(b->flow, 0, sizeof b->flow);
	for (uint8_t i = 0; i < 16; i++) {
		b->site.hash_key[i] = i;
		b->site.sign[0][i] = (uint8_t)(16 + i);
	}
	b->site.n_sign = 1;
	b->site.boot = BENCH_BOOT;
	b->conf = (struct sip_conf){.key = {1, {{.kind = SIP_KEY_CALL_ID, .label_n = 7, .label = "call-id"}}}, .key_length = 80, .record_route = true, .path = SIP_PATH_YES, .early_expiry = 200000, .session_expiry = 14400000,
				    .own_names = HF_LIT("gw.example.com"), .probe_codes = {1, {{200, 499}}}, .probe_method = HF_LIT("OPTIONS"), .probe_from = HF_LIT("holdfast"),
				    .max_message = small ? 1024 : 65535, .max_headers = small ? 24 : 256,
				    .max_header = small ? 256 : 16384, .max_call_id = small ? 64 : 4096, .max_params = small ? 8 : 64};
	for (unsigned i = 0; i < SIP_N_OPTIONS; i++)
		if (sip_options[i].read == sip_words_read)
			MUST(sip_words_read(hf_bytes_str(sip_options[i].dflt), (char *)&b->conf + sip_options[i].offset, NULL) == HF_OK);
	(void)hf_sip_front.check(&b->conf, &says);
	b->conf.limits = (struct sip_limits){(uint32_t)b->conf.max_message, (uint32_t)b->conf.max_headers, (uint32_t)b->conf.max_header, (uint32_t)b->conf.max_call_id,
					     (uint32_t)b->conf.max_params};
	bench_listeners(b);
	b->ctx = (struct hf_ctx){.site = &b->site, .conf = &b->conf, .pool = HF_LIT("pbx"), .listeners = b->listener, .n_listeners = BENCH_LISTENERS, .own = b->own,
				 .n_own = BENCH_LISTENERS, .arena = &b->arena, .now_ms = 1};
	b->found = (struct hf_found){.n = 2, .place = {{bench_addr("[2001:db8::7]:5069"), HF_TCP}, {bench_addr("198.51.100.7:5069"), HF_UDP}}};
	b->chosen = (struct hf_chosen){.server = BENCH_PBX1, .name = HF_LIT("pbx1"), .addr = bench_addr("192.0.2.101:5060"), .transport = HF_UDP, .why = HF_WHY_HOME,
				       .out = &b->listener[BENCH_UDP], .out_addr = b->listener[BENCH_UDP].addr};
}

/* Octets that came to a listener from `source`. */
static inline struct hf_event bench_event(struct bench *b, unsigned listener, const char *source)
{
	struct hf_event ev = {.kind = HF_EV_BYTES, .listener = &b->listener[listener], .source = bench_addr(source), .local = b->own[listener],
			      .transport = b->listener[listener].transport};

	if (hf_transport_is_stream(ev.transport))
		ev.flow_name = (struct hf_flow_name){1, 3, 7, BENCH_BOOT};
	return ev;
}

static inline void bench_compose(struct bench *b, const struct hf_event *ev, struct bench_end *e)
{
	struct hf_bytes base = e->send.base.p ? e->send.base : ev->bytes;
	struct hf_writer w = hf_writer_on(b->out, sizeof b->out);
	uint32_t at = 0;

	for (unsigned i = 0; i < e->send.n_splices; i++) {
		const struct hf_splice *s = &e->send.splices[i];

		MUST(s->at >= at && (size_t)s->at + s->cut <= base.n);
		hf_w_bytes(&w, hf_bytes_sub(base, at, s->at - at));
		hf_w_bytes(&w, s->put);
		at = s->at + s->cut;
	}
	hf_w_bytes(&w, hf_bytes_sub(base, at, base.n));
	MUST(!w.full && w.n);
	e->sent = hf_writer_view(&w);
}

/* False: the last act was no ASK. */
static inline bool bench_take(struct bench *b, const struct hf_event *ev, const struct hf_acts *acts, struct bench_end *e)
{
	for (unsigned i = 0; i < acts->n; i++) {
		const struct hf_act *a = &acts->a[i];

		switch (a->kind) {
		case HF_ACT_ASK:
			MUST(i == acts->n - 1 && (ev->kind == HF_EV_BYTES || ev->kind == HF_EV_FOUND) && a->ask.key.fp);
			e->n_asked++;
			return true;
		case HF_ACT_SEEK:
			MUST(i == acts->n - 1 && ev->kind == HF_EV_BYTES && a->seek.host.n && a->seek.port && !(a->seek.ways >> hf_sip_front.n_ways));
			e->seeks = true;
			return true;
		case HF_ACT_SEND:
			MUST(!e->closed && !e->n_sent++);
			e->send = a->send;
			bench_compose(b, ev, e);
			break;
		case HF_ACT_DROP:
			if (!a->end.count_only) {
				e->n_dropped++;
				e->reason = a->end.reason;
			}
			break;
		case HF_ACT_CLOSE:
			MUST(hf_transport_is_stream(ev->transport) && !e->closed);
			e->closed = true;
			e->reason = a->end.reason;
			break;
		case HF_ACT_TOOK:
			MUST(ev->kind == HF_EV_BYTES && !e->took && a->need && a->need <= ev->bytes.n);
			e->took = a->need;
			break;
		case HF_ACT_MORE:
			MUST(ev->kind == HF_EV_BYTES && !ev->eof && acts->n == 1 && a->need > ev->bytes.n && a->need <= hf_sip_front.max_opening);
			e->need = a->need;
			break;
		case HF_ACT_LEARN:
			MUST(a->learn.key.fp);
			e->learnt = *a;
			break;
		case HF_ACT_EVIDENCE:
			e->evidence = *a;
			break;
		default:
			abort(); /* no other act is this front's */
		}
	}
	return false;
}

/* What was asked for comes at once. False: the last act was no question. */
static inline bool bench_answer(struct bench *b, struct hf_event *ev, struct bench_end *e)
{
	struct hf_event next = *ev;
	struct hf_acts acts = {0};

	next.kind = e->seeks ? HF_EV_FOUND : HF_EV_CHOICE;
	next.chosen = &b->chosen;
	next.found = &b->found;
	e->seeks = false;
	hf_sip_front.step(&b->ctx, &next, &acts);
	return bench_take(b, &next, &acts, e);
}

/* All steps of one parcel: a name may lead to ourselves, and then the engine is asked. */
static inline struct bench_end bench_run(struct bench *b, struct hf_event *ev)
{
	struct bench_end e = {0};
	struct hf_acts acts = {0};
	bool stream = hf_transport_is_stream(ev->transport);

	hf_arena_init(&b->arena, b->memory, sizeof b->memory);
	b->ctx.parcel = NULL;
	b->ctx.flow = stream ? b->flow : NULL;
	hf_sip_front.step(&b->ctx, ev, &acts);
	if (bench_take(b, ev, &acts, &e) && bench_answer(b, ev, &e))
		MUST(!e.seeks && !bench_answer(b, ev, &e));
	MUST(e.n_sent + e.n_dropped + e.closed + (e.need > 0) > 0);             /* it goes somewhere, waits, or ends with a reason */
	MUST(!stream || (e.took > 0) + (e.need > 0) + e.closed == 1 || (e.took && e.closed)); /* a whole message takes octets */
	return e;
}

/* What went out for a response is what came without one piece, in which our Via stood, and with the length that a stream needs. */
static inline void bench_one_piece_less(const struct sip_msg *m, const struct bench_end *e)
{
	static uint8_t plain[1 << 18];
	size_t head = 0, tail = 0, least, body = m->raw.n - m->body;
	struct hf_writer line = hf_writer_on(plain, 64), w;
	struct hf_bytes in = m->raw, out = e->sent;

	hf_w_printf(&line, "Content-Length: %zu\r\n", body);
	if (!m->has_content_length && hf_transport_is_stream(e->send.transport)) {
		MUST(out.n > body + 2 + line.n && !memcmp(out.p + out.n - body - 2 - line.n, plain, line.n));
		w = hf_writer_on(plain, sizeof plain);
		hf_w_bytes(&w, hf_bytes_sub(out, 0, out.n - body - 2 - line.n));
		hf_w_bytes(&w, hf_bytes_sub(out, out.n - body - 2, out.n));
		out = hf_writer_view(&w);
	}
	MUST(out.n < in.n);
	while (head < out.n && in.p[head] == out.p[head])
		head++;
	while (tail < out.n && in.p[in.n - 1 - tail] == out.p[out.n - 1 - tail])
		tail++;
	least = m->via[0].value.at + m->via[0].value.n > in.n - out.n ? m->via[0].value.at + m->via[0].value.n - (in.n - out.n) : 0; /* of where the piece began */
	if (out.n - tail > least)
		least = out.n - tail;
	MUST(least <= head && least <= m->via[0].value.at);
}

#endif
