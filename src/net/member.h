/* What net knows of a member for as long as the process lives, by its id (private to net). */
#ifndef NET_MEMBER_H
#define NET_MEMBER_H

#include <stdatomic.h>

#include "holdfast/net.h"
#include "turns.h"

struct gate { /* gate.h; by the pool's lock; what is atomic is also looked at without it */
	_Atomic uint32_t opening;      /* connections that are being opened, those asleep included */
	uint32_t turns;
	struct turns waits, asleep;   /* for their turn; after a dial that failed */
	uint32_t roused;               /* those asleep up to this turn have been told that somebody got through; 0: nobody has */
};

struct member_rt { /* control thread, but for what workers tell */
	struct gate gate;
	_Atomic uint32_t failures;  /* dials that failed in a row: told by workers, judged by the control thread */
	_Atomic uint32_t back;      /* dials that it took since it was down and failed one: likewise */
	_Atomic uint32_t unwell;    /* what a front has seen fail in a row: likewise */
	_Atomic uint64_t busy_until_ms; /* it asked for no new sessions until then: likewise; 0 = it did not */
	char last_failure[64];
	uint64_t last_failure_ms;
	char agent[HF_AGENT_SHOWN]; /* what its agent said last, as it may be shown ... */
	uint64_t agent_ms;          /* ... and when; 0: nothing yet */
	uint16_t agent_port;        /* 0: it has none */
};

#endif
