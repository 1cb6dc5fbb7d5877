/* Telling what a decision looked at: each step as an object of fields, with a sentence (app floor, inside). Control thread. */
#ifndef APP_TELL_H
#define APP_TELL_H

#include "gateway.h"

#define TELL_TEXT 1024 /* octets of a sentence; a longer one is cut */

struct teller { /* of one story */
	struct json *j;
	struct hf_engine *engine;
	const struct hf_conf_service *service; /* NULL: of a key */
	struct hf_bytes message;
	uint64_t place;                        /* the first of the keys that place, 0: none */
	uint8_t text[TELL_TEXT];
	struct hf_writer w;
};

/* A step: begin, what fields it has, a sentence into what say gives, end. */
void tell_begin(struct teller *t, const char *step);
struct hf_writer *tell_say(struct teller *t);
void tell_end(struct teller *t);
/* The server's name, in v or a constant. */
const char *tell_name(struct teller *t, uint16_t id, struct hf_server_view *v);
void tell_key_text(struct hf_writer *w, const struct hf_key *k);

void tell_key(struct teller *t, const struct hf_key *k);
void tell_trace(struct teller *t, const struct hf_trace *trace);
/* "server" and "why" of the story. */
void tell_answer(struct teller *t, const struct hf_answer *a);

#endif
