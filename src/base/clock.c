/* The clocks and the system's randomness; see holdfast/clock.h. */
#include "holdfast/clock.h"

#include <sys/random.h>
#include <time.h>

#include "holdfast/err.h"

uint64_t hf_clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 + 1;
}

uint64_t hf_clock_unix_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t hf_clock_unix_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t hf_clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((uint64_t)t.tv_sec * 1000 + 1) * 1000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t hf_clock_thread_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void hf_random(void *p, unsigned n)
{
	HF_BUG_ON(n > 256 || getrandom(p, n, 0) != (long)n); /* up to 256 octets come whole */
}
