/* Which pool and server a command means; see target.h. It changes nothing. */
#include "target.h"

#include "holdfast/nearest.h"

#define CANDIDATES 8 /* that an error lists */

enum hf_err target_pool(struct gateway *g, struct hf_bytes name, const struct hf_conf_pool **out, struct hf_writer *why)
{
	const struct hf_conf *c = hf_net_conf(g->net);
	struct hf_nearest near = {.wanted = name};

	for (unsigned i = 0; i < c->n_pools; i++) {
		if (hf_bytes_eq(name, hf_bytes_str(c->pools[i].name))) {
			*out = &c->pools[i];
			return HF_OK;
		}
		hf_nearest_add(&near, hf_bytes_str(c->pools[i].name));
	}
	hf_w_str(why, "no pool ");
	command_quote(why, name);
	hf_w_str(why, "; nearest: ");
	hf_w_nearest(why, &near);
	return HF_ENOENT;
}

/* The member of this name, if the pool has it and the file still names it; one that was removed can be switched off all the same. */
static bool member(struct gateway *g, const struct hf_conf_pool *p, const struct command *c, struct target *out)
{
	struct target t = {.pool = p, .engine = hf_net_engine(g->net, p->name)};

	t.id = t.engine ? hf_engine_find(t.engine, c->server) : HF_NO_SERVER;
	if (t.id == HF_NO_SERVER || !hf_engine_server(t.engine, t.id, &t.view) || (t.view.removed && c->kind != COMMAND_OFF))
		return false;
	*out = t;
	return true;
}

static bool wanted_pool(const struct command *c, const struct hf_conf_pool *p)
{
	return c->pool.n == 0 || hf_bytes_eq(c->pool, hf_bytes_str(p->name));
}

/* One that the file has no more, but that `servers` still lists. */
static bool is_removed(struct gateway *g, const struct hf_conf_pool *p, const struct command *c)
{
	struct hf_engine *e = hf_net_engine(g->net, p->name);
	uint16_t id = e ? hf_engine_find(e, c->server) : HF_NO_SERVER;
	struct hf_server_view v;

	return id != HF_NO_SERVER && hf_engine_server(e, id, &v) && v.removed;
}

static void say_unknown(struct gateway *g, const struct hf_conf *conf, const struct command *c, struct hf_writer *why)
{
	struct hf_nearest near = {.wanted = c->server};

	for (unsigned i = 0; i < conf->n_pools; i++)
		if (wanted_pool(c, &conf->pools[i]) && is_removed(g, &conf->pools[i], c)) {
			command_quote(why, c->server);
			hf_w_str(why, " was taken out of the file; until its last session has ended only off can be said of it");
			return;
		}
	for (unsigned i = 0; i < conf->n_pools; i++)
		for (unsigned j = 0; wanted_pool(c, &conf->pools[i]) && j < conf->pools[i].n_servers; j++)
			hf_nearest_add(&near, hf_bytes_str(conf->pools[i].servers[j].name));
	hf_w_str(why, "no server ");
	command_quote(why, c->server);
	hf_w_str(why, "; nearest: ");
	hf_w_nearest(why, &near);
}

static void say_ambiguous(struct gateway *g, const struct command *c, struct hf_writer *why)
{
	const struct hf_conf *conf = hf_net_conf(g->net);
	struct target t;
	unsigned n = 0;

	command_quote(why, c->server);
	hf_w_str(why, " stands in several pools; say one of: ");
	for (unsigned i = 0; i < conf->n_pools && n < CANDIDATES; i++)
		if (member(g, &conf->pools[i], c, &t))
			hf_w_printf(why, "%s%s/%s", n++ ? ", " : "", conf->pools[i].name, t.view.name);
}

enum hf_err target_find(struct gateway *g, const struct command *c, struct target *out, struct hf_writer *why)
{
	const struct hf_conf *conf = hf_net_conf(g->net);
	const struct hf_conf_pool *pool;
	unsigned n = 0;

	if (c->pool.n && target_pool(g, c->pool, &pool, why) != HF_OK)
		return HF_ENOENT;
	for (unsigned i = 0; i < conf->n_pools; i++)
		if (wanted_pool(c, &conf->pools[i]) && member(g, &conf->pools[i], c, out))
			n++;
	if (n == 1)
		return HF_OK;
	if (n == 0)
		say_unknown(g, conf, c, why);
	else
		say_ambiguous(g, c, why);
	return n ? HF_EEXIST : HF_ENOENT;
}
