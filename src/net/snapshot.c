/* Snapshots: all that the configuration decides, found and opened before anything changes, then published whole.
 * Control thread. Readers only read: a published snapshot is never written again. */
#include <stdio.h>
#include <stdlib.h>

#include "inside.h"
#include "probe.h"
#include "sock.h"

static bool wildcard_of(const struct hf_conf *conf, const struct hf_conf_pool *pool, uint8_t family)
{
	for (unsigned i = 0; i < conf->n_services; i++)
		for (unsigned j = 0; conf->services[i].pool == pool && j < conf->services[i].n_listens; j++)
			if (conf->services[i].listens[j].addr.family == family && hf_addr_is_any(&conf->services[i].listens[j].addr))
				return true;
	return false;
}

static void name_member(const struct hf_net *net, const char *pool, struct snap_member *m, const char *name, const char *was)
{
	snprintf(m->name, sizeof m->name, "%s", name);
	m->hash = hf_server_hash(net->site.hash_key, hf_bytes_str(pool), hf_bytes_str(name));
	if (was[0])
		m->was_hash = hf_server_hash(net->site.hash_key, hf_bytes_str(pool), hf_bytes_str(was));
}

static const struct snap_pool *pool_before(const struct hf_net *net, const char *name)
{
	for (unsigned i = 0; net->snap && i < net->snap->n_pools; i++)
		if (strcmp(net->snap->pools[i].rt->name, name) == 0)
			return &net->snap->pools[i];
	return NULL;
}

static enum hf_err clash(const struct snap_pool *p, struct hf_writer *why)
{
	for (unsigned i = 0; i < p->n_members; i++)
		for (unsigned j = 0; j < i; j++)
			if (p->members[i].hash == p->members[j].hash) {
				hf_w_printf(why, "pool %s: the names %s and %s have the same hash: rename one of them", p->rt->name, p->members[i].name, p->members[j].name);
				return HF_EEXIST;
			}
	return HF_OK;
}

static enum hf_err fill_pool(struct hf_net *net, const struct hf_conf *conf, struct snap_pool *p, struct hf_writer *why)
{
	const struct hf_conf_pool *c = p->conf;
	const struct snap_pool *before = pool_before(net, c->name);
	uint32_t size = 16;

	p->cap_members = c->n_servers + (before ? before->n_members : 0);
	if (p->cap_members > HF_SERVERS_MAX) {
		hf_w_printf(why, "pool %s: %u servers, those that left and still hold sessions among them; it may have %u", c->name, p->cap_members, HF_SERVERS_MAX);
		return HF_EFULL;
	}
	while (size < 4 * p->cap_members)
		size *= 2;
	p->mask = size - 1;
	p->members = calloc(p->cap_members ? p->cap_members : 1, sizeof *p->members);
	p->by_id = calloc(HF_SERVERS_MAX + 1, sizeof *p->by_id);
	p->by_hash = calloc(size, sizeof *p->by_hash);
	p->by_addr = calloc(size, sizeof *p->by_addr);
	if (!p->members || !p->by_id || !p->by_hash || !p->by_addr)
		return HF_ENOMEM;
	for (unsigned i = 0; i < c->n_servers; i++) {
		const struct hf_conf_server *s = &c->servers[i];
		struct snap_member *m = &p->members[p->n_members++];

		name_member(net, c->name, m, s->name, s->was);
		m->addr = s->addr;
		m->transport = s->transport;
		if (wildcard_of(conf, c, s->addr.family) && !sock_source_for(&s->addr, &m->from))
			m->from = (struct hf_addr){0};
	}
	return clash(p, why);
}

/* ---- build, drop ---- */

static void free_parts(struct hf_net *net, struct hf_snapshot *s)
{
	for (unsigned i = 0; i < s->n_services; i++) {
		struct snap_service *v = &s->services[i];

		for (unsigned j = 0; j < v->n_infos; j++) {
			free((void *)(uintptr_t)v->infos[j].uri.p);
			listeners_release(net, v->socks[j]);
		}
		free(v->infos);
		free(v->socks);
		free(v->own);
	}
	for (unsigned i = 0; i < s->n_pools; i++) {
		free(s->pools[i].members);
		free(s->pools[i].by_id);
		free(s->pools[i].by_hash);
		free(s->pools[i].by_addr);
	}
	free(s->services);
	free(s->pools);
}

void snapshot_free(struct hf_net *net, struct hf_snapshot *s)
{
	free_parts(net, s);
	hf_conf_free(s->conf);
	free(s);
}

void hf_snapshot_drop(struct hf_net *net, struct hf_snapshot *s)
{
	snapshot_free(net, s);
	lasting_forget_unpublished(net);
}

static enum hf_err build_pools(struct hf_net *net, const struct hf_conf *conf, struct hf_snapshot *s, struct hf_writer *why)
{
	for (unsigned i = 0; i < conf->n_pools; i++) {
		struct snap_pool *p = &s->pools[s->n_pools];
		enum hf_err e;

		if (!conf->pools[i].front)
			continue; /* no service sends to it */
		p->conf = &conf->pools[i];
		p->rt = lasting_pool(net, conf, p->conf, why);
		if (!p->rt)
			return HF_ENOMEM;
		s->n_pools++;
		e = fill_pool(net, conf, p, why);
		if (e != HF_OK)
			return e;
	}
	return HF_OK;
}

static enum hf_err build_service(struct hf_net *net, struct hf_snapshot *s, const struct hf_conf_service *c, struct hf_writer *why)
{
	struct snap_service *v = &s->services[s->n_services];
	enum hf_err e;

	v->conf = c;
	v->rt = lasting_service(net, c, why);
	if (!v->rt)
		return HF_ENOMEM;
	s->n_services++;
	for (unsigned i = 0; i < s->n_pools; i++)
		if (s->pools[i].conf == c->pool)
			v->pool = &s->pools[i];
	HF_BUG_ON(!v->pool);
	e = listeners_open(net, s, v, why);
	return e == HF_OK ? listeners_own(v) : e;
}

static enum hf_err unique_listeners(const struct hf_snapshot *s, struct hf_writer *why)
{
	for (unsigned i = 0; i < s->n_services; i++)
		for (unsigned j = 0; j < s->services[i].n_infos; j++)
			for (unsigned k = 0; k < j; k++)
				if (s->services[i].infos[j].hash == s->services[i].infos[k].hash) {
					hf_w_printf(why, "service %s: two listeners have the same hash: change the port of one", s->services[i].rt->name);
					return HF_EEXIST;
				}
	return HF_OK;
}

enum hf_err hf_snapshot_build(struct hf_net *net, struct hf_conf *conf, struct hf_snapshot **out, struct hf_writer *why)
{
	struct hf_snapshot *s = calloc(1, sizeof *s);
	enum hf_err e = HF_ENOMEM;

	net->now_ms = hf_clock_ms();
	if (!s)
		goto out;
	s->pools = calloc(conf->n_pools + 1, sizeof *s->pools);
	s->services = calloc(conf->n_services + 1, sizeof *s->services);
	if (!s->pools || !s->services)
		goto out;
	e = build_pools(net, conf, s, why);
	for (unsigned i = 0; e == HF_OK && i < conf->n_services; i++)
		e = build_service(net, s, &conf->services[i], why);
	if (e == HF_OK)
		e = unique_listeners(s, why);
	if (e == HF_OK) {
		s->conf = conf;
		*out = s;
		return HF_OK;
	}
out:
	if (why->n == 0)
		hf_w_str(why, hf_err_text(e));
	if (s) {
		free_parts(net, s);
		free(s);
	}
	lasting_forget_unpublished(net);
	return e;
}

/* ---- publish ---- */

/* Servers that left the file but still hold sessions stay members: their sessions go on. */
static void keep_removed(struct snap_pool *p, const struct snap_pool *before)
{
	for (unsigned i = 0; before && i < before->n_members; i++) {
		const struct snap_member *m = &before->members[i];
		struct hf_server_view v;

		if (p->by_id[m->id] || !hf_engine_server(p->rt->engine, m->id, &v) || !v.removed || strcmp(v.name, m->name) != 0)
			continue;
		p->members[p->n_members] = *m;
		p->members[p->n_members].removed = true;
		snap_index(p, p->n_members++);
	}
}

static enum hf_err apply(struct hf_net *net, struct snap_pool *p)
{
	const struct hf_conf_pool *c = p->conf;
	struct hf_member_conf *m = calloc(c->n_servers + 1, sizeof *m);
	uint16_t *ids = calloc(c->n_servers + 1, sizeof *ids);
	enum hf_err e = HF_ENOMEM;

	if (m && ids) {
		for (unsigned i = 0; i < c->n_servers; i++)
			m[i] = (struct hf_member_conf){.name = hf_bytes_str(c->servers[i].name), .was = hf_bytes_str(c->servers[i].was),
				.weight = c->servers[i].weight, .max_sessions = c->servers[i].max_sessions};
		e = hf_engine_apply(p->rt->engine, m, c->n_servers, ids, net->now_ms);
	}
	if (e == HF_OK) {
		hf_engine_tune(p->rt->engine, (uint32_t)c->load_factor, (enum hf_fallback)c->fallback);
		for (unsigned i = 0; i < c->n_servers; i++) {
			p->members[i].id = ids[i];
			snap_index(p, i);
		}
		keep_removed(p, pool_before(net, c->name));
		p->rt->published = true;
	}
	free(m);
	free(ids);
	return e;
}

/* A pool that no service uses any more: its servers take no new sessions, what they hold goes on while flows last. */
static enum hf_err retire(struct hf_net *net, const struct hf_snapshot *s)
{
	for (unsigned i = 0; i < net->n_pools; i++) {
		bool used = false;

		for (unsigned j = 0; j < s->n_pools; j++)
			used |= s->pools[j].rt == net->pools[i];
		if (!used && hf_engine_apply(net->pools[i]->engine, NULL, 0, NULL, net->now_ms) != HF_OK)
			return HF_ENOMEM;
	}
	return HF_OK;
}

static void hand_out(struct hf_net *net, struct hf_snapshot *s)
{
	for (unsigned i = 0; i < net->n_workers; i++) {
		atomic_store(&net->workers[i].next, s);
		worker_wake(&net->workers[i]);
	}
}

enum hf_err hf_net_publish(struct hf_net *net, struct hf_snapshot *s, struct hf_writer *why)
{
	enum hf_err e = HF_OK;

	net->now_ms = hf_clock_ms();
	if (net->n_old == sizeof net->old / sizeof net->old[0]) {
		hf_w_str(why, "the workers have not taken the configurations before this one: try again");
		return HF_EFULL;
	}
	for (unsigned i = 0; e == HF_OK && i < s->n_pools; i++)
		e = apply(net, &s->pools[i]);
	if (e == HF_OK)
		e = retire(net, s);
	if (e != HF_OK) {
		hf_w_printf(why, "a pool could not be changed: %s", hf_err_text(e));
		return e;
	}
	s->generation = ++net->generation;
	if (net->snap)
		net->old[net->n_old++] = net->snap;
	net->snap = s;
	hand_out(net, s);
	probes_apply(net->probes);
	return HF_OK;
}

void snapshot_receipts(struct hf_net *net)
{
	unsigned least = net->generation;

	for (unsigned i = 0; i < net->n_workers; i++) {
		unsigned g = atomic_load(&net->workers[i].seen);

		least = g < least ? g : least;
	}
	for (unsigned i = 0; i < net->n_old;)
		if (net->old[i]->generation < least) {
			snapshot_free(net, net->old[i]);
			net->old[i] = net->old[--net->n_old];
		} else {
			i++;
		}
}
