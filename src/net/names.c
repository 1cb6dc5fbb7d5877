/* Servers that are written by name. Each name is asked for at once, when what it said expires, and at a reload; what it said last holds until it says
 * something else. Of several addresses the one in use stays as long as it is among them and answers probes, else it is the first or next in order: two
 * gateways that hear and see the same come to the same. An address that changes is put in force like a reload's: a snapshot of the same configuration, so that no session moves.
 * Nothing that a peer sends asks for a name. Control thread; called by net.c, snapshot.c, roster.c and probes.c. */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>

#include "asked.h"
#include "holdfast/log.h"
#include "patience.h"
#include "resolve.h"

#define GATHER_MS 20    /* answers of many names become one snapshot */

struct name {
	struct asked asked;
	struct names *all;
	unsigned families;   /* that can be sent to: bits 4 and 6 */
	struct hf_addr addr; /* family 0: nothing was said yet */
	struct hf_addr all_at[RESOLVED_MAX]; /* that can be sent to, in order */
	unsigned n;
	struct patience patience; /* with the one in use */
	char why[64];        /* the last answer was none; "" */
};

struct names {
	struct hf_net *net;
	struct resolver *resolver;
	struct hf_addr server; /* it asks */
	struct asked *list;    /* of names */
	struct hf_timer *apply;
	unsigned refused;      /* a snapshot with the new addresses, so often in a row */
};

static void put_in_force(void *arg);

struct names *names_new(struct hf_net *net)
{
	struct names *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->net = net;
	n->apply = hf_timer_new(net->control, put_in_force, n);
	if (n->apply)
		return n;
	free(n);
	return NULL;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	resolver_free(n->resolver);
	asked_free(&n->list);
	hf_timer_free(n->apply);
	free(n);
}

/* ---- answers ---- */

static void put_in_force(void *arg)
{
	struct names *n = arg;
	struct hf_snapshot *s = NULL;
	struct hf_conf *conf = hf_conf_keep(n->net->snap->conf);
	uint8_t buf[512];
	struct hf_writer why = hf_writer_on(buf, sizeof buf);
	enum hf_err e = hf_snapshot_build(n->net, conf, &s, &why);

	if (e != HF_OK)
		hf_conf_free(conf);
	else if ((e = hf_net_publish(n->net, s, &why)) != HF_OK)
		hf_snapshot_drop(n->net, s);
	if (e != HF_OK) {
		if (n->refused == 0)
			hf_log(HF_LOG_ERROR, "event=resolve-failed error=\"an address has changed and cannot be put in force yet: %s\"", hf_log_text(hf_writer_view(&why)));
		hf_timer_set(n->apply, patience_apply_ms(n->refused++));
	} else {
		n->refused = 0;
	}
}

void names_changed(struct names *n) { hf_timer_set(n->apply, GATHER_MS); }

static bool before(const struct hf_addr *a, const struct hf_addr *b)
{
	return a->family != b->family ? a->family < b->family : memcmp(a->ip, b->ip, sizeof a->ip) < 0;
}

static int by_order(const void *a, const void *b) { return before(a, b) ? -1 : before(b, a); }

static void keep_all(struct name *x, const struct resolved *r)
{
	x->n = 0;
	for (unsigned i = 0; i < r->n; i++)
		if (x->families >> r->addr[i].family & 1)
			x->all_at[x->n++] = r->addr[i];
	qsort(x->all_at, x->n, sizeof *x->all_at, by_order);
}

/* Where the one in use is among them; n: it is not. */
static unsigned place_of(const struct name *x)
{
	unsigned i = 0;

	while (i < x->n && !hf_addr_eq(&x->all_at[i], &x->addr))
		i++;
	return i;
}

static void log_found(const struct name *x)
{
	uint8_t text[80];
	struct hf_writer w = hf_writer_on(text, sizeof text);

	hf_w_ip(&w, &x->addr, false);
	hf_log(HF_LOG_INFO, "event=resolved host=%s address=%s", x->asked.host, hf_log_text(hf_writer_view(&w)));
}

static void tell_members(const struct name *x)
{
	const struct hf_snapshot *s = x->all->net->snap;

	for (unsigned i = 0; i < s->n_pools; i++)
		for (unsigned j = 0; j < s->pools[i].n_members; j++) {
			const struct snap_member *m = &s->pools[i].members[j];

			if (!hf_bytes_ieq(m->host, hf_bytes_str(x->asked.host)))
				continue;
			names_why(x->all, m->host, s->pools[i].rt->members[m->id].last_failure, sizeof s->pools[i].rt->members[m->id].last_failure);
			s->pools[i].rt->members[m->id].last_failure_ms = hf_clock_ms();
		}
}

static void failed(struct name *x, const char *why)
{
	snprintf(x->why, sizeof x->why, "%s", why);
	asked_failed(&x->asked, why, x->addr.family != 0);
	tell_members(x);
}

static void move_to(struct name *x, unsigned i)
{
	x->addr = x->all_at[i];
	log_found(x);
	names_changed(x->all);
}

static void answered(void *arg, const struct resolved *r)
{
	struct name *x = arg;

	x->asked.asking = false;
	if (!x->asked.kept)
		return;
	if (!r->error)
		keep_all(x, r);
	if (r->error || !x->n) {
		failed(x, r->error ? r->error : "no listener can send to its addresses");
		return;
	}
	x->why[0] = 0;
	asked_found(&x->asked, r->ttl_s);
	if (place_of(x) == x->n) {
		patience_begin(&x->patience, hf_clock_ms());
		move_to(x, 0);
	}
}

void names_next(struct names *n, const struct snap_member *m)
{
	for (struct asked *a = n->list; a; a = a->next) {
		struct name *x = (struct name *)a;
		struct hf_addr at = m->addr;

		at.port = 0;
		if (x->n > 1 && hf_bytes_ieq(hf_bytes_str(a->host), m->host) && hf_addr_eq(&x->addr, &at) && patience_over(&x->patience, hf_clock_ms())) {
			patience_next(&x->patience, x->n, hf_clock_ms());
			move_to(x, (place_of(x) + 1) % x->n);
		}
	}
}

static void ask(void *arg)
{
	struct name *x = arg;
	struct names *n = x->all;

	if (!n->resolver)
		n->resolver = resolver_new(n->net->control, &n->server, false);
	if (!n->resolver) {
		failed(x, "no resolver");
	} else if (!x->asked.asking) {
		x->asked.asking = true;
		resolver_ask(n->resolver, x->asked.host, answered, x);
	}
}

/* ---- who is asked for ---- */

/* Over a stream any may be; a datagram leaves by a listener. */
static unsigned families_of(const struct hf_conf *conf, const struct hf_conf_pool *pool, enum hf_transport t)
{
	unsigned bits = 0;

	if (hf_transport_is_stream(t))
		return 1u << 4 | 1u << 6;
	for (unsigned i = 0; i < conf->n_services; i++)
		for (unsigned j = 0; hf_conf_sends_to(&conf->services[i], pool) && j < conf->services[i].n_listens; j++)
			bits |= 1u << conf->services[i].listens[j].addr.family;
	return bits;
}

static struct name *find(const struct names *n, struct hf_bytes host, unsigned families)
{
	for (struct asked *a = n->list; a; a = a->next) {
		struct name *x = (struct name *)a;

		if ((!families || x->families == families) && hf_bytes_ieq(hf_bytes_str(a->host), host))
			return x;
	}
	return NULL;
}

struct hf_addr names_find(const struct names *n, const struct hf_conf *conf, const struct hf_conf_pool *pool, const struct hf_conf_server *s)
{
	const struct name *x = find(n, s->host, families_of(conf, pool, s->transport));
	struct hf_addr a = x ? x->addr : (struct hf_addr){0};

	a.port = a.family ? s->addr.port : 0;
	return a;
}

void names_why(const struct names *n, struct hf_bytes host, char *text, size_t size)
{
	const struct name *x = find(n, host, 0);
	struct hf_writer w = hf_writer_on(text, size - 1);

	hf_w_str(&w, x && x->why[0] ? x->why : "not looked up yet");
	hf_w_str(&w, ": ");
	hf_w_bytes(&w, hf_bytes_sub(host, 0, size - 1 - w.n));
	text[w.n] = 0;
}

/* at: where the snapshot has it, which for a new name is where its server was last. */
static void follow(struct names *n, struct hf_bytes host, unsigned families, const struct hf_addr *at)
{
	struct name *x = find(n, host, families);

	if (!x) {
		x = asked_new(&n->list, n->net->control, host, sizeof *x, ask);
		if (!x)
			return;
		x->all = n;
		x->families = families;
		x->addr = *at;
		x->addr.port = 0;
	}
	x->asked.kept = true;
}

void names_follow(struct names *n, bool fresh)
{
	const struct hf_snapshot *s = n->net->snap;

	if (fresh) { /* whoever was asked before does not answer any more */
		resolver_free(n->resolver);
		n->resolver = NULL;
		n->server = s->conf->gateway.resolver;
	}
	asked_begin(n->list, fresh);
	for (unsigned i = 0; i < s->n_pools; i++)
		for (unsigned j = 0; j < s->pools[i].n_members; j++) {
			const struct snap_member *m = &s->pools[i].members[j];

			if (m->host.n)
				follow(n, m->host, families_of(s->conf, s->pools[i].conf, m->transport), &m->addr);
		}
	asked_forget(&n->list);
}
