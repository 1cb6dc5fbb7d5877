/* What is counted, as text for Prometheus (exposition format 0.0.4), for the command `metrics` and for HTTP. Each family is a row of a table: its name, what it
 * is, and who writes its samples. Control thread; it changes nothing. */
#include "metrics.h"

#include <stdlib.h>
#include <unistd.h>

#include "holdfast/clock.h"

struct page { /* on its way */
	struct gateway *g;
	struct hf_writer *w;
	const char *name; /* of the family */
};

struct label { const char *name, *value; };

/* labels: until one without a name. Values are words of tables and names of the configuration, which have nothing that would have to be escaped. */
static void sample(struct page *p, const struct label *labels, uint64_t v)
{
	hf_w_str(p->w, p->name);
	for (unsigned i = 0; labels[i].name; i++)
		hf_w_printf(p->w, "%s%s=\"%s\"", i ? "," : "{", labels[i].name, labels[i].value);
	hf_w_str(p->w, labels[0].name ? "} " : " ");
	hf_w_dec(p->w, v);
	hf_w_str(p->w, "\n");
}

#define LABELS(...) ((const struct label[]){__VA_ARGS__, {NULL, NULL}})
#define NO_LABELS ((const struct label[]){{NULL, NULL}})

const char *metrics_class(unsigned c)
{
	static const char *const names[HF_CLASSES] = {"other", "1xx", "2xx", "3xx", "4xx", "5xx", "6xx"};

	return names[c];
}

/* ---- the gateway ---- */

static void info(struct page *p) { sample(p, LABELS({"version", HF_VERSION}), 1); }
static void uptime(struct page *p) { sample(p, NO_LABELS, (hf_clock_ms() - p->g->start_ms) / 1000); }
static void generation(struct page *p) { sample(p, NO_LABELS, hf_net_generation(p->g->net)); }

static void log_written(struct page *p)
{
	struct hf_lines_view v;

	hf_lines_view(p->g->session_log, &v);
	sample(p, NO_LABELS, v.written);
}

static void log_lost(struct page *p)
{
	struct hf_lines_view v;

	hf_lines_view(p->g->session_log, &v);
	sample(p, NO_LABELS, v.lost);
}

static void export_sent(struct page *p)
{
	uint64_t sent, lost;

	hf_net_exported(p->g->net, &sent, &lost);
	sample(p, NO_LABELS, sent);
}

static void export_lost(struct page *p)
{
	uint64_t sent, lost;

	hf_net_exported(p->g->net, &sent, &lost);
	sample(p, NO_LABELS, lost);
}

/* ---- services ---- */

typedef void service_fn(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n);

static void each_service(struct page *p, service_fn *fn)
{
	const struct hf_conf *c = hf_net_conf(p->g->net);
	struct hf_service_counts n;

	for (unsigned i = 0; i < c->n_services; i++)
		if (hf_net_counts(p->g->net, c->services[i].name, &n))
			fn(p, &c->services[i], &n);
}

static void of_messages(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n) { sample(p, LABELS({"service", s->name}), n->parcels); }
static void of_connections(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n) { sample(p, LABELS({"service", s->name}), n->flows); }
static void of_open(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n) { sample(p, LABELS({"service", s->name}), n->open_flows); }

static void of_held(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n) { sample(p, LABELS({"service", s->name}), n->sessions); }

static void of_bound(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n)
{
	(void)n;
	if (s->max_sessions)
		sample(p, LABELS({"service", s->name}), s->max_sessions);
}

static void of_paths(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n)
{
	if (s->front->datagram_flows)
		sample(p, LABELS({"service", s->name}), n->paths);
}

static void of_open_paths(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n)
{
	if (s->front->datagram_flows)
		sample(p, LABELS({"service", s->name}), n->open_paths);
}

static void of_asked(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n)
{
	for (unsigned i = 0; i < s->front->n_names; i++)
		if (n->asked[i])
			sample(p, LABELS({"service", s->name}, {"method", s->front->names[i]}), n->asked[i]);
}

static void of_answered(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n)
{
	for (unsigned i = 0; i < s->front->n_names; i++)
		for (unsigned c = 0; c < HF_CLASSES; c++)
			if (n->answered[i][c])
				sample(p, LABELS({"service", s->name}, {"method", s->front->names[i]}, {"class", metrics_class(c)}), n->answered[i][c]);
}

static void of_reasons(struct page *p, const struct hf_conf_service *s, const struct hf_service_counts *n)
{
	for (unsigned r = 0; r < HF_REASON_MAX; r++)
		if (n->reasons[r] && hf_reason_name(s->front, r))
			sample(p, LABELS({"service", s->name}, {"reason", hf_reason_name(s->front, r)}), n->reasons[r]);
}

static void messages(struct page *p) { each_service(p, of_messages); }
static void connections(struct page *p) { each_service(p, of_connections); }
static void open_now(struct page *p) { each_service(p, of_open); }
static void held(struct page *p) { each_service(p, of_held); }
static void bound(struct page *p) { each_service(p, of_bound); }
static void paths(struct page *p) { each_service(p, of_paths); }
static void paths_now(struct page *p) { each_service(p, of_open_paths); }
static void asked(struct page *p) { each_service(p, of_asked); }
static void answered(struct page *p) { each_service(p, of_answered); }
static void reasons(struct page *p) { each_service(p, of_reasons); }

/* ---- pools ---- */

static void each_pool(struct page *p, uint64_t (*value)(const struct hf_engine_counts *n))
{
	const struct hf_conf *c = hf_net_conf(p->g->net);
	struct hf_engine_counts n;

	for (unsigned i = 0; i < c->n_pools; i++) {
		struct hf_engine *e = hf_net_engine(p->g->net, c->pools[i].name);

		if (!e)
			continue;
		hf_engine_counts(e, &n);
		sample(p, LABELS({"pool", c->pools[i].name}), value(&n));
	}
}

static uint64_t n_entries(const struct hf_engine_counts *n) { return n->entries; }
static uint64_t n_exceptions(const struct hf_engine_counts *n) { return n->exceptions; }
static uint64_t n_max(const struct hf_engine_counts *n) { return n->max_entries; }
static void entries(struct page *p) { each_pool(p, n_entries); }
static void exceptions(struct page *p) { each_pool(p, n_exceptions); }
static void max_entries(struct page *p) { each_pool(p, n_max); }

/* ---- copies of pools on disk ---- */

typedef void disk_fn(struct page *p, const char *pool, const struct hf_disk_view *v);

static void each_disk(struct page *p, disk_fn *fn)
{
	const struct hf_conf *c = hf_net_conf(p->g->net);
	struct hf_disk_view v;

	for (unsigned i = 0; i < c->n_pools; i++)
		if (hf_net_disk(p->g->net, c->pools[i].name, &v))
			fn(p, c->pools[i].name, &v);
}

static void of_condition(struct page *p, const char *pool, const struct hf_disk_view *v)
{
	for (unsigned k = 0; k < HF_DISK_CONDITION_COUNT; k++)
		sample(p, LABELS({"pool", pool}, {"condition", hf_disk_condition_name((enum hf_disk_condition)k)}), v->condition == (enum hf_disk_condition)k);
}

static void of_age(struct page *p, const char *pool, const struct hf_disk_view *v) { sample(p, LABELS({"pool", pool}), v->age_ms / 1000); }
static void of_octets(struct page *p, const char *pool, const struct hf_disk_view *v) { sample(p, LABELS({"pool", pool}), v->file_octets); }
static void condition(struct page *p) { each_disk(p, of_condition); }
static void age(struct page *p) { each_disk(p, of_age); }
static void octets(struct page *p) { each_disk(p, of_octets); }

/* ---- servers ---- */

typedef void server_fn(struct page *p, const char *pool, const struct hf_server_view *v);

static void each_server(struct page *p, server_fn *fn)
{
	const struct hf_conf *c = hf_net_conf(p->g->net);
	struct hf_server_view v;

	for (unsigned i = 0; i < c->n_pools; i++) {
		struct hf_engine *e = hf_net_engine(p->g->net, c->pools[i].name);

		for (unsigned id = 1; e && id <= hf_engine_last_id(e); id++)
			if (hf_engine_server(e, (uint16_t)id, &v))
				fn(p, c->pools[i].name, &v);
	}
}

#define SERVER LABELS({"pool", pool}, {"server", v->name})
static void of_state(struct page *p, const char *pool, const struct hf_server_view *v)
{
	for (unsigned s = 0; s < HF_STATE_COUNT; s++)
		sample(p, LABELS({"pool", pool}, {"server", v->name}, {"state", hf_state_name((enum hf_state)s)}), v->state == (enum hf_state)s);
}
static void of_sessions(struct page *p, const char *pool, const struct hf_server_view *v) { sample(p, SERVER, v->sessions); }
static void of_flows(struct page *p, const char *pool, const struct hf_server_view *v) { sample(p, SERVER, v->held); }
static void of_weight(struct page *p, const char *pool, const struct hf_server_view *v) { sample(p, SERVER, v->weight); }
static void of_slots(struct page *p, const char *pool, const struct hf_server_view *v) { sample(p, SERVER, v->slots); }

static void of_cap(struct page *p, const char *pool, const struct hf_server_view *v)
{
	if (v->cap != UINT32_MAX)
		sample(p, SERVER, v->cap);
}

static void of_opening(struct page *p, const char *pool, const struct hf_server_view *v)
{
	struct hf_member_view m;

	if (hf_net_member(p->g->net, pool, v->id, &m)) {
		sample(p, LABELS({"pool", pool}, {"server", v->name}, {"state", "connecting"}), m.connecting);
		sample(p, LABELS({"pool", pool}, {"server", v->name}, {"state", "queued"}), m.queued);
	}
}

static void of_agent(struct page *p, const char *pool, const struct hf_server_view *v)
{
	if (v->percent)
		sample(p, SERVER, v->percent);
}

static void of_agent_age(struct page *p, const char *pool, const struct hf_server_view *v)
{
	struct hf_member_view m;

	if (hf_net_member(p->g->net, pool, v->id, &m) && m.agent_ms)
		sample(p, SERVER, (hf_clock_ms() - m.agent_ms) / 1000);
}

static void of_placed(struct page *p, const char *pool, const struct hf_server_view *v)
{
	struct hf_member_counts n;

	hf_net_member_counts(p->g->net, pool, v->id, &n);
	for (unsigned i = 0; i < HF_WHY_COUNT; i++)
		if (n.why[i])
			sample(p, LABELS({"pool", pool}, {"server", v->name}, {"why", hf_why_name((enum hf_why)i)}), n.why[i]);
}

static void of_answers(struct page *p, const char *pool, const struct hf_server_view *v)
{
	struct hf_member_counts n;

	hf_net_member_counts(p->g->net, pool, v->id, &n);
	for (unsigned i = 0; i < HF_CLASSES; i++)
		if (n.answers[i])
			sample(p, LABELS({"pool", pool}, {"server", v->name}, {"class", metrics_class(i)}), n.answers[i]);
}

static void state(struct page *p) { each_server(p, of_state); }
static void sessions_now(struct page *p) { each_server(p, of_sessions); }
static void flows(struct page *p) { each_server(p, of_flows); }
static void weight(struct page *p) { each_server(p, of_weight); }
static void slots(struct page *p) { each_server(p, of_slots); }
static void cap(struct page *p) { each_server(p, of_cap); }
static void openings(struct page *p) { each_server(p, of_opening); }
static void agent(struct page *p) { each_server(p, of_agent); }
static void agent_age(struct page *p) { each_server(p, of_agent_age); }
static void placed(struct page *p) { each_server(p, of_placed); }
static void answers(struct page *p) { each_server(p, of_answers); }

static const struct family {
	const char *name, *type, *help;
	void (*write)(struct page *p);
} families[] = {
	{"holdfast_info", "gauge", "1; the version is its label.", info},
	{"holdfast_uptime_seconds", "gauge", "Since the start of the process.", uptime},
	{"holdfast_config_generation", "gauge", "1 for the configuration of the start, one more with each reload.", generation},
	{"holdfast_session_log_lines_total", "counter", "Lines of the session log that were written.", log_written},
	{"holdfast_session_log_lost_total", "counter", "Lines of the session log that were not.", log_lost},
	{"holdfast_export_sent_total", "counter", "Copies of messages that were sent to the collector.", export_sent},
	{"holdfast_export_lost_total", "counter", "Copies of messages that were not.", export_lost},
	{"holdfast_messages_total", "counter", "Datagrams and framed messages that came.", messages},
	{"holdfast_connections_total", "counter", "Connections that were accepted or dialled for messages.", connections},
	{"holdfast_connections_open", "gauge", "Connections that are open.", open_now},
	{"holdfast_service_sessions", "gauge", "Sessions that count in the pools of the service, whichever service opened them.", held},
	{"holdfast_service_max_sessions", "gauge", "So many of them, and the service refuses new ones; none where there is no bound.", bound},
	{"holdfast_datagram_flows_total", "counter", "Flows of datagrams that began beside a connection.", paths},
	{"holdfast_datagram_flows_open", "gauge", "Flows of datagrams that are open.", paths_now},
	{"holdfast_requests_total", "counter", "Requests that came, by method; what is no known one is other.", asked},
	{"holdfast_answers_total", "counter", "Answers that came, by the method of their request and the class of their code.", answered},
	{"holdfast_reasons_total", "counter", "Ends of messages and connections, and facts, by reason.", reasons},
	{"holdfast_pool_entries", "gauge", "Sessions that are remembered.", entries},
	{"holdfast_pool_exceptions", "gauge", "Of them, those away from their slot's owner.", exceptions},
	{"holdfast_pool_max_entries", "gauge", "Sessions that can be remembered.", max_entries},
	{"holdfast_pool_disk_condition", "gauge", "1 for the condition that the pool's copy on disk is in; none where there is no copy.", condition},
	{"holdfast_pool_disk_age_seconds", "gauge", "A power cut now loses what changed since so long.", age},
	{"holdfast_pool_disk_octets", "gauge", "Of the copy.", octets},
	{"holdfast_server_state", "gauge", "1 for the state that the server is in.", state},
	{"holdfast_server_sessions", "gauge", "Sessions that count.", sessions_now},
	{"holdfast_server_connections", "gauge", "Connections to the server, and flows of datagrams.", flows},
	{"holdfast_server_openings", "gauge", "Connections that are being opened to the server, and that wait for it (max-connecting).", openings},
	{"holdfast_server_weight", "gauge", "Weight in force.", weight},
	{"holdfast_server_slots", "gauge", "Slots that it owns.", slots},
	{"holdfast_server_cap", "gauge", "Sessions that it may hold before new ones go elsewhere; none where there is no bound.", cap},
	{"holdfast_server_agent_percent", "gauge", "Of its weight in the file, by its agent; none where that has named none.", agent},
	{"holdfast_server_agent_age_seconds", "gauge", "Since its agent last said something.", agent_age},
	{"holdfast_server_requests_total", "counter", "Requests and connections that were sent to it, by why it was chosen.", placed},
	{"holdfast_server_answers_total", "counter", "Its answers, by the class of their code.", answers},
};

#define PAGE_FIRST (64u << 10)

bool metrics_write(struct gateway *g, struct hf_writer *out)
{
	for (size_t size = PAGE_FIRST; size <= HF_HTTP_PAGE_MAX; size *= 2) {
		uint8_t *p = malloc(size);
		struct hf_writer w = hf_writer_on(p, size);
		struct page page = {.g = g, .w = &w};

		if (!p)
			return false;
		for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
			page.name = families[i].name;
			hf_w_printf(&w, "# HELP %s %s\n# TYPE %s %s\n", page.name, families[i].help, page.name, families[i].type);
			families[i].write(&page);
		}
		*out = w;
		if (!w.full)
			return true;
		free(p);
	}
	*out = hf_writer_on(NULL, 0);
	return false;
}

/* ---- HTTP ---- */

static bool takes_sessions(struct gateway *g, const char *pool)
{
	struct hf_engine *e = hf_net_engine(g->net, pool);

	for (unsigned id = 1; e && id <= hf_engine_last_id(e); id++)
		if (hf_engine_state(e, (uint16_t)id, NULL) == HF_STATE_UP)
			return true;
	return !e; /* nobody sends to it */
}

/* May traffic be brought here? Not while a pool has nobody who takes new sessions. */
static unsigned ready(struct gateway *g, struct hf_writer *w)
{
	const struct hf_conf *c = hf_net_conf(g->net);
	unsigned status = 200;

	for (unsigned i = 0; i < c->n_pools; i++)
		if (!takes_sessions(g, c->pools[i].name)) {
			status = 503;
			hf_w_printf(w, "pool %s: no server takes new sessions\n", c->pools[i].name);
		}
	if (status == 200)
		hf_w_str(w, "ready\n");
	return status;
}

unsigned metrics_page(void *arg, struct hf_bytes path, const char **type, struct hf_writer *w)
{
	struct gateway *g = arg;
	bool front = hf_bytes_eq(path, HF_LIT("/")), health = hf_bytes_eq(path, HF_LIT("/healthz")), is_ready = hf_bytes_eq(path, HF_LIT("/readyz"));

	if (hf_bytes_eq(path, HF_LIT("/metrics"))) {
		*type = "text/plain; version=0.0.4; charset=utf-8";
		if (!metrics_write(g, w))
			w->full = true;
		return 200;
	}
	if (!front && !health && !is_ready)
		return 404;
	*w = hf_writer_on(malloc(PAGE_FIRST), PAGE_FIRST);
	if (!w->p)
		w->full = true;
	else if (front)
		hf_w_str(w, "holdfast " HF_VERSION "\n\n/metrics   all counters, as Prometheus reads them\n/healthz   the gateway is alive\n/readyz    503 while a pool has no server for new sessions\n");
	else if (health)
		hf_w_str(w, "ok\n");
	return is_ready && w->p ? ready(g, w) : 200;
}
