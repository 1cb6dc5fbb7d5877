/* The clocks (base floor). Only net and app read them; everything below takes times as arguments. */
#ifndef HOLDFAST_CLOCK_H
#define HOLDFAST_CLOCK_H

#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC; never 0. */
uint64_t hf_clock_ms(void);
/* Milliseconds of the epoch, by the system's clock, which may be set. */
uint64_t hf_clock_unix_ms(void);
/* The same in microseconds. */
uint64_t hf_clock_unix_us(void);
/* Microseconds of the monotonic clock, for what is ordered by it. */
uint64_t hf_clock_us(void);
/* Processor time of the calling thread in microseconds; a system call. */
uint64_t hf_clock_thread_us(void);
/* Fills n octets from the system's generator; ends the process when there is none. */
void hf_random(void *p, unsigned n);

#endif
