/* Making and ending an engine, its mapping's layout, and the sweep; see holdfast/engine.h.
 * Pure: the mapping is given, the time is given. */
#include <stddef.h>
#include <stdlib.h>

#include "holdfast/hash.h"
#include "inside.h"

#define REGION_MAGIC 0x4864666173743104u /* the mapping's form; another form, another number */
/* A shard has at least so many (a small table is one shard): chance cannot fill one early, and few live sessions touch few pages, as each
 * shard has its own. Few enough that doubling a shard, which holds its lock, stays about a tenth of a millisecond. */
#define SHARD_ENTRIES 20000
#define SHARD_BITS_MAX 12

enum { IDS = HF_SERVERS_MAX + 1 };

/* The mapping's form is the same by every compiler, as programs of 32 and of 64 bits may follow each other on a machine. */
_Static_assert(sizeof(struct hf_member_record) == 200 && sizeof(struct packed) == 12, "records without gaps");
_Static_assert(offsetof(struct region_head, redo) == 32 && offsetof(struct region_head, fill) == 232 && offsetof(struct region_head, extent) == 240, "a head without gaps");

static const struct method *const methods[] = {
	[HF_METHOD_CARP] = &carp_method, [HF_METHOD_RING] = &ring_method, [HF_METHOD_MAGLEV] = &maglev_method, [HF_METHOD_MODULO] = &modulo_method,
};

static unsigned shard_bits(const struct hf_engine_conf *c)
{
	unsigned bits = 0;

	while (bits < SHARD_BITS_MAX && c->max_entries >> (bits + 1) >= SHARD_ENTRIES)
		bits++;
	return bits;
}

/* Homes of a shard: its share of max_entries at load 0.878, so that a million entries take 13.7 octets each, and 14 with the slots. */
static uint32_t shard_homes(const struct hf_engine_conf *c)
{
	uint64_t share = ((uint64_t)c->max_entries >> shard_bits(c)) + 1;

	return (uint32_t)(share * 1139 / 1000 + 1);
}

/* All that is kept by id, as one allocation: so large that it comes as pages, and those of ids that are not used stay untouched. */
struct by_id {
	struct load load[IDS];
	struct hot hot[IDS];
	struct member member[IDS];
	uint16_t up[IDS], gains[IDS];
};

struct layout {
	size_t kept, slot, entries, end;
};

static size_t line(size_t n) { return (n + 63) & ~(size_t)63; }

static struct layout layout_of(const struct hf_engine_conf *c)
{
	struct layout l;

	l.kept = line(sizeof(struct region_head) + (sizeof(uint32_t) << shard_bits(c)));
	l.slot = line(l.kept + (size_t)IDS * sizeof(struct hf_member_record));
	l.entries = line(l.slot + ((size_t)sizeof(uint32_t) << c->slot_bits));
	l.end = l.entries + (((size_t)shard_homes(c) + ENTRIES_SLACK) << shard_bits(c)) * sizeof(struct packed);
	return l;
}

size_t hf_engine_need(const struct hf_engine_conf *conf) { return layout_of(conf).end; }

/* A mark of the hash key that does not tell it. */
static uint64_t key_check(const struct hf_engine_conf *c) { return hf_sip24(c->hash_key, HF_LIT("check:hash-key")); }

static void map(struct hf_engine *e, uint8_t *mem)
{
	struct layout l = layout_of(&e->conf);
	e->load = e->by_id->load;
	e->hot = e->by_id->hot;
	e->member = e->by_id->member;
	e->up = e->by_id->up;
	e->gains = e->by_id->gains;
	e->head = (struct region_head *)mem;
	e->kept = (struct hf_member_record *)(mem + l.kept);
	e->slot = (_Atomic uint32_t *)(mem + l.slot);
}

static void open_shards(struct hf_engine *e)
{
	struct packed *at = (struct packed *)((uint8_t *)e->head + layout_of(&e->conf).entries);
	uint32_t homes = shard_homes(&e->conf);

	for (unsigned i = 0; i < e->n_shards; i++)
		entries_open(&e->shard[i].t, at + (size_t)i * (homes + ENTRIES_SLACK), homes, (uint8_t)e->shard_bits, &e->head->extent[i]);
}

/* The owners that a former engine filled in, if they were all in place; else none. No exception is counted yet. */
static void own_slots(struct hf_engine *e, uint64_t fill)
{
	e->kept_fill = fill;
	for (uint32_t j = 0; j < e->n_slots; j++) {
		uint16_t owner = fill ? SLOT_OWNER(slot_word(e, j)) : NO_OWNER;

		if (owner != NO_OWNER && (!owner || owner > e->last_id || !e->member[owner].used)) { /* not what an engine left */
			owner = NO_OWNER;
			e->kept_fill = 0;
		}
		e->slot[j] = SLOT_WORD(owner, 0);
		if (owner != NO_OWNER)
			e->member[owner].slots++;
	}
}

/* Readies the mapping: fresh, a former engine's, or (of another form or key) cleared. */
static void settle_in(struct hf_engine *e, uint64_t now_ms)
{
	const struct region_form want = {REGION_MAGIC, key_check(&e->conf), e->conf.slot_bits, e->conf.max_entries};
	bool former = memcmp(&e->head->form, &want, sizeof want) == 0;

	if (!former && e->head->form.magic)
		memset(e->head, 0, hf_engine_need(&e->conf));
	open_shards(e);
	if (former)
		kept_load(e);
	own_slots(e, former ? atomic_load_explicit(&e->head->fill, memory_order_relaxed) : 0);
	if (former) {
		ledger_recount(e);
		members_wake(e, now_ms);
	}
	e->head->form = want;
}

/* Of what hf_engine_tune takes. Below a factor of 1 some would find no room; above, place.c's products. */
static bool tune_fits(const struct hf_engine_conf *c)
{
	return (!c->load_factor_milli || (c->load_factor_milli >= 1000 && c->load_factor_milli <= 10000)) && c->fallback <= HF_FALLBACK_SOURCE;
}

static bool conf_fits(const struct hf_engine_conf *c)
{
	if (c->method == HF_METHOD_RING && (c->ring_points < 1 || c->ring_points > 1024))
		return false;
	if (c->mode > HF_MODE_NONE || c->method > HF_METHOD_MODULO || c->balance > HF_BALANCE_RANDOM || !tune_fits(c))
		return false;
	return c->slot_bits >= 16 && c->slot_bits <= 20 && c->max_entries >= 1 && c->max_entries <= 1u << 28;
}

struct hf_engine *hf_engine_new(const struct hf_engine_conf *conf, void *mem, uint64_t now_ms)
{
	struct hf_engine *e = mem && conf_fits(conf) ? aligned_alloc(64, sizeof *e) : NULL;

	if (!e)
		return NULL;
	memset(e, 0, sizeof *e);
	e->conf = *conf;
	e->method = methods[conf->method];
	e->method->prepare();
	e->shard_bits = shard_bits(conf);
	e->n_shards = 1u << e->shard_bits;
	e->n_slots = 1u << conf->slot_bits;
	e->ground = (struct ground){conf->slot_bits, conf->ring_points};
	e->shard = aligned_alloc(sizeof *e->shard, e->n_shards * sizeof *e->shard);
	e->by_id = calloc(1, sizeof *e->by_id);
	if (e->method->begin)
		e->refill = calloc(1, refill_size(e->n_slots));
	e->quota = calloc(1, quota_size());
	if (!e->shard || !e->by_id || !e->quota || (e->method->begin && !e->refill)) {
		hf_engine_free(e);
		return NULL;
	}
	memset(e->shard, 0, e->n_shards * sizeof *e->shard);
	hf_engine_tune(e, conf);
	e->draws = (uint32_t)now_ms; /* gateways that start at other times do not all draw alike */
	map(e, mem);
	settle_in(e, now_ms);
	return e;
}

void hf_engine_free(struct hf_engine *e)
{
	if (!e)
		return;
	for (unsigned i = 0; e->head && i < e->n_shards; i++)
		records_fini(&e->shard[i].records);
	free(e->shard);
	free(e->by_id);
	free(e->quota);
	free(e->refill);
	free((void *)e->changed);
	free(e);
}

void hf_engine_tune(struct hf_engine *e, const struct hf_engine_conf *c)
{
	HF_BUG_ON(!tune_fits(c)); /* configurations are checked where they are read */
	atomic_store_explicit(&e->load_factor, c->load_factor_milli, memory_order_relaxed);
	atomic_store_explicit(&e->fallback, c->fallback, memory_order_relaxed);
	atomic_store_explicit(&e->slow_start_ms, c->slow_start_ms, memory_order_relaxed);
	atomic_store_explicit(&e->source_entries, c->source_entries, memory_order_relaxed);
}

void hf_engine_rule(struct hf_engine *e, const struct hf_rules *r)
{
	atomic_store_explicit(&e->on_down_ms, r->on_down_ms, memory_order_relaxed);
	atomic_store_explicit(&e->drain_moves, r->drain_moves, memory_order_relaxed);
	e->drain_deadline_ms = r->drain_deadline_ms;
	e->removed_expiry_ms = r->removed_expiry_ms;
}

/* Looks at up to n places of a shard from sweep_place on; returns those it looked at. */
static unsigned sweep_shard(struct hf_engine *e, struct shard *s, uint64_t now_ms, unsigned n, unsigned *gone)
{
	unsigned seen = 0;

	spin_lock(&s->lock);
	if (!s->t.used)
		e->sweep_place = s->t.places;
	for (; seen < n && e->sweep_place < s->t.places; seen++) {
		struct entry x = entry_unpack(&s->t.at[e->sweep_place]);

		if (x.server && (ledger_over(e, s, &x, now_ms) || atomic_load_explicit(&e->hot[x.server].gone, memory_order_relaxed))) {
			ledger_drop(e, s, e->sweep_place); /* what moved up is looked at next */
			++*gone;
			continue;
		}
		if (x.server && !tick_left(x.expiry, now_ms)) { /* live flows, which the next engine over the mapping will not know of */
			x.expiry = tick_of_life(now_ms, UINT32_MAX);
			ledger_set(e, s, e->sweep_place, &x, TAKEN_NOT);
		}
		e->sweep_place++;
	}
	if (e->sweep_place >= s->t.places) {
		e->sweep_place = 0;
		e->sweep_shard = (e->sweep_shard + 1) & (e->n_shards - 1);
		seen++; /* an empty shard is one look, so that a sweep ends */
	}
	spin_unlock(&s->lock);
	return seen;
}

unsigned hf_engine_sweep(struct hf_engine *e, uint64_t now_ms, unsigned n)
{
	unsigned gone = 0;

	while (n) {
		unsigned part = n < 1024 ? n : 1024; /* a lock is held for a few microseconds at most */
		unsigned seen = sweep_shard(e, &e->shard[e->sweep_shard], now_ms, part, &gone);

		n -= seen < n ? seen : n;
	}
	return gone;
}
