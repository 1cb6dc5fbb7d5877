/* Why a parcel or a flow ended (base floor). Every ending has one, and each is counted for its service.
 * One table makes the enum, the counter's name and its text. A front adds its own from HF_REASON_FRONT on. */
#ifndef HOLDFAST_REASON_H
#define HOLDFAST_REASON_H

#include <stdint.h>

/*	enum           name               what happened */
#define HF_REASONS(X) \
	X(NONE,         "none",            "nothing: it went its way") \
	X(DONE,         "done",            "both sides closed") \
	X(CLIENT_CLOSED,"client-closed",   "the client closed before its opening was complete") \
	X(CLIENT_ERROR, "client-error",    "the client's connection failed") \
	X(SERVER_CLOSED,"server-closed",   "the server closed before its answer was complete") \
	X(SERVER_ERROR, "server-error",    "the server's connection failed") \
	X(DIAL_FAILED,  "dial-failed",     "no server took the connection") \
	X(DIAL_TIMEOUT, "dial-timeout",    "a server did not take the connection in time") \
	X(SERVER_QUEUE, "server-queue",    "as many connections were being opened to its server as may be, and it could not wait longer") \
	X(HANDSHAKE_TIMEOUT, "handshake-timeout", "the opening was not complete in time") \
	X(LETTER_BOX_FULL, "letter-box-full", "the letter box of a worker was full") \
	X(NO_SERVER,    "no-server",       "no eligible server") \
	X(NO_LISTENER,  "no-listener",     "the return address names no listener of ours") \
	X(NO_ROUTE,     "no-route",        "the system has no route or refused to send") \
	X(SEND_FULL,    "send-full",       "the send buffer of the system was full") \
	X(TOO_BIG,      "too-big",         "longer than our limit") \
	X(TRUNCATED,    "truncated",       "the datagram was cut by the system") \
	X(NO_MEMORY,    "no-memory",       "a bound of memory was reached") \
	X(ENTRIES_FULL, "entries-full",    "as many sessions are remembered as may be: it went by the hash alone") \
	X(ENTRY_QUOTA,  "entry-quota",     "its source has had its share of the sessions that are remembered: it went by the hash alone") \
	X(FLOW_LIMIT,   "flow-limit",      "as many flows are open as may be") \
	X(SOURCE_LIMIT, "source-limit",    "as many connections of this source are open as may be") \
	X(ANSWER_LIMIT, "answer-limit",    "as many answers of our own went to this source as may in a second") \
	X(WEB_REFUSED,  "web-refused",     "no opening of a WebSocket, or one that may not be; answered by HTTP") \
	X(WEB_BROKEN,   "web-broken",      "no frame that a WebSocket's client may send") \
	X(PROXY_HEADER, "proxy-header",    "no PROXY header where one must be, or a broken one") \
	X(CALL_RATE,    "max-cps",         "as many new sessions were opened as may be in a second") \
	X(SESSIONS,     "max-sessions",    "its service's pools hold as many sessions as it may fill them to") \
	X(OVERLOAD,     "overload",        "no new session, as its worker was behind with what had come") \
	X(DENIED,       "denied",          "its source may not speak here, by allow and deny") \
	X(SOURCE_RATE,  "source-rate",     "as many messages of this source came as may in a second: a datagram was dropped, a connection waits") \
	X(UNRESOLVED,   "unresolved",      "the name of a next hop leads nowhere, or was not found out in time") \
	X(SEEK_LIMIT,   "seek-limit",      "as many names of next hops are being looked up as may be") \
	X(SOUGHT,       "sought",          "a message that came again while the name of its next hop was looked up") \
	X(HOLD_LIMIT,   "hold-limit",      "as many parcels are held as may be") \
	X(FLOW_GONE,    "flow-gone",       "the flow that was named is gone") \
	X(NOT_A_MEMBER, "not-a-member",    "the destination is outside the pool") \
	X(LOOP,         "loop",            "the destination is ourselves") \
	X(NO_SESSION,   "no-session",      "a datagram that would open a flow belongs to no live session") \
	X(MANY_SESSIONS,"many-sessions",   "a datagram that would open a flow names none of its source's several live sessions") \
	X(UNPROVEN,     "unproven",        "a server's datagram was held back, as its client had not shown that it receives any") \
	X(SILENT,       "silent",          "no datagram of a flow came for as long as may be") \
	X(SESSION_ENDED,"session-ended",   "a flow of datagrams ended with its session") \
	X(LISTENER_REMOVED, "listener-removed", "its listener is no longer configured") \
	X(SERVICE_REMOVED, "service-removed", "the service is no longer configured") \
	X(SERVER_OFF,   "server-off",      "its server was switched off") \
	X(SHUTDOWN,     "shutdown",        "the gateway stopped") \
	X(TLS_PLAIN,    "tls-plain",       "the first octets where TLS is spoken were no TLS") \
	X(TLS_CUT,      "tls-cut",         "the peer closed in the middle of the TLS handshake") \
	X(TLS_PROOF,    "tls-proof",       "a certificate was missing, or was not believed by who asked for it") \
	X(TLS_FAILED,   "tls-failed",      "the TLS handshake failed: no common version or cipher, or no sense") \
	X(BAD_STEP,     "bad-step",        "the front asked for what cannot be done")

enum hf_reason {
#define X(e, name, text) HF_R_##e,
	HF_REASONS(X)
#undef X
	HF_R_COUNT
};

#define HF_REASON_FRONT 56u /* a front's reasons are HF_REASON_FRONT + index into its table */
#define HF_REASON_MAX 128u
_Static_assert(HF_R_COUNT <= HF_REASON_FRONT, "reasons");

struct hf_reason_def {
	const char *name; /* lower case, digits, '-' : a counter's label */
	const char *text;
};

/* The common reasons; r below HF_R_COUNT. */
extern const struct hf_reason_def hf_reasons[HF_R_COUNT];

#endif
