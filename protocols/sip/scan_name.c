/* Which header a name is, in its long and compact form and in any case (RFC 3261 7.3.1, 7.3.3, 20; the IANA registry).
 * Only names whose values the scanner reads are known; the other compact forms (m r c e s u d j y a n b) are letters of their own
 * and can't be mistaken for one of these. Subscription-State is longer than a row and is told by sip_line_any. Tables of sip_header_id. */
#include "scan_line.h"

#define SLOT(n, first) SIP_NAME_SLOT((n) - 1, first) /* n counts the NUL */

#define NAMES(X) \
	X('v', "via", VIA)                X('v', "v", VIA) \
	X('f', "from", FROM)              X('f', "f", FROM) \
	X('t', "to", TO)                  X('t', "t", TO) \
	X('c', "call-id", CALL_ID)        X('i', "i", CALL_ID) \
	X('c', "cseq", CSEQ) \
	X('m', "max-forwards", MAX_FORWARDS) \
	X('c', "content-length", CONTENT_LENGTH) X('l', "l", CONTENT_LENGTH) \
	X('r', "route", ROUTE) \
	X('e', "expires", EXPIRES) \
	X('s', "supported", SUPPORTED)    X('k', "k", SUPPORTED) \
	X('p', "proxy-require", PROXY_REQUIRE) \
	X('r', "replaces", REPLACES) \
	X('j', "join", JOIN) \
	X('t', "target-dialog", TARGET_DIALOG) \
	X('u', "user-agent", USER_AGENT) \
	X('e', "event", EVENT)            X('o', "o", EVENT) \
	X('s', "session-expires", SESSION_EXPIRES) X('x', "x", SESSION_EXPIRES)

/* Two names in one slot: the compiler says that a row is overwritten. */
const struct sip_name sip_names[SIP_NAME_SLOTS] = {
#define X(first, name, id) [SLOT(sizeof name, first)] = {name ":"},
	NAMES(X)
#undef X
};
const uint8_t sip_name_ids[SIP_NAME_SLOTS] = {
#define X(first, name, id) [SLOT(sizeof name, first)] = SIP_H_##id,
	NAMES(X)
#undef X
};
