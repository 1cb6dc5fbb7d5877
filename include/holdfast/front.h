/* The contract between net and a protocol: a front is one const struct whose heart is a pure step, event in, acts out.
 *
 * A front includes this header, base headers and its own files; it never sends, dials, logs, sets timers, reads a clock or
 * allocates beyond the parcel's arena. So every front can be tested and fuzzed from an array of octets. Net runs the acts.
 *
 * Glossary
 *   parcel   one datagram, framed message or opening octets on its way          flow   a client connection and its server side
 *   hold     a parcel that the front asked net to keep, with a deadline, on one worker; it is named like a flow
 *   note     HF_NOTE octets that one step leaves for a hold                     key    what affinity is decided by (affinity.h)
 *   hint     a server named by the message itself                               member a server of the pool
 *   server   is named by its 32-bit hash (hf_server_hash); 0 is none. A hash or address that names no member is never dialled.
 *
 * Threads: step may run on any worker at once; it keeps nothing but what ctx gives it.
 * Lifetimes: all views in an event live until step returns; what an act points to must live in the parcel's arena, the
 * event, the service's conf or a constant. */
#ifndef HOLDFAST_FRONT_H
#define HOLDFAST_FRONT_H

#include "addr.h"
#include "affinity.h"
#include "arena.h"
#include "option.h"
#include "reason.h"

#define HF_ACTS_MAX 8
#define HF_AVOID_MAX 8
#define HF_SPLICES_MAX 16 /* of a message, but for lines that are taken out */
#define HF_FLOW_STATE 96 /* octets of a front's own state in a flow */
#define HF_HOLD_STATE 32  /* ... in a hold */
#define HF_NOTE 32        /* octets of a note to a hold */
#define HF_BESIDE 3
#define HF_PLACES_MAX 8   /* where one name leads */
#define HF_WAYS_MAX 8
#define HF_NAMES_MAX 24   /* what messages may ask: each is counted, so that nobody can make up more */

/* ---- what a front may know of where it runs ---- */

/* Secrets of the cluster, and this start of the gateway. */
struct hf_site {
	uint8_t hash_key[16];
	uint8_t sign[2][16]; /* the first signs, all verify */
	unsigned n_sign;     /* 1 or 2 */
	uint32_t boot;       /* random, drawn at each start */
};

struct hf_listener_info {
	uint32_t hash;       /* H32(`listen:` URI with port) */
	enum hf_transport transport;
	bool inside;         /* faces the servers */
	bool wildcard;       /* bound to 0.0.0.0 or [::] */
	struct hf_addr addr; /* as bound, with the real port */
	struct hf_bytes advertise; /* host[:port] to be told to peers instead of the address; may be empty */
	struct hf_bytes uri; /* "udp://192.0.2.1:5060" */
};

/* What a message is, for those who watch (session log, counters, trace, export) and decide nothing. The front fills it once it has read one. */
struct hf_seen {
	struct hf_bytes octets;  /* the message alone, as it came; p NULL: none was read */
	struct hf_bytes session; /* octets that the messages of a session share; may be empty */
	uint16_t name;           /* of what it asks, or answers to: index into front->names, plus 1; 0: it has none */
	uint16_t code;           /* of an answer; 0: it is none */
	const char *remark;      /* for who explains: what it brings or lacks that decides nothing here; a constant, or NULL */
};

struct hf_ctx {
	const struct hf_site *site;
	const void *conf;    /* the front's options of this service; NULL when the service has been removed (END events only) */
	struct hf_bytes pool; /* the name of the pool: the service's own, or that of the flow */
	const struct hf_listener_info *listeners; /* of this service */
	unsigned n_listeners;
	const struct hf_addr *own; /* addresses and ports that are ourselves, wildcards expanded */
	unsigned n_own;
	bool hash_mode;      /* affinity = hash: every life is cut to 32 s after the last final answer */
	uint64_t now_ms;
	uint64_t unix_ms;    /* the same moment by the system's clock, to a second: for what is signed until a time */
	struct hf_arena *arena; /* the parcel's; may be full: NULL is to be expected */
	void *flow;          /* HF_FLOW_STATE octets, zero at the flow's start; NULL for datagrams */
	void *parcel;        /* the front's: what it hangs here in BYTES it finds again in what follows of the same parcel (CHOICE, FOUND, FAIL, HELD, LETTER on
	                      * this worker); NULL at the start of any other event */
	struct hf_seen seen; /* the front's, for net: zero at the start of an event */
	bool races;          /* a hold is there whose front has said so (hold.races) */
};

/* ---- events ---- */

enum hf_side { HF_CLIENT, HF_SERVER };

enum hf_event_kind {
	HF_EV_BYTES,  /* a datagram or a message of a WebSocket, whole; or all octets of one side of a flow that are not dealt with yet */
	HF_EV_CHOICE, /* the engine's answer to ASK */
	HF_EV_FAIL,   /* a SEND failed: dial or transport; on a flow no octet had been sent to that server. ctx->parcel NULL (framed): it failed
	               * later; bytes: the message as it had gone out and all behind it, TOOK says how much it was; empty, of a hold: the connection by
	               * which something of it went to that server has ended, and what that was is lost unless an answer came */
	HF_EV_WAKE,   /* a hold's deadline; or, once on a relayed flow, `relay.mark` octets have passed each way */
	HF_EV_FOUND,  /* the answer to SEEK. ctx->parcel NULL: the parcel has waited for it; then bytes are the message alone */
	HF_EV_HELD,   /* in place of CHOICE: a parcel with the tag that ASK named is held. Another worker's: there, after the same parcel as BYTES */
	HF_EV_LETTER, /* this parcel was passed to a hold; `hold` NULL: that is gone, or the letter could not be posted */
	HF_EV_NOTE,   /* `bytes` are a note to a hold */
	HF_EV_END,    /* the flow has ended; only LEARN, END and EVIDENCE may answer */
};

/* Where a message to a server leaves from, and to whom. */
struct hf_flow_name { /* how octets on the wire or a letter name a flow or hold: never a pointer */
	uint8_t worker;
	uint32_t slot, generation, boot; /* slot: 24 bits; slot, generation: of a hold made of its tag, so that they name it over a restart too, on whatever worker */
};

struct hf_chosen {
	uint32_t server;     /* 0: none, because of ... */
	unsigned none;       /* a reason: there is no eligible one, or as many new sessions were opened as may be */
	struct hf_bytes name;
	struct hf_addr addr;
	enum hf_transport transport;
	enum hf_why why;
	enum hf_state state;
	bool known;          /* the key had an entry; with HF_LIFE_NONE it may be false all the same: nobody looked */
	bool firm;           /* of a session that counts and is no longer tentative */
	struct hf_flow_name hold; /* events of a hold: its name. Else, where ASK was with `holds` and a tag: the name that HOLD would give, for one tag
	                           * and boot the same each time; generation 0: no more can be held */
	unsigned row;        /* tables, OPEN: brief flows of the same key and source that went before, each begun where the one before it ended */
	uint16_t hint_port;  /* ask.hint_addr is no member, but one has its address with this port; 0: none has */
	bool crowded;        /* ask.max_flows, max_sources, apart: the key has as many as it may, or is not for this one; server is 0, and nothing is remembered */
	uint64_t led_by;     /* the key had no entry: of the placing keys the one whose bond named the server; 0: none did */
	bool left;           /* ask.renews: what named the server before did not hold, by the pool's rules */
	uint64_t hold_ms;    /* ask.renews: the key is bound to this server; for so long it is waited for, should it not answer */
	bool knock;          /* ask.knocks: it is down, and is tried once, for a moment, before the key leaves it */
	const struct hf_listener_info *out; /* parcels: the listener whose socket sends, or (streams) that takes what comes back; NULL on relayed flows */
	struct hf_addr out_addr;            /* the address it leaves from, the port that we are reached at */
};

/* Where a name leads, the place that is to be tried first in front. */
struct hf_place { struct hf_addr addr; enum hf_transport transport; };
struct hf_found {
	unsigned n;          /* 0: nowhere, because of ... */
	unsigned reason;     /* UNRESOLVED; NOT_A_MEMBER: the parcel may not ask; SEEK_LIMIT, HOLD_LIMIT */
	struct hf_place place[HF_PLACES_MAX];
};

struct hf_event {
	enum hf_event_kind kind;
	enum hf_side side;      /* BYTES on a flow: whose octets */
	bool eof;               /* BYTES on a flow: that side has closed */
	struct hf_bytes bytes;  /* BYTES; on flows in CHOICE, FAIL and WAKE too: what the client has sent so far; WAKE of a hold: what was kept */
	const struct hf_listener_info *listener;
	struct hf_addr source;  /* of the datagram or the client */
	struct hf_addr local;   /* where it arrived */
	enum hf_transport transport; /* what it came over; FAIL of a message that has come back: what it was to go over, UDP where that was a connection
	                          * that is open (hf_send.if_open); `source` is where to */
	uint32_t member;        /* parcels: the member whose exact address and port is the source, or to which we dialled this connection; or 0 */
	bool from_servers;      /* it came from where servers are: a member, an inside listener, or `servers-from` */
	const struct hf_found *found; /* FOUND */
	const struct hf_chosen *chosen; /* CHOICE; FAIL: who failed: of a message that has come back, how it is reached now; `out` NULL: not */
	unsigned reason;        /* FAIL, END */
	struct hf_flow_name flow_name; /* events of a flow: its name */
	void *hold;             /* events of a hold: its HF_HOLD_STATE octets, as the last HOLD left them */
	const struct hf_event *held; /* the event that brought what is kept; its octets are gone once HOLD has let go of them */
};

/* ---- acts ---- */

enum hf_act_kind {
	HF_ACT_MORE,     /* flows: call again when at least `need` octets of that side are there */
	HF_ACT_TOOK,     /* framed flows: the parcel is the first `need` octets; the step is called again with what is behind them */
	HF_ACT_POOL,     /* flows, before they ask: from here on this one is in another pool of the service; the step is called again with the same event, by that
	                  * pool's ctx. Where the front says nothing it is the service's own */
	HF_ACT_ASK,      /* ask the engine; the last act of a step; CHOICE follows at once */
	HF_ACT_SEEK,     /* parcels of a member: where does the name of its next hop lead? The last act of a step; FOUND follows, at once or when a name server
	                  * has answered, a few seconds later at most */
	HF_ACT_SEND,
	HF_ACT_HOLD,     /* keep this parcel (a flow: wait), WAKE in ms; in an event of a hold: its state and deadline from now on */
	HF_ACT_FREE,     /* this hold ends; so does one that has been woken, without HOLD */
	HF_ACT_PASS,     /* parcels: on to a hold, on whatever worker; the last act of a step, LETTER follows there */
	HF_ACT_NOTE,     /* a hold is told, on whatever worker: at once here, elsewhere soon, and before anything that this step sends can have an effect there */
	HF_ACT_LEARN,    /* an entry for key at server */
	HF_ACT_END,      /* the key's entry ends */
	HF_ACT_EVIDENCE,
	HF_ACT_RELAY,    /* flows: from here on copy both ways. Datagrams of a front with `datagram_flows`, after a CHOICE of ask.beside: they begin a flow */
	HF_ACT_DROP,     /* the parcel ends, with a reason */
	HF_ACT_CLOSE,    /* the flow ends, with a reason, after what was sent has gone out */
};

struct hf_ask {
	uint32_t hint;           /* a server's hash, or 0 */
	struct hf_addr hint_addr; /* or a member's exact address; family 0: none */
	enum hf_why hint_why;    /* COOKIE or TOKEN */
	struct hf_key refs[2];   /* looked up before the key and never made; why = dialog */
	struct hf_key key;       /* fp 0: none, the pool's fallback decides and nothing is remembered */
	uint64_t place;          /* the fingerprint that places a key without an entry, by its own entry (a bond) before its slot; 0: the key's own */
	struct hf_bytes place_kind, place_octets; /* what that is the fingerprint of, for who explains; may be empty */
	uint64_t place_else, place_last; /* looked up for a bond, in this order, where `place` has none; 0: none. Without `place` such a bond leads a key that has no entry */
	uint32_t max_flows;      /* tables: where the key's entry would answer and has so many live flows, `chosen.crowded` instead; 0: no limit */
	uint32_t max_sources;    /* tables: likewise where its live flows are of so many sources, at most 4, and this one neither has nor had any; 0: no limit */
	uint64_t apart;          /* likewise where the key of this fingerprint has an entry; 0: none */
	bool unplaced;           /* nothing of the message places the key: the pool's fallback does */
	bool urgent;             /* an emergency: no limit of servers holds for it, and the service's limits have another share for it */
	bool opens;              /* life is NONE, and what is answered will be learnt as a session that counts: the service's limits of new ones hold */
	bool at_home;            /* placed by its slot, whatever the load factor: a session that it belongs to would be there */
	bool renews;             /* what binds the key is made anew (a registration, a desktop's connection): `on-down` and `drain-bound` say how long it holds */
	bool knocks;             /* renews, flows: what is sent to a server that is down and cannot be reached has not left us, so that trying costs nothing */
	enum hf_life life;       /* of key's entry, at the server chosen */
	uint32_t life_s;
	unsigned flags;          /* HF_COUNTED, HF_TENTATIVE, HF_BOND */
	uint64_t spread;         /* fallback = source: a number of the source */
	bool again;              /* a known entry may be moved. Flows: not the servers that failed for this flow; parcels: none of `avoid` */
	bool unless_firm;        /* ... but not that of a session that counts and is firm */
	bool holds;              /* the parcel may be held next: `chosen.hold` is wanted */
	uint8_t n_avoid;
	const uint32_t *avoid;   /* hashes of servers, at most HF_AVOID_MAX */
	const char *ended;       /* the key's session ends with this: a word, constant; NULL: it does not */
	uint64_t beside[HF_BESIDE]; /* datagrams: names of relayed flows (relay.names), 0: none. The server of the one flow that has the first of them which any
	                          * has is chosen, and nothing else that this asks for is looked at; none = NO_SESSION or MANY_SESSIONS */
	uint64_t tag;            /* parcels: a hold of this service with this tag comes first, as HELD; 0: none does. A hold needs one to be named */
};

struct hf_seek {
	struct hf_bytes host;
	unsigned ways;           /* bits: rows of front->ways by which it is looked for, the first one in front; if none leads anywhere, and for 0, its own addresses count ... */
	uint16_t port;           /* ... with this port */
	enum hf_transport transport; /* ... and this transport */
	uint64_t spread;         /* orders places that are as good as each other: equal numbers do so alike */
	uint64_t tag;            /* of the parcel: while one of this tag waits, another one is that one again and ends here. 0: none */
};

enum hf_to {
	HF_TO_SERVER,   /* the member `server`; on flows: dialled if there is no server side yet */
	HF_TO_CLIENT,   /* flows: the client */
	HF_TO_SOURCE,   /* parcels: back where it came from, from where it arrived; on a connection: over it */
	HF_TO_RETURN,   /* a return address that we signed: over the connection `flow` if it has a generation and is there, else from
	                 * listener `listener` to `addr` over `transport` (port 0: nowhere) */
	HF_TO_NEXT_HOP, /* parcels of a member (ev.member, or proved by our tag): to the address that its request names, over
	                 * `transport`; never to ourselves */
	HF_TO_FLOW,     /* the client side of the flow `flow`, on whatever worker */
};

/* In place of `cut` octets at `at` of the base come `put`. Ascending, not overlapping. */
struct hf_splice {
	uint32_t at, cut;
	struct hf_bytes put;
};


struct hf_send {
	enum hf_to to;
	uint32_t server;      /* TO_SERVER */
	uint32_t listener;    /* RETURN: its hash. SERVER, NEXT_HOP: 0 = net's choice, as told in hf_chosen.out / out_for */
	struct hf_addr addr;  /* RETURN, NEXT_HOP */
	enum hf_transport transport; /* RETURN, NEXT_HOP; SERVER: TCP sends over a connection to the address of a server whose line says UDP */
	bool if_open;         /* NEXT_HOP over TCP: only by a connection with that address that is open; else FAIL, and nobody is dialled */
	struct hf_addr local; /* RETURN: from this address (wildcard listeners); family 0: any */
	struct hf_flow_name flow;
	struct hf_bytes host; /* NEXT_HOP over TLS: the name that its certificate must have; empty: its address */
	struct hf_bytes base; /* p == NULL: the event's octets */
	const struct hf_splice *splices;
	unsigned n_splices;
	uint16_t name, code;  /* as in hf_seen, of a message that is not the one that came; both 0: it is that one */
};

struct hf_act {
	enum hf_act_kind kind;
	union {
		size_t need;
		struct { /* POOL */
			unsigned at;        /* its number (option.h, hf_pool_words) ... */
			struct hf_addr has; /* ... or the one with the member at this address, the service's own if none has; family 0: by number */
		} pool;
		struct hf_ask ask;
		struct hf_seek seek;
		struct hf_send send;
		struct { /* HOLD. keep: what is kept of a new one, p NULL: the event's octets. Of this one: shed: its octets are let go; spare: where room is
			  * short; silent: it ends at the deadline without WAKE; races: what comes for it by several ways has to pass here, one after the
			  * other: from before anything that this step sends can have an effect, until a HOLD without it or its end, ctx->races tells all steps */
			uint32_t ms;
			bool shed, spare, silent, races;
			struct hf_bytes keep;
			uint64_t tag;    /* by which ASK finds it; 0: none */
			uint8_t state[HF_HOLD_STATE];
		} hold;
		struct { struct hf_flow_name to; uint8_t octets[HF_NOTE]; } note; /* NOTE; PASS has no octets */
		struct { /* LEARN, END */
			struct hf_key key;
			uint32_t server; /* 0: the entry's own; an entry that names another server keeps it, unless `move` */
			enum hf_life life;
			uint32_t life_s;
			unsigned flags;
			enum hf_why why;
			bool move;
			uint64_t alias_of; /* tables: the key is a second name of the bond of this fingerprint, and leads where that one is; 0: of none */
			uint32_t lasted_ms; /* CLOSE: the flow was a brief one, and lived for so long; 0: it was not */
			const char *ended; /* the key's session ends: a word, constant; NULL: it does not */
			uint16_t code;     /* ... with an answer of this code, or 0 */
		} learn;
		struct { uint32_t server; enum { HF_EVIDENCE_OK, HF_EVIDENCE_FAILED, HF_EVIDENCE_BUSY } what; uint32_t ms; } evidence;
		struct { /* octets of each side's buffer that are dealt with; the rest goes first. mark > 0: WAKE once that many octets passed each way */
			size_t client_used, server_used;
			uint32_t mark;
			uint64_t names[2]; /* by which datagrams of the service find this flow while it is relayed; 0: none */
			uint32_t idle_ms;  /* datagrams: their flow ends after so long without one; it also ends soon after the flow beside which it is */
		} relay;
		struct { unsigned reason; bool count_only; /* the parcel goes on: a fact is counted */ } end; /* DROP, CLOSE */
	};
};

struct hf_acts {
	unsigned n;
	struct hf_act a[HF_ACTS_MAX];
};

/* Appends an act; more than HF_ACTS_MAX is a bug of the front. */
static inline struct hf_act *hf_act(struct hf_acts *acts, enum hf_act_kind kind)
{
	HF_BUG_ON(acts->n >= HF_ACTS_MAX);
	memset(&acts->a[acts->n], 0, sizeof acts->a[0]);
	acts->a[acts->n].kind = kind;
	return &acts->a[acts->n++];
}

static inline bool hf_ask_is_beside(const struct hf_ask *a)
{
	bool any = false;

	for (unsigned i = 0; i < HF_BESIDE; i++)
		any |= a->beside[i] != 0;
	return any;
}

/* ---- probes: run by the control thread ---- */

struct hf_probe {
	uint32_t server;
	struct hf_bytes name;
	struct hf_addr addr, local; /* local: the socket's own */
	enum hf_transport transport;
	uint32_t id;                /* differs from probe to probe */
};
enum hf_probe_result { HF_PROBE_MORE, HF_PROBE_NOT_MINE, HF_PROBE_OK, HF_PROBE_FAILED, HF_PROBE_BUSY };

/* ---- tokens ---- */

/* What an operator hands to a client, so that it says by itself who it is and where it belongs. */
struct hf_token {
	uint32_t server;       /* hash; 0: the gateway chooses */
	struct hf_bytes user;  /* may be empty, but not both */
	uint64_t until_s;      /* seconds of the epoch */
};

/* ---- the front ---- */

struct hf_default { const char *option, *value; };

/* Records of services (SRV, RFC 2782) by which a next hop's name is looked for. */
struct hf_way {
	const char *prefix;      /* of the name, in front of its host: "_x._udp." */
	enum hf_transport transport;
};

struct hf_front {
	const char *name;        /* as in `protocol = NAME` */
	unsigned transports;     /* HF_TRANSPORT_BIT of what may stand in `listen` and `server`; of WebSockets in `listen` alone */
	enum hf_transport server_transport; /* of a `server` line that names none */
	bool framed;             /* connections carry messages: each is a parcel of its own, for any server; net keeps connections to servers */
	uint16_t port;           /* of a `server` line that names none */
	bool datagram_flows;     /* not framed: its datagrams open flows beside those of connections, to the address of their server; UDP stands in `listen` alone */
	bool datagrams;          /* unused octets of a datagram are the end of it */
	size_t max_opening;      /* flows: octets buffered a side before RELAY */
	const char *uri_scheme;  /* a server's certificate may name it by such a URI as well as by a host name (RFC 5922); NULL: not */
	const char *web_protocol; /* framed, with WebSockets: their sub-protocol (RFC 6455 1.9), and */
	size_t web_message;      /* ... the octets of a message, less than max_opening - 16. A longer one comes as one octet more than that, and the connection
	                          * ends behind it (RFC 6455 7.4.1) */
	const char *probe_name;  /* the word for its probe in `probe =`; NULL: none */

	const struct hf_option *options; /* its rows, sections SERVICE and POOL; they fill a struct of conf_size octets */
	unsigned n_options;
	size_t conf_size;
	const struct hf_default *defaults; /* other defaults for common options of its pools and services */
	unsigned n_defaults;
	const struct hf_reason_def *reasons;
	unsigned n_reasons;
	uint8_t capture;         /* the number of its messages' protocol for collectors (HEP, chunk 11); 0: they are not exported */
	const struct hf_way *ways; /* framed: see hf_seek; at most HF_WAYS_MAX */
	unsigned n_ways;
	const char *const *names; /* of what messages ask; at most HF_NAMES_MAX */
	unsigned n_names;

	/* Checks the filled conf as a whole and derives what it likes inside it. HF_OK, or an error was said. May be NULL. */
	enum hf_err (*check)(void *conf, const struct hf_says *says);
	/* What in a message names a member by address and port (hf_ask.hint_addr), as people call it: --check warns of a `server` line that leaves the port to be
	 * guessed. family: of the member's address, 0 while it is a name. NULL, also of the function: with these options nothing does. */
	const char *(*hint_word)(const void *conf, unsigned family);
	void (*step)(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts);
	/* A datagram of a source that says more than it may: is it in the way of what we have signed ourselves? Nothing is done. NULL: none ever is. */
	bool (*vouches)(struct hf_ctx *ctx, const struct hf_event *ev);
	/* Writes one probe / reads what came back for it (streams: all octets so far). probe_read: HF_PROBE_BUSY may set *busy_ms. */
	bool (*probe_write)(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_writer *w);
	enum hf_probe_result (*probe_read)(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_bytes got, uint32_t *busy_ms);
	/* The key that an operator means by [KIND:]KEY, in the form that messages give (`kind` empty: the service's first). Text in the arena.
	 * HF_EINVAL: it is none. HF_ENOENT: what stands before its colon is no kind of this service, and looks like one; out->text is the nearest. */
	enum hf_err (*key_read)(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out);
	/* Whether a new session that has this key, and nothing else that places one, is placed by another key than its own: *place, fp 0 for the fallback. For what
	 * key_read has taken. NULL: it never is. */
	bool (*key_place)(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *place);
	/* Writes a signed token as clients take it. HF_EINVAL: that is no user; HF_ERANGE: too long, or too late. NULL: the protocol has none. */
	enum hf_err (*token_write)(const struct hf_ctx *ctx, const struct hf_token *t, struct hf_writer *w);
};

/* The protocols of this program, NULL-terminated; defined in protocols/ (or by a test), used by config and app. */
extern const struct hf_front *const hf_fronts[];

#endif
