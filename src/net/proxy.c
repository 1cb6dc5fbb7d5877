/* The PROXY protocol; see proxy.h. A header is read only from listed sources, and strictly before the first octet of the protocol. */
#include "proxy.h"

#define V1_MAX 107 /* "the longest line", CRLF included */
static const uint8_t v2_sign[12] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};

static struct hf_bytes word(struct hf_bytes *rest)
{
	struct hf_bytes w = hf_bytes_sub(*rest, 0, hf_bytes_find(*rest, ' '));

	*rest = hf_bytes_sub(*rest, w.n + 1, rest->n);
	return w;
}

static bool v1_addr(struct hf_bytes ip, struct hf_bytes port, uint8_t family, struct hf_addr *out)
{
	struct hf_addr a = {0};
	uint64_t n;

	if (hf_bytes_find(ip, '[') < ip.n || hf_addr_read_ip(ip, &a) != HF_OK || a.family != family || hf_read_uint(port, 65535, &n) != HF_OK)
		return false;
	a.port = (uint16_t)n;
	*out = a;
	return true;
}

static enum proxy_verdict v1(struct hf_bytes got, size_t *used, struct hf_addr *source, struct hf_addr *local)
{
	struct hf_bytes line = hf_bytes_sub(got, 0, hf_bytes_find(got, '\n')), family, from, to, from_port;
	struct hf_addr a, b;
	uint8_t f;

	if (line.n == got.n)
		return got.n >= V1_MAX ? PROXY_BAD : PROXY_MORE;
	if (line.n + 1 > V1_MAX || line.n == 0 || line.p[line.n - 1] != '\r')
		return PROXY_BAD;
	*used = line.n + 1;
	line = hf_bytes_sub(line, 6, line.n - 7);
	family = word(&line);
	if (hf_bytes_eq(family, HF_LIT("UNKNOWN")))
		return PROXY_GOOD;
	f = hf_bytes_eq(family, HF_LIT("TCP4")) ? 4 : hf_bytes_eq(family, HF_LIT("TCP6")) ? 6 : 0;
	from = word(&line);
	to = word(&line);
	from_port = word(&line);
	if (!f || !v1_addr(from, from_port, f, &a) || !v1_addr(to, line, f, &b))
		return PROXY_BAD;
	*source = a;
	*local = b;
	return PROXY_GOOD;
}

static void v2_addr(const uint8_t *ip, const uint8_t *port, uint8_t family, struct hf_addr *out)
{
	*out = (struct hf_addr){.family = family, .port = hf_get16(port)};
	memcpy(out->ip, ip, family == 6 ? 16 : 4);
}

static enum proxy_verdict v2(struct hf_bytes got, size_t *used, struct hf_addr *source, struct hf_addr *local)
{
	size_t n, each;
	uint8_t family;

	if (got.n < 16)
		return PROXY_MORE;
	n = hf_get16(got.p + 14);
	if (got.p[12] >> 4 != 2 || (got.p[12] & 15) > 1 || n > PROXY_MAX - 16)
		return PROXY_BAD;
	if (got.n < 16 + n)
		return PROXY_MORE;
	*used = 16 + n;
	family = got.p[13] == 0x11 ? 4 : got.p[13] == 0x21 ? 6 : 0; /* TCP over IPv4, IPv6 */
	each = family == 6 ? 16 : 4;
	if ((got.p[12] & 15) == 0 || !family)
		return PROXY_GOOD; /* LOCAL: the balancer's own check */
	if (n < 2 * each + 4)
		return PROXY_BAD;
	v2_addr(got.p + 16, got.p + 16 + 2 * each, family, source);
	v2_addr(got.p + 16 + each, got.p + 18 + 2 * each, family, local);
	return PROXY_GOOD;
}

static enum proxy_verdict header(struct hf_bytes got, size_t *used, struct hf_addr *source, struct hf_addr *local)
{
	struct hf_bytes sign2 = hf_bytes_of(v2_sign, sizeof v2_sign);

	if (got.n == 0)
		return PROXY_MORE;
	if (hf_bytes_starts(got, sign2))
		return v2(got, used, source, local);
	if (hf_bytes_starts(got, HF_LIT("PROXY ")))
		return v1(got, used, source, local);
	return hf_bytes_starts(sign2, got) || hf_bytes_starts(HF_LIT("PROXY "), got) ? PROXY_MORE : PROXY_BAD;
}

/* A balancer whose one socket takes both families names an IPv4 client by an IPv6 address: it is the same client, and is held to the same limits and lists. */
enum proxy_verdict proxy_read(struct hf_bytes got, size_t *used, struct hf_addr *source, struct hf_addr *local)
{
	enum proxy_verdict v = header(got, used, source, local);

	hf_addr_unmap(source);
	hf_addr_unmap(local);
	return v;
}

void proxy_write(struct hf_writer *w, const struct hf_addr *source, const struct hf_addr *local)
{
	bool known = source && source->family && source->family == local->family;

	hf_w_mem(w, v2_sign, sizeof v2_sign);
	hf_w_u8(w, known ? 0x21 : 0x20);
	hf_w_u8(w, !known ? 0 : source->family == 6 ? 0x21 : 0x11);
	hf_w_u16(w, !known ? 0 : (uint16_t)(2 * hf_addr_ip_len(source) + 4));
	if (!known)
		return;
	hf_w_bytes(w, hf_addr_ip(source));
	hf_w_bytes(w, hf_addr_ip(local));
	hf_w_u16(w, source->port);
	hf_w_u16(w, local->port);
}
