/* The tales of sessions: those of flows, and the table of those by key; see tale.h. How a line looks is tell.c's. It knows no protocol: what began,
 * went on and ended is what fronts ask of the engine. */
#include <stdlib.h>

#include "flow.h"
#include "tell.h"

#define SHARDS 64             /* workers meet in one rarely */
#define CHAINS (1u << 18)     /* of all shards; untouched memory costs nothing */
#define SESSIONS_MAX (1u << 20) /* as many as are remembered by default; of those beyond it nothing is told, and that is counted */
#define SWEEPS 16             /* calls for the whole table */

struct tales {
	struct shard { pthread_mutex_t lock; } shard[SHARDS];
	struct tale **chain;
	_Atomic uint64_t n;
	unsigned swept;           /* the next chain of a sweep: control thread */
	struct legs legs;
};

struct tales *tales_new(void)
{
	struct tales *t = calloc(1, sizeof *t);

	if (!t || !(t->chain = calloc(CHAINS, sizeof *t->chain))) {
		free(t);
		return NULL;
	}
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_init(&t->shard[i].lock, NULL);
	pthread_mutex_init(&t->legs.lock, NULL);
	return t;
}

static void tale_free(struct tale *t)
{
	if (t)
		free(t->text);
	free(t);
}

void tales_free(struct tales *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < CHAINS && atomic_load(&t->n); i++)
		for (struct tale *x = t->chain[i], *next; x; x = next) {
			next = x->next;
			tale_free(x);
			atomic_fetch_sub(&t->n, 1);
		}
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_destroy(&t->shard[i].lock);
	pthread_mutex_destroy(&t->legs.lock);
	free(t->chain);
	free(t);
}

/* ---- flows ---- */

static bool wanted(const struct worker *w) { return w && hf_lines_wanted(w->net->lines); }

struct tale *tale_flow(struct worker *w)
{
	struct tale *t = wanted(w) ? calloc(1, sizeof *t) : NULL;

	if (t)
		t->begin_ms = w->now_ms;
	return t;
}

void tale_proved(struct tale *t) { t->proved = true; }

void tale_fact(struct tale *t, unsigned reason)
{
	for (unsigned i = 0; t && i < t->n_facts; i++)
		if (t->fact[i] == reason)
			return;
	if (t && t->n_facts < TALE_FACTS && reason < HF_REASON_MAX)
		t->fact[t->n_facts++] = (uint8_t)reason;
}

static void put_text(struct tale *t, const struct parcel *p, const struct hf_key *key)
{
	struct hf_bytes text = p->w->snap->conf->gateway.log_identities ? hf_bytes_sub(key->text, 0, TALE_TEXT) : HF_NONE;

	if (!text.n)
		return;
	free(t->text);
	t->text = malloc(text.n);
	t->n_text = t->text ? (uint8_t)text.n : 0;
	if (t->text)
		memcpy(t->text, text.p, text.n);
}

/* What it went by: no name, but the kind of its key, which is what stands before the colon. A token or another session of its own is told by `why`. */
static void put_rule(struct tale *t, const struct hf_ask *a, const struct hf_answer *answer)
{
	bool by_key = answer->why != HF_WHY_TOKEN && answer->why != HF_WHY_DIALOG;
	size_t n = hf_bytes_find(a->key.text, ':');

	if (n == a->key.text.n || n > TALE_RULE || !by_key)
		n = 0;
	if (n)
		memcpy(t->rule, a->key.text.p, n);
	t->rule[n] = 0;
	t->led = answer->led_by != 0;
}

static void flow_asked(struct parcel *p, const struct hf_ask *a, const struct hf_answer *answer)
{
	struct tale *t = p->flow->tale;

	if (!t)
		return;
	if (a->again && t->server && answer->server != t->server)
		t->failovers++;
	t->asked = true;
	t->fp = a->key.fp;
	t->server = answer->server;
	t->why = (uint8_t)answer->why;
	put_rule(t, a, answer);
	put_text(t, p, &a->key);
}

void tale_end(struct flow *f, unsigned reason)
{
	struct tale *t = f->tale;

	f->tale = NULL;
	if (t && t->asked && f->phase == PHASE_RELAY)
		t->reached = true;
	if (t && t->asked && hf_lines_wanted(f->w->net->lines))
		tell_flow(f, t, reason, &f->w->net->tales->legs);
	tale_free(t);
}

/* ---- sessions by key ---- */

static unsigned chain_of(uint64_t fp, const struct service_rt *rt) { return (unsigned)(fp >> 20 ^ rt->id * 0x9e37u) % CHAINS; }

/* Where it stands, or would: the shard is locked, and the caller unlocks it. */
static struct tale **find(struct tales *t, uint64_t fp, const struct service_rt *rt, pthread_mutex_t **lock)
{
	unsigned c = chain_of(fp, rt);
	struct tale **at = &t->chain[c];

	*lock = &t->shard[c % SHARDS].lock;
	pthread_mutex_lock(*lock);
	while (*at && ((*at)->fp != fp || (*at)->rt != rt))
		at = &(*at)->next;
	return at;
}

static struct tale *begin(struct tales *all, struct parcel *p, const struct hf_key *key)
{
	struct tale *t = atomic_fetch_add(&all->n, 1) < SESSIONS_MAX ? calloc(1, sizeof *t) : NULL;

	if (!t) {
		atomic_fetch_sub(&all->n, 1);
		hf_lines_lose(p->w->net->lines);
		return NULL;
	}
	t->fp = key->fp;
	t->rt = p->rt;
	t->pool = p->pool;
	t->begin_ms = p->w->now_ms;
	t->source = p->ev.source;
	put_text(t, p, key);
	return t;
}

/* What is to be done to a session's tale, whoever says so. */
struct turn {
	const struct hf_key *key;
	enum hf_life life;
	uint32_t life_s;
	unsigned flags;
	uint16_t server;         /* 0: as it was */
	enum hf_why why;
	bool again;              /* another server is asked for */
	const char *ended;
	uint16_t code;
};

/* A session that counts has a line; one begins with what may still come to nothing, for what is firm has begun before. */
static bool begins(const struct turn *t) { return t->life == HF_LIFE_START && t->flags & HF_COUNTED && t->flags & HF_TENTATIVE && t->server; }

/* It has been answered by one server, and this is of another one that answered too. */
static bool is_others(const struct tale *x, const struct turn *t) { return x->answered_ms && x->server && t->server && t->server != x->server && !t->again; }

static void go_on(struct tale *x, const struct turn *t, uint64_t now)
{
	if (t->again && x->server && t->server && t->server != x->server)
		x->failovers++;
	if (t->server && (!x->server || t->again || !(t->flags & HF_TENTATIVE)))
		x->server = t->server;
	if (t->again || x->why == HF_WHY_NONE)
		x->why = (uint8_t)t->why;
	if (t->life == HF_LIFE_START && t->flags & HF_COUNTED && !(t->flags & HF_TENTATIVE) && !x->answered_ms)
		x->answered_ms = now;
	if (t->code)
		x->code = t->code;
	x->until_ms = now + t->life_s * 1000ull;
}

static void turn(struct parcel *p, const struct turn *t)
{
	struct tales *all = p->w->net->tales;
	pthread_mutex_t *lock;
	struct tale **at, *x, *done = NULL;

	if (t->life == HF_LIFE_NONE)
		return;
	at = find(all, t->key->fp, p->rt, &lock);
	x = *at;
	if (!x && begins(t))
		x = *at = begin(all, p, t->key);
	if (x && is_others(x, t))
		x = NULL;
	if (x)
		go_on(x, t, p->w->now_ms);
	if (x && t->ended) {
		*at = x->next;
		atomic_fetch_sub(&all->n, 1);
		done = x;
	}
	pthread_mutex_unlock(lock);
	if (done)
		tell_session(p->w->net, done, t->ended, p->w->now_ms);
	tale_free(done);
}

void tale_asked(struct parcel *p, const struct hf_ask *a, const struct hf_answer *answer)
{
	if (!wanted(p->w))
		return;
	if (parcel_paired(p))
		flow_asked(p, a, answer);
	else if (a->key.fp)
		turn(p, &(struct turn){&a->key, a->life, a->life_s, a->flags, answer->server, answer->why, a->again, a->ended, 0});
}

void tale_learnt(struct parcel *p, const struct hf_act *act, uint16_t server)
{
	if (wanted(p->w) && !parcel_paired(p) && act->learn.key.fp)
		turn(p, &(struct turn){&act->learn.key, act->learn.life, act->learn.life_s, act->learn.flags, server, act->learn.why, act->learn.move, act->learn.ended,
			act->learn.code});
}

/* Takes those of a chain that are over out of it. */
static struct tale *over(struct tales *t, unsigned chain, uint64_t now_ms)
{
	pthread_mutex_t *lock = &t->shard[chain % SHARDS].lock;
	struct tale **at = &t->chain[chain], *list = NULL;

	pthread_mutex_lock(lock);
	while (*at) {
		struct tale *x = *at;

		if (x->until_ms > now_ms) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		x->next = list;
		list = x;
		atomic_fetch_sub(&t->n, 1);
	}
	pthread_mutex_unlock(lock);
	return list;
}

void tales_sweep(struct hf_net *net, uint64_t now_ms)
{
	struct tales *t = net->tales;

	for (unsigned i = 0; i < CHAINS / SWEEPS && atomic_load_explicit(&t->n, memory_order_relaxed); i++) {
		for (struct tale *x = over(t, t->swept, now_ms), *next; x; x = next) {
			next = x->next;
			if (hf_lines_wanted(net->lines)) /* else it was switched off meanwhile */
				tell_session(net, x, "expired", now_ms);
			tale_free(x);
		}
		t->swept = (t->swept + 1) % CHAINS;
	}
}
