/* The X.224 Connection Request and Confirm (MS-RDPBCGR 2.2.1.1, 2.2.1.2; X.224 13.3; T.123 section 8). Pure; any thread. */
#ifndef HOLDFAST_RDP_X224_H
#define HOLDFAST_RDP_X224_H

#include "holdfast/bytes.h"

#define X224_MIN 11u    /* TPKT header 4, length indicator, code, two references, class */
#define X224_ID 16u     /* of a correlation id */
#define X224_MAX 259u   /* the length indicator ends at 254 (255 is reserved, X.224 13.2.1) and leaves 5 octets out */

enum { X224_NEG_CORRELATION = 0x08 }; /* negotiation flag: a correlation block follows */

/* Views into the octets that were read. */
struct x224_request {
	size_t len;                  /* of the whole request; what follows belongs to the session */
	bool has_cookie, has_token;  /* both may be there */
	struct hf_bytes cookie;      /* behind `mstshash=`, without CR LF; may be empty */
	struct hf_bytes token;       /* the whole line without CR LF */
	bool negotiates;
	uint8_t flags;
	uint32_t protocols;
	struct hf_bytes correlation; /* 16 octets, or empty */
};

/* Reads a request from all octets that came so far. 0: *r is whole. X224_WAIT: call again with *need octets or more.
 * Else a reason (reasons.h): it can never become one. Every cut of the same octets comes to the same end. */
#define X224_WAIT 1u
unsigned x224_read(struct hf_bytes in, struct x224_request *r, size_t *need) HF_MUST_USE;

/* What a host's first octets are. */
enum x224_reply { X224_REPLY_WAIT, X224_REPLY_CONFIRM, X224_REPLY_NEG_FAILURE, X224_REPLY_OTHER };
enum x224_reply x224_read_reply(struct hf_bytes in, size_t *need) HF_MUST_USE;

/* X.224 Disconnect Request (X.224 13.5), references zero, reason not specified: the refusal of a valid request. */
extern const uint8_t x224_refusal[11];
/* A request without line that offers TLS, CredSSP and its early authorisation: what a probe sends. */
extern const uint8_t x224_probe[19];

#endif
