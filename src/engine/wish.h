/* What is done with a key's entry, once its server is decided (private to the engine): choose and learn both speak it. */
#ifndef HF_ENGINE_WISH_H
#define HF_ENGINE_WISH_H

#include "inside.h"

struct wish {
	enum hf_life life;
	uint32_t life_s;
	unsigned flags;
	uint16_t at;        /* LINGER: where it is that ends; 0: wherever */
	uint64_t source;    /* OPEN, CLOSE: as in hf_lesson */
	uint32_t lasted_ms;
};

/* Brief flows of a source that the record has seen in a row up to now. */
unsigned wish_row(const struct record *r, uint64_t source, uint64_t now_ms);

static inline bool wish_makes(enum hf_life life) { return life == HF_LIFE_START || life == HF_LIFE_OPEN; }

/* Flags of an entry that had `had` and is touched with `flags`: it is firm, and what counted goes on counting. */
static inline unsigned wish_touched(unsigned had, unsigned flags) { return (had | flags) & (HF_COUNTED | HF_BOND); }

/* A touch writes only when an eighth of the life is gone, or when flags change: most packets of a session write nothing. */
static inline bool wish_due(uint32_t had, uint32_t expiry, uint64_t now_ms)
{
	uint32_t whole = tick_left(expiry, now_ms);

	return tick_left(had, now_ms) + (whole + 7) / 8 <= whole;
}

/* Tables, under the lock of the key's shard, before a wish that begins something is applied: a process that was killed has left the entry, and of what was not on the
 * disk yet no record. */
void wish_record(struct hf_engine *e, struct shard *s, uint64_t fp, const struct birth *from);
/* Both under the lock of the key's shard. Applies the wish to the entry at place; its server may have been changed in x. */
void wish_apply(struct hf_engine *e, struct shard *s, uint32_t place, struct entry *x, const struct wish *w, enum taken taken, uint64_t now_ms);
/* An entry at `place`, where ledger_find found none. False: no room, and what was taken is given back. */
bool wish_make(struct hf_engine *e, struct shard *s, uint32_t place, const struct hf_lesson *l, enum taken taken, uint64_t now_ms);

/* The entry names this server from now on; a table's record says why. */
static inline void wish_rename(struct hf_engine *e, const struct shard *s, struct entry *x, uint16_t server, enum hf_why why)
{
	struct record *r = record_of(e, s, x->fp);

	x->server = server;
	if (r)
		r->why = (uint8_t)why;
}

#endif
