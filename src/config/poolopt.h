/* Options that name pools by what messages say: `OPTION = WORD POOL`, a line each (config floor, inside; HF_OPT_POOLS). */
#ifndef POOLOPT_H
#define POOLOPT_H

#include "holdfast/config.h"

/* The pool of such a value; empty: it is none. */
struct hf_bytes poolopt_name(struct hf_bytes text) HF_MUST_USE;
/* Adds the line to a struct hf_pool_words. */
enum hf_err poolopt_read(struct hf_bytes text, void *field, struct hf_writer *why);
/* Names have become numbers of the service's pools. */
void poolopt_settle(struct hf_conf_service *v);

#endif
