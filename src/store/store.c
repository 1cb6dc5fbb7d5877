/* Regions for the engine's tables: memory of this process; see holdfast/store.h. Knows the kernel's mappings, and nothing of what lives in them.
 * Pages that were never written cost nothing (MAP_NORESERVE), so an idle gateway stays small whatever `max-entries` says. */
#include "holdfast/store.h"

#include <errno.h>
#include <sys/mman.h>

enum hf_err hf_store_open(const char *pool, size_t n, struct hf_region *out)
{
	void *p;

	(void)pool; /* memory of the process needs no name */
	if (n == 0)
		return HF_EINVAL;
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return errno == ENOMEM ? HF_ENOMEM : HF_EIO;
	*out = (struct hf_region){p, n};
	return HF_OK;
}

void hf_store_close(struct hf_region *r)
{
	if (r->p)
		munmap(r->p, r->n);
	*r = (struct hf_region){0};
}
