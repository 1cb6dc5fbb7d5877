/* What lasts as long as the process, so that flows may point to it: the counters of services, the engines of pools. Control thread. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "holdfast/hash.h"
#include "holdfast/log.h"
#include "gate.h"
#include "guard.h"
#include "keeping.h"

struct service_rt *lasting_service(struct hf_net *net, const struct hf_conf_service *c, struct hf_writer *why)
{
	struct service_rt *rt, **list;

	for (unsigned i = 0; i < net->n_services; i++)
		if (strcmp(net->services[i]->name, c->name) == 0) {
			if (net->services[i]->front == c->front)
				return net->services[i];
			hf_w_printf(why, "service %s: its protocol cannot change while the gateway runs: give it another name", c->name);
			return NULL;
		}
	list = realloc(net->services, (net->n_services + 1) * sizeof *list);
	rt = calloc(1, sizeof *rt);
	if (list)
		net->services = list;
	if (rt)
		rt->counts = aligned_alloc(64, net->n_workers * sizeof *rt->counts);
	if (!list || !rt || !rt->counts) {
		free(rt);
		hf_w_str(why, "no memory");
		return NULL;
	}
	memset(rt->counts, 0, net->n_workers * sizeof *rt->counts);
	rt->said = said_new();
	if (!rt->said) {
		free(rt->counts);
		free(rt);
		hf_w_str(why, "no memory");
		return NULL;
	}
	memcpy(rt->name, c->name, sizeof rt->name);
	rt->front = c->front;
	rt->id = (uint16_t)(net->n_services + 1);
	net->services[net->n_services++] = rt;
	return rt;
}

struct hf_engine_conf lasting_engine_conf(const struct hf_net *net, const struct hf_conf_pool *c)
{
	struct hf_engine_conf e = {.mode = (enum hf_mode)c->affinity, .method = (enum hf_method)c->hash, .slot_bits = (unsigned)c->slots,
		.load_factor_milli = (uint32_t)c->load_factor, .max_entries = (uint32_t)c->max_entries, .balance = (enum hf_balance)c->balance,
		.fallback = (enum hf_fallback)c->fallback, .ring_points = (uint32_t)c->ring_points,
		.slow_start_ms = (uint32_t)c->slow_start, .source_entries = (uint32_t)c->source_entries};

	memcpy(e.hash_key, net->site.hash_key, 16);
	return e;
}

static void pool_free(struct pool_rt *rt)
{
	if (rt->engine)
		hf_engine_free(rt->engine);
	keeping_free(rt->keeping);
	hf_store_close(&rt->region);
	for (unsigned i = 0; rt->members && i <= HF_SERVERS_MAX; i++)
		gate_free(&rt->members[i].gate);
	pthread_mutex_destroy(&rt->gates);
	free(rt->members);
	free(rt->tallies);
	free(rt);
}

/* What is kept on disk comes from there. */
static void say_tables(const struct pool_rt *rt, const struct hf_conf_pool *conf)
{
	struct hf_engine_counts c;

	hf_engine_counts(rt->engine, &c);
	if (rt->region.kept)
		hf_log(HF_LOG_INFO, "event=tables-kept pool=%s entries=%llu", rt->name, (unsigned long long)c.entries);
	if (rt->region.lost)
		hf_log(HF_LOG_WARN, "event=tables-anew pool=%s reason=\"the kept tables are of another size (slots, max-entries), version or boot\" note=\"%s\"", rt->name,
			hf_conf_persists(conf) ? "the copy in state-dir is read" : "sessions are gone, and every drain, off and weight given at run time: give them again");
	if (rt->region.aside)
		hf_log(HF_LOG_WARN, "event=tables-aside pool=%s reason=\"they are of another hash key\" renamed=%s.tables.aside", rt->name, rt->name);
}

static void state_dir(const struct hf_conf *c, char *dir, size_t n)
{
	snprintf(dir, n, "%.*s", (int)c->gateway.state_dir.n, (const char *)c->gateway.state_dir.p);
}

/* Tables of this boot win: they are newer than any disk. */
static bool keep_on_disk(struct hf_net *net, struct pool_rt *rt, const struct hf_conf *conf, const struct hf_conf_pool *c, struct hf_writer *why)
{
	bool kept = rt->region.kept && hf_engine_last_id(rt->engine); /* an engine of another form leaves nobody */
	char dir[PATH_MAX];

	state_dir(conf, dir, sizeof dir);
	if (!hf_conf_persists(c))
		return true;
	if (!net->disk)
		net->disk = hf_disk_new(dir, net->site.hash_key, why);
	if (!net->disk)
		return false;
	if (!kept)
		revive(rt, c, dir, net->site.hash_key);
	rt->keeping = keeping_new(rt, dir, net->site.hash_key, !kept);
	return rt->keeping != NULL;
}

static bool pool_make(struct hf_net *net, struct pool_rt *rt, const struct hf_conf *conf, const struct hf_conf_pool *c, const struct hf_engine_conf *e,
		      struct hf_writer *why)
{
	char dir[PATH_MAX];

	hf_conf_run_dir(&conf->gateway, dir, sizeof dir);
	rt->made_of = *e;
	rt->members = calloc(HF_SERVERS_MAX + 1, sizeof *rt->members);
	rt->tallies = calloc((size_t)net->n_workers * (HF_SERVERS_MAX + 1), sizeof *rt->tallies);
	if (!rt->members || !rt->tallies || hf_store_open(dir, rt->name, hf_engine_need(e), hf_sip24(e->hash_key, HF_LIT("tables:check")), &rt->region, why) != HF_OK)
		return false;
	rt->engine = hf_engine_new(e, rt->region.p, net->now_ms);
	if (!rt->engine)
		return false;
	say_tables(rt, c);
	return keep_on_disk(net, rt, conf, c, why);
}

static bool same_engine(const struct hf_engine_conf *a, const struct hf_engine_conf *b)
{
	return a->mode == b->mode && a->method == b->method && a->slot_bits == b->slot_bits && a->max_entries == b->max_entries && a->balance == b->balance &&
	       a->ring_points == b->ring_points;
}

struct pool_rt *lasting_pool(struct hf_net *net, const struct hf_conf *conf, const struct hf_conf_pool *c, struct hf_writer *why)
{
	struct hf_engine_conf e = lasting_engine_conf(net, c);
	struct pool_rt *rt, **list;

	for (unsigned i = 0; i < net->n_pools; i++)
		if (strcmp(net->pools[i]->name, c->name) == 0) {
			if (same_engine(&net->pools[i]->made_of, &e))
				return net->pools[i];
			hf_w_printf(why, "pool %s: affinity, hash, ring-points, slots, balance and max-entries cannot change while the gateway runs: restart it", c->name);
			return NULL;
		}
	list = realloc(net->pools, (net->n_pools + 1) * sizeof *list);
	rt = calloc(1, sizeof *rt);
	if (list)
		net->pools = list;
	if (rt) {
		rt->region.fd = -1;
		pthread_mutex_init(&rt->gates, NULL);
		memcpy(rt->name, c->name, sizeof rt->name);
	}
	if (!list || !rt || !pool_make(net, rt, conf, c, &e, why)) {
		if (rt)
			pool_free(rt);
		if (!why->n)
			hf_w_printf(why, "pool %s: no memory for %u entries: lower max-entries", c->name, e.max_entries);
		return NULL;
	}
	net->pools[net->n_pools++] = rt;
	return rt;
}

/* Its first snapshot is in force: what it holds is kept from now on, or what was kept of it is forgotten. */
void lasting_published(struct hf_net *net, struct pool_rt *rt)
{
	enum hf_err e = HF_OK;

	if (rt->keeping && !rt->published) {
		e = hf_disk_add(net->disk, rt->name, keeping_write, rt->keeping);
		if (e == HF_OK && net->started) /* the first such pool came with a reload */
			e = hf_disk_start(net->disk);
	} else if (!rt->published) {
		char dir[PATH_MAX];

		state_dir(net->snap->conf, dir, sizeof dir);
		hf_disk_forget(dir, rt->name);
	}
	if (e != HF_OK)
		hf_log(HF_LOG_ERROR, "event=state-not-kept pool=%s error=\"%s\"", rt->name, hf_err_text(e));
	rt->published = true;
}

/* Pools that no published snapshot has had are made of a configuration that was refused. */
void lasting_forget_unpublished(struct hf_net *net)
{
	for (unsigned i = 0; i < net->n_pools;)
		if (net->pools[i]->published) {
			i++;
		} else {
			pool_free(net->pools[i]);
			net->pools[i] = net->pools[--net->n_pools];
		}
}

/* A table that fills is said while there is time to do something, and when it is full, each once until it has been half empty. */
static void heed(struct pool_rt *rt)
{
	static const struct {
		const char *event, *note;
	} say[] = {
		[1] = {"table-fills", "three quarters are in use"},
		[2] = {"table-full", "sessions that begin are not remembered, and go where the hash alone says"},
	};
	struct hf_engine_counts c;
	uint8_t now;

	hf_engine_counts(rt->engine, &c);
	now = c.entries >= c.max_entries ? 2 : c.entries >= c.max_entries - c.max_entries / 4 ? 1 : 0;
	if (now > rt->filled)
		hf_log(HF_LOG_WARN, "event=%s pool=%s entries=%llu max-entries=%u note=\"%s: raise max-entries, which takes a restart\"", say[now].event, rt->name,
			(unsigned long long)c.entries, c.max_entries, say[now].note);
	if (now > rt->filled || c.entries < c.max_entries / 2)
		rt->filled = now;
}

void lasting_heed(struct hf_net *net)
{
	for (unsigned i = 0; i < net->n_pools; i++)
		heed(net->pools[i]);
}

void lasting_free_pools(struct hf_net *net)
{
	for (unsigned i = 0; i < net->n_pools; i++)
		pool_free(net->pools[i]);
	free(net->pools);
	net->n_pools = 0;
}
