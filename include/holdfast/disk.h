/* The state on disk (store floor): a copy of each table in DIR/POOL.state, for what a power cut must not take. DESIGN 8.
 *
 * A thread of its own writes it: a snapshot first, under another name until it is whole, then the changes behind it, made durable together
 * once an interval; when these outgrow the snapshot, a new one takes their place. Nobody ever waits for it. What a disk refuses (full,
 * read-only, broken) is tried again with a new snapshot, ever more rarely; one line of the log tells a change of condition.
 * What the records hold is the caller's business; the store signs them, and at the start gives back those that are whole. */
#ifndef HOLDFAST_DISK_H
#define HOLDFAST_DISK_H

#include "writer.h"

#define HF_DISK_PAYLOAD 0xffff /* octets of a record */
enum { HF_DISK_TYPE_MIN = 16 }; /* types below are the store's own */

struct hf_disk;
struct hf_disk_out;

/* ---- at the start (control thread) ---- */

struct hf_disk_found {
	bool there;          /* there was a file */
	bool other_key;      /* of another hash key: set aside, nothing was read */
	bool damaged;        /* octets that are no record were passed over ... */
	uint64_t lost;       /* ... so many */
	bool aside;          /* it now has the name POOL.state.aside */
	uint64_t records;
};
/* Gives `each` the payloads of all whole records of DIR/POOL.state, in order. A file that is of another hash key, or holds nothing that can be
 * read, gets another name. HF_ENOENT: there is none; HF_EIO: it cannot be read (what was given stands); HF_ENOMEM. */
enum hf_err hf_disk_load(const char *dir, const char *pool, const uint8_t hash_key[16], void (*each)(void *arg, uint16_t type, struct hf_bytes payload),
	void *arg, struct hf_disk_found *found) HF_MUST_USE;
/* A pool that is not kept has no file: an old one would come back one day. */
void hf_disk_forget(const char *dir, const char *pool);

/* ---- the thread ---- */

/* NULL: no memory, or another gateway writes there: `why` says which. The directory stays locked until stop. */
struct hf_disk *hf_disk_new(const char *dir, const uint8_t hash_key[16], struct hf_writer *why) HF_MUST_USE;
/* How often changes are made durable; any thread. */
void hf_disk_interval(struct hf_disk *d, uint64_t ms);
/* Keeps one more table. `write` is called on the store's thread: it puts all that the table holds (a snapshot), or what has changed since
 * it was called last. AGAIN: changes cannot say it, it wants to be asked for all. REFUSED: a put was; what it said is void, and it is asked
 * for all later. Control thread; arg and what it points to outlive the thread. HF_ENOMEM. */
enum hf_disk_wrote { HF_DISK_WROTE, HF_DISK_AGAIN, HF_DISK_REFUSED };
typedef enum hf_disk_wrote hf_disk_write_fn(void *arg, struct hf_disk_out *out, bool all);
enum hf_err hf_disk_add(struct hf_disk *d, const char *pool, hf_disk_write_fn *write, void *arg) HF_MUST_USE;
/* One record; false: the disk refused it. */
bool hf_disk_put(struct hf_disk_out *out, uint16_t type, struct hf_bytes payload) HF_MUST_USE;
enum hf_err hf_disk_start(struct hf_disk *d) HF_MUST_USE; /* again is nothing; HF_EIO: the system has no thread for it */
/* Writes what is left, if the disk takes it within a few seconds, and frees d. False: the disk still holds the thread; then neither d nor
 * what the tables' args point to may be freed. */
bool hf_disk_stop(struct hf_disk *d) HF_MUST_USE;

/* ---- looking (any thread) ---- */

#define HF_DISK_CONDITIONS(X) X(OK, "ok") X(STARTING, "starting") X(SLOW, "slow") X(FULL, "full") X(READ_ONLY, "read-only") X(FAILING, "failing")
enum hf_disk_condition {
#define X(e, name) HF_DISK_##e,
	HF_DISK_CONDITIONS(X)
#undef X
	HF_DISK_CONDITION_COUNT
};
const char *hf_disk_condition_name(enum hf_disk_condition c);

struct hf_disk_view {
	enum hf_disk_condition condition;
	uint64_t age_ms;      /* a power cut now loses what changed since so long */
	uint64_t log_octets;  /* behind the snapshot */
	uint64_t file_octets;
};
bool hf_disk_view(const struct hf_disk *d, const char *pool, struct hf_disk_view *v); /* false: not kept */

#endif
