/* What test_scan_seek.c holds of the scanner's seeks, where there is no SSE2. */
#define HF_NO_SSE2
#include "test_scan_seek.c"
