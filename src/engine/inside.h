/* The engine's inside: its struct and the calls between its files (private to the engine).
 *
 * Who writes what: a shard's entries, exceptions, records and its slots' words under the shard's lock; loads by anybody, atomically;
 * members, marks and the queue of changes by the control thread alone; records under names_lock, because views read them.
 * Lock order: a shard, then names_lock; never two shards at once. */
#ifndef HF_ENGINE_INSIDE_H
#define HF_ENGINE_INSIDE_H

#include <stddef.h>

#include "entries.h"
#include "holdfast/engine.h"
#include "method.h"
#include "records.h"
#include "refill.h"
#include "spin.h"
#include "sums.h"

/* A slot's word: owner 16, exceptions 8 (saturating: 255 is "255 or more, or fewer again", until the next recount), state 8 (0: settled here). */
#define SLOT_OWNER(w) ((uint16_t)((w) >> 16))
#define SLOT_EXCEPTIONS(w) ((uint8_t)((w) >> 8))
#define SLOT_WORD(owner, exceptions) ((uint32_t)(owner) << 16 | (uint32_t)(exceptions) << 8)
#define EXCEPTIONS_MAX 255

/* A server's load: one word, so that a count and "does it belong to m" change together. */
#define LOAD_OPEN ((uint64_t)1 << 63)   /* the server is up: its counted sessions are part of m */
#define LOAD_ENTRY ((uint64_t)1 << 32)  /* one entry, counted or not */
#define LOAD_COUNTED(w) ((uint32_t)(w))
#define LOAD_ENTRIES(w) ((uint32_t)((w) >> 32) & 0x7fffffff)

struct load { /* a cache line each: every start and end writes one */
	_Atomic uint64_t word;
	_Atomic uint64_t turn;  /* round-robin: when the server's next turn is, see balance.c */
	_Atomic uint32_t held; /* hf_engine_hold */
	_Atomic uint32_t max_per_s;
	struct hf_rate rate;   /* sessions given to it */
	uint8_t pad[32];
};

struct hot { /* of a member, what deciding reads and hardly anybody writes: 24 octets, so that a walk over the members stays in the cache */
	_Atomic uint64_t seed;                  /* see struct rival */
	_Atomic uint32_t weight, max_sessions;
	_Atomic uint16_t parts; /* its weight in W and caps, in parts of WEIGHT_PARTS; 0 unless up, less than its weight says during a slow start */
	_Atomic uint8_t state;
	_Atomic bool gone; /* removed and off: its entries are worth nothing */
	_Atomic bool cuts; /* hf_engine_cuts */
	_Atomic bool knock; /* down, and who connects knows better: hf_engine_unreached */
	_Atomic bool rests; /* draining for that alone: hf_engine_rests */
};
#define WEIGHT_PARTS 32 /* of a weight: fine enough for a ramp in steps of a thirtieth, and no product of place.c passes 64 bits */

struct member {
	_Atomic bool used;
	bool listed;
	bool gain, lose;       /* a change that not all slots have seen yet ... */
	uint64_t until;        /* ... and the visit at which they have */
	_Atomic uint64_t since_ms;
	_Atomic uint32_t slots;
	_Atomic uint32_t percent, advised; /* hf_engine_advise: of its weight, sessions; 0: none */
	bool unreached, rests; /* hf_engine_unreached, hf_engine_rests */
	bool ramps;            /* in a slow start, since ... */
	uint64_t ramp_from_ms;
};

struct shard { /* two cache lines: what a start or end writes, and where the table is, which who only looks reads */
	_Alignas(64) struct spin lock;
	struct records records;
	_Atomic uint64_t exceptions;
	struct entries t;
};
/* Where pointers are shorter the lines are others, which costs time and nothing else. */
_Static_assert(sizeof(void *) != 8 || (sizeof(struct shard) == 128 && offsetof(struct shard, t.at) == 64), "a shard fills two lines");

struct region_head { /* at the start of the mapping */
	struct region_form {
		uint64_t magic, key_check;
		uint32_t slot_bits, max_entries;
	} form;
	uint32_t last_id;      /* records behind it are empty */
	_Atomic uint32_t redo_id; /* the record of this id may be half written; redo is what it is to be */
	struct hf_member_record redo;
	_Atomic uint64_t fill; /* the mark (change.c) of what the slots' owners were filled for; 0: a change is under way */
	uint32_t extent[];     /* homes in use, a shard */
};

struct hf_engine {
	/* read by every decision, written hardly ever */
	struct hf_engine_conf conf;
	const struct method *method;
	struct ground ground;
	struct shard *shard;
	struct hot *hot;                    /* by id, 0 unused */
	struct load *load;                  /* by id */
	_Atomic uint32_t *slot;             /* in the mapping, as are records and head */
	struct hf_member_record *kept;      /* by id; without a name: free */
	struct region_head *head;
	struct member *member;
	struct quota *quota;
	struct by_id *by_id;                /* what hot, load, member, up and gains point into */
	unsigned shard_bits, n_shards;
	uint32_t n_slots;
	_Atomic uint32_t last_id;
	_Atomic uint64_t *changed;          /* copy.c: one bit a range of fingerprints; NULL: nobody keeps a copy */
	unsigned range_bits;
	_Atomic uint32_t load_factor, fallback, source_entries;
	_Atomic uint64_t on_down_ms;        /* struct hf_rules, as are the next one and, for the control thread, those below */
	_Atomic bool drain_moves;
	_Atomic uint32_t open_parts;        /* W: of servers that are up */
	_Atomic uint32_t limited;           /* members with max_sessions, and with max_per_s */

	struct sums sums;                   /* of all shards and servers; on lines of its own */

	uint8_t pad_locks[64];              /* written where equals are ordered or take turns */
	struct spin names_lock;
	_Atomic uint32_t draws;             /* balance and fallback: so many were drawn, or began elsewhere among equals */
	_Atomic uint64_t turn;              /* round-robin: the turn that came last */

	uint8_t pad_control[64];            /* changes (control thread) */
	_Atomic uint64_t drain_deadline_ms, removed_expiry_ms;
	bool filled;
	uint64_t kept_fill;                 /* the mark that a former engine left with its slots */
	uint16_t *up, *gains;               /* ids; rebuilt by a tick */
	unsigned n_up, n_gains;
	uint64_t visits;                    /* of slots, since the start: the next is visits modulo n_slots */
	struct refill *refill;              /* of methods that fill in steps; else NULL */
	uint32_t work;                      /* that the last tick took */
	_Atomic bool changing;
	uint32_t sweep_shard, sweep_place;
	_Atomic uint32_t slow_start_ms;
	unsigned n_ramps;
};

static inline uint32_t slot_of(const struct hf_engine *e, uint64_t fp)
{
	return (uint32_t)(fp >> (HF_FP_BITS - e->conf.slot_bits)) & (e->n_slots - 1);
}
static inline struct shard *shard_of(const struct hf_engine *e, uint64_t fp)
{
	HF_BUG_ON(fp >> HF_FP_BITS); /* not of hf_fingerprint */
	return &e->shard[fp >> (HF_FP_BITS - e->shard_bits)];
}
static inline struct shard *shard_of_slot(const struct hf_engine *e, uint32_t slot) { return &e->shard[slot >> (e->conf.slot_bits - e->shard_bits)]; }
static inline uint32_t slot_word(const struct hf_engine *e, uint32_t slot) { return atomic_load_explicit(&e->slot[slot], memory_order_relaxed); }
static inline uint64_t load_word(const struct hf_engine *e, uint16_t id) { return atomic_load_explicit(&e->load[id].word, memory_order_relaxed); }
static inline enum hf_state state_of(const struct hf_engine *e, uint16_t id)
{
	return (enum hf_state)atomic_load_explicit(&e->hot[id].state, memory_order_acquire);
}
static inline uint16_t last_id(const struct hf_engine *e) { return (uint16_t)atomic_load_explicit(&e->last_id, memory_order_acquire); }
static inline bool serves(const struct hf_engine *e, uint16_t id) { return id && id <= last_id(e) && state_of(e, id) != HF_STATE_OFF; }

/* Has a line brought to this core for writing, which a look before the write would do in two steps. */
static inline void fetch_to_write(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p)); /* compilers know it of no processor in general; those without it pass it over */
#else
	__builtin_prefetch(p, 1);
#endif
}

/* The shard's lock for a question about fp. What will be needed under it is fetched while the lock is taken. */
static inline void shard_lock(const struct hf_engine *e, struct shard *s, uint64_t fp)
{
	fetch_to_write(&s->t.at[entries_home(&s->t, fp)]);
	__builtin_prefetch(&e->slot[slot_of(e, fp)]);
	spin_lock(&s->lock);
}

static inline bool among(const uint16_t *ids, unsigned n, uint16_t id)
{
	for (unsigned i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static inline const char *name_of(const struct hf_engine *e, uint16_t id) { return e->kept[id].name; }

static inline struct record *record_of(const struct hf_engine *e, const struct shard *s, uint64_t fp)
{
	return e->conf.mode == HF_MODE_TABLE ? records_find(&s->records, fp) : NULL;
}

/* ---- ledger.c: entries, loads and exceptions change together; callers hold the shard's lock ---- */

struct birth { /* what a table's record begins with */
	struct hf_bytes text;
	uint64_t now_ms;
	uint32_t flows;
	enum hf_why why;
	uint64_t alias_of;
};

/* What is counted of an entry before it is made: nothing; it and its session at its server; that, and m is yet to follow (with the sum of
 * entries, in one step). */
enum taken { TAKEN_NOT, TAKEN, TAKEN_OPEN };

/* Adds to a server's counted sessions and entries, not to m; gives the load word from before. */
uint64_t ledger_load(struct hf_engine *e, uint16_t id, int counted, int entries);
/* Sessions of a server that no entry stands for; m follows. No lock. */
void ledger_count(struct hf_engine *e, uint16_t id, int by);
/* The entry at fp that still lives, and its place, or the place it would go to; an expired one is taken out. */
bool ledger_find(struct hf_engine *e, struct shard *s, uint64_t fp, uint64_t now_ms, uint32_t *place, struct entry *x);
/* As find, and takes nothing out. */
bool ledger_look(const struct hf_engine *e, const struct shard *s, uint64_t fp, uint64_t now_ms, uint32_t *place, struct entry *x);
/* As look, for who does not hold the lock and wants to change nothing. BUSY: only the lock can tell. */
enum glance { GLANCE_NONE, GLANCE_LIVE, GLANCE_BUSY };
struct glimpse {
	uint32_t expiry;
	uint16_t server;
	uint8_t flags;
	enum glance is;
};
/* Most look at what is there. An entry that stands is all they need: the lock's word, which every start and end in the shard writes, is left alone. It is
 * read where it matters that nothing is there (absent); else that is BUSY. */
static inline struct glimpse ledger_glance(const struct shard *s, uint64_t fp, bool absent, uint64_t now_ms)
{
	unsigned then = absent ? spin_peek(&s->lock) : SPIN_HELD;
	struct spot at = entries_seek(&s->t, fp);
	struct entry x;

	if (at.found)
		return entry_steady(&s->t.at[at.place], fp, &x) && tick_left(x.expiry, now_ms)
			       ? (struct glimpse){x.expiry, x.server, (uint8_t)x.flags, GLANCE_LIVE} : (struct glimpse){0, 0, 0, GLANCE_BUSY};
	return (struct glimpse){0, 0, 0, spin_still(&s->lock, then) ? GLANCE_NONE : GLANCE_BUSY};
}
/* What a table shows of an entry that has nothing of that yet. False: no memory. */
bool ledger_record(struct hf_engine *e, struct shard *s, uint64_t fp, const struct birth *from);
/* A new entry, at the place that find gave. False: no room, and what was taken is given back. */
bool ledger_add(struct hf_engine *e, struct shard *s, uint32_t place, const struct entry *x, enum taken taken, const struct birth *from);
/* Writes `x` over the entry at place, of the same fingerprint. */
void ledger_set(struct hf_engine *e, struct shard *s, uint32_t place, const struct entry *x, enum taken taken);
void ledger_drop(struct hf_engine *e, struct shard *s, uint32_t place);
/* The slot's owner becomes `owner`; its exceptions are counted anew: so many entries were looked at. Takes the lock itself. */
unsigned ledger_own(struct hf_engine *e, uint32_t slot, uint16_t owner);
/* Three quarters of max_entries are in use: room goes to those who have had little. */
bool ledger_crowded(const struct hf_engine *e);
/* Whether a new entry with these flags would find room within max_entries. */
bool ledger_room(const struct hf_engine *e, const struct shard *s, uint64_t fp, unsigned flags, uint64_t now_ms);
/* True: the entry's life is over at now_ms (one with live flows never ends so). */
bool ledger_over(const struct hf_engine *e, const struct shard *s, const struct entry *x, uint64_t now_ms);
/* What a former engine left in the mapping: counts loads and exceptions again, drops what names no server. */
void ledger_recount(struct hf_engine *e);

/* ---- kept.c: a member's record in the mapping ---- */

/* Nobody who dies in it leaves half a record. */
void kept_write(struct hf_engine *e, uint16_t id, const struct hf_member_record *r);
bool kept_sound(const struct hf_member_record *r);
/* The member gets another name: the one it has is a former name of nobody else any more, who may have had it before. */
void kept_former(struct hf_engine *e, uint16_t id);
/* Members as a former engine left them, known by name; members_wake puts them in force, when their loads are counted. */
void kept_load(struct hf_engine *e);

/* ---- members.c ---- */

/* Of the file, or as given at run time. */
static inline uint32_t members_weight(const struct hf_member_record *r) { return r->run_weight == HF_WEIGHT_FILE ? r->file_weight : r->run_weight; }
void members_wake(struct hf_engine *e, uint64_t now_ms);
void members_bound(struct hf_engine *e, uint16_t id, uint32_t max_sessions);
void members_rate(struct hf_engine *e, uint16_t id, uint32_t max_per_s);

/* ---- leave.c ---- */

/* When the rules make an end of a member of this record; 0: never. */
uint64_t leave_end(const struct hf_engine *e, const struct hf_member_record *r);

/* ---- copy.c ---- */

/* Something about this fingerprint's entry is another now; under its shard's lock. */
static inline void copy_changed(struct hf_engine *e, uint64_t fp)
{
	uint64_t i, bit;

	if (!e->changed)
		return;
	i = fp >> (HF_FP_BITS - e->range_bits);
	bit = (uint64_t)1 << i % 64;
	if (!(atomic_load_explicit(&e->changed[i / 64], memory_order_relaxed) & bit))
		atomic_fetch_or_explicit(&e->changed[i / 64], bit, memory_order_relaxed);
}

/* ---- place.c: which server a new session goes to ---- */

struct place {
	uint32_t slot;
	const uint16_t *avoid;
	unsigned n_avoid;
	bool take;              /* count an entry and its session at the server chosen (atomically, or not at all) */
	bool counts;            /* it is a session that counts, taken or only explained: max_per_s is heeded, as of ... */
	uint64_t now_ms;
	bool by_slot;           /* whatever the table's balance */
	bool uncapped;          /* whatever the load factor */
	bool home;              /* whoever is up, by the slot alone, whatever the loads: it will not be remembered, or must not be refused */
	struct hf_trace *trace; /* what is looked at is written there, and no turn is taken; or NULL */
};
struct placed {
	uint16_t server;        /* 0: no eligible one */
	enum hf_why why;        /* HOME, SPILL, FAILOVER or BALANCE */
	enum taken taken;
};
struct placed place_session(struct hf_engine *e, const struct place *p);
/* A session will be placed by this slot: what is counted of its owner is fetched meanwhile. */
static inline void place_fetch(const struct hf_engine *e, uint32_t slot)
{
	uint16_t owner = SLOT_OWNER(slot_word(e, slot));

	if (owner != NO_OWNER)
		fetch_to_write(&e->load[owner]);
}
/* Without a key that places: by the pool's fallback; nothing is counted. */
struct placed place_fallback(struct hf_engine *e, const struct hf_question *q, bool remembered);
/* Sessions a server may hold before new ones spill; UINT32_MAX: no bound. */
uint32_t place_cap(const struct hf_engine *e, uint16_t id);
/* Of equal cost. */
bool place_by_name(struct hf_engine *e, uint16_t a, uint16_t b);
/* Whether a goes before b in a slot. */
static inline bool place_before(struct hf_engine *e, uint16_t a, uint64_t cost_a, uint16_t b, uint64_t cost_b)
{
	return cost_a != cost_b ? cost_a < cost_b : place_by_name(e, a, b);
}
static inline struct lot place_lot(const struct hf_engine *e, uint32_t slot)
{
	uint16_t owner = SLOT_OWNER(slot_word(e, slot));

	return (struct lot){&e->ground, slot, owner == NO_OWNER ? 0 : atomic_load_explicit(&e->hot[owner].seed, memory_order_relaxed)};
}
/* Weight 0 comes last: a server that is listed so, or got it this instant, on another thread. */
static inline uint64_t place_cost_by(const struct hf_engine *e, const struct method *m, uint16_t id, const struct lot *l, uint32_t weight)
{
	return weight ? m->cost(l, atomic_load_explicit(&e->hot[id].seed, memory_order_relaxed), weight) : UINT64_MAX;
}

static inline uint64_t place_cost(const struct hf_engine *e, uint16_t id, const struct lot *l)
{
	return place_cost_by(e, e->method, id, l, atomic_load_explicit(&e->hot[id].weight, memory_order_relaxed));
}

/* ---- trace.c: what deciding looks at, for who asked to see it ---- */

/* The next step, for the caller to say more; what does not fit any more is lost in the last one. */
struct hf_step *trace_step(const struct hf_engine *e, struct hf_trace *t, enum hf_step_kind kind, uint16_t id, enum hf_verdict v);
/* What was looked at since there were n steps did not decide: it is looked at anew. */
void trace_back(struct hf_trace *t, unsigned n);
/* The last step of that kind and server has come out otherwise. */
void trace_amend(struct hf_trace *t, enum hf_step_kind kind, uint16_t id, enum hf_verdict v);
/* A runner-up that goes before `best` in the slot: the first ones are kept in order, all are counted. */
void trace_rival(struct hf_engine *e, struct hf_trace *t, uint16_t id, uint64_t cost, enum hf_verdict v);

/* ---- balance.c ---- */

/* A server comes among those that take turns. */
void balance_join(struct hf_engine *e, uint16_t id);
/* One of them weighs more than before: its next turn, which its former weight had set, is no further away than a whole round of its own now. */
void balance_grown(struct hf_engine *e, uint16_t id);

/* ---- ramp.c: a server's weight in W and caps (control thread) ---- */

/* The server came up from where it had no sessions to speak of. */
void ramp_begin(struct hf_engine *e, uint16_t id, uint64_t now_ms);
/* After any change of state or weight, and at each tick while it ramps. */
void ramp_set(struct hf_engine *e, uint16_t id, uint64_t now_ms);
void ramp_tick(struct hf_engine *e, uint64_t now_ms);

/* ---- quota.c: what one source may have remembered ---- */

#define QUOTA_S 32 /* as long as an opening may stay without a final answer (RFC 3261 17, Timer B), and longer than a desktop's */
size_t quota_size(void); /* octets, zeroed by who takes them */
/* Whether the source has had its share of the last QUOTA_S seconds; if not, one more is counted, unless it is only looked. Any thread. */
bool quota_over(const struct hf_engine *e, uint64_t source, bool look, uint64_t now_ms);

/* ---- change.c ---- */

/* The member's part in the fill changed: it may gain slots, or lose some of its own. */
void change_queue(struct hf_engine *e, uint16_t id, bool gain, bool lose);
/* The slot has this owner from now on; returns the work it took. */
unsigned change_own(struct hf_engine *e, uint32_t slot, uint16_t owner);
/* The list of names is another one. */
void change_names(struct hf_engine *e);
/* Who takes part in a fill, by name. Room for HF_SERVERS_MAX, or for last_id. */
unsigned change_rivals(struct hf_engine *e, struct rival *r);
/* The first fill of all slots; what was queued is done with it. Slots that a former engine filled for the same members stay as they are. */
enum hf_err change_fill(struct hf_engine *e) HF_MUST_USE;

#endif
