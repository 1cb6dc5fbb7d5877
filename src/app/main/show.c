/* How answers look to people; see show.h. It reads fields by the names of holdfast/fields.h and writes to stdout. */
#include "show.h"

#include <stdlib.h>

static const char *const fields[] = {
#define X(e, name) name,
	HF_FIELDS(X)
#undef X
};

/* ---- values ---- */

bool show_get(const struct hf_json *in, enum hf_field f, struct hf_json *out) { return hf_json_find(in, fields[f], out); }

const char *show_text(const struct hf_json *in, enum hf_field f)
{
	static char ring[16][4100]; /* an octet of text may take four */
	static unsigned at;
	char *t = ring[at++ & 15];
	uint8_t plain[1024];
	struct hf_writer p = hf_writer_on(plain, sizeof plain), w = hf_writer_on(t, sizeof ring[0] - 1);
	struct hf_json v;

	if (!show_get(in, f, &v) || v.kind == HF_JSON_NULL)
		return "-";
	if (v.kind == HF_JSON_STRING)
		hf_w_json_text(&p, v.raw);
	else
		hf_w_bytes(&p, v.raw);
	hf_w_printable(&w, hf_writer_view(&p));
	t[w.n] = 0;
	return t;
}

uint64_t show_number(const struct hf_json *in, enum hf_field f)
{
	struct hf_json v;
	uint64_t n;

	return show_get(in, f, &v) && hf_read_uint(v.raw, UINT64_MAX, &n) == HF_OK ? n : 0;
}

const char *show_duration(uint64_t s)
{
	static char ring[4][48];
	static unsigned at;
	char *t = ring[at++ & 3];
	unsigned long long n = s;

	if (s < 120)
		snprintf(t, sizeof ring[0], "%llus", n);
	else if (s < 7200)
		snprintf(t, sizeof ring[0], "%llum%02llus", n / 60, n % 60);
	else if (s < 172800)
		snprintf(t, sizeof ring[0], "%lluh%02llum", n / 3600, n / 60 % 60);
	else
		snprintf(t, sizeof ring[0], "%llud%02lluh", n / 86400, n / 3600 % 24);
	return t;
}

/* ---- views ---- */

/* One line: "  requests INVITE 12, BYE 11". */
static void show_counts(const struct hf_json *in, enum hf_field f, const char *what)
{
	struct hf_json list, v;
	struct hf_bytes key;
	size_t at = 0;
	const char *sep = "";

	if (!show_get(in, f, &list))
		return;
	while (hf_json_next(&list, &at, &key, &v)) {
		if (!*sep)
			printf("  %s", what);
		printf("%s %.*s %.*s", sep, (int)key.n, (const char *)key.p, (int)v.raw.n, (const char *)v.raw.p);
		sep = ",";
	}
	printf("%s", *sep ? "\n" : "");
}

static void show_service(const struct hf_json *s)
{
	struct hf_json list, v;
	struct hf_bytes key;
	size_t at = 0, drop = 0;
	bool bounded = show_get(s, HF_F_MAX_SESSIONS, &v) && v.kind != HF_JSON_NULL;

	printf("service %s: %s to pool %s, %s sessions%s%s, %s open connections, ", show_text(s, HF_F_NAME), show_text(s, HF_F_PROTOCOL), show_text(s, HF_F_POOL),
	       show_text(s, HF_F_SESSIONS), bounded ? " of " : "", bounded ? show_text(s, HF_F_MAX_SESSIONS) : "", show_text(s, HF_F_FLOWS));
	if (show_get(s, HF_F_DATAGRAM_FLOWS, &v))
		printf("%s flows of datagrams, ", show_text(s, HF_F_DATAGRAM_FLOWS));
	printf("%s messages\n", show_text(s, HF_F_PARCELS));
	if (show_get(s, HF_F_LISTEN, &list))
		while (hf_json_next(&list, &at, NULL, &v))
			printf("  listen %.*s\n", (int)v.raw.n, (const char *)v.raw.p);
	show_counts(s, HF_F_REQUESTS, "requests");
	show_counts(s, HF_F_ANSWERS, "answers");
	if (show_get(s, HF_F_DROPS, &list))
		while (hf_json_next(&list, &drop, &key, &v))
			printf("  counted %.*s %.*s\n", (int)key.n, (const char *)key.p, (int)v.raw.n, (const char *)v.raw.p);
}

static void show_pool(const struct hf_json *p)
{
	struct hf_json disk;

	printf("pool %s: %s %s, %s slots, %s of %s entries, %s exceptions\n", show_text(p, HF_F_NAME), show_text(p, HF_F_AFFINITY), show_text(p, HF_F_HASH),
	       show_text(p, HF_F_SLOTS), show_text(p, HF_F_ENTRIES), show_text(p, HF_F_MAX_ENTRIES), show_text(p, HF_F_EXCEPTIONS));
	if (show_get(p, HF_F_STORE, &disk) && disk.kind == HF_JSON_OBJECT)
		printf("  disk   %s, synced %s ms ago, %s octets, %s of them behind the snapshot\n", show_text(&disk, HF_F_CONDITION), show_text(&disk, HF_F_AGE_MS),
		       show_text(&disk, HF_F_FILE_OCTETS), show_text(&disk, HF_F_LOG_OCTETS));
}

static void show_status(const struct hf_json *a)
{
	struct hf_json list, v;
	size_t at = 0;

	printf("holdfast %s, pid %s, up %s, %s workers, boot %s\n", show_text(a, HF_F_VERSION), show_text(a, HF_F_PID), show_duration(show_number(a, HF_F_UPTIME_S)),
	       show_text(a, HF_F_WORKERS), show_text(a, HF_F_BOOT));
	printf("configuration %s, generation %s\n", show_text(a, HF_F_CONFIG_FILE), show_text(a, HF_F_CONFIG_GENERATION));
	if (show_get(a, HF_F_SESSION_LOG, &v) && v.kind == HF_JSON_OBJECT)
		printf("session log %s: %s, %s lines, %s lost\n", show_text(&v, HF_F_FILE), show_text(&v, HF_F_CONDITION), show_text(&v, HF_F_WRITTEN), show_text(&v, HF_F_LOST));
	if (show_get(a, HF_F_EXPORT, &v) && v.kind == HF_JSON_OBJECT)
		printf("messages to the collector %s: %s sent, %s lost\n", show_text(&v, HF_F_ADDRESS), show_text(&v, HF_F_SENT), show_text(&v, HF_F_LOST));
	if (show_get(a, HF_F_SERVICES, &list))
		while (hf_json_next(&list, &at, NULL, &v))
			show_service(&v);
	at = 0;
	if (show_get(a, HF_F_POOLS, &list))
		while (hf_json_next(&list, &at, NULL, &v))
			show_pool(&v);
}

static void show_moved(const struct hf_json *a)
{
	struct hf_json v;
	const char *flows = show_text(a, HF_F_FLOWS);

	if (show_get(a, HF_F_SERVER, &v) && v.kind == HF_JSON_STRING)
		printf("%s goes to %s from its next connection on (it was at %s)\n", show_text(a, HF_F_KEY), show_text(a, HF_F_SERVER), show_text(a, HF_F_FROM));
	else
		printf("%s is forgotten (it was at %s); its next connection is placed anew\n", show_text(a, HF_F_KEY), show_text(a, HF_F_FROM));
	if (show_number(a, HF_F_FLOWS))
		printf("  %s live connection%s stay%s where %s\n", flows, show_number(a, HF_F_FLOWS) == 1 ? "" : "s", show_number(a, HF_F_FLOWS) == 1 ? "s" : "",
		       show_number(a, HF_F_FLOWS) == 1 ? "it is" : "they are");
}

/* Nothing but the line, so that it can go into a file as it is. */
static void show_token(const struct hf_json *a) { puts(show_text(a, HF_F_TOKEN)); }

static void show_where(const struct hf_json *a)
{
	struct hf_json v;

	if (show_get(a, HF_F_SERVER, &v) && v.kind == HF_JSON_NULL)
		printf("%s would find no eligible server in pool %s.\n", show_text(a, HF_F_KEY), show_text(a, HF_F_POOL));
	else
		printf("%s would go to %s (%s) of pool %s: %s.\n", show_text(a, HF_F_KEY), show_text(a, HF_F_SERVER), show_text(a, HF_F_STATE), show_text(a, HF_F_POOL), show_text(a, HF_F_WHY));
	if (show_get(a, HF_F_SLOT, &v) && v.kind == HF_JSON_NUMBER)
		printf("  fingerprint %s, slot %s of %s, then %s\n", show_text(a, HF_F_FINGERPRINT), show_text(a, HF_F_SLOT), show_text(a, HF_F_OWNER), show_text(a, HF_F_RUNNER_UP));
	else
		printf("  fingerprint %s; nothing in the key places a new session: the fallback does, then %s\n", show_text(a, HF_F_FINGERPRINT), show_text(a, HF_F_RUNNER_UP));
	if (show_get(a, HF_F_EXPIRES_S, &v) && v.kind == HF_JSON_NUMBER)
		printf("  its entry ends in %s\n", show_duration(show_number(a, HF_F_EXPIRES_S)));
	else
		printf("  there is no entry\n");
}

static void show_change(const struct hf_json *a)
{
	struct hf_json v;

	printf("%s/%s: %s, weight %s (file %s)%s\n", show_text(a, HF_F_POOL), show_text(a, HF_F_SERVER), show_text(a, HF_F_STATE), show_text(a, HF_F_WEIGHT), show_text(a, HF_F_FILE_WEIGHT),
	       show_get(a, HF_F_WEIGHT, &v) && show_number(a, HF_F_WEIGHT) == 0 ? ": weight 0 takes no new sessions" : "");
	if (show_get(a, HF_F_WARNING, &v))
		printf("warning: %s\n", show_text(a, HF_F_WARNING));
}

void show_findings(const struct hf_json *a, FILE *to)
{
	struct hf_json list, v;
	size_t at = 0;

	if (!show_get(a, HF_F_FINDINGS, &list))
		return;
	while (hf_json_next(&list, &at, NULL, &v)) {
		uint8_t t[8192];
		struct hf_writer w = hf_writer_on(t, sizeof t);

		hf_w_json_text(&w, v.raw);
		for (size_t i = 0; i < w.n; i++) /* UTF-8 of the file stays, control octets do not */
			fputc(t[i] < 0x20 || t[i] == 0x7f ? '?' : t[i], to);
		fputc('\n', to);
	}
}

static void show_reload(const struct hf_json *a)
{
	show_findings(a, stdout);
	printf("reloaded: generation %s\n", show_text(a, HF_F_CONFIG_GENERATION));
}

/* What a peer wrote stands there as it may be shown; show_text leaves that as it is. */
static void show_story(const struct hf_json *s)
{
	struct hf_json list, v;
	size_t at = 0;
	unsigned n = 0;

	if (show_get(s, HF_F_SERVICE, &v))
		printf("service %s (%s), pool %s; as if from %s over %s, arriving at %s\n", show_text(s, HF_F_SERVICE), show_text(s, HF_F_PROTOCOL), show_text(s, HF_F_POOL),
		       show_text(s, HF_F_FROM), show_text(s, HF_F_TRANSPORT), show_text(s, HF_F_LISTEN));
	else
		printf("pool %s\n", show_text(s, HF_F_POOL));
	if (show_get(s, HF_F_STEPS, &list))
		while (hf_json_next(&list, &at, NULL, &v))
			printf("%3u  %s\n", ++n, show_text(&v, HF_F_TEXT));
	if (!show_get(s, HF_F_WHY, &v))
		printf("  =  no server is asked for\n");
	else if (show_get(s, HF_F_SERVER, &v) && v.kind == HF_JSON_NULL)
		printf("  =  no eligible server\n");
	else
		printf("  =  %s: %s\n", show_text(s, HF_F_SERVER), show_text(s, HF_F_WHY));
}

static void show_explain(const struct hf_json *a)
{
	struct hf_json list, v;
	size_t at = 0;

	if (show_get(a, HF_F_STORIES, &list))
		while (hf_json_next(&list, &at, NULL, &v))
			show_story(&v);
}

static void show_metrics(const struct hf_json *a)
{
	struct hf_json text;
	uint8_t *t = show_get(a, HF_F_TEXT, &text) ? malloc(text.raw.n + 1) : NULL;
	struct hf_writer w = hf_writer_on(t, t ? text.raw.n : 0);

	if (t)
		hf_w_json_text(&w, text.raw);
	fwrite(t, 1, w.n, stdout);
	free(t);
}

const struct command commands[] = {
	{"status", "", "what runs: services with their listeners and what was counted (drops, ends, failovers), pools with their entries", 0, 0, false, show_status},
	{"servers", "", "all servers: state, weight, sessions, the cap for new ones, last failure", 0, 0, false, show_servers},
	{"where", "[--pool POOL] [KIND:]KEY", "which server a request with this key alone would reach now, and why", 1, 1000, false, show_where},
	{"explain", "[--pool POOL] [KIND:]KEY | [--pool POOL] [--service SERVICE] [--from ADDRESS] [--via TRANSPORT] [--hex] < MESSAGE",
	 "what would happen with it and by which rule, step by step; a message is read from standard input as it is, or in hex: digits, a dump, a C array", 0, 1000, true, show_explain},
	{"simulate", "[--pool POOL] add SERVER [weight=0..256] | remove SERVER | drain SERVER | undrain SERVER | weight SERVER 0..256",
	 "what that change would do: keys and sessions that move, exceptions, loads; nothing is changed", 2, 6, false, show_simulation},
	{"sessions", "[--pool POOL] [--server SERVER] [--limit 1..10000]", "the sessions that are remembered: of tables with their users, else by fingerprint", 0, 6, false,
	 show_sessions},
	{"move", "[--pool POOL] [KIND:]KEY SERVER", "the session's server from its next connection on", 2, 1000, false, show_moved},
	{"forget", "[--pool POOL] [KIND:]KEY", "its next connection is placed anew", 1, 1000, false, show_moved},
	{"token", "[--pool POOL] [--user USER] [--server SERVER] [--ttl TIME]", "a signed line for clients: who comes with it is USER, his session is at SERVER", 2, 8, false, show_token},
	{"metrics", "", "all counters, as Prometheus reads them", 0, 0, false, show_metrics},
	{"trace", "SESSION", "the messages of a session (a Call-ID) among the last that passed: when, from where, to where, what, why", 1, 1000, false, show_trace},
	{"drain", "[POOL/]SERVER", "it keeps its sessions and takes no new ones", 1, 1, false, show_change},
	{"undrain", "[POOL/]SERVER", "ends a drain", 1, 1, false, show_change},
	{"off", "[POOL/]SERVER", "it gets nothing more, and what is at it ends; also one that was removed", 1, 1, false, show_change},
	{"on", "[POOL/]SERVER", "ends an off, also one that a deadline made", 1, 1, false, show_change},
	{"weight", "[POOL/]SERVER 0..256|file", "its share of new sessions from now on; file: as the configuration says", 2, 2, false, show_change},
	{"reload", "", "read the configuration again: all of it takes hold, or nothing", 0, 0, false, show_reload},
};
const unsigned n_commands = sizeof commands / sizeof commands[0];
