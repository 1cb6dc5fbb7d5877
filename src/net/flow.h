/* A flow: one client connection and its server side. It stays on its worker from accept to conn_close, its only exit.
 *
 *   OPENING  the client's octets gather until the front asks        (deadline: handshake)
 *   QUEUED   waits for its turn to be dialled (gate.c)              (deadline: dial)
 *   DIALING  a connect is under way                                 (deadline: dial)
 *   WAITING  held by the front
 *   ANSWER   the server has the opening; its answer gathers         (deadline: handshake again)
 *   RELAY    octets are copied both ways                            (no deadline)
 *   CLOSING  what was sent drains, then FIN                         (deadline: drain)
 *
 * A connection of a framed front has a client side only (stream.c, link.c):
 *   LINKING  we dial                                                (deadline: dial)
 *   MESSAGES parcels come and go                                    (deadline: handshake for a message begun, else idle) */
#ifndef NET_FLOW_H
#define NET_FLOW_H

#include "inside.h"
#include "wire.h"
#include "ws.h"

enum phase { PHASE_FREE, PHASE_OPENING, PHASE_QUEUED, PHASE_DIALING, PHASE_WAITING, PHASE_ANSWER, PHASE_RELAY, PHASE_CLOSING, PHASE_LINKING, PHASE_MESSAGES };

#define TRIED_MAX 16           /* servers a flow may try; then it is refused */
#define OUT_MAX (256u * 1024) /* octets waiting for one side before its other side is not read any more */

struct buf { struct block *b; }; /* NULL: empty. Most are, most of the time */

/* Octets on their way inside the system. */
struct pipe {
	int in, out;
	size_t n;              /* octets in it */
	struct pipe *next;     /* of the spare ones */
};

struct side { /* what a relayed octet needs stands together */
	int fd;                /* -1: none */
	bool eof, shut;        /* it has closed / FIN was sent to it */
	bool more, last;       /* the system may hold octets that it will not tell of again / behind them its end: read until it comes */
	bool even;             /* its watch is what one is of which nothing waits: edges, and it is read (conn_watch) */
	uint8_t bulk;          /* RELAY: more comes from it than a copy is good for, until so many small reads (pump.c) */
	uint32_t need;         /* the front wants at least so many */
	struct buf in, out;    /* in: not dealt with yet, before RELAY; out: not yet taken by the system */
	struct pipe *pipe;     /* RELAY: holds octets that the system has not taken for this side yet, behind out; NULL: none */
	uint64_t octets;       /* received from this side */
	struct wire *wire;     /* what lies between its socket and its octets; NULL: nothing. Never on a side that is relayed */
	struct watch watch;
};

/* What a WebSocket needs beside (websocket.c). */
struct web {
	bool on;               /* the connection is one ... */
	bool open, closing;    /* ... whose handshake is through; that has said its Close */
	struct ws ws;
};

/* What a connection of a framed front needs beside. */
struct stream {
	bool link;             /* we dialled it; source is whom */
	uint8_t index;         /* of several links to one address */
	uint32_t identity;     /* layers_identity, as it was dialled */
	uint8_t from[16];      /* a link: the address that it was to leave from, 0: any */
	bool cut;              /* what waits in `out` begins inside a message */
	bool aside;            /* a link to a member that is spoken to in another way: whether it can be made says nothing of its health */
	bool again;            /* a link that carries what another could not send: there is no third */
	bool dirty, blocked, resume; /* in w->dirty; in w->blocked; it was, and has messages to go on with */
	bool awaited;          /* some in w->blocked wait for this one */
	enum { SLOW_NOT, SLOW_WAITS, SLOW_ASKED } slow; /* its source says too much: it is in w->slow; it has left that and was not served yet */
	enum { ARM_FIRST, ARM_PARTIAL, ARM_IDLE } armed; /* what the deadline is for */
	uint64_t last_ms, partial_ms;
	struct hf_flow_name blocked_by;
	struct web web;
	struct flow *next_dirty, *next_blocked, *next_slow, *next_link;
	struct awaited *carried; /* a link: what it carried for holds (awaited.c); NULL: nothing yet */
	struct flow *next_peer; /* peers.c; under its lock */
	bool listed;
};

/* Many are held for days, so that it is one piece, without what only its beginning or another kind of flow needs. What a relayed packet needs stands
 * first, together with the sides: of thousands of flows none is in the processor's cache when its packet comes, and each line of it is waited for. */
struct flow {
	struct worker *w;
	struct stuck *stuck;   /* a letter that found its box full; the client is not read meanwhile */
	struct stream *stream; /* framed fronts: part of the same piece */
	union {
		uint16_t tried[TRIED_MAX]; /* before RELAY: servers */
		uint64_t mark_from[2];     /* RELAY: octets of each side at its start */
	};
	union {
		uint32_t mark;     /* RELAY: WAKE when this many octets have passed each way; 0 = done */
		uint32_t turn;     /* before: its place at the gate of its server; 0: none yet */
	};
	uint16_t end;          /* a reason, when the flow is to end after the step */
	uint8_t phase;         /* enum phase */
	bool tuned;            /* RELAY: both sockets have what a long session needs */
	struct side side[2];   /* HF_CLIENT, HF_SERVER */
	struct service_rt *rt;
	struct pool_rt *pool;
	uint32_t slot, generation;
	uint16_t service;      /* id */
	uint16_t server;       /* member id of the server side */
	uint16_t failed;       /* a reason, when a dial failed while the step ran */
	uint8_t transport;     /* enum hf_transport */
	uint8_t n_tried;       /* 0 in RELAY */
	uint8_t gate;          /* gate.c: outside, waiting, inside, asleep */
	bool placed;           /* it has asked, or was given a pool: it stays in that */
	bool queued_down;      /* QUEUED: its server was not up when it came */
	bool knocks;           /* its server is down, and is tried for a moment: chosen.knock */
	bool counted, opened;  /* among its source's; its opening is complete */
	bool proxied;          /* a PROXY header must come first */
	bool held;             /* the engine keeps the server's id for it */
	bool busy;             /* a step is running: what it asks for is done behind it */
	bool told;             /* the front has sent the client something: it must arrive before the end */
	uint32_t listener;     /* hash */
	uint32_t server_hash;
	uint32_t source_at;    /* counted: there (sources.h) */
	uint32_t queued_ms;    /* QUEUED: so long it may still wait, beyond its deadline */
	struct timer deadline; /* ended when RELAY begins */
	struct tale *tale;     /* for the session log; NULL: nobody wants it */
	struct anchor *anchor; /* flows of datagrams may be beside it (anchors.h); NULL: none */
	struct hf_addr source, local;
	_Alignas(8) uint8_t state[HF_FLOW_STATE];
};
_Static_assert(offsetof(struct flow, side) == 64, "a line of the cache before the sides");

/* flow.c: the table, buffers */
struct flow *flow_new(struct worker *w, bool framed);
void flow_free(struct flow *f);
/* From now on the flow is at this server of the pool (NULL: none), whose id is not given anew meanwhile. */
void flow_at(struct flow *f, struct pool_rt *pool, const struct snap_member *m);
/* Where its next step is: pool and ctx. */
void flow_ctx(struct flow *f, struct parcel *p);
/* Its pool as it is now. NULL: no service sends there any more. */
const struct snap_pool *flow_pool(const struct flow *f);
struct flow *flow_find(struct worker *w, uint32_t slot, uint32_t generation);
bool buf_add(struct buf *b, const void *p, size_t n, size_t max) HF_MUST_USE;
bool buf_room(struct buf *b, size_t n, size_t max) HF_MUST_USE;
void buf_free(struct buf *b);
static inline size_t buf_len(const struct buf *b) { return b->b ? b->b->n - b->b->at : 0; }
static inline struct hf_bytes buf_view(const struct buf *b) { return b->b ? hf_bytes_of(b->b->p + b->b->at, buf_len(b)) : HF_NONE; }
static inline void buf_took(struct buf *b, size_t n)
{
	if (n)
		b->b->at += (uint32_t)n;
}

/* accept.c */
enum hf_err accept_proxy(struct flow *f, unsigned *reason) HF_MUST_USE; /* the header. HF_OK: it has been read; HF_ENOENT: more octets are needed; else the flow is to end */
void accept_opened(struct flow *f);   /* it has said what it wants */
void accept_leave(struct flow *f);

/* What a watch has told of a side. */
static inline void side_told(struct side *s, unsigned what)
{
	s->more |= what & HF_READ;
	s->last |= (what & WATCH_END) != 0;
}
/* Something waits for this side. */
static inline bool side_waits(const struct side *s) { return s->pipe || buf_len(&s->out); }

/* conn.c */
void conn_step(struct flow *f, struct hf_event *ev);
void conn_run(struct flow *f, struct hf_event *ev); /* conn_step without what follows from it */
void conn_watch(struct flow *f);         /* sets what both sides wait for, from phase and buffers */
void conn_client_ready(void *flow, unsigned what);
void conn_server_ready(void *flow, unsigned what);
void conn_expired(void *flow);
void conn_deadline(struct flow *f, uint64_t ms); /* from this turn's look at the clock; 0: none */
void conn_finish(struct flow *f); /* conn_end.c: it is to end, when what the client was told has gone out */
/* side.c */
/* Sends what waits for a side; HF_ECLOSED: the side failed. */
enum hf_err side_drain(struct side *s);
/* Octets for a side, behind what waits: at once as far as the system takes them, the rest is kept. HF_ECLOSED: it failed; HF_EFULL: too much waits. */
enum hf_err side_put(struct side *s, const uint8_t *p, size_t n) HF_MUST_USE;
bool side_gather(struct flow *f, struct side *s) HF_MUST_USE; /* false: the side failed */

/* stream.c */
void stream_begin(struct flow *f);
void stream_ready(struct flow *f, unsigned what);
void stream_expired(struct flow *f);
/* Puts a message behind what waits for the peer. from: whose reader waits when it is much; may be NULL.
 * HF_EFULL: as much waits as may; HF_ECLOSED: the connection is ending; HF_EINVAL: splices out of order. */
enum hf_err stream_put(struct flow *f, struct flow *from, struct hf_bytes base, const struct hf_splice *splices, unsigned n_splices) HF_MUST_USE;
/* The same with octets that are no message. False: as much waits as may. */
bool stream_say(struct flow *f, struct hf_bytes octets) HF_MUST_USE;
/* Ends it when no step runs any more. */
void stream_end_later(struct flow *f, unsigned reason);
void stream_again(struct flow *f); /* its reader may go on, with the next worker_flush */
/* throttle.c */
bool throttle_waits(struct flow *f, const struct snap_service *s); /* its next message is not to be read: it goes on by itself */
void throttle_heard(struct flow *f, const struct snap_service *s); /* one was read */
void throttle_forget(struct flow *f);
void stream_forget(struct flow *f); /* it is about to be freed */

/* websocket.c: f->stream->web.on */
/* What has come, up to the first message, which is put into *message (n 0: there is none yet). Returns the octets that are dealt with, 0: more must come, or,
 * with a message, that it is the beginning of one that is too long: web_too_long then ends the connection. */
size_t web_take(struct flow *f, const struct snap_service *s, struct hf_bytes *message);
void web_too_long(struct flow *f);
/* A message of n octets stands at p + WEB_HEAD with WEB_ROOM octets of room beyond it: makes a frame of it at p. Returns its length. */
#define WEB_HEAD 4u /* octets before a message of 126 to 65535 octets, which most are */
#define WEB_ROOM 10u
size_t web_frame(const struct flow *f, uint8_t *p, size_t n);
void web_ping(struct flow *f);
void web_bye(struct flow *f); /* it ends: tells the client so, once */

/* link.c */
struct link_to {
	struct hf_addr addr;
	enum hf_transport transport;
	unsigned index;
	const struct snap_member *member;
	struct hf_bytes host; /* of no member, over TLS: what its certificate must name; empty: its address */
};
/* A link to there, dialled if there is none. NULL: it cannot be. */
struct flow *link_to(struct worker *w, const struct snap_service *s, const struct hf_listener_info *out, const struct link_to *to);
/* ... that is open. NULL: there is none. */
struct flow *link_open(struct worker *w, const struct snap_service *s, const struct link_to *to);
void link_ready(struct flow *f);
void link_failed(struct flow *f, unsigned reason);
/* It ends, with what is to be done of what it carried. */
void link_end(struct flow *f);
void link_forget(struct flow *f);

/* deliver.c */
/* A message that had been taken and could not be delivered after all, as it went out; the octets that it took, 0: it is no message. */
struct came_back {
	const struct hf_listener_info *listener; /* NULL: that is gone */
	struct hf_addr to;
	enum hf_transport transport;
	uint32_t server;     /* hash; 0: to none */
	unsigned reason;
};
size_t deliver_back(struct worker *w, const struct snap_service *s, const struct came_back *b, struct hf_bytes bytes);

/* layers.c: what lies between a connection's socket and its octets, by its transport. False: no memory, or its layer cannot be. */
bool layers_accept(struct flow *f, const struct snap_service *s) HF_MUST_USE; /* what was read already goes through them first */
bool layers_dial(struct flow *f, const struct snap_service *s, struct hf_bytes host) HF_MUST_USE;
/* Why one of its layers failed, which is logged; 0: none did. */
unsigned layers_failed(const struct flow *f);
/* Differs between connections to one place that are not the same to the peer or to us; host: as in layers_over. */
uint32_t layers_identity(const struct snap_pool *p, struct hf_bytes host, enum hf_transport t);

/* stuck.c */
void stuck_free(struct flow *f);

/* dial.c */
/* The connection begins with `first`. f->failed says so when it failed at once. */
void dial_start(struct flow *f, const struct snap_pool *pool, const struct snap_member *m, struct hf_bytes first);
void dial_done(struct flow *f);
void dial_turn(struct flow *f); /* QUEUED: its turn may have come */
void dial_waited(struct flow *f); /* ... and its deadline has */
void dial_failed(struct flow *f, unsigned reason);

/* pipes.c */
#define PIPE_SIZE (1u << 20) /* the system's limit for an ordinary user; at this size a gigabyte costs a third of what it does at 64 KiB */
struct pipe *pipe_borrow(struct worker *w); /* empty; NULL: all are lent, or the system gives none */
void pipe_return(struct worker *w, struct pipe *p);

/* pump.c */
void pump_start(struct flow *f);
void pump_go_on(struct flow *f);
void pump_ready(struct flow *f, enum hf_side side, unsigned what);

#endif
