/* Records of a table's entries; see records.h. Chains by fingerprint; it must not know entries or servers. */
#include "records.h"

#include <stddef.h>
#include <stdlib.h>

static struct record **chain(const struct records *t, uint64_t fp) { return &t->bucket[fp & (t->n_buckets - 1)]; }

struct record *records_find(const struct records *t, uint64_t fp)
{
	struct record *r = t->n_buckets ? *chain(t, fp) : NULL;

	while (r && r->fp != fp)
		r = r->next;
	return r;
}

/* Twice the buckets; without memory the chains just stay longer. */
static void grow(struct records *t)
{
	struct records wide = {NULL, t->n_buckets ? t->n_buckets * 2 : 16, t->used};

	wide.bucket = calloc(wide.n_buckets, sizeof(struct record *));
	if (!wide.bucket)
		return;
	for (uint32_t i = 0; i < t->n_buckets; i++)
		for (struct record *r = t->bucket[i], *next; r; r = next) {
			struct record **to = chain(&wide, r->fp);

			next = r->next;
			r->next = *to;
			*to = r;
		}
	free(t->bucket);
	*t = wide;
}

struct record *records_put(struct records *t, uint64_t fp, struct hf_bytes text)
{
	struct record *r;

	text = hf_bytes_sub(text, 0, RECORD_TEXT_MAX);
	if (t->used >= t->n_buckets)
		grow(t);
	r = t->n_buckets ? calloc(1, offsetof(struct record, text) + text.n) : NULL;
	if (!r)
		return NULL;
	r->fp = fp;
	r->text_n = (uint8_t)text.n;
	if (text.n)
		memcpy(r->text, text.p, text.n);
	r->next = *chain(t, fp);
	*chain(t, fp) = r;
	t->used++;
	return r;
}

uint64_t record_alias(const struct record *r) { return r->has_alias ? hf_get64(r->text + r->text_n) : 0; }

void records_alias(struct records *t, uint64_t fp, uint64_t alias_of)
{
	struct record **at = t->n_buckets ? chain(t, fp) : NULL, *wide;

	while (at && *at && (*at)->fp != fp)
		at = &(*at)->next;
	if (!at || !*at)
		return;
	(*at)->has_alias = false;
	wide = alias_of ? realloc(*at, offsetof(struct record, text) + (*at)->text_n + sizeof alias_of) : NULL;
	if (!wide)
		return;
	*at = wide;
	wide->has_alias = true;
	hf_put64(wide->text + wide->text_n, alias_of);
}

void records_drop(struct records *t, uint64_t fp)
{
	struct record **at = t->n_buckets ? chain(t, fp) : NULL, *r;

	while (at && *at && (*at)->fp != fp)
		at = &(*at)->next;
	if (!at || !*at)
		return;
	r = *at;
	*at = r->next;
	free(r);
	t->used--;
}

void records_fini(struct records *t)
{
	for (uint32_t i = 0; i < t->n_buckets; i++)
		for (struct record *r = t->bucket[i], *next; r; r = next) {
			next = r->next;
			free(r);
		}
	free(t->bucket);
	*t = (struct records){0};
}
