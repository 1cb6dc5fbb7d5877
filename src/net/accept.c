/* Accepting: a connection becomes a flow in OPENING with its one deadline, or is refused with a reason. */
#include <errno.h>
#include <unistd.h>

#include "flow.h"
#include "guard.h"
#include "proxy.h"
#include "sock.h"
#include "sources.h"
#include "tale.h"

#define ACCEPTS 32         /* connections taken a turn at most, so that others get theirs */
#define CALM 16            /* turns that must all have found as many as they looked for, before they look for more: a look in vain costs as well */
#define PAUSE_MS 100       /* out of descriptors: accepting pauses, without spinning */

/* Counts a flow for its source; false: the source has as many as it may. */
static bool enter(struct flow *f, const struct hf_conf_service *c)
{
	enum source_verdict v = sources_enter(f->w->net->sources, &f->source, c->max_flows_source, c->max_openings_source, &f->source_at);

	f->counted = v == SOURCE_COUNTED;
	return v != SOURCE_REFUSED;
}

void accept_opened(struct flow *f)
{
	if (f->counted && !f->opened)
		sources_opened(f->w->net->sources, f->source_at);
	f->opened = true;
}

void accept_leave(struct flow *f)
{
	if (f->counted)
		sources_leave(f->w->net->sources, f->source_at, !f->opened);
	f->counted = false;
}

enum hf_err accept_proxy(struct flow *f, unsigned *reason)
{
	struct buf *in = &f->side[HF_CLIENT].in;
	const struct snap_service *s = snap_service(f->w->snap, f->service);
	size_t used = 0;
	enum proxy_verdict v = proxy_read(buf_view(in), &used, &f->source, &f->local);

	*reason = !s ? HF_R_SERVICE_REMOVED : HF_R_PROXY_HEADER;
	if (v == PROXY_MORE && s && !f->side[HF_CLIENT].eof)
		return HF_ENOENT;
	if (v != PROXY_GOOD || !s)
		return HF_EINVAL;
	buf_took(in, used);
	f->proxied = false;
	if (!layers_accept(f, s)) {
		*reason = HF_R_NO_MEMORY;
		return HF_ENOMEM;
	}
	*reason = HF_R_DENIED;
	if (!guard_admits(s, snap_listener(s, f->listener, NULL), &f->source))
		return HF_EINVAL;
	*reason = HF_R_SOURCE_LIMIT;
	return enter(f, s->conf) ? HF_OK : HF_EFULL;
}

/* HF_R_NONE, or why it cannot be. */
static unsigned begin(struct listening *l, const struct snap_service *s, int fd, const struct hf_addr *source)
{
	bool framed = s->rt->front->framed, proxied = snap_in(&s->conf->proxy_from, source);
	struct flow *f;

	if (!proxied && !guard_admits(s, &s->infos[l->at], source))
		return HF_R_DENIED;
	f = flow_new(l->w, framed);
	if (!f)
		return HF_R_NO_MEMORY;
	f->rt = s->rt;
	f->pool = s->pool->rt;
	f->service = s->rt->id;
	f->listener = s->infos[l->at].hash;
	f->source = *source;
	f->proxied = proxied;
	if (!f->proxied && !enter(f, s->conf)) {
		flow_free(f);
		return HF_R_SOURCE_LIMIT;
	}
	f->local = s->infos[l->at].wildcard ? sock_local(fd) : s->infos[l->at].addr;
	f->phase = PHASE_OPENING;
	f->transport = s->infos[l->at].transport;
	f->side[HF_CLIENT].fd = fd;
	watch_init(&f->side[HF_CLIENT].watch, l->w->poller, fd, conn_client_ready, f);
	if (!timer_init(&f->deadline, poller_timers(l->w->poller), conn_expired, f) || (framed && !watch_set(&f->side[HF_CLIENT].watch, HF_READ)) ||
		(!f->proxied && !layers_accept(f, s))) {
		watch_fini(&f->side[HF_CLIENT].watch);
		timer_fini(&f->deadline);
		accept_leave(f);
		flow_free(f);
		return HF_R_NO_MEMORY;
	}
	f->tale = framed ? NULL : tale_flow(l->w);
	if (framed) {
		sock_patience(fd);
		stream_begin(f);
	}
	conn_deadline(f, s->conf->handshake_timeout);
	worker_bump(&s->rt->counts[l->w->index].flows, 1);
	worker_bump(&s->rt->counts[l->w->index].open_flows, 1);
	if (!framed)
		conn_client_ready(f, HF_READ); /* its opening is here most often, which spares a turn; it is watched behind that */
	return HF_R_NONE;
}

static void refuse(struct listening *l, const struct snap_service *s, int fd, unsigned reason)
{
	close(fd);
	atomic_fetch_sub_explicit(&l->w->net->open_flows, 1, memory_order_relaxed);
	worker_count(l->w, s->rt, reason);
}

static void resume(void *arg)
{
	struct listening *l = arg;

	if (!watch_set(&l->watch, HF_READ))
		timer_set(&l->pause, PAUSE_MS);
}

static void pause_accepting(struct listening *l)
{
	if (!l->pause.of && !timer_init(&l->pause, poller_timers(l->w->poller), resume, l))
		return;
	watch_set(&l->watch, 0);
	timer_set(&l->pause, PAUSE_MS);
}

/* Takes one; false: there is none. */
static bool take(struct listening *l, const struct snap_service *s)
{
	struct worker *w = l->w;
	struct sockaddr_storage ss;
	socklen_t n = sizeof ss;
	struct hf_addr source;
	unsigned reason = HF_R_FLOW_LIMIT;
	int fd = accept4(l->socks->fd[w->index], (struct sockaddr *)&ss, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		if (sock_want(errno))
			pause_accepting(l);
		return false;
	}
	sock_get_addr(&ss, &source);
	if (atomic_fetch_add_explicit(&w->net->open_flows, 1, memory_order_relaxed) < w->snap->conf->gateway.max_flows)
		reason = begin(l, s, fd, &source);
	if (reason != HF_R_NONE)
		refuse(l, s, fd, reason);
	return true;
}

/* As many as came the last time, and more when that is too few for long: what is left is found by the next turn. */
void conn_acceptable(void *arg, unsigned what)
{
	struct listening *l = arg;
	const struct snap_service *s = snap_service(l->w->snap, l->service);
	unsigned n = 0, burst = l->burst ? l->burst : 1;

	(void)what;
	HF_BUG_ON(!s);
	worker_clock(l->w);
	while (n < burst && take(l, s))
		n++;
	if (n < burst) {
		l->burst = n;
		l->calm = CALM;
	} else if (l->calm) {
		l->calm--;
	} else if (burst < ACCEPTS) {
		l->burst = burst * 2 < ACCEPTS ? burst * 2 : ACCEPTS;
	}
}
