/* The parts of `carp` that its tests check one by one (private to the engine). */
#ifndef HF_ENGINE_CARP_H
#define HF_ENGINE_CARP_H

#include "method.h"

uint32_t carp_log(unsigned i); /* T[i], i = 0..4096: log2(1 + i/4096) with 31 fraction bits */
uint64_t carp_draw(uint64_t seed, uint32_t slot);

#endif
