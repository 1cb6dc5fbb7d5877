/* Snapshots: all that the configuration decides, found, planned and opened before anything changes, then published whole.
 * Control thread. Readers only read: a published snapshot is never written again. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "discover.h"
#include "inside.h"
#include "names.h"
#include "probe.h"
#include "search.h"
#include "tls.h"

#define RECEIPTS_MS 1000 /* a worker takes a snapshot at its next turn, within milliseconds; one that does not holds up the control loop no longer */

/* ---- build, drop ---- */

static void free_parts(struct hf_net *net, struct hf_snapshot *s)
{
	for (unsigned i = 0; i < s->n_services; i++) {
		struct snap_service *v = &s->services[i];

		for (unsigned j = 0; j < v->n_infos; j++) {
			free((void *)(uintptr_t)v->infos[j].uri.p);
			listeners_release(net, v->socks[j]);
		}
		tls_drop(v->tls);
		free(v->pools);
		free(v->infos);
		free(v->socks);
		free(v->own);
	}
	for (unsigned i = 0; i < s->n_pools; i++) {
		tls_drop(s->pools[i].tls);
		roster_free(&s->pools[i]);
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

static struct snap_pool *pool_of(const struct hf_snapshot *s, const struct hf_conf_pool *c)
{
	for (unsigned i = 0; i < s->n_pools; i++)
		if (s->pools[i].conf == c)
			return &s->pools[i];
	return NULL;
}

static const struct snap_service *service_of(const struct hf_snapshot *s, const struct hf_conf_service *c)
{
	for (unsigned i = 0; i < s->n_services; i++)
		if (s->services[i].conf == c)
			return &s->services[i];
	return NULL;
}

/* What a configuration names in files is read when it is new. When only an address of it changes, what was read goes on: a file may be gone by then, or
 * another one that only a reload takes. */
static bool files_of_pool(const struct hf_net *net, const struct hf_conf *conf, struct snap_pool *p, struct hf_writer *why)
{
	const struct snap_pool *now = net->snap ? pool_of(net->snap, p->conf) : NULL;

	if (now)
		p->tls = tls_keep(now->tls);
	return now || (layers_of_pool(conf, p, why) && probe_program_fit(p->conf, why));
}

static bool files_of_service(const struct hf_net *net, struct snap_service *v, struct hf_writer *why)
{
	const struct snap_service *now = net->snap ? service_of(net->snap, v->conf) : NULL;

	if (now)
		v->tls = tls_keep(now->tls);
	return now || layers_of_service(net, v, why);
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
		if (!files_of_pool(net, conf, p, why))
			return HF_EINVAL;
		e = roster_make(net, conf, p, why);
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
	v->pools = calloc(c->n_choices, sizeof(struct snap_pool *));
	if (!v->pools)
		return HF_ENOMEM;
	for (unsigned k = 0; k < c->n_choices; k++) {
		v->pools[k] = pool_of(s, c->choices[k].pool);
		HF_BUG_ON(!v->pools[k]);
	}
	v->pool = v->pools[0];
	if (!files_of_service(net, v, why))
		return HF_EINVAL;
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

static void enact(struct hf_net *net, struct snap_pool *p)
{
	const struct hf_conf_pool *c = p->conf;
	struct hf_engine_conf tuned = lasting_engine_conf(net, c);

	hf_engine_tune(p->rt->engine, &tuned);
	hf_engine_rule(p->rt->engine, &(struct hf_rules){c->on_down, c->drain_bound == HF_CONF_DRAIN_MOVES, c->drain_deadline, c->removed_expiry});
	hf_engine_enact(p->rt->engine, p->plan, p->n_listed, p->plan_ids, net->now_ms);
	p->enacted = true;
	lasting_published(net, p->rt);
}

static bool has_pool(const struct hf_snapshot *s, const struct pool_rt *rt) { return s && snap_pool(s, rt); }

/* A pool that no service uses any more: its servers take no new sessions, what they hold goes on while flows last. */
static void retire(struct hf_net *net)
{
	for (unsigned i = 0; i < net->n_pools; i++)
		if (!has_pool(net->snap, net->pools[i]))
			hf_engine_enact(net->pools[i]->engine, NULL, 0, NULL, net->now_ms);
}

static bool all_have_it(const struct hf_net *net)
{
	for (unsigned i = 0; i < net->n_workers; i++)
		if (net->workers[i].running && atomic_load(&net->workers[i].seen) != net->generation)
			return false;
	return true;
}

void snapshot_receipts(struct hf_net *net)
{
	if (!net->snap || !all_have_it(net))
		return;
	if (net->settled != net->generation) {
		for (unsigned i = 0; i < net->snap->n_pools; i++)
			if (!net->snap->pools[i].enacted)
				enact(net, &net->snap->pools[i]);
		retire(net);
		probes_apply(net->probes);
		net->settled = net->generation;
	}
	if (net->old)
		snapshot_free(net, net->old);
	net->old = NULL;
}

static void hand_out(struct hf_net *net, struct hf_snapshot *s)
{
	for (unsigned i = 0; i < net->n_workers; i++) {
		atomic_store(&net->workers[i].next, s);
		worker_wake(&net->workers[i]);
	}
}

static void await_receipts(struct hf_net *net)
{
	uint64_t end = net->now_ms + RECEIPTS_MS, n;

	while (!all_have_it(net) && hf_clock_ms() < end) {
		struct pollfd p = {.fd = net->receipt_fd, .events = POLLIN};

		if (poll(&p, 1, (int)(RECEIPTS_MS / 10)) > 0 && read(net->receipt_fd, &n, sizeof n) < 0 && errno != EAGAIN && errno != EINTR)
			return;
	}
}

/* Workers know a server before the engine may name it, and ids are not given anew before all have let go of who had them. So the engines
 * change last, when the workers have answered: at once as a rule, else with their receipts. */
enum hf_err hf_net_publish(struct hf_net *net, struct hf_snapshot *s, struct hf_writer *why)
{
	bool fresh;

	if (net->old) {
		hf_w_str(why, "the workers have not taken the configuration before this one: try again");
		return HF_EFULL;
	}
	net->now_ms = hf_clock_ms();
	fresh = !net->snap || net->snap->conf != s->conf;
	s->generation = ++net->generation;
	net->old = net->snap;
	net->snap = s;
	for (unsigned i = 0; i < s->n_pools; i++)
		if (!has_pool(net->old, s->pools[i].rt)) /* no worker asks it yet, and all will */
			enact(net, &s->pools[i]);
	if (net->disk)
		hf_disk_interval(net->disk, s->conf->gateway.sync_interval);
	listeners_tune(net, s);
	hand_out(net, s);
	await_receipts(net);
	snapshot_receipts(net);
	names_follow(net->names, fresh);
	discover_follow(net->discover, fresh);
	if (fresh)
		searches_afresh(net->searches);
	return HF_OK;
}
