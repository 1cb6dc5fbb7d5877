/* The members of a pool: names and ids, marks, weights, states. What a member is decides here; what follows for the slots is queued to change.c.
 * Control thread, but for finding a name. It must not know entries: it asks loads whether an id is still in use. */
#include "inside.h"

#define CUTS (1 << HF_MARK_OFF | 1 << HF_MARK_OVER)

/* Whatever is thought of it. */
static bool is_drained(const struct hf_member_record *r) { return r->marks & (1 << HF_MARK_DRAIN | 1 << HF_MARK_AGENT_DRAIN) || r->removed_ms || !members_weight(r); }

static enum hf_state state_by_marks(const struct hf_member_record *r)
{
	if (r->marks & (CUTS | 1 << HF_MARK_AGENT_OFF))
		return HF_STATE_OFF;
	if (r->marks & (1 << HF_MARK_DOWN | 1 << HF_MARK_AGENT_DOWN))
		return HF_STATE_DOWN;
	if (is_drained(r) || r->marks & 1 << HF_MARK_BUSY)
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
		sums_add(&e->sums, n, 0);
	else if (!open && before & LOAD_OPEN)
		sums_add(&e->sums, -n, 0);
}

void members_bound(struct hf_engine *e, uint16_t id, uint32_t max_sessions)
{
	uint32_t old = atomic_exchange_explicit(&e->hot[id].max_sessions, max_sessions, memory_order_relaxed);

	atomic_fetch_add_explicit(&e->limited, (uint32_t)(max_sessions != 0) - (uint32_t)(old != 0), memory_order_relaxed);
}

/* Not kept: whoever lists a member says it. */
void members_rate(struct hf_engine *e, uint16_t id, uint32_t max_per_s)
{
	uint32_t old = atomic_exchange_explicit(&e->load[id].max_per_s, max_per_s, memory_order_relaxed);

	atomic_fetch_add_explicit(&e->limited, (uint32_t)(max_per_s != 0) - (uint32_t)(old != 0), memory_order_relaxed);
}

/* The lower of two bounds; 0 is none. */
static uint32_t bound(uint32_t a, uint32_t b) { return !a || (b && b < a) ? b : a; }

/* The member becomes what its record says: its state, its weight, W and m, the queue of slots, and the mapping. */
static void put(struct hf_engine *e, uint16_t id, struct hf_member_record *r, uint64_t now_ms)
{
	struct hot *h = &e->hot[id];
	bool drains = r->marks & 1 << HF_MARK_DRAIN || !members_weight(r), redraws;
	enum hf_state was = state_of(e, id), is;
	uint32_t old = was == HF_STATE_UP ? h->weight : 0, new;

	if (!drains && !r->removed_ms)
		r->marks &= (uint8_t)~(1 << HF_MARK_OVER);
	is = state_by_marks(r);
	new = is == HF_STATE_UP ? members_weight(r) : 0;
	r->since_ms = is != was ? now_ms : r->since_ms;
	r->drain_ms = !drains ? 0 : r->drain_ms ? r->drain_ms : now_ms;
	kept_write(e, id, r);
	members_bound(e, id, bound(r->max_sessions, atomic_load_explicit(&e->member[id].advised, memory_order_relaxed)));
	atomic_store_explicit(&h->weight, members_weight(r), memory_order_relaxed);
	atomic_store_explicit(&h->gone, is == HF_STATE_OFF && r->removed_ms, memory_order_relaxed);
	atomic_store_explicit(&h->cuts, (r->marks & CUTS) != 0, memory_order_relaxed);
	atomic_store_explicit(&h->knock, e->member[id].unreached && is == HF_STATE_DOWN && !(r->marks & 1 << HF_MARK_AGENT_DOWN), memory_order_relaxed);
	atomic_store_explicit(&h->rests, e->member[id].rests && is == HF_STATE_DRAIN && !is_drained(r), memory_order_relaxed);
	if (is != was) {
		atomic_store_explicit(&e->member[id].since_ms, now_ms, memory_order_relaxed);
		atomic_store_explicit(&h->state, (uint8_t)is, memory_order_release);
		open_load(e, id, is == HF_STATE_UP);
		if (is == HF_STATE_UP && was != HF_STATE_DRAIN && e->filled) /* not at the start, where all come up at once */
			ramp_begin(e, id, now_ms);
	}
	ramp_set(e, id, now_ms);
	if (is == HF_STATE_UP && is != was)
		balance_join(e, id);
	redraws = old && new && old != new && e->method->redraws;
	change_queue(e, id, new > old || redraws, new < old || redraws);
}

static bool exists(const struct hf_engine *e, uint16_t id) { return id && id <= last_id(e) && e->member[id].used; }

void hf_engine_mark(struct hf_engine *e, uint16_t id, enum hf_mark mark, bool on, uint64_t now_ms)
{
	struct hf_member_record r;

	if (!exists(e, id))
		return;
	r = e->kept[id];
	if (on)
		r.marks |= (uint8_t)(1 << mark);
	else
		r.marks &= (uint8_t)~(1 << mark);
	if (mark == HF_MARK_OFF && !on && r.marks & 1 << HF_MARK_OVER) {
		r.marks &= (uint8_t)~(1 << HF_MARK_OVER);
		r.drain_ms = 0;
	}
	put(e, id, &r, now_ms);
}

/* What is known of a mark, and not kept. */
static void qualify(struct hf_engine *e, uint16_t id, bool *what, bool is, uint64_t now_ms)
{
	struct hf_member_record r = e->kept[id];

	if (*what == is || !exists(e, id))
		return;
	*what = is;
	put(e, id, &r, now_ms);
}

void hf_engine_unreached(struct hf_engine *e, uint16_t id, bool unreached, uint64_t now_ms) { qualify(e, id, &e->member[id].unreached, unreached, now_ms); }
void hf_engine_rests(struct hf_engine *e, uint16_t id, bool rests, uint64_t now_ms) { qualify(e, id, &e->member[id].rests, rests, now_ms); }

bool hf_engine_marked(const struct hf_engine *e, uint16_t id, enum hf_mark mark) { return exists(e, id) && e->kept[id].marks & 1 << mark; }

void hf_engine_weigh(struct hf_engine *e, uint16_t id, uint32_t weight, uint64_t now_ms)
{
	struct hf_member_record r;

	if (!exists(e, id) || (weight > 256 && weight != HF_WEIGHT_FILE))
		return;
	r = e->kept[id];
	r.run_weight = weight;
	put(e, id, &r, now_ms);
}

void hf_engine_advise(struct hf_engine *e, uint16_t id, uint32_t percent, uint32_t max_sessions, uint64_t now_ms)
{
	struct hf_member_record r;

	if (!exists(e, id) || percent > HF_PERCENT_MAX)
		return;
	if (atomic_load_explicit(&e->member[id].percent, memory_order_relaxed) == percent &&
	    atomic_load_explicit(&e->member[id].advised, memory_order_relaxed) == max_sessions)
		return;
	r = e->kept[id];
	atomic_store_explicit(&e->member[id].percent, percent, memory_order_relaxed);
	atomic_store_explicit(&e->member[id].advised, max_sessions, memory_order_relaxed);
	put(e, id, &r, now_ms);
}

static void set_seed(struct hf_engine *e, uint16_t id, struct hf_bytes name)
{
	atomic_store_explicit(&e->hot[id].seed, e->method->seed(e->conf.hash_key, name), memory_order_relaxed);
}

/* What was set by hand ends with the line that it was set for. Health is nothing that a line could say. */
static void forget_overrides(struct hf_member_record *r)
{
	r->marks &= (uint8_t)~(1 << HF_MARK_DRAIN | 1 << HF_MARK_OFF | 1 << HF_MARK_OVER);
	r->run_weight = HF_WEIGHT_FILE;
	r->drain_ms = 0;
}

static bool other_line(const struct hf_member_record *r, const struct hf_member_conf *c)
{
	return r->removed_ms || r->file_weight != c->weight || r->max_sessions != c->max_sessions || (!c->at_found && memcmp(r->at, c->at, sizeof r->at) != 0);
}

static void adopt(struct hf_engine *e, uint16_t id, const struct hf_member_conf *c, uint64_t now_ms)
{
	struct member *m = &e->member[id];
	bool fresh = !m->used, renamed = !fresh && !hf_bytes_eq(hf_bytes_str(e->kept[id].name), c->name);
	struct hf_member_record r = e->kept[id]; /* zero when fresh */

	if (fresh || other_line(&r, c))
		forget_overrides(&r);
	if (renamed)
		kept_former(e, id);
	hf_member_rename(&r, c->name, c->was);
	memcpy(r.at, c->at, sizeof r.at);
	r.file_weight = c->weight;
	r.max_sessions = c->max_sessions;
	r.removed_ms = 0;
	if (fresh || renamed)
		set_seed(e, id, c->name);
	if (fresh) {
		atomic_store_explicit(&e->hot[id].state, HF_STATE_OFF, memory_order_relaxed);
		atomic_store_explicit(&m->percent, 0, memory_order_relaxed);
		atomic_store_explicit(&m->advised, 0, memory_order_relaxed);
		m->unreached = m->rests = false;
	}
	m->used = m->listed = true;
	if (id > last_id(e))
		atomic_store_explicit(&e->last_id, id, memory_order_release);
	put(e, id, &r, now_ms);
	members_rate(e, id, c->max_per_s < HF_RATE_MAX ? c->max_per_s : HF_RATE_MAX);
	if (renamed && state_of(e, id) == HF_STATE_UP) /* another name draws other slots */
		change_queue(e, id, true, true);
}

static uint64_t not_after(uint64_t ms, uint64_t now_ms) { return ms < now_ms ? ms : now_ms; }

/* A member whose record is there, and nothing else of it yet, as it was. */
static void wake(struct hf_engine *e, uint16_t id, uint64_t now_ms)
{
	struct hf_member_record r = e->kept[id];

	r.since_ms = not_after(r.since_ms, now_ms);
	r.drain_ms = not_after(r.drain_ms, now_ms);
	r.removed_ms = not_after(r.removed_ms, now_ms);
	atomic_store_explicit(&e->member[id].since_ms, r.since_ms, memory_order_relaxed);
	set_seed(e, id, hf_bytes_str(r.name));
	put(e, id, &r, r.since_ms);
}

void members_wake(struct hf_engine *e, uint64_t now_ms)
{
	for (uint16_t id = 1; id <= last_id(e); id++)
		if (e->member[id].used)
			wake(e, id, now_ms);
}

enum hf_err hf_engine_restore(struct hf_engine *e, uint16_t id, const struct hf_member_record *r, uint64_t now_ms)
{
	if (!id || id > HF_SERVERS_MAX || !kept_sound(r))
		return HF_EINVAL;
	if (e->member[id].used)
		return HF_EEXIST;
	kept_write(e, id, r);
	e->member[id].used = true;
	atomic_store_explicit(&e->hot[id].state, HF_STATE_OFF, memory_order_relaxed);
	if (id > last_id(e))
		atomic_store_explicit(&e->last_id, id, memory_order_release);
	wake(e, id, now_ms);
	return HF_OK;
}

static uint16_t find(const struct hf_engine *e, struct hf_bytes name)
{
	for (uint16_t id = 1; name.n && id <= last_id(e); id++)
		if (name_of(e, id)[0] == (char)name.p[0] && hf_bytes_eq(hf_bytes_str(name_of(e, id)), name))
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

enum hf_err hf_engine_plan(const struct hf_engine *e, const struct hf_member_conf *m, unsigned n, uint16_t *ids)
{
	enum hf_err err = check(m, n);

	return err == HF_OK ? assign(e, m, n, ids) : err;
}

static void take_out(struct hf_engine *e, uint16_t id, uint64_t now_ms)
{
	struct hf_member_record r = e->kept[id];

	r.removed_ms = now_ms;
	put(e, id, &r, now_ms);
}

void hf_engine_enact(struct hf_engine *e, const struct hf_member_conf *m, unsigned n, const uint16_t *ids, uint64_t now_ms)
{
	for (uint16_t id = 1; id <= last_id(e); id++)
		e->member[id].listed = false;
	for (unsigned i = 0; i < n; i++)
		adopt(e, ids[i], &m[i], now_ms);
	change_names(e);
	for (uint16_t id = 1; id <= last_id(e); id++)
		if (e->member[id].used && !e->member[id].listed && !e->kept[id].removed_ms)
			take_out(e, id, now_ms);
	/* Without memory to fill at once the slots fill by ticks, as after any change. */
	if (!e->filled && change_fill(e) == HF_OK)
		e->filled = true;
}

enum hf_err hf_engine_apply(struct hf_engine *e, const struct hf_member_conf *m, unsigned n, uint16_t *ids, uint64_t now_ms)
{
	enum hf_err err = hf_engine_plan(e, m, n, ids);

	if (err == HF_OK)
		hf_engine_enact(e, m, n, ids, now_ms);
	return err;
}

uint16_t hf_engine_find(const struct hf_engine *e, struct hf_bytes name)
{
	struct spin *names = (struct spin *)&e->names_lock; /* a view locks what it reads */
	uint16_t id;

	spin_lock(names);
	id = find(e, name);
	spin_unlock(names);
	return id;
}
