/* See patience.h. Called by asked.c and names.c. */
#include "patience.h"

#define TTL_MIN_S 5
#define TTL_MAX_S 3600 /* a server that has moved is found within the hour, whatever was said */
#define RETRY_MIN_MS 5000
#define RETRY_MAX_MS 60000
#define AGAIN_MS 2000
#define NEXT_MS 3000 /* an address is probed for so long at least */
#define LONG_MS 60000
#define DOUBLINGS 5  /* no wait grows beyond 32 times what it was: one and a half minutes */

static uint64_t longer(uint64_t ms, unsigned times) { return ms << (times < DOUBLINGS ? times : DOUBLINGS); }

uint64_t patience_kept_ms(uint32_t ttl_s) { return 1000ull * (ttl_s < TTL_MIN_S ? TTL_MIN_S : ttl_s > TTL_MAX_S ? TTL_MAX_S : ttl_s); }

uint64_t patience_ask_ms(unsigned failed)
{
	uint64_t ms = longer(RETRY_MIN_MS, failed);

	return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
}

uint64_t patience_apply_ms(unsigned refused) { return longer(AGAIN_MS, refused); }

void patience_begin(struct patience *p, uint64_t now_ms) { *p = (struct patience){.next_ms = now_ms + NEXT_MS}; }

bool patience_over(const struct patience *p, uint64_t now_ms) { return now_ms >= p->next_ms; }

void patience_next(struct patience *p, unsigned n, uint64_t now_ms)
{
	p->vain = now_ms - p->next_ms < LONG_MS ? p->vain + 1 : 1;
	p->next_ms = now_ms + longer(NEXT_MS, p->vain / n);
}
