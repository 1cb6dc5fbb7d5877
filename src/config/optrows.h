/* The options that every protocol shares (config floor, inside). */
#ifndef OPTROWS_H
#define OPTROWS_H

#include "holdfast/config.h"

struct optrows {
	const struct hf_option *rows;
	unsigned n;
};

extern const struct optrows optrows_gateway; /* fill struct hf_conf_gateway */
extern const struct optrows optrows_service; /* fill struct hf_conf_service */
extern const struct optrows optrows_pool;    /* fill struct hf_conf_pool; those with HF_IN_SERVICE stand in a service too */

/* The row of that name, or NULL. */
const struct hf_option *optrows_find(const struct optrows *r, struct hf_bytes name);
static inline struct optrows optrows_of(const struct hf_front *f) { return (struct optrows){f->options, f->n_options}; }
/* Rows without read(): protocol, pool, listen and server, which load.c and endpoint.c read. listen and server may repeat. */
bool optrows_is_special(const struct hf_option *row);
bool optrows_repeats(const struct hf_option *row);
/* Does it take the front's own word for its probe? */
bool optrows_takes_probe(const struct hf_option *row);
/* The row's default as it would stand in the file, for a front (may be NULL); NULL: none. */
const char *optrows_default(const struct hf_option *row, const struct hf_front *front);

#endif
