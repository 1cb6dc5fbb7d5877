/* Writes one JSON line of fields from holdfast/fields.h into memory that grows (app floor, inside). Control thread. */
#ifndef APP_JSON_H
#define APP_JSON_H

#include "holdfast/fields.h"
#include "holdfast/writer.h"

#define JSON_MAX (64u << 20) /* octets of an answer: 4096 servers in 64 pools stay below */

struct json {
	struct hf_writer w;
	bool comma; /* a value stands before the next one */
};

/* An item of an array has the field JSON_ITEM. */
#define JSON_ITEM HF_F_COUNT

struct json json_new(void);
void json_free(struct json *j);
/* No room was left: the text is cut and must not be sent. */
bool json_failed(const struct json *j);

void json_open(struct json *j, enum hf_field field, char bracket);
void json_close(struct json *j, char bracket);
void json_text(struct json *j, enum hf_field field, struct hf_bytes v);
void json_str(struct json *j, enum hf_field field, const char *v);
void json_uint(struct json *j, enum hf_field field, uint64_t v);
void json_hex(struct json *j, enum hf_field field, uint64_t v, int digits);
void json_bool(struct json *j, enum hf_field field, bool v);
void json_null(struct json *j, enum hf_field field);
/* A member whose name is a datum. */
void json_count(struct json *j, const char *name, uint64_t v);

#endif
