/* Filling anew in steps, for change.c (private to the engine). The engine holds one `struct refill` if its method has `begin`. */
#ifndef HF_ENGINE_REFILL_H
#define HF_ENGINE_REFILL_H

#include <stddef.h>
#include <stdint.h>

struct hf_engine;

size_t refill_size(uint32_t n_slots); /* octets, zeroed by who takes them */
/* The visit from which on what is queued now has its fill; it is in force n_slots later. */
uint64_t refill_from(const struct hf_engine *e);
/* One tick's part of the fill, or of giving out its owners, within so much work (change.c); returns what it took. Something is queued. */
unsigned refill_tick(struct hf_engine *e, unsigned work);
void refill_all(struct hf_engine *e);

#endif
