/* A bump allocator for what lives as long as one parcel (base floor). One thread. Nothing is freed singly.
 * It works in memory that its owner gives and never grows: a full arena answers NULL, which its user treats as HF_ENOMEM. */
#ifndef HOLDFAST_ARENA_H
#define HOLDFAST_ARENA_H

#include "bytes.h"

struct hf_arena {
	uint8_t *p;
	size_t n, cap;
	long fail_at; /* tests: the allocation of this number (1 is the next) fails; 0 = off */
};

static inline void hf_arena_init(struct hf_arena *a, void *p, size_t cap) { *a = (struct hf_arena){p, 0, cap, 0}; }
static inline void hf_arena_reset(struct hf_arena *a) { a->n = 0; }
/* n octets, 16-aligned, not zeroed; NULL when full. */
void *hf_arena_alloc(struct hf_arena *a, size_t n) HF_MUST_USE;
/* The same, zeroed. */
void *hf_arena_zalloc(struct hf_arena *a, size_t n) HF_MUST_USE;
/* A copy of b inside the arena; p == NULL when full (and b not empty). */
struct hf_bytes hf_arena_copy(struct hf_arena *a, struct hf_bytes b) HF_MUST_USE;

#endif
