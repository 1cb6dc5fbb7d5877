/* A copy of the entries elsewhere: which have changed, what they hold, and how they come back; see holdfast/engine.h.
 * The fingerprints are divided into ranges, and one bit of each says that something in it changed; who keeps the copy takes the bit and then
 * reads the range. So nothing can overflow and nobody waits: a worker sets a bit under the lock that it holds anyway. */
#include <stdlib.h>

#include "inside.h"

#define RANGE_BITS_MIN 10
#define RANGE_BITS_MAX 22 /* half a megabyte of bits; a range of the largest table holds 64 entries */
#define SPAN_BITS 6       /* 64 ranges of a whole copy that are read under one lock: as many places, near enough */

enum hf_err hf_engine_track(struct hf_engine *e)
{
	unsigned bits = e->shard_bits > RANGE_BITS_MIN ? e->shard_bits : RANGE_BITS_MIN;

	while (bits < RANGE_BITS_MAX && (uint64_t)1 << bits < e->conf.max_entries)
		bits++;
	e->range_bits = bits;
	e->changed = calloc(((size_t)1 << bits) / 64, sizeof *e->changed);
	return e->changed ? HF_OK : HF_ENOMEM;
}

static struct hf_range range_of(const struct hf_engine *e, uint64_t i, uint64_t n)
{
	unsigned low = HF_FP_BITS - e->range_bits;

	return (struct hf_range){i << low, ((i + n) << low) - 1};
}

bool hf_engine_changed(struct hf_engine *e, uint64_t from, struct hf_range *r)
{
	uint64_t n = (uint64_t)1 << e->range_bits;

	for (uint64_t i = from >> (HF_FP_BITS - e->range_bits); i < n; i = (i | 63) + 1) {
		uint64_t word = atomic_load_explicit(&e->changed[i / 64], memory_order_relaxed) >> i % 64 << i % 64;

		if (!word)
			continue;
		i = i / 64 * 64 + (unsigned)__builtin_ctzll(word);
		/* Taken before the range is read: what changes meanwhile is a change again. */
		atomic_fetch_and_explicit(&e->changed[i / 64], ~((uint64_t)1 << i % 64), memory_order_seq_cst);
		*r = range_of(e, i, 1);
		return true;
	}
	return false;
}

bool hf_engine_whole(struct hf_engine *e, uint64_t from, struct hf_range *r)
{
	unsigned in_shard = e->range_bits - e->shard_bits, n = 1u << (in_shard < SPAN_BITS ? in_shard : SPAN_BITS);
	uint64_t i = from >> (HF_FP_BITS - e->range_bits), all = n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;

	if (i >> e->range_bits)
		return false;
	HF_BUG_ON(i % n); /* behind a range that this one gave */
	atomic_fetch_and_explicit(&e->changed[i / 64], ~(all << i % 64), memory_order_seq_cst);
	*r = range_of(e, i, n);
	return true;
}

static void copy_one(const struct hf_engine *e, const struct shard *s, const struct entry *x, struct hf_copy *c, uint64_t now_ms)
{
	const struct record *r = record_of(e, s, x->fp);
	struct hf_record *to = &c->r[c->n];

	*to = (struct hf_record){.fp = x->fp, .server = x->server, .flags = x->flags, .expires_s = tick_left(x->expiry, now_ms) * (TICK_MS / 1000),
		.since_ms = now_ms, .seen_ms = now_ms};
	if (r) {
		memcpy(c->text[c->n], r->text, r->text_n);
		to->text = hf_bytes_of(c->text[c->n], r->text_n);
		to->flows = r->flows;
		to->why = (enum hf_why)r->why;
		to->since_ms = r->since_ms;
		to->seen_ms = r->seen_ms;
		to->alias_of = record_alias(r);
	}
	c->n++;
}

void hf_engine_copy(struct hf_engine *e, struct hf_range *r, struct hf_copy *c, uint64_t now_ms)
{
	struct shard *s = shard_of(e, r->from);

	c->n = 0;
	spin_lock(&s->lock);
	for (uint32_t at = entries_next(&s->t, 0, r->from, r->to); at < entries_places(&s->t); at = entries_next(&s->t, at + 1, r->from, r->to)) {
		struct entry x = entry_unpack(&s->t.at[at]);

		if (ledger_over(e, s, &x, now_ms))
			continue;
		if (c->n == HF_COPY_MAX) {
			r->to = x.fp - 1;
			break;
		}
		copy_one(e, s, &x, c, now_ms);
	}
	spin_unlock(&s->lock);
}

void hf_engine_erase(struct hf_engine *e, const struct hf_range *r)
{
	struct shard *last = shard_of(e, r->to);

	for (struct shard *s = shard_of(e, r->from); s <= last; s++) {
		uint32_t at = 0;

		spin_lock(&s->lock);
		while ((at = entries_next(&s->t, at, r->from, r->to)) < entries_places(&s->t))
			ledger_drop(e, s, at); /* what moved up is next */
		spin_unlock(&s->lock);
	}
}

enum hf_err hf_engine_restore_entry(struct hf_engine *e, const struct hf_record *r, uint64_t now_ms)
{
	struct entry x = {r->fp, r->flags & (HF_COUNTED | HF_TENTATIVE | HF_BOND), r->server, tick_of_life(now_ms, r->expires_s)}, old;
	const struct birth from = {r->text, now_ms, 0, r->why, r->alias_of};
	struct record *kept;
	struct shard *s;
	uint32_t place;
	bool done;

	if (!r->fp || r->fp >> HF_FP_BITS || !r->server || r->server > last_id(e) || !e->member[r->server].used || e->conf.mode == HF_MODE_NONE)
		return HF_EINVAL;
	s = shard_of(e, r->fp);
	spin_lock(&s->lock);
	while (ledger_find(e, s, r->fp, now_ms, &place, &old))
		ledger_drop(e, s, place);
	done = ledger_add(e, s, place, &x, TAKEN_NOT, &from);
	kept = done ? record_of(e, s, r->fp) : NULL;
	if (kept) {
		kept->since_ms = r->since_ms;
		kept->seen_ms = r->seen_ms;
	}
	spin_unlock(&s->lock);
	return done ? HF_OK : HF_EFULL;
}

void hf_engine_describe(struct hf_engine *e, const struct hf_record *r)
{
	struct record *to = NULL;
	struct shard *s;

	if (!r->fp || r->fp >> HF_FP_BITS || e->conf.mode != HF_MODE_TABLE)
		return;
	s = shard_of(e, r->fp);
	spin_lock(&s->lock);
	if (entries_seek(&s->t, r->fp).found && !records_find(&s->records, r->fp))
		to = records_put(&s->records, r->fp, r->text);
	if (to) {
		to->why = (uint8_t)r->why;
		to->since_ms = r->since_ms;
		to->seen_ms = r->seen_ms;
		if (r->alias_of)
			records_alias(&s->records, r->fp, r->alias_of);
	}
	spin_unlock(&s->lock);
}
