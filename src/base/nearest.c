/* Nearest names; see holdfast/nearest.h. Knows libc only. */
#include "holdfast/nearest.h"

#define NAME_MAX_OCTETS 64 /* longer than any name of ours; bounds the rows below */

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* Optimal string alignment with three rolling rows. */
unsigned hf_edits(struct hf_bytes a, struct hf_bytes b)
{
	unsigned rows[3][NAME_MAX_OCTETS + 1], *two = rows[0], *one = rows[1], *now = rows[2];

	a = hf_bytes_sub(a, 0, NAME_MAX_OCTETS);
	b = hf_bytes_sub(b, 0, NAME_MAX_OCTETS);
	for (unsigned j = 0; j <= b.n; j++)
		two[j] = one[j] = j;
	for (unsigned i = 1; i <= a.n; i++) {
		unsigned *old = two;

		now[0] = i;
		for (unsigned j = 1; j <= b.n; j++) {
			uint8_t x = hf_lower(a.p[i - 1]), y = hf_lower(b.p[j - 1]);

			now[j] = least(one[j - 1] + (x != y), least(one[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && x == hf_lower(b.p[j - 2]) && y == hf_lower(a.p[i - 2]))
				now[j] = least(now[j], two[j - 2] + 1);
		}
		two = one;
		one = now;
		now = old;
	}
	return one[b.n];
}

bool hf_slip(struct hf_bytes word, struct hf_bytes name)
{
	unsigned most = name.n >= 6 ? 2 : name.n >= 3 ? 1 : 0;

	return hf_edits(word, name) <= most;
}

void hf_nearest_add(struct hf_nearest *near, struct hf_bytes name)
{
	unsigned d = hf_edits(near->wanted, name), at = near->n;

	while (at > 0 && near->edits[at - 1] > d)
		at--;
	if (at == HF_NEAREST)
		return;
	if (near->n < HF_NEAREST)
		near->n++;
	for (unsigned i = near->n - 1; i > at; i--) {
		near->names[i] = near->names[i - 1];
		near->edits[i] = near->edits[i - 1];
	}
	near->names[at] = name;
	near->edits[at] = d;
}

void hf_w_nearest(struct hf_writer *w, const struct hf_nearest *near)
{
	for (unsigned i = 0; i < near->n; i++) {
		if (i)
			hf_w_str(w, ", ");
		hf_w_printable(w, near->names[i]);
	}
}
