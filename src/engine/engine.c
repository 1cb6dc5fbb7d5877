/* Making and ending an engine, its mapping's layout, and the sweep; see holdfast/engine.h.
 * Pure: the mapping is given, the time is given. */
#include <stdlib.h>

#include "holdfast/hash.h"
#include "inside.h"

#define REGION_MAGIC 0x4864666173743101u /* the mapping's form; another form, another number */
#define SHARD_ENTRIES 8192               /* a shard has at least so many (a small table one shard), so that chance cannot fill one early */
#define SHARD_BITS_MAX 10

enum { IDS = HF_SERVERS_MAX + 1 };

static const struct method *const methods[] = {[HF_METHOD_CARP] = &carp_method};

static unsigned shard_bits(const struct hf_engine_conf *c)
{
	unsigned bits = 0;

	while (bits < SHARD_BITS_MAX && c->max_entries >> (bits + 1) >= SHARD_ENTRIES)
		bits++;
	return bits;
}

/* Homes of a shard: its share of max_entries at load 0.87. */
static uint32_t shard_homes(const struct hf_engine_conf *c)
{
	uint64_t share = ((uint64_t)c->max_entries >> shard_bits(c)) + 1;

	return (uint32_t)(share * 115 / 100 + 1);
}

struct layout {
	size_t load, name, slot, entries, end;
};

static size_t line(size_t n) { return (n + 63) & ~(size_t)63; }

static struct layout layout_of(const struct hf_engine_conf *c)
{
	struct layout l;

	l.load = line(sizeof(struct region_head));
	l.name = line(l.load + IDS * sizeof(uint64_t));
	l.slot = line(l.name + (size_t)IDS * (HF_NAME_MAX + 1));
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
	uint32_t homes = shard_homes(&e->conf), places = homes + ENTRIES_SLACK;

	e->head = (struct region_head *)mem;
	e->load = (_Atomic uint64_t *)(mem + l.load);
	e->name = (char(*)[HF_NAME_MAX + 1])(mem + l.name);
	e->slot = (_Atomic uint32_t *)(mem + l.slot);
	for (unsigned i = 0; i < e->n_shards; i++)
		e->shard[i].t = (struct entries){(struct packed *)(mem + l.entries) + (size_t)i * places, homes, places, 0, (uint8_t)e->shard_bits};
}

/* Names that a former engine left: removed members, until apply lists them again. */
static void inherit(struct hf_engine *e, uint64_t now_ms)
{
	for (uint16_t id = 1; id < IDS; id++) {
		e->load[id] = 0;
		e->name[id][HF_NAME_MAX] = 0;
		if (!e->name[id][0])
			continue;
		e->member[id].used = e->member[id].removed = true;
		e->member[id].run_weight = HF_WEIGHT_FILE;
		e->member[id].since_ms = now_ms;
		e->hot[id].seed = e->method->seed(e->conf.hash_key, hf_bytes_str(e->name[id]));
		e->hot[id].state = HF_STATE_DRAIN;
		e->last_id = id;
	}
}

/* Readies the mapping: fresh, a former engine's, or (of another form or key) cleared. */
static void settle_in(struct hf_engine *e, uint64_t now_ms)
{
	const struct region_head want = {REGION_MAGIC, key_check(&e->conf), e->conf.slot_bits, e->conf.max_entries};
	bool former = memcmp(e->head, &want, sizeof want) == 0;

	if (!former && e->head->magic)
		memset(e->head, 0, hf_engine_need(&e->conf));
	for (uint32_t j = 0; j < e->n_slots; j++)
		e->slot[j] = SLOT_WORD(NO_OWNER, 0);
	if (former) {
		inherit(e, now_ms);
		ledger_recount(e);
	}
	memcpy(e->head, &want, sizeof want);
}

static bool conf_fits(const struct hf_engine_conf *c)
{
	return c->slot_bits >= 16 && c->slot_bits <= 20 && c->max_entries >= 1 && c->max_entries <= 1u << 28 && c->method <= HF_METHOD_CARP;
}

struct hf_engine *hf_engine_new(const struct hf_engine_conf *conf, void *mem, uint64_t now_ms)
{
	struct hf_engine *e = mem && conf_fits(conf) ? calloc(1, sizeof *e) : NULL;

	if (!e)
		return NULL;
	e->conf = *conf;
	e->method = methods[conf->method];
	e->method->prepare();
	e->shard_bits = shard_bits(conf);
	e->n_shards = 1u << e->shard_bits;
	e->n_slots = 1u << conf->slot_bits;
	e->shard = calloc(e->n_shards, sizeof *e->shard);
	e->hot = calloc(IDS, sizeof *e->hot);
	e->member = calloc(IDS, sizeof *e->member);
	e->up = calloc(IDS, sizeof *e->up);
	e->gains = calloc(IDS, sizeof *e->gains);
	if (!e->shard || !e->hot || !e->member || !e->up || !e->gains) {
		hf_engine_free(e);
		return NULL;
	}
	hf_engine_tune(e, conf->load_factor_milli, conf->fallback);
	for (unsigned id = 0; id < IDS; id++)
		e->hot[id].state = HF_STATE_OFF;
	map(e, mem);
	settle_in(e, now_ms);
	return e;
}

void hf_engine_free(struct hf_engine *e)
{
	if (!e)
		return;
	for (unsigned i = 0; e->shard && i < e->n_shards; i++)
		records_fini(&e->shard[i].records);
	free(e->shard);
	free(e->hot);
	free(e->member);
	free(e->up);
	free(e->gains);
	free(e);
}

void hf_engine_tune(struct hf_engine *e, uint32_t load_factor_milli, enum hf_fallback fallback)
{
	atomic_store_explicit(&e->load_factor, load_factor_milli, memory_order_relaxed);
	atomic_store_explicit(&e->fallback, fallback, memory_order_relaxed);
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
			ledger_set(e, s, e->sweep_place, &x, false);
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
