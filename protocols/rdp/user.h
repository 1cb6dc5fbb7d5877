/* Who a cookie names: one form for the many spellings of a user (MS-RDPBCGR 2.2.1.1 cookie). Pure; any thread. */
#ifndef HOLDFAST_RDP_USER_H
#define HOLDFAST_RDP_USER_H

#include "holdfast/bytes.h"

/* Microsoft clients cut the login name to so many characters; where one client cuts, all must be compared so. */
#define USER_NINE 9u
#define USER_MAX 248u /* the variable part of a request is never longer */

enum user_kind {
	USER_NONE,    /* nothing that could be a key */
	USER_CONTROL, /* control octets: the same, to be counted */
	USER_WEAK,    /* nine octets that a domain or computer name has eaten in part: no name without its source */
	USER_NAME,
};

struct user {
	enum user_kind kind;
	struct hf_bytes name; /* in buf */
	uint8_t buf[USER_MAX];
};

/* own_domains: names divided by blanks or commas, in any case. */
void user_read(struct hf_bytes cookie, struct hf_bytes own_domains, struct user *u);
/* The name alone: domain and UPN suffix off, case folded; for names that are known to be whole. Empty when nothing is left. */
struct hf_bytes user_canonical(struct hf_bytes text, uint8_t buf[USER_MAX]) HF_MUST_USE;

/* Nine octets that a domain and a backslash have eaten in part may be a short name as a whole: that name, folded into buf; empty when too little is
 * left to tell a person by. Of a weak cookie. */
struct hf_bytes user_perhaps(struct hf_bytes cookie, uint8_t buf[USER_MAX]) HF_MUST_USE;
/* The other way round: may this name, after a domain and a backslash, be nine octets? */
bool user_fits_weak(struct hf_bytes name) HF_MUST_USE;
/* The nine octets, folded into buf, that are left of the name where a client writes one of own_domains before it; empty: no domain of them cuts it.
 * *whole: all of the name is left. */
struct hf_bytes user_as_weak(struct hf_bytes name, struct hf_bytes own_domains, uint8_t buf[USER_MAX], bool *whole) HF_MUST_USE;

#endif
