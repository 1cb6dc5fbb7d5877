/* Sources of live flows; see holders.h. */
#include "holders.h"

#include <string.h>

/* HOLDERS: it is not among them. */
static unsigned find(const struct holders *h, uint32_t from)
{
	unsigned i = 0;

	while (i < HOLDERS && (h->from[i] != from || !from))
		i++;
	return i;
}

/* The oldest one without a live flow; HOLDERS: there is none. */
static unsigned idle(const struct holders *h)
{
	unsigned i = 0;

	while (i < HOLDERS && h->flows[i])
		i++;
	return i;
}

void holders_open(struct holders *h, uint64_t source)
{
	uint32_t from = source_folded(source);
	unsigned i = find(h, from), last = HOLDERS - 1;
	uint16_t flows = i < HOLDERS ? h->flows[i] : 0;

	if (i == HOLDERS)
		i = idle(h);
	if (!from || i == HOLDERS)
		return;
	memmove(&h->from[i], &h->from[i + 1], (last - i) * sizeof h->from[0]);
	memmove(&h->flows[i], &h->flows[i + 1], (last - i) * sizeof h->flows[0]);
	h->from[last] = from;
	h->flows[last] = flows < UINT16_MAX ? flows + 1 : flows;
}

void holders_close(struct holders *h, uint64_t source)
{
	unsigned i = find(h, source_folded(source));

	if (i < HOLDERS && h->flows[i] && h->flows[i] < UINT16_MAX)
		h->flows[i]--;
}

void holders_rest(struct holders *h) { memset(h->flows, 0, sizeof h->flows); }

bool holders_full(const struct holders *h, uint64_t source, unsigned max)
{
	uint32_t from = source_folded(source);
	unsigned live = 0;

	for (unsigned i = 0; i < HOLDERS; i++)
		live += h->flows[i] != 0;
	return from && live >= max && find(h, from) == HOLDERS;
}
