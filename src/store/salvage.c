/* Finds the whole records of a state file; see salvage.h. It knows no file: octets come through a function, so that any input can be tried.
 * A window slides over them that always holds the longest record; behind damage the search goes on at the next mark. Called by load.c. */
#include "salvage.h"

#include <stdlib.h>

#include "holdfast/hash.h"

#define WINDOW (4 * (size_t)RECORD_MAX) /* few moves of what is left over */

struct window {
	uint8_t *p;
	size_t at, n;
	bool end;
};

void salvage_key(const uint8_t hash_key[16], uint8_t key[16])
{
	hf_put64(key, hf_sip24(hash_key, HF_LIT("state:sign-1")));
	hf_put64(key + 8, hf_sip24(hash_key, HF_LIT("state:sign-2")));
}

uint64_t salvage_check(const uint8_t hash_key[16]) { return hf_sip24(hash_key, HF_LIT("state:check")); }

static const uint8_t open_key[16];

void salvage_head(struct hf_writer *w, uint64_t check)
{
	uint8_t payload[8];

	hf_put64(payload, check);
	record_write(w, open_key, SALVAGE_HEAD, hf_bytes_of(payload, sizeof payload));
}

/* Until the window holds a record of any length, or all that is left. */
static void fill(struct salvage *s, struct window *w)
{
	if (w->n - w->at >= RECORD_MAX || w->end)
		return;
	memmove(w->p, w->p + w->at, w->n - w->at);
	w->n -= w->at;
	w->at = 0;
	while (w->n < WINDOW && !w->end) {
		long got = s->read(s->arg, w->p + w->n, WINDOW - w->n);

		w->end = got <= 0;
		s->broken |= got < 0;
		w->n += got > 0 ? (size_t)got : 0;
	}
}

/* False: the file is of another hash key. A head that cannot be read says nothing. */
static bool head(struct salvage *s, struct window *w)
{
	struct record r;

	if (record_read(hf_bytes_of(w->p, w->n), open_key, &r) != RECORD_GOOD || r.type != SALVAGE_HEAD || r.payload.n != 8)
		return true;
	s->other_key = hf_get64(r.payload.p) != s->check;
	w->at = r.whole;
	return !s->other_key;
}

enum hf_err salvage_run(struct salvage *s)
{
	struct window w = {.p = malloc(WINDOW)};
	struct record r;

	if (!w.p)
		return HF_ENOMEM;
	fill(s, &w);
	if (!head(s, &w))
		goto out;
	for (fill(s, &w); w.at < w.n; fill(s, &w)) {
		struct hf_bytes left = hf_bytes_of(w.p + w.at, w.n - w.at);

		if (record_read(left, s->key, &r) == RECORD_GOOD) {
			s->records++;
			s->each(s->each_arg, r.type, r.payload);
			w.at += r.whole;
		} else { /* damaged, or cut off: the window would hold the rest if there were one */
			size_t n = record_seek(left);

			s->lost += n;
			w.at += n;
		}
	}
out:
	free(w.p);
	return HF_OK;
}
