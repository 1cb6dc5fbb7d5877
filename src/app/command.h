/* What a line on the admin socket asks for (app floor, inside). Pure: line in, command out. */
#ifndef APP_COMMAND_H
#define APP_COMMAND_H

#include "holdfast/writer.h"

#define COMMAND_MESSAGE_MAX 65536 /* octets of a message that is to be explained: no datagram is longer */
#define COMMAND_LINE_MAX (2 * COMMAND_MESSAGE_MAX + 512) /* octets of a line, its end included: such a message in hex, and the words before it */
#define COMMAND_KEY_MAX 4096      /* octets of a key; no real one is near */
#define COMMAND_WEIGHT_MAX 256
#define COMMAND_LIMIT 100         /* sessions that are listed, unless said otherwise ... */
#define COMMAND_LIMIT_MAX 10000   /* ... and at most: about 2 MB */

#define COMMAND_TTL_S 86400u      /* of a token: a day, as a session lingers ... */
#define COMMAND_TTL_MAX_S (3650u * 86400u) /* ... and at most ten years, as a file that is handed out once may be used */

enum command_kind { COMMAND_STATUS, COMMAND_SERVERS, COMMAND_WHERE, COMMAND_DRAIN, COMMAND_UNDRAIN, COMMAND_OFF, COMMAND_ON, COMMAND_WEIGHT, COMMAND_RELOAD, COMMAND_EXPLAIN,
	COMMAND_SIMULATE, COMMAND_SESSIONS, COMMAND_MOVE, COMMAND_FORGET, COMMAND_TOKEN, COMMAND_METRICS, COMMAND_TRACE };

/* All views borrow the line. */
struct command {
	enum command_kind kind;
	struct hf_bytes pool;    /* of --pool P or P/S; empty: not said */
	struct hf_bytes server;  /* DRAIN, UNDRAIN, OFF, ON, WEIGHT, SIMULATE, MOVE; SESSIONS, TOKEN: may be empty */
	struct hf_bytes user;    /* TOKEN: may be empty, where a server is named */
	uint64_t ttl_s;          /* TOKEN */
	struct hf_bytes key;     /* WHERE, EXPLAIN, MOVE, FORGET: [KIND:]KEY, blanks inside kept; TRACE: what the messages of a session share */
	struct hf_bytes message; /* EXPLAIN: hex digits, instead of a key */
	struct hf_bytes service, from, via; /* EXPLAIN of a message; may be empty */
	struct hf_bytes value;   /* as typed behind an option that is read further: what comes of it stands below */
	struct hf_bytes change;  /* SIMULATE: add, remove, drain, undrain or weight */
	uint32_t limit;          /* SESSIONS */
	uint32_t weight;         /* WEIGHT, SIMULATE: 0..256 */
	bool weight_of_file;     /* WEIGHT: back to the file's */
};

/* line: without its end. HF_EINVAL / HF_ERANGE: `why` says what is wrong and what would be right. */
enum hf_err command_read(struct hf_bytes line, struct command *out, struct hf_writer *why) HF_MUST_USE;

/* Octets that somebody typed, quoted, escaped and cut, for a sentence. */
void command_quote(struct hf_writer *why, struct hf_bytes typed);

#endif
