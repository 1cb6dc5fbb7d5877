/* The listings of the admin socket (app floor, inside). Control thread; they change nothing. */
#ifndef APP_LIST_H
#define APP_LIST_H

#include "command.h"
#include "gateway.h"
#include "holdfast/fields.h"

void list_export(struct gateway *g, struct json *j);
void list_session_log(struct gateway *g, struct json *j);
void list_services(struct gateway *g, struct json *j);
void list_pools(struct gateway *g, struct json *j);
void list_servers(struct gateway *g, struct json *j);
/* "marks":[...]: all that keeps new sessions, or all, from a server. */
void list_marks(const struct hf_server_view *v, struct json *j);
/* Seconds from or to a moment; null when there is none (ms 0). */
void list_seconds(enum hf_field field, uint64_t ms, uint64_t from, uint64_t to, struct json *j);
/* What slots are shared by: how many there are, and the weights of the servers that are up. */
struct shares {
	uint32_t slots;
	uint64_t weights;
};
struct shares list_shares(struct hf_engine *e); /* O(servers) */
/* "fair_slots": as many as the server's weight stands for; null unless it is up. */
void list_fair(const struct shares *s, const struct hf_server_view *v, struct json *j);
/* A whole answer. HF_ENOENT, HF_EEXIST, HF_EINVAL: nothing was written but `why`. */
enum hf_err list_where(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why) HF_MUST_USE;

/* explain.c: what would happen with a key or a message, and by which rule. A whole answer, likewise. */
enum hf_err explain(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why) HF_MUST_USE;

/* trace.c: whole answers. */
enum hf_err list_metrics(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why) HF_MUST_USE;
enum hf_err trace(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why) HF_MUST_USE;

/* simulate.c, sessions.c: they leave an errand in g->errand, whose answer it is. */
enum hf_err simulate(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why) HF_MUST_USE;
enum hf_err sessions(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why) HF_MUST_USE;
/* `move` and `forget`: a whole answer. */
enum hf_err session_change(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why) HF_MUST_USE;

/* token.c: a whole answer. */
enum hf_err token(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why) HF_MUST_USE;

/* where.c: the key that was typed, in the form that its pool's messages give. */
struct key_found {
	const struct hf_conf_pool *pool;
	struct hf_engine *engine;
	struct hf_key key; /* its text lies in the arena */
	struct hf_key place; /* what places a new session that has it: itself, or another key; fp 0: the fallback does */
};
enum hf_err key_find(struct gateway *g, const struct command *c, struct hf_arena *arena, struct key_found *out, struct hf_writer *why) HF_MUST_USE;
/* A server by its id, or null. */
void list_name(struct hf_engine *e, enum hf_field field, uint16_t id, struct json *j);

#endif
