/* The one name that was probably meant, or none: what is far off is another word (config floor, inside; over holdfast/nearest.h). Pure. */
#ifndef NEAREST_H
#define NEAREST_H

#include "holdfast/bytes.h"

struct nearest {
	struct hf_bytes wanted;
	const char *name;   /* the best so far; NULL: none is near enough */
	unsigned distance;
};

struct nearest nearest_to(struct hf_bytes wanted);
/* Offers a name. */
void nearest_try(struct nearest *n, const char *name);
/* "; did you mean NAME?" or "", valid until the second next call of this thread. */
const char *nearest_text(const struct nearest *n);

#endif
