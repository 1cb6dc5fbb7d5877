/* The door to libosip2: the only file that includes its headers is osip_door.c. It composes requests that are our own and takes
 * their answers apart, both for probes; no octet of a client comes here. Any thread. */
#ifndef SIP_OSIP_DOOR_H
#define SIP_OSIP_DOOR_H

#include "holdfast/writer.h"

/* Texts of the fields, without CR, LF and NUL. */
struct osip_door_request {
	const char *method, *uri, *via, *from, *to, *call_id, *cseq;
};
/* Appends the message. False: libosip2 refused a field, or w is full. */
bool osip_door_compose(const struct osip_door_request *r, struct hf_writer *w);

struct osip_door_answer {
	unsigned status;
	char branch[64];        /* of the topmost Via; "" when there is none, or it is longer */
	bool has_retry_after;
	uint32_t retry_after_s;
};
/* False: no response, or above the limits behind which libosip2 is safe to use. */
bool osip_door_read(struct hf_bytes message, struct osip_door_answer *a);

#endif
