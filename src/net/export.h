/* Messages to a collector elsewhere (HEP version 3, as Homer takes them), a copy of each that comes and goes (private to net). A worker gathers a
 * batch and sends it at the end of its turn; what the system does not take at once is counted and gone: nobody waits for a collector. It knows no
 * protocol: fronts say what a message's kind has for a number, and what the messages of a session share. */
#ifndef NET_EXPORT_H
#define NET_EXPORT_H

#include "inside.h"

/* All that a collector learns of a message. Addresses of one family; of none: they are not known. */
struct export_message {
	struct hf_addr from, to;
	bool stream;              /* over a connection */
	uint8_t type;             /* struct hf_front.capture */
	uint64_t at_us;           /* of the epoch */
	uint32_t agent;           /* hep-id */
	struct hf_bytes password; /* may be empty */
	struct hf_bytes session;  /* may be empty */
	struct hf_bytes base;     /* the message, before the splices */
	const struct hf_splice *splices;
	unsigned n_splices;
};
/* False: it is longer than a datagram, or the splices are not in order; nothing of use was written. */
bool export_write(struct hf_writer *w, const struct export_message *m) HF_MUST_USE;

struct exports;
struct exports *exports_new(void) HF_MUST_USE; /* a worker's; NULL: no memory */
void exports_free(struct exports *x);
/* A message that came (s NULL) or goes. */
void exports_add(struct worker *w, struct parcel *p, const struct hf_send *s, bool stream, const struct hf_addr *from, const struct hf_addr *to);
void exports_flush(struct worker *w); /* at the end of a turn */

#endif
