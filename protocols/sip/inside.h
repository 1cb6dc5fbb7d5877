/* What the files of the SIP front share: its options, a parcel on its way, and who does what. Never included from outside.
 * A request walks: front.c (what is it; stream.c: where it ends) -> check.c (may it go on) -> route.c (ours, whose) -> hop.c (where a server's goes), or life.c and keys.c (what is
 * asked of the engine) -> edit.c (the splices). answer.c refuses, reply.c takes responses. All pure; any thread. */
#ifndef SIP_INSIDE_H
#define SIP_INSIDE_H

#include "forms.h"
#include "scan.h"

/* ---- reasons ---- */

/*	enum              name                what happened */
#define SIP_REASONS(X) \
	X(PING,           "ping",             "a keep-alive without a message") \
	X(STUN,           "stun",             "a STUN binding request, answered") \
	X(GARBAGE,        "garbage",          "no SIP message") \
	X(MALFORMED,      "malformed",        "a malformed request, answered 400 or 501") \
	X(BAD_RESPONSE,   "bad-response",     "a malformed response") \
	X(OVER_LIMIT,     "over-limit",       "longer or more than a limit, answered 513") \
	X(VERSION,        "version",          "a version that is not SIP/2.0, answered 505") \
	X(SCHEME,         "scheme",           "a Request-URI of a scheme that is not served, answered 416") \
	X(HOPS,           "hops",             "Max-Forwards has run out, answered 483") \
	X(SPIN,           "loop-detected",    "a request that was here before, unchanged; answered 482") \
	X(EXTENSION,      "extension",        "Proxy-Require names an extension, answered 420") \
	X(NO_PATH,        "no-path",          "a registration that does not support a Path where path = required, answered 421") \
	X(MANY_ROUTES,    "many-routes",      "more Route values of ours than a dialog has, answered 400") \
	X(UNREACHABLE,    "unreachable",      "a server's request whose next hop cannot be sent to from here, answered 503") \
	X(OWN_ACK,        "own-ack",          "the ACK of an answer of ours") \
	X(ACK,            "ack",              "an ACK that cannot go on; an ACK is never answered") \
	X(OPTIONS,        "options",          "OPTIONS to the gateway, answered 200") \
	X(FOREIGN_VIA,    "foreign-via",      "a response whose top Via is not ours, or whose tag does not hold") \
	X(LAST_VIA,       "last-via",         "a response with no Via below ours") \
	X(ODD_VIA,        "odd-via",          "a response whose next Via names a group or broadcast address") \
	X(SCANNER,        "scanner",          "a request of a program that deny-user-agent names, dropped") \
	X(BAD_COOKIE,     "bad-cookie",       "a cookie or flow token whose tag does not hold; it was not believed") \
	X(NO_DIALOG,      "no-dialog",        "a request that names a dialog (Replaces and the like) of which nothing is known; it was placed as that would be") \
	X(FAILOVER,       "failover",         "a held request that went to another server") \
	X(TRY_TIMEOUT,    "try-timeout",      "a server that did not answer a held request in time") \
	X(ABSORBED,       "absorbed",         "a server's answer that another one's took the place of") \
	X(CANCELLED,      "cancelled",        "a held request that its client took back; answered here") \
	X(NO_ANSWER,      "no-answer",        "a held INVITE that no server answered, answered 408") \
	X(GIVEN_UP,       "given-up",         "a held request that no server could be found for, answered 500 or 503") \
	X(NO_TCP,         "no-tcp",           "a request longer than udp-to-tcp for which there was no connection; it went as a datagram") \
	X(TRYING,         "trying",           "100 to the client of a held INVITE") \
	X(BIG_ANSWER,     "big-answer",       "an answer that would have been longer than its request")

enum sip_reason {
	SIP_R_FIRST = HF_REASON_FRONT - 1,
#define X(e, name, text) SIP_R_##e,
	SIP_REASONS(X)
#undef X
	SIP_R_END
};

/* ---- options ---- */

enum sip_key_kind {
	SIP_KEY_CALL_ID, SIP_KEY_USER, SIP_KEY_DOMAIN, SIP_KEY_FROM_USER, SIP_KEY_TO_USER, SIP_KEY_REQUEST_URI, SIP_KEY_HEADER, SIP_KEY_URI_PARAM,
	SIP_KEY_SOURCE, SIP_KEY_SOURCE_PORT, SIP_KEY_DESTINATION, SIP_KEY_SOURCE_DESTINATION, SIP_KEY_TOKEN, SIP_KEY_KINDS
};
enum { SIP_KEYS_MAX = 8, SIP_KEY_NAME_MAX = 64 };
struct sip_key {
	uint8_t kind;           /* enum sip_key_kind */
	struct hf_prefix prefix; /* source: so much of the address */
	uint16_t at, n;         /* token: octets of the Call-ID */
	uint8_t label_n, label[SIP_KEY_NAME_MAX + 16]; /* the kind as it is hashed: "from-user", "header:x-tenant" */
};
struct sip_keys { unsigned n; struct sip_key key[SIP_KEYS_MAX]; };
static inline struct hf_bytes sip_key_label(const struct sip_key *k) { return hf_bytes_of(k->label, k->label_n); }

enum { SIP_TENANT_SERVICE, SIP_TENANT_DOMAIN };

#define SIP_CODES_MAX 16
struct sip_codes { unsigned n; struct { uint16_t lo, hi; } range[SIP_CODES_MAX]; };

enum { SIP_WORDS_MAX = 32 };
struct sip_words { unsigned n; uint32_t firsts; /* the low five bits of first octets: what no word begins with is seen at once */ struct hf_bytes word[SIP_WORDS_MAX]; };
/* May a word begin so, in any case? */
static inline bool sip_words_may(const struct sip_words *w, struct hf_bytes text) { return text.n && w->firsts >> (text.p[0] & 31) & 1; }

enum { SIP_PROBE_METHOD_MAX = 32, SIP_PROBE_FROM_MAX = 128 };

enum { SIP_OPTIONS_FORWARD, SIP_OPTIONS_ANSWER };
enum { SIP_SIPS_TLS, SIP_SIPS_TRUSTED };
enum { SIP_PATH_NO, SIP_PATH_YES, SIP_PATH_ALWAYS, SIP_PATH_REQUIRED };

struct sip_conf {
	struct sip_keys key;
	uint64_t key_length, tenant;
	bool record_route, failover;
	uint64_t try_timeout /* ms */, max_attempts;
	uint64_t udp_to_tcp;                   /* octets; 0: never */
	struct sip_codes failover_codes;
	uint64_t early_expiry, session_expiry; /* ms */
	uint64_t options, sips, path;
	struct hf_bytes own_names;             /* host names, blanks between */
	struct hf_bytes source_header;         /* in which servers read the client's address; empty: in none */
	struct sip_words deny_agents;          /* beginnings of User-Agent */
	struct sip_words priority;             /* users, and URIs with a colon, that limits pass over */
	struct sip_codes probe_codes;
	struct hf_bytes probe_method, probe_from; /* from: a user, or a URI with a colon */
	uint64_t max_message, max_headers, max_header, max_call_id, max_params;
	struct sip_limits limits;              /* derived from these */
};

enum { SIP_DATAGRAM_MAX = 65507 /* of UDP over IPv4 */ };

enum { SIP_N_OPTIONS = 26 };
extern const struct hf_option sip_options[SIP_N_OPTIONS];
enum hf_err sip_options_check(void *conf, const struct hf_says *says);

/* ---- values.c ---- */

enum hf_err sip_codes_read(struct hf_bytes text, void *field, struct hf_writer *why);
enum hf_err sip_words_read(struct hf_bytes text, void *field, struct hf_writer *why); /* "off": none */
enum hf_err sip_probe_method_read(struct hf_bytes text, void *field, struct hf_writer *why);
enum hf_err sip_probe_from_read(struct hf_bytes text, void *field, struct hf_writer *why);
bool sip_codes_have(const struct sip_codes *c, unsigned status);

/* ---- a parcel ---- */

/* Usual ports (RFC 3261 19.1.2). */
enum { SIP_PORT = 5060, SIP_PORT_SECURE = 5061 };
static inline uint16_t sip_usual_port(enum hf_transport t) { return hf_transport_is_secure(t) ? SIP_PORT_SECURE : SIP_PORT; }

enum sip_side { SIP_FROM_CLIENT, SIP_FROM_MEMBER };

/* How a request goes to a server whose line says UDP, or to a phone that is reached by it. */
enum sip_way { SIP_WAY_BY_LENGTH /* not decided yet */, SIP_WAY_DATAGRAM, SIP_WAY_CONNECTION };

struct sip_parcel {
	struct sip_msg msg;
	struct hf_event came;     /* BYTES, for the events that follow it */
	struct hf_key key;        /* of the Call-ID; fp 0: not made yet */
	uint32_t loop;            /* loop hash, as received */
	enum sip_side side;
	bool strict;              /* the Request-URI is ours and the last Route value takes its place (RFC 3261 16.4) */
	unsigned own_routes;      /* topmost Route values that are ours */
	bool has_cookie, from_opener; /* a cookie that holds; From is the opener */
	struct sip_cookie cookie;
	bool has_flow;            /* a flow token that holds */
	struct sip_flow flow;
	bool bad_cookie;
	bool names;               /* another dialog */
	bool to_flow;             /* it went to a client's connection: there is no other way there */
	bool answered;            /* by ourselves: a failure to send that is only counted */
	bool holds;               /* it is to be held when it goes out */
	bool waited;              /* for a name: its connection is not at hand */
	uint64_t tag;             /* its transaction's, for whoever may meet a hold */
	struct hf_flow_name hold; /* what our Via names; generation 0: none */
	enum sip_way way;
	bool outward;             /* it is a server's, and what it follows is asked for */
	struct sip_hop *hop;      /* a server's that may go over either: where to */
	struct sip_turn *turn;    /* what a step of a hold has left */
};

/* What it goes to a server by. */
static inline enum hf_transport sip_over(const struct sip_parcel *p, const struct hf_chosen *c) { return c->transport == HF_UDP && p->way == SIP_WAY_CONNECTION ? HF_TCP : c->transport; }

/* A step's context in one place. */
struct sip_step {
	struct hf_ctx *ctx;
	const struct hf_event *ev; /* the one that brought the octets */
	bool stream;               /* they came over a connection */
	bool late;                 /* a held request: its octets came in an event before */
	const struct hf_event *held; /* what brought the hold's request */
	bool closes;               /* which ends with this message: what follows cannot be framed */
	const struct sip_hf *back; /* the message has come back: where its answer goes */
	const struct sip_conf *conf;
	struct sip_parcel *p;
	struct hf_acts *acts;
};

/* What net is told of a message that has been read. */
static inline void sip_seen(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;

	s->ctx->seen = (struct hf_seen){.octets = m->raw, .session = m->call_id, .name = (uint16_t)(m->fault == SIP_GARBAGE ? 0 : m->method_id + 1),
		.code = (uint16_t)(m->response ? m->status : 0)};
}

/* ---- answer.c ---- */

void sip_drop(struct sip_step *s, unsigned reason);
void sip_count(struct sip_step *s, unsigned reason);
/* Answers the request and ends the parcel; an ACK is dropped instead. `phrase` NULL: the status's own. */
struct sip_refusal { unsigned status; const char *phrase; unsigned reason; struct hf_bytes extra; /* whole header lines */ };
void sip_refuse(struct sip_step *s, const struct sip_refusal *r);
/* The port that responses to the topmost Via go to (RFC 3261 18.2.2, RFC 3581 4); of a connection, when it is gone. */
uint16_t sip_return_port(const struct sip_step *s);

/* ---- check.c ---- */

/* May the request go over such a hop? One to a sips: URI only over a safe one (RFC 3261 26.2.2), but for inner ones that the operator trusts. */
bool sip_may_go(const struct sip_step *s, enum hf_transport t, bool inner);
/* Reads what the request says of its way: loop hash, Routes, side. */
void sip_look(struct sip_step *s);
/* True: the request may go on. False: it has been answered or dropped. */
bool sip_check(struct sip_step *s);

/* ---- route.c ---- */

bool sip_is_own(const struct sip_step *s, const struct sip_uri *uri);
/* Takes our Routes off the top, reads their tokens, and finds the side. */
void sip_route_look(struct sip_step *s);
bool sip_own_addr(const struct sip_step *s, const struct hf_addr *a);
/* What a URI is reached over. HF_TRANSPORTS: nothing that we have. */
enum hf_transport sip_transport_of(const struct sip_uri *u);
/* How peers of one side reach us. text is host:port, `advertise` before the address; in the arena; p == NULL: no room. */
struct sip_face { struct hf_bytes text; enum hf_transport transport; };
struct sip_face sip_face_of(struct hf_arena *arena, const struct hf_listener_info *l, const struct hf_addr *local);
const struct hf_listener_info *sip_listener_of(const struct hf_ctx *ctx, uint32_t hash);
/* The listener that a Route of ours names, and which of a wildcard's addresses; NULL: only a domain, or a listener that is gone. */
const struct hf_listener_info *sip_listener_named(const struct sip_step *s, const struct sip_uri *u, struct hf_addr *local);

/* ---- hop.c: where a server's request goes ---- */

enum { SIP_N_WAYS = HF_TLS + 1 };
extern const struct hf_way sip_ways[SIP_N_WAYS]; /* by transport */
enum sip_hop_kind { SIP_HOP_ADDR, SIP_HOP_FLOW, SIP_HOP_SELF, SIP_HOP_NAME, SIP_HOP_GONE /* a flow that is no more */, SIP_HOP_BAD };
struct sip_hop {
	enum sip_hop_kind kind;
	struct hf_addr addr, local; /* a connection has port 0: nobody dials a client. NAME: its port alone */
	enum hf_transport transport;
	struct hf_bytes host;      /* NAME, and ADDR that was found by one */
	unsigned ways;             /* NAME: of sip_ways */
	struct hf_flow_name flow;  /* of a connection; generation 0: none */
	const struct hf_listener_info *out; /* whose name peers on that side know us by */
	bool strict;               /* the next hop is a strict router (RFC 3261 16.6 step 6) */
};
struct sip_hop sip_hop_next(struct sip_step *s);
/* One that is a name, when net has found out where that leads. */
struct sip_hop sip_hop_found(struct sip_step *s, const struct hf_found *found);
/* Asks net for that. The last act of a step. */
void sip_hop_seek(struct sip_step *s, const struct sip_hop *hop);

/* ---- chain.c ---- */

enum hf_err sip_keys_read(struct hf_bytes text, void *field, struct hf_writer *why);
/* The kind that a word names, without what stands behind it; -1: none. */
int sip_kind_of(struct hf_bytes word);
/* The first key of a kind; NULL: the chain has none. */
const struct sip_key *sip_chain_has(const struct sip_keys *k, enum sip_key_kind kind);
/* The long name of a header that may be given by its short one. */
struct hf_bytes sip_header_name(struct hf_bytes name);
/* Of 1 to max octets, none of which ends a token (RFC 3261 25.1). */
bool sip_is_token(struct hf_bytes text, size_t max);

/* ---- keys.c, typed.c ---- */

struct hf_key sip_call_key(const struct sip_step *s, struct hf_bytes call_id);
/* Of whom To names, where `key` has user; fp 0: nobody. */
struct hf_key sip_user_key(const struct sip_step *s);
/* Of one REGISTER alone: its Call-ID and CSeq number. */
struct hf_key sip_register_key(const struct sip_step *s, uint32_t cseq);
/* ... where that is what a REGISTER belongs to: a user's. */
struct hf_key sip_registration_key(const struct sip_step *s);
/* Of what the message belongs to: its Call-ID's, a user's REGISTER alone is itself. */
static inline struct hf_key sip_session_key(const struct sip_step *s)
{
	return s->p->msg.method_id == SIP_REGISTER ? sip_registration_key(s) : sip_call_key(s, s->p->msg.call_id);
}
/* The key of a kind with its text in the arena (empty when that is full); at most `cap` of the octets decide. */
struct hf_key sip_key_of(const struct hf_ctx *ctx, struct hf_bytes label, struct hf_bytes octets, size_t cap);
/* Says in the question what places a new session, and which dialogs the request names (Replaces, Join, Target-Dialog, Replaces in Refer-To). */
void sip_place(const struct sip_step *s, struct hf_ask *q);
/* The user of an address ("sip:alice@example.com"), as the service tells its users apart; n == 0: it has none, or no room. */
struct hf_bytes sip_user_in(const struct hf_ctx *ctx, struct hf_bytes address);
/* What a key of addresses is made of; `b` of a pair, in either order. n == 0: no room. */
struct hf_bytes sip_addr_octets(const struct hf_ctx *ctx, const struct sip_key *k, const struct hf_addr *a, const struct hf_addr *b);
enum hf_err sip_key_read(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *out);
/* hf_front.key_place */
bool sip_key_place(const struct hf_ctx *ctx, struct hf_bytes text, struct hf_key *place);

/* ---- refer.c ---- */

/* The Call-ID that a value of Replaces, Join or Target-Dialog begins with. */
struct hf_bytes sip_named(struct hf_bytes value);
/* The Call-ID of the one Replaces in the URI of a Refer-To, in the arena; n == 0: there is none that could be followed. */
struct hf_bytes sip_refer_read(struct hf_bytes refer_to, uint32_t max_call_id, struct hf_arena *arena);
struct hf_bytes sip_referred(const struct sip_step *s);
/* The dialog that a REFER names stays remembered. */
void sip_refer_learn(struct sip_step *s);

/* ---- guard.c ---- */

/* A new call to one of `priority-uri`. */
bool sip_is_urgent(const struct sip_step *s);
/* A request of a program that is not served. */
bool sip_is_scanner(const struct sip_step *s);
/* Is the datagram in the way of a session that we have signed? */
bool sip_vouches(struct hf_ctx *ctx, const struct hf_event *ev);

/* ---- life.c ---- */

struct sip_life { enum hf_life life; unsigned flags; uint32_t seconds; const char *ended; /* the call is over, by this word */ };
struct sip_life sip_life_of_request(const struct sip_step *s);
/* Of a final response; opening: its request had no To tag. HF_LIFE_NONE: nothing is learnt. */
struct sip_life sip_life_of_response(const struct sip_step *s, bool opening);

/* Of an entry that was granted so many seconds. */
uint32_t sip_grant_s(const struct sip_step *s, uint32_t granted);

/* ---- user.c: bonds of users, where `key` has user ---- */

/* An answer that goes back. */
void sip_user_answered(struct sip_step *s, const struct sip_hf *hf);
/* A server's request that goes outward. */
void sip_user_opened(struct sip_step *s, uint32_t server);
/* The longest time for which a 2xx to REGISTER says that a Contact is registered. */
uint32_t sip_registered_s(const struct sip_msg *m);

/* ---- behind.c ---- */

/* The Via names another address than the one it came from. */
bool sip_seen_elsewhere(const struct sip_step *s);
/* Later requests of a dialog that this one makes reach its client by the flow it came by, and no other way. */
bool sip_behind(const struct sip_step *s);

/* ---- edit.c ---- */

/* Our side of a forwarded request. */
struct sip_out {
	uint32_t server;           /* its hash, 0: it goes to a client */
	uint32_t cookie_server;    /* whom Record-Route names; 0: nobody is known */
	enum hf_transport transport; /* what it really leaves by */
	struct hf_bytes sent_by;
	struct sip_face out, in;   /* how we are reached on the side it leaves by / came from */
	bool strict;               /* the next hop is a strict router */
};
/* Our side towards a server that was chosen, c->out given. False: no room. */
bool sip_out_to(struct sip_step *s, const struct hf_chosen *c, struct sip_out *out);
/* Our Via, with its line end. */
void sip_write_via(const struct sip_step *s, const struct sip_out *o, struct hf_writer *w);
/* Writes the splices into send. False: no room. */
bool sip_edit(struct sip_step *s, const struct sip_out *out, struct hf_send *send);
/* The octets of what goes out. */
size_t sip_sent_length(const struct hf_send *send);
/* received and rport of the top Via (RFC 3581 4). False: no room. */
bool sip_edit_via(const struct sip_step *s, struct hf_splice out[2], unsigned *n);

/* The Content-Length header that a stream needs and the message has not (RFC 3261 18.3). p == NULL: no room. */
struct hf_bytes sip_length_line(struct sip_step *s);

/* ---- source.c: the client's address in a header of its own, for servers ---- */

enum hf_err sip_source_header_read(struct hf_bytes text, void *field, struct hf_writer *why);
/* Has what goes there the header? */
bool sip_source_told(const struct sip_step *s, const struct sip_out *o);
void sip_source_write(const struct sip_step *s, struct hf_writer *w);
/* The next line of the message that has to go, since only we may say it; *at as for sip_line_next. False: none. */
bool sip_source_next(const struct sip_step *s, const struct sip_out *o, uint32_t *at, struct sip_span *line);

/* ---- stream.c ---- */

/* Before the scan. False: there is no message yet; the acts say what is to be done. */
bool sip_stream_ready(struct sip_step *s);
/* Behind it. False as well: the message is not whole. */
bool sip_stream_take(struct sip_step *s);

/* ---- back.c ---- */

/* A message that was on its way and has come back. */
void sip_back(struct sip_step *s);
/* front.c: what could not be sent, its reason; what is asked for a request of a client. */
void sip_failed(struct sip_step *s, unsigned reason);
void sip_question(struct sip_step *s, struct hf_ask *q); /* q: zero */
/* As a request of a client: the last act of a step. */
void sip_ask(struct sip_step *s);

/* ---- outward.c ---- */

struct sip_hold;
/* A server's request goes outward; one that names ourselves is balanced like a client's. */
void sip_outward(struct sip_step *s);
/* ... when net has found out where the name of its next hop leads. */
void sip_outward_found(struct sip_step *s, const struct hf_found *found);
/* ... whose INVITE was asked for; held: what was found, NULL: nothing. */
void sip_outward_go(struct sip_step *s, const struct sip_hold *held);
/* There is no connection for it. False: it was not for that. */
bool sip_outward_failed(struct sip_step *s, const struct sip_hold *held);

/* ---- reply.c, stun.c, probe.c ---- */

void sip_reply(struct sip_step *s);
/* An answer to a hold that is there (`state`) or no more (NULL). */
void sip_reply_held(struct sip_step *s, void *state);
/* Learns from a final answer and sends it on, under another status if that is not 0. */
void sip_answer_on(struct sip_step *s, const struct sip_hf *hf, unsigned status);
/* 503 with Retry-After: the server rests. False: it is none. */
bool sip_learn_busy(struct sip_step *s, const struct sip_hf *hf);
/* Does an answer speak against the server itself: 503, and those of the others that say so (RFC 3261 21.5) and that the operator counts among failover-codes? */
bool sip_speaks_ill(const struct sip_conf *conf, unsigned status);
/* Is the topmost Via ours? */
bool sip_read_ours(const struct sip_step *s, struct sip_hf *hf);
/* Where a Via parameter of ours leads. */
void sip_return_to(const struct sip_step *s, const struct sip_hf *hf, struct hf_send *send);
bool sip_stun(struct sip_step *s);
bool sip_probe_write(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_writer *w);
enum hf_probe_result sip_probe_read(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_bytes got, uint32_t *busy_ms);

/* Its octets are one message, not what a connection has brought so far. */
static inline bool sip_whole(const struct sip_step *s) { return hf_transport_keeps_messages(s->ev->transport); }

/* The local address a parcel came to, for the forms: wildcard listeners only. */
static inline struct hf_addr sip_local_of(const struct hf_event *ev)
{
	struct hf_addr a = {0};

	if (ev->listener->wildcard && ev->local.family == ev->source.family) {
		a = ev->local;
		a.port = 0;
	}
	return a;
}

#endif
