/* The nearest name, if any is near enough; see nearest.h. */
#include "nearest.h"

#include <stdio.h>

#include "holdfast/nearest.h"

#define LEN_MAX 63 /* no name of ours is longer; a longer word is no slip of the fingers */

struct nearest nearest_to(struct hf_bytes wanted)
{
	/* Two slips, or one in three octets of a long name; farther off is another word. */
	return (struct nearest){wanted, NULL, (wanted.n > 8 ? (unsigned)wanted.n / 3 : 2) + 1};
}

/* What other programs call it; "on" would be nearest to "no". */
static bool is_same(struct hf_bytes wanted, const char *name)
{
	static const struct { const char *theirs, *ours; } words[] = {{"on", "yes"}, {"true", "yes"}, {"false", "no"}};

	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (hf_bytes_eq(wanted, hf_bytes_str(words[i].theirs)) && strcmp(name, words[i].ours) == 0)
			return true;
	return false;
}

void nearest_try(struct nearest *n, const char *name)
{
	struct hf_bytes b = hf_bytes_str(name);
	unsigned d;

	if (n->wanted.n > LEN_MAX || b.n > LEN_MAX)
		return;
	d = is_same(n->wanted, name) ? 0 : hf_edits(n->wanted, b);
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
