/* Where the engine's tables live (store floor): memory that outlives the process, in a file of run-dir that is mapped whole. Control thread.
 * What a former process left is given back only if it ran since the machine was started (the kernel's boot id): a mapping cut off by a
 * power cut may hold anything. DESIGN 8. */
#ifndef HOLDFAST_STORE_H
#define HOLDFAST_STORE_H

#include <stddef.h>

#include "writer.h"

struct hf_region {
	void *p;     /* page-aligned; zero where nothing was ever written */
	size_t n;
	bool kept;   /* it holds what a former process left */
	bool lost;   /* there was such a file, but of another size, form or boot: it began anew */
	bool aside;  /* there was one of another hash key: it is DIR/POOL.tables.aside now, if there is room for both */
	int fd;      /* locked while it is open; -1: memory of this process alone */
	void *base;  /* the mapping, with the head before p */
};
/* The region of n octets for the pool of this name, in DIR/POOL.tables; dir NULL: memory of the process. check: a value of the hash key, which
 * does not tell it; tables of another one are set aside.
 * All of it is allocated at once, so that a full file system can stop no worker later. A file of another size, form or boot begins anew.
 * HF_EEXIST: another process has it; HF_ENOMEM: no room; HF_EIO. `why` then says which file and what to do. */
enum hf_err hf_store_open(const char *dir, const char *pool, size_t n, uint64_t check, struct hf_region *out, struct hf_writer *why) HF_MUST_USE;
/* Lets go; what a file holds stays. */
void hf_store_close(struct hf_region *r);

#endif
