/* Who is in a pool: the servers of its configuration with the ids that the engine plans for them, and those that left and still hold
 * sessions, where they were when they left. Made before anything changes; called by snapshot.c on the control thread. */
#include <stdio.h>
#include <stdlib.h>

#include "listed.h"
#include "names.h"
#include "sock.h"

/* A member's place in the engine's keeping, so that a removed one is found after a restart: family, transport, port and scope (low octets
 * first), ip. The engine compares it. */
enum { AT_FAMILY, AT_TRANSPORT, AT_PORT, AT_SCOPE = 4, AT_IP = 8 };
_Static_assert(AT_IP + 16 <= HF_MEMBER_AT, "room for a place");

static void place_write(uint8_t at[HF_MEMBER_AT], const struct hf_addr *a, enum hf_transport t)
{
	memset(at, 0, HF_MEMBER_AT);
	at[AT_FAMILY] = a->family;
	at[AT_TRANSPORT] = (uint8_t)t;
	for (unsigned i = 0; i < 2; i++)
		at[AT_PORT + i] = (uint8_t)(a->port >> 8 * i);
	for (unsigned i = 0; i < 4; i++)
		at[AT_SCOPE + i] = (uint8_t)(a->scope >> 8 * i);
	memcpy(at + AT_IP, a->ip, sizeof a->ip);
}

bool place_kept(const uint8_t at[HF_MEMBER_AT], struct hf_addr *a, enum hf_transport *t)
{
	*a = (struct hf_addr){.family = at[AT_FAMILY], .port = (uint16_t)(at[AT_PORT] | at[AT_PORT + 1] << 8)};
	for (unsigned i = 0; i < 4; i++)
		a->scope |= (uint32_t)at[AT_SCOPE + i] << 8 * i;
	memcpy(a->ip, at + AT_IP, sizeof a->ip);
	*t = (enum hf_transport)at[AT_TRANSPORT];
	return (a->family == 4 || a->family == 6) && at[AT_TRANSPORT] < HF_TRANSPORTS;
}

static bool wildcard_of(const struct hf_conf *conf, const struct hf_conf_pool *pool, uint8_t family)
{
	for (unsigned i = 0; i < conf->n_services; i++)
		for (unsigned j = 0; hf_conf_sends_to(&conf->services[i], pool) && j < conf->services[i].n_listens; j++)
			if (conf->services[i].listens[j].addr.family == family && hf_addr_is_any(&conf->services[i].listens[j].addr))
				return true;
	return false;
}

/* By its line; by name as that was answered last; until it has been, where the server was last, in this run or the one before; all zero: it was never found. */
static struct hf_addr where_is(const struct hf_net *net, const struct hf_conf *conf, const struct snap_pool *p, const struct hf_conf_server *s)
{
	struct hf_addr a = s->addr;
	struct hf_member_record r;
	enum hf_transport t;
	uint16_t id;

	if (!s->host.n)
		return a;
	a = names_find(net->names, conf, p->conf, s);
	if (a.family)
		return a;
	id = hf_engine_find(p->rt->engine, hf_bytes_str(s->name));
	if (!id || !hf_engine_record(p->rt->engine, id, &r) || !place_kept(r.at, &a, &t))
		return (struct hf_addr){0};
	a.port = s->addr.port;
	return a;
}

struct newcomer {
	uint16_t id;
	const struct hf_member_record *names;
	struct hf_addr addr;
	enum hf_transport transport;
	struct hf_bytes tls_name, host;
	uint16_t agent;
	bool send_proxy, removed;
};

static void add(const struct hf_net *net, const struct hf_conf *conf, struct snap_pool *p, const struct newcomer *n)
{
	struct snap_member *m = &p->members[p->n_members++];
	struct hf_bytes pool = hf_bytes_str(p->conf->name);

	*m = (struct snap_member){.id = n->id, .removed = n->removed, .agent = n->agent, .send_proxy = n->send_proxy, .transport = n->transport, .addr = n->addr, .host = n->host,
		.tls_name = n->tls_name.n ? n->tls_name : p->conf->tls_name.n ? p->conf->tls_name : n->host};
	snprintf(m->name, sizeof m->name, "%s", n->names->name);
	m->hash = hf_server_hash(net->site.hash_key, pool, hf_bytes_str(n->names->name));
	for (unsigned i = 0; i < HF_FORMER_MAX && hf_member_former(n->names, i).n; i++)
		m->was_hash[i] = hf_server_hash(net->site.hash_key, pool, hf_member_former(n->names, i));
	if (wildcard_of(conf, p->conf, n->addr.family) && !sock_source_for(&n->addr, &m->from))
		m->from = (struct hf_addr){0};
}

static void add_listed(const struct hf_net *net, const struct hf_conf *conf, struct snap_pool *p)
{
	for (unsigned i = 0; i < p->n_listed; i++) {
		const struct hf_conf_server *s = &p->listed[i];
		struct hf_member_record r = {0};

		(void)hf_engine_record(p->rt->engine, p->plan_ids[i], &r);
		hf_member_rename(&r, hf_bytes_str(s->name), hf_bytes_str(s->was));
		add(net, conf, p, &(struct newcomer){p->plan_ids[i], &r, where_is(net, conf, p, s), s->transport, s->tls_name, s->host, (uint16_t)(s->agent_said ? s->agent : p->conf->agent),
			s->send_proxy_said ? s->send_proxy : p->conf->send_proxy, false});
	}
}

static bool is_planned(const struct snap_pool *p, uint16_t id)
{
	for (unsigned i = 0; i < p->n_listed; i++)
		if (p->plan_ids[i] == id)
			return true;
	return false;
}

static void add_removed(const struct hf_net *net, const struct hf_conf *conf, struct snap_pool *p)
{
	for (uint16_t id = 1; id <= hf_engine_last_id(p->rt->engine); id++) {
		struct hf_member_record r;
		struct newcomer n = {.id = id, .names = &r, .send_proxy = p->conf->send_proxy, .removed = true};

		if (!is_planned(p, id) && hf_engine_record(p->rt->engine, id, &r) && place_kept(r.at, &n.addr, &n.transport))
			add(net, conf, p, &n);
	}
}

static enum hf_err plan(const struct hf_net *net, const struct hf_conf *conf, struct snap_pool *p, struct hf_writer *why)
{
	const struct hf_conf_pool *c = p->conf;
	enum hf_err e;

	p->plan = calloc(p->n_listed + 1, sizeof *p->plan);
	p->plan_ids = calloc(p->n_listed + 1, sizeof *p->plan_ids);
	if (!p->plan || !p->plan_ids)
		return HF_ENOMEM;
	for (unsigned i = 0; i < p->n_listed; i++) {
		const struct hf_conf_server *s = &p->listed[i];
		struct hf_addr at;

		p->plan[i] = (struct hf_member_conf){.name = hf_bytes_str(s->name), .was = hf_bytes_str(s->was), .weight = s->weight, .max_sessions = s->max_sessions,
			.max_per_s = s->max_cps, .at_found = s->host.n || s->targets};
		at = where_is(net, conf, p, s);
		place_write(p->plan[i].at, &at, s->transport);
	}
	e = hf_engine_plan(p->rt->engine, p->plan, p->n_listed, p->plan_ids);
	if (e == HF_EFULL)
		hf_w_printf(why, "pool %s: more than %u servers, with those that left and still hold sessions", c->name, HF_SERVERS_MAX);
	return e;
}

static enum hf_err make_tables(struct snap_pool *p)
{
	unsigned most = p->n_listed + hf_engine_last_id(p->rt->engine);
	uint32_t size = 16;

	while (size < (1 + HF_FORMER_MAX) * 2 * most)
		size *= 2;
	p->mask = size - 1;
	p->members = calloc(most + 1, sizeof *p->members);
	p->by_id = calloc(HF_SERVERS_MAX + 1, sizeof *p->by_id);
	p->by_hash = calloc(size, sizeof *p->by_hash);
	p->by_addr = calloc(size, sizeof *p->by_addr);
	return p->members && p->by_id && p->by_hash && p->by_addr ? HF_OK : HF_ENOMEM;
}

static enum hf_err clash(const struct snap_pool *p, struct hf_writer *why)
{
	for (unsigned i = 0; i < p->n_members; i++) {
		const struct snap_member *m = &p->members[i], *first = snap_by_hash(p, m->hash);

		if (first != m) {
			hf_w_printf(why, "pool %s: the names %s and %s have the same hash: rename one of them", p->rt->name, first->name, m->name);
			return HF_EEXIST;
		}
	}
	return HF_OK;
}

enum hf_err roster_make(struct hf_net *net, const struct hf_conf *conf, struct snap_pool *p, struct hf_writer *why)
{
	enum hf_err e = listed_make(net->discover, p);

	if (e == HF_OK)
		e = plan(net, conf, p, why);
	if (e == HF_OK)
		e = make_tables(p);
	if (e != HF_OK)
		return e;
	add_listed(net, conf, p);
	add_removed(net, conf, p);
	snap_index(p);
	return clash(p, why);
}

void roster_free(struct snap_pool *p)
{
	free(p->listed);
	free(p->plan);
	free(p->plan_ids);
	free(p->members);
	free(p->by_id);
	free(p->by_hash);
	free(p->by_addr);
}
