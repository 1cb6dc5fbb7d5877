/* Nearest names; see nearest.h. Knows libc only. */
#include "nearest.h"

#include <stdio.h>

#define LEN_MAX 63 /* no name of ours is longer; a longer word is no slip of the fingers */

static unsigned min2(unsigned a, unsigned b) { return a < b ? a : b; }

/* Optimal string alignment: insertions, deletions, changes and swaps of neighbours, letters without case. */
static unsigned distance(struct hf_bytes a, struct hf_bytes b)
{
	unsigned rows[3][LEN_MAX + 1], *two = rows[0], *one = rows[1], *cur = rows[2];

	for (unsigned j = 0; j <= b.n; j++)
		one[j] = j;
	for (unsigned i = 1; i <= a.n; i++) {
		unsigned *spare = two;

		cur[0] = i;
		for (unsigned j = 1; j <= b.n; j++) {
			unsigned same = hf_lower(a.p[i - 1]) == hf_lower(b.p[j - 1]);

			cur[j] = min2(one[j - 1] + !same, min2(one[j], cur[j - 1]) + 1);
			if (i > 1 && j > 1 && hf_lower(a.p[i - 1]) == hf_lower(b.p[j - 2]) && hf_lower(a.p[i - 2]) == hf_lower(b.p[j - 1]))
				cur[j] = min2(cur[j], two[j - 2] + 1);
		}
		two = one;
		one = cur;
		cur = spare;
	}
	return one[b.n];
}

struct nearest nearest_to(struct hf_bytes wanted)
{
	/* Two slips, or one in three octets of a long name; farther off is another word. */
	return (struct nearest){wanted, NULL, (wanted.n > 8 ? (unsigned)wanted.n / 3 : 2) + 1};
}

void nearest_try(struct nearest *n, const char *name)
{
	struct hf_bytes b = hf_bytes_str(name);
	unsigned d;

	if (n->wanted.n > LEN_MAX || b.n > LEN_MAX)
		return;
	d = distance(n->wanted, b);
	if (d < n->distance && d < b.n) {
		n->name = name;
		n->distance = d;
	}
}

const char *nearest_text(const struct nearest *n)
{
	static _Thread_local char ring[2][LEN_MAX + 32];
	static _Thread_local unsigned at;
	char *t = ring[at++ & 1];

	t[0] = 0;
	if (n->name)
		snprintf(t, sizeof ring[0], "; did you mean %.*s?", LEN_MAX, n->name);
	return t;
}
