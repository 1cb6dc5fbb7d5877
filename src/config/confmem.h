/* What a configuration owns: blocks that are freed together with it (config floor, inside). One thread. */
#ifndef CONFMEM_H
#define CONFMEM_H

#include "holdfast/bytes.h"

struct confmem { struct confmem_block *blocks; };

/* n octets, zeroed, 16-aligned, or NULL. Freed only with the rest. */
void *confmem_alloc(struct confmem *m, size_t n) HF_MUST_USE;
struct hf_bytes confmem_copy(struct confmem *m, struct hf_bytes b) HF_MUST_USE; /* with a NUL behind it; p == NULL: no memory */
void confmem_free(struct confmem *m);

/* Every allocation of this floor comes through here. */
void *confmem_realloc(void *p, size_t n) HF_MUST_USE;
/* Tests: the allocation of this number (1 is the next) fails; 0 = off. */
extern long confmem_fail_at;

#endif
