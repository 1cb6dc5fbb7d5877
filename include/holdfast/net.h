/* Net: workers, listeners, datagrams, flows, delivery and probes. It knows no protocol.
 * Everything here is called by the control thread (the one that runs `control`), unless it says otherwise. */
#ifndef HOLDFAST_NET_H
#define HOLDFAST_NET_H

#include "config.h"
#include "disk.h"
#include "engine.h"
#include "lines.h"
#include "loop.h"

struct hf_net;
struct hf_snapshot;

/* One start of the gateway: the secrets, the boot number and the count of workers never change. site is copied. */
struct hf_net *hf_net_new(struct hf_loop *control, const struct hf_site *site, unsigned workers, size_t letter_box) HF_MUST_USE;

/* What a configuration names in files of other formats (certificates, keys): can it be used? On failure `why` says what and where. Opens no socket;
 * hf_snapshot_build says the same. */
enum hf_err hf_net_check(const struct hf_conf *conf, struct hf_writer *why) HF_MUST_USE;

/* Makes all that conf decides ready: listeners opened, engines made, addresses found; changes nothing that runs.
 * `conf` is taken over on HF_OK. On failure `why` says what, where and what to do (HF_EIO: a listener; HF_ENOMEM; HF_EFULL). */
enum hf_err hf_snapshot_build(struct hf_net *net, struct hf_conf *conf, struct hf_snapshot **out, struct hf_writer *why) HF_MUST_USE;
void hf_snapshot_drop(struct hf_net *net, struct hf_snapshot *s); /* one that was not published */
/* Puts a built snapshot in force, before anything else is built: workers are told, and when all have answered the pools are changed and the
 * snapshot before is freed; its conf stays valid until then. HF_EFULL: the workers have not taken the one before yet; nothing has changed. */
enum hf_err hf_net_publish(struct hf_net *net, struct hf_snapshot *s, struct hf_writer *why) HF_MUST_USE;
/* Starts the worker threads (after the first publish). */
enum hf_err hf_net_start(struct hf_net *net) HF_MUST_USE;
/* Sessions that have ended are told there, a line of JSON each, while it is wanted (before hf_net_start; it outlives net). */
void hf_net_session_log(struct hf_net *net, struct hf_lines *lines);
/* Once a second: compares our clock with the system's, which may have been set, for what is signed until a time; and says in the log which tables fill. */
void hf_net_second(struct hf_net *net);
/* Servers have become off: flows that are at one end, with reason server-off. */
void hf_net_end_off(struct hf_net *net);
/* Stops workers, ends flows with reason shutdown, frees everything. */
void hf_net_stop(struct hf_net *net);

/* ---- for listings ---- */

const struct hf_conf *hf_net_conf(const struct hf_net *net); /* of the snapshot in force */
unsigned hf_net_generation(const struct hf_net *net);        /* 1 for the first */
unsigned hf_net_workers(const struct hf_net *net);
const struct hf_site *hf_net_site(const struct hf_net *net);

/* Listeners in force, in the order of the file, with their real ports: i from 0; false behind the last. */
struct hf_listener_view { const char *service; const struct hf_listener_info *info; };
bool hf_net_listener(const struct hf_net *net, unsigned i, struct hf_listener_view *v);

/* Counters of a service since start, summed over workers; the reasons of index HF_REASON_FRONT on are its front's. False: no such service. */
#define HF_CLASSES 7 /* of codes: 1xx to 6xx by their first digit, 0 any other */
struct hf_service_counts {
	uint64_t parcels, flows, open_flows, reasons[HF_REASON_MAX];
	uint64_t paths, open_paths; /* flows of datagrams */
	uint64_t sessions; /* that its pools hold now, whichever service opened them; 0 for one that is no more */
	uint64_t asked[HF_NAMES_MAX], answered[HF_NAMES_MAX][HF_CLASSES]; /* messages that came: by the front's names; answers by theirs and their codes' class */
};
bool hf_net_counts(const struct hf_net *net, const char *service, struct hf_service_counts *c);
/* The name of reason r for a service's front ("letter-box-full"), NULL: none. */
const char *hf_reason_name(const struct hf_front *front, unsigned r);

bool hf_net_disk(const struct hf_net *net, const char *pool, struct hf_disk_view *v); /* false: the pool has no copy on disk */
struct hf_engine *hf_net_engine(const struct hf_net *net, const char *pool); /* NULL: no such pool */
/* Address, transport and last failure of a member (removed ones with sessions too); false: no such member. last_failure is "" when there was none.
 * addr all zero: it was written by the name `host`, and that was never found.
 * agent: what its agent said last, as it may be shown; agent_ms 0: nothing yet; agent_port 0: it has none. */
#define HF_AGENT_SHOWN 256
struct hf_member_view {
	struct hf_bytes host;
	struct hf_addr addr;
	enum hf_transport transport;
	char last_failure[64], agent[HF_AGENT_SHOWN];
	uint64_t last_failure_ms, agent_ms;
	unsigned connecting, queued; /* connections that are being opened to it; that wait for it (max-connecting) */
	uint16_t agent_port;
	bool removed;
};
bool hf_net_member(const struct hf_net *net, const char *pool, uint16_t id, struct hf_member_view *v);

/* Of a member, summed over workers, since it has its id: what was sent to it, by why it was chosen, and what it answered. Zero for one that nobody knows. */
struct hf_member_counts { uint64_t why[HF_WHY_COUNT], answers[HF_CLASSES]; };
void hf_net_member_counts(const struct hf_net *net, const char *pool, uint16_t id, struct hf_member_counts *c);

/* A message that passed, of those that a worker still knows. */
struct hf_passed {
	uint64_t at_us;            /* the clock's */
	uint64_t number;           /* of its worker's */
	uint64_t session;          /* a number of its session's octets */
	struct hf_addr peer;       /* where it came from or went to; port 0: a connection that only its worker knows */
	uint32_t octets;           /* 0: it was sent */
	enum hf_transport transport;
	enum hf_why why;           /* sent to a member */
	uint16_t own_port;         /* of ours that it came to or left by; 0: any */
	uint16_t server, service;  /* ids; server 0: none */
	uint16_t name, code;       /* struct hf_seen */
	uint8_t worker;
	bool out;
};
/* Each worker keeps so many octets of them (before hf_net_start, once). */
void hf_net_trace(struct hf_net *net, uint64_t octets);
/* Those of a session, by worker and each worker's in their order; returns how many, at most cap. */
unsigned hf_net_passed(const struct hf_net *net, struct hf_bytes session, struct hf_passed *out, unsigned cap);
/* Copies of messages that went to the collector, and those that did not, since start. */
void hf_net_exported(const struct hf_net *net, uint64_t *sent, uint64_t *lost);
/* The name and front of a service by its id; NULL: there was none. */
const char *hf_net_service_name(const struct hf_net *net, uint16_t id, const struct hf_front **front);

/* What would happen with a message: the front's own steps run on it, their acts are written here in place of being done, and the engine
 * explains. Nothing changes. Views lie in the message and in the arena. */
#define HF_NOTES_MAX 24
struct hf_note {
	struct hf_act act;         /* as the front gave it; of kind DROP with count_only: a fact, of the front or of net */
	uint16_t server;           /* id of the member that a SEND or LEARN names, ASK: that its hint names; 0: none */
	uint16_t near, near_port;  /* ASK: its hint is the address of no member, but that of this one with this port; 0: of none */
	struct hf_answer answer;   /* ASK */
	struct hf_trace trace;
};
struct hf_story {
	const struct hf_conf_service *service;
	const struct hf_conf_pool *pool; /* of those that it may send to: whose servers are asked for */
	const struct hf_listener_info *listener;
	struct hf_addr from;
	enum hf_transport transport;
	unsigned n;
	bool cut;                  /* there was more than fits */
	const char *remark;        /* of the front, a constant; NULL: none */
	struct hf_note note[HF_NOTES_MAX];
};
/* Of service number i (from 0); false: there are no more, or its protocol has no such transport. from, family 0: a documentation address;
 * transport HF_TRANSPORTS: the listener's. The listener is the service's first of that family and transport, one for clients if there is one; without any its first. */
bool hf_net_explain(const struct hf_net *net, unsigned i, struct hf_bytes message, const struct hf_addr *from, enum hf_transport transport, struct hf_arena *arena,
		    struct hf_story *out);
#define HF_EXPLAIN_ARENA (96u << 10) /* octets that the arena should have: as much as a worker's */

/* A ctx as fronts get it, for key_read and the like: of the first service whose `pool` it is, else of one that may choose it
 * (or NULL pool: the first service). False: none. */
bool hf_net_ctx(const struct hf_net *net, const char *pool, struct hf_arena *arena, struct hf_ctx *ctx, const struct hf_conf_service **service);

#endif
