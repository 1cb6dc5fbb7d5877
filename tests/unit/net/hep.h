/* A reader of HEP version 3 of our own, for what tests hold net/export.c to: chunks into fields. It knows nothing of how they are written. */
#ifndef TEST_HEP_H
#define TEST_HEP_H

#include <string.h>

#include "holdfast/bytes.h"

struct packet {
	unsigned seen[18];
	uint8_t family, protocol, type, from[16], to[16];
	uint16_t from_port, to_port;
	uint32_t seconds, micros, agent;
	struct hf_bytes password, session, payload;
};

static inline bool get(struct packet *p, unsigned type, struct hf_bytes v)
{
	static const uint8_t sizes[18] = {[1] = 1, [2] = 1, [3] = 4, [4] = 4, [5] = 16, [6] = 16, [7] = 2, [8] = 2, [9] = 4, [10] = 4, [11] = 1, [12] = 4};

	if (type >= 18 || p->seen[type]++ || (sizes[type] && v.n != sizes[type]))
		return false;
	switch (type) {
	case 1: p->family = v.p[0]; return true;
	case 2: p->protocol = v.p[0]; return true;
	case 3:
	case 5: memcpy(p->from, v.p, v.n); return true;
	case 4:
	case 6: memcpy(p->to, v.p, v.n); return true;
	case 7: p->from_port = hf_get16(v.p); return true;
	case 8: p->to_port = hf_get16(v.p); return true;
	case 9: p->seconds = hf_get32(v.p); return true;
	case 10: p->micros = hf_get32(v.p); return true;
	case 11: p->type = v.p[0]; return true;
	case 12: p->agent = hf_get32(v.p); return true;
	case 14: p->password = v; return true;
	case 15: p->payload = v; return true;
	case 17: p->session = v; return true;
	default: return false;
	}
}

/* False: it is no packet. */
static inline bool read_packet(struct hf_bytes b, struct packet *p)
{
	memset(p, 0, sizeof *p);
	if (b.n < 6 || memcmp(b.p, "HEP3", 4) != 0 || hf_get16(b.p + 4) != b.n)
		return false;
	for (size_t at = 6; at < b.n;) {
		size_t n = b.n - at >= 6 ? hf_get16(b.p + at + 4) : 0;

		if (n < 6 || n > b.n - at || hf_get16(b.p + at) != 0 || !get(p, hf_get16(b.p + at + 2), hf_bytes_of(b.p + at + 6, n - 6)))
			return false;
		at += n;
	}
	return p->seen[1] && p->seen[2] && p->seen[7] && p->seen[8] && p->seen[9] && p->seen[10] && p->seen[11] && p->seen[12] && p->seen[15];
}

#endif
