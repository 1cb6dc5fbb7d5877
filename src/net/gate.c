/* Who may dial a server now; see gate.h. Workers meet here: a flow that waits is known by its name, and its worker is told by letter when it is first
 * and there is room. A letter that is lost costs time, not the turn: who waits looks again by himself (dial.c). It knows no protocol; dial.c, flow.c and
 * conn.c call it. */
#include "gate.h"

/* Sleepers that are told by one who got through: each of them that gets through tells as many again. */
#define ROUSE 32

enum { OUTSIDE, WAITS, INSIDE, ASLEEP }; /* flow.gate; the last two have a pass */

static struct gate *gate_of(const struct flow *f) { return &f->pool->members[f->server].gate; }

static unsigned at_once(const struct flow *f)
{
	const struct snap_pool *p = flow_pool(f);

	return p && p->conf->max_connecting ? (unsigned)p->conf->max_connecting : UINT32_MAX;
}

static size_t bound(const struct flow *f)
{
	const struct snap_pool *p = flow_pool(f);

	return p ? (size_t)p->conf->connecting_queue : 0;
}

/* ---- under the pool's lock ---- */

static uint32_t get(const _Atomic uint32_t *count) { return atomic_load_explicit(count, memory_order_relaxed); }
static void set(_Atomic uint32_t *count, uint32_t n) { atomic_store_explicit(count, n, memory_order_relaxed); }

/* Behind all who came before; who comes back after a failed dial, or after waiting in vain, has the turn that he had. */
static bool put(struct gate *g, struct turns *p, struct flow *f)
{
	if (!f->turn)
		f->turn = ++g->turns ? g->turns : ++g->turns;
	return turns_put(p, conn_name(f), f->turn);
}

static void pass(struct gate *g, struct flow *f)
{
	set(&g->opening, get(&g->opening) + 1);
	f->gate = INSIDE;
}

/* Whom to tell that there is room for him. */
static bool next(const struct gate *g, unsigned most, struct hf_flow_name *to)
{
	if (!get(&g->waits.n) || get(&g->opening) >= most)
		return false;
	*to = turns_first(&g->waits)->name;
	return true;
}

static void tell(const struct flow *f, const struct hf_flow_name *to)
{
	const struct letter l = {.kind = LETTER_TURN, .service = f->service, .flow = *to};

	if (!letter_post(&f->w->net->workers[to->worker], &l, HF_NONE))
		worker_count(f->w, f->rt, HF_R_LETTER_BOX_FULL);
}

/* ---- */

static enum gate_pass enter(struct gate *g, struct flow *f)
{
	if (f->gate == ASLEEP) {
		turns_take(&g->asleep, f->turn);
		f->gate = INSIDE;
	} else if (get(&g->opening) < at_once(f) && !get(&g->waits.n)) {
		pass(g, f);
	} else if (get(&g->waits.n) < bound(f) && put(g, &g->waits, f)) {
		f->gate = WAITS;
		return GATE_QUEUED;
	} else {
		return GATE_FULL;
	}
	return GATE_PASSED;
}

enum gate_pass gate_enter(struct flow *f)
{
	enum gate_pass p;

	HF_BUG_ON(f->gate == WAITS || f->gate == INSIDE);
	pthread_mutex_lock(&f->pool->gates);
	p = enter(gate_of(f), f);
	pthread_mutex_unlock(&f->pool->gates);
	return p;
}

bool gate_turn(struct flow *f)
{
	struct gate *g = gate_of(f);
	struct hf_flow_name to;
	bool first, more = false;

	HF_BUG_ON(f->gate != WAITS);
	pthread_mutex_lock(&f->pool->gates);
	first = get(&g->opening) < at_once(f) && turns_first(&g->waits)->turn == f->turn;
	if (first) {
		turns_take(&g->waits, f->turn);
		pass(g, f);
		more = next(g, at_once(f), &to);
	}
	pthread_mutex_unlock(&f->pool->gates);
	if (more)
		tell(f, &to);
	return first;
}

/* Who sleeps has a pass, and there are only so many; without a limit as many sleep as may wait. */
static bool may_sleep(const struct gate *g, const struct flow *f) { return at_once(f) < UINT32_MAX || get(&g->asleep.n) < bound(f); }

void gate_failed(struct flow *f)
{
	struct gate *g = gate_of(f);

	if (f->gate != INSIDE)
		return;
	pthread_mutex_lock(&f->pool->gates);
	if (may_sleep(g, f) && put(g, &g->asleep, f)) {
		f->gate = ASLEEP;
		g->roused = 0;
	}
	pthread_mutex_unlock(&f->pool->gates);
	if (f->gate == INSIDE) /* nobody will find it again: it is one of those who come anew */
		gate_leave(f);
}

/* The next ones that were not told yet, since somebody failed last. */
static unsigned rouse(struct gate *g, struct hf_flow_name to[ROUSE])
{
	const struct turns_place *x = g->roused ? turns_after(&g->asleep, g->roused) : turns_first(&g->asleep);
	unsigned n = 0;

	for (; x && n < ROUSE; x = turns_after(&g->asleep, x->turn)) {
		to[n++] = x->name;
		g->roused = x->turn;
	}
	return n;
}

void gate_through(struct flow *f)
{
	struct gate *g = gate_of(f);
	struct hf_flow_name to[ROUSE];
	unsigned n;

	if (!get(&g->asleep.n))
		return;
	pthread_mutex_lock(&f->pool->gates);
	n = rouse(g, to);
	pthread_mutex_unlock(&f->pool->gates);
	for (unsigned i = 0; i < n; i++)
		tell(f, &to[i]);
}

void gate_leave(struct flow *f)
{
	struct gate *g;
	struct hf_flow_name to;
	bool more;

	if (f->gate == OUTSIDE)
		return;
	g = gate_of(f);
	pthread_mutex_lock(&f->pool->gates);
	if (f->gate == WAITS)
		turns_take(&g->waits, f->turn);
	else
		set(&g->opening, get(&g->opening) - 1);
	if (f->gate == ASLEEP)
		turns_take(&g->asleep, f->turn);
	f->gate = OUTSIDE;
	more = next(g, at_once(f), &to);
	pthread_mutex_unlock(&f->pool->gates);
	if (more)
		tell(f, &to);
}

void gate_free(struct gate *g)
{
	turns_free(&g->waits);
	turns_free(&g->asleep);
}
