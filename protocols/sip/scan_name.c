/* Which header a name is, in its long and compact form and in any case (RFC 3261 7.3.1, 7.3.3, 20; the IANA registry).
 * Only names whose values the scanner reads are known; the other compact forms (m r c e s u d j y a n b) are letters of their own
 * and can't be mistaken for one of these. Called by the scanner for each header line. */
#include "scan_in.h"

static const uint8_t compact['z' - 'a' + 1] = {
	['f' - 'a'] = SIP_H_FROM,    ['i' - 'a'] = SIP_H_CALL_ID,   ['k' - 'a'] = SIP_H_SUPPORTED, ['l' - 'a'] = SIP_H_CONTENT_LENGTH,
	['o' - 'a'] = SIP_H_EVENT,   ['t' - 'a'] = SIP_H_TO,        ['v' - 'a'] = SIP_H_VIA,       ['x' - 'a'] = SIP_H_SESSION_EXPIRES,
};

#define NAME_MAX_LEN 15 /* Session-Expires; Subscription-State, which is longer than two words, is the caller's to tell */
#define PER_LENGTH 3    /* From, CSeq, Join */

/* By length: the first eight octets and the last eight; of a shorter name all and none. */
static const struct { char head[8], tail[8]; uint8_t id; } names[NAME_MAX_LEN + 1][PER_LENGTH] = {
	[2] = {{"to", "", SIP_H_TO}},
	[3] = {{"via", "", SIP_H_VIA}},
	[4] = {{"from", "", SIP_H_FROM}, {"cseq", "", SIP_H_CSEQ}, {"join", "", SIP_H_JOIN}},
	[5] = {{"route", "", SIP_H_ROUTE}, {"event", "", SIP_H_EVENT}},
	[7] = {{"call-id", "", SIP_H_CALL_ID}, {"expires", "", SIP_H_EXPIRES}},
	[8] = {{"replaces", "", SIP_H_REPLACES}},
	[9] = {{"supporte", "upported", SIP_H_SUPPORTED}},
	[12] = {{"max-forw", "forwards", SIP_H_MAX_FORWARDS}},
	[13] = {{"proxy-re", "-require", SIP_H_PROXY_REQUIRE}, {"target-d", "t-dialog", SIP_H_TARGET_DIALOG}},
	[14] = {{"content-", "t-length", SIP_H_CONTENT_LENGTH}},
	[15] = {{"session-", "-expires", SIP_H_SESSION_EXPIRES}},
};

enum sip_header sip_header_id(const uint8_t *at, size_t n)
{
	uint64_t head = sip_small(sip_word_at(at)), tail = 0;

	if (n == 1 && sip_is(at[0], C_ALPHA))
		return (enum sip_header)compact[(at[0] | 0x20) - 'a'];
	if (n > NAME_MAX_LEN)
		return SIP_H_NONE;
	if (n > 8)
		tail = sip_small(sip_word_at(at + n - 8));
	else if (n < 8)
		head &= ((uint64_t)1 << 8 * n) - 1;
	for (int i = 0; i < PER_LENGTH && names[n][i].id; i++)
		if (sip_word_at((const uint8_t *)names[n][i].head) == head && sip_word_at((const uint8_t *)names[n][i].tail) == tail)
			return (enum sip_header)names[n][i].id;
	return SIP_H_NONE;
}
