/* The toy front, as tests/front_toy/fronts.c and its test see it. */
#ifndef HOLDFAST_TOY_H
#define HOLDFAST_TOY_H

#include "holdfast/front.h"

extern const struct hf_front hf_toy_front;

enum { TOY_R_BAD_LINE = HF_REASON_FRONT };

struct toy_conf {
	uint64_t hold_max; /* ms */
};

#endif
