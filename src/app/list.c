/* Services, pools and servers as they are now; see list.h. */
#include "list.h"

#include "holdfast/clock.h"
#include "json.h"
#include "metrics.h"

static const char *const affinities[] = {"auto", "table", "hash", "none"}; /* enum hf_mode */
static const char *const hashes[] = {"carp", "ring", "maglev", "modulo"};   /* enum hf_method */

static void listens(struct gateway *g, const char *service, struct json *j)
{
	struct hf_listener_view v;

	json_open(j, HF_F_LISTEN, '[');
	for (unsigned i = 0; hf_net_listener(g->net, i, &v); i++)
		if (strcmp(v.service, service) == 0)
			json_text(j, JSON_ITEM, v.info->uri);
	json_close(j, ']');
}

static void drops(const struct hf_front *front, const struct hf_service_counts *n, struct json *j)
{
	json_open(j, HF_F_DROPS, '{');
	for (unsigned r = 0; r < HF_REASON_MAX; r++) {
		const char *name = n->reasons[r] && r != HF_R_NONE && r != HF_R_DONE ? hf_reason_name(front, r) : NULL;

		if (name)
			json_count(j, name, n->reasons[r]);
	}
	json_close(j, '}');
}

/* Messages by what they ask, and answers by their class; only of protocols that say so. */
static void by_name(const struct hf_front *front, const struct hf_service_counts *n, struct json *j)
{
	uint64_t class[HF_CLASSES] = {0};

	json_open(j, HF_F_REQUESTS, '{');
	for (unsigned i = 0; i < front->n_names; i++) {
		if (n->asked[i])
			json_count(j, front->names[i], n->asked[i]);
		for (unsigned c = 0; c < HF_CLASSES; c++)
			class[c] += n->answered[i][c];
	}
	json_close(j, '}');
	json_open(j, HF_F_ANSWERS, '{');
	for (unsigned c = 0; c < HF_CLASSES; c++)
		if (class[c])
			json_count(j, metrics_class(c), class[c]);
	json_close(j, '}');
}

void list_services(struct gateway *g, struct json *j)
{
	const struct hf_conf *c = hf_net_conf(g->net);

	json_open(j, HF_F_SERVICES, '[');
	for (unsigned i = 0; i < c->n_services; i++) {
		const struct hf_conf_service *s = &c->services[i];
		struct hf_service_counts n = {0};

		(void)hf_net_counts(g->net, s->name, &n);
		json_open(j, JSON_ITEM, '{');
		json_str(j, HF_F_NAME, s->name);
		json_str(j, HF_F_PROTOCOL, s->front->name);
		json_str(j, HF_F_POOL, s->pool->name);
		listens(g, s->name, j);
		json_uint(j, HF_F_SESSIONS, n.sessions);
		if (s->max_sessions)
			json_uint(j, HF_F_MAX_SESSIONS, s->max_sessions);
		else
			json_null(j, HF_F_MAX_SESSIONS);
		json_uint(j, HF_F_FLOWS, n.open_flows);
		if (s->front->datagram_flows)
			json_uint(j, HF_F_DATAGRAM_FLOWS, n.open_paths);
		json_uint(j, HF_F_PARCELS, n.parcels);
		by_name(s->front, &n, j);
		drops(s->front, &n, j);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* null: there is none. */
void list_session_log(struct gateway *g, struct json *j)
{
	struct hf_bytes file = hf_net_conf(g->net)->gateway.session_log;
	struct hf_lines_view v;

	if (!file.n) {
		json_null(j, HF_F_SESSION_LOG);
		return;
	}
	hf_lines_view(g->session_log, &v);
	json_open(j, HF_F_SESSION_LOG, '{');
	json_text(j, HF_F_FILE, file);
	json_str(j, HF_F_CONDITION, hf_lines_condition_name(v.condition));
	json_uint(j, HF_F_WRITTEN, v.written);
	json_uint(j, HF_F_LOST, v.lost);
	json_uint(j, HF_F_WAITING, v.waiting);
	json_close(j, '}');
}

/* null: there is no collector. */
void list_export(struct gateway *g, struct json *j)
{
	const struct hf_addr *to = &hf_net_conf(g->net)->gateway.hep;
	uint64_t sent, lost;
	uint8_t text[80];
	struct hf_writer w = hf_writer_on(text, sizeof text);

	if (!to->family) {
		json_null(j, HF_F_EXPORT);
		return;
	}
	hf_net_exported(g->net, &sent, &lost);
	hf_w_addr(&w, to);
	json_open(j, HF_F_EXPORT, '{');
	json_text(j, HF_F_ADDRESS, hf_writer_view(&w));
	json_uint(j, HF_F_SENT, sent);
	json_uint(j, HF_F_LOST, lost);
	json_close(j, '}');
}

static void store(struct gateway *g, const char *pool, struct json *j)
{
	struct hf_disk_view v;

	if (!hf_net_disk(g->net, pool, &v)) {
		json_null(j, HF_F_STORE);
		return;
	}
	json_open(j, HF_F_STORE, '{');
	json_str(j, HF_F_CONDITION, hf_disk_condition_name(v.condition));
	json_uint(j, HF_F_AGE_MS, v.age_ms);
	json_uint(j, HF_F_LOG_OCTETS, v.log_octets);
	json_uint(j, HF_F_FILE_OCTETS, v.file_octets);
	json_close(j, '}');
}

void list_pools(struct gateway *g, struct json *j)
{
	const struct hf_conf *c = hf_net_conf(g->net);

	json_open(j, HF_F_POOLS, '[');
	for (unsigned i = 0; i < c->n_pools; i++) {
		const struct hf_conf_pool *p = &c->pools[i];
		struct hf_engine *e = hf_net_engine(g->net, p->name);
		struct hf_engine_counts n = {0};

		if (e)
			hf_engine_counts(e, &n);
		json_open(j, JSON_ITEM, '{');
		json_str(j, HF_F_NAME, p->name);
		json_str(j, HF_F_AFFINITY, affinities[p->affinity]);
		json_str(j, HF_F_HASH, hashes[p->hash]);
		json_uint(j, HF_F_SLOTS, n.slots);
		json_uint(j, HF_F_ENTRIES, n.entries);
		json_uint(j, HF_F_EXCEPTIONS, n.exceptions);
		json_uint(j, HF_F_MAX_ENTRIES, n.max_entries);
		store(g, p->name, j);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void address(const struct hf_member_view *m, struct json *j)
{
	uint8_t text[80];
	struct hf_writer w = hf_writer_on(text, sizeof text);

	hf_w_addr(&w, &m->addr);
	json_text(j, HF_F_ADDRESS, m->addr.family ? hf_writer_view(&w) : m->host);
	json_str(j, HF_F_TRANSPORT, hf_transport_name(m->transport));
}

void list_marks(const struct hf_server_view *v, struct json *j)
{
	static const struct { const char *name; unsigned bits; } marks[] = {
		{"off", 1u << HF_MARK_OFF | 1u << HF_MARK_OVER}, {"down", 1u << HF_MARK_DOWN}, {"drain", 1u << HF_MARK_DRAIN}, {"busy", 1u << HF_MARK_BUSY},
		{"agent-off", 1u << HF_MARK_AGENT_OFF}, {"agent-down", 1u << HF_MARK_AGENT_DOWN}, {"agent-drain", 1u << HF_MARK_AGENT_DRAIN},
	};

	json_open(j, HF_F_MARKS, '[');
	for (unsigned i = 0; i < sizeof marks / sizeof marks[0]; i++)
		if (v->marks & marks[i].bits || (marks[i].bits & 1u << HF_MARK_DRAIN && !v->weight))
			json_str(j, JSON_ITEM, marks[i].name);
	json_close(j, ']');
}

void list_seconds(enum hf_field field, uint64_t ms, uint64_t from, uint64_t to, struct json *j)
{
	if (ms)
		json_uint(j, field, to > from ? (to - from + 999) / 1000 : 0);
	else
		json_null(j, field);
}

struct shares list_shares(struct hf_engine *e)
{
	struct shares s = {0, 0};
	struct hf_engine_counts n;
	struct hf_member_record r;

	hf_engine_counts(e, &n);
	s.slots = n.slots;
	for (unsigned id = 1; id <= hf_engine_last_id(e); id++)
		if (hf_engine_state(e, (uint16_t)id, NULL) == HF_STATE_UP && hf_engine_record(e, (uint16_t)id, &r))
			s.weights += r.run_weight == HF_WEIGHT_FILE ? r.file_weight : r.run_weight;
	return s;
}

void list_fair(const struct shares *s, const struct hf_server_view *v, struct json *j)
{
	if (v->state == HF_STATE_UP && s->weights)
		json_uint(j, HF_F_FAIR_SLOTS, (s->slots * (uint64_t)v->weight + s->weights / 2) / s->weights);
	else
		json_null(j, HF_F_FAIR_SLOTS);
}

/* What was sent there, by why, and what it answered. */
static void tallies(struct gateway *g, const char *pool, uint16_t id, struct json *j)
{
	struct hf_member_counts n;

	hf_net_member_counts(g->net, pool, id, &n);
	json_open(j, HF_F_PLACED, '{');
	for (unsigned i = 0; i < HF_WHY_COUNT; i++)
		if (n.why[i])
			json_count(j, hf_why_name((enum hf_why)i), n.why[i]);
	json_close(j, '}');
	json_open(j, HF_F_ANSWERS, '{');
	for (unsigned c = 0; c < HF_CLASSES; c++)
		if (n.answers[c])
			json_count(j, metrics_class(c), n.answers[c]);
	json_close(j, '}');
}

/* What its agent said last, and what is in force of it; null: it has none. */
static void agent(const struct hf_member_view *m, const struct hf_server_view *v, uint64_t now, struct json *j)
{
	if (!m->agent_port) {
		json_null(j, HF_F_AGENT);
		return;
	}
	json_open(j, HF_F_AGENT, '{');
	json_uint(j, HF_F_PORT, m->agent_port);
	json_str(j, HF_F_SAID, m->agent);
	list_seconds(HF_F_SAID_S, m->agent_ms, m->agent_ms, now, j);
	if (v->percent)
		json_uint(j, HF_F_PERCENT, v->percent);
	else
		json_null(j, HF_F_PERCENT);
	json_close(j, '}');
}

static void server(struct gateway *g, const char *pool, const struct hf_server_view *v, const struct shares *shares, uint64_t now, struct json *j)
{
	struct hf_member_view m = {.last_failure = ""};

	json_open(j, JSON_ITEM, '{');
	json_str(j, HF_F_POOL, pool);
	json_str(j, HF_F_NAME, v->name);
	if (hf_net_member(g->net, pool, v->id, &m)) {
		address(&m, j);
	} else {
		json_null(j, HF_F_ADDRESS);
		json_null(j, HF_F_TRANSPORT);
	}
	json_str(j, HF_F_STATE, hf_state_name(v->state));
	list_marks(v, j);
	json_uint(j, HF_F_WEIGHT, v->weight);
	json_uint(j, HF_F_FILE_WEIGHT, v->file_weight);
	json_uint(j, HF_F_SESSIONS, v->sessions);
	json_uint(j, HF_F_FLOWS, v->held);
	json_uint(j, HF_F_CONNECTING, m.connecting);
	json_uint(j, HF_F_QUEUED, m.queued);
	if (v->cap == UINT32_MAX)
		json_null(j, HF_F_CAP);
	else
		json_uint(j, HF_F_CAP, v->cap);
	json_uint(j, HF_F_SLOTS, v->slots);
	list_fair(shares, v, j);
	json_uint(j, HF_F_SINCE_S, (now - v->since_ms) / 1000);
	json_str(j, HF_F_LAST_FAILURE, m.last_failure);
	list_seconds(HF_F_LAST_FAILURE_S, m.last_failure_ms, m.last_failure_ms, now, j);
	agent(&m, v, now, j);
	if (v->max_sessions)
		json_uint(j, HF_F_MAX_SESSIONS, v->max_sessions);
	else
		json_null(j, HF_F_MAX_SESSIONS);
	list_seconds(HF_F_DEADLINE_S, v->ends_ms, now, v->ends_ms, j);
	json_bool(j, HF_F_REMOVED, v->removed);
	tallies(g, pool, v->id, j);
	json_close(j, '}');
}

/* Removed servers that still hold sessions stand among the others: they drain. */
void list_servers(struct gateway *g, struct json *j)
{
	const struct hf_conf *c = hf_net_conf(g->net);
	uint64_t now = hf_clock_ms();
	struct hf_server_view v;

	json_open(j, HF_F_SERVERS, '[');
	for (unsigned i = 0; i < c->n_pools; i++) {
		struct hf_engine *e = hf_net_engine(g->net, c->pools[i].name);
		struct shares shares = e ? list_shares(e) : (struct shares){0};

		for (unsigned id = 1; e && id <= hf_engine_last_id(e); id++)
			if (hf_engine_server(e, (uint16_t)id, &v))
				server(g, c->pools[i].name, &v, &shares, now, j);
	}
	json_close(j, ']');
}
