/* The sorted table of entries; see entries.h. It must not know loads, slots or servers. */
#include "entries.h"

uint32_t tick_of_life(uint64_t now_ms, uint32_t life_s)
{
	uint64_t now = now_ms / TICK_MS, end = (now_ms + (uint64_t)life_s * 1000 + TICK_MS - 1) / TICK_MS;

	if (end == now)
		end++;
	return (uint32_t)(end - now > LIFE_MAX ? now + LIFE_MAX : end) & TICK_MASK;
}

uint32_t tick_left(uint32_t expiry, uint64_t now_ms)
{
	uint32_t left = (expiry - (uint32_t)(now_ms / TICK_MS)) & TICK_MASK;

	return left > LIFE_MAX ? 0 : left;
}

uint32_t entries_seek(const struct entries *t, uint64_t fp, bool *found)
{
	uint32_t i = entries_home(t, fp);

	while (i < t->places && !packed_empty(&t->at[i]) && packed_fp(&t->at[i]) < fp)
		i++;
	*found = i < t->places && !packed_empty(&t->at[i]) && packed_fp(&t->at[i]) == fp;
	return i;
}

bool entries_insert(struct entries *t, uint32_t place, const struct entry *x)
{
	uint32_t end = place;

	while (end < t->places && !packed_empty(&t->at[end]))
		end++;
	if (end >= t->places)
		return false;
	memmove(&t->at[place + 1], &t->at[place], (end - place) * sizeof t->at[0]);
	t->at[place] = entry_pack(x);
	t->used++;
	return true;
}

void entries_remove(struct entries *t, uint32_t place)
{
	uint32_t end = place + 1;

	/* What stands behind its home moves one place towards it; the first that stands at home ends the run. */
	while (end < t->places && !packed_empty(&t->at[end]) && entries_home(t, packed_fp(&t->at[end])) < end)
		end++;
	memmove(&t->at[place], &t->at[place + 1], (end - place - 1) * sizeof t->at[0]);
	t->at[end - 1] = (struct packed){0};
	t->used--;
}

uint32_t entries_next(const struct entries *t, uint32_t place, uint64_t from, uint64_t to)
{
	uint32_t first = entries_home(t, from), last = entries_home(t, to);

	for (uint32_t i = place > first ? place : first; i < t->places; i++) {
		if (packed_empty(&t->at[i])) {
			if (i >= last)
				break;
			continue;
		}
		if (packed_fp(&t->at[i]) > to)
			break;
		if (packed_fp(&t->at[i]) >= from)
			return i;
	}
	return t->places;
}

bool entries_sound(const struct entries *t)
{
	uint64_t before = 0; /* 0 is no fingerprint */
	uint32_t used = 0, gap = 0; /* gap: the place behind the last empty one */

	for (uint32_t i = 0; i < t->places; i++) {
		uint64_t fp = packed_fp(&t->at[i]);
		uint32_t home;

		if (packed_empty(&t->at[i])) {
			gap = i + 1;
			continue;
		}
		home = entries_home(t, fp);
		if (fp <= before || home > i || home < gap)
			return false;
		before = fp;
		used++;
	}
	return used == t->used;
}
