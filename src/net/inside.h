/* What the files of net share: the process-long things (pools, services, sockets) and the worker. DESIGN 2 "Threads", 6.
 * A flow or letter never holds a pointer to a snapshot; a letter never holds a pointer at all. */
#ifndef NET_INSIDE_H
#define NET_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "holdfast/net.h"
#include "holdfast/clock.h"
#include "holdfast/rate.h"
#include "holdfast/store.h"
#include "letter.h"
#include "member.h"
#include "poller.h"
#include "snap.h"

#define NET_WORKERS_MAX 64
#define NET_DATAGRAM 65535u  /* octets of the largest datagram */
#define NET_ARENA (96u * 1024) /* a parcel's arena: the largest datagram's unfolded copies and its answer */

/* ---- process-long, never freed before the end, so flows may point to them ---- */

struct counts { /* one a service and worker; only that worker writes (worker_bump) */
	_Atomic uint64_t parcels, flows, open_flows;
	_Atomic uint64_t paths, open_paths; /* flows of datagrams */
	_Atomic uint64_t reasons[HF_REASON_MAX];
	_Atomic uint64_t asked[HF_NAMES_MAX], answered[HF_NAMES_MAX][HF_CLASSES]; /* notice.h */
} __attribute__((aligned(64)));

struct service_rt {
	char name[64];
	uint16_t id;
	const struct hf_front *front;
	struct counts *counts; /* one a worker */
	struct hf_rate opened[2]; /* new sessions that count; urgent ones */
	struct said *said;     /* guard.c */
};

struct tally { /* of a member; only the worker whose it is writes (notice.h) */
	_Atomic uint32_t server;    /* its hash: an id may become another server's */
	_Atomic uint64_t why[HF_WHY_COUNT], answers[HF_CLASSES];
};

struct pool_rt {
	char name[64];
	struct hf_engine *engine;
	struct hf_engine_conf made_of;
	bool published;             /* a snapshot in force has had it */
	uint8_t filled;             /* what the log has said of that (lasting_heed) */
	struct hf_region region;
	struct keeping *keeping;    /* NULL: it has no copy on disk */
	struct member_rt *members;  /* HF_SERVERS_MAX + 1, by id */
	pthread_mutex_t gates;      /* of all their gates */
	struct tally *tallies;      /* as many for each worker; what is never touched costs nothing */
};

/* The sockets of one listener, one a worker; shared by the snapshots that have it. Control thread counts references. */
struct socks {
	enum hf_transport transport;
	struct hf_addr asked, bound; /* asked: as configured, port 0 kept */
	unsigned refs;
	atomic_bool paused;          /* datagrams: the first worker reads once a pause, and would read others', too (lend.c) ... */
	atomic_bool lent[NET_WORKERS_MAX]; /* ... as it does these, by worker */
	int fd[]; /* by worker */
};

/* ---- roster.c: members of a pool whose conf and rt are set; free takes what there is ---- */

enum hf_err roster_make(struct hf_net *net, const struct hf_conf *conf, struct snap_pool *p, struct hf_writer *why) HF_MUST_USE;
void roster_free(struct snap_pool *p);

/* ---- lasting.c: found by name or made; NULL: `why` says what ---- */

struct service_rt *lasting_service(struct hf_net *net, const struct hf_conf_service *c, struct hf_writer *why);
struct hf_engine_conf lasting_engine_conf(const struct hf_net *net, const struct hf_conf_pool *c);
struct pool_rt *lasting_pool(struct hf_net *net, const struct hf_conf *conf, const struct hf_conf_pool *c, struct hf_writer *why);
void lasting_published(struct hf_net *net, struct pool_rt *rt);
void lasting_forget_unpublished(struct hf_net *net); /* pools of configurations that were refused */
void lasting_heed(struct hf_net *net); /* says which tables fill */
void lasting_free_pools(struct hf_net *net);

/* ---- listeners.c ---- */

enum hf_err listeners_open(struct hf_net *net, struct hf_snapshot *s, struct snap_service *v, struct hf_writer *why) HF_MUST_USE;
void listeners_tune(const struct hf_net *net, const struct hf_snapshot *s); /* what accepted sockets have of theirs */
enum hf_err listeners_own(struct snap_service *v) HF_MUST_USE;
void listeners_release(struct hf_net *net, struct socks *x);

/* ---- layers.c: what the connections of a snapshot need of TLS. False: `why` says what is wrong with which file ---- */

bool layers_of_service(const struct hf_net *net, struct snap_service *v, struct hf_writer *why) HF_MUST_USE;
struct wire;
/* The layers of a connection to an address, whose certificate must name `host`, or it where that is empty. NULL: none, or they cannot be. */
struct wire *layers_over(const struct snap_pool *p, struct hf_bytes host, enum hf_transport t, int fd, const struct hf_addr *to) HF_MUST_USE;
bool layers_of_pool(const struct hf_conf *conf, struct snap_pool *p, struct hf_writer *why) HF_MUST_USE;

/* ---- the worker (worker.c) ---- */

struct listening { /* a listener that this worker watches */
	struct worker *w;
	struct socks *socks;
	struct watch watch;
	uint16_t service;    /* id */
	unsigned at;         /* index in that service's infos */
	bool seen;           /* while a snapshot is taken over */
	struct timer pause;     /* streams: accepting pauses until then */
	struct gather {         /* datagrams: reading once a pause (gather.c) */
		uint64_t since_ms, pause_ms; /* pause_ms 0: at each arrival */
		unsigned seen;
		struct timer timer;
	} gather;
	bool away;              /* datagrams: the first worker reads them (lend.c) */
	struct pressure {       /* datagrams: more come than are done (pressure.c) */
		uint64_t since_ms, last_ms; /* never read empty since, and the last such turn; since 0: it was */
		uint64_t high_ms;           /* so for too long, lastly; 0: never */
	} pressure;
	unsigned burst, calm;   /* streams: connections taken a turn; turns until it may be more (accept.c) */
};

#define ANSWER_PLACES 1024

struct block { /* a buffer's octets (flow.h): those from `at` to `n` are there */
	uint8_t *p;
	uint32_t at, n, cap;
};

struct worker {
	struct hf_net *net;
	unsigned index;
	pthread_t thread;
	bool running;
	struct poller *poller;
	int wake_fd;
	struct watch wake;
	_Atomic(struct hf_snapshot *) next;
	_Atomic unsigned seen;   /* generation in force here */
	unsigned offs;           /* of net->offs that were dealt with */
	atomic_bool stop;
	struct hf_snapshot *snap;
	struct box box;
	struct listening **open;
	unsigned n_open, cap_open;
	struct hf_arena arena;
	struct answers { uint64_t second; uint64_t n; } answers[ANSWER_PLACES]; /* our own to datagrams, by source */
	uint8_t *scratch;        /* LETTER_MAX octets: composed messages, relay copies */
	uint8_t *reader;         /* LETTER_MAX octets: what a connection brought this turn */
	struct block reading;    /* ... as its buffer */
	uint8_t *letter;         /* LETTER_MAX octets: the letter that is being read, while its answer is composed */
	uint64_t now_ms, now_us; /* of this turn, by the same clock */
	struct effort { uint64_t since_us, cpu_us; _Atomic unsigned permille; } effort; /* thousandths of a processor, lately (lend.c) */
	uint64_t sheds_until_ms; /* no new sessions until then: it is behind with its datagrams */
	struct udp *udp;
	struct flows *flows;
	struct links *links;
	struct paths *paths;
	struct flow *dirty, **dirty_end, *blocked; /* connections with something to send; ones whose reader waits */
	struct slow { struct flow *first, **end; struct timer timer; } slow; /* ... that are not read: their source says too much (throttle.c) */
	struct holds *holds;
	struct leads *leads;    /* names of next hops, and who waits for them ... */
	unsigned seeking;        /* ... how many do */
	struct hf_found found;   /* what is told at once: a parcel that seeks nothing has no room for it */
	struct hf_event came;    /* of the hold that a parcel has met */
	uint64_t told;           /* a bit for each hold elsewhere that was told something this turn, by the lowest six of its slot (told.c) */
	struct ring *ring;       /* the last messages; NULL: they are not kept */
	struct exports *exports; /* copies for a collector (export.h) */
	bool exporting;          /* the snapshot in force names one */
	struct pipe *pipes; unsigned n_pipes; /* spare ones (pipes.c); with those that are lent */
};

struct hf_net {
	struct hf_loop *control;
	struct hf_site site;
	unsigned n_workers;
	struct worker *workers;
	size_t letter_box;
	struct hf_snapshot *snap;
	struct hf_snapshot *old;     /* published before, not yet let go by all */
	unsigned generation, settled; /* of snap; of what the engines know */
	uint64_t now_ms;
	int receipt_fd;              /* workers ring it when they have taken a snapshot */
	struct hf_watch *receipt;
	struct hf_disk *disk;
	bool started;                /* threads run */
	struct pool_rt **pools;
	struct service_rt **services;
	struct socks **socks;
	unsigned n_pools, n_services, n_socks;
	struct probes *probes;
	struct names *names;         /* of servers */
	struct discover *discover;   /* ... and of records that name some */
	struct searches *searches;   /* ... and of next hops */
	struct sources *sources;     /* connections by source address */
	struct sources *path_sources; /* flows of datagrams likewise */
	struct anchors *anchors;     /* flows that those may be beside, by name */
	struct peers *peers;         /* ... that carry messages, by address and port */
	struct keepers *keepers;     /* of holds, by tag; NULL: there is one worker */
	struct tales *tales;         /* what will be told of sessions (tale.h) ... */
	struct hf_lines *lines;      /* ... there; NULL: nowhere */
	struct hf_timer *tales_sweep;
	uint8_t tls_keys[80];        /* TLS_TICKET_KEYS: of this start, so that a reload ends no client's resumption */
	_Atomic uint64_t open_flows; /* all workers */
	_Atomic uint64_t open_paths; /* flows of datagrams likewise */
	_Atomic uint64_t lend_at_ms; /* no worker's socket is lent to the first before that */
	_Atomic unsigned offs;       /* how often servers became off */
	_Atomic uint64_t unix_less_ms; /* what the system's clock is ahead of ours */
	_Atomic unsigned races;      /* holds of all workers whose front has said so */
};

/* A turn begins: one look at the clock for all that comes of it. */
static inline void worker_clock(struct worker *w) { w->now_ms = (w->now_us = hf_clock_us()) / 1000; }
/* A counter that only one thread writes: it needs no locked instruction. */
static inline void worker_bump(_Atomic uint64_t *n, uint64_t by) { atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + by, memory_order_relaxed); }
/* Counts for a service on this worker. */
static inline void worker_count(struct worker *w, struct service_rt *rt, unsigned reason)
{
	if (reason < HF_REASON_MAX)
		worker_bump(&rt->counts[w->index].reasons[reason], 1);
}
enum hf_err worker_init(struct hf_net *net, unsigned index) HF_MUST_USE;
enum hf_err worker_start(struct worker *w) HF_MUST_USE;
void worker_wake(struct worker *w);
void worker_stop(struct worker *w); /* all of them before the first fini: they write to each other's boxes */
void worker_fini(struct worker *w);

/* Sends all that a turn has gathered: datagrams, then connections (stream.c). At the end of each turn; never inside a step. */
void worker_flush(struct worker *w);

/* ---- parcels (deliver.c) ---- */

struct flow;
struct beside { /* a relayed flow that was found by a name (anchors.h) */
	struct hf_flow_name flow;
	uint64_t name;
	uint32_t server;     /* hash */
	struct pool_rt *pool;
};
struct parcel {
	struct worker *w;
	const struct snap_service *service; /* NULL: removed */
	struct service_rt *rt;
	struct pool_rt *pool;         /* of the service; of a paired flow: its own */
	const struct snap_pool *at;   /* ... as it is now. NULL: the service is removed, or no service sends there any more */
	struct flow *flow;            /* NULL: a datagram */
	struct hf_ctx ctx;
	struct hf_event ev;
	struct hf_chosen chosen;
	enum hf_event_kind next;      /* what the step's last act calls for; BYTES: nothing */
	bool holds, entered;          /* ASK with `holds`; POOL, so that the same event comes again */
	bool carried;                 /* it came to another worker first */
	bool frees, sheds, spares;    /* when all steps are done, its hold ends / lets go of its octets / does so where room is short */
	bool closed;                  /* the flow has ended under us */
	size_t took;                  /* framed flows: octets of the message */
	struct anchors *anchors;      /* datagrams: the flows that theirs may be beside ... */
	struct beside beside;         /* ... and is, by the front's question; name 0: none */
	uint64_t sticky;              /* the key asked for: it chooses among links */
	uint64_t session;             /* notice.c: ring.c's number of it; 0: not yet */
	unsigned failed;              /* a reason: a SEND could not be done */
	struct hold *hold;            /* which this is an event of; or the one that HOLD made of it */
	struct flow *link;            /* by which it went to a member; NULL: by none */
	struct hf_story *story;       /* explain: acts are written there and not done; w is NULL then */
};
/* ask.c: what a front wants of the engine */
void ask_act(struct parcel *p, const struct hf_act *act);
void ask_learn(struct parcel *p, const struct hf_act *act);
void ask_evidence(struct parcel *p, const struct hf_act *act);
/* Who a member is and how it is reached, into p->chosen. */
void ask_reach(struct parcel *p, const struct snap_member *m);
void explain_count(struct parcel *p, unsigned reason); /* explain.h */
/* A flow whose two sides are joined: its octets are no messages. */
static inline bool parcel_paired(const struct parcel *p) { return p->flow && !p->rt->front->framed; }
static inline void parcel_count(struct parcel *p, unsigned reason)
{
	if (p->w)
		worker_count(p->w, p->rt, reason);
	else
		explain_count(p, reason);
}
/* Runs an event through the front until it asks no more. */
void deliver_run(struct parcel *p);
/* A datagram as it was received. */
void deliver_datagram(struct worker *w, const struct snap_service *s, unsigned at, struct hf_bytes bytes, const struct hf_addr *source, const struct hf_addr *local);
/* From here on it is an event of the hold, too; `came` lives as long as p. */
void deliver_enter(struct parcel *p, struct hold *x, struct hf_event *came);
/* What is known of who speaks from an address: fills member and from_servers. */
void deliver_speaker(const struct snap_service *s, const struct hf_listener_info *l, struct hf_event *ev);
/* Fills a ctx for a service (NULL: removed), in its own pool; _pool: what that has of one of its pools. */
void net_ctx(const struct hf_net *net, const struct snap_service *s, struct hf_arena *arena, uint64_t now_ms, struct hf_ctx *ctx);
void net_ctx_pool(const struct snap_service *s, const struct snap_pool *at, struct hf_ctx *ctx);
static inline void deliver_ctx(struct worker *w, const struct snap_service *s, struct hf_ctx *ctx) { net_ctx(w->net, s, &w->arena, w->now_ms, ctx); }

/* ---- sending (send.c) ---- */

void send_act(struct parcel *p, const struct hf_act *act);
/* Its octets may choose an address outside the pool: they come from where a server lives. */
bool send_may_choose(const struct parcel *p);
/* The listener whose socket sends to an address, or that takes what comes back. NULL: none can. */
const struct hf_listener_info *send_out_for(const struct parcel *p, const struct hf_addr *to, enum hf_transport t);
void deliver_letters(struct worker *w);

/* ---- holds (hold.c) ---- */

struct hold;
struct holds *holds_new(struct worker *w) HF_MUST_USE;
void holds_free(struct holds *h);
/* The name that a next hold of n octets with this tag gets, the same each time; generation 0: as much is held as may be, or no tag. */
struct hf_flow_name hold_next(struct worker *w, size_t n, uint64_t tag);
/* Keeps a copy of the octets and what p's event says of them, for ms. NULL: as much is held as may be. */
struct hold *hold_keep(struct parcel *p, uint32_t ms, const uint8_t state[HF_HOLD_STATE], struct hf_bytes octets, uint64_t tag) HF_MUST_USE;
/* silent: at its deadline it ends without a step. */
void hold_again(struct worker *w, struct hold *x, uint32_t ms, const uint8_t state[HF_HOLD_STATE], bool silent);
void hold_races(struct worker *w, struct hold *x, bool races);
void hold_shed(struct worker *w, struct hold *x); /* its octets go, it stays */
void hold_spare(struct worker *w, struct hold *x); /* ... if half of the room is in use: what must be kept has the other half */
void hold_end(struct worker *w, struct hold *x);
struct hold *hold_find(struct worker *w, const struct service_rt *rt, const struct hf_flow_name *name);
struct hold *hold_tagged(struct worker *w, const struct service_rt *rt, uint64_t tag);
struct hf_flow_name hold_name(const struct worker *w, const struct hold *x);
uint8_t *hold_state(struct hold *x);
void hold_came(const struct hold *x, const struct snap_service *s, struct hf_event *ev);
/* A step of a hold: WAKE or NOTE. In what is left of the arena: another parcel's step may be running. */
void hold_step(struct worker *w, struct hold *x, enum hf_event_kind kind, struct hf_bytes note);

/* The parcel that a hold's was when it came, for another step. False: its service is no more. */
bool hold_parcel(struct worker *w, const struct hold *x, struct parcel *p);
/* It waits for a name: at its deadline it is seek.c's. */
void hold_seeks(struct hold *x);

/* ---- what is told to holds (told.c) ---- */

/* PASS: true when a letter is on its way; else the parcel's next event is LETTER, here. */
bool told_pass(struct parcel *p, const struct hf_flow_name *to);
void told_note(struct parcel *p, const struct hf_act *act);
/* To the worker that keeps something with the tag: true, and this parcel is over here. False: nobody else does, or his box is full. */
bool told_carry(struct parcel *p, uint64_t tag);
/* The owner's side. */
void told_take(struct worker *w, const struct snap_service *s, const struct letter *l, struct hf_bytes body);

/* ---- flows (flow.c table, conn.c opening, dial.c, pump.c relay) ---- */

struct links *links_new(void) HF_MUST_USE;
void links_free(struct links *l);
void pipes_free(struct worker *w); /* when all flows have ended */
struct flows *flows_new(void) HF_MUST_USE;
void flows_free(struct worker *w);
void flows_end_off(struct worker *w); /* those at servers that are off */
void conn_acceptable(void *listening, unsigned what);
void conn_turn(struct worker *w, const struct hf_flow_name *name); /* a letter's */
/* Acts on flows, called by deliver. */
void conn_send(struct parcel *p, const struct hf_send *s);
void conn_hold(struct parcel *p, uint32_t ms);
void conn_relay(struct parcel *p, const struct hf_act *act);
void conn_close(struct flow *f, unsigned reason);
void conn_close_later(struct flow *f, unsigned reason);
void conn_more(struct parcel *p, size_t need);
/* Octets for the client of the flow so named, on this worker. False: it is gone. */
bool conn_deliver(struct worker *w, const struct hf_flow_name *name, struct hf_bytes bytes);
/* The servers that the flow has tried; NULL: as many as it may. */
const uint16_t *conn_tried(const struct flow *f, unsigned *n);
struct hf_flow_name conn_name(const struct flow *f);
void conn_stuck(struct flow *f, const struct letter *l, unsigned worker, struct hf_bytes body);

#endif
