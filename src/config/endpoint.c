/* Where it listens and who is behind; see endpoint.h. Opens nothing and resolves nothing. Called by load.c. */
#include "endpoint.h"

#include <stdio.h>

#include "holdfast/log.h"
#include "holdfast/rate.h"
#include "optval.h"
#include "place.h"

/* ---- words behind an address ---- */

static bool set_inside(struct hf_bytes value, struct hf_conf_listen *l)
{
	l->inside = true;
	return !value.n;
}

static bool set_advertise(struct hf_bytes value, struct hf_conf_listen *l) { return place_is_host_port(l->advertise = value); }
static bool set_allow(struct hf_bytes value, struct hf_conf_listen *l) { return optval_nets(value, ',', &l->allow) == HF_OK && l->allow.n; }
static bool set_deny(struct hf_bytes value, struct hf_conf_listen *l) { return optval_nets(value, ',', &l->deny) == HF_OK && l->deny.n; }

static const struct behind {
	struct hf_bytes word; /* with '=': a value follows */
	const char *right;
	bool (*set)(struct hf_bytes value, struct hf_conf_listen *l);
} behind[] = {
	{{(const uint8_t *)"inside", sizeof "inside" - 1}, "inside", set_inside},
	{{(const uint8_t *)"advertise=", sizeof "advertise=" - 1}, "advertise=HOST or advertise=HOST:PORT", set_advertise},
	{{(const uint8_t *)"allow=", sizeof "allow=" - 1}, "allow=ADDRESS[/BITS],... of up to 64", set_allow},
	{{(const uint8_t *)"deny=", sizeof "deny=" - 1}, "deny=ADDRESS[/BITS],... of up to 64", set_deny},
};

/* NULL: it is an address. */
static const struct behind *behind_of(struct hf_bytes word)
{
	for (unsigned i = 0; i < sizeof behind / sizeof *behind; i++) {
		bool valued = behind[i].word.p[behind[i].word.n - 1] == '=';

		if (valued ? hf_bytes_starts(word, behind[i].word) : hf_bytes_eq(word, behind[i].word))
			return &behind[i];
	}
	return NULL;
}

static void listen_word(const struct ini_entry *e, struct hf_bytes word, struct hf_conf_service *s, struct hf_conf_listen *list, bool *usable, struct finding_to *to)
{
	struct hf_conf_listen *last = s->n_listens ? &list[s->n_listens - 1] : NULL;
	const struct behind *b = behind_of(word);

	if (b) {
		if (*usable && (!last || last->line != e->line))
			finding_error(to, e->line, "listen: %s: stands behind the address that it belongs to", hf_log_text(word));
		else if (*usable && !b->set(hf_bytes_sub(word, b->word.n, word.n), last))
			finding_error(to, e->line, "listen: %s: %s", hf_log_text(word), b->right);
		return;
	}
	last = &list[s->n_listens];
	*last = (struct hf_conf_listen){.line = e->line};
	*usable = place_read("listen", word, s->front, e->line, &last->transport, &last->addr, NULL, to);
	s->n_listens += *usable;
}

void endpoint_listens(const struct ini_doc *doc, const struct ini_section *s, struct hf_conf_service *out, struct confmem *mem, struct finding_to *to)
{
	unsigned words = 0;
	struct hf_conf_listen *list = NULL;

	for (int pass = 0; pass < 2; pass++) { /* count, then read */
		for (unsigned i = 0; i < s->n; i++) {
			const struct ini_entry *e = &doc->entries[s->first + i];
			struct hf_bytes rest = e->value, word;
			bool usable = true;

			while (hf_bytes_eq(e->key, HF_LIT("listen")) && ini_word(&rest, &word)) {
				if (list)
					listen_word(e, word, out, list, &usable, to);
				else
					words++;
			}
		}
		if (!list && !(list = confmem_alloc(mem, (words + 1) * sizeof *list))) {
			to->no_memory = true;
			return;
		}
	}
	out->listens = list;
	if (!words)
		finding_error(to, s->line, "[service %s]: has no listen line", out->name);
}

static bool same_place(const struct hf_conf_listen *a, const struct hf_conf_listen *b)
{
	return hf_transport_is_stream(a->transport) == hf_transport_is_stream(b->transport) && a->addr.port && hf_addr_eq(&a->addr, &b->addr);
}

bool endpoint_is_own(const struct hf_conf_service *v, const struct hf_conf_server *s)
{
	for (unsigned i = 0; i < v->n_listens && !s->host.n; i++)
		if (same_place(&v->listens[i], &(struct hf_conf_listen){.transport = s->transport, .addr = s->addr}))
			return true;
	return false;
}

void endpoint_check_listens(const struct hf_conf_service *services, unsigned n, struct finding_to *to)
{
	const struct hf_conf_listen *all[ENDPOINT_LISTENS_MAX];
	unsigned have = 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < services[i].n_listens; j++) {
			const struct hf_conf_listen *l = &services[i].listens[j];
			char text[80] = "";
			struct hf_writer w = hf_writer_on(text, sizeof text - 1);

			if (have == ENDPOINT_LISTENS_MAX) {
				finding_error(to, l->line, "listen: more than %u addresses in all services", ENDPOINT_LISTENS_MAX);
				return;
			}
			hf_w_addr(&w, &l->addr);
			for (unsigned k = 0; k < have; k++)
				if (same_place(all[k], l)) {
					finding_error(to, l->line, "listen: %s://%s: line %u listens there already", hf_transport_name(l->transport), text, all[k]->line);
					break;
				}
			all[have++] = l;
		}
}

/* ---- servers ---- */

const char *endpoint_line_of(struct hf_bytes word)
{
	static const struct { const char *word, *line; } words[] = {
		{"inside", "listen"}, {"advertise", "listen"}, {"weight", "server"}, {"max-sessions", "server"}, {"was", "server"}};

	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (hf_bytes_eq(word, hf_bytes_str(words[i].word)))
			return words[i].line;
	return NULL;
}

static bool read_option_number(const struct ini_entry *e, struct hf_bytes word, const char *name, uint64_t max, uint32_t *out, struct finding_to *to)
{
	struct hf_bytes prefix = hf_bytes_str(name);
	uint64_t v;

	if (!hf_bytes_starts(word, prefix))
		return false;
	if (hf_read_uint(hf_bytes_sub(word, prefix.n, word.n), max, &v) == HF_OK)
		*out = (uint32_t)v;
	else
		finding_error(to, e->line, "server: %s: 0..%llu", hf_log_text(word), (unsigned long long)max);
	return true;
}

static void copy_name(char out[64], struct hf_bytes name)
{
	memcpy(out, name.p, name.n);
	out[name.n] = 0;
}

static void server_agent(const struct ini_entry *e, struct hf_bytes word, struct hf_conf_server *v, struct finding_to *to)
{
	struct hf_bytes port = hf_bytes_sub(word, 6, word.n);
	uint64_t n = 0;

	v->agent_said = hf_bytes_eq(port, HF_LIT("off")) || (hf_read_uint(port, 65535, &n) == HF_OK && n);
	v->agent = (uint32_t)n;
	if (!v->agent_said)
		finding_error(to, e->line, "server: %s: off or a port, 1..65535", hf_log_text(word));
}

static void server_word(const struct ini_entry *e, struct hf_bytes word, struct hf_conf_server *v, struct finding_to *to)
{
	struct hf_bytes was = hf_bytes_sub(word, 4, word.n), tls_name = hf_bytes_sub(word, 9, word.n);

	if (v->targets && (hf_bytes_starts(word, HF_LIT("weight=")) || hf_bytes_starts(word, HF_LIT("was=")))) {
		finding_error(to, e->line, "server: %s: servers that SRV records name have their weights, and names, of those", hf_log_text(word));
		return;
	}
	if (v->targets && read_option_number(e, word, "targets=", ENDPOINT_TARGETS_MAX, &v->targets, to)) {
		if (!v->targets)
			finding_error(to, e->line, "server: %s: 1..%u", hf_log_text(word), ENDPOINT_TARGETS_MAX);
		return;
	}
	if (read_option_number(e, word, "weight=", 256, &v->weight, to) || read_option_number(e, word, "max-sessions=", UINT32_MAX, &v->max_sessions, to) ||
	    read_option_number(e, word, "max-cps=", HF_RATE_MAX, &v->max_cps, to))
		return;
	if (hf_bytes_starts(word, HF_LIT("agent="))) {
		server_agent(e, word, v, to);
		return;
	}
	if (hf_bytes_starts(word, HF_LIT("send-proxy="))) {
		v->send_proxy = hf_bytes_eq(word, HF_LIT("send-proxy=yes"));
		v->send_proxy_said = true;
		if (!v->send_proxy && !hf_bytes_eq(word, HF_LIT("send-proxy=no")))
			finding_error(to, e->line, "server: %s: yes | no", hf_log_text(word));
		return;
	}
	if (hf_bytes_starts(word, HF_LIT("tls-name="))) {
		v->tls_name = tls_name;
		if (!place_is_name(tls_name))
			finding_error(to, e->line, "server: %s: a host name or an address", hf_log_text(word));
		return;
	}
	if (!hf_bytes_starts(word, HF_LIT("was=")))
		finding_error(to, e->line, "server: %s: behind the address stand weight=0..256, max-sessions=N, max-cps=N, was=OLDNAME, tls-name=NAME, agent=PORT, send-proxy=yes|no and, for SRV records, targets=1..%u", hf_log_text(word), ENDPOINT_TARGETS_MAX);
	else if (!ini_is_name(was))
		finding_error(to, e->line, "server: %s: not a server's name", hf_log_text(word));
	else if (hf_bytes_eq(was, hf_bytes_str(v->name)))
		finding_error(to, e->line, "server: %s: that is its own name", hf_log_text(word));
	else
		copy_name(v->was, was);
}

/* A line whose name and address can be read is kept, so that what follows can be compared with it. */
static bool read_server(const struct ini_entry *e, const struct hf_front *front, struct hf_conf_server *v, struct finding_to *to)
{
	struct hf_bytes rest = e->value, name, place, word;

	*v = (struct hf_conf_server){.weight = 100, .line = e->line};
	if (!ini_word(&rest, &name) || !ini_word(&rest, &place)) {
		finding_error(to, e->line, "server = %s: the address is missing: NAME ADDRESS:PORT", hf_log_text(e->value));
		return false;
	}
	if (!ini_is_name(name)) {
		finding_error(to, e->line, "server: %s: a name is 1 to %u letters, digits, '.', '_' and '-', a letter or digit first", hf_log_text(name), INI_NAME_MAX);
		return false;
	}
	copy_name(v->name, name);
	if (!place_read("server", place, front, e->line, &v->transport, &v->addr, &v->host, to))
		return false;
	if (!v->addr.port || (!v->host.n && hf_addr_is_any(&v->addr))) {
		finding_error(to, e->line, "server: %s: %s", hf_log_text(place), v->addr.port ? "nobody is at this address" : "a port is 1..65535");
		return false;
	}
	v->port_said = place_has_port(place);
	v->targets = place_is_service(v->host) ? 16 : 0;
	if (v->targets && name.n > ENDPOINT_SERVICE_NAME_MAX)
		finding_error(to, e->line, "server: %s: before the names of those whom SRV records name it has %u characters at most", hf_log_text(name), ENDPOINT_SERVICE_NAME_MAX);
	while (ini_word(&rest, &word))
		server_word(e, word, v, to);
	return true;
}

static void compare(const struct hf_conf_server *a, const struct hf_conf_server *b, struct finding_to *to)
{
	if (strcmp(a->name, b->name) == 0)
		finding_error(to, b->line, "server: %s: the name stands in line %u already", b->name, a->line);
	else if (a->transport == b->transport && hf_bytes_ieq(a->host, b->host) && hf_addr_eq(&a->addr, &b->addr))
		finding_error(to, b->line, "server: %s: the address is that of %s in line %u", b->name, a->name, a->line);
	if (strcmp(a->was, b->name) == 0)
		finding_error(to, a->line, "server: was=%s: that server is still there, in line %u", a->was, b->line);
	else if (strcmp(b->was, a->name) == 0)
		finding_error(to, b->line, "server: was=%s: that server is still there, in line %u", b->was, a->line);
	else if (b->was[0] && strcmp(a->was, b->was) == 0)
		finding_error(to, b->line, "server: was=%s: line %u takes over its sessions already", b->was, a->line);
}

static bool takes_sessions(const struct hf_conf_pool *p)
{
	for (unsigned i = 0; i < p->n_servers; i++)
		if (p->servers[i].weight)
			return true;
	return false;
}

void endpoint_servers(const struct ini_doc *doc, const struct ini_section *s, struct hf_conf_pool *out, struct confmem *mem, struct finding_to *to)
{
	struct hf_conf_server *list;
	unsigned lines = 0;

	for (unsigned i = 0; i < s->n; i++)
		lines += hf_bytes_eq(doc->entries[s->first + i].key, HF_LIT("server"));
	list = confmem_alloc(mem, (lines < ENDPOINT_SERVERS_MAX ? lines : ENDPOINT_SERVERS_MAX) * sizeof *list);
	if (!list) {
		to->no_memory = true;
		return;
	}
	for (unsigned i = 0; i < s->n; i++) {
		const struct ini_entry *e = &doc->entries[s->first + i];

		if (!hf_bytes_eq(e->key, HF_LIT("server")))
			continue;
		if (out->n_servers == ENDPOINT_SERVERS_MAX) {
			finding_error(to, e->line, "server: more than %u in a pool", ENDPOINT_SERVERS_MAX);
			break;
		}
		if (!read_server(e, out->front, &list[out->n_servers], to))
			continue;
		for (unsigned j = 0; j < out->n_servers; j++)
			compare(&list[j], &list[out->n_servers], to);
		out->n_servers++;
	}
	out->servers = list;
	if (!lines)
		finding_error(to, s->line, "[pool %s]: has no server line", out->name);
	else if (out->n_servers == lines && !takes_sessions(out))
		finding_error(to, s->line, "[pool %s]: no server may take a new session: give one at least weight=1..256 (to empty them all, drain them at run time)", out->name);
}
