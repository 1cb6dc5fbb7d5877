/* The common option tables; see optrows.h. Must not know a protocol. Used by load.c, fill.c, print.c and reload.c. */
#include "optrows.h"

#include <stddef.h>

#include "holdfast/rate.h"
#include "holdfast/rundir.h"
#include "optval.h"
#include "probeopt.h"

#define AT(s, f) .offset = offsetof(struct s, f)
#define MINUTE 60000u
#define HOUR (60 * MINUTE)

static const char *const level_words[] = {"error", "warn", "info", "debug", NULL};
static const char *const log_words[] = {"stderr", "syslog", NULL};
static const char *const affinity_words[] = {"auto", "table", "hash", "none", NULL};
static const char *const hash_words[] = {"carp", "ring", "maglev", "modulo", NULL};
static const char *const balance_words[] = {"hash", "least-sessions", "round-robin", "random", NULL};
static const char *const drain_words[] = {"keep", "move", NULL};
static const char *const persist_words[] = {"auto", "yes", "no", NULL};
static const char *const tls_client_words[] = {"off", "optional", "required", NULL};
static const char *const tls_version_words[] = {"1.2", "1.3", NULL};
static const char *const fallback_words[] = {"least-sessions", "round-robin", "source", NULL};

#define ENTRIES_MAX 268435456u /* 2^28: counts of sessions have that many bits */
#define PATH_OCTETS 1024
#define DNS_PORT 53
#define WORKERS_MAX 64 /* a worker has an octet in names on the wire; more cores than this were never measured */

static enum hf_err read_workers(struct hf_bytes text, void *field, struct hf_writer *why)
{
	uint64_t n = 0;

	if (!hf_bytes_eq(text, HF_LIT("auto")) && (hf_read_uint(text, WORKERS_MAX, &n) != HF_OK || n == 0)) {
		hf_w_printf(why, "auto | 1..%d", WORKERS_MAX);
		return HF_ERANGE;
	}
	*(uint64_t *)field = n;
	return HF_OK;
}

/* A unix socket's path has 107 octets and a NUL (unix(7)). */
static enum hf_err read_admin(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct hf_conf_gateway *g = field;

	if (text.n > 107) {
		hf_w_str(why, "off | a path of at most 107 octets");
		return HF_ERANGE;
	}
	g->admin_off = hf_bytes_eq(text, HF_LIT("off"));
	g->admin_socket = g->admin_off ? HF_NONE : text;
	return HF_OK;
}

static enum hf_err read_source_entries(struct hf_bytes text, void *field, struct hf_writer *why)
{
	uint64_t n = HF_CONF_AUTO;

	if (hf_bytes_eq(text, HF_LIT("off"))) {
		n = 0;
	} else if (!hf_bytes_eq(text, HF_LIT("auto")) && (hf_read_uint(text, ENTRIES_MAX, &n) != HF_OK || n == 0)) {
		hf_w_printf(why, "auto | off | 1..%u", ENTRIES_MAX);
		return HF_ERANGE;
	}
	*(uint64_t *)field = n;
	return HF_OK;
}

static enum hf_err read_session_log(struct hf_bytes text, void *field, struct hf_writer *why)
{
	if (text.n == 0 || text.n > 1024) {
		hf_w_str(why, "off | a path of at most 1024 octets");
		return HF_ERANGE;
	}
	*(struct hf_bytes *)field = hf_bytes_eq(text, HF_LIT("off")) ? HF_NONE : text;
	return HF_OK;
}

/* The port has to be said: read with two defaults, it is the same. */
static enum hf_err read_http(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct hf_addr a = {0}, other = {0};

	if (!hf_bytes_eq(text, HF_LIT("off")) && (hf_addr_read(text, 0, &a) != HF_OK || hf_addr_read(text, 1, &other) != HF_OK || a.port != other.port)) {
		hf_w_str(why, "off | ADDRESS:PORT");
		return HF_EINVAL;
	}
	*(struct hf_addr *)field = a;
	return HF_OK;
}

#define HEP_PORT 9060 /* where collectors listen */

static enum hf_err read_hep(struct hf_bytes text, void *field, struct hf_writer *why)
{
	static const struct hf_bytes scheme = {(const uint8_t *)"udp://", 6};
	struct hf_addr a = {0};

	if (!hf_bytes_eq(text, HF_LIT("off")) &&
	    (!hf_bytes_starts(text, scheme) || hf_addr_read(hf_bytes_sub(text, scheme.n, text.n), HEP_PORT, &a) != HF_OK || !a.port || hf_addr_is_any(&a))) {
		hf_w_str(why, "off | udp://ADDRESS[:PORT]");
		return HF_EINVAL;
	}
	*(struct hf_addr *)field = a;
	return HF_OK;
}

static enum hf_err read_resolver(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct hf_addr a = {0};

	if (!hf_bytes_eq(text, HF_LIT("system")) && (hf_addr_read(text, DNS_PORT, &a) != HF_OK || !a.port || hf_addr_is_any(&a))) {
		hf_w_str(why, "system | ADDRESS[:PORT]");
		return HF_EINVAL;
	}
	*(struct hf_addr *)field = a;
	return HF_OK;
}

static enum hf_err read_nets(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct hf_nets *n = field;
	enum hf_err e;

	n->n = 0;
	e = optval_nets(text, ' ', n);
	if (e != HF_OK)
		hf_w_printf(why, "up to %d of ADDRESS or ADDRESS/BITS, with blanks between", HF_NETS_MAX);
	return e;
}

static enum hf_err read_pair(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct hf_conf_tls_pair *p = field;
	size_t n = hf_bytes_find(text, ' ');

	*p = (struct hf_conf_tls_pair){hf_bytes_sub(text, 0, n), hf_bytes_trim(hf_bytes_sub(text, n, text.n))};
	if (p->certificate.n && p->certificate.n <= PATH_OCTETS && p->key.n <= PATH_OCTETS && hf_bytes_find(p->key, ' ') == p->key.n)
		return HF_OK;
	hf_w_printf(why, "CERTIFICATE-FILE [KEY-FILE], each of at most %d octets", PATH_OCTETS);
	return HF_EINVAL;
}

static enum hf_err read_pairs(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct hf_conf_tls_pairs *l = field;
	enum hf_err e;

	if (l->n == HF_TLS_CERTIFICATES_MAX) {
		hf_w_printf(why, "more than %d", HF_TLS_CERTIFICATES_MAX);
		return HF_EFULL;
	}
	e = read_pair(text, &l->pair[l->n], why);
	l->n += e == HF_OK;
	return e;
}

/* A server that has been down for a day has no sessions left to wait for. */
static const struct hf_option hold_time = {.name = "hold", .type = HF_OPT_TIME, .min = 1, .max = 24 * HOUR};

static enum hf_err read_on_down(struct hf_bytes text, void *field, struct hf_writer *why)
{
	size_t n = hf_bytes_find(text, ' ');
	uint64_t ms = 0;
	enum hf_err e = HF_EINVAL;

	if (hf_bytes_eq(text, HF_LIT("move")))
		e = HF_OK;
	else if (hf_bytes_eq(hf_bytes_sub(text, 0, n), HF_LIT("hold")) && n < text.n)
		e = optval_read(&hold_time, hf_bytes_trim(hf_bytes_sub(text, n, text.n)), &ms, why);
	else
		hf_w_str(why, "move | hold TIME");
	if (e == HF_OK)
		*(uint64_t *)field = ms;
	return e;
}

/* `https://pages.example.com`: what a browser writes into Origin (RFC 6454 7), so nothing behind the host and port. */
static bool is_origin(struct hf_bytes word)
{
	size_t scheme = hf_bytes_find(word, ':');
	struct hf_bytes host = hf_bytes_sub(word, scheme + 3, word.n);

	return scheme && hf_bytes_eq(hf_bytes_sub(word, scheme, 3), HF_LIT("://")) && host.n && hf_bytes_find(host, '/') == host.n;
}

static enum hf_err read_origins(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct hf_bytes rest = text, word;

	if (hf_bytes_eq(text, HF_LIT("any"))) {
		*(struct hf_bytes *)field = HF_NONE;
		return HF_OK;
	}
	while ((word = hf_bytes_word(&rest)).n)
		if (!is_origin(word)) {
			hf_w_str(why, "any | SCHEME://HOST[:PORT] ..., as in https://phones.example.com, nothing behind it");
			return HF_EINVAL;
		}
	*(struct hf_bytes *)field = text;
	return HF_OK;
}

static const struct hf_option gateway[] = {
	{"workers", HF_OPT_CUSTOM, HF_IN_GATEWAY, HF_RELOAD_RESTART, .unit = "auto | 1..64 threads", .dflt = "auto", AT(hf_conf_gateway, workers), .read = read_workers,
		.help = "Threads that carry traffic; auto: one a core."},
	{"state-dir", HF_OPT_TEXT, HF_IN_GATEWAY, HF_RELOAD_RESTART, .min = 1, .max = 1024, .unit = "path", .dflt = HF_STATE_DIR, AT(hf_conf_gateway, state_dir),
		.help = "Directory of what must outlive a power cut; made if only its last part is missing."},
	{"sync-interval", HF_OPT_TIME, HF_IN_GATEWAY, HF_RELOAD_LIVE, .min = 50, .max = 10 * MINUTE, .dflt = "1s", AT(hf_conf_gateway, sync_interval),
		.help = "How often what pools with persist hold is made durable in state-dir: a power cut loses no more than that."},
	{"run-dir", HF_OPT_TEXT, HF_IN_GATEWAY, HF_RELOAD_RESTART, .min = 1, .max = 1024, .unit = "path", AT(hf_conf_gateway, run_dir),
		.help = "Directory of the live tables, best on a tmpfs; without it $RUNTIME_DIRECTORY, else /dev/shm/holdfast-UID-HASH of state-dir's path."},
	{"cluster-secret-file", HF_OPT_TEXT, HF_IN_GATEWAY, HF_RELOAD_RESTART, .min = 1, .max = 1024, .unit = "path", AT(hf_conf_gateway, cluster_secret_file),
		.help = "File with the keys that all gateways of a cluster share; without it one is made in state-dir."},
	{"admin-socket", HF_OPT_CUSTOM, HF_IN_GATEWAY, HF_RELOAD_RESTART, .unit = "off | path", .offset = 0, .read = read_admin,
		.help = "Socket where holdfastctl asks; without it RUN-DIR/" HF_ADMIN_NAME "."},
	{"http", HF_OPT_CUSTOM, HF_IN_GATEWAY, HF_RELOAD_RESTART, .unit = "off | ADDRESS:PORT", .dflt = "off", AT(hf_conf_gateway, http), .read = read_http,
		.help = "Where /metrics (for Prometheus), /healthz and /readyz are served; whoever reaches it may read them, so let it be an address of the inside."},
	{"resolver", HF_OPT_CUSTOM, HF_IN_GATEWAY, HF_RELOAD_LIVE, .unit = "system | ADDRESS[:PORT]", .dflt = "system", AT(hf_conf_gateway, resolver), .read = read_resolver,
		.help = "The DNS server that is asked for servers written by name, and for next hops that servers call by name; system: whom /etc/resolv.conf and /etc/hosts name. Servers' names "
			"are asked for at start, at a reload and when what was said expires (5 s to 1 h); what was said last holds until something else is said. Nothing that a client sends asks for a name."},
	{"hep", HF_OPT_CUSTOM, HF_IN_GATEWAY, HF_RELOAD_LIVE, .unit = "off | udp://ADDRESS[:PORT]", .dflt = "off", AT(hf_conf_gateway, hep), .read = read_hep,
		.help = "A collector (Homer) that gets a copy of each message that comes and goes, in HEP version 3, port 9060 unless said otherwise. Unencrypted, with all that a message says."},
	{"hep-id", HF_OPT_UINT, HF_IN_GATEWAY, HF_RELOAD_LIVE, .min = 0, .max = UINT32_MAX, .dflt = "1", AT(hf_conf_gateway, hep_id),
		.help = "The number by which the collector knows this gateway."},
	{"hep-password", HF_OPT_TEXT, HF_IN_GATEWAY, HF_RELOAD_LIVE, .min = 1, .max = 128, AT(hf_conf_gateway, hep_password),
		.help = "What the collector wants to see with each message."},
	{"trace", HF_OPT_SIZE, HF_IN_GATEWAY, HF_RELOAD_RESTART, .min = 4096, .max = 1 << 30, .unit = "octets", .dflt = "512k", .off_ok = true, AT(hf_conf_gateway, trace),
		.help = "What each worker keeps of the last messages, 64 octets each: when, from where, to where, what they were. For holdfastctl trace."},
	{"letter-box", HF_OPT_SIZE, HF_IN_GATEWAY, HF_RELOAD_RESTART, .min = 64 << 10, .max = 1 << 30, .unit = "octets", .dflt = "4m", AT(hf_conf_gateway, letter_box),
		.help = "Room for what other threads hand to a worker, for each worker."},
	{"log-level", HF_OPT_CHOICE, HF_IN_GATEWAY, HF_RELOAD_LIVE, .dflt = "info", AT(hf_conf_gateway, log_level), .words = level_words,
		.help = "The least weighty lines that are logged."},
	{"log-to", HF_OPT_CHOICE, HF_IN_GATEWAY, HF_RELOAD_LIVE, .dflt = "stderr", AT(hf_conf_gateway, log_to), .words = log_words,
		.help = "Where the log goes."},
	{"log-identities", HF_OPT_BOOL, HF_IN_GATEWAY, HF_RELOAD_LIVE, .dflt = "no", AT(hf_conf_gateway, log_identities),
		.help = "Users and calls by name in the log, instead of fingerprints."},
	{"session-log", HF_OPT_CUSTOM, HF_IN_GATEWAY, HF_RELOAD_LIVE, .unit = "off | path", .dflt = "off", AT(hf_conf_gateway, session_log), .read = read_session_log,
		.help = "A file that gets a line of JSON for each session that has ended: when, whose, from where, at which server and why there, how it ended. Opened anew by a reload, so that it can be rotated."},
	{"user", HF_OPT_TEXT, HF_IN_GATEWAY, HF_RELOAD_RESTART, .min = 1, .max = 256, .unit = "user name", AT(hf_conf_gateway, user),
		.help = "User to become once all ports are open; without it the gateway stays who started it."},
	{"udp-gather", HF_OPT_TIME, HF_IN_GATEWAY, HF_RELOAD_LIVE, .min = 1, .max = 20, .unit = "ms", .dflt = "2ms", .off_ok = true, AT(hf_conf_gateway, udp_gather),
		.help = "Where three or more datagrams come in this time, a worker reads its socket once in it and not at each arrival: up to two fifths of the processor time are saved, for so much delay at most. Slower sockets are never delayed. While all workers do little, one of them reads for the others in that pause."},
	{"max-flows", HF_OPT_UINT, HF_IN_GATEWAY, HF_RELOAD_RESTART, .min = 1, .max = 1000000, .unit = "flows", .dflt = "9000", AT(hf_conf_gateway, max_flows),
		.help = "Open flows of all workers; each takes two descriptors (LimitNOFILE), and more while bulk moves. So many flows of datagrams may be open beside them, one descriptor each."},
	{"max-holds", HF_OPT_UINT, HF_IN_GATEWAY, HF_RELOAD_RESTART, .min = 1, .max = 1048576, .unit = "parcels", .dflt = "32768", AT(hf_conf_gateway, max_holds),
		.help = "Parcels that a worker keeps until they are answered, and a few seconds of what was; above that they go unheld."},
};

static const struct hf_option service[] = {
	{"protocol", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_RESTART, .unit = "name", .help = "What is spoken here."},
	{"listen", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_LIVE, .unit = "[TRANSPORT://]ADDRESS[:PORT] [inside] [advertise=HOST[:PORT]] [allow=NETS] [deny=NETS] ...",
		.help = "Where it listens; may repeat, and hold several. Port 0: any free one. inside: this listener faces the servers. "
			"advertise: what peers are told instead of the address. allow, deny: who may speak to this listener, of those who may speak to the service: "
			"ADDRESS or ADDRESS/BITS with commas between; they hold for all but members and `servers-from`, on an inside listener too. TRANSPORT: what the protocol has of udp, tcp and tls."},
	{"pool", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_NEW, .unit = "name", .help = "Which [pool NAME] it sends to."},
	{"handshake-timeout", HF_OPT_TIME, HF_IN_SERVICE, HF_RELOAD_NEW, .min = 100, .max = 10 * MINUTE, .dflt = "10s", AT(hf_conf_service, handshake_timeout),
		.help = "From accept to the end of a flow's opening."},
	{"idle-timeout", HF_OPT_TIME, HF_IN_SERVICE, HF_RELOAD_NEW, .min = 1000, .max = 24 * 7 * HOUR, .dflt = "2h", AT(hf_conf_service, idle_timeout),
		.help = "A connection that carries messages is closed after so long without one."},
	{"servers-from", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_LIVE, .unit = "ADDRESS[/BITS] ...", AT(hf_conf_service, servers_from), .read = read_nets,
		.help = "Addresses that servers speak from, beside the members' own: requests from there may go outward."},
	{"max-flows-source", HF_OPT_UINT, HF_IN_SERVICE, HF_RELOAD_LIVE, .min = 1, .max = 1000000, .unit = "connections", .dflt = "9000", .off_ok = true, AT(hf_conf_service, max_flows_source),
		.help = "Open connections of one source address (IPv6: of a /64), and as many flows of datagrams; off: no limit. An office, a carrier or a balancer in front is one source and may have all of max-flows; lower it where clients have addresses of their own."},
	{"max-openings-source", HF_OPT_UINT, HF_IN_SERVICE, HF_RELOAD_LIVE, .min = 1, .max = 1000000, .unit = "connections", .dflt = "200", .off_ok = true, AT(hf_conf_service, max_openings_source),
		.help = "Of these, connections that have not yet said what they want: only slow or idle ones add up; off: no limit."},
	{"answer-rate", HF_OPT_UINT, HF_IN_SERVICE, HF_RELOAD_LIVE, .min = 1, .max = 1000000, .unit = "a second", .dflt = "1000", .off_ok = true, AT(hf_conf_service, answer_rate),
		.help = "The gateway's own answers to datagrams of one source address: a forged source is not flooded through us; off: no limit."},
	{"allow", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_LIVE, .unit = "ADDRESS[/BITS] ...", AT(hf_conf_service, allow), .read = read_nets,
		.help = "Clients that may speak to this service, by datagrams or new connections; without it all may. Servers always may."},
	{"deny", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_LIVE, .unit = "ADDRESS[/BITS] ...", AT(hf_conf_service, deny), .read = read_nets,
		.help = "Clients that may not, whatever allow says: what they send is dropped without an answer, and counted."},
	{"max-rate-source", HF_OPT_UINT, HF_IN_SERVICE, HF_RELOAD_LIVE, .min = 1, .max = HF_RATE_MAX, .unit = "messages a second", .dflt = "off", .off_ok = true, AT(hf_conf_service, max_rate_source),
		.help = "Messages of one source address (IPv6: of a /64) a second, in bursts of as many. Of datagrams more are dropped before anything of them is read, but for "
			"what belongs to sessions by our own signature; connections that carry messages are not read until there is room again, so that nothing is lost. Servers "
			"are not counted. An office or a trunk is one source. off: no limit."},
	{"max-cps", HF_OPT_UINT, HF_IN_SERVICE, HF_RELOAD_LIVE, .min = 1, .max = HF_RATE_MAX, .unit = "sessions a second", .dflt = "off", .off_ok = true, AT(hf_conf_service, max_cps),
		.help = "New sessions (calls, desktops) that this service opens a second, in bursts of as many; beyond it they are refused, and all that belongs to "
			"sessions goes on. Emergency calls are counted apart. off: no limit."},
	{"max-sessions", HF_OPT_UINT, HF_IN_SERVICE, HF_RELOAD_LIVE, .min = 1, .max = ENTRIES_MAX, .unit = "sessions", .dflt = "off", .off_ok = true, AT(hf_conf_service, max_sessions),
		.help = "Once the pools that this service sends to hold so many sessions, as `servers` counts them, whichever service or server opened them, new ones are refused, "
			"and all that belongs to sessions goes on; of services that share a pool the one with less gives way to the others. It is exceeded by no more than "
			"workers less one, which open at one moment. Emergency calls are opened up to twice as many. off: no limit."},
	{"tls-certificate", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_LIVE, .unit = "CERTIFICATE-FILE [KEY-FILE]", AT(hf_conf_service, tls_certificates), .read = read_pairs,
		.help = "What tls listeners show: a PEM file with the certificate, those that vouch for it behind it, and the key unless that has a file of its own. May repeat: a client "
			"gets the first that names the server name it asks for, else the first of all. The files are read at start and reload, as the user that the gateway has become."},
	{"tls-client-certificate", HF_OPT_CHOICE, HF_IN_SERVICE, HF_RELOAD_LIVE, .dflt = "off", AT(hf_conf_service, tls_client_certificate), .words = tls_client_words,
		.help = "Whether tls listeners ask clients for a certificate: one that is shown must hold, required refuses who shows none."},
	{"tls-client-ca", HF_OPT_TEXT, HF_IN_SERVICE, HF_RELOAD_LIVE, .min = 1, .max = PATH_OCTETS, .unit = "path", AT(hf_conf_service, tls_client_ca),
		.help = "PEM file of the authorities that may vouch for clients."},
	{"tls-min-version", HF_OPT_CHOICE, HF_IN_SERVICE, HF_RELOAD_LIVE, .dflt = "1.2", AT(hf_conf_service, tls_min_version), .words = tls_version_words,
		.help = "The oldest TLS that is spoken with clients; ciphers are OpenSSL's own choice."},
	{"proxy-from", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_LIVE, .unit = "ADDRESS[/BITS] ...", AT(hf_conf_service, proxy_from), .read = read_nets,
		.help = "Balancers in front of this service: their connections must begin with a PROXY header (v1 or v2), which names the client."},
	{"ws-ping", HF_OPT_TIME, HF_IN_SERVICE, HF_RELOAD_NEW, .min = 1000, .max = HOUR, .dflt = "45s", .off_ok = true, AT(hf_conf_service, web_ping),
		.help = "A WebSocket that has been silent for so long is pinged: proxies and NATs between forget one after a minute or more, and scripts in pages cannot ping."},
	{"ws-origin", HF_OPT_CUSTOM, HF_IN_SERVICE, HF_RELOAD_NEW, .unit = "any | SCHEME://HOST[:PORT] ...", .dflt = "any", AT(hf_conf_service, web_origins), .read = read_origins,
		.help = "Pages whose scripts may open a WebSocket here, by the Origin that browsers send; who sends none is no browser, and may."},
	{"receive-buffer", HF_OPT_SIZE, HF_IN_SERVICE, HF_RELOAD_NEW, .min = 4096, .max = 1 << 30, .unit = "octets", .dflt = "1m", .off_ok = true, AT(hf_conf_service, receive_buffer),
		.help = "Receive buffer asked for datagram sockets, for each worker; off: the system's own."},
};

#define IN_BOTH (HF_IN_SERVICE | HF_IN_POOL)
static const struct hf_option pool[] = {
	{"server", HF_OPT_CUSTOM, HF_IN_POOL, HF_RELOAD_LIVE, .unit = "NAME [TRANSPORT://]ADDRESS|HOST[:PORT] [weight=0..256] [max-sessions=N] [max-cps=N] [was=OLDNAME] [tls-name=NAME] [agent=PORT] [send-proxy=yes|no], or NAME [TRANSPORT://]_SERVICE._PROTOCOL.DOMAIN [targets=1..32] [max-sessions=N] [max-cps=N] [tls-name=NAME] [agent=PORT] [send-proxy=yes|no]",
		.help = "A server, known by its name for ever; may repeat. HOST: a name in DNS, see resolver; a change of its address moves no session. weight 100 is the usual one, 0 takes no new sessions; "
			"max-sessions, max-cps: sessions that it holds, and new ones it is given a second, before others are placed at the next server; "
			"was: it takes over the sessions of a former name, and stays known by it and those before. tls-name: what its certificate must name, else HOST, or DOMAIN. TRANSPORT as for listen. "
			"_SERVICE._PROTOCOL.DOMAIN: those whom its SRV records name are servers NAME:HOST:PORT, at most so many as targets says (16), with their weights there, above 256 "
			"in proportion. Who has a higher priority number stands in while none with a lower one is up. Who is named no longer keeps its sessions until they end; without an "
			"answer the last one holds."},
	{"affinity", HF_OPT_CHOICE, IN_BOTH, HF_RELOAD_RESTART, .dflt = "auto", AT(hf_conf_pool, affinity), .words = affinity_words,
		.help = "How sessions stay: auto remembers exceptions to the hash, table remembers every session with its text, hash keeps only what is under way, none balances each on its own."},
	{"hash", HF_OPT_CHOICE, IN_BOTH, HF_RELOAD_RESTART, .dflt = "carp", AT(hf_conf_pool, hash), .words = hash_words,
		.help = "How keys spread over servers: carp moves the least on a change; ring has points on a ring; maglev is the evenest; modulo moves most, for comparison."},
	{"ring-points", HF_OPT_UINT, IN_BOTH, HF_RELOAD_RESTART, .min = 1, .max = 1024, .unit = "points", .dflt = "256", AT(hf_conf_pool, ring_points),
		.help = "With hash = ring: points of a server of weight 100; more of them are more even."},
	{"balance", HF_OPT_CHOICE, IN_BOTH, HF_RELOAD_RESTART, .dflt = "hash", AT(hf_conf_pool, balance), .words = balance_words,
		.help = "With affinity = table or none, where a new session goes, by weight: hash is the server of its key, least-sessions the one with the fewest for its weight, "
			"round-robin takes turns, random draws. None goes above the load factor or max-sessions."},
	{"load-factor", HF_OPT_MILLI, IN_BOTH, HF_RELOAD_LIVE, .min = 1000, .max = 10000, .dflt = "off", .off_ok = true, AT(hf_conf_pool, load_factor),
		.help = "A server takes new sessions up to so many times its fair share; with affinity = hash it is off unless it is given."},
	{"slow-start", HF_OPT_TIME, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1000, .max = 24 * HOUR, .dflt = "off", .off_ok = true, AT(hf_conf_pool, slow_start),
		.help = "A server that came up or was added begins with a tenth of its load-factor bound, and has the whole of it after this time; keys stay where they are."},
	{"slots", HF_OPT_UINT, IN_BOTH, HF_RELOAD_RESTART, .min = 16, .max = 20, .unit = "bits", .dflt = "16", AT(hf_conf_pool, slots),
		.help = "Two to this power is the count of slots that keys fall into; the same in all gateways."},
	{"max-entries", HF_OPT_UINT, HF_IN_POOL, HF_RELOAD_RESTART, .min = 1, .max = ENTRIES_MAX, .unit = "entries", .dflt = "1048576", AT(hf_conf_pool, max_entries),
		.help = "Sessions that can be remembered; their memory is taken at the start. Beyond it sessions are answered by the hash, and confirmed ones take the place of unconfirmed ones; the log says when three quarters are in use, and when all are."},
	{"max-entries-source", HF_OPT_CUSTOM, HF_IN_POOL, HF_RELOAD_LIVE, .unit = "auto | off | 1..268435456 entries", .dflt = "auto", AT(hf_conf_pool, source_entries), .read = read_source_entries,
		.help = "Once three quarters of max-entries are in use: sessions of one source address (IPv6: a /64) that are remembered in 32 s, so that a flood of made-up keys leaves "
			"room for others; what is beyond is answered by the hash. auto: a quarter of max-entries, more than a busy trunk opens; off: no limit."},
	{"persist", HF_OPT_CHOICE, HF_IN_POOL, HF_RELOAD_RESTART, .dflt = "auto", AT(hf_conf_pool, persist), .words = persist_words,
		.help = "Whether sessions outlive a power cut, by a copy in state-dir: auto where affinity = table; a restart alone needs none."},
	{"fallback", HF_OPT_CHOICE, HF_IN_POOL, HF_RELOAD_LIVE, .dflt = "least-sessions", AT(hf_conf_pool, fallback), .words = fallback_words,
		.help = "Where a request without a usable key goes."},
	{"on-down", HF_OPT_CUSTOM, HF_IN_POOL, HF_RELOAD_LIVE, .unit = "move | hold TIME", .dflt = "move", AT(hf_conf_pool, on_down), .read = read_on_down,
		.help = "Who is bound to a server that is down (a user's desktop, a registration) and comes anew: 'hold TIME' keeps him to it for so long after it went down, "
			"'move' places him elsewhere at once. Sessions that are up go to their server all the same."},
	{"drain-bound", HF_OPT_CHOICE, HF_IN_POOL, HF_RELOAD_LIVE, .dflt = "move", AT(hf_conf_pool, drain_bound), .words = drain_words,
		.help = "Who is bound to a server that drains, has no live connection to it and comes anew: 'move' places him elsewhere, 'keep' brings him there."},
	{"drain-deadline", HF_OPT_TIME, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1000, .max = 30 * 24 * HOUR, .dflt = "off", .off_ok = true, AT(hf_conf_pool, drain_deadline),
		.help = "A drain (by hand, or weight 0) that has lasted so long becomes off: what is left at the server ends."},
	{"removed-expiry", HF_OPT_TIME, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1000, .max = 30 * 24 * HOUR, .dflt = "24h", .off_ok = true, AT(hf_conf_pool, removed_expiry),
		.help = "A server that was taken out of the file keeps its sessions for so long at most; off: until the last has ended."},
	{"probe", HF_OPT_CUSTOM, HF_IN_POOL, HF_RELOAD_LIVE, .unit = PROBEOPT_FORM, .dflt = "none", .offset = 0, .read = probeopt_read,
		.help = "How a server's health is asked for; program: by what probe-program names."},
	{"probe-program", HF_OPT_CUSTOM, HF_IN_POOL, HF_RELOAD_LIVE, .unit = "PATH [ARGUMENT...]", AT(hf_conf_pool, probe_program), .read = probeopt_read_program,
		.help = "Run for each probe, by the gateway's user and without a shell: exit code 0 is a good answer, all else a bad one, and the first line that it prints says why. "
			"In arguments {address}, {port}, {server} and {pool} stand for the server's. After probe-timeout it is killed, with all that it started."},
	{"probe-interval", HF_OPT_TIME, HF_IN_POOL, HF_RELOAD_LIVE, .min = 100, .max = HOUR, .dflt = "10s", AT(hf_conf_pool, probe_interval),
		.help = "From one probe of a server to the next; while its state is in doubt they follow each other by probe-timeout."},
	{"probe-timeout", HF_OPT_TIME, HF_IN_POOL, HF_RELOAD_LIVE, .min = 10, .max = MINUTE, .dflt = "1s", AT(hf_conf_pool, probe_timeout),
		.help = "A probe without an answer has failed after this."},
	{"probe-rise", HF_OPT_UINT, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1, .max = 100, .unit = "probes", .dflt = "2", AT(hf_conf_pool, probe_rise),
		.help = "So many good ones in a row bring a server up."},
	{"probe-fall", HF_OPT_UINT, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1, .max = 100, .unit = "probes", .dflt = "3", AT(hf_conf_pool, probe_fall),
		.help = "So many failed ones in a row take a server down."},
	{"agent", HF_OPT_UINT, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1, .max = 65535, .unit = "port", .dflt = "off", .off_ok = true, AT(hf_conf_pool, agent),
		.help = "Port at the servers' addresses where an agent says how its server is, over TCP, as haproxy's agent-check asks: up, down, fail or stopped, ready, drain, maint, "
			"NN% and maxconn:N, text behind #. What it took down or drained only it brings back; silence changes nothing. A server's agent=PORT or agent=off comes first."},
	{"agent-interval", HF_OPT_TIME, HF_IN_POOL, HF_RELOAD_LIVE, .min = 100, .max = HOUR, .dflt = "2s", AT(hf_conf_pool, agent_interval),
		.help = "From one question to an agent to the next; an answer may take as long, and 5 s at most."},
	{"agent-send", HF_OPT_TEXT, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1, .max = HF_AGENT_SEND_MAX, .unit = "text", AT(hf_conf_pool, agent_send),
		.help = "A line that agents are sent first; without it nothing is."},
	{"dial-timeout", HF_OPT_TIME, HF_IN_POOL, HF_RELOAD_NEW, .min = 100, .max = 5 * MINUTE, .dflt = "10s", AT(hf_conf_pool, dial_timeout),
		.help = "A server that does not take a connection in this time has failed."},
	{"keep-alive", HF_OPT_TIME, IN_BOTH, HF_RELOAD_NEW, .min = 1000, .max = 2 * HOUR, .dflt = "60s", .off_ok = true, AT(hf_conf_pool, keep_alive),
		.help = "A TCP connection of a client or to a server that has been silent for so long is asked by the system whether the other end is there, then each third of that: middle boxes "
			"forget silent connections, some after 200 s. Four questions without an answer end it."},
	{"send-proxy", HF_OPT_BOOL, HF_IN_POOL, HF_RELOAD_NEW, .dflt = "no", AT(hf_conf_pool, send_proxy),
		.help = "Whether each client's connection to a server begins with a PROXY header (version 2), which names the client; the server must want it. A server's send-proxy=yes or "
			"send-proxy=no comes first."},
	{"max-connecting", HF_OPT_UINT, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1, .max = 65535, .unit = "connections", .dflt = "100", .off_ok = true, AT(hf_conf_pool, max_connecting),
		.help = "Connections that are being opened to one server at once, from the dial until its first answer, where each is one client's: when a host comes back its users "
			"return in the order in which they came, not all in one instant."},
	{"connecting-queue", HF_OPT_UINT, HF_IN_POOL, HF_RELOAD_LIVE, .min = 0, .max = 1000000, .unit = "connections", .dflt = "1000", AT(hf_conf_pool, connecting_queue),
		.help = "Connections that may wait for that at a server, each for dial-timeout at most; what is beyond fails as a dial does."},
	{"tls-verify", HF_OPT_BOOL, HF_IN_POOL, HF_RELOAD_LIVE, .dflt = "yes", AT(hf_conf_pool, tls_verify),
		.help = "Whether a tls server must prove by its certificate that it is who it should be."},
	{"tls-ca", HF_OPT_TEXT, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1, .max = PATH_OCTETS, .unit = "path", AT(hf_conf_pool, tls_ca),
		.help = "PEM file of the authorities that may vouch for servers; without it those that the system trusts."},
	{"tls-name", HF_OPT_TEXT, HF_IN_POOL, HF_RELOAD_LIVE, .min = 1, .max = 253, .unit = "name", AT(hf_conf_pool, tls_name),
		.help = "What the certificates of tls servers must name, exactly, and what they are told is asked for (SNI); without it their addresses. A server's own tls-name comes first."},
	{"tls-certificate", HF_OPT_CUSTOM, HF_IN_POOL, HF_RELOAD_LIVE, .unit = "CERTIFICATE-FILE [KEY-FILE]", AT(hf_conf_pool, tls_certificate), .read = read_pair,
		.help = "What tls servers are shown that ask for a certificate."},
	{"tls-min-version", HF_OPT_CHOICE, HF_IN_POOL, HF_RELOAD_LIVE, .dflt = "1.2", AT(hf_conf_pool, tls_min_version), .words = tls_version_words,
		.help = "The oldest TLS that is spoken with servers."},
	{"connections", HF_OPT_UINT, HF_IN_POOL, HF_RELOAD_NEW, .min = 1, .max = 64, .unit = "connections", .dflt = "2", AT(hf_conf_pool, connections),
		.help = "Connections that each worker keeps to a server, for protocols whose connections carry messages; a key always uses the same one."},
};

#define N(a) (sizeof(a) / sizeof *(a))
const struct optrows optrows_gateway = {gateway, N(gateway)};
const struct optrows optrows_service = {service, N(service)};
const struct optrows optrows_pool = {pool, N(pool)};

const struct hf_option *optrows_find(const struct optrows *r, struct hf_bytes name)
{
	for (unsigned i = 0; i < r->n; i++)
		if (hf_bytes_eq(name, hf_bytes_str(r->rows[i].name)))
			return &r->rows[i];
	return NULL;
}

bool optrows_is_special(const struct hf_option *row)
{
	return row->type == HF_OPT_CUSTOM && !row->read;
}

bool optrows_repeats(const struct hf_option *row)
{
	return row->type == HF_OPT_POOLS || row->read == read_pairs || (optrows_is_special(row) && optval_listed("listen server", hf_bytes_str(row->name)));
}

bool optrows_takes_probe(const struct hf_option *row)
{
	return row->read == probeopt_read;
}

const char *optrows_default(const struct hf_option *row, const struct hf_front *front)
{
	for (unsigned i = 0; front && i < front->n_defaults; i++)
		if (strcmp(front->defaults[i].option, row->name) == 0)
			return front->defaults[i].value;
	return row->dflt;
}
