/* The life of a path: the table of a worker, begin, the ends; see path.h. What it carries is path_copy.c's. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "path_in.h"
#include "holdfast/clock.h"
#include "holdfast/hash.h"
#include "sock.h"
#include "sources.h"
#include "tell.h"
#include "udp.h"

#define BUCKETS 16384u  /* a power of two; as in peers.c */
#define GRACE_MS 2000   /* what a server still says when its session has ended goes on to the client for so long */

struct paths {
	struct path *by_client[BUCKETS], *by_flow[BUCKETS];
	unsigned n;
};

struct paths *paths_new(void)
{
	/* mapped, so that a gateway without such flows pays nothing for it */
	void *p = mmap(NULL, sizeof(struct paths), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- the table ---- */

static struct path **client_list(struct worker *w, const struct hf_addr *client, uint32_t listener)
{
	uint8_t at[22];

	memcpy(at, client->ip, 16);
	hf_put16(at + 16, client->port);
	memcpy(at + 18, &listener, 4);
	return &w->paths->by_client[hf_sip13(w->net->site.hash_key, hf_bytes_of(at, sizeof at)) % BUCKETS];
}

static struct path **flow_list(struct worker *w, const struct hf_flow_name *f)
{
	return &w->paths->by_flow[(f->slot * w->net->n_workers + f->worker) % BUCKETS];
}

struct path *path_find(struct worker *w, uint32_t listener, const struct hf_addr *client, const struct hf_addr *local)
{
	struct path *p;

	if (!w->paths->n)
		return NULL;
	for (p = *client_list(w, client, listener); p; p = p->next_client)
		if (p->listener == listener && hf_addr_eq(&p->client, client) && hf_addr_eq(&p->local, local))
			break;
	return p;
}

static void enter(struct path *p)
{
	struct path **c = client_list(p->w, &p->client, p->listener), **f = flow_list(p->w, &p->beside.flow);

	p->next_client = *c;
	*c = p;
	p->next_flow = *f;
	*f = p;
	p->w->paths->n++;
}

static void leave(struct path *p)
{
	struct path **c = client_list(p->w, &p->client, p->listener), **f = flow_list(p->w, &p->beside.flow);

	while (*c != p)
		c = &(*c)->next_client;
	*c = p->next_client;
	while (*f != p)
		f = &(*f)->next_flow;
	*f = p->next_flow;
	p->w->paths->n--;
}

/* Calls fn for each; it may end the one that it is called for. */
static void each(struct worker *w, void (*fn)(struct path *))
{
	for (unsigned i = 0; i < BUCKETS && w->paths->n; i++)
		for (struct path *p = w->paths->by_client[i], *next; p; p = next) {
			next = p->next_client;
			fn(p);
		}
}

/* ---- the end ---- */

static void hang_up(struct path *p)
{
	timer_fini(&p->timer);
	watch_close(&p->watch);
}

void path_end(struct path *p, unsigned reason)
{
	struct worker *w = p->w;
	struct counts *c = &p->rt->counts[w->index];

	udp_flush(w); /* what waits for its socket: the next socket may have its number */
	if (hf_lines_wanted(w->net->lines))
		tell_path(p, reason);
	worker_count(w, p->rt, reason);
	leave(p);
	anchors_part(w->net->anchors, &p->beside);
	if (p->counted)
		sources_leave(w->net->path_sources, p->source_at, false);
	atomic_fetch_sub_explicit(&w->net->open_paths, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&c->open_paths, 1, memory_order_relaxed);
	hf_engine_hold(p->pool->engine, p->server, -1);
	hang_up(p);
	free(p);
}

static void shut_down(struct path *p) { path_end(p, HF_R_SHUTDOWN); }

void paths_free(struct worker *w)
{
	if (!w->paths)
		return;
	each(w, shut_down);
	munmap(w->paths, sizeof *w->paths);
	w->paths = NULL;
}

static void settle(struct path *p)
{
	const struct snap_service *s = snap_service(p->w->snap, p->service);

	if (!s || !snap_listener(s, p->listener, NULL))
		path_end(p, s ? HF_R_LISTENER_REMOVED : HF_R_SERVICE_REMOVED);
}

void paths_settle(struct worker *w) { each(w, settle); }

static void end_off(struct path *p)
{
	if (hf_engine_cuts(p->pool->engine, p->server))
		path_end(p, HF_R_SERVER_OFF);
}

void paths_end_off(struct worker *w) { each(w, end_off); }

/* ---- its flow has ended ---- */

static void over(struct path *p)
{
	if (p->over)
		return;
	p->over = true;
	timer_set(&p->timer, GRACE_MS);
}

void paths_letter(struct worker *w, const struct hf_flow_name *flow)
{
	for (struct path *p = *flow_list(w, flow); p; p = p->next_flow)
		if (p->beside.flow.worker == flow->worker && p->beside.flow.slot == flow->slot && p->beside.flow.generation == flow->generation)
			over(p);
}

/* A box that is full costs no more than time: a path looks after its flow whenever its timer fires. */
void paths_flow_ended(struct flow *f, uint64_t workers)
{
	const struct letter l = {.kind = LETTER_FLOW_ENDED, .flow = conn_name(f)};

	for (unsigned i = 0; workers; i++, workers >>= 1)
		if (workers & 1 && i == f->w->index)
			paths_letter(f->w, &l.flow);
		else if (workers & 1 && !letter_post(&f->w->net->workers[i], &l, HF_NONE))
			worker_count(f->w, f->rt, HF_R_LETTER_BOX_FULL);
}

/* ---- time ---- */

/* Never moved by a datagram, so it is later than it should be, or has something left to wait for. */
static void expired(void *arg)
{
	struct path *p = arg;
	uint64_t now = hf_clock_ms(), due = p->last_ms + p->idle_ms;

	p->w->now_ms = now;
	if (p->over)
		path_end(p, HF_R_SESSION_ENDED);
	else if (!p->shown)
		path_end(p, HF_R_HANDSHAKE_TIMEOUT);
	else if (now >= due)
		path_end(p, HF_R_SILENT);
	else if (!anchors_lives(p->w->net->anchors, &p->beside))
		over(p);
	else
		timer_set(&p->timer, due - now);
}

/* ---- the beginning ---- */

/* Counts it among its source's, its flow's and all. HF_R_NONE, or of whom there are as many as may be. */
static unsigned count(struct path *p, const struct snap_service *s)
{
	struct hf_net *net = p->w->net;
	enum source_verdict v = sources_enter(net->path_sources, &p->client, s->conf->max_flows_source, 0, &p->source_at);

	if (v == SOURCE_REFUSED)
		return HF_R_SOURCE_LIMIT;
	p->counted = v == SOURCE_COUNTED;
	if (atomic_fetch_add_explicit(&net->open_paths, 1, memory_order_relaxed) < p->w->snap->conf->gateway.max_flows &&
	    anchors_join(net->anchors, &p->beside, p->w->index))
		return HF_R_NONE;
	atomic_fetch_sub_explicit(&net->open_paths, 1, memory_order_relaxed);
	if (p->counted)
		sources_leave(net->path_sources, p->source_at, false);
	return HF_R_FLOW_LIMIT;
}

static struct path *make(const struct parcel *q, const struct snap_member *m, uint32_t idle_ms)
{
	struct path *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->w = q->w;
	p->rt = q->rt;
	p->pool = q->pool;
	p->service = q->rt->id;
	p->server = m->id;
	p->listener = q->ev.listener->hash;
	p->client = q->ev.source;
	p->local = q->ev.local;
	p->beside = q->beside;
	p->begin_ms = p->last_ms = q->w->now_ms;
	p->idle_ms = idle_ms;
	return p;
}

/* Its socket, watched. HF_R_NONE, or why there is none. */
static unsigned dial(struct path *p, const struct snap_member *m)
{
	int fd = sock_connect(&m->addr, false, NULL);

	if (fd < 0)
		return sock_want(errno) ? HF_R_NO_MEMORY : HF_R_DIAL_FAILED;
	watch_init(&p->watch, p->w->poller, fd, path_readable, p);
	if (timer_init(&p->timer, poller_timers(p->w->poller), expired, p) && watch_set(&p->watch, HF_READ))
		return HF_R_NONE;
	hang_up(p);
	return HF_R_NO_MEMORY;
}

/* HF_R_NONE: it is counted and has its socket. */
static unsigned open_to(struct path *p, const struct snap_service *s, const struct snap_member *m)
{
	unsigned why = dial(p, m);

	if (why != HF_R_NONE)
		return why;
	why = count(p, s);
	if (why != HF_R_NONE)
		hang_up(p);
	return why;
}

void path_begin(struct parcel *q, uint32_t idle_ms)
{
	const struct snap_member *m = q->beside.name ? worker_by_hash(q->w, q->at, q->beside.server) : NULL;
	struct path *p = m ? make(q, m, idle_ms) : NULL;
	struct counts *c = &q->rt->counts[q->w->index];
	uint64_t wait = q->service->conf->handshake_timeout;
	unsigned why = !m ? HF_R_NOT_A_MEMBER : !p ? HF_R_NO_MEMORY : open_to(p, q->service, m);

	if (why != HF_R_NONE) {
		parcel_count(q, why);
		free(p);
		return;
	}
	hf_engine_hold(p->pool->engine, p->server, 1);
	atomic_fetch_add_explicit(&c->paths, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->open_paths, 1, memory_order_relaxed);
	enter(p);
	timer_set(&p->timer, wait < idle_ms ? wait : idle_ms);
	path_up(p, q->ev.bytes);
}
