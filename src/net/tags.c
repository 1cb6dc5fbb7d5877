/* The table of tags; see tags.h. Open, each as near behind its own place as there is room; what is taken out leaves no mark, for what stands behind it
 * moves up. Called by hold.c, which knows what has a tag. */
#include "tags.h"

#include <stdlib.h>

static uint32_t place(const struct tags *t, uint64_t tag) { return tag >> 32 & t->mask; }

void tags_put(struct tags *t, uint64_t tag, void *of)
{
	uint32_t i = place(t, tag);

	while (t->cell[i].of)
		i = (i + 1) & t->mask;
	t->cell[i] = (struct tag_cell){tag, of};
}

bool tags_widen(struct tags *t, uint32_t n)
{
	struct tags old = *t, wide = {calloc(2 * (size_t)n, sizeof *wide.cell), 2 * n - 1};

	if (!wide.cell)
		return false;
	for (uint32_t i = 0; old.cell && i <= old.mask; i++)
		if (old.cell[i].of)
			tags_put(&wide, old.cell[i].tag, old.cell[i].of);
	free(old.cell);
	*t = wide;
	return true;
}

bool tags_take(struct tags *t, uint64_t tag, const void *of)
{
	uint32_t hole = place(t, tag);

	while (t->cell[hole].of && (t->cell[hole].of != of || t->cell[hole].tag != tag))
		hole = (hole + 1) & t->mask;
	if (!t->cell[hole].of)
		return false;
	for (uint32_t i = (hole + 1) & t->mask; t->cell[i].of; i = (i + 1) & t->mask)
		if (((i - place(t, t->cell[i].tag)) & t->mask) >= ((i - hole) & t->mask)) { /* its own place is not behind the hole */
			t->cell[hole] = t->cell[i];
			hole = i;
		}
	t->cell[hole].of = NULL;
	return true;
}
