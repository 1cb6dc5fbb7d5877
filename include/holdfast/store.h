/* Where the engine's tables live (store floor). Today memory of the process; a mapping that outlives it has the same form. Control thread. */
#ifndef HOLDFAST_STORE_H
#define HOLDFAST_STORE_H

#include <stddef.h>

#include "err.h"

struct hf_region {
	void *p;     /* page-aligned, zero where never written */
	size_t n;
};
/* A region for the pool of this name. HF_ENOMEM / HF_EIO. */
enum hf_err hf_store_open(const char *pool, size_t n, struct hf_region *out) HF_MUST_USE;
void hf_store_close(struct hf_region *r);

#endif
