/* A wheel of deadlines; see wheel.h. A heap would look at some that have not been touched for seconds whenever one is set or taken off, and each such
 * look waits for memory. It knows nothing of what is due; hold.c calls it. */
#include "wheel.h"

#include <stddef.h>

enum { BITS = 8 }; /* of a slot's number */

static unsigned slot_at(uint64_t ms, unsigned level) { return (unsigned)(ms >> BITS * level) & (WHEEL_SLOTS - 1); }

/* What is further than the last level reaches comes down once in vain. */
static void put(struct wheel *w, struct wheel_item *i)
{
	uint64_t ahead = i->due_ms - w->now_ms;
	unsigned level = 0;
	struct wheel_item **at;

	if (ahead > UINT32_MAX)
		ahead = UINT32_MAX;
	while (ahead >> BITS * (level + 1))
		level++;
	at = &w->slot[level][slot_at(w->now_ms + ahead, level)];
	i->next = *at;
	i->at = at;
	if (i->next)
		i->next->at = &i->next;
	*at = i;
}

static void take_off(struct wheel_item *i)
{
	*i->at = i->next;
	if (i->next)
		i->next->at = i->at;
	i->at = NULL;
}

void wheel_set(struct wheel *w, struct wheel_item *i, uint64_t due_ms, uint64_t now_ms)
{
	wheel_stop(w, i);
	if (!w->n++)
		w->now_ms = now_ms;
	i->due_ms = due_ms > w->now_ms ? due_ms : w->now_ms + 1;
	put(w, i);
}

void wheel_stop(struct wheel *w, struct wheel_item *i)
{
	if (!i->at)
		return;
	take_off(i);
	w->n--;
}

/* A millisecond begins: what stands in slots that begin with it comes down. */
static void begin(struct wheel *w)
{
	w->now_ms++;
	for (unsigned level = 1; level < WHEEL_LEVELS && !slot_at(w->now_ms, level - 1); level++) {
		struct wheel_item **at = &w->slot[level][slot_at(w->now_ms, level)], *i;

		while ((i = *at)) {
			take_off(i);
			put(w, i);
		}
	}
}

struct wheel_item *wheel_due(struct wheel *w, uint64_t now_ms)
{
	while (w->n) {
		struct wheel_item *i = w->slot[0][slot_at(w->now_ms, 0)];

		if (i || w->now_ms >= now_ms)
			return i;
		begin(w);
	}
	return NULL;
}

uint64_t wheel_next(const struct wheel *w, uint64_t now_ms, unsigned within)
{
	uint64_t ms = w->now_ms;

	while (ms < now_ms + within && !w->slot[0][slot_at(ms, 0)] && (slot_at(ms, 0) || ms == w->now_ms))
		ms++;
	return ms;
}

struct wheel_item *wheel_any(const struct wheel *w)
{
	struct wheel_item *const *at = &w->slot[0][0], *const *end = at + WHEEL_LEVELS * WHEEL_SLOTS;

	while (at < end && !*at)
		at++;
	return at < end ? *at : NULL;
}
