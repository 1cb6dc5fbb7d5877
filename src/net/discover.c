/* Servers that SRV records name: each name is asked for at once, when what it said expires, and at a reload. What it said last holds until it names
 * somebody again: no answer, and one that names nobody, take nobody out. Who is a server by that, and who only stands in, is listed.c's; a change is put in
 * force by names.c. Nothing that a peer sends asks for a name. Control thread; called by net.c and snapshot.c. */
#include "discover.h"

#include <stdlib.h>

#include "holdfast/log.h"
#include "listed.h"
#include "names.h"
#include "patience.h"

#define LOOK_MS 1000    /* whether those who stand in are wanted: a second more than probes take is nothing */

struct source {
	struct discover *all;
	struct source *next;
	char host[256];
	struct resolved_srv said; /* n 0: nothing yet */
	unsigned failed;          /* in a row */
	bool kept, asking;
	struct hf_timer *timer;
};

struct discover {
	struct hf_net *net;
	struct resolver *resolver;
	struct source *list;
	struct hf_timer *look;
};

/* ---- answers ---- */

static bool same(const struct srv_target *a, const struct srv_target *b)
{
	return a->priority == b->priority && a->port == b->port && a->weight == b->weight && strcmp(a->host, b->host) == 0;
}

static bool same_answer(const struct resolved_srv *a, const struct resolved_srv *b)
{
	bool is = a->n == b->n;

	for (unsigned i = 0; is && i < a->n; i++)
		is = same(&a->target[i], &b->target[i]);
	return is;
}

static void failed(struct source *x, const char *why)
{
	if (x->failed == 0)
		hf_log(HF_LOG_WARN, "event=resolve-failed host=%s error=\"%s\" kept=%s", x->host, why, x->said.n ? "yes" : "no");
	hf_timer_set(x->timer, patience_ask_ms(x->failed++));
}

static void answered(void *arg, const struct resolved_srv *r)
{
	struct source *x = arg;

	x->asking = false;
	if (!x->kept)
		return;
	if (r->error) {
		failed(x, r->error);
		return;
	}
	x->failed = 0;
	hf_timer_set(x->timer, patience_kept_ms(r->ttl_s));
	if (same_answer(r, &x->said))
		return;
	x->said = *r;
	hf_log(HF_LOG_INFO, "event=resolved host=%s servers=%u", x->host, r->n);
	names_changed(x->all->net->names);
}

static void ask(void *arg)
{
	struct source *x = arg;
	struct discover *d = x->all;

	if (!d->resolver)
		d->resolver = resolver_new(d->net->control, &d->net->snap->conf->gateway.resolver);
	if (!d->resolver) {
		failed(x, "no resolver");
	} else if (!x->asking) {
		x->asking = true;
		resolver_ask_srv(d->resolver, x->host, answered, x);
	}
}

/* Those who stand in come when nobody else is up, and go when somebody is. */
static void look(void *arg)
{
	struct discover *d = arg;
	const struct hf_snapshot *s = d->net->snap;

	for (unsigned i = 0; i < s->n_pools; i++)
		if (listed_is_other(d, &s->pools[i])) {
			names_changed(d->net->names);
			break;
		}
	hf_timer_set(d->look, LOOK_MS);
}

/* ---- who is asked for ---- */

static struct source *find(const struct discover *d, struct hf_bytes host)
{
	for (struct source *x = d->list; x; x = x->next)
		if (hf_bytes_ieq(hf_bytes_str(x->host), host))
			return x;
	return NULL;
}

const struct resolved_srv *discover_find(const struct discover *d, struct hf_bytes host)
{
	const struct source *x = find(d, host);

	return x && x->said.n ? &x->said : NULL;
}

static void free_source(struct source *x)
{
	if (x)
		hf_timer_free(x->timer);
	free(x);
}

static void follow(struct discover *d, struct hf_bytes host)
{
	struct source *x = find(d, host);

	if (!x) {
		x = calloc(1, sizeof *x);
		if (x)
			x->timer = hf_timer_new(d->net->control, ask, x);
		if (!x || !x->timer) {
			free_source(x);
			hf_log(HF_LOG_ERROR, "event=resolve-failed host=%s error=\"no memory\"", hf_log_text(host));
			return;
		}
		x->all = d;
		memcpy(x->host, host.p, host.n < sizeof x->host ? host.n : sizeof x->host - 1);
		x->next = d->list;
		d->list = x;
		hf_timer_set(x->timer, 0);
	}
	x->kept = true;
}

static void forget(struct discover *d)
{
	for (struct source **at = &d->list, *x; (x = *at) != NULL;)
		if (x->kept || x->asking) { /* its answer is on the way, and goes at the next change */
			at = &x->next;
		} else {
			*at = x->next;
			free_source(x);
		}
}

void discover_follow(struct discover *d, bool fresh)
{
	const struct hf_snapshot *s = d->net->snap;

	if (fresh) { /* whoever was asked before does not answer any more */
		resolver_free(d->resolver);
		d->resolver = NULL;
	}
	for (struct source *x = d->list; x; x = x->next) {
		x->kept = false;
		x->asking &= !fresh;
		if (fresh)
			hf_timer_set(x->timer, 0);
	}
	for (unsigned i = 0; i < s->n_pools; i++)
		for (unsigned j = 0; j < s->pools[i].conf->n_servers; j++)
			if (s->pools[i].conf->servers[j].targets)
				follow(d, s->pools[i].conf->servers[j].host);
	forget(d);
	if (d->list)
		hf_timer_set(d->look, LOOK_MS);
	else
		hf_timer_stop(d->look);
}

struct discover *discover_new(struct hf_net *net)
{
	struct discover *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->net = net;
	d->look = hf_timer_new(net->control, look, d);
	if (d->look)
		return d;
	free(d);
	return NULL;
}

void discover_free(struct discover *d)
{
	if (!d)
		return;
	resolver_free(d->resolver);
	for (struct source *x = d->list, *next; x; x = next) {
		next = x->next;
		free_source(x);
	}
	hf_timer_free(d->look);
	free(d);
}
