/* What a table shows of an entry beside its 12 octets: text, live flows, times, why (private to the engine).
 * A shard's map by fingerprint, on the heap, under the shard's lock. It holds a record for each entry that its caller made one for. */
#ifndef HF_ENGINE_RECORDS_H
#define HF_ENGINE_RECORDS_H

#include "holders.h"
#include "holdfast/engine.h"

#define RECORD_TEXT_MAX HF_TEXT_MAX

struct record {
	struct record *next;
	uint64_t fp, since_ms, seen_ms;
	uint32_t flows;
	struct holders holders;    /* whose they are, as far as there is room */
	uint32_t row_from, row_ms; /* brief flows in a row: whose, folded, and when the last one ended (the clock's low bits) */
	uint8_t row;               /* so many of them */
	uint8_t why, text_n;
	bool told : 1;             /* that more sources than may wanted it */
	bool has_alias : 1;        /* behind the text: the bond that it is a second name of, or was led by when it was made */
	uint8_t text[]; /* allocated to its length, so that a short key costs little */
};

struct records {
	struct record **bucket;
	uint32_t n_buckets, used; /* n_buckets: a power of two, or 0 */
};

struct record *records_find(const struct records *t, uint64_t fp);
/* A new record for a fingerprint that has none; NULL: no memory. */
struct record *records_put(struct records *t, uint64_t fp, struct hf_bytes text);
/* The bond that a record is a second name of; 0: none. Few are, so that only those pay for it: the record may move. Without memory it is of none. */
uint64_t record_alias(const struct record *r);
void records_alias(struct records *t, uint64_t fp, uint64_t alias_of);
void records_drop(struct records *t, uint64_t fp);
void records_fini(struct records *t);

#endif
