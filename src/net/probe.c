/* Probes of all members, each over a socket of its own, so that an answer is never taken for another server's; the front says by its own
 * proof whether the answer is to this probe. Rise and fall count in a row. A pool without probes learns from dials: a server that refused
 * `probe-fall` dials in a row is down, and is then asked by connects until it takes one. */
#include "probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "holdfast/log.h"
#include "sock.h"

#define ANSWER_MAX 8192   /* octets of an answer that are looked at */
#define LOOK_MS 250       /* how often dials of workers are judged */
#define PASSIVE_MS 1000
#define UNWELL_MOST 5     /* requests that failed in a row: one more than a caller makes who tries a number again and again */
#define REST_MS 30000     /* as long as most probes' intervals: a server that restarts is back by then */

enum how { HOW_NONE, HOW_CONNECT, HOW_FRONT };

struct probe {
	struct probes *all;
	struct pool_rt *rt;
	char name[64];
	bool kept;                    /* while the list follows a change */
	struct snap_pool *pool;       /* of the snapshot in force */
	const struct snap_service *service;
	const struct snap_member *m;
	uint16_t id;
	int fd;                       /* -1: none under way */
	struct hf_watch *watch;
	struct hf_timer *timer;       /* the next probe, or the deadline of this one */
	struct hf_probe what;
	uint8_t *got;
	size_t n;
	bool sent, passive;           /* passive: down because of dials */
	unsigned good, bad;           /* in a row */
	uint64_t busy_until_ms;
	struct probe *next;
};

struct probes {
	struct hf_net *net;
	struct hf_timer *look;
	struct probe *list;
	uint32_t last_id;
};

static void due(void *arg);
static void ready(void *arg, unsigned what);

/* ---- verdicts ---- */

/* The engine has the marks, and keeps them over a restart: what was down stays down until a probe says otherwise. */
static bool down(const struct probe *p) { return hf_engine_marked(p->rt->engine, p->id, HF_MARK_DOWN); }
static bool busy(const struct probe *p) { return hf_engine_marked(p->rt->engine, p->id, HF_MARK_BUSY); }

static void mark(struct probe *p, enum hf_mark m, bool on, const char *why)
{
	uint64_t now = hf_clock_ms();

	hf_engine_mark(p->rt->engine, p->id, m, on, now);
	hf_log(on ? HF_LOG_WARN : HF_LOG_INFO, "event=server-%s pool=%s server=%s%s%s%s", m == HF_MARK_DOWN ? (on ? "down" : "up") : on ? "busy" : "ready",
		p->pool->rt->name, p->name, *why ? " reason=\"" : "", why, *why ? "\"" : "");
}

/* A server that is down because of dials is asked every second: its users wait for it. One connect is as good as a dial. */
static bool waited_for(const struct probe *p) { return p->passive && p->pool->conf->probe == HF_CONF_PROBE_NONE; }

static void good(struct probe *p)
{
	p->bad = 0;
	p->good++;
	if (down(p) && (p->good >= p->pool->conf->probe_rise || waited_for(p))) {
		p->passive = false;
		atomic_store(&p->rt->members[p->id].failures, 0);
		mark(p, HF_MARK_DOWN, false, "");
	}
}

static void bad(struct probe *p, const char *why)
{
	struct member_rt *m = &p->rt->members[p->id];

	p->good = 0;
	p->bad++;
	snprintf(m->last_failure, sizeof m->last_failure, "%s", why);
	m->last_failure_ms = hf_clock_ms();
	if (!down(p) && p->bad >= p->pool->conf->probe_fall)
		mark(p, HF_MARK_DOWN, true, why);
}

static void set_busy_why(struct probe *p, bool on, uint32_t ms, const char *why)
{
	p->busy_until_ms = on && ms ? hf_clock_ms() + ms : 0;
	if (busy(p) != on)
		mark(p, HF_MARK_BUSY, on, on ? why : "");
}

static void set_busy(struct probe *p, bool on, uint32_t ms) { set_busy_why(p, on, ms, "asks for no new sessions"); }

/* ---- one probe ---- */

static void stop(struct probe *p)
{
	hf_watch_free(p->watch);
	p->watch = NULL;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->n = 0;
	p->sent = false;
}

static enum how how(const struct probe *p)
{
	static const enum how of[] = {[HF_CONF_PROBE_NONE] = HOW_NONE, [HF_CONF_PROBE_CONNECT] = HOW_CONNECT, [HF_CONF_PROBE_FRONT] = HOW_FRONT};
	enum how h = of[p->pool->conf->probe];

	return h == HOW_NONE && p->passive ? HOW_CONNECT : h;
}

/* Between the first sign that a server's state is another and the verdict probes follow each other closely, so that probe-fall and
 * probe-rise cost seconds, not intervals; the same right after a start, when nothing is known yet. */
static bool in_doubt(const struct probe *p) { return down(p) ? p->good > 0 : p->bad > 0; }

static void again(struct probe *p)
{
	const struct hf_conf_pool *c = p->pool->conf;
	uint64_t soon = c->probe_timeout < c->probe_interval ? c->probe_timeout : c->probe_interval;

	stop(p);
	hf_timer_set(p->timer, waited_for(p) ? PASSIVE_MS : in_doubt(p) ? soon : c->probe_interval);
}

static void verdict(struct probe *p, enum hf_probe_result r, uint32_t busy_ms, const char *why)
{
	if (r == HF_PROBE_OK || r == HF_PROBE_BUSY) {
		good(p);
		if (r == HF_PROBE_BUSY)
			set_busy(p, true, busy_ms);
		else if (hf_clock_ms() >= p->busy_until_ms)
			set_busy(p, false, 0);
	} else {
		bad(p, why);
	}
	again(p);
}

static bool stream(const struct probe *p) { return hf_transport_is_stream(p->m->transport); }

static bool send_probe(struct probe *p)
{
	uint8_t octets[2048], mem[16384];
	struct hf_writer w = hf_writer_on(octets, sizeof octets);
	struct hf_arena arena;
	struct hf_ctx ctx;

	hf_arena_init(&arena, mem, sizeof mem);
	net_ctx(p->all->net, p->service, &arena, hf_clock_ms(), &ctx);
	p->what.local = sock_local(p->fd);
	if (!p->service->rt->front->probe_write(&ctx, &p->what, &w) || w.full)
		return false;
	p->sent = send(p->fd, octets, w.n, MSG_NOSIGNAL) == (ssize_t)w.n;
	return p->sent;
}

static void begin(struct probe *p)
{
	p->what = (struct hf_probe){.server = p->m->hash, .name = hf_bytes_str(p->name), .addr = p->m->addr, .transport = p->m->transport,
		.id = ++p->all->last_id};
	p->fd = sock_connect(&p->m->addr, stream(p), NULL);
	if (p->fd >= 0)
		p->watch = hf_watch_new(p->all->net->control, p->fd, stream(p) ? HF_WRITE : HF_READ, ready, p);
	hf_timer_set(p->timer, p->pool->conf->probe_timeout);
	if (p->fd < 0 && sock_want(errno)) {
		again(p); /* neither good nor bad: we cannot ask */
		return;
	}
	if (p->fd < 0 || !p->watch || (!stream(p) && !send_probe(p)))
		verdict(p, HF_PROBE_FAILED, 0, p->fd < 0 ? strerror(errno) : "cannot send");
}

static void read_answer(struct probe *p)
{
	ssize_t n = recv(p->fd, p->got + p->n, ANSWER_MAX - p->n, 0);
	uint8_t mem[32768];
	struct hf_arena arena;
	struct hf_ctx ctx;
	uint32_t busy_ms = 0;
	enum hf_probe_result r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 || (n == 0 && stream(p))) {
		verdict(p, HF_PROBE_FAILED, 0, n < 0 ? strerror(errno) : "closed without an answer");
		return;
	}
	p->n = stream(p) ? p->n + (size_t)n : (size_t)n;
	hf_arena_init(&arena, mem, sizeof mem);
	net_ctx(p->all->net, p->service, &arena, hf_clock_ms(), &ctx);
	r = p->service->rt->front->probe_read(&ctx, &p->what, hf_bytes_of(p->got, p->n), &busy_ms);
	if (!stream(p))
		p->n = 0;
	if (r == HF_PROBE_MORE && p->n == ANSWER_MAX)
		r = HF_PROBE_FAILED;
	if (r != HF_PROBE_MORE && r != HF_PROBE_NOT_MINE)
		verdict(p, r, busy_ms, "a bad answer");
}

static void ready(void *arg, unsigned what)
{
	struct probe *p = arg;
	int e;

	if (!(what & HF_WRITE)) {
		read_answer(p);
		return;
	}
	e = sock_error(p->fd);
	if (e != 0) {
		verdict(p, HF_PROBE_FAILED, 0, strerror(e));
	} else if (how(p) == HOW_CONNECT) {
		verdict(p, HF_PROBE_OK, 0, "");
	} else {
		hf_watch_set(p->watch, HF_READ);
		if (!send_probe(p))
			verdict(p, HF_PROBE_FAILED, 0, "cannot send");
	}
}

static void due(void *arg)
{
	struct probe *p = arg;

	if (p->fd >= 0)
		verdict(p, HF_PROBE_FAILED, 0, p->sent || !stream(p) ? "no answer in time" : "no connection in time");
	else if (how(p) != HOW_NONE && !p->m->removed)
		begin(p);
	else
		hf_timer_set(p->timer, p->pool->conf->probe_interval);
}

/* ---- what workers saw ---- */

static void look_at_dials(struct probe *p)
{
	struct member_rt *m = &p->rt->members[p->id];
	unsigned n = atomic_load_explicit(&m->failures, memory_order_relaxed);

	if (p->pool->conf->probe != HF_CONF_PROBE_NONE || down(p) || n < p->pool->conf->probe_fall)
		return;
	p->passive = true;
	p->good = 0;
	snprintf(m->last_failure, sizeof m->last_failure, "%u dials failed in a row", n);
	m->last_failure_ms = hf_clock_ms();
	mark(p, HF_MARK_DOWN, true, "dials failed");
	hf_timer_set(p->timer, PASSIVE_MS);
}

/* A 503 with Retry-After and its like: no new sessions for that time, whatever probes say meanwhile. */
static void look_at_busy(struct probe *p)
{
	uint64_t now = hf_clock_ms(), until = atomic_exchange_explicit(&p->rt->members[p->id].busy_until_ms, 0, memory_order_relaxed);

	if (until > now)
		set_busy(p, true, (uint32_t)(until - now));
	else if (busy(p) && p->busy_until_ms && p->busy_until_ms <= now)
		set_busy(p, false, 0);
}

/* At least half of the pool serves without this one. What servers refuse may be the callers' doing: it must never take them all out. */
static bool can_rest(const struct probe *p)
{
	unsigned up = 0;

	for (unsigned i = 0; i < p->pool->n_members; i++) {
		uint64_t since;

		up += p->pool->members[i].id != p->id && hf_engine_state(p->rt->engine, p->pool->members[i].id, &since) == HF_STATE_UP;
	}
	return 2 * up >= p->pool->n_members;
}

/* A server that fails what it is asked, whatever it says to probes: it keeps its sessions and gets no new ones for a while; then the first failure
 * is enough, until something goes well. */
static void look_at_failures(struct probe *p)
{
	struct member_rt *m = &p->rt->members[p->id];
	unsigned n = atomic_load_explicit(&m->unwell, memory_order_relaxed);

	if (n < UNWELL_MOST || down(p) || busy(p) || !can_rest(p))
		return;
	atomic_store_explicit(&m->unwell, UNWELL_MOST - 1, memory_order_relaxed);
	snprintf(m->last_failure, sizeof m->last_failure, "%u requests in a row failed", n);
	set_busy_why(p, true, REST_MS, m->last_failure);
}

static void look(void *arg)
{
	struct probes *all = arg;

	for (struct probe *p = all->list; p; p = p->next) {
		look_at_dials(p);
		look_at_busy(p);
		look_at_failures(p);
	}
	hf_timer_set(all->look, LOOK_MS);
}

/* ---- the list follows the pools ---- */

struct probes *probes_new(struct hf_net *net)
{
	struct probes *all = calloc(1, sizeof *all);

	if (!all)
		return NULL;
	all->net = net;
	all->look = hf_timer_new(net->control, look, all);
	if (!all->look) {
		free(all);
		return NULL;
	}
	hf_random(&all->last_id, sizeof all->last_id);
	hf_timer_set(all->look, LOOK_MS);
	return all;
}

static void probe_free(struct probe *p)
{
	stop(p);
	hf_timer_free(p->timer);
	free(p->got);
	free(p);
}

static struct probe *find(struct probes *all, const struct pool_rt *rt, uint16_t id, const char *name)
{
	for (struct probe *p = all->list; p; p = p->next)
		if (p->rt == rt && p->id == id && strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

static struct probe *make(struct probes *all, struct pool_rt *rt, const struct snap_member *m)
{
	struct probe *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	*p = (struct probe){.all = all, .rt = rt, .id = m->id, .fd = -1, .got = malloc(ANSWER_MAX), .timer = hf_timer_new(all->net->control, due, p), .next = all->list};
	memcpy(p->name, m->name, sizeof p->name);
	p->passive = down(p) && hf_transport_is_stream(m->transport); /* of before a restart: a pool without probes dials it */
	if (!p->got || !p->timer) {
		probe_free(p);
		return NULL;
	}
	rt->members[m->id].last_failure[0] = 0;
	atomic_store(&rt->members[m->id].failures, 0);
	all->list = p;
	hf_timer_set(p->timer, 0);
	return p;
}

static const struct snap_service *service_for(const struct hf_snapshot *s, const struct snap_pool *pool)
{
	for (unsigned i = 0; i < s->n_services; i++)
		if (s->services[i].pool == pool)
			return &s->services[i];
	return NULL;
}

static void apply_member(struct probes *all, struct snap_pool *pool, const struct snap_member *m)
{
	struct probe *p = find(all, pool->rt, m->id, m->name);

	if (!p)
		p = make(all, pool->rt, m);
	if (!p) {
		hf_log(HF_LOG_ERROR, "event=probe-failed pool=%s server=%s error=\"no memory\"", pool->rt->name, m->name);
		return;
	}
	if (p->what.addr.family && (!hf_addr_eq(&p->what.addr, &m->addr) || p->what.transport != m->transport)) {
		stop(p); /* it has moved: the answer would be another's, and what is known of it is too */
		hf_timer_set(p->timer, 0);
	}
	p->pool = pool;
	p->service = service_for(all->net->snap, pool);
	p->m = m;
	p->kept = true;
	if (pool->conf->probe == HF_CONF_PROBE_NONE && down(p) && !p->passive) /* nobody would ever say that it is up again */
		mark(p, HF_MARK_DOWN, false, "no longer probed");
	if (pool->conf->probe != HF_CONF_PROBE_FRONT && busy(p) && !p->busy_until_ms)
		set_busy(p, false, 0); /* nobody would ever say that it is ready again */
}

void probes_apply(struct probes *all)
{
	struct hf_snapshot *s = all->net->snap;
	struct probe **at = &all->list;

	for (struct probe *p = all->list; p; p = p->next)
		p->kept = false;
	for (unsigned i = 0; i < s->n_pools; i++)
		for (unsigned j = 0; j < s->pools[i].n_members; j++)
			apply_member(all, &s->pools[i], &s->pools[i].members[j]);
	while (*at) {
		struct probe *p = *at;

		if (p->kept) {
			at = &p->next;
		} else {
			*at = p->next;
			probe_free(p);
		}
	}
}

void probes_free(struct probes *all)
{
	if (!all)
		return;
	while (all->list) {
		struct probe *p = all->list;

		all->list = p->next;
		probe_free(p);
	}
	hf_timer_free(all->look);
	free(all);
}
