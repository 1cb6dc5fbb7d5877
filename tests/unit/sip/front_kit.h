/* A front on a bench: literal octets in, a scripted choice when it asks, and what goes out as whole messages.
 * The gateway is 192.0.2.1:5060 with the secrets of the published example; the pool `pbx` has pbx1 192.0.2.101 and pbx2 192.0.2.102. */
#ifndef FRONT_KIT_H
#define FRONT_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "inside.h"
#include "sip.h"

#include "holdfast/hash.h"

#define CRLF "\r\n"
enum { KIT_OUT = 70000, KIT_ARENA = 1 << 20 };

struct kit {
	struct hf_site site;
	struct sip_conf conf;
	struct hf_listener_info listeners[3];
	struct hf_addr own[4];
	struct hf_ctx ctx;
	struct hf_arena arena;
	uint8_t *mem;

	const struct hf_listener_info *at; /* where datagrams arrive */
	struct hf_chosen chosen;           /* the engine's answer; server 0: none */
	uint32_t member;                   /* forced ev.member; 0: by the source */

	/* what came of the last datagram */
	unsigned n_asked, n_sought, n_sent, n_dropped, n_counted, n_learnt, n_evidence, n_closed;
	size_t took, need;
	struct hf_ask ask;
	struct hf_seek seek;
	struct hf_event came;
	struct hf_act learnt[4], evidence;
	unsigned reason, counted;
	struct hf_send send;
	char *out;
	size_t out_n;
};

static inline uint32_t kit_h32(const struct kit *k, const char *label, struct hf_bytes text)
{
	struct hf_sip s;

	hf_sip_init(&s, k->site.hash_key, 1, 3);
	hf_sip_add(&s, hf_bytes_str(label));
	hf_sip_add(&s, text);
	return (uint32_t)(hf_sip_end(&s) >> 32);
}

static inline struct hf_addr kit_addr(const char *text)
{
	struct hf_addr a = {0};

	assert_int_equal(hf_addr_read(hf_bytes_str(text), 0, &a), HF_OK);
	return a;
}

static inline uint32_t kit_server(const struct kit *k, const char *name) { return hf_server_hash(k->site.hash_key, HF_LIT("pbx"), hf_bytes_str(name)); }

static inline void kit_listener(struct kit *k, unsigned i, const char *uri, bool inside)
{
	struct hf_listener_info *l = &k->listeners[i];

	*l = (struct hf_listener_info){.hash = kit_h32(k, "listen:", hf_bytes_str(uri)), .inside = inside, .uri = hf_bytes_str(uri)};
	assert_true(hf_transport_read(hf_bytes_of((const uint8_t *)uri, hf_bytes_find(l->uri, ':')), &l->transport));
	l->addr = kit_addr(strstr(uri, "//") + 2);
	l->wildcard = hf_addr_is_any(&l->addr);
	k->own[i] = l->addr;
	if (k->ctx.n_listeners <= i)
		k->ctx.n_listeners = k->ctx.n_own = i + 1;
}

/* The engine will answer with this server. */
static inline void kit_choose(struct kit *k, const char *name, const char *addr)
{
	k->chosen = (struct hf_chosen){.none = HF_R_NO_SERVER, .server = name ? kit_server(k, name) : 0, .name = hf_bytes_str(name ? name : ""), .transport = HF_UDP, .why = HF_WHY_HOME,
				       .out = &k->listeners[0], .out_addr = k->listeners[0].addr};
	if (addr)
		k->chosen.addr = kit_addr(addr);
}

static inline void kit_custom(struct kit *k, const char *name, const char *text)
{
	char why_text[256];
	struct hf_writer why = hf_writer_on(why_text, sizeof why_text);

	for (unsigned i = 0; i < hf_sip_front.n_options; i++)
		if (strcmp(hf_sip_front.options[i].name, name) == 0)
			assert_int_equal(hf_sip_front.options[i].read(hf_bytes_str(text), (char *)&k->conf + hf_sip_front.options[i].offset, &why), HF_OK);
}

static inline void kit_say(void *arg, bool error, const char *option, const char *text) { (void)arg, (void)error, (void)option, (void)text; }

static inline void kit_init(struct kit *k)
{
	static const struct hf_says says = {kit_say, NULL};

	memset(k, 0, sizeof *k);
	k->mem = malloc(KIT_ARENA);
	k->out = malloc(KIT_OUT);
	hf_arena_init(&k->arena, k->mem, KIT_ARENA);
	k->site.n_sign = 1;
	k->site.boot = 0x5a17c0de;
	for (int i = 0; i < 16; i++) {
		k->site.hash_key[i] = (uint8_t)i;
		k->site.sign[0][i] = (uint8_t)(16 + i);
	}
	k->conf = (struct sip_conf){.key_length = 80, .record_route = true, .path = SIP_PATH_YES, .early_expiry = 200000, .session_expiry = 14400000,
				    .own_names = HF_LIT("gw.example.com"), .max_message = 65535, .max_headers = 256, .max_header = 16384, .max_call_id = 4096, .max_params = 64};
	kit_custom(k, "key", "call-id");
	kit_custom(k, "probe-codes", "200-407 409-499");
	kit_custom(k, "probe-method", "OPTIONS");
	kit_custom(k, "probe-from", "holdfast");
	kit_custom(k, "deny-user-agent", "friendly-scanner sipvicious sipcli");
	kit_custom(k, "priority-uri", "urn:service:sos 112 911");
	assert_int_equal(hf_sip_front.check(&k->conf, &says), HF_OK);
	k->ctx = (struct hf_ctx){.site = &k->site, .conf = &k->conf, .pool = HF_LIT("pbx"), .listeners = k->listeners, .own = k->own, .arena = &k->arena};
	kit_listener(k, 0, "udp://192.0.2.1:5060", false);
	k->at = &k->listeners[0];
	kit_choose(k, "pbx1", "192.0.2.101:5060");
}

static inline void kit_fini(struct kit *k)
{
	free(k->mem);
	free(k->out);
}

static inline void kit_apply(struct kit *k, const struct hf_send *s)
{
	uint32_t at = 0;
	struct hf_writer w = hf_writer_on(k->out, KIT_OUT - 1);

	for (unsigned i = 0; i < s->n_splices; i++) {
		assert_true(s->splices[i].at >= at && s->splices[i].at + (size_t)s->splices[i].cut <= s->base.n);
		hf_w_bytes(&w, hf_bytes_sub(s->base, at, s->splices[i].at - at));
		hf_w_bytes(&w, s->splices[i].put);
		at = s->splices[i].at + s->splices[i].cut;
	}
	hf_w_bytes(&w, hf_bytes_sub(s->base, at, s->base.n));
	assert_false(w.full);
	k->out_n = w.n;
	k->out[w.n] = 0;
}

static inline bool kit_take(struct kit *k, const struct hf_event *ev, const struct hf_acts *acts)
{
	bool asked = false;

	for (unsigned i = 0; i < acts->n; i++) {
		const struct hf_act *a = &acts->a[i];

		switch (a->kind) {
		case HF_ACT_ASK:
			assert_int_equal(i, acts->n - 1);
			k->ask = a->ask;
			k->n_asked++;
			asked = true;
			break;
		case HF_ACT_SEEK:
			assert_int_equal(i, acts->n - 1);
			k->seek = a->seek;
			k->n_sought++;
			break;
		case HF_ACT_SEND:
			assert_int_equal(k->n_closed, 0); /* nothing is sent behind it */
			assert_true(a->send.base.p || !hf_transport_is_stream(ev->transport)); /* the event's octets are more than the message */
			k->send = a->send;
			k->n_sent++;
			kit_apply(k, &a->send);
			break;
		case HF_ACT_DROP:
			if (a->end.count_only) {
				k->counted = a->end.reason;
				k->n_counted++;
			} else {
				k->reason = a->end.reason;
				k->n_dropped++;
			}
			break;
		case HF_ACT_LEARN:
			k->learnt[k->n_learnt++] = *a;
			break;
		case HF_ACT_EVIDENCE:
			k->evidence = *a;
			k->n_evidence++;
			break;
		case HF_ACT_TOOK:
			assert_int_equal(ev->kind, HF_EV_BYTES);
			assert_true(!k->took && a->need && a->need <= ev->bytes.n);
			k->took = a->need;
			break;
		case HF_ACT_MORE:
			assert_true(a->need > ev->bytes.n && a->need <= hf_sip_front.max_opening);
			k->need = a->need;
			break;
		case HF_ACT_CLOSE:
			assert_true(hf_transport_is_stream(ev->transport));
			k->reason = a->end.reason;
			k->n_closed++;
			break;
		default:
			fail_msg("act %d", a->kind);
		}
	}
	return asked;
}

/* One step, and the engine's answer if it asks. */
static inline void kit_step(struct kit *k, struct hf_event *ev)
{
	struct hf_acts acts = {0};

	k->n_asked = k->n_sought = k->n_sent = k->n_dropped = k->n_counted = k->n_learnt = k->n_evidence = k->n_closed = k->reason = k->counted = 0;
	k->took = k->need = k->out_n = 0;
	k->out[0] = 0;
	hf_sip_front.step(&k->ctx, ev, &acts);
	if (kit_take(k, ev, &acts)) {
		struct hf_event choice = *ev;
		struct hf_acts more = {0};

		choice.kind = HF_EV_CHOICE;
		choice.chosen = &k->chosen;
		hf_sip_front.step(&k->ctx, &choice, &more);
		assert_false(kit_take(k, &choice, &more));
	}
	/* Every parcel goes somewhere, waits, or ends with a reason. */
	assert_true(k->n_sent + k->n_dropped + k->n_closed + k->n_sought + k->need > 0);
}

/* The steps of one parcel. */
static inline void kit_run(struct kit *k, struct hf_event *ev)
{
	k->came = *ev;
	hf_arena_reset(&k->arena);
	k->ctx.parcel = NULL;
	kit_step(k, ev);
}

/* Where the name that it asked for leads; waited: the parcel has waited for it. */
static inline void kit_found(struct kit *k, const struct hf_found *found, bool waited)
{
	struct hf_event ev = k->came;

	ev.kind = HF_EV_FOUND;
	ev.found = found;
	if (waited) {
		hf_arena_reset(&k->arena);
		k->ctx.parcel = NULL;
	}
	kit_step(k, &ev);
}

/* What could not be sent comes back. */
static inline void kit_fail(struct kit *k, struct hf_event ev, unsigned reason)
{
	struct hf_acts acts = {0};

	ev.kind = HF_EV_FAIL;
	ev.reason = reason;
	k->n_sent = k->n_dropped = k->n_learnt = 0;
	k->out[0] = 0;
	hf_sip_front.step(&k->ctx, &ev, &acts);
	assert_false(kit_take(k, &ev, &acts));
}

/* One datagram from `from`. Octets, which need no NUL. */
static inline void kit_octets(struct kit *k, const char *from, struct hf_bytes octets)
{
	static const struct { const char *addr, *name; } members[] = {{"192.0.2.101:5060", "pbx1"}, {"192.0.2.102:5060", "pbx2"}};
	struct hf_event ev = {.kind = HF_EV_BYTES, .bytes = octets, .listener = k->at, .source = kit_addr(from), .local = k->at->addr, .member = k->member};

	for (unsigned i = 0; i < 2 && !k->member; i++) {
		struct hf_addr a = kit_addr(members[i].addr);

		if (hf_addr_eq(&a, &ev.source))
			ev.member = kit_server(k, members[i].name);
	}
	if (k->at->wildcard)
		ev.local = kit_addr("192.0.2.1:5060");
	kit_run(k, &ev);
}

static inline void kit_feed(struct kit *k, const char *from, const char *text) { kit_octets(k, from, hf_bytes_str(text)); }

static inline void kit_wants(struct kit *k, const char *want)
{
	if (strcmp(k->out, want) != 0)
		fail_msg("went out:\n%s\nexpected:\n%s", k->out, want);
}

static inline bool kit_says(struct kit *k, const char *part) { return strstr(k->out, part) != NULL; }

static inline void kit_sent_to(struct kit *k, enum hf_to to, const char *addr)
{
	struct hf_addr a = kit_addr(addr);

	assert_int_equal(k->n_sent, 1);
	assert_int_equal(k->send.to, to);
	if (!hf_addr_eq(&k->send.addr, &a))
		fail_msg("not sent to %s but to port %u", addr, k->send.addr.port);
}

/* ---- messages ---- */

/* A request of alice's phone 192.0.2.51 (From tag a1), or of whoever the fields say; NULL leaves a field at that. */
struct kit_request { const char *method, *uri, *via, *from_tag, *to_tag, *call_id, *cseq, *extra; };

static inline const char *kit_request(struct kit_request r)
{
	static char buf[4096];
	int n = snprintf(buf, sizeof buf,
			 "%s %s SIP/2.0" CRLF "Via: %s" CRLF "Max-Forwards: 70" CRLF "From: <sip:alice@example.com>;tag=%s" CRLF "To: <sip:bob@example.com>%s%s" CRLF
			 "Call-ID: %s" CRLF "CSeq: %s %s" CRLF "%sContent-Length: 0" CRLF CRLF,
			 r.method, r.uri ? r.uri : "sip:bob@example.com", r.via ? r.via : "SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK1", r.from_tag ? r.from_tag : "a1",
			 r.to_tag ? ";tag=" : "", r.to_tag ? r.to_tag : "", r.call_id ? r.call_id : "c1", r.cseq ? r.cseq : "1", r.method, r.extra ? r.extra : "");

	assert_true(n > 0 && (size_t)n < sizeof buf);
	return buf;
}

/* The answer to what went out last, as its receiver makes it: all Vias, Record-Routes, From, Call-ID and CSeq come back. */
static inline const char *kit_answer(struct kit *k, const char *status, const char *to_tag, const char *extra)
{
	static char buf[4096];
	struct hf_writer w = hf_writer_on(buf, sizeof buf - 1);
	static const char *const kept[] = {"Via:", "v:", "Record-Route:", "From:", "Call-ID:", "CSeq:"};

	hf_w_printf(&w, "SIP/2.0 %s" CRLF, status);
	for (const char *p = strstr(k->out, CRLF) + 2, *end; (end = strstr(p, CRLF)) != p; p = end + 2)
		for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
			if (strncmp(p, kept[i], strlen(kept[i])) == 0)
				hf_w_mem(&w, p, (size_t)(end - p) + 2);
	hf_w_printf(&w, "To: <sip:bob@example.com>;tag=%s" CRLF "%sContent-Length: 0" CRLF CRLF, to_tag, extra ? extra : "");
	assert_false(w.full);
	buf[w.n] = 0;
	return buf;
}

/* The Route header that a Record-Route of what went out gives: "Route: <...>" CRLF. */
static inline const char *kit_route(struct kit *k, char *buf, size_t cap)
{
	const char *p = strstr(k->out, "Record-Route: "), *end = p ? strstr(p, CRLF) : NULL;

	assert_non_null(end);
	assert_true(snprintf(buf, cap, "%.*s" CRLF, (int)(end - p - 7), p + 7) < (int)cap);
	return buf;
}

/* The value of the first header line `name` of what went out, without CRLF, into buf. */
static inline char *kit_header(struct kit *k, const char *name, char *buf, size_t cap)
{
	const char *p = strstr(k->out, name), *end = p ? strstr(p, CRLF) : NULL;

	assert_non_null(end);
	assert_true((size_t)(end - p) < cap);
	memcpy(buf, p, (size_t)(end - p));
	buf[end - p] = 0;
	return buf;
}

#endif
