/* What the tests of the RDP front share: octets from hex, and one flow driven event by event. Included once a program. */
#ifndef HOLDFAST_TEST_RDP_KIT_H
#define HOLDFAST_TEST_RDP_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "holdfast/front.h"
#include "keys.h"
#include "option.h"
#include "reasons.h"
#include "rdp.h"
#include "user.h"
#include "x224.h"

#define KIT_UNUSED __attribute__((unused))

/* ---- octets ---- */

/* Hex with blanks; `"text"` and `78*230` (an octet, repeated) inside it. In a buffer of its own exact size, so that a sanitizer
 * sees a read past its end. */
KIT_UNUSED static struct hf_bytes hex(const char *text)
{
	uint8_t buf[8192], *p;
	size_t n = 0;

	while (*text) {
		unsigned v, used = 0;

		if (*text == ' ') {
			text++;
		} else if (*text == '"') {
			for (text++; *text != '"'; text++)
				buf[n++] = (uint8_t)*text;
			text++;
		} else {
			unsigned times = 1;

			for (v = 0; used < 2; used++, text++)
				v = v << 4 | (unsigned)(*text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10);
			if (*text == '*')
				times = (unsigned)strtoul(text + 1, (char **)(uintptr_t)&text, 10);
			while (times--)
				buf[n++] = (uint8_t)v;
		}
	}
	p = malloc(n ? n : 1);
	memcpy(p, buf, n);
	return hf_bytes_of(p, n);
}

/* Of the first line of a file. */
KIT_UNUSED static struct hf_bytes hex_of(const char *path)
{
	static char text[16384];
	FILE *f = fopen(path, "r");

	if (!f)
		fail_msg("%s is missing", path);
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	text[strcspn(text, "\r\n")] = 0;
	fclose(f);
	return hex(text);
}

KIT_UNUSED static void done(struct hf_bytes b) { free((void *)(uintptr_t)b.p); }

/* A request with this variable part, its lengths right. */
KIT_UNUSED static struct hf_bytes request(const char *variable)
{
	struct hf_bytes v = hex(variable);
	uint8_t *p = malloc(X224_MIN + v.n);

	memcpy(p, (uint8_t[]){3, 0, 0, 0, 0, 0xe0, 0, 0, 0, 0, 0}, X224_MIN);
	hf_put16(p + 2, (uint16_t)(X224_MIN + v.n));
	p[4] = (uint8_t)(6 + v.n);
	memcpy(p + X224_MIN, v.p, v.n);
	done(v);
	return hf_bytes_of(p, X224_MIN + v.n);
}

#define NEG "01000800 0b000000"
#define USER(name) "\"Cookie: mstshash=" name "\" 0d0a " NEG
#define TOKEN(text) "\"Cookie: msts=" text "\" 0d0a " NEG

KIT_UNUSED static void assert_octets(struct hf_bytes b, const char *text)
{
	assert_int_equal(b.n, strlen(text));
	assert_memory_equal(b.p, text, b.n);
}

/* ---- one flow ---- */

struct kit {
	struct hf_site site;
	struct rdp_conf conf;
	struct hf_listener_info listener;
	struct hf_ctx ctx;
	struct hf_arena arena;
	uint8_t memory[4096];
	_Alignas(16) uint8_t flow[HF_FLOW_STATE];
	struct hf_addr source;
	struct hf_bytes client; /* what it has sent */
	struct hf_chosen chosen;
	uint64_t hold_ms;                  /* of what is bound */
	struct hf_acts acts;
};

/* The defaults of the rows that have a reader of their own are read by it, the others stand here. */
KIT_UNUSED static void kit_conf(struct rdp_conf *c)
{
	*c = (struct rdp_conf){.linger = 86400000, .source_limit = 4, .user_sources = 3, .redirect_rounds = 5, .source_linger = 900000, .dial_retry = 1000, .dial_limit = 10000, .firm_after = 1024};
	for (unsigned i = 0; i < RDP_OPTIONS; i++)
		if (rdp_options[i].type == HF_OPT_CUSTOM) {
			uint8_t why[128];
			struct hf_writer w = hf_writer_on(why, sizeof why);

			assert_int_equal(rdp_options[i].read(hf_bytes_str(rdp_options[i].dflt), (uint8_t *)c + rdp_options[i].offset, &w), HF_OK);
		}
}

KIT_UNUSED static void kit_key(struct kit *k, const char *text)
{
	uint8_t why[128];
	struct hf_writer w = hf_writer_on(why, sizeof why);

	assert_string_equal(rdp_options[0].name, "key");
	assert_int_equal(rdp_options[0].read(hf_bytes_str(text), &k->conf.key, &w), HF_OK);
}

/* A new flow of a client at `source`; the configuration stays. */
KIT_UNUSED static void kit_flow(struct kit *k, const char *source)
{
	memset(k->flow, 0, sizeof k->flow);
	assert_int_equal(hf_addr_read(hf_bytes_str(source), 0, &k->source), HF_OK);
	k->client = HF_NONE;
	k->chosen = (struct hf_chosen){.none = HF_R_NO_SERVER};
	k->hold_ms = 60000;
}

KIT_UNUSED static struct kit *kit_new(void)
{
	struct kit *k = calloc(1, sizeof *k);

	memcpy(k->site.hash_key, "0123456789abcdef", 16);
	k->site.n_sign = 1;
	kit_conf(&k->conf);
	k->listener.transport = HF_TCP;
	k->ctx = (struct hf_ctx){.site = &k->site, .conf = &k->conf, .pool = HF_LIT("farm"), .listeners = &k->listener, .n_listeners = 1,
	                         .now_ms = 1000000, .arena = &k->arena, .flow = k->flow};
	hf_arena_init(&k->arena, k->memory, sizeof k->memory);
	kit_flow(k, "192.0.2.51:40000");
	return k;
}

KIT_UNUSED static void kit_step(struct kit *k, struct hf_event ev)
{
	ev.source = k->source;
	ev.local = k->listener.addr;
	ev.listener = &k->listener;
	hf_arena_reset(&k->arena);
	hf_rdp_front.step(&k->ctx, &ev, &k->acts);
}

KIT_UNUSED static void kit_client(struct kit *k, struct hf_bytes all, bool eof)
{
	k->client = all;
	kit_step(k, (struct hf_event){.kind = HF_EV_BYTES, .side = HF_CLIENT, .bytes = all, .eof = eof});
}

KIT_UNUSED static void kit_server(struct kit *k, const char *text, bool eof)
{
	struct hf_bytes b = hex(text);

	kit_step(k, (struct hf_event){.kind = HF_EV_BYTES, .side = HF_SERVER, .bytes = b, .eof = eof});
	done(b);
}

/* For how long the host that is chosen next is known to be down, of the 60 s that it is waited for. */
KIT_UNUSED static void kit_down(struct kit *k, uint64_t ms) { k->hold_ms = 60000 - ms; }

KIT_UNUSED static void kit_choice(struct kit *k, uint32_t server, enum hf_why why)
{
	k->chosen.server = server;
	k->chosen.why = why;
	k->chosen.hold_ms = why == HF_WHY_BOND || why == HF_WHY_ENTRY || why == HF_WHY_TOKEN || why == HF_WHY_DIALOG ? k->hold_ms : 0;
	k->chosen.led_by = 0;
	kit_step(k, (struct hf_event){.kind = HF_EV_CHOICE, .bytes = k->client, .chosen = &k->chosen});
}

/* It has no bond, and was taken to where another key has one. */
KIT_UNUSED static void kit_led(struct kit *k, uint32_t server, uint64_t by)
{
	k->chosen.server = server;
	k->chosen.why = HF_WHY_BOND;
	k->chosen.led_by = by;
	k->chosen.hold_ms = k->hold_ms;
	kit_step(k, (struct hf_event){.kind = HF_EV_CHOICE, .bytes = k->client, .chosen = &k->chosen});
}

/* As many live connections as may go by its key. */
KIT_UNUSED static void kit_crowded(struct kit *k)
{
	struct hf_chosen c = {.none = HF_R_NO_SERVER, .known = true, .crowded = true};

	kit_step(k, (struct hf_event){.kind = HF_EV_CHOICE, .bytes = k->client, .chosen = &c});
}

/* The host that was chosen does not take the connection. */
KIT_UNUSED static void kit_fail(struct kit *k)
{
	struct hf_chosen who = {.server = k->chosen.server};

	kit_step(k, (struct hf_event){.kind = HF_EV_FAIL, .bytes = k->client, .chosen = &who, .reason = HF_R_DIAL_FAILED});
}

KIT_UNUSED static void kit_wake(struct kit *k) { kit_step(k, (struct hf_event){.kind = HF_EV_WAKE, .bytes = k->client}); }
KIT_UNUSED static void kit_end(struct kit *k) { kit_step(k, (struct hf_event){.kind = HF_EV_END, .reason = HF_R_DONE}); }

/* The n-th act of a kind; NULL when there is none. */
KIT_UNUSED static const struct hf_act *kit_nth(const struct kit *k, enum hf_act_kind kind, unsigned nth)
{
	for (unsigned i = 0; i < k->acts.n; i++)
		if (k->acts.a[i].kind == kind && nth-- == 0)
			return &k->acts.a[i];
	return NULL;
}

KIT_UNUSED static const struct hf_act *kit_act(const struct kit *k, enum hf_act_kind kind)
{
	const struct hf_act *a = kit_nth(k, kind, 0);

	assert_non_null(a);
	return a;
}

/* What was learnt under this key; NULL when nothing was. */
KIT_UNUSED static const struct hf_act *learnt(const struct kit *k, uint64_t key)
{
	const struct hf_act *a;

	for (unsigned i = 0; (a = kit_nth(k, HF_ACT_LEARN, i)); i++)
		if (a->learn.key.fp == key)
			return a;
	return NULL;
}

KIT_UNUSED static bool kit_counted(const struct kit *k, unsigned reason)
{
	const struct hf_act *a;

	for (unsigned i = 0; (a = kit_nth(k, HF_ACT_DROP, i)); i++)
		if (a->end.count_only && a->end.reason == reason)
			return true;
	return false;
}

/* The flow asks, and this is what it asks. */
KIT_UNUSED static const struct hf_ask *kit_ask(struct kit *k, struct hf_bytes req)
{
	kit_client(k, req, false);
	assert_int_equal(k->acts.a[k->acts.n - 1].kind, HF_ACT_ASK);
	return &k->acts.a[k->acts.n - 1].ask;
}

/* A flow that has asked for this variable part. The octets stay with the kit until forget(). */
KIT_UNUSED static const struct hf_ask *ask_for(struct kit *k, const char *source, const char *variable)
{
	kit_flow(k, source);
	return kit_ask(k, request(variable));
}

KIT_UNUSED static void forget(struct kit *k)
{
	done(k->client);
	k->client = HF_NONE;
}

#define CONFIRM "03000013 0ed00000123400 0200080001000000"

/* From a new flow to a relayed, firm session of `variable` at `server`. */
KIT_UNUSED static void kit_session(struct kit *k, const char *source, const char *variable, uint32_t server, enum hf_why why)
{
	struct hf_bytes r = request(variable);

	kit_flow(k, source);
	kit_ask(k, r);
	kit_choice(k, server, why);
	kit_server(k, CONFIRM, false);
	kit_wake(k);
	k->client = HF_NONE;
	done(r);
}

KIT_UNUSED static uint64_t fp(const struct kit *k, const char *kind, const char *octets)
{
	return hf_fingerprint(k->site.hash_key, hf_bytes_str(kind), hf_bytes_str(octets), SIZE_MAX);
}

#endif
