/* Values of options, by their rows: reading, and writing as they would stand in a file (config floor, inside). Pure. */
#ifndef OPTVAL_H
#define OPTVAL_H

#include "holdfast/config.h"

/* Reads text into row's field of base (TEXT: a view of text). On failure why says what would be right, and the field is as it was. */
enum hf_err optval_read(const struct hf_option *row, struct hf_bytes text, void *base, struct hf_writer *why) HF_MUST_USE;
/* What may stand there: "1..64", "100ms..10m", "yes | no", "auto | table"; nothing when the row does not know. */
void optval_range(const struct hf_option *row, struct hf_writer *w);
/* Do two structs have the same value in row's field? CUSTOM: not known here, answers true. */
bool optval_same(const struct hf_option *row, const void *a, const void *b);
/* Copies the row's field from one struct to another. Of no CUSTOM or POOLS row. */
void optval_copy(const struct hf_option *row, const void *from, void *to);
/* Adds networks, ADDRESS or ADDRESS/BITS with `between` in between, to those that are there. HF_EINVAL, HF_ERANGE: one is none, or there are too many. */
enum hf_err optval_nets(struct hf_bytes text, char between, struct hf_nets *n) HF_MUST_USE;
/* Is `word` one of the words of a blank-separated list? */
bool optval_listed(const char *list, struct hf_bytes word);

#endif
