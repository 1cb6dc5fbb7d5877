/* The known names that are nearest to a mistyped one (base floor). Pure; any thread. */
#ifndef HOLDFAST_NEAREST_H
#define HOLDFAST_NEAREST_H

#include "writer.h"

#define HF_NEAREST 3 /* names that are offered */

/* Edits (insert, delete, replace, swap of neighbours; case is free) between two names; octets behind the 64th are not looked at. */
unsigned hf_edits(struct hf_bytes a, struct hf_bytes b);

/* Whether `word` is likely a slip for `name`, or is it: an edit for each three of its letters, and at most two. */
bool hf_slip(struct hf_bytes word, struct hf_bytes name);

/* Keeps the HF_NEAREST names nearest to `wanted`; what is added must outlive it. */
struct hf_nearest {
	struct hf_bytes wanted, names[HF_NEAREST];
	unsigned edits[HF_NEAREST], n;
};
void hf_nearest_add(struct hf_nearest *near, struct hf_bytes name);
/* "a, b, c"; nothing when none was added. */
void hf_w_nearest(struct hf_writer *w, const struct hf_nearest *near);

#endif
