/* Entries, loads and exceptions in step: every change of an entry goes through here, so no count can drift or wrap.
 * It knows no rule about lives, states or placement. Callers (choose.c, change.c, engine.c) hold the shard's lock unless told. */
#include "inside.h"

uint64_t ledger_load(struct hf_engine *e, uint16_t id, int counted, int entries)
{
	uint64_t by = (uint64_t)(int64_t)counted + (uint64_t)(int64_t)entries * LOAD_ENTRY;
	uint64_t before = atomic_fetch_add_explicit(&e->load[id].word, by, memory_order_relaxed);

	HF_BUG_ON((int64_t)LOAD_COUNTED(before) + counted < 0 || (int64_t)LOAD_ENTRIES(before) + entries < 0);
	return before;
}

/* What a change of a server's counted sessions is to m, by its load word of then. */
static int open_part(uint64_t before, int counted) { return before & LOAD_OPEN ? counted : 0; }

static void shift(struct hf_engine *e, uint16_t id, int counted, int entries)
{
	int open = counted || entries ? open_part(ledger_load(e, id, counted, entries), counted) : 0;

	if (open)
		sums_add(&e->sums, open, 0);
}

void ledger_count(struct hf_engine *e, uint16_t id, int by) { shift(e, id, by, 0); }

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
	struct spot at = entries_seek(&s->t, fp);

	*place = at.place;
	if (!at.found)
		return false;
	*x = entry_unpack(&s->t.at[*place]);
	if (!ledger_over(e, s, x, now_ms))
		return true;
	ledger_drop(e, s, *place);
	return false;
}

bool ledger_look(const struct hf_engine *e, const struct shard *s, uint64_t fp, uint64_t now_ms, uint32_t *place, struct entry *x)
{
	struct spot at = entries_seek(&s->t, fp);

	*place = at.place;
	if (!at.found)
		return false;
	*x = entry_unpack(&s->t.at[*place]);
	return !ledger_over(e, s, x, now_ms);
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

/* Room for one more, within max_entries; m changes with it. */
static bool claim(struct hf_engine *e, int open)
{
	int64_t off, known = sums_known(&e->sums, &off).entries;

	sums_add(&e->sums, open, 1);
	if (known + off < e->conf.max_entries || sums_all(&e->sums).entries <= e->conf.max_entries)
		return true;
	sums_add(&e->sums, -open, -1);
	return false;
}

bool ledger_crowded(const struct hf_engine *e)
{
	int64_t off, most = e->conf.max_entries - e->conf.max_entries / 4, known = sums_known(&e->sums, &off).entries;

	return known + off >= most && sums_all(&e->sums).entries >= most;
}

/* When the table is full, the nearest entry that is over makes room, or for a firm one the nearest tentative one: as many places are looked at as
 * a search may walk. Its place, or UINT32_MAX. */
static uint32_t yielding(const struct hf_engine *e, const struct shard *s, uint64_t fp, unsigned flags, uint64_t now_ms)
{
	uint32_t from = entries_home(&s->t, fp), end = from + 64 < s->t.places ? from + 64 : s->t.places;
	unsigned weak = flags & HF_TENTATIVE ? 0 : HF_TENTATIVE;

	for (uint32_t i = from; i < end; i++) {
		struct entry x = entry_unpack(&s->t.at[i]);

		if (x.server && (x.flags & weak || ledger_over(e, s, &x, now_ms)))
			return i;
	}
	return UINT32_MAX;
}

static bool evict(struct hf_engine *e, struct shard *s, const struct entry *for_it, uint64_t now_ms)
{
	uint32_t place = yielding(e, s, for_it->fp, for_it->flags, now_ms);

	if (place == UINT32_MAX)
		return false;
	ledger_drop(e, s, place);
	return true;
}

bool ledger_room(const struct hf_engine *e, const struct shard *s, uint64_t fp, unsigned flags, uint64_t now_ms)
{
	return sums_all(&e->sums).entries < e->conf.max_entries || yielding(e, s, fp, flags, now_ms) != UINT32_MAX;
}

bool ledger_record(struct hf_engine *e, struct shard *s, uint64_t fp, const struct birth *from)
{
	struct record *r;

	if (e->conf.mode != HF_MODE_TABLE)
		return true;
	r = records_put(&s->records, fp, from->text);
	if (!r)
		return false;
	r->since_ms = r->seen_ms = from->now_ms;
	r->flows = from->flows;
	r->why = (uint8_t)from->why;
	if (from->alias_of)
		records_alias(&s->records, fp, from->alias_of);
	return true;
}

/* Whatever moved entries has made `place` another one. */
static uint32_t again(const struct shard *s, uint64_t fp)
{
	struct spot at = entries_seek(&s->t, fp);

	HF_BUG_ON(at.found);
	return at.place;
}

static bool insert(struct hf_engine *e, struct shard *s, uint32_t place, const struct entry *x)
{
	uint32_t *extent = &e->head->extent[s - e->shard];

	if (s->t.used >= s->t.limit && entries_grow(&s->t, extent))
		place = again(s, x->fp);
	while (!entries_insert(&s->t, place, x)) {
		if (!entries_grow(&s->t, extent))
			return false;
		place = again(s, x->fp);
	}
	return true;
}

bool ledger_add(struct hf_engine *e, struct shard *s, uint32_t place, const struct entry *x, enum taken taken, const struct birth *from)
{
	int open = taken == TAKEN_NOT ? open_part(ledger_load(e, x->server, counted(x), 1), counted(x)) : taken == TAKEN_OPEN;
	bool room = claim(e, open);

	if (!room && evict(e, s, x, from->now_ms)) {
		room = claim(e, open);
		place = again(s, x->fp);
	}
	if (room && ledger_record(e, s, x->fp, from)) {
		if (insert(e, s, place, x)) {
			if (is_exception(e, x))
				except(e, s, x->fp, 1);
			copy_changed(e, x->fp);
			return true;
		}
		if (e->conf.mode == HF_MODE_TABLE)
			records_drop(&s->records, x->fp);
	}
	/* What m got with the claim goes by the load word of now, as all that is taken back. */
	open = (room ? 0 : open) + open_part(ledger_load(e, x->server, -counted(x), -1), -counted(x));
	if (room || open)
		sums_add(&e->sums, open, room ? -1 : 0);
	return false;
}

void ledger_set(struct hf_engine *e, struct shard *s, uint32_t place, const struct entry *x, enum taken taken)
{
	struct entry old = entry_unpack(&s->t.at[place]);
	int done = taken != TAKEN_NOT, is;

	entries_set(&s->t, place, x);
	copy_changed(e, x->fp);
	if (taken == TAKEN_OPEN)
		sums_add(&e->sums, 1, 0);
	if (old.server == x->server) {
		shift(e, x->server, counted(x) - counted(&old) - done, -done);
		return;
	}
	shift(e, x->server, counted(x) - done, 1 - done);
	shift(e, old.server, -counted(&old), -1);
	is = is_exception(e, x) - is_exception(e, &old);
	if (is)
		except(e, s, x->fp, is);
}

void ledger_drop(struct hf_engine *e, struct shard *s, uint32_t place)
{
	struct entry x = entry_unpack(&s->t.at[place]);

	fetch_to_write(&e->load[x.server]); /* other workers write it too: it comes while the table is mended */
	if (is_exception(e, &x))
		except(e, s, x.fp, -1);
	if (e->conf.mode == HF_MODE_TABLE)
		records_drop(&s->records, x.fp);
	entries_remove(&s->t, place);
	copy_changed(e, x.fp);
	sums_add(&e->sums, open_part(ledger_load(e, x.server, -counted(&x), -1), -counted(&x)), -1);
}

unsigned ledger_own(struct hf_engine *e, uint32_t slot, uint16_t owner)
{
	unsigned low = HF_FP_BITS - e->conf.slot_bits;
	uint64_t from = (uint64_t)slot << low, to = from | (((uint64_t)1 << low) - 1);
	struct shard *s = shard_of_slot(e, slot);
	unsigned seen = 0;
	uint16_t old;
	int64_t n = 0, was = 0;

	spin_lock(&s->lock);
	old = SLOT_OWNER(slot_word(e, slot));
	for (uint32_t i = entries_next(&s->t, 0, from, to); i < entries_places(&s->t); i = entries_next(&s->t, i + 1, from, to), seen++) {
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
	return seen;
}

static void recount_shard(struct hf_engine *e, struct shard *s)
{
	for (uint32_t i = 0; i < s->t.places; i++)
		if (packed_server(&s->t.at[i]) > HF_SERVERS_MAX)
			entries_remove(&s->t, i--); /* not what an engine left; what moved up is next */
	sums_add(&e->sums, 0, (int)s->t.used);
	for (uint32_t i = 0; i < s->t.places; i++) {
		struct entry x = entry_unpack(&s->t.at[i]);

		if (!x.server)
			continue;
		ledger_load(e, x.server, counted(&x), 1); /* no server is up yet */
		if (is_exception(e, &x))
			except(e, s, x.fp, 1);
		if (x.server > last_id(e) || !e->member[x.server].used)
			ledger_drop(e, s, i--);
	}
}

void ledger_recount(struct hf_engine *e)
{
	for (unsigned i = 0; i < e->n_shards; i++)
		recount_shard(e, &e->shard[i]);
}
