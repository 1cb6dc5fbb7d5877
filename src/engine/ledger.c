/* Entries, loads and exceptions in step: every change of an entry goes through here, so no count can drift or wrap.
 * It knows no rule about lives, states or placement. Callers (choose.c, change.c, engine.c) hold the shard's lock unless told. */
#include "inside.h"

uint64_t ledger_load(struct hf_engine *e, uint16_t id, int counted, int entries)
{
	uint64_t by = (uint64_t)(int64_t)counted + (uint64_t)(int64_t)entries * LOAD_ENTRY;
	uint64_t before;

	if (!by)
		return load_word(e, id);
	before = atomic_fetch_add_explicit(&e->load[id], by, memory_order_relaxed);
	HF_BUG_ON((int64_t)LOAD_COUNTED(before) + counted < 0 || (int64_t)LOAD_ENTRIES(before) + entries < 0);
	if (counted && (before & LOAD_OPEN))
		atomic_fetch_add_explicit(&e->open_sessions, counted, memory_order_relaxed);
	return before;
}

bool ledger_over(const struct hf_engine *e, const struct shard *s, const struct entry *x, uint64_t now_ms)
{
	struct record *r;

	if (tick_left(x->expiry, now_ms))
		return false;
	r = e->conf.mode == HF_MODE_TABLE ? records_find(&s->records, x->fp) : NULL;
	return !r || !r->flows;
}

bool ledger_find(struct hf_engine *e, struct shard *s, uint64_t fp, uint64_t now_ms, uint32_t *place, struct entry *x)
{
	bool found;

	*place = entries_seek(&s->t, fp, &found);
	if (!found)
		return false;
	*x = entry_unpack(&s->t.at[*place]);
	if (!ledger_over(e, s, x, now_ms))
		return true;
	ledger_drop(e, s, *place);
	return false;
}

/* One exception more or less in a slot, and in the shard's exact sum. */
static void except(struct hf_engine *e, struct shard *s, uint64_t fp, int by)
{
	uint32_t slot = slot_of(e, fp), w = slot_word(e, slot);
	unsigned n = SLOT_EXCEPTIONS(w);

	atomic_fetch_add_explicit(&s->exceptions, (uint64_t)(int64_t)by, memory_order_relaxed);
	if (n < EXCEPTIONS_MAX)
		atomic_store_explicit(&e->slot[slot], SLOT_WORD(SLOT_OWNER(w), n + (unsigned)by), memory_order_relaxed);
}

static bool is_exception(const struct hf_engine *e, const struct entry *x) { return SLOT_OWNER(slot_word(e, slot_of(e, x->fp))) != x->server; }
static int counted(const struct entry *x) { return x->flags & HF_COUNTED ? 1 : 0; }

/* Room for one more, within max_entries. */
static bool claim(struct hf_engine *e)
{
	if (atomic_fetch_add_explicit(&e->entries, 1, memory_order_relaxed) < e->conf.max_entries)
		return true;
	atomic_fetch_sub_explicit(&e->entries, 1, memory_order_relaxed);
	return false;
}

/* When the table is full, the nearest entry that is over or only tentative makes room: as many places are looked at as a search may walk. */
static bool evict(struct hf_engine *e, struct shard *s, uint64_t fp, uint64_t now_ms)
{
	uint32_t from = entries_home(&s->t, fp), end = from + 64 < s->t.places ? from + 64 : s->t.places;

	for (uint32_t i = from; i < end; i++) {
		struct entry x = entry_unpack(&s->t.at[i]);

		if (x.server && (x.flags & HF_TENTATIVE || ledger_over(e, s, &x, now_ms))) {
			ledger_drop(e, s, i);
			return true;
		}
	}
	return false;
}

static bool record(struct hf_engine *e, struct shard *s, uint64_t fp, const struct hf_lesson *from, uint64_t now_ms)
{
	struct record *r;

	if (e->conf.mode != HF_MODE_TABLE)
		return true;
	r = records_put(&s->records, fp, from->key.text);
	if (!r)
		return false;
	r->since_ms = r->seen_ms = now_ms;
	r->why = (uint8_t)from->why;
	return true;
}

bool ledger_add(struct hf_engine *e, struct shard *s, const struct entry *x, bool reserved, const struct hf_lesson *from, uint64_t now_ms)
{
	uint32_t place;
	bool found, room = claim(e) || (evict(e, s, x->fp, now_ms) && claim(e));

	if (room && record(e, s, x->fp, from, now_ms)) {
		place = entries_seek(&s->t, x->fp, &found);
		HF_BUG_ON(found);
		if (entries_insert(&s->t, place, x)) {
			ledger_load(e, x->server, reserved ? 0 : counted(x), 1);
			if (is_exception(e, x))
				except(e, s, x->fp, 1);
			return true;
		}
		records_drop(&s->records, x->fp);
	}
	if (room)
		atomic_fetch_sub_explicit(&e->entries, 1, memory_order_relaxed);
	if (reserved)
		ledger_load(e, x->server, -1, 0);
	return false;
}

void ledger_set(struct hf_engine *e, struct shard *s, uint32_t place, const struct entry *x, bool reserved)
{
	struct entry old = entry_unpack(&s->t.at[place]);
	int was = is_exception(e, &old), is = is_exception(e, x);

	if (old.server == x->server) {
		ledger_load(e, x->server, counted(x) - counted(&old) - (reserved ? 1 : 0), 0);
	} else {
		ledger_load(e, x->server, counted(x) - (reserved ? 1 : 0), 1);
		ledger_load(e, old.server, -counted(&old), -1);
	}
	s->t.at[place] = entry_pack(x);
	if (is != was)
		except(e, s, x->fp, is - was);
}

void ledger_drop(struct hf_engine *e, struct shard *s, uint32_t place)
{
	struct entry x = entry_unpack(&s->t.at[place]);

	if (is_exception(e, &x))
		except(e, s, x.fp, -1);
	ledger_load(e, x.server, -counted(&x), -1);
	if (e->conf.mode == HF_MODE_TABLE)
		records_drop(&s->records, x.fp);
	entries_remove(&s->t, place);
	atomic_fetch_sub_explicit(&e->entries, 1, memory_order_relaxed);
}

void ledger_own(struct hf_engine *e, uint32_t slot, uint16_t owner)
{
	unsigned low = HF_FP_BITS - e->conf.slot_bits;
	uint64_t from = (uint64_t)slot << low, to = from | (((uint64_t)1 << low) - 1);
	struct shard *s = shard_of_slot(e, slot);
	uint16_t old;
	int64_t n = 0, was = 0;

	spin_lock(&s->lock);
	old = SLOT_OWNER(slot_word(e, slot));
	for (uint32_t i = s->t.used ? entries_next(&s->t, 0, from, to) : s->t.places; i < s->t.places; i = entries_next(&s->t, i + 1, from, to)) {
		n += packed_server(&s->t.at[i]) != owner;
		was += packed_server(&s->t.at[i]) != old;
	}
	atomic_store_explicit(&e->slot[slot], SLOT_WORD(owner, n > EXCEPTIONS_MAX ? EXCEPTIONS_MAX : n), memory_order_relaxed);
	atomic_fetch_add_explicit(&s->exceptions, (uint64_t)(n - was), memory_order_relaxed);
	spin_unlock(&s->lock);
	if (old != NO_OWNER)
		atomic_fetch_sub_explicit(&e->member[old].slots, 1, memory_order_relaxed);
	if (owner != NO_OWNER)
		atomic_fetch_add_explicit(&e->member[owner].slots, 1, memory_order_relaxed);
}

static void recount_shard(struct hf_engine *e, struct shard *s)
{
	bool sound = true;

	for (uint32_t i = 0; i < s->t.places; i++) {
		s->t.used += !packed_empty(&s->t.at[i]);
		sound &= packed_server(&s->t.at[i]) <= HF_SERVERS_MAX;
	}
	if (!sound || !entries_sound(&s->t)) { /* not what an engine left: nothing in it can be trusted */
		memset(s->t.at, 0, s->t.places * sizeof s->t.at[0]);
		s->t.used = 0;
	}
	atomic_fetch_add_explicit(&e->entries, s->t.used, memory_order_relaxed);
	for (uint32_t i = 0; i < s->t.places; i++) {
		struct entry x = entry_unpack(&s->t.at[i]);

		if (!x.server)
			continue;
		ledger_load(e, x.server, counted(&x), 1);
		except(e, s, x.fp, 1); /* no slot has an owner yet */
		if (x.server > last_id(e) || !e->member[x.server].used)
			ledger_drop(e, s, i--); /* what moved up is next */
	}
}

void ledger_recount(struct hf_engine *e)
{
	for (unsigned i = 0; i < e->n_shards; i++)
		recount_shard(e, &e->shard[i]);
}
