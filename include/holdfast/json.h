/* A checked reader of JSON text (RFC 8259) by slices (base floor): check the whole text once, then step through its values.
 * Nothing is allocated; all views borrow the text. Pure; any thread. */
#ifndef HOLDFAST_JSON_H
#define HOLDFAST_JSON_H

#include "writer.h"

#define HF_JSON_DEPTH 16 /* deeper texts are refused: none of ours is, and the check recurses */

enum hf_json_kind { HF_JSON_NULL, HF_JSON_FALSE, HF_JSON_TRUE, HF_JSON_NUMBER, HF_JSON_STRING, HF_JSON_ARRAY, HF_JSON_OBJECT };

struct hf_json {
	enum hf_json_kind kind;
	struct hf_bytes raw; /* STRING: between the quotes, still escaped; ARRAY, OBJECT: with the brackets; else the word */
};

/* The text is one value with blanks around it and nothing else. HF_EINVAL: it is not; HF_ERANGE: too deep. */
enum hf_err hf_json_read(struct hf_bytes text, struct hf_json *out) HF_MUST_USE;

/* Steps through the members of an array or object that hf_json_read accepted: *at starts at 0. False: no more, or no container. key may be NULL. */
bool hf_json_next(const struct hf_json *in, size_t *at, struct hf_bytes *key, struct hf_json *out);

/* A member of an object by its name (as it stands in the text, unescaped names only). False: not there. */
bool hf_json_find(const struct hf_json *in, const char *key, struct hf_json *out);

/* The octets that an escaped string stands for. It is the inverse of hf_w_json: \u0000 to \u00ff are one octet each; above, UTF-8. */
void hf_w_json_text(struct hf_writer *w, struct hf_bytes raw);

#endif
