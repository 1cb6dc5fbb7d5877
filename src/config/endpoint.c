/* Where it listens and who is behind; see endpoint.h. Opens nothing and resolves nothing. Called by load.c. */
#include "endpoint.h"

#include <stdio.h>

#include "holdfast/log.h"
#include "holdfast/rate.h"
#include "optval.h"

/* Transports whose port nobody should guess: the protocol's usual one belongs to its plain transports. */
#define PORT_NEEDED (HF_TRANSPORT_BIT(HF_TLS) | HF_TRANSPORT_BIT(HF_WS) | HF_TRANSPORT_BIT(HF_WSS))

static void list_transports(unsigned transports, struct hf_writer *w)
{
	bool first = true;

	for (unsigned i = 0; i < HF_TRANSPORTS; i++)
		if (transports & HF_TRANSPORT_BIT(i)) {
			hf_w_printf(w, "%s%s", first ? "" : ", ", hf_transport_name((enum hf_transport)i));
			first = false;
		}
}

/* Meant as an address, not as a name? For the advice only. */
static bool looks_numeric(struct hf_bytes b)
{
	size_t colons = 0, letters = 0;

	for (size_t i = 0; i < b.n; i++) {
		colons += b.p[i] == ':';
		letters += b.p[i] != ':' && b.p[i] != '.' && (b.p[i] < '0' || b.p[i] > '9');
	}
	return !letters || colons > 1 || b.p[0] == '[';
}

static bool has_port(struct hf_bytes a)
{
	size_t colon = hf_bytes_find(a, ':');

	if (a.n && a.p[0] == '[')
		return hf_bytes_find(a, ']') + 1 < a.n;
	return colon < a.n && hf_bytes_find(hf_bytes_sub(a, colon + 1, a.n), ':') == a.n - colon - 1;
}

/* Nobody is dialled by WebSocket; and where datagrams go beside a connection, they go to the server of that. */
static unsigned may_be(const char *what, const struct hf_front *front)
{
	unsigned all = front ? front->transports : HF_TRANSPORT_BIT(HF_TRANSPORTS) - 1;
	unsigned in = HF_TRANSPORT_BIT(HF_WS) | HF_TRANSPORT_BIT(HF_WSS) | (front && front->datagram_flows ? HF_TRANSPORT_BIT(HF_UDP) : 0);

	return strcmp(what, "server") == 0 ? all & ~in : all;
}

static bool read_transport(const char *what, struct hf_bytes name, const struct hf_front *front, unsigned line, enum hf_transport *out, struct finding_to *to)
{
	char text[64] = "";
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);
	bool known = hf_transport_read(name, out);

	if (known && (may_be(what, front) & HF_TRANSPORT_BIT(*out)))
		return true;
	if (front)
		list_transports(may_be(what, front), &w);
	finding_error(to, line, "%s: %s:// is no transport%s%s%s%s", what, hf_log_text(name), front ? " of protocol " : "", front ? front->name : "", front ? ": " : "", text);
	return false;
}

/* What is no address, in the words of other programs: udp:ADDRESS and *. */
static const char *meant(struct hf_bytes text, struct hf_bytes place, bool listens)
{
	enum hf_transport t;

	if (text.n == place.n && hf_transport_read(hf_bytes_sub(text, 0, hf_bytes_find(text, ':')), &t))
		return "a transport is written with ://, as in udp://192.0.2.1:PORT";
	if (place.n && place.p[0] == '*')
		return "all addresses of this machine are 0.0.0.0:PORT or [::]:PORT";
	if (!listens && !looks_numeric(place))
		return "not an address, nor a host name";
	return looks_numeric(place) ? "not an address; write 192.0.2.1:PORT or [2001:db8::1]:PORT" : "a listener has an address: 192.0.2.1:PORT, or 0.0.0.0:PORT for all of this machine";
}

static bool is_host(struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++) {
		uint8_t c = hf_lower(b.p[i]);

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-'))
			return false;
	}
	return b.n >= 1 && b.n <= 253;
}

/* HOST[:PORT], a name that is looked up while it runs. HF_EINVAL: that is none. */
static enum hf_err read_host(struct hf_bytes text, uint16_t port, struct hf_bytes *host, struct hf_addr *addr)
{
	size_t colon = hf_bytes_find(text, ':');
	uint64_t v = port;

	*host = hf_bytes_sub(text, 0, colon);
	if (!is_host(*host) || looks_numeric(*host))
		return HF_EINVAL;
	if (colon < text.n && hf_read_uint(hf_bytes_sub(text, colon + 1, text.n), 65535, &v) != HF_OK)
		return HF_ERANGE;
	*addr = (struct hf_addr){.port = (uint16_t)v};
	return HF_OK;
}

/* [TRANSPORT://]ADDRESS[:PORT]; where host is not NULL a name may stand for the address. */
static bool read_place(const char *what, struct hf_bytes text, const struct hf_front *front, unsigned line, enum hf_transport *transport, struct hf_addr *addr, struct hf_bytes *host,
		       struct finding_to *to)
{
	size_t colon = hf_bytes_find(text, ':');
	struct hf_bytes place = text;
	enum hf_err e;

	*transport = front ? front->server_transport : HF_TCP;
	if (hf_bytes_starts(hf_bytes_sub(text, colon, 3), HF_LIT("://"))) {
		if (!read_transport(what, hf_bytes_sub(text, 0, colon), front, line, transport, to))
			return false;
		place = hf_bytes_sub(text, colon + 3, text.n);
	}
	e = hf_addr_read(place, front ? front->port : 1, addr);
	if (e == HF_EINVAL && host && !(text.n == place.n && hf_transport_read(hf_bytes_sub(text, 0, colon), &(enum hf_transport){0})))
		e = read_host(place, front ? front->port : 1, host, addr);
	if (e == HF_ERANGE)
		finding_error(to, line, "%s: %s: a port is 0..65535", what, hf_log_text(text));
	else if (e != HF_OK)
		finding_error(to, line, "%s: %s: %s", what, hf_log_text(text), meant(text, place, !host));
	else if ((PORT_NEEDED & HF_TRANSPORT_BIT(*transport)) && !has_port(place)) {
		finding_error(to, line, "%s: %s: %s needs its port written", what, hf_log_text(text), hf_transport_name(*transport));
		return false;
	}
	hf_addr_unmap(addr);
	return e == HF_OK;
}

bool endpoint_is_name(struct hf_bytes b)
{
	struct hf_addr a;

	return is_host(b) || hf_addr_read_ip(b, &a) == HF_OK;
}

/* HOST[:PORT], a name or an address: it is told to peers, never looked up. */
static bool is_host_port(struct hf_bytes b)
{
	struct hf_addr a;
	size_t colon = hf_bytes_find(b, ':');
	struct hf_bytes host = hf_bytes_sub(b, 0, colon);
	uint64_t port = 1;

	if (b.n && b.p[0] == '[')
		return hf_addr_read(b, 1, &a) == HF_OK && a.port;
	if (colon < b.n && hf_read_uint(hf_bytes_sub(b, colon + 1, b.n), 65535, &port) != HF_OK)
		return false;
	return is_host(host) && port != 0;
}

/* ---- words behind an address ---- */

static bool set_inside(struct hf_bytes value, struct hf_conf_listen *l)
{
	l->inside = true;
	return !value.n;
}

static bool set_advertise(struct hf_bytes value, struct hf_conf_listen *l) { return is_host_port(l->advertise = value); }
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
	*usable = read_place("listen", word, s->front, e->line, &last->transport, &last->addr, NULL, to);
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
		if (!endpoint_is_name(tls_name))
			finding_error(to, e->line, "server: %s: a host name or an address", hf_log_text(word));
		return;
	}
	if (!hf_bytes_starts(word, HF_LIT("was=")))
		finding_error(to, e->line, "server: %s: behind the address stand weight=0..256, max-sessions=N, max-cps=N, was=OLDNAME, tls-name=NAME, agent=PORT and send-proxy=yes|no", hf_log_text(word));
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
	if (!read_place("server", place, front, e->line, &v->transport, &v->addr, &v->host, to))
		return false;
	if (!v->addr.port || (!v->host.n && hf_addr_is_any(&v->addr))) {
		finding_error(to, e->line, "server: %s: %s", hf_log_text(place), v->addr.port ? "nobody is at this address" : "a port is 1..65535");
		return false;
	}
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
