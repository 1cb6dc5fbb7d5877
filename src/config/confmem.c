/* The memory of a configuration; see confmem.h. Knows libc only. */
#include "confmem.h"

#include <stdlib.h>

struct confmem_block {
	_Alignas(16) struct confmem_block *next;
};

long confmem_fail_at;

void *confmem_realloc(void *p, size_t n)
{
	if (confmem_fail_at && --confmem_fail_at == 0)
		return NULL;
	return realloc(p, n);
}

void *confmem_alloc(struct confmem *m, size_t n)
{
	struct confmem_block *b;

	if (n > SIZE_MAX - sizeof *b)
		return NULL;
	b = confmem_realloc(NULL, sizeof *b + n);
	if (!b)
		return NULL;
	memset(b, 0, sizeof *b + n);
	b->next = m->blocks;
	m->blocks = b;
	return b + 1;
}

struct hf_bytes confmem_copy(struct confmem *m, struct hf_bytes b)
{
	char *p = confmem_alloc(m, b.n + 1);

	if (p && b.n)
		memcpy(p, b.p, b.n);
	return hf_bytes_of(p, p ? b.n : 0);
}

void confmem_free(struct confmem *m)
{
	while (m->blocks) {
		struct confmem_block *next = m->blocks->next;

		free(m->blocks);
		m->blocks = next;
	}
}
