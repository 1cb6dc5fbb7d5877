/* Who may dial a server now; see gate.h. Workers meet here: a flow that waits is known by its name, and its worker is told by letter when it is first
 * and there is room. A letter that is lost costs time, not the turn: who waits looks again by himself (dial.c). It knows no protocol; dial.c, flow.c and
 * conn.c call it. */
#include "gate.h"

#include <stdlib.h>

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

static bool same(const struct hf_flow_name *a, const struct hf_flow_name *b)
{
	return a->worker == b->worker && a->slot == b->slot && a->generation == b->generation;
}

/* ---- under the pool's lock ---- */

static uint32_t get(const _Atomic uint32_t *count) { return atomic_load_explicit(count, memory_order_relaxed); }
static void set(_Atomic uint32_t *count, uint32_t n) { atomic_store_explicit(count, n, memory_order_relaxed); }

static bool list_room(struct gate_list *l)
{
	uint32_t cap = l->cap ? l->cap * 2 : 16;
	struct gate_place *at;

	if (get(&l->n) < l->cap)
		return true;
	at = realloc(l->at, cap * sizeof *at);
	if (!at)
		return false;
	l->at = at;
	l->cap = cap;
	return true;
}

/* Behind all who came before: as a rule at the end, but who comes back after a failed dial has the turn that he had. */
static bool list_put(struct gate *g, struct gate_list *l, struct flow *f)
{
	uint32_t at = get(&l->n);

	if (!list_room(l))
		return false;
	if (!f->turn)
		f->turn = ++g->turns ? g->turns : ++g->turns;
	while (at && (int32_t)(l->at[at - 1].turn - f->turn) > 0)
		at--;
	memmove(&l->at[at + 1], &l->at[at], (get(&l->n) - at) * sizeof l->at[0]);
	l->at[at] = (struct gate_place){conn_name(f), f->turn};
	set(&l->n, get(&l->n) + 1);
	return true;
}

static void list_take(struct gate_list *l, const struct flow *f)
{
	struct hf_flow_name name = conn_name(f);
	uint32_t n = get(&l->n), at = 0;

	while (at < n && !same(&l->at[at].name, &name))
		at++;
	HF_BUG_ON(at == n);
	memmove(&l->at[at], &l->at[at + 1], (n - at - 1) * sizeof l->at[0]);
	set(&l->n, n - 1);
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
	*to = g->waits.at[0].name;
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
		list_take(&g->asleep, f);
		f->gate = INSIDE;
	} else if (get(&g->opening) < at_once(f) && !get(&g->waits.n)) {
		pass(g, f);
	} else if (get(&g->waits.n) < bound(f) && list_put(g, &g->waits, f)) {
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
	struct hf_flow_name name = conn_name(f), to;
	bool first, more = false;

	HF_BUG_ON(f->gate != WAITS);
	pthread_mutex_lock(&f->pool->gates);
	first = get(&g->opening) < at_once(f) && same(&g->waits.at[0].name, &name);
	if (first) {
		list_take(&g->waits, f);
		pass(g, f);
		more = next(g, at_once(f), &to);
	}
	pthread_mutex_unlock(&f->pool->gates);
	if (more)
		tell(f, &to);
	return first;
}

/* Who sleeps has a pass, and there are only so many; without a limit as many sleep as may wait, as each looks through those that do. */
static bool may_sleep(const struct gate *g, const struct flow *f) { return at_once(f) < UINT32_MAX || get(&g->asleep.n) < bound(f); }

void gate_failed(struct flow *f)
{
	struct gate *g = gate_of(f);

	if (f->gate != INSIDE)
		return;
	pthread_mutex_lock(&f->pool->gates);
	if (may_sleep(g, f) && list_put(g, &g->asleep, f)) {
		f->gate = ASLEEP;
		g->roused = false;
	}
	pthread_mutex_unlock(&f->pool->gates);
	if (f->gate == INSIDE) /* nobody will find it again: it is one of those who come anew */
		gate_leave(f);
}

void gate_through(struct flow *f)
{
	struct gate *g = gate_of(f);

	if (!get(&g->asleep.n))
		return;
	pthread_mutex_lock(&f->pool->gates);
	for (uint32_t i = 0; !g->roused && i < get(&g->asleep.n); i++)
		tell(f, &g->asleep.at[i].name);
	g->roused = true;
	pthread_mutex_unlock(&f->pool->gates);
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
		list_take(&g->waits, f);
	else
		set(&g->opening, get(&g->opening) - 1);
	if (f->gate == ASLEEP)
		list_take(&g->asleep, f);
	f->gate = OUTSIDE;
	more = next(g, at_once(f), &to);
	pthread_mutex_unlock(&f->pool->gates);
	if (more)
		tell(f, &to);
}

void gate_free(struct gate *g)
{
	free(g->waits.at);
	free(g->asleep.at);
}
