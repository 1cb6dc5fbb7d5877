/* Reads routing tokens; see token.h. By arithmetic on checked numbers, so that every machine gives the same answer. */
#include "token.h"

#include "signed.h"

/* The number up to the next dot, and the octets behind that dot. */
static bool number_dot(struct hf_bytes *b, uint64_t max, uint64_t *out)
{
	size_t dot = hf_bytes_find(*b, '.');

	if (dot == b->n || hf_read_uint(hf_bytes_sub(*b, 0, dot), max, out) != HF_OK)
		return false;
	*b = hf_bytes_sub(*b, dot + 1, b->n);
	return true;
}

/* Reserved digits, usually 0000, then padding blanks that the client's control adds to make the length even. */
static bool reserved_part(struct hf_bytes b)
{
	size_t i = 0;

	while (i < b.n && b.p[i] >= '0' && b.p[i] <= '9')
		i++;
	while (i < b.n && b.p[i] == ' ')
		i++;
	return i == b.n;
}

/* The address is the decimal of its four octets read little-endian, the port that of its two octets swapped. */
static bool address(struct hf_bytes b, struct hf_addr *addr)
{
	uint64_t ip, port;

	if (!number_dot(&b, UINT32_MAX, &ip) || !number_dot(&b, UINT16_MAX, &port) || !reserved_part(b))
		return false;
	addr->family = 4;
	for (int i = 0; i < 4; i++)
		addr->ip[i] = (uint8_t)(ip >> 8 * i);
	addr->port = (uint16_t)((port & 0xff) << 8 | port >> 8);
	return true;
}

struct hf_bytes token_collection(struct hf_bytes line)
{
	static const struct hf_bytes plugins[] = {{(const uint8_t *)"MS Terminal Services Plugin.1.", 30}, {(const uint8_t *)"VMResource.1.", 13}};
	bool tsv = hf_bytes_istarts(line, HF_LIT("tsv://"));
	struct hf_bytes name = hf_bytes_sub(line, 6, line.n);

	for (unsigned i = 0; tsv && i < 2; i++)
		if (hf_bytes_istarts(name, plugins[i])) {
			name = hf_bytes_sub(name, plugins[i].n, name.n);
			break;
		}
	while (name.n && name.p[name.n - 1] == ' ') /* a client's control pads to an even length */
		name.n--;
	return name;
}

enum token_kind token_read(struct hf_bytes line, struct hf_addr *addr)
{
	static const struct hf_bytes msts = {(const uint8_t *)"Cookie: msts=", 13};
	struct hf_bytes value = hf_bytes_sub(line, msts.n, line.n);
	uint64_t number;

	memset(addr, 0, sizeof *addr);
	if (hf_bytes_istarts(line, HF_LIT("tsv://")) || hf_bytes_istarts(line, HF_LIT("mth://")))
		return TOKEN_COLLECTION;
	if (!hf_bytes_istarts(line, msts))
		return TOKEN_LINE;
	if (address(value, addr))
		return TOKEN_ADDRESS;
	if (hf_bytes_starts(line, HF_LIT(SIGNED_HEAD)))
		return TOKEN_SIGNED;
	return hf_read_uint(value, UINT32_MAX, &number) == HF_OK ? TOKEN_NUMBER : TOKEN_TEXT;
}
