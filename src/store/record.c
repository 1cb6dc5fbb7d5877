/* Framing of a state file; see record.h. Pure: octets in, octets out. Called by file.c and load.c. */
#include "record.h"

#include "holdfast/hash.h"

#define MARK 0xd3486652u /* no octet of it is the next one's, so that a search never overlaps itself */

void record_write(struct hf_writer *w, const uint8_t key[16], uint16_t type, struct hf_bytes payload)
{
	size_t whole = RECORD_HEAD + payload.n + RECORD_TAIL;
	uint8_t *p;

	HF_BUG_ON(payload.n > 0xffff);
	p = hf_w_room(w, whole);
	if (!p)
		return;
	hf_put32(p, MARK);
	hf_put16(p + 4, (uint16_t)payload.n);
	hf_put16(p + 6, type);
	hf_put32(p + 8, (uint32_t)hf_sip24(key, hf_bytes_of(p, 8)));
	if (payload.n)
		memcpy(p + RECORD_HEAD, payload.p, payload.n);
	hf_put64(p + RECORD_HEAD + payload.n, hf_sip24(key, hf_bytes_of(p, RECORD_HEAD + payload.n)));
}

enum record_is record_read(struct hf_bytes b, const uint8_t key[16], struct record *r)
{
	size_t n;

	r->whole = RECORD_HEAD;
	if (b.n < RECORD_HEAD)
		return RECORD_SHORT;
	if (hf_get32(b.p) != MARK || hf_get32(b.p + 8) != (uint32_t)hf_sip24(key, hf_bytes_of(b.p, 8)))
		return RECORD_BAD;
	n = hf_get16(b.p + 4);
	r->whole = RECORD_HEAD + n + RECORD_TAIL;
	if (b.n < r->whole)
		return RECORD_SHORT;
	if (hf_get64(b.p + RECORD_HEAD + n) != hf_sip24(key, hf_bytes_of(b.p, RECORD_HEAD + n)))
		return RECORD_BAD;
	r->type = hf_get16(b.p + 6);
	r->payload = hf_bytes_sub(b, RECORD_HEAD, n);
	return RECORD_GOOD;
}

size_t record_seek(struct hf_bytes b)
{
	size_t at = 1;

	while (at < b.n) {
		at += hf_bytes_find(hf_bytes_sub(b, at, b.n), MARK >> 24);
		if (at + 4 > b.n || hf_get32(b.p + at) == MARK)
			break;
		at++;
	}
	return at < b.n ? at : b.n;
}
