/* The slow work of the engines, in small steps on the control loop: changes of the slots, the sweep for expired entries,
 * and the forgetting of removed servers. It knows pools by name only. */
#include <stdlib.h>

#include "gateway.h"
#include "holdfast/clock.h"
#include "holdfast/log.h"

#define REST_MS 20      /* between steps: a server that went down is out of the slots that much later */
#define CHANGING_MS 2   /* between steps of a change: some 30 of a tenth of a millisecond give ten servers of a million sessions their slots */
#define PASS_MS 4000    /* the whole table is looked at in this time: an entry's life is counted in ticks of 4 s */
#define REAP_MS 1000
#define REAP_AT_ONCE 64

struct upkeep {
	struct gateway *g;
	struct hf_timer *timer;
	uint64_t swept_ms, reaped_ms;
};

/* Places of a table that are due after `ms`. What it may still grow to holds nothing, and is not looked at. */
static unsigned due(uint64_t places, uint64_t ms)
{
	if (ms > PASS_MS)
		ms = PASS_MS;
	return (unsigned)(places * ms / PASS_MS) + 1;
}

/* Drains and removed servers whose time is over. */
static void expire(struct hf_net *net, struct hf_engine *e, const char *pool, uint64_t now)
{
	uint16_t ids[REAP_AT_ONCE];
	unsigned n = hf_engine_expire(e, ids, REAP_AT_ONCE, now);
	struct hf_server_view v;

	for (unsigned i = 0; i < n; i++)
		if (hf_engine_server(e, ids[i], &v))
			hf_log(HF_LOG_WARN, "event=server-off pool=%s server=%s reason=%s sessions=%u flows=%u", pool, v.name, v.removed ? "removed-expiry" : "drain-deadline", v.sessions, v.held);
	if (n) /* behind the lines, which say who was left */
		hf_net_end_off(net);
}

static void reap(struct hf_engine *e, const char *pool)
{
	uint16_t ids[REAP_AT_ONCE];
	unsigned n = hf_engine_reap(e, ids, REAP_AT_ONCE);

	if (n)
		hf_log(HF_LOG_INFO, "event=forget pool=%s servers=%u", pool, n);
}

static bool care_for(struct hf_net *net, struct hf_engine *e, const char *pool, uint64_t sweep_ms, bool reap_now, uint64_t now)
{
	bool more = hf_engine_tick(e, now);
	struct hf_engine_counts c;

	hf_engine_counts(e, &c);
	if (c.entries && sweep_ms)
		hf_engine_sweep(e, now, due(c.places, sweep_ms));
	if (reap_now)
		expire(net, e, pool, now);
	if (reap_now && !more)
		reap(e, pool);
	return more;
}

static void step(void *arg)
{
	struct upkeep *u = arg;
	const struct hf_conf *c = hf_net_conf(u->g->net);
	uint64_t now = hf_clock_ms(), sweep_ms = now - u->swept_ms < REST_MS ? 0 : now - u->swept_ms;
	bool reap_now = now - u->reaped_ms >= REAP_MS, more = false;

	for (unsigned i = 0; i < c->n_pools; i++) {
		struct hf_engine *e = hf_net_engine(u->g->net, c->pools[i].name);

		if (e && care_for(u->g->net, e, c->pools[i].name, sweep_ms, reap_now, now))
			more = true;
	}
	if (sweep_ms)
		u->swept_ms = now;
	if (reap_now) {
		u->reaped_ms = now;
		hf_net_second(u->g->net);
	}
	hf_timer_set(u->timer, more ? CHANGING_MS : REST_MS);
}

struct upkeep *upkeep_new(struct gateway *g)
{
	struct upkeep *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->g = g;
	u->swept_ms = u->reaped_ms = hf_clock_ms();
	u->timer = hf_timer_new(g->loop, step, u);
	if (!u->timer) {
		free(u);
		return NULL;
	}
	hf_timer_set(u->timer, REST_MS);
	return u;
}

void upkeep_kick(struct upkeep *u) { hf_timer_set(u->timer, 0); }

void upkeep_free(struct upkeep *u)
{
	if (!u)
		return;
	hf_timer_free(u->timer);
	free(u);
}
