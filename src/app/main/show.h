/* The control client's commands and how their answers look to people (beside holdfastctl.c). One thread. */
#ifndef MAIN_SHOW_H
#define MAIN_SHOW_H

#include <stdio.h>

#include "holdfast/fields.h"
#include "holdfast/json.h"

struct command {
	const char *name, *args, *help;
	int min, max; /* words behind the name */
	bool message; /* without a key it is about a message on standard input */
	void (*show)(const struct hf_json *answer);
};
extern const struct command commands[];
extern const unsigned n_commands;

/* A member of an answer; false: not there. */
bool show_get(const struct hf_json *in, enum hf_field f, struct hf_json *out);
/* A field as printable text ("-" for null): the terminal never sees an octet that a peer chose. Valid until the 16th next call. */
const char *show_text(const struct hf_json *in, enum hf_field f);
/* A number of an answer, 0 when there is none; seconds as people say them, valid until the fourth next call. */
uint64_t show_number(const struct hf_json *in, enum hf_field f);
const char *show_duration(uint64_t s);
/* tables.c: whole answers. */
void show_servers(const struct hf_json *answer);
void show_sessions(const struct hf_json *answer);
void show_simulation(const struct hf_json *answer);
void show_trace(const struct hf_json *answer);
/* The lines of a refused or warned configuration. */
void show_findings(const struct hf_json *answer, FILE *to);

#endif
