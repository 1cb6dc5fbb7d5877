/* What of a pool goes to the disk, and comes back (private to net). The store knows octets, the engine knows no disk; this is between them. */
#ifndef NET_KEEPING_H
#define NET_KEEPING_H

#include "inside.h"

/* A member: all that is kept of it. A span: the entries of a range of fingerprints; there are no others in it. */
enum keeping_type { KEEPING_MEMBER = HF_DISK_TYPE_MIN, KEEPING_SPAN };

/* Times on the disk are ages and rests at `wall_s`, seconds of the epoch, as no monotonic clock outlives its machine. */
struct keeping_time { uint64_t wall_s, now_ms; };

void keeping_write_member(struct hf_writer *w, const struct keeping_time *t, uint16_t id, const struct hf_member_record *r);
/* hash[i]: what is written for c->r[i].server (hf_server_hash of its name, which no later change of an id can make another server's). */
void keeping_write_span(struct hf_writer *w, const struct keeping_time *t, const struct hf_range *r, const struct hf_copy *c, const uint32_t *hash);

/* False: it is nothing that was written here. Times are on the clock of `t`; a wall clock that went back lets no time pass. */
bool keeping_read_member(struct hf_bytes b, const struct keeping_time *t, uint16_t *id, struct hf_member_record *r);
/* c and hash have HF_COPY_MAX places, text borrows from b; entries whose life is over are left out. */
bool keeping_read_span(struct hf_bytes b, const struct keeping_time *t, struct hf_range *r, struct hf_copy *c, uint32_t *hash);

/* ---- revive.c ---- */

struct revived { uint64_t entries, over, unknown, refused; }; /* unknown: of servers that nobody knows; refused: no room */
/* Everything that was kept of the pool, into its empty engine, before the first plan; what was found is logged. */
void revive(struct pool_rt *rt, const struct hf_conf_pool *c, const char *dir, const uint8_t hash_key[16]);
/* What is shown of the entries that the engine has already; any thread. */
void revive_texts(struct pool_rt *rt, const char *dir, const uint8_t hash_key[16]);

/* ---- keeping.c: the store's thread asks it for what is to be written ---- */

struct keeping *keeping_new(struct pool_rt *rt, const char *dir, const uint8_t hash_key[16], bool has_texts) HF_MUST_USE;
void keeping_free(struct keeping *k);
enum hf_disk_wrote keeping_write(void *keeping, struct hf_disk_out *out, bool all);

#endif
