/* WebSocket as a server speaks it (RFC 6455): the opening handshake (ws_open.c, ws_key.c) and frames (ws_frame.c).
 * Pure: octets in, octets out; any thread. Knows no socket and nothing of what the messages are. Called by websocket.c. */
#ifndef NET_WS_H
#define NET_WS_H

#include "holdfast/writer.h"

/* ---- the opening handshake (RFC 6455 4.2) ---- */

#define WS_HEAD_MAX 8192u  /* octets of the client's request: browsers send cookies, and other servers take no more either */
#define WS_ANSWER_MAX 512u /* octets of our answer */

struct ws_policy {
	const char *protocol;    /* the sub-protocol that must be asked for */
	struct hf_bytes origins; /* who may connect from a page, blanks between; empty: all. A client that names no origin is no browser */
};

enum ws_opening { WS_HEAD_MORE, WS_HEAD_GOOD, WS_HEAD_BAD };
/* GOOD: the first *used octets are the request. BAD: the connection is to end. Both: the answer stands in w, which has room for WS_ANSWER_MAX. */
enum ws_opening ws_open(struct hf_bytes got, const struct ws_policy *policy, size_t *used, struct hf_writer *w);

#define WS_KEY_LEN 24u
#define WS_ACCEPT_LEN 28u
/* Sec-WebSocket-Accept of a Sec-WebSocket-Key. */
void ws_accept(const uint8_t key[WS_KEY_LEN], uint8_t out[WS_ACCEPT_LEN]);

/* ---- frames (RFC 6455 5) ---- */

enum ws_opcode { WS_CONTINUATION, WS_TEXT, WS_BINARY, WS_CLOSE = 8, WS_PING, WS_PONG };
enum ws_code { WS_NORMAL = 1000, WS_GOING_AWAY = 1001, WS_PROTOCOL_ERROR = 1002, WS_BAD_TEXT = 1007, WS_TOO_LONG = 1009 };
#define WS_CONTROL_MAX 125u /* octets of a control frame */
#define WS_HEAD_OUT 10u     /* octets before a payload of ours, at most */

/* What is kept of a connection between reads; zero at its start. */
struct ws {
	uint32_t have; /* so many octets of a message in fragments stand, unmasked, before what has not been looked at */
	bool begun;    /* a message in fragments has begun */
	bool text;     /* it, or the last one, is text */
};

enum ws_got {
	WS_GOT_MORE,    /* nothing but what ping says; `left` octets wait for more */
	WS_GOT_MESSAGE, /* the first `size` octets are a message; `used` of them all were it and what came before */
	WS_GOT_LONG,    /* the first `size` octets, one more than there may be, are the beginning of a message; `code` is to be said, and nothing is taken any more */
	WS_GOT_CLOSE,   /* the client ends it; `code` is to be answered */
	WS_GOT_BAD,     /* what has come is no frame of a client's; `code` says why */
};
struct ws_in {
	size_t left, need; /* MORE: octets at the front that wait, and how many there must be at least before more can be said */
	size_t size, used; /* MESSAGE, LONG; never 0 */
	uint16_t code;
	bool ping;         /* the client wants a pong with this: of several pings the last one (RFC 6455 5.5.3) */
	uint8_t n_echo, echo[WS_CONTROL_MAX];
};
/* Takes frames up to the first whole message from p, which is written to: unmasked, and fragments joined, at its front. max: octets of a message. */
enum ws_got ws_take(struct ws *w, uint8_t *p, size_t n, size_t max, struct ws_in *in);

/* Writes what stands before a payload of n octets; returns its length. */
size_t ws_head(uint8_t out[WS_HEAD_OUT], enum ws_opcode opcode, size_t n);
size_t ws_head_len(size_t n);
/* May it be sent as text? */
bool ws_utf8(struct hf_bytes b);

#endif
