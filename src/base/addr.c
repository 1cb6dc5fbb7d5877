/* Addresses as values; see holdfast/addr.h. inet_pton/ntop only, no socket. */
#include "holdfast/addr.h"

#include <arpa/inet.h>

bool hf_addr_ip_eq(const struct hf_addr *a, const struct hf_addr *b)
{
	return a->family == b->family && a->scope == b->scope && memcmp(a->ip, b->ip, 16) == 0;
}

bool hf_addr_eq(const struct hf_addr *a, const struct hf_addr *b)
{
	return a->port == b->port && hf_addr_ip_eq(a, b);
}

bool hf_addr_in(const struct hf_addr *a, const struct hf_addr *net, unsigned bits)
{
	uint64_t first;

	if (!a->family || a->family != net->family || bits > hf_addr_ip_len(a) * 8)
		return false;
	first = hf_get64(a->ip) ^ hf_get64(net->ip);
	if (bits <= 64)
		return !bits || first >> (64 - bits) == 0;
	return first == 0 && (hf_get64(a->ip + 8) ^ hf_get64(net->ip + 8)) >> (128 - bits) == 0;
}

bool hf_addr_is_any(const struct hf_addr *a)
{
	static const uint8_t zero[16];

	return memcmp(a->ip, zero, 16) == 0;
}

void hf_addr_unmap(struct hf_addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (a->family != 6 || memcmp(a->ip, mapped, 12) != 0)
		return;
	memmove(a->ip, a->ip + 12, 4);
	memset(a->ip + 4, 0, 12);
	a->family = 4;
	a->scope = 0;
}

/* Four decimal numbers below 256 without leading zeros, as inet_pton has them; it is read here because every message has some. */
static bool read_ip4(struct hf_bytes text, uint8_t ip[4])
{
	size_t i = 0;

	for (int part = 0; part < 4; part++) {
		size_t from = i;
		unsigned v = 0, d;

		for (; i < text.n && i - from < 3 && (d = text.p[i] - (unsigned)'0') <= 9; i++)
			v = v * 10 + d;
		if (i == from || v > 255 || (text.p[from] == '0' && i - from > 1))
			return false;
		ip[part] = (uint8_t)v;
		if (part < 3 && (i == text.n || text.p[i++] != '.'))
			return false;
	}
	return i == text.n;
}

static bool read_ip6(struct hf_bytes text, uint8_t ip[16])
{
	char t[INET6_ADDRSTRLEN + 1];

	if (text.n >= sizeof t || hf_bytes_find(text, ':') == text.n || hf_bytes_find(text, 0) < text.n)
		return false;
	memcpy(t, text.p, text.n);
	t[text.n] = 0;
	return inet_pton(AF_INET6, t, ip) == 1;
}

enum hf_err hf_addr_read_ip(struct hf_bytes text, struct hf_addr *out)
{
	struct hf_addr a = {.port = out->port};
	bool bracket = text.n >= 2 && text.p[0] == '[' && text.p[text.n - 1] == ']';

	if (bracket)
		text = hf_bytes_sub(text, 1, text.n - 2);
	if (!bracket && read_ip4(text, a.ip)) {
		a.family = 4;
	} else {
		memset(a.ip, 0, 4);
		if (!read_ip6(text, a.ip))
			return HF_EINVAL;
		a.family = 6;
	}
	*out = a;
	return HF_OK;
}

enum hf_err hf_addr_read(struct hf_bytes text, uint16_t default_port, struct hf_addr *out)
{
	struct hf_bytes host = text, port = HF_NONE;
	struct hf_addr a = {0};
	uint64_t v = default_port;
	size_t colon = hf_bytes_find(text, ':');

	if (text.n && text.p[0] == '[') {
		size_t end = hf_bytes_find(text, ']');

		host = hf_bytes_sub(text, 0, end + 1);
		if (end == text.n || (host.n < text.n && text.p[host.n] != ':'))
			return HF_EINVAL;
		if (host.n < text.n)
			port = hf_bytes_sub(text, host.n + 1, text.n);
	} else if (colon < text.n && hf_bytes_find(hf_bytes_sub(text, colon + 1, text.n), ':') == text.n - colon - 1) {
		host = hf_bytes_sub(text, 0, colon); /* exactly one colon: IPv4 and a port */
		port = hf_bytes_sub(text, colon + 1, text.n);
	}
	if (hf_addr_read_ip(host, &a) != HF_OK)
		return HF_EINVAL;
	if (port.p) {
		enum hf_err e = hf_read_uint(port, 65535, &v);

		if (e != HF_OK)
			return e;
	}
	a.port = (uint16_t)v;
	*out = a;
	return HF_OK;
}

/* Every message carries one: inet_ntop would take its time over printf. */
static void w_ip4(struct hf_writer *w, const uint8_t ip[4])
{
	uint8_t t[16], *p = t;

	for (int i = 0; i < 4; i++) {
		unsigned v = ip[i];

		if (v >= 100) {
			*p++ = (uint8_t)('0' + v / 100);
			v %= 100;
			*p++ = (uint8_t)('0' + v / 10);
		} else if (v >= 10) {
			*p++ = (uint8_t)('0' + v / 10);
		}
		*p++ = (uint8_t)('0' + v % 10);
		*p++ = '.';
	}
	hf_w_mem(w, t, (size_t)(p - t) - 1);
}

void hf_w_ip(struct hf_writer *w, const struct hf_addr *a, bool brackets)
{
	char t[INET6_ADDRSTRLEN];

	if (a->family == 4) {
		w_ip4(w, a->ip);
		return;
	}
	if (!a->family || !inet_ntop(AF_INET6, a->ip, t, sizeof t)) {
		hf_w_str(w, "-");
		return;
	}
	if (brackets && a->family == 6)
		hf_w_u8(w, '[');
	hf_w_str(w, t);
	if (brackets && a->family == 6)
		hf_w_u8(w, ']');
}

void hf_w_addr(struct hf_writer *w, const struct hf_addr *a)
{
	hf_w_ip(w, a, true);
	hf_w_u8(w, ':');
	hf_w_dec(w, a->port);
}

static bool read_bits(struct hf_bytes text, unsigned max, uint8_t *bits)
{
	uint64_t v;

	if (hf_read_uint(text, max, &v) != HF_OK || v == 0)
		return false;
	*bits = (uint8_t)v;
	return true;
}

bool hf_prefix_read(struct hf_bytes text, struct hf_prefix *out)
{
	struct hf_bytes one = hf_bytes_sub(text, 1, text.n);
	size_t slash = hf_bytes_find(one, '/');
	struct hf_bytes first = hf_bytes_sub(one, 0, slash);

	*out = (struct hf_prefix){32, 128};
	if (!text.n)
		return true;
	if (text.p[0] != '/')
		return false;
	if (slash < one.n)
		return read_bits(first, 32, &out->bits4) && read_bits(hf_bytes_sub(one, slash + 1, one.n), 128, &out->bits6);
	return read_bits(first, 32, &out->bits4) || read_bits(first, 128, &out->bits6);
}

void hf_w_net(struct hf_writer *w, const struct hf_addr *a, struct hf_prefix prefix)
{
	struct hf_addr net = *a;
	unsigned bits, whole;

	hf_addr_unmap(&net);
	whole = (unsigned)hf_addr_ip_len(&net) * 8;
	bits = net.family == 4 ? prefix.bits4 : prefix.bits6;
	for (unsigned i = bits; i < whole; i++)
		net.ip[i / 8] &= (uint8_t)~(0x80u >> i % 8);
	hf_w_ip(w, &net, false);
	if (bits < whole) {
		hf_w_u8(w, '/');
		hf_w_dec(w, bits);
	}
}

static const char *const transports[HF_TRANSPORTS] = {"udp", "tcp", "tls", "ws", "wss"};

const char *hf_transport_name(enum hf_transport t)
{
	return t < HF_TRANSPORTS ? transports[t] : "?";
}

bool hf_transport_read(struct hf_bytes text, enum hf_transport *out)
{
	for (int i = 0; i < HF_TRANSPORTS; i++)
		if (hf_bytes_ieq(text, hf_bytes_str(transports[i]))) {
			*out = (enum hf_transport)i;
			return true;
		}
	return false;
}
