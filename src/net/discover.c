/* Servers that SRV records name: each name is asked for at once, when what it said expires, and at a reload. What it said last holds until it names
 * somebody again: no answer, and one that names nobody, take nobody out. Who is a server by that, and who only stands in, is listed.c's; a change is put in
 * force by names.c. Nothing that a peer sends asks for a name. Control thread; called by net.c and snapshot.c. */
#include "discover.h"

#include <stdlib.h>

#include "asked.h"
#include "holdfast/log.h"
#include "listed.h"
#include "names.h"

#define LOOK_MS 1000    /* whether those who stand in are wanted: a second more than probes take is nothing */

struct source {
	struct asked asked;
	struct discover *all;
	struct resolved_srv said; /* n 0: nothing yet */
};

struct discover {
	struct hf_net *net;
	struct resolver *resolver;
	struct asked *list; /* of sources */
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

static void answered(void *arg, const struct resolved_srv *r)
{
	struct source *x = arg;

	x->asked.asking = false;
	if (!x->asked.kept)
		return;
	if (r->error) {
		asked_failed(&x->asked, r->error, x->said.n != 0);
		return;
	}
	asked_found(&x->asked, r->ttl_s);
	if (same_answer(r, &x->said))
		return;
	x->said = *r;
	hf_log(HF_LOG_INFO, "event=resolved host=%s servers=%u", x->asked.host, r->n);
	names_changed(x->all->net->names);
}

static void ask(void *arg)
{
	struct source *x = arg;
	struct discover *d = x->all;

	if (!d->resolver)
		d->resolver = resolver_new(d->net->control, &d->net->snap->conf->gateway.resolver, false);
	if (!d->resolver) {
		asked_failed(&x->asked, "no resolver", x->said.n != 0);
	} else if (!x->asked.asking) {
		x->asked.asking = true;
		resolver_ask_srv(d->resolver, x->asked.host, answered, x);
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
	for (struct asked *x = d->list; x; x = x->next)
		if (hf_bytes_ieq(hf_bytes_str(x->host), host))
			return (struct source *)x;
	return NULL;
}

const struct resolved_srv *discover_find(const struct discover *d, struct hf_bytes host)
{
	const struct source *x = find(d, host);

	return x && x->said.n ? &x->said : NULL;
}

static void follow(struct discover *d, struct hf_bytes host)
{
	struct source *x = find(d, host);

	if (!x) {
		x = asked_new(&d->list, d->net->control, host, sizeof *x, ask);
		if (!x)
			return;
		x->all = d;
	}
	x->asked.kept = true;
}

void discover_follow(struct discover *d, bool fresh)
{
	const struct hf_snapshot *s = d->net->snap;

	if (fresh) { /* whoever was asked before does not answer any more */
		resolver_free(d->resolver);
		d->resolver = NULL;
	}
	asked_begin(d->list, fresh);
	for (unsigned i = 0; i < s->n_pools; i++)
		for (unsigned j = 0; j < s->pools[i].conf->n_servers; j++)
			if (s->pools[i].conf->servers[j].targets)
				follow(d, s->pools[i].conf->servers[j].host);
	asked_forget(&d->list);
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
	asked_free(&d->list);
	hf_timer_free(d->look);
	free(d);
}
