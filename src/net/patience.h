/* How long asked.c and names.c wait before they ask or try again: pure functions of how often it was in vain, and of the times that are given.
 * Knows no name, timer or clock. Any thread. */
#ifndef NET_PATIENCE_H
#define NET_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Until a name is asked for again whose answer may be kept for so long: at least 5 s, at most an hour. */
uint64_t patience_kept_ms(uint32_t ttl_s);
/* Until a name is asked for again whose answer was none, `failed` times in a row before this one: 5 s, then twice as long, at most a minute. */
uint64_t patience_ask_ms(unsigned failed);
/* Until an address that could not be put in force is tried again, `refused` times in a row before this one: 2 s, then twice as long, at most 64 s. */
uint64_t patience_apply_ms(unsigned refused);

/* The addresses of a name in turn, while none answers probes. */
struct patience {
	uint64_t next_ms; /* when another may be tried */
	unsigned vain;    /* so many were, one after the other */
};
/* The one in use is another one by what the name says now. */
void patience_begin(struct patience *p, uint64_t now_ms);
/* May the one in use give way, which does not answer? */
bool patience_over(const struct patience *p, uint64_t now_ms);
/* It does, and another one of n (more than 0) is in use from now on: for 3 s at least while not all were tried, then twice as long each round, at most 96 s. One
 * that was not asked to give way for a minute had served, and all is as at first. */
void patience_next(struct patience *p, unsigned n, uint64_t now_ms);

#endif
