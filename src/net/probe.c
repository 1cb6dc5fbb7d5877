/* Probes of all members, each over a socket of its own, so that an answer is never taken for another server's; the front says by its own
 * proof whether the answer is to this probe. Rise and fall count in a row. A pool without probes learns from dials: a server that refused
 * `probe-fall` dials in a row is down, and is then asked by connects until it takes one. */
#include "probing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "holdfast/log.h"
#include "proxy.h"
#include "names.h"
#include "sock.h"
#include "tls.h"

enum how { HOW_NONE, HOW_CONNECT, HOW_PROGRAM, HOW_FRONT };

static void ready(void *arg, unsigned what);

static enum how how(const struct probe *p)
{
	static const enum how of[] = {[HF_CONF_PROBE_NONE] = HOW_NONE, [HF_CONF_PROBE_CONNECT] = HOW_CONNECT, [HF_CONF_PROBE_PROGRAM] = HOW_PROGRAM,
		[HF_CONF_PROBE_FRONT] = HOW_FRONT};
	enum how h = of[p->pool->conf->probe];

	return h == HOW_NONE && p->passive ? HOW_CONNECT : h;
}

/* ---- verdicts ---- */

void probe_mark(struct probe *p, enum hf_mark m, bool on, const char *why)
{
	uint64_t now = hf_clock_ms();

	if (m == HF_MARK_DOWN && on)
		atomic_store_explicit(&p->rt->members[p->id].back, 0, memory_order_relaxed);
	hf_engine_mark(p->rt->engine, p->id, m, on, now);
	hf_log(on ? HF_LOG_WARN : HF_LOG_INFO, "event=server-%s pool=%s server=%s%s%s%s", m == HF_MARK_DOWN ? (on ? "down" : "up") : on ? "busy" : "ready",
		p->pool->rt->name, p->name, *why ? " reason=\"" : "", why, *why ? "\"" : "");
}

static void good(struct probe *p)
{
	p->bad = 0;
	p->good++;
	if (probe_down(p) && (p->good >= p->pool->conf->probe_rise || probe_waited_for(p))) {
		p->passive = false;
		atomic_store(&p->rt->members[p->id].failures, 0);
		probe_mark(p, HF_MARK_DOWN, false, "");
	}
}

static void bad(struct probe *p, const char *why)
{
	struct member_rt *m = &p->rt->members[p->id];

	p->good = 0;
	p->bad++;
	snprintf(m->last_failure, sizeof m->last_failure, "%s", why);
	m->last_failure_ms = hf_clock_ms();
	hf_engine_unreached(p->rt->engine, p->id, !p->reached && how(p) != HOW_PROGRAM, hf_clock_ms());
	if (!probe_down(p) && p->bad >= p->pool->conf->probe_fall)
		probe_mark(p, HF_MARK_DOWN, true, why);
	if (probe_down(p) && p->m->host.n)
		names_next(p->all->net->names, p->m);
}

void probe_set_busy(struct probe *p, bool on, uint32_t ms, const char *why)
{
	p->busy_until_ms = on && ms ? hf_clock_ms() + ms : 0;
	p->rests = false; /* unless the caller says so behind it */
	hf_engine_rests(p->rt->engine, p->id, false, hf_clock_ms());
	if (probe_busy(p) != on)
		probe_mark(p, HF_MARK_BUSY, on, on ? why : "");
}

/* ---- one probe ---- */

void probe_stop(struct probe *p)
{
	hf_watch_free(p->watch);
	p->watch = NULL;
	wire_shut(p->wire);
	wire_free(p->wire);
	p->wire = NULL;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->n = 0;
	p->sent = false;
	probe_program_stop(p);
}

/* Between the first sign that a server's state is another and the verdict probes follow each other closely, so that probe-fall and
 * probe-rise cost seconds, not intervals; the same right after a start, when nothing is known yet. */
static bool in_doubt(const struct probe *p) { return probe_down(p) ? p->good > 0 : p->bad > 0; }

void probe_again(struct probe *p)
{
	const struct hf_conf_pool *c = p->pool->conf;
	uint64_t soon = c->probe_timeout < c->probe_interval ? c->probe_timeout : c->probe_interval;

	probe_stop(p);
	hf_timer_set(p->timer, probe_waited_for(p) ? PROBE_PASSIVE_MS : in_doubt(p) ? soon : c->probe_interval);
}

static void verdict(struct probe *p, enum hf_probe_result r, uint32_t busy_ms, const char *why)
{
	if (r == HF_PROBE_OK || r == HF_PROBE_BUSY) {
		good(p);
		if (r == HF_PROBE_BUSY)
			probe_set_busy(p, true, busy_ms, PROBE_BUSY_WHY);
		else if (hf_clock_ms() >= p->busy_until_ms)
			probe_set_busy(p, false, 0, "");
	} else {
		bad(p, why);
	}
	probe_again(p);
}

void probe_verdict(struct probe *p, bool is_good, const char *why) { verdict(p, is_good ? HF_PROBE_OK : HF_PROBE_FAILED, 0, why); }

static bool stream(const struct probe *p) { return hf_transport_is_stream(p->m->transport); }

static bool send_probe(struct probe *p)
{
	uint8_t octets[2048], mem[16384];
	struct hf_writer w = hf_writer_on(octets, sizeof octets);
	struct hf_arena arena;
	struct hf_ctx ctx;

	hf_arena_init(&arena, mem, sizeof mem);
	net_ctx(p->all->net, p->service, &arena, hf_clock_ms(), &ctx);
	net_ctx_pool(p->service, p->pool, &ctx);
	p->what.local = sock_local(p->fd);
	if (p->m->send_proxy)
		proxy_write(&w, NULL, NULL);
	if (!p->service->rt->front->probe_write(&ctx, &p->what, &w) || w.full)
		return false;
	p->sent = wire_write(p->wire, p->fd, octets, w.n) == (ssize_t)w.n;
	return p->sent;
}

static void begin(struct probe *p)
{
	bool want;

	p->what = (struct hf_probe){.server = p->m->hash, .name = hf_bytes_str(p->name), .addr = p->m->addr, .transport = p->m->transport,
		.id = ++p->all->last_id};
	p->reached = false;
	p->fd = sock_connect(&p->m->addr, stream(p), NULL);
	if (p->fd >= 0)
		p->watch = hf_watch_new(p->all->net->control, p->fd, stream(p) ? HF_WRITE : HF_READ, ready, p);
	hf_timer_set(p->timer, p->pool->conf->probe_timeout);
	want = p->fd < 0 && sock_want(errno);
	if (p->fd >= 0 && hf_transport_is_secure(p->m->transport)) {
		p->wire = layers_over(p->pool, p->m->tls_name, p->m->transport, p->fd, &p->m->addr);
		want = !p->wire;
	}
	if (want) {
		probe_again(p); /* neither good nor bad: we cannot ask */
		return;
	}
	if (p->fd < 0 || !p->watch || (!stream(p) && !send_probe(p)))
		verdict(p, HF_PROBE_FAILED, 0, p->fd < 0 ? strerror(errno) : "cannot send");
}

/* Of a layer, else the system's. */
static const char *error_text(const struct wire *w)
{
	return *tls_text(w) ? tls_text(w) : wire_reason(w) ? hf_reasons[wire_reason(w)].text : strerror(errno);
}

static void read_once(struct probe *p)
{
	ssize_t n = wire_read(p->wire, p->fd, p->got + p->n, PROBE_ANSWER_MAX - p->n);
	uint8_t mem[32768];
	struct hf_arena arena;
	struct hf_ctx ctx;
	uint32_t busy_ms = 0;
	enum hf_probe_result r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 || (n == 0 && stream(p))) {
		verdict(p, HF_PROBE_FAILED, 0, n < 0 ? error_text(p->wire) : "closed without an answer");
		return;
	}
	p->n = stream(p) ? p->n + (size_t)n : (size_t)n;
	hf_arena_init(&arena, mem, sizeof mem);
	net_ctx(p->all->net, p->service, &arena, hf_clock_ms(), &ctx);
	net_ctx_pool(p->service, p->pool, &ctx);
	r = p->service->rt->front->probe_read(&ctx, &p->what, hf_bytes_of(p->got, p->n), &busy_ms);
	if (!stream(p))
		p->n = 0;
	if (r == HF_PROBE_MORE && p->n == PROBE_ANSWER_MAX)
		r = HF_PROBE_FAILED;
	if (r != HF_PROBE_MORE && r != HF_PROBE_NOT_MINE)
		verdict(p, r, busy_ms, "a bad answer");
}

static void read_answer(struct probe *p)
{
	do
		read_once(p);
	while (wire_again(p->wire));
}

static void ready(void *arg, unsigned what)
{
	struct probe *p = arg;
	enum hf_err opened;
	int e;

	(void)what;
	if (p->sent) {
		read_answer(p);
		return;
	}
	e = sock_error(p->fd);
	p->reached |= e == 0;
	opened = e == 0 && p->wire ? wire_open(p->wire) : HF_OK;
	if (e != 0) {
		verdict(p, HF_PROBE_FAILED, 0, strerror(e));
	} else if (opened == HF_EFULL) {
		hf_watch_set(p->watch, p->wire->reads);
	} else if (opened != HF_OK) {
		verdict(p, HF_PROBE_FAILED, 0, error_text(p->wire));
	} else if (how(p) == HOW_CONNECT) {
		verdict(p, HF_PROBE_OK, 0, "");
	} else {
		hf_watch_set(p->watch, HF_READ);
		if (!send_probe(p))
			verdict(p, HF_PROBE_FAILED, 0, "cannot send");
	}
}

void probe_due(void *arg)
{
	struct probe *p = arg;

	if (!probe_runs(p))
		p->began_ms = hf_clock_ms();
	if (p->fd >= 0)
		verdict(p, HF_PROBE_FAILED, 0, p->sent || !stream(p) ? "no answer in time" : "no connection in time");
	else if (p->program)
		probe_program_late(p);
	else if (how(p) != HOW_NONE && !p->m->removed && !p->lost)
		how(p) == HOW_PROGRAM ? probe_program_begin(p) : begin(p);
	else
		hf_timer_set(p->timer, p->pool->conf->probe_interval);
}
