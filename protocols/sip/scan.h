/* The scanner: one linear pass over a message finds, checks and remembers what routing needs. Pure; any thread.
 * It never changes the message; where a value is folded over lines the view is an unfolded copy in the arena.
 * Offsets are from the first octet of the message, so that edits can splice (RFC 3261 7, 16.3, 20, 25.1). */
#ifndef SIP_SCAN_H
#define SIP_SCAN_H

#include "holdfast/addr.h"
#include "holdfast/arena.h"

enum { SIP_MESSAGE_MAX = 65535 /* of max-message: the longest datagram, and no connection needs more */ };

/* Limits (RULES-SIP 2.4): what is longer or more is refused; each becomes an option where the front's rows say so. */
struct sip_limits {
	uint32_t message;    /* octets */
	uint32_t headers;    /* header lines */
	uint32_t line;       /* octets of one header, folds included */
	uint32_t call_id;    /* octets */
	uint32_t params;     /* parameters of one value that we read */
};

enum sip_method {
	SIP_INVITE, SIP_ACK, SIP_BYE, SIP_CANCEL, SIP_OPTIONS, SIP_REGISTER, SIP_SUBSCRIBE, SIP_NOTIFY, SIP_PUBLISH,
	SIP_PRACK, SIP_UPDATE, SIP_REFER, SIP_MESSAGE, SIP_INFO, SIP_OTHER,
};

struct sip_span { uint32_t at, n; }; /* a place in the message */

/* One Via value. */
struct sip_via {
	struct sip_span value;      /* the whole value, without the comma and blanks around it */
	struct sip_span params;     /* from the first ';' to the end of value (may be empty) */
	struct hf_bytes text;       /* the value, unfolded */
	struct hf_bytes transport;  /* "UDP" */
	struct hf_bytes sent_by;    /* "host[:port]" as written, blanks inside taken out */
	struct hf_bytes host;       /* IPv6 with its brackets */
	uint16_t port;              /* 0 = none given */
	struct hf_bytes branch, received, maddr, hf; /* p == NULL: absent */
	bool rport;                 /* the parameter is present */
	struct sip_span rport_span; /* "rport" or "rport=..." without the ';' */
	struct sip_span received_span; /* "received=..." likewise */
	bool rport_value;           /* it has a value */
};

/* A URI, taken apart (no unescaping). */
struct sip_uri {
	struct hf_bytes text, scheme, user /* with password */, host /* IPv6 with brackets */, params /* behind host:port, from ';' */, headers /* from '?' */;
	uint16_t port;              /* 0 = none */
	bool sip, sips;             /* scheme */
	bool lr;                    /* parameter lr, with or without a value */
	struct hf_bytes maddr, transport; /* parameters; p == NULL: absent */
};

/* A name-addr value of Route, Record-Route or Path, and where it stands. */
struct sip_route {
	struct sip_span value;      /* the whole value without the comma */
	struct sip_span cut;        /* what to cut so that this value alone is gone: with its comma, or the whole header line(s) */
	struct sip_span line;       /* the header line that it stands in, with folds and CRLF */
	struct sip_uri uri;
};

enum sip_fault { /* the first thing wrong, in the order in which it is to be answered */
	SIP_GOOD,
	SIP_GARBAGE,        /* no SIP start line: drop */
	SIP_VERSION,        /* 505 */
	SIP_BAD,            /* 400; msg.why says what */
	SIP_TOO_LONG,       /* 513 / 400: a limit; msg.why says which */
	SIP_INCOMPLETE,     /* streams: more octets are needed (msg.need, 0 = unknown). Never for datagrams */
	SIP_NO_LENGTH,      /* streams: no Content-Length: 400 and close */
};

#define SIP_MAX_ROUTES 4
#define SIP_MAX_VIAS 2

/* What stands behind `via` is filled as far as n_vias and n_routes say, and not even cleared beyond: most messages have two Vias and no Route. */
struct sip_msg {
	struct hf_bytes raw;        /* the message: header and body, without what follows */
	bool response;
	unsigned status;            /* of a response */
	struct hf_bytes method;     /* of a response: CSeq's */
	enum sip_method method_id;
	struct sip_span uri_span;
	struct sip_uri uri;         /* requests */
	uint32_t start_end;         /* offset behind the start line's CRLF: where new headers go */
	uint32_t head_end;          /* offset of the blank line's CRLF */
	uint32_t body;              /* offset behind it */
	bool answerable;            /* enough stands (Via, From, To, Call-ID, CSeq as text) to compose an answer */

	uint32_t n_vias;            /* all values in the message */
	struct sip_span via_cut;    /* what to cut so that the topmost value is gone */
	uint32_t via_at, via_end;   /* where a new Via header line goes, the offset of the first Via line; behind the last one */

	struct hf_bytes call_id, from_tag, to_tag; /* tags: p == NULL absent */
	struct hf_bytes from, to;   /* whole values, unfolded */
	struct hf_bytes from_addr, to_addr; /* their URIs, not taken apart: few have a use for that */
	struct hf_bytes cseq_method, cseq_text; /* number as written */
	struct hf_bytes cseq_value; /* the whole value, unfolded, readable or not: what an answer copies */
	uint32_t cseq;
	bool has_max_forwards;
	uint32_t max_forwards;
	struct sip_span max_forwards_span; /* the digits */

	uint32_t n_routes;          /* all Route values */
	struct hf_bytes routes_text; /* all Route values joined by ',' as received, for the loop hash */
	bool has_path_support, has_outbound; /* Supported lists path, outbound */
	struct hf_bytes proxy_require; /* values joined by ','; n == 0: none */
	struct hf_bytes replaces, join, target_dialog; /* unfolded values; p == NULL absent */
	struct hf_bytes event, subscription_state, user_agent;
	bool has_expires;
	uint32_t expires;           /* header, seconds; too large values are 2^32-1 */
	bool has_session_expires;
	uint32_t session_expires;
	bool has_content_length;
	uint32_t content_length;
	struct sip_span content_length_span; /* the digits */

	enum sip_fault fault;
	unsigned answer;            /* the status that the fault calls for: 400, 501 (unknown method, CSeq says another), 505, 513; 0: none */
	bool framed;                /* the end of the message is known. False on a stream: close it after the answer */
	const char *why;            /* a short phrase for the answer and the log, e.g. "two Call-ID" */
	const char *tag_why;        /* reason name for counting */
	size_t used;                /* octets of the input that this message took (leading CRLF included); SIP_INCOMPLETE: the leading CRLF alone */
	size_t need;                /* SIP_INCOMPLETE: at least so many octets are needed in all, 0 = unknown */

	struct sip_via via[SIP_MAX_VIAS]; /* the two topmost; of the second of a response the parameters may not have been read */
	struct sip_route route[SIP_MAX_ROUTES]; /* the topmost */
	struct sip_route route_last;
};

/* Scans one message. stream: framing by Content-Length and SIP_INCOMPLETE are possible; else raw is a whole datagram,
 * and octets behind Content-Length are left out of msg->raw. Returns msg->fault. Everything found before a fault stays in msg. */
enum sip_fault sip_scan(struct hf_bytes raw, bool stream, const struct sip_limits *limits, struct hf_arena *arena, struct sip_msg *msg);

/* One header line of a scanned message, for what the scanner does not keep (all Vias of an answer, a header used as key). */
struct sip_line {
	struct sip_span line;   /* with folds and CRLF */
	struct sip_span name;
	struct sip_span value;  /* blanks and folds at its ends left out */
	struct hf_bytes text;   /* of the value, still folded where it is: see sip_unfold */
	bool is_via, folded;
	uint8_t id;             /* the scanner's own number of the header */
};
/* The next header line; *at starts at msg->start_end. False: there is none (of what was scanned). Lines that are no header are passed over. */
bool sip_line_next(const struct sip_msg *msg, uint32_t *at, struct sip_line *out);
/* The next value of a comma list; *list is what is left of it, blanks and folds around values are left out. False: it is at its end. */
bool sip_value_next(struct hf_bytes *list, struct hf_bytes *value);
/* A value with each fold as one blank: the view itself when nothing is folded, else a copy. p == NULL: no room. */
struct hf_bytes sip_unfold(struct hf_bytes value, struct hf_arena *arena);
/* Takes a Via value of the message at `base` apart (spans are from base). False: not of the form; what was found stays in out. */
bool sip_via_read(struct hf_bytes value, const uint8_t *base, uint32_t max_params, struct hf_arena *arena, struct sip_via *out);
/* The places to cut so that the k topmost Route values are gone, ascending and apart; k at most SIP_MAX_ROUTES. Returns how many. */
unsigned sip_routes_cut(const struct sip_msg *msg, unsigned k, struct sip_span out[SIP_MAX_ROUTES]);

/* Takes a URI apart. False: not of the form. Ports above 65535, an IPv6 literal without its bracket and control octets are refused. */
bool sip_uri_read(struct hf_bytes text, struct sip_uri *out);
/* The value of a parameter `name` of `;a=b;c` text, without case; p == NULL absent, n == 0 no value. */
struct hf_bytes sip_param(struct hf_bytes params, struct hf_bytes name);
/* The canonical address of record "user@host" for keys (RULES 4): %HH undone, password, parameters and headers off, host in lower case. p == NULL: no room. */
struct hf_bytes sip_aor(const struct sip_uri *uri, struct hf_arena *arena);
/* Its user alone, or with "@host" in lower case. p == NULL: no room; n == 0: there is no user. */
struct hf_bytes sip_user(const struct sip_uri *uri, bool with_host, struct hf_arena *arena);
/* Text with %HH undone and ASCII letters small: a host, a URI parameter (RFC 3261 19.1.4). p == NULL: no room. */
struct hf_bytes sip_small_text(struct hf_bytes text, struct hf_arena *arena);
/* name-addr or addr-spec: the URI without brackets, and the rest from its ';' on. False: quotes, brackets or commas are wrong. */
bool sip_addr_split(struct hf_bytes value, struct hf_bytes *uri, struct hf_bytes *params);

#endif
