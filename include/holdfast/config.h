/* The configuration: INI text -> checked, passive structs (config floor; knows no socket and no engine). DESIGN 7.
 * Everything that a struct hf_conf points to is owned by it and freed with it. Immutable once loaded: any thread may read. */
#ifndef HOLDFAST_CONFIG_H
#define HOLDFAST_CONFIG_H

#include "front.h"

struct hf_conf_gateway {
	uint64_t workers;             /* 0 = auto: one a core */
	struct hf_bytes state_dir, run_dir, cluster_secret_file, admin_socket, user;
	uint64_t letter_box;          /* octets a worker */
	uint64_t log_level;           /* enum hf_level */
	uint64_t log_to;              /* 0 stderr, 1 syslog */
	uint64_t sync_interval;       /* ms */
	bool log_identities;
	struct hf_addr http;          /* family 0: off */
	struct hf_addr resolver;      /* who is asked for names; family 0: whom the system asks */
	struct hf_addr hep;           /* the collector of messages; family 0: off */
	uint64_t hep_id;
	struct hf_bytes hep_password; /* may be empty */
	uint64_t trace;               /* octets a worker of the last messages; 0: none */
	struct hf_bytes session_log;  /* empty: off */
	bool admin_off;               /* admin-socket = off */
	uint64_t udp_gather;          /* ms that datagrams wait for others at high rates; 0 = none */
	uint64_t max_flows;           /* open flows, all workers */
	uint64_t max_holds;           /* held datagrams a worker */
};

#define HF_TLS_CERTIFICATES_MAX 16
struct hf_conf_tls_pair { struct hf_bytes certificate, key; }; /* files; key empty: it is in the certificate's */
struct hf_conf_tls_pairs { struct hf_conf_tls_pair pair[HF_TLS_CERTIFICATES_MAX]; unsigned n; };
enum { HF_CONF_TLS_OFF, HF_CONF_TLS_OPTIONAL, HF_CONF_TLS_REQUIRED }; /* tls_client_certificate */

struct hf_conf_server {
	char name[64], was[64];       /* NUL-terminated */
	struct hf_bytes tls_name;     /* empty: the pool's */
	struct hf_bytes host;         /* a name that is looked up while it runs, addr is its port alone; empty: addr is whole */
	uint32_t targets;             /* not 0: host has SRV records (RFC 2782), and at most so many of whom they name are servers */
	struct hf_addr addr;
	enum hf_transport transport;
	uint32_t weight, max_sessions, max_cps;
	uint32_t agent;               /* port; 0 = off */
	bool agent_said;              /* else the pool's */
	bool send_proxy, send_proxy_said;
	bool port_said;               /* else it is the protocol's, or comes with SRV records */
	unsigned line;
};

enum { HF_CONF_DRAIN_KEEPS, HF_CONF_DRAIN_MOVES }; /* drain_bound */
#define HF_AGENT_SEND_MAX 255 /* octets of agent_send */
#define HF_CONF_AUTO UINT64_MAX /* a value that follows from others; none once loaded */

struct hf_conf_pool {
	char name[64];
	const struct hf_front *front; /* of the services that use it; NULL: none does */
	uint64_t affinity;            /* enum hf_mode order: auto, table, hash, none */
	uint64_t hash;                /* carp, ring, maglev, modulo */
	uint64_t balance;             /* hash, least-sessions, round-robin, random */
	uint64_t persist;             /* enum hf_conf_persist: ask hf_conf_persists */
	uint64_t fallback;            /* least-sessions, round-robin, source */
	uint64_t load_factor;         /* milli, 0 = off */
	uint64_t slots;               /* bits */
	uint64_t ring_points;
	uint64_t max_entries;
	uint64_t on_down;             /* ms that what is bound to a server holds after it went down; 0 = move */
	uint64_t drain_bound;         /* keep, move */
	uint64_t drain_deadline;      /* ms, 0 = off */
	uint64_t removed_expiry;      /* ms, 0 = off */
	uint64_t source_entries;      /* new ones that a source may have remembered in 32 s; 0 = no limit */
	uint64_t slow_start;          /* ms, 0 = off */
	enum { HF_CONF_PROBE_NONE, HF_CONF_PROBE_CONNECT, HF_CONF_PROBE_PROGRAM, HF_CONF_PROBE_FRONT } probe;
	struct hf_bytes probe_program; /* a path and arguments, with words of hf_conf_probe_words in braces */
	uint64_t probe_interval, probe_timeout, probe_rise, probe_fall;
	uint64_t agent;               /* the port that agents answer at; 0 = off */
	uint64_t agent_interval;
	struct hf_bytes agent_send;   /* a line without its end; empty: nothing is said */
	uint64_t dial_timeout;
	struct hf_bytes tls_ca;       /* file of who may vouch for servers; empty: the system's */
	struct hf_bytes tls_name;     /* what their certificates must name; empty: their addresses */
	struct hf_conf_tls_pair tls_certificate; /* what we show them; empty: nothing */
	bool tls_verify;
	uint64_t tls_min_version;     /* 1.2, 1.3 */
	uint64_t keep_alive;          /* ms of silence of a TCP connection, to clients and servers; 0 = never */
	bool send_proxy;              /* a client's connection to a server begins with a PROXY header, version 2 */
	uint64_t max_connecting;      /* connections of one client each that are being opened to a server at once; 0 = no limit */
	uint64_t connecting_queue;    /* ... and that wait for it */
	uint64_t connections;         /* to a server, a worker: of fronts whose connections carry messages */
	const struct hf_conf_server *servers;
	unsigned n_servers;
	unsigned line;
};

/* What may stand in braces in probe_program, ended by NULL. */
enum hf_conf_probe_word { HF_CONF_WORD_ADDRESS, HF_CONF_WORD_PORT, HF_CONF_WORD_SERVER, HF_CONF_WORD_POOL };
extern const char *const hf_conf_probe_words[];
#define HF_CONF_PROBE_ARGS_MAX 32 /* words of probe_program, the path among them */

enum hf_conf_persist { HF_CONF_PERSIST_AUTO, HF_CONF_PERSIST_YES, HF_CONF_PERSIST_NO };
/* Does the pool have a copy on disk? auto: where sessions are remembered one by one (affinity = table). */
bool hf_conf_persists(const struct hf_conf_pool *p);

#define HF_NETS_MAX 64
struct hf_nets { struct { struct hf_addr addr; unsigned bits; } net[HF_NETS_MAX]; unsigned n; };

struct hf_conf_listen {
	enum hf_transport transport;
	struct hf_addr addr;
	bool inside;
	struct hf_bytes advertise;
	struct hf_nets allow, deny;   /* who may speak here, of those whom the service's lists let in */
	unsigned line;
};

/* A pool that a service may send to, and the front's options as they are with it: the service's lines, and those of that pool. */
struct hf_conf_choice {
	const struct hf_conf_pool *pool;
	void *front_conf;             /* front->conf_size octets, filled and checked */
};

struct hf_conf_service {
	char name[64];
	const struct hf_front *front;
	const struct hf_conf_pool *pool;
	const struct hf_conf_choice *choices; /* the first is pool with front_conf; others are named by options of type HF_OPT_POOLS */
	unsigned n_choices;
	const struct hf_conf_listen *listens;
	unsigned n_listens;
	uint64_t handshake_timeout;   /* ms, from accept to the end of the opening */
	uint64_t receive_buffer;      /* SO_RCVBUF of datagram listeners; 0 = the system's */
	uint64_t idle_timeout;        /* ms, connections that carry messages */
	uint64_t max_flows_source;    /* open connections of a source address (IPv6: /64); 0 = no limit */
	uint64_t max_openings_source; /* ... whose opening is not complete */
	uint64_t answer_rate;         /* our own answers to datagrams of a source, a second; 0 = no limit */
	struct hf_nets allow, deny;   /* who may speak; allow empty: all whom deny does not name */
	uint64_t max_rate_source;     /* messages of a source address (IPv6: /64) a second; 0 = no limit */
	uint64_t max_cps;             /* new sessions that count, a second; 0 = no limit */
	uint64_t max_sessions;        /* of all its pools, whoever opened them, beyond which it opens none; 0 = no limit */
	struct hf_conf_tls_pairs tls_certificates; /* what clients are shown, by the name they ask for; the first is for all others */
	struct hf_bytes tls_client_ca; /* file of who may vouch for clients */
	uint64_t tls_client_certificate; /* off, optional, required */
	uint64_t tls_min_version;     /* 1.2, 1.3 */
	struct hf_nets proxy_from;    /* balancers in front, whose connections begin with a PROXY header */
	struct hf_nets servers_from;  /* where servers are, beside the members' own addresses */
	uint64_t web_ping;            /* ms of silence after which a WebSocket is pinged; 0 = never */
	struct hf_bytes web_origins;  /* pages that may open a WebSocket, blanks between; empty: all */
	void *front_conf;             /* front->conf_size octets, filled and checked */
	unsigned line;
};

/* May the service send to the pool? */
static inline bool hf_conf_sends_to(const struct hf_conf_service *v, const struct hf_conf_pool *p)
{
	for (unsigned i = 0; i < v->n_choices; i++)
		if (v->choices[i].pool == p)
			return true;
	return false;
}

struct hf_conf {
	char *path;
	struct hf_conf_gateway gateway;
	const struct hf_conf_pool *pools;
	unsigned n_pools;
	const struct hf_conf_service *services;
	unsigned n_services;
};

/* One finding a line: "FILE:LINE: TEXT"; lines in the order of the file. */
struct hf_findings {
	struct hf_finding { unsigned line; bool error; char text[256]; } *list;
	unsigned n, cap, errors;
};
void hf_findings_free(struct hf_findings *f);

/* Reads and checks a file; all findings are listed, warnings too. HF_OK: *out is whole (f->errors == 0). HF_EIO: the file cannot be read (a finding says why). */
enum hf_err hf_conf_load(const char *path, struct hf_conf **out, struct hf_findings *f) HF_MUST_USE;
/* The same from text. */
enum hf_err hf_conf_parse(const char *path, struct hf_bytes text, struct hf_conf **out, struct hf_findings *f) HF_MUST_USE;
void hf_conf_free(struct hf_conf *c);
/* Of one more owner: each frees it once. One thread. Returns c. */
struct hf_conf *hf_conf_keep(struct hf_conf *c);

/* May `next` replace `now` by a reload? Options of class RESTART that differ are findings (errors). */
enum hf_err hf_conf_may_reload(const struct hf_conf *now, const struct hf_conf *next, struct hf_findings *f) HF_MUST_USE;

/* A time as options take it: digits with ms, s, m, h or d. Any thread. */
enum hf_err hf_time_read(struct hf_bytes text, uint64_t *ms) HF_MUST_USE;

/* Every option with its help, range and default, as an INI file that is itself valid (--print-config). */
void hf_conf_print(void (*line)(void *arg, const char *text), void *arg);

/* The cluster secret (DESIGN 7): `hash HEX` and one or two `sign HEX` lines. A missing file is made, mode 0600, when `make` is set.
 * On failure `why` says file, line and what to do; on HF_OK it may hold a warning (others may read the file). Fills hash_key, sign, n_sign of site. */
enum hf_err hf_secret_load(const char *path, bool make, struct hf_site *site, struct hf_writer *why) HF_MUST_USE;

/* Where run-dir and admin-socket are when the file does not say (into buf): $RUNTIME_DIRECTORY, else /dev/shm/holdfast-UID-HASH of state-dir's path. */
void hf_conf_run_dir(const struct hf_conf_gateway *g, char *buf, size_t n);
void hf_conf_admin_socket(const struct hf_conf_gateway *g, char *buf, size_t n);

#endif
