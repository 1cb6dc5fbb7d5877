/* Records of a state file: self-delimiting and signed, so that whatever became of a file, each record that is whole is found, and no other
 * octets are taken for one (private to the store).
 *
 *   0  4  the mark, by which a reader finds its way again behind damage
 *   4  2  octets of the payload        6  2  type
 *   8  4  check of these 8             12 n  payload              12+n 8  tag over all before it
 *
 * Check and tag are SipHash-2-4 under a key that clients do not know: a user's name that holds the octets of a record is none.
 * All numbers are big-endian. */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "holdfast/writer.h"

#define RECORD_HEAD 12
#define RECORD_TAIL 8
#define RECORD_MAX (RECORD_HEAD + 0xffff + RECORD_TAIL)

struct record {
	uint16_t type;
	struct hf_bytes payload;
	size_t whole; /* octets with head and tag */
};

/* w->full: there was no room, and nothing of it was written. payload: at most 65535 octets. */
void record_write(struct hf_writer *w, const uint8_t key[16], uint16_t type, struct hf_bytes payload);

/* What stands at the begin of b. SHORT: nothing can be said before there are r->whole octets. */
enum record_is { RECORD_GOOD, RECORD_SHORT, RECORD_BAD };
enum record_is record_read(struct hf_bytes b, const uint8_t key[16], struct record *r);

/* Where behind the first octet of b a record may begin, at the earliest; b.n: nowhere. */
size_t record_seek(struct hf_bytes b);

#endif
