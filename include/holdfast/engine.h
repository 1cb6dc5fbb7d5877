/* The affinity engine: one a pool. It knows no socket, protocol, file or clock (DESIGN 3, ENGINE c.2 to c.5).
 *
 * It answers "which server, and why" for a fingerprint, remembers sessions in entries of 12 octets that name their server,
 * and changes the pool without moving a live session. Servers are known by name for ever; inside by an id 1..HF_SERVERS_MAX.
 *
 * Threads: choose, learn, where and the views may be called by any thread at once. apply, mark, weigh, tick and sweep
 * belong to one control thread. Times are milliseconds of a monotonic clock, given by the caller, never going back. */
#ifndef HOLDFAST_ENGINE_H
#define HOLDFAST_ENGINE_H

#include "affinity.h"
#include "rate.h"

/* Who may call what, and its cost. any: any thread at once; control: one thread, the same for all of these; alone: while nobody else has the
 * engine; keeper: the one thread that keeps a copy. S: servers, J: slots, E: entries; an entry is found in a few places (ENGINE c.2).
 *   hf_engine_need           any      O(1)
 *   hf_engine_new            alone    O(J + E left by a former engine)
 *   hf_engine_free           alone    O(E)
 *   hf_engine_tune           control  O(1)
 *   hf_engine_rule           control  O(1)
 *   hf_engine_plan           control  O(S * S)
 *   hf_engine_enact          control  O(S * S; the first one J * S)
 *   hf_engine_apply          control  O(both of them)
 *   hf_engine_mark           control  O(1)
 *   hf_engine_unreached      control  O(1)
 *   hf_engine_rests          control  O(1)
 *   hf_engine_marked         control  O(1)
 *   hf_engine_weigh          control  O(1)
 *   hf_engine_advise         control  O(1)
 *   hf_engine_record         any      O(1)
 *   hf_member_former         any      O(1)
 *   hf_member_rename         any      O(1)
 *   hf_engine_restore        alone    O(1)
 *   hf_engine_tick           control  O(16,384 scores, or what takes as long)
 *   hf_engine_sweep          control  O(n)
 *   hf_engine_expire         control  O(S)
 *   hf_engine_reap           control  O(S)
 *   hf_engine_hold           any      O(1)
 *   hf_engine_choose         any      O(1; S for a new session)
 *   hf_engine_learn          any      O(1)
 *   hf_engine_explain        any      O(S)
 *   hf_engine_where          any      O(S)
 *   hf_engine_where_by       any      O(S)
 *   hf_engine_track          alone    O(E / 64)
 *   hf_engine_changed        keeper   O(ranges looked at)
 *   hf_engine_whole          keeper   O(1)
 *   hf_engine_copy           keeper   O(32 entries)
 *   hf_engine_erase          alone    O(E of the range)
 *   hf_engine_restore_entry  alone    O(1)
 *   hf_engine_describe       any      O(1)
 *   hf_engine_server         any      O(1; S where a member has max_sessions)
 *   hf_engine_last_id        any      O(1)
 *   hf_engine_find           any      O(S)
 *   hf_engine_state          any      O(1)
 *   hf_engine_cuts           any      O(1)
 *   hf_engine_counts         any      O(S + shards + threads)
 *   hf_engine_sessions       any      O(S + threads)
 *   hf_engine_each           any      O(E)
 *   hf_engine_owner          any      O(1)
 *   hf_engine_digest         any      O(J)
 *   hf_engine_twin_need      control  O(1)
 *   hf_engine_twin           control  O(J + S)
 *   hf_engine_foresee        any      O(E + arrivals + J * S)
 *   hf_step_name             any      O(1)
 *   hf_verdict_name          any      O(1)
 */

#define HF_SERVERS_MAX 4096 /* members a pool, removed ones that still hold sessions included (an id has 14 bits) */
#define HF_NAME_MAX 63
#define HF_FORMER_MAX 8 /* former names that a server is still known by, if all of them have room in HF_NAME_MAX octets */
#define HF_MEMBER_AT 32 /* octets that say where a server is: the engine keeps and compares them, and knows nothing else of them */
#define HF_NO_SERVER 0
#define HF_SOURCES_MAX 4 /* sources of an entry's live flows that are told apart */

enum hf_mode { HF_MODE_AUTO, HF_MODE_TABLE, HF_MODE_HASH, HF_MODE_NONE };
enum hf_method { HF_METHOD_CARP, HF_METHOD_RING, HF_METHOD_MAGLEV, HF_METHOD_MODULO };
enum hf_balance { HF_BALANCE_HASH, HF_BALANCE_LEAST, HF_BALANCE_ROUND_ROBIN, HF_BALANCE_RANDOM };
enum hf_fallback { HF_FALLBACK_LEAST, HF_FALLBACK_ROUND_ROBIN, HF_FALLBACK_SOURCE };

struct hf_engine_conf {
	uint8_t hash_key[16];
	enum hf_mode mode;
	enum hf_method method;
	unsigned slot_bits;         /* 16..20 */
	uint32_t load_factor_milli; /* 1000..10000, 0 = off */
	uint32_t max_entries;       /* 1..2^28 */
	enum hf_balance balance;
	enum hf_fallback fallback;
	uint32_t ring_points;       /* ring: points of a server at weight 100, 1..1024 */
	uint32_t slow_start_ms;     /* a server that came up has its whole cap after so long; 0 = at once */
	uint32_t source_entries;    /* once three quarters of max_entries are in use: new entries that one source may have in 32 s; 0 = no limit */
};

struct hf_engine;

/* Octets of the mapping that the entries, names and slots live in, for a conf within its ranges; the caller gives it, zeroed or as a former engine left it
 * (the same boot), 64-aligned. It holds no pointer. What no session needs yet is not touched: a page is held from its first entry on. */
size_t hf_engine_need(const struct hf_engine_conf *conf);
/* Takes over `mem` of hf_engine_need octets; free does not release it. NULL: no memory, or a conf outside its ranges. */
struct hf_engine *hf_engine_new(const struct hf_engine_conf *conf, void *mem, uint64_t now_ms) HF_MUST_USE;
void hf_engine_free(struct hf_engine *e);
/* Load factor, fallback, slow start and source_entries may change at run time (control thread), within the ranges of new; all else is fixed there. */
void hf_engine_tune(struct hf_engine *e, const struct hf_engine_conf *conf);

/* What becomes of who is bound to a server that goes, and of the server. May change at any time (control thread); all zero at new. */
struct hf_rules {
	uint64_t on_down_ms;       /* a binding holds for so long after its server went down; 0: it does not */
	bool drain_moves;          /* one without a live flow does not hold while its server drains */
	uint64_t drain_deadline_ms, removed_expiry_ms; /* a drain, or a removed server, ends in OFF after so long; 0: never */
};
void hf_engine_rule(struct hf_engine *e, const struct hf_rules *r);

/* ---- the pool (control thread) ---- */

struct hf_member_conf {
	struct hf_bytes name;   /* 1..HF_NAME_MAX octets */
	struct hf_bytes was;    /* a former name whose sessions this server takes over; may be empty */
	uint32_t weight;        /* 0..256 */
	uint32_t max_sessions;  /* 0 = no limit */
	uint32_t max_per_s;     /* sessions it is given a second, at most HF_RATE_MAX; 0 = no limit */
	uint8_t at[HF_MEMBER_AT];
	bool at_found;          /* `at` is no part of its line (a name that was looked up): when it changes, what was set by hand stays */
};
/* Which ids the members of this list would get; changes nothing. A name keeps its id, a renamed server has its former name's, one that
 * returns takes up its old one. HF_EFULL: more than HF_SERVERS_MAX with the removed ones; HF_EINVAL: a name twice, or what is no name or weight. */
enum hf_err hf_engine_plan(const struct hf_engine *e, const struct hf_member_conf *m, unsigned n, uint16_t *ids) HF_MUST_USE;
/* The pool becomes these members, with ids of a plan for the same list and no change of the pool since. Missing ones are removed: they keep
 * their sessions and take no new ones until they are empty. A server whose weight, max_sessions or `at` is another than before loses what was
 * set at run time, its drain, off and weight; so does one that returns. The first call fills the slots at once; later ones queue their change for tick. */
void hf_engine_enact(struct hf_engine *e, const struct hf_member_conf *m, unsigned n, const uint16_t *ids, uint64_t now_ms);
/* Both, when nobody must know of the ids in between. */
enum hf_err hf_engine_apply(struct hf_engine *e, const struct hf_member_conf *m, unsigned n, uint16_t *ids, uint64_t now_ms) HF_MUST_USE;

/* Marks, each set or cleared on its own; the state follows: OFF (also OVER), then DOWN, then DRAIN (also weight 0 and removed), else UP.
 * They outlive the process with the mapping, as do weights. Clearing OFF clears OVER too, and a drain that goes on begins anew. AGENT_ ones are what
 * the server says of itself, beside the others: they are no drain with a deadline, and who is connected to one that is OFF by that alone stays. */
enum hf_mark { HF_MARK_DOWN, HF_MARK_DRAIN /* operator */, HF_MARK_BUSY /* the server asks for no new sessions */, HF_MARK_OFF,
	HF_MARK_OVER /* the time to drain is over: set by hf_engine_expire, gone with the drain */, HF_MARK_AGENT_DOWN, HF_MARK_AGENT_DRAIN, HF_MARK_AGENT_OFF };
void hf_engine_mark(struct hf_engine *e, uint16_t id, enum hf_mark mark, bool on, uint64_t now_ms);
bool hf_engine_marked(const struct hf_engine *e, uint16_t id, enum hf_mark mark);
/* Whether DOWN says no more than that nobody could connect to it when that was tried last: then whoever connects knows better (question.knocks). Not kept. */
void hf_engine_unreached(struct hf_engine *e, uint16_t id, bool unreached, uint64_t now_ms);
/* Whether BUSY is what others think of it, and not its own word: it gets no new sessions, but what is bound to it goes on trying it (drain_moves does not
 * hold), and who fails there is moved by that. Not kept. */
void hf_engine_rests(struct hf_engine *e, uint16_t id, bool rests, uint64_t now_ms);
/* A run-time weight 0..256, or HF_WEIGHT_FILE: back to the file's. */
#define HF_WEIGHT_FILE 0xffffffffu
void hf_engine_weigh(struct hf_engine *e, uint16_t id, uint32_t weight, uint64_t now_ms);

/* What the server says of how much it takes: so many percent (1..HF_PERCENT_MAX) of its file's weight in W and in its cap, never in the fill, and no
 * more sessions than this and its max_sessions; 0: nothing. A weight that was given at run time is taken as it is. Not kept. */
#define HF_PERCENT_MAX 1000
void hf_engine_advise(struct hf_engine *e, uint16_t id, uint32_t percent, uint32_t max_sessions, uint64_t now_ms);

/* All that is kept of a member: plain octets without pointers, as they stand in the mapping, for copies of it elsewhere. */
struct hf_member_record {
	char name[HF_NAME_MAX + 1], was[HF_NAME_MAX + 1]; /* NUL-terminated; was: its former names, the last one first, a NUL behind each */
	uint8_t at[HF_MEMBER_AT];
	uint64_t since_ms;         /* when its state began, on the clock of the caller (a copy that outlives the clock must translate it) ... */
	uint64_t drain_ms, removed_ms; /* ... when the drain by hand or by weight 0 began, when it left the list; 0: it did not */
	uint32_t file_weight, run_weight; /* run_weight: HF_WEIGHT_FILE, or given at run time */
	uint32_t max_sessions;
	uint8_t marks;             /* bits by enum hf_mark */
	uint8_t spare[3];
};
/* id 1..; false: no such member. Any thread. */
bool hf_engine_record(struct hf_engine *e, uint16_t id, struct hf_member_record *r);
/* Its former name by number, from 0; empty: there are no more. Borrows from r. Any thread. */
struct hf_bytes hf_member_former(const struct hf_member_record *r, unsigned n);
/* The member has this name from now on, and that former one (or none); a name that it had is a former one, and the oldest of these give way.
 * So does enact; for who must know before. Pure; any thread. */
void hf_member_rename(struct hf_member_record *r, struct hf_bytes name, struct hf_bytes was);
/* A member as another engine had it, under the same id, before the first plan of this one. HF_EINVAL: it is no record; HF_EEXIST: the id is taken. */
enum hf_err hf_engine_restore(struct hf_engine *e, uint16_t id, const struct hf_member_record *r, uint64_t now_ms) HF_MUST_USE;

/* Goes on with queued changes of the slots: at most what 16,384 scores take a call, and at least a slot. True: there is more to do. */
bool hf_engine_tick(struct hf_engine *e, uint64_t now_ms);
/* Looks at the next `n` places of the table for expired entries and takes them out. Returns how many went. */
unsigned hf_engine_sweep(struct hf_engine *e, uint64_t now_ms, unsigned n);
/* Ends drains and removed servers whose time is over by the rules: they are OFF from now on. ids[] gets up to cap of them; returns the count. */
unsigned hf_engine_expire(struct hf_engine *e, uint16_t *ids, unsigned cap, uint64_t now_ms);
/* Forgets removed servers without sessions that nobody holds; ids[] gets up to cap of them. Returns the count. */
unsigned hf_engine_reap(struct hf_engine *e, uint16_t *ids, unsigned cap);
/* While anybody outside holds an id, it is not given anew. Any thread, but only of an id that the engine has just answered or that is held.
 * With HF_MODE_NONE, where no entry stands for a session, each hold is one: caps, max_sessions and least-sessions go by them. */
void hf_engine_hold(struct hf_engine *e, uint16_t id, int by);

/* ---- deciding (any thread) ---- */

struct hf_trace;
struct hf_question {
	uint16_t hint;             /* id, or 0 */
	enum hf_why hint_why;
	uint64_t refs[2];          /* fingerprints, 0 = none */
	struct hf_key key;         /* fp 0: fallback decides, nothing is remembered */
	uint64_t place;            /* places a key without an entry: its own entry's server (a bond), else its slot; 0: the key's own slot */
	uint64_t place_else, place_last; /* looked up for a bond, in this order, where `place` has none; 0 = none. Without `place` such a bond leads a key that
	                            * has no entry, and its slot nobody */
	bool unplaced;             /* no fingerprint places the key: the fallback does */
	bool at_home;              /* placed by the slot, whatever the load factor says of its owner: what it belongs to would be there */
	bool urgent;               /* ... and whatever max_sessions and max_per_s say */
	bool renews;               /* what binds the key is made anew by this: hint, refs, bond and (without `place`) entry give way by the rules */
	bool knocks;               /* ... but not before who asks has tried to connect to the server once more, where it is down because nobody could */
	enum hf_life life;
	uint32_t life_s;
	unsigned flags;
	uint64_t spread;           /* fallback = source */
	uint64_t source;           /* a number of who asks, for source_entries and max_sources; 0: one that is not to be bounded */
	const uint16_t *avoid;     /* ids that were tried already */
	unsigned n_avoid;
	bool move;                 /* an entry at a server of avoid[] is placed anew, why = failover */
	bool unless_firm;          /* ... but not one that counts and is not tentative */
	uint32_t max_flows;        /* tables: an entry of the key that has so many live flows does not answer a new one: `crowded`; 0 = no limit */
	uint32_t max_sources;      /* tables: an entry of the key that has live flows of so many sources (1..HF_SOURCES_MAX) does not answer another one, unless that
	                            * had some of late: `crowded`; 0 = no limit */
	uint64_t apart;            /* where this key has an entry, the key's own does not answer: `crowded`; 0 = none */
	bool server_only;          /* with HF_LIFE_NONE: known, firm, and whether it is an entry or home, are not asked. Where no session of the
	                            * slot is elsewhere its owner answers, and the table is not read */
	struct hf_trace *trace;    /* of explain; NULL for who decides */
};
struct hf_answer {
	uint16_t server;           /* HF_NO_SERVER: no eligible one */
	enum hf_why why;
	bool known;                /* key had an entry before */
	bool counted;              /* and that counted */
	bool firm;                 /* ... and was not tentative */
	unsigned row;              /* tables, OPEN: brief flows of the question's source that went before in a row (hf_lesson) */
	bool crowded;              /* max_flows, max_sources: the key's entry has as many as it may; or `apart`. Nobody was chosen, and nothing was made or changed */
	bool news;                 /* max_sources, OPEN: and nobody was told so of this entry before */
	uint64_t led_by;           /* the key had no entry: of the placing keys the one whose bond named the server; 0: none did */
	bool left;                 /* renews: a hint, reference or entry of the key did not hold */
	uint64_t hold_ms;          /* renews: the key is bound to the server; for so long it may not be placed anew, should that not answer */
	bool knock;                /* knocks: that server is down, and the key would have left it; should it not answer, the next question has it in `avoid` */
	bool full;                 /* max_entries left no room to remember it: the server is the one that the hash alone names */
	bool over;                 /* as full, because its source has had its share */
};
/* Order: hint, refs, entry of the key, bonds of the placing keys, placement. A hint or entry counts in any state but OFF, a bond not while its
 * server is down for longer than the rules say. What gives way stays all the same where nobody else is eligible. What renews, and would give way together
 * with the bond that leads it, takes that one along: it is placed then as its own key would place it, and all its names follow. O(1) at rest,
 * O(servers) for a new session. */
void hf_engine_choose(struct hf_engine *e, const struct hf_question *q, struct hf_answer *a, uint64_t now_ms);

struct hf_lesson {
	struct hf_key key;
	uint16_t server;           /* 0: as the entry says; nothing is made where there is none */
	enum hf_life life;
	uint32_t life_s;
	unsigned flags;
	enum hf_why why;
	bool move;                 /* the entry names this server from now on */
	uint64_t alias_of;         /* tables: the key is a second name of the bond of this fingerprint, and leads where that one is as long as it lives; 0: of none.
	                            * An older second name stays its own bond's, unless it is moved */
	uint64_t source;           /* OPEN, CLOSE: a number of whose flow it is, and, if it was a brief one, for how long it lived; 0: neither is told. Brief flows of one */
	uint32_t lasted_ms;        /* ... source, each begun where the one before it ended (at most 3 s later), are a row */
};
/* HF_OK; HF_EFULL: no room; HF_ENOENT: there was nothing to change. */
enum hf_err hf_engine_learn(struct hf_engine *e, const struct hf_lesson *l, uint64_t now_ms);

/* ---- explaining (any thread; changes nothing) ---- */

/* What was looked at on the way to an answer, in that order. */
#define HF_STEPS(X) \
	X(HINT, "hint") X(REF, "reference") X(ENTRY, "entry") X(BOND, "bond") X(OWNER, "owner") X(RIVAL, "runner-up") X(BALANCE, "balance") \
	X(LAST, "last-resort") X(FALLBACK, "fallback")
enum hf_step_kind {
#define X(e, name) HF_STEP_##e,
	HF_STEPS(X)
#undef X
	HF_STEP_COUNT
};
/* What came of it. TAKEN is the answer; all else says why it is not. */
#define HF_VERDICTS(X) \
	X(TAKEN, "taken") X(MISSING, "missing") /* no such entry, owner or member */ X(OFF, "off") /* its server serves nobody */ \
	X(TRIED, "tried") /* it was tried before, and failed */ X(LEAVES, "leaves") /* it is renewed, and better elsewhere */ \
	X(FLOWS, "max-flows") /* as many live flows as the question allows */ \
	X(SOURCES, "max-sources") /* ... sources of them, or who asks has an entry apart */ X(STATE, "state") /* it takes no new sessions */ X(BOUND, "max-sessions") X(RATE, "max-cps") X(CAP, "cap")
enum hf_verdict {
#define X(e, name) HF_VERDICT_##e,
	HF_VERDICTS(X)
#undef X
	HF_VERDICT_COUNT
};
const char *hf_step_name(enum hf_step_kind k);
const char *hf_verdict_name(enum hf_verdict v);

#define HF_TRACE_STEPS 28
#define HF_TRACE_RIVALS 16 /* of them runners-up: the first ones, and the one that was taken */
struct hf_step {
	enum hf_step_kind kind;
	enum hf_verdict verdict;
	uint16_t server;           /* id; 0: none */
	uint64_t fp;               /* HINT, OWNER and on: 0 */
	uint32_t expires_s;        /* REF, ENTRY, BOND: of the entry */
	unsigned flags;            /* ENTRY: its HF_COUNTED, HF_TENTATIVE, HF_BOND */
	enum hf_state state;       /* of the server, as it was judged; likewise the two below */
	uint32_t sessions, cap;    /* cap UINT32_MAX: none */
	uint64_t cost;             /* OWNER, RIVAL: its place in the slot's order, the lowest first (ENGINE c.2a) */
};
struct hf_trace {
	enum hf_life life;         /* of the question */
	unsigned n;
	uint32_t passed;           /* runners-up that were passed over, those that found no room among the steps included */
	uint32_t slot;             /* of the key that places */
	struct hf_step step[HF_TRACE_STEPS];
};
/* As choose would answer, by the same code; nothing is made, counted or touched, and no turn is taken. O(servers). */
void hf_engine_explain(struct hf_engine *e, const struct hf_question *q, struct hf_answer *a, struct hf_trace *t, uint64_t now_ms);

/* An entry as it is shown, or kept elsewhere; text, flows, why, since, seen and alias_of only of tables. */
struct hf_record {
	uint64_t fp;
	struct hf_bytes text;
	uint16_t server;
	uint32_t flows;
	enum hf_why why;
	unsigned flags;
	uint64_t since_ms, seen_ms;
	uint64_t alias_of;         /* as in hf_lesson */
	uint32_t expires_s;
};

/* ---- a copy elsewhere: one thread keeps it, beside all others ---- */

/* From now on changes of entries are marked. Before any other thread asks. HF_ENOMEM: nobody can keep a copy. */
enum hf_err hf_engine_track(struct hf_engine *e) HF_MUST_USE;

struct hf_range { uint64_t from, to; }; /* fingerprints, both inclusive; of one shard */
/* The next range, from fingerprint `from` on, in which something has changed since it was taken here. False: none. */
bool hf_engine_changed(struct hf_engine *e, uint64_t from, struct hf_range *r);
/* The next range of all, changed or not; for a copy of everything. False: behind the last fingerprint. */
bool hf_engine_whole(struct hf_engine *e, uint64_t from, struct hf_range *r);

#define HF_COPY_MAX 32   /* entries that are copied under one lock: a few microseconds */
#define HF_TEXT_MAX 128  /* octets of a key's text that are kept */
struct hf_copy {
	unsigned n;
	struct hf_record *r;                       /* HF_COPY_MAX of them */
	uint8_t (*text)[HF_TEXT_MAX];              /* likewise */
};
/* The live entries of a range, as they are now; where they are too many, r->to becomes the end of those that were copied. */
void hf_engine_copy(struct hf_engine *e, struct hf_range *r, struct hf_copy *c, uint64_t now_ms);

/* The way back, when the members are there (hf_engine_restore) and nobody asks yet. No entry of the range stays. */
void hf_engine_erase(struct hf_engine *e, const struct hf_range *r);
/* The entry as it was: text, server, flags, why, expires_s, alias_of, since and seen (which may lie before the clock's begin: only differences count).
 * HF_EINVAL: no such server, or no fingerprint; HF_EFULL. */
enum hf_err hf_engine_restore_entry(struct hf_engine *e, const struct hf_record *r, uint64_t now_ms) HF_MUST_USE;
/* Tables: text, why, alias_of, since and seen for an entry of a former engine, of which nothing else is known yet. Any thread. */
void hf_engine_describe(struct hf_engine *e, const struct hf_record *r);

/* ---- looking (any thread; changes nothing) ---- */

struct hf_where {
	uint64_t fp;
	uint32_t slot;
	uint16_t owner, server, runner_up; /* ids, 0 = none */
	enum hf_why why;
	bool known;
	uint32_t expires_s;        /* of the entry */
	uint32_t flows;            /* tables: live flows */
};
/* Where a request with this key alone would go now, if it began a session, and why. */
void hf_engine_where(struct hf_engine *e, uint64_t fp, struct hf_where *w, uint64_t now_ms);
/* The same of a key whose session another fingerprint would place, or with 0 the fallback: then `slot` is UINT32_MAX. */
void hf_engine_where_by(struct hf_engine *e, uint64_t fp, uint64_t place, struct hf_where *w, uint64_t now_ms);

struct hf_server_view {
	uint16_t id;
	char name[HF_NAME_MAX + 1], was[HF_NAME_MAX + 1]; /* was: its last former name */
	uint8_t at[HF_MEMBER_AT];
	enum hf_state state;
	uint8_t marks;             /* bits by enum hf_mark */
	bool removed;
	uint32_t weight, file_weight; /* in force, of the file */
	uint32_t max_sessions, max_per_s; /* in force */
	uint32_t percent;          /* hf_engine_advise; 0: it said none */
	uint32_t sessions;         /* counted */
	uint32_t cap;              /* sessions it may hold before new ones spill, as of the last tick; UINT32_MAX = none */
	uint32_t slots;            /* owned now */
	uint64_t since_ms;         /* when the state began */
	uint64_t ends_ms;          /* when it becomes OFF by the rules; 0: it does not */
	uint32_t held;             /* by hf_engine_hold */
};
/* id 1..; false: no such server. */
bool hf_engine_server(struct hf_engine *e, uint16_t id, struct hf_server_view *v);
/* Ids run from 1 to this. */
uint16_t hf_engine_last_id(const struct hf_engine *e);
uint16_t hf_engine_find(const struct hf_engine *e, struct hf_bytes name); /* 0 = none */
enum hf_state hf_engine_state(const struct hf_engine *e, uint16_t id, uint64_t *since_ms); /* lock-free; OFF when there is none */
bool hf_engine_cuts(const struct hf_engine *e, uint16_t id); /* it is off, and what is connected to it ends: off by more than its agent's word. Lock-free */

struct hf_engine_counts {
	uint64_t entries, exceptions, counted;
	uint32_t max_entries, slots;
	uint64_t places;           /* of the tables now, as they have grown: a sweep of so many sees every entry */
	bool changing;             /* a change of the slots is under way */
};
void hf_engine_counts(struct hf_engine *e, struct hf_engine_counts *c);
/* `counted` of it, for who asks at each new session: only one line that starts and ends write is read, and those of members that are not up. While a
 * member goes up or down its sessions may be missing or counted twice. */
uint64_t hf_engine_sessions(const struct hf_engine *e);

/* Calls back for each live entry, in the order of fingerprints, until it answers false. One that is there all the while is shown once; one that
 * comes or goes meanwhile, perhaps. No lock is held during the call, which may ask the engine anything; r lives until it returns. O(entries). */
void hf_engine_each(struct hf_engine *e, bool (*each)(void *arg, const struct hf_record *r), void *arg, uint64_t now_ms);

/* ---- foreseeing: what a change of the pool would do, by a twin that it is done to ---- */

/* Octets of memory for a twin of e with room for `more` entries than e has now. Control thread. O(1). */
size_t hf_engine_twin_need(struct hf_engine *e, uint32_t more);
/* A pool of its own with the members, marks, weights and slots of e, and without an entry. mem: zeroed, of twin_need octets, 64-aligned;
 * free it behind hf_engine_free. It belongs to the thread that its caller gives it to. NULL: no memory. Control thread of e. O(slots + servers). */
struct hf_engine *hf_engine_twin(struct hf_engine *e, void *mem, uint32_t more, uint64_t now_ms) HF_MUST_USE;

struct hf_change {
	enum { HF_CHANGE_ADD, HF_CHANGE_REMOVE, HF_CHANGE_DRAIN, HF_CHANGE_UNDRAIN, HF_CHANGE_WEIGHT } kind;
	struct hf_bytes name;
	uint32_t weight;           /* ADD, WEIGHT: 0..256 */
};
struct hf_foreseen {           /* of a server, by id */
	uint32_t slots[2];         /* before and after the change */
	uint32_t sessions[2];      /* counted: now, and when `arrivals` new ones have come and as many old ones have gone */
};
struct hf_foresight {
	uint32_t slots, slots_moved;
	uint32_t slots_astray;     /* moved between two servers, neither of which was changed */
	uint64_t entries;          /* that live now */
	uint64_t moved;            /* of them, whose next message would go to another server than before the change */
	uint64_t exceptions[2];    /* before and after */
	uint64_t arrivals, spilled; /* new sessions that were started to see where they go; of them, away from a full owner */
	uint16_t last_id;
	struct hf_foreseen *server; /* HF_SERVERS_MAX + 1, zeroed, by its caller */
};
/* Ends the change that is under way in the twin, fills it with the entries that `e` has now, does the change to it and asks it by
 * hf_engine_choose, for each entry before and after, and for new sessions. Nothing of e is changed. go_on is asked every few thousand steps,
 * false ends it (HF_ECLOSED). HF_ENOENT: no such server; HF_EEXIST: there is one of that name; HF_EFULL; HF_ENOMEM. The thread that has the
 * twin, any for e. O(entries + arrivals), about 2 us each, and a fill of the slots. */
enum hf_err hf_engine_foresee(struct hf_engine *twin, struct hf_engine *e, const struct hf_change *c, uint64_t arrivals, bool (*go_on)(void *arg), void *arg,
			      struct hf_foresight *out, uint64_t now_ms) HF_MUST_USE;

/* The owner of a slot, and the digest of the whole fill (SipHash-2-4 under the zero key of the owners' names in slot order, a NUL behind each). */
uint16_t hf_engine_owner(const struct hf_engine *e, uint32_t slot);
uint64_t hf_engine_digest(const struct hf_engine *e);

#endif
