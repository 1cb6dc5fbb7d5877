/* A gateway for the tests of app: a front of a few lines, a directory of its own, listeners on port 0. Included by one source a program. */
#ifndef TEST_GATE_H
#define TEST_GATE_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "errand.h"
#include "gateway.h"
#include "holdfast/clock.h"
#include "holdfast/log.h"
#include "holdfast/json.h"
#include "json.h"

/* "wave:OCTETS" starts a session and goes to its server; anything else is dropped. */
static void tide_step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct hf_act *a;

	if (ev->kind == HF_EV_CHOICE) {
		a = hf_act(acts, HF_ACT_SEND);
		a->send.to = HF_TO_SERVER;
		a->send.server = ev->chosen->server;
	} else if (ev->kind == HF_EV_BYTES && hf_bytes_starts(ev->bytes, HF_LIT("wave:"))) {
		a = hf_act(acts, HF_ACT_ASK);
		a->ask = (struct hf_ask){.life = HF_LIFE_START, .life_s = 60, .flags = HF_COUNTED,
			.key = {hf_fingerprint_text(ctx->site->hash_key, ev->bytes), ev->bytes}};
	} else if (ev->kind == HF_EV_BYTES) {
		hf_act(acts, HF_ACT_DROP)->end.reason = HF_R_NO_SERVER;
	}
}

/* Keys are "wave:OCTETS"; without a kind, the same. */
static enum hf_err tide_key(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	size_t colon = hf_bytes_find(text, ':');

	if (colon < text.n && !hf_bytes_eq(hf_bytes_sub(text, 0, colon), HF_LIT("wave")))
		return HF_EINVAL;
	out->text = hf_arena_copy(ctx->arena, text);
	out->fp = hf_fingerprint(ctx->site->hash_key, HF_LIT("wave"), colon < text.n ? hf_bytes_sub(text, colon + 1, SIZE_MAX) : text, 80);
	return HF_OK;
}

static const struct hf_front tide = {.name = "tide", .transports = HF_TRANSPORT_BIT(HF_UDP), .server_transport = HF_UDP, .port = 7000, .datagrams = true,
	.conf_size = 8, .step = tide_step, .key_read = tide_key};
/* Takes any text but "rok:", and puts its own kind in front: "rock:TEXT". */
static enum hf_err rock_key(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out)
{
	struct hf_bytes rest = hf_bytes_starts(text, HF_LIT("rock:")) ? hf_bytes_sub(text, 5, SIZE_MAX) : text;
	struct hf_writer w = hf_writer_on(hf_arena_alloc(ctx->arena, rest.n + 5), rest.n + 5);

	out->text = HF_LIT("rock");
	if (hf_bytes_starts(text, HF_LIT("rok:")))
		return HF_ENOENT;
	hf_w_str(&w, "rock:");
	hf_w_bytes(&w, rest);
	out->text = hf_writer_view(&w);
	out->fp = hf_fingerprint(ctx->site->hash_key, HF_LIT("rock"), rest, 80);
	return HF_OK;
}

static const struct hf_front rock = {.name = "rock", .transports = HF_TRANSPORT_BIT(HF_UDP), .server_transport = HF_UDP, .port = 7000, .datagrams = true,
	.conf_size = 8, .step = tide_step, .key_read = rock_key};
static const struct hf_front reef = {.name = "reef", .transports = HF_TRANSPORT_BIT(HF_UDP), .server_transport = HF_UDP, .port = 7000, .datagrams = true,
	.conf_size = 8, .step = tide_step};
const struct hf_front *const hf_fronts[] = {&tide, &reef, &rock, NULL};

#define ONE_POOL \
	"[service a]\nprotocol = tide\nlisten = udp://127.0.0.1:0\npool = p\n" \
	"[pool p]\nload-factor = 1.5\nprobe = none\nserver = s1 127.0.0.1:7001\nserver = s2 127.0.0.1:7002 weight=50\nserver = both 127.0.0.1:7003\n"
#define TWO_POOLS ONE_POOL \
	"[service b]\nprotocol = tide\nlisten = udp://127.0.0.1:0\npool = q\n" \
	"[pool q]\nprobe = none\nserver = both 127.0.0.1:7004\nserver = t1 127.0.0.1:7005\n"

static char gate_dir[64], gate_file[80];
static struct hf_app_args gate_args = {.file = gate_file};

static void gate_write(const char *ini)
{
	FILE *f = fopen(gate_file, "w");

	assert_non_null(f);
	fprintf(f, "[gateway]\nstate-dir = %s\nrun-dir = %s\n%s", gate_dir, gate_dir, ini);
	fclose(f);
}

static int gate_dir_up(void **state)
{
	(void)state;
	snprintf(gate_dir, sizeof gate_dir, "/tmp/hf-gate-XXXXXX");
	if (!mkdtemp(gate_dir))
		return -1;
	snprintf(gate_file, sizeof gate_file, "%s/h.ini", gate_dir);
	hf_log_set_level(HF_LOG_ERROR);
	return 0;
}

/* Takes out files whose names end so. */
static void gate_unlink(const char *end)
{
	DIR *d = opendir(gate_dir);
	char path[sizeof gate_dir + 258];
	struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name), of = strlen(end);

		snprintf(path, sizeof path, "%s/%s", gate_dir, e->d_name);
		if (n >= of && strcmp(e->d_name + n - of, end) == 0)
			unlink(path);
	}
	if (d)
		closedir(d);
}

static int gate_dir_down(void **state)
{
	(void)state;
	gate_unlink("");
	return rmdir(gate_dir);
}

static void gate_open(struct gateway *g, const char *ini)
{
	uint8_t text[1024];
	struct hf_writer why = hf_writer_on(text, sizeof text);
	struct hf_findings f = {0};
	struct hf_snapshot *s;
	struct hf_conf *c;

	gate_write(ini);
	*g = (struct gateway){.args = &gate_args, .start_ms = hf_clock_ms(), .site = {.n_sign = 1, .boot = 0xbeef}};
	assert_int_equal(hf_conf_load(gate_file, &c, &f), HF_OK);
	assert_int_equal(places_find(&c->gateway, &g->places, &f), HF_OK);
	assert_int_equal(secret_open(&g->places, true, false, &g->site, &f), HF_OK);
	hf_findings_free(&f);
	g->loop = hf_loop_new();
	g->net = hf_net_new(g->loop, &g->site, 1, 1 << 20);
	g->session_log = hf_lines_new("session-log");
	assert_non_null(g->session_log);
	assert_int_equal(hf_snapshot_build(g->net, c, &s, &why), HF_OK);
	assert_int_equal(hf_net_publish(g->net, s, &why), HF_OK);
	g->upkeep = upkeep_new(g);
	assert_non_null(g->upkeep);
}

static void gate_close(struct gateway *g)
{
	admin_close(g->admin);
	upkeep_free(g->upkeep);
	listening_free(g);
	hf_findings_free(&g->warned);
	hf_net_stop(g->net);
	assert_true(hf_lines_stop(g->session_log));
	hf_loop_free(g->loop);
	gate_unlink(".tables"); /* drains and weights would outlive the gateway */
}

/* An answer, checked to be one JSON value; `out` is valid until the next call. */
static bool gate_ask(struct gateway *g, const char *line, struct hf_json *out)
{
	static struct json j;
	struct hf_json ok;
	struct errand *x;

	json_free(&j);
	x = answer(g, hf_bytes_str(line), &j);
	if (x) { /* here and now */
		errand_run(x, &j);
		x->free(x);
	}
	assert_false(json_failed(&j));
	assert_int_equal(hf_json_read(hf_writer_view(&j.w), out), HF_OK);
	assert_true(hf_json_find(out, "ok", &ok));
	return ok.kind == HF_JSON_TRUE;
}

static void gate_assert_raw(const struct hf_json *in, const char *key, const char *raw)
{
	struct hf_json v;

	if (!hf_json_find(in, key, &v))
		fail_msg("no member %s in %.*s", key, (int)in->raw.n, (const char *)in->raw.p);
	if (!hf_bytes_eq(v.raw, hf_bytes_str(raw)))
		fail_msg("%s is %.*s, not %s", key, (int)v.raw.n, (const char *)v.raw.p, raw);
}

static inline void gate_refused(struct gateway *g, const char *line, const char *error)
{
	struct hf_json a;

	assert_false(gate_ask(g, line, &a));
	gate_assert_raw(&a, "error", error);
}

#endif
