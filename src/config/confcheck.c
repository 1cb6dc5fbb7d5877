/* What only the whole of a configuration can tell; see load.h. Says, and derives; reads no line. Called by load.c. */
#include "endpoint.h"
#include "holdfast/log.h"
#include "load.h"
#include "place.h"

/* As in hf_conf_pool.affinity. */
enum { AFFINITY_AUTO, AFFINITY_TABLE, AFFINITY_HASH, AFFINITY_NONE };
enum { HASH_RING = 1, HASH_MAGLEV = 2 }; /* as in hf_conf_pool.hash */

bool hf_conf_persists(const struct hf_conf_pool *p)
{
	return p->affinity != AFFINITY_NONE && (p->persist == HF_CONF_PERSIST_YES || (p->persist == HF_CONF_PERSIST_AUTO && p->affinity == AFFINITY_TABLE));
}

static unsigned given(const struct load *l, unsigned pool, const char *name)
{
	const struct hf_option *row = optrows_find(&optrows_pool, hf_bytes_str(name));

	return l->pool_parts[pool].given[row - optrows_pool.rows];
}

static bool is_used(const struct load *l, const struct hf_conf_pool *p)
{
	for (unsigned i = 0; i < l->conf.n_services; i++)
		if (hf_conf_sends_to(&l->services[i], p))
			return true;
	return false;
}

/* A thousand slots a server keep shares within some 14 % of what weights say; fewer make them differ more than anybody expects. */
static void check_slots(const struct hf_conf_pool *p, unsigned line, struct finding_to *to)
{
	uint64_t want = 16;

	while (want < 20 && (uint64_t)1 << want < 1024 * (uint64_t)p->n_servers)
		want++;
	if (p->slots < want && p->hash != HASH_MAGLEV && !p->balance) /* where slots are drawn, and place */
		finding_warn(to, line ? line : p->line, "slots: %u servers are many for 2^%u slots, so that their shares are uneven; slots = %u, the same in all gateways, makes them evener",
			(unsigned)p->n_servers, (unsigned)p->slots, (unsigned)want);
}

/* What places or limits sessions. */
static void check_placement(struct load *l, unsigned i, struct finding_to *to)
{
	struct hf_conf_pool *p = &l->pools[i];
	unsigned line = given(l, i, "load-factor");

	if (p->affinity == AFFINITY_HASH && line && p->load_factor)
		finding_warn(to, line, "load-factor: with affinity = hash a busy server moves keys that are not under way");
	else if (p->affinity == AFFINITY_HASH)
		p->load_factor = 0;
	if (p->balance && (p->affinity == AFFINITY_AUTO || p->affinity == AFFINITY_HASH))
		finding_error(to, given(l, i, "balance"), "balance: with affinity = %s the hash places; affinity = table remembers what another balance chose",
			p->affinity == AFFINITY_AUTO ? "auto" : "hash");
	check_slots(p, given(l, i, "slots"), to);
	if (p->hash != HASH_RING && given(l, i, "ring-points"))
		finding_warn(to, given(l, i, "ring-points"), "ring-points: does nothing without hash = ring");
	if (p->slow_start && !p->load_factor && !p->balance)
		finding_warn(to, given(l, i, "slow-start"), "slow-start: it raises a server's load-factor bound, and load-factor is off");
	if (p->agent && !p->load_factor && !p->balance)
		finding_warn(to, given(l, i, "agent"), "agent: percents that agents say lower a server's load-factor bound, and load-factor is off; only 0%% does something");
	if (p->source_entries == HF_CONF_AUTO)
		p->source_entries = (p->max_entries + 3) / 4;
}

static void check_probe(struct load *l, unsigned i, struct finding_to *to)
{
	const struct hf_conf_pool *p = &l->pools[i];

	if (p->probe != HF_CONF_PROBE_NONE && p->probe_timeout > p->probe_interval)
		finding_warn(to, p->line, "[pool %s]: probe-timeout is longer than probe-interval", p->name);
	if (p->probe == HF_CONF_PROBE_PROGRAM && !p->probe_program.n)
		finding_error(to, given(l, i, "probe"), "probe = program: probe-program says which; there is none");
	if (p->probe != HF_CONF_PROBE_PROGRAM && p->probe_program.n)
		finding_warn(to, given(l, i, "probe-program"), "probe-program: it is run with probe = program only");
}

#define SHARED "%ssend-proxy: protocol %s shares its connections to a server among all clients, so that no header could name one; its messages do"

/* What is said of connections that are one client's each. */
static void check_connections(struct load *l, unsigned i, struct finding_to *to)
{
	static const char *const options[] = {"max-connecting", "connecting-queue"};
	const struct hf_front *front = l->pools[i].front;

	for (unsigned k = 0; front && front->framed && k < sizeof options / sizeof options[0]; k++)
		if (given(l, i, options[k]))
			finding_warn(to, given(l, i, options[k]), "%s: does nothing, as protocol %s shares its connections to a server among all clients; connections says how many there are",
				options[k], front->name);
	if (!front || !front->framed)
		return;
	if (l->pools[i].send_proxy)
		finding_error(to, given(l, i, "send-proxy"), SHARED, "", front->name);
	for (unsigned k = 0; k < l->pools[i].n_servers; k++)
		if (l->pools[i].servers[k].send_proxy)
			finding_error(to, l->pools[i].servers[k].line, SHARED, "server: ", front->name);
}

void confcheck_pools(struct load *l, struct finding_to *to)
{
	for (unsigned i = 0; i < l->conf.n_pools; i++) {
		struct hf_conf_pool *p = &l->pools[i];

		check_placement(l, i, to);
		if (p->affinity == AFFINITY_NONE && p->front && p->front->datagrams)
			finding_error(to, given(l, i, "affinity"), "affinity = none: protocol %s sends a session in many parcels, which would part; auto | table | hash", p->front->name);
		check_probe(l, i, to);
		check_connections(l, i, to);
		if (!is_used(l, p))
			finding_warn(to, p->line, "[pool %s]: no service uses it", p->name);
	}
}

/* Where a front's complaint about an option belongs. */
struct place {
	struct load *l;
	unsigned service;
	const struct hf_conf_pool *pool; /* NULL: it has none */
	struct finding_to *to;
};

static void front_says(void *arg, bool error, const char *option, const char *text)
{
	struct place *at = arg;
	const struct hf_conf_service *v = &at->l->services[at->service];
	const struct ini_section *s = at->l->service_parts[at->service].section;
	const struct ini_entry *e = option ? ini_find(&at->l->doc, s, option) : NULL;

	if (!e && option && at->pool)
		e = ini_find(&at->l->doc, at->l->pool_parts[at->pool - at->l->pools].section, option);
	if (option && hf_bytes_starts(hf_bytes_str(text), hf_bytes_str(option)))
		option = NULL; /* the text names it */
	if (e)
		finding_add(at->to, e->line, error, "%s%s%s", option ? option : "", option ? ": " : "", text);
	else
		finding_add(at->to, s->line, error, "[service %s]: %s%s%s", v->name, option ? option : "", option ? ": " : "", text);
}

static void check_front(struct load *l, unsigned i, const struct hf_conf_choice *c, struct finding_to *to)
{
	const struct hf_conf_service *v = &l->services[i];
	struct place at = {l, i, c->pool, to};
	struct hf_says says = {front_says, &at};
	unsigned before = to->errors;

	if (v->front && v->front->check && v->front->check(c->front_conf, &says) != HF_OK && to->errors == before)
		finding_error(to, v->line, "[service %s]: protocol %s refuses its options", v->name, v->front->name);
}

/* What in messages names this server by address and port; NULL: nothing. */
static const char *hint_word(const struct load *l, const struct hf_conf_pool *p, const struct hf_conf_server *s)
{
	const char *word = NULL;

	for (unsigned i = 0; i < l->conf.n_services; i++)
		for (unsigned k = 0; k < l->services[i].n_choices && !word; k++) {
			const struct hf_conf_choice *c = &l->services[i].choices[k];

			if (c->pool == p && l->services[i].front && l->services[i].front->hint_word)
				word = l->services[i].front->hint_word(c->front_conf, s->addr.family);
		}
	return word;
}

/* Whoever writes such a message takes the port from the server, not from us. */
static void check_ports(const struct load *l, const struct hf_conf_pool *p, struct finding_to *to)
{
	for (unsigned i = 0; i < p->n_servers; i++) {
		const struct hf_conf_server *s = &p->servers[i];
		const char *word = s->port_said || s->targets ? NULL : hint_word(l, p, s);
		char place[300] = "";
		struct hf_writer w = hf_writer_on(place, sizeof place - 1);

		if (!word)
			continue;
		if (s->host.n)
			hf_w_printf(&w, "%s:%u", hf_log_text(s->host), s->addr.port);
		else
			hf_w_addr(&w, &s->addr);
		finding_warn(to, s->line, "server %s: no port is written, so %u is taken; %s names a server by address and port, and where its port is another one it is not heard: "
			"write the port that it has there, as in %s", s->name, s->addr.port, word, place);
	}
}

void confcheck_fronts(struct load *l, struct finding_to *to)
{
	for (unsigned i = 0; i < l->conf.n_services; i++)
		for (unsigned k = 0; k < l->services[i].n_choices; k++)
			check_front(l, i, &l->services[i].choices[k], to);
	for (unsigned i = 0; i < l->conf.n_pools; i++)
		check_ports(l, &l->pools[i], to);
}

/* Parcels to a server leave by a listener: a datagram through its socket; over a stream it says where answers are taken. */
static bool has_way(const struct hf_conf_service *v, const struct hf_conf_server *s)
{
	for (unsigned i = 0; i < v->n_listens; i++) {
		const struct hf_conf_listen *l = &v->listens[i];

		if ((s->host.n || l->addr.family == s->addr.family) && (l->transport == s->transport || (hf_transport_is_stream(s->transport) && !hf_transport_is_web(l->transport))))
			return true;
	}
	return false;
}

static void check_ways(const struct hf_conf_service *v, const struct hf_conf_pool *p, struct finding_to *to)
{
	for (unsigned i = 0; p && v->n_listens && i < p->n_servers; i++) {
		const struct hf_conf_server *s = &p->servers[i];

		if (endpoint_is_own(v, s))
			finding_error(to, s->line, "server %s: [service %s] listens there itself", s->name, v->name);
		else if (!has_way(v, s))
			finding_error(to, s->line, "server %s: nothing of [service %s] can send to it: add a listen = %s://...%s", s->name, v->name,
				hf_transport_is_stream(s->transport) ? "udp" : hf_transport_name(s->transport), s->host.n ? "" : s->addr.family == 6 ? " of IPv6" : " of IPv4");
	}
}

/* Datagrams that go beside connections belong to none where none come. */
static void check_beside(const struct hf_conf_service *v, struct finding_to *to)
{
	bool any = !v->n_listens;

	for (unsigned i = 0; i < v->n_listens; i++)
		any |= hf_transport_is_stream(v->listens[i].transport);
	if (!any)
		finding_error(to, v->listens[0].line, "listen: datagrams of protocol %s go beside connections: add a listen = tcp://... to [service %s]", v->front->name, v->name);
}

/* ---- TLS ---- */

static unsigned line_of(const struct load *l, const struct ini_section *s, const char *option)
{
	const struct ini_entry *e = ini_find(&l->doc, s, option);

	return e ? e->line : s->line;
}

static void check_tls_service(const struct load *l, unsigned i, struct finding_to *to)
{
	const struct hf_conf_service *v = &l->services[i];
	const struct ini_section *s = l->service_parts[i].section;
	const struct hf_conf_listen *secure = NULL;

	for (unsigned j = 0; j < v->n_listens && !secure; j++)
		if (hf_transport_is_secure(v->listens[j].transport))
			secure = &v->listens[j];
	if (secure && !v->tls_certificates.n)
		finding_error(to, secure->line, "listen: %s:// shows a certificate: add tls-certificate = FILE to [service %s]", hf_transport_name(secure->transport), v->name);
	if (!secure && v->tls_certificates.n)
		finding_warn(to, line_of(l, s, "tls-certificate"), "tls-certificate: [service %s] has no listen = tls://...", v->name);
	if (v->tls_client_certificate && !v->tls_client_ca.n)
		finding_error(to, line_of(l, s, "tls-client-certificate"), "tls-client-certificate: nobody vouches for clients: add tls-client-ca = FILE");
	if (!v->tls_client_certificate && v->tls_client_ca.n)
		finding_warn(to, line_of(l, s, "tls-client-ca"), "tls-client-ca: clients are not asked for a certificate: tls-client-certificate = optional | required");
}

static void check_tls_pool(const struct load *l, unsigned i, struct finding_to *to)
{
	const struct hf_conf_pool *p = &l->pools[i];
	unsigned line = line_of(l, l->pool_parts[i].section, "tls-verify");
	bool secure = false;

	for (unsigned j = 0; j < p->n_servers; j++)
		secure |= hf_transport_is_secure(p->servers[j].transport);
	if (secure && !p->tls_verify)
		finding_warn(to, line, "tls-verify = no: whoever answers at a server's address is taken for it");
	if (p->tls_name.n && !place_is_name(p->tls_name))
		finding_error(to, line_of(l, l->pool_parts[i].section, "tls-name"), "tls-name: a host name or an address");
}

void confcheck_tls(struct load *l, struct finding_to *to)
{
	for (unsigned i = 0; i < l->conf.n_services; i++)
		check_tls_service(l, i, to);
	for (unsigned i = 0; i < l->conf.n_pools; i++)
		check_tls_pool(l, i, to);
}

/* A bound that is never reached is none. */
static void check_sessions(const struct load *l, unsigned i, struct finding_to *to)
{
	const struct hf_conf_service *v = &l->services[i];
	unsigned line = line_of(l, l->service_parts[i].section, "max-sessions");
	uint64_t room = 0;

	for (unsigned k = 0; v->max_sessions && k < v->n_choices; k++) {
		const struct hf_conf_pool *p = v->choices[k].pool;

		room = p->affinity == AFFINITY_NONE ? UINT64_MAX : room + p->max_entries < room ? room : room + p->max_entries;
		if (p->affinity == AFFINITY_HASH)
			finding_warn(to, line, "max-sessions: [pool %s] has affinity = hash, where a session is forgotten soon after it was answered: few of those that are up are counted", p->name);
	}
	if (v->max_sessions > room)
		finding_warn(to, line, "max-sessions: the pools of [service %s] remember %llu sessions at most (max-entries), so that it is never reached", v->name, (unsigned long long)room);
}

void confcheck_whole(struct load *l, struct finding_to *to)
{
	unsigned line = l->gateway ? l->gateway->line : 1;

	endpoint_check_listens(l->services, l->conf.n_services, to);
	for (unsigned i = 0; i < l->conf.n_services; i++) {
		const struct hf_front *front = l->services[i].front;

		for (unsigned k = 0; front && (front->datagrams || front->framed) && k < l->services[i].n_choices; k++)
			check_ways(&l->services[i], l->services[i].choices[k].pool, to);
		if (front && front->datagram_flows)
			check_beside(&l->services[i], to);
		check_sessions(l, i, to);
	}
	if (!l->conf.n_services)
		finding_error(to, 1, "there is no [service NAME]: nothing to do");
	if (!l->conf.gateway.cluster_secret_file.n)
		finding_warn(to, line, "no cluster-secret-file: the keys are made in state-dir; a second gateway for the same servers needs the same file");
}
