/* Net as the control thread sees it: start, stop, and the views for listings. See holdfast/net.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "anchors.h"
#include "gate.h"
#include "guard.h"
#include "discover.h"
#include "keepers.h"
#include "names.h"
#include "probe.h"
#include "peers.h"
#include "search.h"
#include "sources.h"
#include "tale.h"

#define SWEEP_MS 500        /* between looks at a sixteenth of the sessions that will be told of */
#define BOX_MIN (512u * 1024) /* the largest letter fits, a few times */

static void receipt(void *arg, unsigned what)
{
	struct hf_net *net = arg;
	uint64_t n;

	(void)what;
	while (read(net->receipt_fd, &n, sizeof n) < 0 && errno == EINTR)
		;
	snapshot_receipts(net);
}

static void sweep(void *arg)
{
	struct hf_net *net = arg;

	tales_sweep(net, hf_clock_ms());
	hf_timer_set(net->tales_sweep, SWEEP_MS);
}

static void free_all(struct hf_net *net)
{
	for (unsigned i = 0; i < net->n_workers; i++)
		worker_stop(&net->workers[i]);
	for (unsigned i = 0; i < net->n_workers; i++)
		worker_fini(&net->workers[i]);
	probes_free(net->probes);
	discover_free(net->discover);
	names_free(net->names);
	searches_free(net->searches);
	sources_free(net->sources);
	sources_free(net->path_sources);
	anchors_free(net->anchors);
	peers_free(net->peers);
	keepers_free(net->keepers);
	hf_timer_free(net->tales_sweep);
	tales_free(net->tales);
	if (net->old)
		snapshot_free(net, net->old);
	if (net->snap)
		snapshot_free(net, net->snap);
	if (hf_disk_stop(net->disk)) /* else its thread still looks at them */
		lasting_free_pools(net);
	for (unsigned i = 0; i < net->n_services; i++) {
		said_free(net->services[i]->said);
		free(net->services[i]->counts);
		free(net->services[i]);
	}
	free(net->services);
	free(net->socks);
	hf_watch_free(net->receipt);
	if (net->receipt_fd >= 0)
		close(net->receipt_fd);
	free(net->workers);
	free(net);
}

static void look_at_clock(struct hf_net *net) { atomic_store_explicit(&net->unix_less_ms, hf_clock_unix_ms() - hf_clock_ms(), memory_order_relaxed); }

struct hf_net *hf_net_new(struct hf_loop *control, const struct hf_site *site, unsigned workers, size_t letter_box)
{
	struct hf_net *net = calloc(1, sizeof *net);

	if (!net)
		return NULL;
	HF_BUG_ON(workers == 0 || workers > NET_WORKERS_MAX);
	net->control = control;
	net->site = *site;
	hf_random(net->tls_keys, sizeof net->tls_keys);
	look_at_clock(net);
	net->letter_box = letter_box < BOX_MIN ? BOX_MIN : letter_box;
	net->receipt_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	net->receipt = net->receipt_fd >= 0 ? hf_watch_new(control, net->receipt_fd, HF_READ, receipt, net) : NULL;
	net->workers = calloc(workers, sizeof *net->workers);
	net->probes = probes_new(net);
	net->names = names_new(net);
	net->discover = discover_new(net);
	net->searches = searches_new(net);
	net->sources = sources_new(site->hash_key);
	net->path_sources = sources_new(site->hash_key);
	net->anchors = anchors_new(site->hash_key);
	net->peers = peers_new(site->hash_key);
	net->keepers = workers > 1 ? keepers_new() : NULL;
	net->tales = tales_new();
	net->tales_sweep = hf_timer_new(control, sweep, net);
	if (!net->receipt || !net->workers || !net->probes || !net->names || !net->discover || !net->searches || !net->sources || !net->path_sources || !net->anchors || !net->peers || (workers > 1 && !net->keepers) || !net->tales || !net->tales_sweep)
		goto out;
	for (unsigned i = 0; i < workers; i++)
		net->workers[i].wake_fd = -1;
	for (unsigned i = 0; i < workers; i++) {
		net->n_workers = i + 1;
		if (worker_init(net, i) != HF_OK)
			goto out;
	}
	return net;
out:
	free_all(net);
	return NULL;
}

enum hf_err hf_net_start(struct hf_net *net)
{
	sigset_t all, old;
	enum hf_err e = HF_OK;

	sigfillset(&all); /* signals are the control thread's */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (unsigned i = 0; e == HF_OK && i < net->n_workers; i++) {
		e = worker_start(&net->workers[i]);
		net->workers[i].running = e == HF_OK;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	net->started = e == HF_OK;
	if (e == HF_OK && net->disk)
		e = hf_disk_start(net->disk);
	return e;
}

void hf_net_stop(struct hf_net *net) { free_all(net); }

void hf_net_session_log(struct hf_net *net, struct hf_lines *lines)
{
	net->lines = lines;
	hf_timer_set(net->tales_sweep, SWEEP_MS);
}

void hf_net_second(struct hf_net *net)
{
	look_at_clock(net);
	lasting_heed(net);
}

void hf_net_end_off(struct hf_net *net)
{
	atomic_fetch_add(&net->offs, 1);
	for (unsigned i = 0; i < net->n_workers; i++)
		worker_wake(&net->workers[i]);
}

/* ---- views ---- */

const struct hf_conf *hf_net_conf(const struct hf_net *net) { return net->snap->conf; }
unsigned hf_net_generation(const struct hf_net *net) { return net->generation; }
unsigned hf_net_workers(const struct hf_net *net) { return net->n_workers; }
const struct hf_site *hf_net_site(const struct hf_net *net) { return &net->site; }

bool hf_net_listener(const struct hf_net *net, unsigned i, struct hf_listener_view *v)
{
	for (unsigned s = 0; s < net->snap->n_services; s++) {
		const struct snap_service *x = &net->snap->services[s];

		if (i < x->n_infos) {
			*v = (struct hf_listener_view){x->rt->name, &x->infos[i]};
			return true;
		}
		i -= x->n_infos;
	}
	return false;
}

static uint64_t get(const _Atomic uint64_t *p) { return atomic_load_explicit(p, memory_order_relaxed); }

static void add_names(const struct counts *from, struct hf_service_counts *c)
{
	for (unsigned i = 0; i < HF_NAMES_MAX; i++) {
		c->asked[i] += get(&from->asked[i]);
		for (unsigned k = 0; k < HF_CLASSES; k++)
			c->answered[i][k] += get(&from->answered[i][k]);
	}
}

bool hf_net_counts(const struct hf_net *net, const char *service, struct hf_service_counts *c)
{
	const struct snap_service *s;

	for (unsigned i = 0; i < net->n_services; i++) {
		const struct service_rt *rt = net->services[i];

		if (strcmp(rt->name, service) != 0)
			continue;
		*c = (struct hf_service_counts){0};
		for (unsigned w = 0; w < net->n_workers; w++) {
			c->parcels += get(&rt->counts[w].parcels);
			c->flows += get(&rt->counts[w].flows);
			c->open_flows += get(&rt->counts[w].open_flows);
			c->paths += get(&rt->counts[w].paths);
			c->open_paths += get(&rt->counts[w].open_paths);
			add_names(&rt->counts[w], c);
			for (unsigned r = 0; r < HF_REASON_MAX; r++)
				c->reasons[r] += get(&rt->counts[w].reasons[r]);
		}
		s = snap_service(net->snap, rt->id);
		c->sessions = s ? snap_sessions(s) : 0;
		return true;
	}
	return false;
}

const char *hf_reason_name(const struct hf_front *front, unsigned r)
{
	if (r < HF_R_COUNT)
		return hf_reasons[r].name;
	return front && r >= HF_REASON_FRONT && r - HF_REASON_FRONT < front->n_reasons ? front->reasons[r - HF_REASON_FRONT].name : NULL;
}

static const struct snap_pool *pool_named(const struct hf_net *net, const char *name)
{
	for (unsigned i = 0; i < net->snap->n_pools; i++)
		if (strcmp(net->snap->pools[i].rt->name, name) == 0)
			return &net->snap->pools[i];
	return NULL;
}

bool hf_net_disk(const struct hf_net *net, const char *pool, struct hf_disk_view *v) { return hf_disk_view(net->disk, pool, v); }

struct hf_engine *hf_net_engine(const struct hf_net *net, const char *pool)
{
	const struct snap_pool *p = pool_named(net, pool);

	return p ? p->rt->engine : NULL;
}

bool hf_net_member(const struct hf_net *net, const char *pool, uint16_t id, struct hf_member_view *v)
{
	const struct snap_pool *p = pool_named(net, pool);
	const struct snap_member *m = p ? snap_by_id(p, id) : NULL;

	if (!m)
		return false;
	*v = (struct hf_member_view){.host = m->host, .addr = m->addr, .transport = m->transport, .removed = m->removed};
	memcpy(v->last_failure, p->rt->members[id].last_failure, sizeof v->last_failure);
	v->last_failure_ms = p->rt->members[id].last_failure_ms;
	memcpy(v->agent, p->rt->members[id].agent, sizeof v->agent);
	v->connecting = gate_opening(&p->rt->members[id]);
	v->queued = gate_waiting(&p->rt->members[id]);
	v->agent_ms = p->rt->members[id].agent_ms;
	v->agent_port = p->rt->members[id].agent_port;
	return true;
}

void hf_net_member_counts(const struct hf_net *net, const char *pool, uint16_t id, struct hf_member_counts *c)
{
	const struct snap_pool *p = pool_named(net, pool);
	const struct snap_member *m = p ? snap_by_id(p, id) : NULL;

	*c = (struct hf_member_counts){0};
	for (unsigned w = 0; m && p->rt->tallies && w < net->n_workers; w++) {
		struct tally *t = &p->rt->tallies[(size_t)w * (HF_SERVERS_MAX + 1) + id];

		if (atomic_load_explicit(&t->server, memory_order_relaxed) != m->hash)
			continue;
		for (unsigned i = 0; i < HF_WHY_COUNT; i++)
			c->why[i] += get(&t->why[i]);
		for (unsigned i = 0; i < HF_CLASSES; i++)
			c->answers[i] += get(&t->answers[i]);
	}
}

const char *hf_net_service_name(const struct hf_net *net, uint16_t id, const struct hf_front **front)
{
	if (id == 0 || id > net->n_services)
		return NULL;
	*front = net->services[id - 1]->front;
	return net->services[id - 1]->name;
}

static const struct snap_pool *choice_named(const struct snap_service *s, const char *name)
{
	for (unsigned i = 0; i < s->conf->n_choices; i++)
		if (strcmp(s->pools[i]->rt->name, name) == 0)
			return s->pools[i];
	return NULL;
}

bool hf_net_ctx(const struct hf_net *net, const char *pool, struct hf_arena *arena, struct hf_ctx *ctx, const struct hf_conf_service **service)
{
	bool best = false; /* one that sends there by choice */

	for (unsigned i = 0; i < net->snap->n_services; i++) {
		const struct snap_service *s = &net->snap->services[i];
		const struct snap_pool *p = pool ? choice_named(s, pool) : s->pool;

		if (!p || (best && p != s->pool))
			continue;
		net_ctx(net, s, arena, hf_clock_ms(), ctx);
		net_ctx_pool(s, p, ctx);
		*service = s->conf;
		if (p == s->pool)
			return true;
		best = true;
	}
	return best;
}
