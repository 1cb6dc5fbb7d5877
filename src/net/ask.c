/* What a front wants of the engine: its question with names and addresses as members of the pool, the answer as it understands it; what it has
 * learnt, and what it has seen of a server. This is the only place where a parcel and the engine meet. It knows no protocol; deliver.c calls it. */
#include "flow.h"
#include "holdfast/hash.h"
#include "holdfast/log.h"
#include "anchors.h"
#include "explain.h"
#include "tale.h"

static uint16_t hinted(const struct parcel *p, const struct hf_ask *a)
{
	const struct snap_pool *pool = p->at;
	const struct snap_member *m = NULL;

	if (a->hint)
		m = worker_by_hash(p->w, pool, a->hint);
	else if (a->hint_addr.family)
		m = snap_by_addr(pool, &a->hint_addr);
	return m ? m->id : HF_NO_SERVER;
}

/* Whom an address that is no member's most likely means: for who is told of it, never where anything goes. */
static const struct snap_member *nearly_hinted(const struct parcel *p, const struct hf_ask *a)
{
	for (unsigned i = 0; a->hint_addr.family && i < p->at->n_members; i++)
		if (hf_addr_ip_eq(&p->at->members[i].addr, &a->hint_addr))
			return &p->at->members[i];
	return NULL;
}

void ask_reach(struct parcel *p, const struct snap_member *m)
{
	struct hf_chosen *c = &p->chosen;

	c->server = m->hash;
	c->name = hf_bytes_str(m->name);
	c->addr = m->addr;
	c->transport = m->transport;
	if (parcel_paired(p))
		return;
	c->out = send_out_for(p, &m->addr, m->transport);
	if (c->out) {
		c->out_addr = c->out->addr;
		if (c->out->wildcard && m->from.family) {
			c->out_addr = m->from;
			c->out_addr.port = c->out->addr.port;
		}
	}
}

static void choose(struct parcel *p, uint64_t tag, const struct snap_member *m, const struct hf_answer *a)
{
	struct hf_chosen *c = &p->chosen;

	*c = (struct hf_chosen){.none = HF_R_NO_SERVER, .why = a->why, .known = a->known, .firm = a->firm, .row = a->row, .crowded = a->crowded, .led_by = a->led_by, .left = a->left, .hold_ms = a->hold_ms, .knock = a->knock};
	if (p->hold)
		c->hold = hold_name(p->w, p->hold);
	else if (p->story)
		c->hold.generation = 1;
	else if (p->holds)
		c->hold = hold_next(p->w, p->took ? p->took : p->ev.bytes.n, tag);
	if (!m || !m->addr.family) /* nobody; or a name that was never found */
		return;
	c->state = hf_engine_state(p->at->rt->engine, m->id, NULL);
	ask_reach(p, m);
}

static unsigned avoided(const struct parcel *p, const struct hf_ask *a, uint16_t id[HF_AVOID_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n_avoid && i < HF_AVOID_MAX; i++) {
		const struct snap_member *m = worker_by_hash(p->w, p->at, a->avoid[i]);

		if (m)
			id[n++] = m->id;
	}
	return n;
}

static bool found_hold(struct parcel *p, const struct hf_ask *a)
{
	struct hold *x = a->tag && !p->hold && !p->story ? hold_tagged(p->w, p->rt, a->tag) : NULL;

	if (x)
		deliver_enter(p, x, &p->w->came);
	return x != NULL;
}

/* Who is held to a share of the entries: an address, or a /64. Servers are not. */
static uint64_t quota_source(const struct parcel *p)
{
	const struct hf_addr *a = &p->ev.source;
	uint64_t n = 0;

	memcpy(&n, a->ip, a->family == 6 ? 8 : 4);
	return p->ev.from_servers ? 0 : n;
}

/* What the fallback spreads by: every gateway has the same number for an address. */
static uint64_t spread(const struct parcel *p, const struct hf_ask *a)
{
	bool used = a->unplaced || (!a->key.fp && !a->place);

	return a->spread || !used ? a->spread : hf_sip13(p->ctx.site->hash_key, hf_addr_ip(&p->ev.source));
}

/* What begins a session that counts, for all that the parcel says: not an attempt at the next server. */
static bool may_open(const struct hf_ask *a)
{
	return !a->again && (a->opens || (a->flags & HF_COUNTED && (a->life == HF_LIFE_START || a->life == HF_LIFE_OPEN)));
}

/* It goes on with a session of another name, which the message says; or asks by another key, which tells. */
static bool is_led(const struct hf_answer *a) { return a->why == HF_WHY_DIALOG || a->why == HF_WHY_TOKEN || a->crowded; }

/* ... or with its own. */
static bool goes_on(const struct hf_answer *a) { return a->known || is_led(a); }

/* Its pools hold as many sessions as it may fill them to. */
static bool is_filled(const struct parcel *p, bool urgent)
{
	uint64_t most = p->service->conf->max_sessions << urgent;

	return most && snap_sessions(p->service) >= most;
}

/* The worker is behind, the service has opened its share of this second or is filled, and this is another one: looking is enough, nothing is made of it.
 * Urgent ones have a share of their own, as large, so that no flood of others stops them, nor a flood of them everything. What had ended, or was
 * refused, and is tried again (a call that was challenged) has had its share of the second, but fills a place anew.
 * The reason; NONE: it may be opened. */
static unsigned shed(const struct parcel *p, const struct hf_question *q)
{
	bool behind = p->w && p->ctx.now_ms < p->w->sheds_until_ms && !q->urgent, filled = is_filled(p, q->urgent);
	struct hf_question look = *q;
	struct hf_answer a;

	if (!behind && !filled && !hf_rate_full(&p->rt->opened[q->urgent], (uint32_t)p->service->conf->max_cps, p->ctx.now_ms))
		return HF_R_NONE;
	look.life = HF_LIFE_NONE;
	look.server_only = false;
	hf_engine_choose(p->at->rt->engine, &look, &a, p->ctx.now_ms);
	if (filled && !a.counted && !is_led(&a))
		return HF_R_SESSIONS;
	return goes_on(&a) ? HF_R_NONE : behind ? HF_R_OVERLOAD : HF_R_CALL_RATE;
}

/* True: it was. */
static bool was_shed(struct parcel *p, const struct hf_act *act, const struct hf_question *q)
{
	const struct hf_answer nobody = {0};
	unsigned none = shed(p, q);

	if (none == HF_R_NONE)
		return false;
	if (p->story)
		explain_shed(p, act, q);
	choose(p, act->ask.tag, NULL, &nobody);
	p->chosen.none = none;
	return true;
}

/* It is in the pool of that flow. False: the service does not choose that pool any more. */
static bool enter_beside(struct parcel *p)
{
	for (unsigned i = 0; i < p->service->conf->n_choices; i++)
		if (p->service->pools[i]->rt == p->beside.pool) {
			p->at = p->service->pools[i];
			p->pool = p->at->rt;
			return true;
		}
	return false;
}

/* Of a datagram that would open a flow: the server of the relayed flow that it belongs to. */
static void choose_beside(struct parcel *p, const struct hf_act *act)
{
	unsigned none = anchors_find(p->anchors, p->rt->id, act->ask.beside, &p->beside);
	const struct snap_member *m = none || !enter_beside(p) ? NULL : worker_by_hash(p->w, p->at, p->beside.server);
	const struct hf_answer answer = {.server = m ? m->id : HF_NO_SERVER, .why = m ? HF_WHY_ENTRY : HF_WHY_NONE, .known = m != NULL};

	p->next = HF_EV_CHOICE;
	choose(p, 0, m, &answer);
	if (p->story)
		explain_beside(p, act, &answer);
	if (none)
		p->chosen.none = none;
}

static void ask_engine(struct parcel *p, const struct hf_act *act)
{
	const struct hf_ask *a = &act->ask;
	uint16_t avoid[HF_AVOID_MAX];
	struct hf_question q = {
		.hint = hinted(p, a), .hint_why = a->hint_why, .refs = {a->refs[0].fp, a->refs[1].fp}, .key = a->key, .life = a->life, .life_s = a->life_s,
		.flags = a->flags, .spread = spread(p, a), .source = quota_source(p), .move = a->again,
		.place = a->place, .place_else = a->place_else, .place_last = a->place_last, .unplaced = a->unplaced, .at_home = a->at_home, .urgent = a->urgent,
		.renews = a->renews, .knocks = a->knocks, .unless_firm = a->unless_firm, .max_flows = a->max_flows, .max_sources = a->max_sources, .apart = a->apart, .server_only = true};
	const struct snap_member *near = q.hint ? NULL : nearly_hinted(p, a);
	struct hf_answer answer = {0};
	bool opens = may_open(a);

	if (found_hold(p, a)) {
		p->next = HF_EV_HELD;
		return;
	}
	if (a->tag && told_carry(p, a->tag))
		return;
	p->next = HF_EV_CHOICE;
	p->sticky = a->key.fp;
	p->holds = a->holds;
	if (a->again && parcel_paired(p)) {
		q.avoid = conn_tried(p->flow, &q.n_avoid);
	} else if (a->n_avoid) {
		q.avoid = avoid;
		q.n_avoid = avoided(p, a, avoid);
	}
	if (q.n_avoid && !q.avoid) { /* it has tried enough */
		choose(p, a->tag, NULL, &answer);
		return;
	}
	if (opens && was_shed(p, act, &q))
		return;
	if (p->story)
		explain_ask(p, act, &q, near, &answer);
	else
		hf_engine_choose(p->at->rt->engine, &q, &answer, p->ctx.now_ms);
	tale_asked(p, a, &answer);
	if (opens && !p->story && !goes_on(&answer))
		(void)hf_rate_take(&p->rt->opened[a->urgent], (uint32_t)p->service->conf->max_cps, p->ctx.now_ms); /* the last one may have gone meanwhile: one too many is none too few */
	if (answer.news)
		hf_log_limited(HF_LOG_WARN, HF_R_SOURCE_LIMIT, "event=key-shared service=%s key=%s sources=%u note=\"live from so many sources at once, it is no longer taken for one "
			"person's: who comes from another one is told by the source too\"", p->rt->name, hf_log_text(a->key.text), (unsigned)a->max_sources);
	if (answer.full)
		parcel_count(p, HF_R_ENTRIES_FULL);
	if (answer.over)
		parcel_count(p, HF_R_ENTRY_QUOTA);
	choose(p, a->tag, worker_by_id(p->w, p->at, answer.server), &answer);
	p->chosen.hint_port = near ? near->addr.port : 0;
}

/* Its pool is nobody's any more. */
static void choose_none(struct parcel *p)
{
	const struct hf_answer nobody = {0};

	p->next = HF_EV_CHOICE;
	choose(p, 0, NULL, &nobody);
}

void ask_act(struct parcel *p, const struct hf_act *act)
{
	if (parcel_paired(p))
		p->flow->placed = true;
	if (!p->at)
		choose_none(p);
	else if (hf_ask_is_beside(&act->ask) && !p->flow && p->rt->front->datagram_flows)
		choose_beside(p, act);
	else
		ask_engine(p, act);
}

/* ---- learning ---- */

void ask_learn(struct parcel *p, const struct hf_act *act)
{
	const struct snap_member *m = act->learn.server && p->at ? worker_by_hash(p->w, p->at, act->learn.server) : NULL;
	struct hf_lesson l = {.key = act->learn.key, .server = m ? m->id : HF_NO_SERVER, .life = act->learn.life, .life_s = act->learn.life_s,
		.flags = act->learn.flags, .why = act->learn.why, .move = act->learn.move, .alias_of = act->learn.alias_of, .source = quota_source(p), .lasted_ms = act->learn.lasted_ms};

	if (act->kind == HF_ACT_END)
		l.life = HF_LIFE_END;
	if (act->learn.server && !m && p->at)
		return; /* a server that has left the pool: there is nothing to learn of it */
	tale_learnt(p, act, l.server);
	if (hf_engine_learn(p->pool->engine, &l, p->w->now_ms) == HF_EFULL)
		parcel_count(p, HF_R_ENTRIES_FULL);
}

void ask_evidence(struct parcel *p, const struct hf_act *act)
{
	const struct snap_member *m = p->at ? snap_by_hash(p->at, act->evidence.server) : NULL;
	struct member_rt *rt = m ? &p->at->rt->members[m->id] : NULL;

	if (!m)
		return;
	if (act->evidence.what == HF_EVIDENCE_BUSY)
		atomic_store_explicit(&rt->busy_until_ms, p->w->now_ms + act->evidence.ms, memory_order_relaxed);
	else if (act->evidence.what == HF_EVIDENCE_FAILED)
		atomic_fetch_add_explicit(&rt->unwell, 1, memory_order_relaxed);
	else if (atomic_load_explicit(&rt->unwell, memory_order_relaxed)) /* as a rule there is nothing to write to what all workers read */
		atomic_store_explicit(&rt->unwell, 0, memory_order_relaxed);
}
