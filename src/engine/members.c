/* The members of a pool: names and ids, marks, weights, states. What a member is decides here; what follows for the slots is queued to change.c.
 * Control thread, but for the views at the end. It must not know entries: it asks loads whether an id is still in use. */
#include "inside.h"

static uint32_t weight_in_force(const struct member *m) { return m->run_weight == HF_WEIGHT_FILE ? m->file_weight : m->run_weight; }

static enum hf_state state_by_marks(const struct member *m)
{
	if (!m->used || m->marks & 1 << HF_MARK_OFF)
		return HF_STATE_OFF;
	if (m->marks & 1 << HF_MARK_DOWN)
		return HF_STATE_DOWN;
	if (m->marks & (1 << HF_MARK_DRAIN | 1 << HF_MARK_BUSY) || m->removed || !weight_in_force(m))
		return HF_STATE_DRAIN;
	return HF_STATE_UP;
}

/* The server's counted sessions become part of m, or leave it, at one instant for every worker. */
static void open_load(struct hf_engine *e, uint16_t id, bool open)
{
	uint64_t before = open ? atomic_fetch_or_explicit(&e->load[id].word, LOAD_OPEN, memory_order_relaxed)
			       : atomic_fetch_and_explicit(&e->load[id].word, ~LOAD_OPEN, memory_order_relaxed);
	int n = (int)LOAD_COUNTED(before);

	if (open && !(before & LOAD_OPEN))
		ledger_sum(e, n, 0);
	else if (!open && before & LOAD_OPEN)
		ledger_sum(e, -n, 0);
}

/* After any change of a member: its state, its weight, W and m, and the queue. */
static void restate(struct hf_engine *e, uint16_t id, uint64_t now_ms)
{
	struct member *m = &e->member[id];
	struct hot *h = &e->hot[id];
	enum hf_state was = state_of(e, id), is = state_by_marks(m);
	uint32_t old = was == HF_STATE_UP ? h->weight : 0, new = is == HF_STATE_UP ? weight_in_force(m) : 0;
	bool redraws;

	atomic_store_explicit(&h->weight, weight_in_force(m), memory_order_relaxed);
	atomic_store_explicit(&h->gone, is == HF_STATE_OFF && (m->removed || !m->used), memory_order_relaxed);
	atomic_fetch_add_explicit(&e->open_weight, new - old, memory_order_relaxed);
	if (is != was) {
		atomic_store_explicit(&m->since_ms, now_ms, memory_order_relaxed);
		atomic_store_explicit(&h->state, (uint8_t)is, memory_order_release);
		open_load(e, id, is == HF_STATE_UP);
	}
	redraws = old && new && old != new && e->method->redraws;
	change_queue(e, id, new > old || redraws, new < old || redraws);
}

void hf_engine_mark(struct hf_engine *e, uint16_t id, enum hf_mark mark, bool on, uint64_t now_ms)
{
	if (!id || id > last_id(e) || !e->member[id].used)
		return;
	if (on)
		e->member[id].marks |= (uint8_t)(1 << mark);
	else
		e->member[id].marks &= (uint8_t)~(1 << mark);
	restate(e, id, now_ms);
}

void hf_engine_weigh(struct hf_engine *e, uint16_t id, uint32_t weight, uint64_t now_ms)
{
	if (!id || id > last_id(e) || !e->member[id].used || (weight > 256 && weight != HF_WEIGHT_FILE))
		return;
	e->member[id].run_weight = weight;
	restate(e, id, now_ms);
}

static void set_name(struct hf_engine *e, uint16_t id, struct hf_bytes name, struct hf_bytes was)
{
	struct member *m = &e->member[id];

	spin_lock(&e->names_lock);
	memset(e->name[id], 0, sizeof e->name[id]);
	memset(m->was, 0, sizeof m->was);
	if (name.n)
		memcpy(e->name[id], name.p, name.n);
	if (was.n)
		memcpy(m->was, was.p, was.n);
	spin_unlock(&e->names_lock);
	atomic_store_explicit(&e->hot[id].seed, e->method->seed(e->conf.hash_key, name), memory_order_relaxed);
}

static void set_bound(struct hf_engine *e, uint16_t id, uint32_t max_sessions)
{
	uint32_t old = atomic_exchange_explicit(&e->hot[id].max_sessions, max_sessions, memory_order_relaxed);

	atomic_fetch_add_explicit(&e->limited, (uint32_t)(max_sessions != 0) - (uint32_t)(old != 0), memory_order_relaxed);
}

static void adopt(struct hf_engine *e, uint16_t id, const struct hf_member_conf *c, uint64_t now_ms)
{
	struct member *m = &e->member[id];
	bool fresh = !m->used, back = fresh || m->removed, renamed = !fresh && !hf_bytes_eq(hf_bytes_str(e->name[id]), c->name);

	if (fresh)
		atomic_store_explicit(&e->hot[id].state, HF_STATE_OFF, memory_order_relaxed);
	if (back) { /* what was said of the server before it was taken out is of another time */
		m->used = true;
		m->marks = 0;
		m->run_weight = HF_WEIGHT_FILE;
		spin_lock(&e->turn_lock);
		m->turn = 0;
		spin_unlock(&e->turn_lock);
		atomic_store_explicit(&m->since_ms, now_ms, memory_order_relaxed);
	}
	if (id > e->head->last_id) /* before its name, for who comes after a kill here */
		e->head->last_id = id;
	if (fresh || renamed)
		set_name(e, id, c->name, c->was);
	if (m->file_weight != c->weight)
		m->run_weight = HF_WEIGHT_FILE;
	m->file_weight = c->weight;
	m->removed = false;
	m->listed = true;
	set_bound(e, id, c->max_sessions);
	if (id > last_id(e))
		atomic_store_explicit(&e->last_id, id, memory_order_release);
	restate(e, id, now_ms);
	if (renamed && state_of(e, id) == HF_STATE_UP) /* another name draws other slots */
		change_queue(e, id, true, true);
}

static uint16_t find(const struct hf_engine *e, struct hf_bytes name)
{
	for (uint16_t id = 1; name.n && id <= last_id(e); id++)
		if (e->name[id][0] == (char)name.p[0] && hf_bytes_eq(hf_bytes_str(e->name[id]), name))
			return id;
	return 0;
}

static bool named(const struct hf_member_conf *m, unsigned n, struct hf_bytes name)
{
	for (unsigned i = 0; i < n; i++)
		if (hf_bytes_eq(m[i].name, name))
			return true;
	return false;
}

static enum hf_err check(const struct hf_member_conf *m, unsigned n)
{
	if (n > HF_SERVERS_MAX)
		return HF_EFULL;
	for (unsigned i = 0; i < n; i++) {
		if (!m[i].name.n || m[i].name.n > HF_NAME_MAX || m[i].was.n > HF_NAME_MAX || memchr(m[i].name.p, 0, m[i].name.n))
			return HF_EINVAL;
		if (m[i].weight > 256 || named(m, i, m[i].name))
			return HF_EINVAL;
	}
	return HF_OK;
}

/* Which id each member gets; changes nothing. A name keeps its id, a renamed server takes its former name's, others the lowest free. */
static enum hf_err assign(const struct hf_engine *e, const struct hf_member_conf *m, unsigned n, uint16_t *ids)
{
	uint16_t next = 1;

	for (unsigned i = 0; i < n; i++)
		ids[i] = find(e, m[i].name);
	for (unsigned i = 0; i < n; i++)
		if (!ids[i]) {
			uint16_t id = find(e, m[i].was);

			if (!among(ids, n, id)) /* not listed itself, and not claimed by two */
				ids[i] = id;
		}
	for (unsigned i = 0; i < n; i++) {
		if (ids[i])
			continue;
		while (next <= HF_SERVERS_MAX && e->member[next].used)
			next++;
		if (next > HF_SERVERS_MAX)
			return HF_EFULL;
		ids[i] = next++;
	}
	return HF_OK;
}

enum hf_err hf_engine_apply(struct hf_engine *e, const struct hf_member_conf *m, unsigned n, uint16_t *ids, uint64_t now_ms)
{
	enum hf_err err = check(m, n);

	if (err == HF_OK)
		err = assign(e, m, n, ids);
	if (err != HF_OK)
		return err;
	for (uint16_t id = 1; id <= last_id(e); id++)
		e->member[id].listed = false;
	for (unsigned i = 0; i < n; i++)
		adopt(e, ids[i], &m[i], now_ms);
	change_names(e);
	for (uint16_t id = 1; id <= last_id(e); id++)
		if (e->member[id].used && !e->member[id].listed && !e->member[id].removed) {
			e->member[id].removed = true;
			restate(e, id, now_ms);
		}
	/* Without memory to fill at once the slots fill by ticks, as after any change. */
	if (!e->filled && change_fill(e) == HF_OK)
		e->filled = true;
	return HF_OK;
}

/* Nobody may be half-way into an entry at the id: who saw it serving holds a shard's lock until the entry is counted. */
static bool unused(struct hf_engine *e, uint16_t id)
{
	if (LOAD_ENTRIES(load_word(e, id)) || e->member[id].gain || e->member[id].lose || atomic_load_explicit(&e->member[id].slots, memory_order_relaxed))
		return false;
	e->member[id].used = false;
	atomic_store_explicit(&e->hot[id].state, HF_STATE_OFF, memory_order_release);
	for (unsigned i = 0; i < e->n_shards; i++) {
		spin_lock(&e->shard[i].lock);
		spin_unlock(&e->shard[i].lock);
	}
	if (!LOAD_ENTRIES(load_word(e, id)))
		return true;
	e->member[id].used = true;
	atomic_store_explicit(&e->hot[id].state, (uint8_t)state_by_marks(&e->member[id]), memory_order_release);
	return false;
}

unsigned hf_engine_reap(struct hf_engine *e, uint16_t *ids, unsigned cap)
{
	unsigned n = 0;

	for (uint16_t id = 1; id <= last_id(e) && n < cap; id++) {
		if (!e->member[id].used || !e->member[id].removed || !unused(e, id))
			continue;
		set_name(e, id, HF_NONE, HF_NONE);
		set_bound(e, id, 0);
		ids[n++] = id;
	}
	return n;
}

uint16_t hf_engine_last_id(const struct hf_engine *e) { return last_id(e); }

uint16_t hf_engine_find(const struct hf_engine *e, struct hf_bytes name)
{
	struct spin *names = (struct spin *)&e->names_lock; /* a view locks what it reads */
	uint16_t id;

	spin_lock(names);
	id = find(e, name);
	spin_unlock(names);
	return id;
}

enum hf_state hf_engine_state(const struct hf_engine *e, uint16_t id, uint64_t *since_ms)
{
	if (!id || id > last_id(e))
		return HF_STATE_OFF;
	if (since_ms)
		*since_ms = atomic_load_explicit(&e->member[id].since_ms, memory_order_relaxed);
	return state_of(e, id);
}

bool hf_engine_server(struct hf_engine *e, uint16_t id, struct hf_server_view *v)
{
	const struct member *m;

	memset(v, 0, sizeof *v);
	if (!id || id > last_id(e) || !e->member[id].used)
		return false;
	m = &e->member[id];
	spin_lock(&e->names_lock);
	memcpy(v->name, e->name[id], sizeof v->name);
	memcpy(v->was, m->was, sizeof v->was);
	spin_unlock(&e->names_lock);
	v->id = id;
	v->state = state_of(e, id);
	v->removed = m->removed;
	v->weight = atomic_load_explicit(&e->hot[id].weight, memory_order_relaxed);
	v->file_weight = m->file_weight;
	v->max_sessions = atomic_load_explicit(&e->hot[id].max_sessions, memory_order_relaxed);
	v->sessions = LOAD_COUNTED(load_word(e, id));
	v->cap = place_cap(e, id);
	v->slots = atomic_load_explicit(&m->slots, memory_order_relaxed);
	v->since_ms = atomic_load_explicit(&m->since_ms, memory_order_relaxed);
	return true;
}
