/* Which header a name is, in its long and compact form and in any case (RFC 3261 7.3.1, 7.3.3, 20; the IANA registry).
 * Only names whose values the scanner reads are known; the other compact forms (c e s u d j y a n b) are letters of their own
 * and can't be mistaken for one of these. Called by the scanner for each header line. */
#include "scan_in.h"

static const uint8_t compact['z' - 'a' + 1] = {
	['f' - 'a'] = SIP_H_FROM,    ['i' - 'a'] = SIP_H_CALL_ID,   ['k' - 'a'] = SIP_H_SUPPORTED, ['l' - 'a'] = SIP_H_CONTENT_LENGTH,
	['m' - 'a'] = SIP_H_CONTACT, ['o' - 'a'] = SIP_H_EVENT,     ['r' - 'a'] = SIP_H_REFER_TO,  ['t' - 'a'] = SIP_H_TO,
	['v' - 'a'] = SIP_H_VIA,     ['x' - 'a'] = SIP_H_SESSION_EXPIRES,
};

#define NAME_MAX_LEN 18 /* Subscription-State */
#define PER_LENGTH 3    /* Call-ID, Contact, Expires */

static const struct { const char *name; uint8_t id; } names[NAME_MAX_LEN + 1][PER_LENGTH] = {
	[2] = {{"to", SIP_H_TO}},
	[3] = {{"via", SIP_H_VIA}},
	[4] = {{"from", SIP_H_FROM}, {"cseq", SIP_H_CSEQ}, {"join", SIP_H_JOIN}},
	[5] = {{"route", SIP_H_ROUTE}, {"event", SIP_H_EVENT}},
	[6] = {{"min-se", SIP_H_MIN_SE}},
	[7] = {{"call-id", SIP_H_CALL_ID}, {"contact", SIP_H_CONTACT}, {"expires", SIP_H_EXPIRES}},
	[8] = {{"replaces", SIP_H_REPLACES}, {"refer-to", SIP_H_REFER_TO}},
	[9] = {{"supported", SIP_H_SUPPORTED}},
	[12] = {{"max-forwards", SIP_H_MAX_FORWARDS}, {"record-route", SIP_H_RECORD_ROUTE}},
	[13] = {{"proxy-require", SIP_H_PROXY_REQUIRE}, {"target-dialog", SIP_H_TARGET_DIALOG}},
	[14] = {{"content-length", SIP_H_CONTENT_LENGTH}},
	[15] = {{"session-expires", SIP_H_SESSION_EXPIRES}},
	[18] = {{"subscription-state", SIP_H_SUBSCRIPTION_STATE}},
};

enum sip_header sip_header_id(struct hf_bytes name)
{
	if (name.n == 1 && sip_is(name.p[0], C_ALPHA))
		return (enum sip_header)compact[(name.p[0] | 0x20) - 'a'];
	if (name.n > NAME_MAX_LEN)
		return SIP_H_NONE;
	for (int i = 0; i < PER_LENGTH && names[name.n][i].name; i++)
		if (sip_word(name, names[name.n][i].name, name.n))
			return (enum sip_header)names[name.n][i].id;
	return SIP_H_NONE;
}
