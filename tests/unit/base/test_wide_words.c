/* What test_wide.c holds of sixteen octets, of the words that stand in for them. */
#define HF_NO_SSE2
#include "test_wide.c"
