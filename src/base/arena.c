/* The parcel's allocator; see holdfast/arena.h. Knows libc only. */
#include "holdfast/arena.h"

void *hf_arena_alloc(struct hf_arena *a, size_t n)
{
	size_t at = (a->n + 15) & ~(size_t)15;

	if (a->fail_at && --a->fail_at == 0)
		return NULL;
	if (at > a->cap || n > a->cap - at)
		return NULL;
	a->n = at + n;
	return a->p + at;
}

void *hf_arena_zalloc(struct hf_arena *a, size_t n)
{
	void *p = hf_arena_alloc(a, n);

	if (p)
		memset(p, 0, n);
	return p;
}

struct hf_bytes hf_arena_copy(struct hf_arena *a, struct hf_bytes b)
{
	void *p = hf_arena_alloc(a, b.n);

	if (!p)
		return HF_NONE;
	if (b.n)
		memcpy(p, b.p, b.n);
	return hf_bytes_of(p, b.n);
}
