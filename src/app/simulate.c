/* `simulate`: what a change of a pool would do, by a twin of its engine (hf_engine_foresee), as an errand. Nothing of the pool is changed. */
#include <stdio.h>
#include <stdlib.h>

#include "errand.h"
#include "holdfast/clock.h"
#include "holdfast/store.h"
#include "list.h"
#include "target.h"

#define ARRIVALS_MIN 1000     /* new sessions a server, when few are live: enough that shares show */
#define ARRIVALS_MAX 1000000u /* two seconds of the errands' thread */

struct simulation {
	struct errand errand;
	char pool_name[64], server[HF_NAME_MAX + 1], word[16];
	struct hf_change change;
	struct hf_engine *engine, *twin;
	struct hf_region region;
	uint32_t arrivals;
	struct hf_foreseen *foreseen;
};

static bool go_on(void *arg)
{
	struct simulation *s = arg;

	return !atomic_load_explicit(&s->errand.stop, memory_order_relaxed);
}

static void tell_server(struct simulation *s, uint16_t id, const struct hf_foresight *f, const struct shares *shares, struct json *j)
{
	const struct hf_foreseen *x = &f->server[id];
	struct hf_server_view v;

	if (!hf_engine_server(s->twin, id, &v))
		return;
	json_open(j, JSON_ITEM, '{');
	json_str(j, HF_F_NAME, v.name);
	json_str(j, HF_F_STATE, hf_state_name(v.state));
	json_bool(j, HF_F_REMOVED, v.removed);
	json_uint(j, HF_F_WEIGHT, v.weight);
	json_uint(j, HF_F_SLOTS_BEFORE, x->slots[0]);
	json_uint(j, HF_F_SLOTS_AFTER, x->slots[1]);
	list_fair(shares, &v, j);
	json_uint(j, HF_F_SESSIONS_BEFORE, x->sessions[0]);
	json_uint(j, HF_F_SESSIONS_AFTER, x->sessions[1]);
	json_close(j, '}');
}

static void tell(struct simulation *s, const struct hf_foresight *f, struct json *j)
{
	const struct shares after = list_shares(s->twin);

	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_str(j, HF_F_POOL, s->pool_name);
	json_str(j, HF_F_CHANGE, s->word);
	json_str(j, HF_F_SERVER, s->server);
	json_uint(j, HF_F_SLOTS, f->slots);
	json_uint(j, HF_F_SLOTS_MOVED, f->slots_moved);
	json_uint(j, HF_F_SLOTS_ASTRAY, f->slots_astray);
	json_uint(j, HF_F_ENTRIES, f->entries);
	json_uint(j, HF_F_ENTRIES_MOVED, f->moved);
	json_uint(j, HF_F_EXCEPTIONS_BEFORE, f->exceptions[0]);
	json_uint(j, HF_F_EXCEPTIONS_AFTER, f->exceptions[1]);
	json_uint(j, HF_F_ARRIVALS, f->arrivals);
	json_uint(j, HF_F_SPILLED, f->spilled);
	json_open(j, HF_F_SERVERS, '[');
	for (uint16_t id = 1; id <= f->last_id; id++)
		tell_server(s, id, f, &after, j);
	json_close(j, ']');
	json_close(j, '}');
}

static void say_name(struct hf_writer *why) { hf_w_printf(why, "a server's name has 1 to %u octets", HF_NAME_MAX); }

static enum hf_err run(struct errand *x, struct json *j, struct hf_writer *why)
{
	struct simulation *s = (struct simulation *)x;
	struct hf_foresight f = {.server = s->foreseen};
	enum hf_err e = hf_engine_foresee(s->twin, s->engine, &s->change, s->arrivals, go_on, s, &f, hf_clock_ms());

	if (e == HF_OK)
		tell(s, &f, j);
	else if (e == HF_EEXIST)
		hf_w_printf(why, "pool %s has a server %s already", s->pool_name, s->server);
	else if (e == HF_EINVAL)
		say_name(why);
	return e;
}

static void end(struct errand *x)
{
	struct simulation *s = (struct simulation *)x;

	hf_engine_free(s->twin);
	hf_store_close(&s->region);
	free(s->foreseen);
	free(s);
}

/* As many as live now, so that in the end all are new. */
static uint32_t arrivals_of(struct hf_engine *e)
{
	struct hf_engine_counts c;
	uint64_t n;

	hf_engine_counts(e, &c);
	n = c.counted > (uint64_t)ARRIVALS_MIN * hf_engine_last_id(e) ? c.counted : (uint64_t)ARRIVALS_MIN * hf_engine_last_id(e);
	return n < ARRIVALS_MAX ? (uint32_t)n : ARRIVALS_MAX;
}

static enum hf_err make_twin(struct simulation *s, struct hf_writer *why)
{
	enum hf_err e = hf_store_open(NULL, s->pool_name, hf_engine_twin_need(s->engine, s->arrivals), 0, &s->region, why);

	if (e != HF_OK)
		return e;
	s->twin = hf_engine_twin(s->engine, s->region.p, s->arrivals, hf_clock_ms());
	s->foreseen = calloc(HF_SERVERS_MAX + 1u, sizeof *s->foreseen);
	return s->twin && s->foreseen ? HF_OK : HF_ENOMEM;
}

/* The pool that is meant; a server that is to come names none. */
static enum hf_err find_pool(struct gateway *g, const struct command *c, bool add, const struct hf_conf_pool **pool, struct hf_writer *why)
{
	const struct hf_conf *conf = hf_net_conf(g->net);
	struct target t;
	enum hf_err e = HF_OK;

	if (!add) {
		e = target_find(g, c, &t, why);
		*pool = t.pool;
	} else if (c->pool.n) {
		e = target_pool(g, c->pool, pool, why);
	} else if (conf->n_pools == 1) {
		*pool = &conf->pools[0];
	} else {
		hf_w_str(why, "there are several pools; say --pool with one of them");
		e = HF_EEXIST;
	}
	return e;
}

enum hf_err simulate(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	static const char *const kinds[] = {
		[HF_CHANGE_ADD] = "add", [HF_CHANGE_REMOVE] = "remove", [HF_CHANGE_DRAIN] = "drain", [HF_CHANGE_UNDRAIN] = "undrain", [HF_CHANGE_WEIGHT] = "weight"};
	const struct hf_conf_pool *pool = NULL;
	struct simulation *s;
	unsigned kind = 0;
	enum hf_err e;

	(void)j;
	while (!hf_bytes_eq(c->change, hf_bytes_str(kinds[kind])))
		kind++; /* command.c knows no other */
	e = find_pool(g, c, kind == HF_CHANGE_ADD, &pool, why);
	if (e != HF_OK)
		return e;
	if (c->server.n > HF_NAME_MAX) {
		say_name(why);
		return HF_EINVAL;
	}
	s = calloc(1, sizeof *s);
	if (!s)
		return HF_ENOMEM;
	s->errand.run = run;
	s->errand.free = end;
	s->region.fd = -1;
	s->engine = hf_net_engine(g->net, pool->name);
	snprintf(s->pool_name, sizeof s->pool_name, "%s", pool->name);
	snprintf(s->word, sizeof s->word, "%s", kinds[kind]);
	memcpy(s->server, c->server.p, c->server.n);
	s->change.kind = kind;
	s->change.name = hf_bytes_str(s->server);
	s->change.weight = c->weight;
	s->arrivals = arrivals_of(s->engine);
	e = make_twin(s, why);
	if (e == HF_OK)
		g->errand = &s->errand;
	else
		end(&s->errand);
	return e;
}
