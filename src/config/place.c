/* Reads where somebody is, and says what was meant by what is no place; see place.h. Resolves nothing. Called by endpoint.c and confcheck.c. */
#include "place.h"

#include "holdfast/log.h"

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

/* 2001:db8::1:5060 is an address without a port, and nobody means that. */
static bool hides_port(struct hf_bytes place, const struct hf_addr *a)
{
	size_t digits = 0;

	while (digits < place.n && place.p[place.n - 1 - digits] >= '0' && place.p[place.n - 1 - digits] <= '9')
		digits++;
	return a->family == 6 && place.p[0] != '[' && digits >= 4 && place.p[place.n - 1 - digits] == ':';
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

static bool is_host(struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++) {
		uint8_t c = hf_lower(b.p[i]);

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-'))
			return false;
	}
	return b.n >= 1 && b.n <= 253;
}

/* SCHEME:HOST, SCHEME:HOST:PORT;more */
static bool is_uri(struct hf_bytes place)
{
	size_t colon = hf_bytes_find(place, ':');
	struct hf_bytes scheme = hf_bytes_sub(place, 0, colon), host = hf_bytes_sub(place, colon + 1, place.n);

	uint64_t port;

	host = hf_bytes_sub(host, 0, hf_bytes_find(host, ';'));
	return is_host(scheme) && !looks_numeric(scheme) && is_host(hf_bytes_sub(host, 0, hf_bytes_find(host, ':'))) && hf_read_uint(host, UINT64_MAX, &port) == HF_EINVAL;
}

/* What is no address, in the words of other programs: udp:ADDRESS, * and URIs. */
static const char *meant(struct hf_bytes text, struct hf_bytes place, bool listens)
{
	enum hf_transport t;

	if (text.n == place.n && hf_transport_read(hf_bytes_sub(text, 0, hf_bytes_find(text, ':')), &t))
		return "a transport is written with ://, as in udp://192.0.2.1:PORT";
	if (place.n && place.p[0] == '*')
		return "all addresses of this machine are 0.0.0.0:PORT or [::]:PORT";
	if (is_uri(place))
		return "not a URI; write [TRANSPORT://]ADDRESS[:PORT], as in udp://192.0.2.1:PORT";
	if (!listens && place.n && place.p[0] == '_')
		return place_is_service(hf_bytes_sub(place, 0, hf_bytes_find(place, ':'))) ? "SRV records name the ports" : "the name of SRV records is _SERVICE._PROTOCOL.DOMAIN";
	if (!listens && !looks_numeric(place))
		return "not an address, nor a host name";
	return looks_numeric(place) ? "not an address; write 192.0.2.1:PORT or [2001:db8::1]:PORT" : "a listener has an address: 192.0.2.1:PORT, or 0.0.0.0:PORT for all of this machine";
}

bool place_is_service(struct hf_bytes b)
{
	struct hf_bytes rest = b;

	for (unsigned i = 0; i < 2; i++) {
		size_t dot = hf_bytes_find(rest, '.');

		if (dot < 2 || dot == rest.n || rest.p[0] != '_' || !is_host(hf_bytes_sub(rest, 1, dot)))
			return false;
		rest = hf_bytes_sub(rest, dot + 1, rest.n);
	}
	return is_host(rest) && b.n <= 253;
}

/* HOST[:PORT], a name that is looked up while it runs, or the name of SRV records, which has no port. HF_EINVAL: that is none. */
static enum hf_err read_host(struct hf_bytes text, uint16_t port, struct hf_bytes *host, struct hf_addr *addr)
{
	size_t colon = hf_bytes_find(text, ':');
	enum hf_err e = HF_OK;
	uint64_t v = port;

	*addr = (struct hf_addr){.port = port};
	*host = text;
	if (place_is_service(text))
		return HF_OK;
	*host = hf_bytes_sub(text, 0, colon);
	if (!is_host(*host) || looks_numeric(*host))
		return HF_EINVAL;
	if (colon < text.n)
		e = hf_read_uint(hf_bytes_sub(text, colon + 1, text.n), 65535, &v);
	*addr = (struct hf_addr){.port = (uint16_t)v};
	return e;
}

bool place_read(const char *what, struct hf_bytes text, const struct hf_front *front, unsigned line, enum hf_transport *transport, struct hf_addr *addr, struct hf_bytes *host,
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
	else if (hides_port(place, addr)) {
		finding_error(to, line, "%s: %s: with a port an IPv6 address stands in brackets: [2001:db8::1]:PORT", what, hf_log_text(text));
		return false;
	} else if ((PORT_NEEDED & HF_TRANSPORT_BIT(*transport)) && !has_port(place) && !place_is_service(place)) {
		finding_error(to, line, "%s: %s: %s needs its port written", what, hf_log_text(text), hf_transport_name(*transport));
		return false;
	}
	hf_addr_unmap(addr);
	return e == HF_OK;
}

bool place_has_port(struct hf_bytes text)
{
	size_t colon = hf_bytes_find(text, ':');

	return has_port(hf_bytes_starts(hf_bytes_sub(text, colon, 3), HF_LIT("://")) ? hf_bytes_sub(text, colon + 3, text.n) : text);
}

bool place_is_name(struct hf_bytes b)
{
	struct hf_addr a;

	return is_host(b) || hf_addr_read_ip(b, &a) == HF_OK;
}

bool place_is_host_port(struct hf_bytes b)
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
