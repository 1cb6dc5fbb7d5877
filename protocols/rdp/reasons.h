/* Why the RDP front ends a flow or counts a fact: one table makes enum, counter and text (holdfast/reason.h). */
#ifndef HOLDFAST_RDP_REASONS_H
#define HOLDFAST_RDP_REASONS_H

#include "holdfast/reason.h"

/*	enum              name                what happened */
#define RDP_REASONS(X) \
	X(NOT_RDP,          "not-rdp",          "the first octet belongs to another protocol (TLS, HTTP, a pre-connection blob, a scanner)") \
	X(BLOB,             "blob",             "a pre-connection blob whose version or length is not its own") \
	X(SECURITY,         "security",         "the client offers no security protocol that `require` asks for; it was told so") \
	X(TPKT_VERSION,     "tpkt-version",     "the TPKT version is not 3") \
	X(TPKT_LENGTH,      "tpkt-length",      "the TPKT length is below 11 or above 259 octets; an over-long user name or token makes clients send that") \
	X(NOT_CR,           "not-cr",           "not an X.224 Connection Request of class 0") \
	X(LI_MISMATCH,      "li-mismatch",      "the length indicator is not the TPKT length less 5; an over-long user name makes clients wrap it") \
	X(UNTERMINATED,     "unterminated",     "a token or cookie line without CR LF") \
	X(NUL,              "nul",              "a NUL inside a token or cookie line") \
	X(CONTROL,          "control",          "a bare CR or LF inside a token or cookie line") \
	X(DUPLICATE,        "duplicate",        "two cookie lines or two token lines") \
	X(NEGREQ_TYPE,      "negreq-type",      "an empty line, or octets that are no negotiation block where one is due") \
	X(NEGREQ_LENGTH,    "negreq-length",    "the length field of the negotiation block is not 8") \
	X(NEGREQ_TRUNCATED, "negreq-truncated", "the negotiation block is cut") \
	X(CORRELATION,      "correlation",      "the correlation block is missing, cut or not of its form") \
	X(TRAILING,         "trailing",         "octets behind the last block of the request") \
	X(TOKEN_OUTSIDE,    "token-outside",    "a token names no member of the pool; it was ignored") \
	X(TOKEN_PORT,       "token-port",       "it names a member's address, but another port than its server line has") \
	X(TOKEN_FORGED,     "token-forged",     "a token says that we signed it, and we did not; it was ignored") \
	X(TOKEN_EXPIRED,    "token-expired",    "a token that we signed has had its time; it was ignored") \
	X(TOKEN_SYNTAX,     "token-syntax",     "a msts token is neither an address nor a number; it was taken as opaque") \
	X(COLLECTION_UNKNOWN, "collection-unknown", "a token names a collection that the service has no pool for; its own pool was asked") \
	X(TOKEN_AND_COOKIE, "token-and-cookie", "both lines in one request; the token decided") \
	X(KEY_CONTROL,      "key-control",      "control octets in a user name; it was no key") \
	X(KEY_WEAK,         "key-weak",         "a user name cut by its domain or computer name; it was joined with the source address") \
	X(KEY_SHARED,       "key-shared",       "a user name that was live from as many addresses as user-sources allows; it was joined with the source address") \
	X(REDIRECT_LOOP,    "redirect-loop",    "the user came back again and again within seconds, and no session lasted: likely the client drops the token of a redirect") \
	X(SOURCE_CROWDED,   "source-crowded",   "as many clients without a user name as source-limit allows are on one host; another bond of their address was asked for") \
	X(NEG_FAILURE,      "neg-failure",      "the host refused the security protocols offered") \
	X(NO_CONFIRM,       "no-confirm",       "the host answered with something else than a Connection Confirm") \
	X(UDP_SHORT,        "udp-short",        "a datagram shorter than its header, or a SYN that is not filled up to 1132 octets") \
	X(UDP_FLAGS,        "udp-flags",        "a SYN datagram that acknowledges, ends or carries something") \
	X(UDP_MTU,          "udp-mtu",          "a SYN datagram whose MTU is not within 1132 to 1232") \
	X(UDP_NO_FLOW,      "udp-no-flow",      "a datagram of a UDP transport that is not open here (any more)")

enum rdp_reason {
	RDP_R_BEFORE_FIRST = HF_REASON_FRONT - 1,
#define X(e, name, text) RDP_R_##e,
	RDP_REASONS(X)
#undef X
	RDP_R_END
};
#define RDP_REASONS_N (RDP_R_END - HF_REASON_FRONT)
_Static_assert(RDP_R_END <= HF_REASON_MAX, "reasons");

#endif
