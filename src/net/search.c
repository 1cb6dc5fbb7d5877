/* Looks up names of next hops: by the records of services that the asker's front knows, one kind after the other, and their hosts; if none leads anywhere,
 * by the addresses of the name itself (RFC 3263 4.2). All that workers ask goes through one queue, each name once however many want to know, and what was
 * said is kept as long as it holds. What a worker is told is a letter. Control thread, but for search_ask. Called by seek.c, snapshot.c and net.c. */
#include "search.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "holdfast/log.h"
#include "inside.h"
#include "patience.h"
#include "resolve.h"

#define QUESTIONS 128  /* that wait to be read */
#define SEARCHES 256   /* under way */
#define KNOWN 4096
#define NONE_S 30      /* so long a name that leads nowhere is not asked for again: who is given an address then does not wait longer */
#define TROUBLE_S 5    /* ... and one of which nobody could say */

struct search { /* a name that is looked up */
	struct searches *all;
	struct lead *lead;
	unsigned ways, way;   /* that were not tried yet; the one that is */
	unsigned asked;       /* addresses that were asked for and are not there yet */
	bool trouble;         /* somebody did not answer, or could not */
	uint32_t ttl_s;
	unsigned n;           /* spots found */
	struct spot found[HF_PLACES_MAX * RESOLVED_MAX];
	struct target { struct search *of; char host[256]; uint16_t port, priority, weight; uint8_t transport; } target[HF_PLACES_MAX];
};

struct searches {
	struct hf_net *net;
	struct resolver *resolver;
	struct leads *known;
	unsigned n;           /* under way */
	int fd;
	struct hf_watch *watch;
	pthread_mutex_t lock; /* of what follows */
	unsigned first, waiting;
	struct question { uint8_t worker; struct lead_name name; } question[QUESTIONS];
};

static const struct hf_front *front_of(const struct search *x) { return x->all->net->services[x->lead->name.service - 1]->front; }

/* ---- the end of a search ---- */

/* A box that is full: what waits there for a name ends at its deadline, and what was said before holds until its time is over. */
static void post(struct searches *s, unsigned worker, const struct letter *l, struct hf_bytes body)
{
	if (!letter_post(&s->net->workers[worker], l, body))
		hf_log_limited(HF_LOG_WARN, HF_R_LETTER_BOX_FULL, "event=letter-box-full worker=%u note=\"a name of a next hop could not be told\"", worker);
}

static void tell(struct searches *s, unsigned worker, const struct lead *p, uint64_t now_ms)
{
	const struct letter l = {.kind = LETTER_FOUND, .service = p->name.service};
	struct search_said m = {p->name, p->said};

	m.said.keep_ms = p->until_ms > now_ms ? (uint32_t)(p->until_ms - now_ms) : 1;
	post(s, worker, &l, hf_bytes_of(&m, sizeof m));
}

static void finish(struct search *x)
{
	struct searches *s = x->all;
	struct lead *p = x->lead;
	uint64_t now_ms = hf_clock_ms();

	p->until_ms = now_ms + patience_kept_ms(x->n ? x->ttl_s : x->trouble ? TROUBLE_S : NONE_S);
	if (x->n || !x->trouble) /* else what was said last holds on */
		spots_take(&p->said, x->found, x->n);
	p->asked = false;
	for (unsigned i = 0; i < s->net->n_workers; i++)
		if (p->wanted.workers >> i & 1)
			tell(s, i, p, now_ms);
	p->wanted.workers = 0;
	p->wanted.search = NULL;
	s->n--;
	free(x);
}

/* ---- its steps ---- */

static void next_way(struct search *x);

static void add(struct search *x, const struct target *t, const struct resolved *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		struct spot *at = &x->found[x->n++];

		*at = (struct spot){.addr = r->addr[i], .priority = t->priority, .weight = (uint16_t)(t->weight / r->n), .transport = t->transport};
		at->addr.port = t->port;
	}
	if (r->n && r->ttl_s < x->ttl_s)
		x->ttl_s = r->ttl_s;
}

static void addressed(void *arg, const struct resolved *r)
{
	struct target *t = arg;
	struct search *x = t->of;

	x->trouble |= r->error && !r->none;
	add(x, t, r);
	if (--x->asked)
		return;
	if (x->n || t->transport == HF_TRANSPORTS)
		finish(x);
	else
		next_way(x);
}

/* `asked` is counted first: an answer may come at once. */
static void ask_addresses(struct search *x, unsigned n)
{
	x->asked = n;
	for (unsigned i = 0; i < n; i++)
		resolver_ask(x->all->resolver, x->target[i].host, addressed, &x->target[i]);
}

static void named(void *arg, const struct resolved_srv *r)
{
	struct search *x = arg;
	uint8_t transport = (uint8_t)front_of(x)->ways[x->way].transport;
	unsigned n = r->n < HF_PLACES_MAX ? r->n : HF_PLACES_MAX;

	x->trouble |= r->error && !r->none;
	if (!n) {
		next_way(x);
		return;
	}
	x->ttl_s = r->ttl_s;
	for (unsigned i = 0; i < n; i++) {
		const struct srv_target *t = &r->target[i];

		x->target[i] = (struct target){.of = x, .port = t->port, .priority = t->priority, .weight = t->weight, .transport = transport};
		memcpy(x->target[i].host, t->host, sizeof t->host);
	}
	ask_addresses(x, n);
}

/* False: none is left. */
static bool take_way(struct search *x)
{
	unsigned n = front_of(x)->n_ways;

	for (x->way = 0; x->way < n && !(x->ways >> x->way & 1); x->way++)
		;
	x->ways &= ~(1u << x->way);
	return x->way < n;
}

static void next_way(struct search *x)
{
	char name[256];
	struct hf_writer w;

	x->ttl_s = UINT32_MAX;
	while (take_way(x)) {
		w = hf_writer_on(name, sizeof name - 1);
		hf_w_str(&w, front_of(x)->ways[x->way].prefix);
		hf_w_str(&w, x->lead->name.host);
		name[w.n] = 0;
		if (w.full)
			continue; /* no name is so long */
		resolver_ask_srv(x->all->resolver, name, named, x);
		return;
	}
	x->target[0] = (struct target){.of = x, .transport = HF_TRANSPORTS};
	memcpy(x->target[0].host, x->lead->name.host, sizeof x->lead->name.host);
	ask_addresses(x, 1);
}

static bool begin(struct searches *s, struct lead *p)
{
	struct search *x;

	if (!s->resolver)
		s->resolver = resolver_new(s->net->control, &s->net->snap->conf->gateway.resolver, true);
	x = s->resolver && s->n < SEARCHES ? calloc(1, sizeof *x) : NULL;
	if (!x)
		return false;
	s->n++;
	x->all = s;
	x->lead = p;
	x->ways = p->name.ways;
	p->asked = true;
	p->wanted.search = x;
	next_way(x);
	return true;
}

/* ---- questions ---- */

/* True: *q is the next one. */
static bool take(struct searches *s, struct question *q)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = s->waiting > 0;
	if (any) {
		*q = s->question[s->first];
		s->first = (s->first + 1) % QUESTIONS;
		s->waiting--;
	}
	pthread_mutex_unlock(&s->lock);
	return any;
}

static void answer(struct searches *s, const struct question *q)
{
	uint64_t now_ms = hf_clock_ms();
	struct lead *p = leads_find(s->known, &q->name);

	if (!p)
		p = leads_add(s->known, &q->name);
	if (!p)
		return; /* what waits there ends at its deadline */
	if (!p->asked && lead_is_known(p, now_ms)) {
		tell(s, q->worker, p, now_ms);
		return;
	}
	p->wanted.workers |= 1ull << q->worker;
	if (!p->asked && !begin(s, p))
		p->wanted.workers = 0;
}

static void rung(void *arg, unsigned what)
{
	struct searches *s = arg;
	struct question q;
	uint64_t n;

	(void)what;
	while (read(s->fd, &n, sizeof n) < 0 && errno == EINTR)
		;
	while (take(s, &q))
		answer(s, &q);
}

bool search_ask(struct searches *s, unsigned worker, const struct lead_name *name)
{
	uint64_t one = 1;
	bool room;

	pthread_mutex_lock(&s->lock);
	room = s->waiting < QUESTIONS;
	if (room)
		s->question[(s->first + s->waiting++) % QUESTIONS] = (struct question){(uint8_t)worker, *name};
	pthread_mutex_unlock(&s->lock);
	while (room && write(s->fd, &one, sizeof one) < 0 && errno == EINTR)
		;
	return room;
}

/* ---- start, reload and end ---- */

static void drop(void *arg, struct lead *p)
{
	(void)arg;
	if (p->asked)
		free(p->wanted.search);
}

static void again(void *arg, struct lead *p)
{
	struct searches *s = arg;

	if (!p->asked)
		return;
	free(p->wanted.search);
	s->n--;
	p->asked = false;
	if (!begin(s, p))
		p->wanted.workers = 0;
}

void searches_afresh(struct searches *s)
{
	const struct letter l = {.kind = LETTER_FORGET};

	resolver_free(s->resolver);
	s->resolver = NULL;
	leads_forget(s->known);
	leads_each(s->known, again, s);
	for (unsigned i = 0; i < s->net->n_workers; i++)
		post(s, i, &l, HF_NONE);
}

struct searches *searches_new(struct hf_net *net)
{
	struct searches *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->net = net;
	pthread_mutex_init(&s->lock, NULL);
	s->known = leads_new(net->site.hash_key, KNOWN);
	s->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->watch = s->fd >= 0 ? hf_watch_new(net->control, s->fd, HF_READ, rung, s) : NULL;
	if (s->known && s->watch)
		return s;
	searches_free(s);
	return NULL;
}

void searches_free(struct searches *s)
{
	if (!s)
		return;
	resolver_free(s->resolver);
	if (s->known)
		leads_each(s->known, drop, NULL);
	leads_free(s->known);
	hf_watch_free(s->watch);
	if (s->fd >= 0)
		close(s->fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
