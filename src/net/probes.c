/* Who is probed: the list follows the pools of the snapshot in force; and what workers saw of servers between probes. See probing.h for the
 * struct, probe.h for what net calls. Control thread. */
#include "names.h"
#include "probing.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent.h"
#include "holdfast/log.h"
#include "program.h"

#define LOOK_MS 250       /* how often dials of workers are judged */
#define UNWELL_MOST 5     /* requests that failed in a row: one more than a caller makes who tries a number again and again */
#define REST_MS 30000     /* as long as most probes' intervals: a server that restarts is back by then */

/* ---- what workers saw ---- */

static void look_at_dials(struct probe *p)
{
	struct member_rt *m = &p->rt->members[p->id];
	unsigned n = atomic_load_explicit(&m->failures, memory_order_relaxed);

	if (p->pool->conf->probe != HF_CONF_PROBE_NONE || probe_down(p) || n < p->pool->conf->probe_fall)
		return;
	p->passive = true;
	p->good = 0;
	hf_engine_unreached(p->rt->engine, p->id, true, hf_clock_ms());
	snprintf(m->last_failure, sizeof m->last_failure, "%u dials failed in a row", n);
	m->last_failure_ms = hf_clock_ms();
	probe_mark(p, HF_MARK_DOWN, true, "dials failed");
	hf_timer_set(p->timer, PROBE_PASSIVE_MS);
}

/* A dial has got through to one that is down: it is asked now, not when its time comes. */
static void look_at_back(struct probe *p)
{
	uint32_t back = atomic_load_explicit(&p->rt->members[p->id].back, memory_order_relaxed);

	if (back == p->back || (probe_down(p) && !probe_waited_for(p) && (probe_runs(p) || hf_clock_ms() - p->began_ms < PROBE_PASSIVE_MS)))
		return;
	p->back = back;
	if (!back || !probe_down(p) || p->good)
		return;
	if (probe_waited_for(p))
		probe_verdict(p, true, "");
	else
		hf_timer_set(p->timer, 0);
}

/* A 503 with Retry-After and its like: no new sessions for that time, whatever probes say meanwhile. */
static void look_at_busy(struct probe *p)
{
	uint64_t now = hf_clock_ms(), until = atomic_exchange_explicit(&p->rt->members[p->id].busy_until_ms, 0, memory_order_relaxed);

	if (until > now)
		probe_set_busy(p, true, (uint32_t)(until - now), PROBE_BUSY_WHY);
	else if (probe_busy(p) && p->busy_until_ms && p->busy_until_ms <= now)
		probe_set_busy(p, false, 0, "");
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

/* A server that fails what it is asked, whatever it says to probes: it keeps its sessions and what is bound to it, and gets no new ones for a while; then
 * the first failure is enough, until something goes well. What is bound to it is so what finds out: when that goes well the rest is over. */
static void look_at_failures(struct probe *p)
{
	struct member_rt *m = &p->rt->members[p->id];
	unsigned n = atomic_load_explicit(&m->unwell, memory_order_relaxed);

	if (p->rests && !n)
		probe_set_busy(p, false, 0, "");
	if (n < UNWELL_MOST || probe_down(p) || probe_busy(p) || !can_rest(p))
		return;
	atomic_store_explicit(&m->unwell, UNWELL_MOST - 1, memory_order_relaxed);
	snprintf(m->last_failure, sizeof m->last_failure, "%u requests in a row failed", n);
	probe_set_busy(p, true, REST_MS, m->last_failure);
	p->rests = true;
	hf_engine_rests(p->rt->engine, p->id, true, hf_clock_ms());
}

static void look(void *arg)
{
	struct probes *all = arg;

	for (struct probe *p = all->list; p; p = p->next) {
		look_at_dials(p);
		look_at_back(p);
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
	all->programs = programs_new(net->control, probe_program_room, all);
	all->queue_end = &all->queue;
	if (!all->look || !all->programs) {
		probes_free(all);
		return NULL;
	}
	hf_random(&all->last_id, sizeof all->last_id);
	hf_timer_set(all->look, LOOK_MS);
	return all;
}

static void probe_free(struct probe *p)
{
	probe_stop(p);
	agent_free(p->agent);
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
	*p = (struct probe){.all = all, .rt = rt, .id = m->id, .fd = -1, .got = malloc(PROBE_ANSWER_MAX), .timer = hf_timer_new(all->net->control, probe_due, p), .next = all->list};
	memcpy(p->name, m->name, sizeof p->name);
	p->passive = probe_down(p) && hf_transport_is_stream(m->transport); /* of before a restart: a pool without probes dials it */
	p->agent = agent_new(p);
	if (!p->got || !p->timer || !p->agent) {
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
		if (hf_conf_sends_to(s->services[i].conf, pool->conf))
			return &s->services[i];
	return NULL;
}

/* A server whose name was never found is down until it is; then it is as good as any that is new. */
static void follow_name(struct probe *p)
{
	bool lost = !p->m->addr.family;

	if (lost)
		names_why(p->all->net->names, p->m->host, p->rt->members[p->id].last_failure, sizeof p->rt->members[p->id].last_failure);
	if (lost == p->lost)
		return;
	p->lost = lost;
	p->good = p->bad = 0;
	probe_stop(p);
	hf_engine_mark(p->rt->engine, p->id, HF_MARK_DOWN, lost, hf_clock_ms());
	hf_timer_set(p->timer, 0);
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
		probe_stop(p); /* it has moved: the answer would be another's, and what is known of it is too */
		hf_timer_set(p->timer, 0);
	}
	if (p->queued_at && pool->conf->probe != HF_CONF_PROBE_PROGRAM) {
		probe_stop(p);
		hf_timer_set(p->timer, 0);
	}
	p->pool = pool;
	p->service = service_for(all->net->snap, pool);
	p->m = m;
	p->kept = true;
	follow_name(p);
	if (pool->conf->probe == HF_CONF_PROBE_NONE && !p->passive)
		probe_stop(p); /* its word would be the last */
	if (pool->conf->probe == HF_CONF_PROBE_NONE && probe_down(p) && !p->passive && !p->lost) /* nobody would ever say that it is up again */
		probe_mark(p, HF_MARK_DOWN, false, "no longer probed");
	if (pool->conf->probe != HF_CONF_PROBE_FRONT && probe_busy(p) && !p->busy_until_ms)
		probe_set_busy(p, false, 0, ""); /* nobody would ever say that it is ready again */
	agent_apply(p->agent);
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
	programs_free(all->programs);
	hf_timer_free(all->look);
	free(all);
}
