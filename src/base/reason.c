/* The common reasons; see holdfast/reason.h. */
#include "holdfast/reason.h"

const struct hf_reason_def hf_reasons[HF_R_COUNT] = {
#define X(e, name, text) {name, text},
	HF_REASONS(X)
#undef X
};
