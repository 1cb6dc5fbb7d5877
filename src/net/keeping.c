/* What the store's thread writes of a pool: its members, and the entries that have changed or all. It runs beside everything else: the engine
 * gives copies, a few entries at a time. An id is nothing to a disk: it can become another server's, so entries are written with the name. */
#include <stdlib.h>
#include <time.h>

#include "holdfast/hash.h"
#include "keeping.h"

#define JUMP_S 10 /* a wall clock that was set by more than this makes what was written before misleading */
#define MEMBER_OCTETS 256

struct keeping {
	struct pool_rt *rt;
	char *dir;
	uint8_t hash_key[16];
	bool has_texts;    /* the former gateway's texts were read, or there are none */
	int64_t offset_s;  /* of the wall clock over ours, at the last write */
	struct known {     /* by id, as it was written */
		uint32_t hash;  /* of its name; 0: no server */
		uint64_t sum;   /* of its record */
	} known[HF_SERVERS_MAX + 1];
	struct hf_record r[HF_COPY_MAX];
	uint8_t text[HF_COPY_MAX][HF_TEXT_MAX];
	uint8_t out[HF_DISK_PAYLOAD];
};

struct keeping *keeping_new(struct pool_rt *rt, const char *dir, const uint8_t hash_key[16], bool has_texts)
{
	struct keeping *k = calloc(1, sizeof *k);

	if (!k)
		return NULL;
	k->rt = rt;
	k->has_texts = has_texts;
	memcpy(k->hash_key, hash_key, sizeof k->hash_key);
	k->dir = strdup(dir);
	if (k->dir && hf_engine_track(rt->engine) == HF_OK)
		return k;
	keeping_free(k);
	return NULL;
}

void keeping_free(struct keeping *k)
{
	if (k)
		free(k->dir);
	free(k);
}

/* The member of this id as it is now, if that is not what was written. */
static enum hf_disk_wrote member(struct keeping *k, struct hf_disk_out *out, const struct keeping_time *t, uint16_t id)
{
	uint8_t buf[MEMBER_OCTETS];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct hf_member_record r;
	struct known now = {0, 0};

	if (hf_engine_record(k->rt->engine, id, &r))
		now = (struct known){hf_server_hash(k->hash_key, hf_bytes_str(k->rt->name), hf_bytes_str(r.name)), hf_sip13(k->hash_key, hf_bytes_of(&r, sizeof r))};
	if (k->known[id].hash && now.hash && k->known[id].hash != now.hash)
		return HF_DISK_AGAIN; /* renamed: what was written says the old name */
	if (now.hash && now.sum != k->known[id].sum) {
		keeping_write_member(&w, t, id, &r);
		HF_BUG_ON(w.full);
		if (!hf_disk_put(out, KEEPING_MEMBER, hf_writer_view(&w)))
			return HF_DISK_REFUSED;
	}
	k->known[id] = now;
	return HF_DISK_WROTE;
}

static enum hf_disk_wrote members(struct keeping *k, struct hf_disk_out *out, const struct keeping_time *t)
{
	enum hf_disk_wrote is = HF_DISK_WROTE;

	for (uint16_t id = 1; id <= hf_engine_last_id(k->rt->engine) && is == HF_DISK_WROTE; id++)
		is = member(k, out, t, id);
	return is;
}

/* Of each entry's server; one that came while we write is written first. */
static enum hf_disk_wrote names(struct keeping *k, struct hf_disk_out *out, const struct keeping_time *t, const struct hf_copy *c, uint32_t *hash)
{
	for (unsigned i = 0; i < c->n; i++) {
		uint16_t id = c->r[i].server;
		enum hf_disk_wrote is = k->known[id].hash ? HF_DISK_WROTE : member(k, out, t, id);

		if (is != HF_DISK_WROTE)
			return is;
		hash[i] = k->known[id].hash;
	}
	return HF_DISK_WROTE;
}

/* Everything in the range, a few entries a record; of a whole copy nothing where there is nothing. */
static enum hf_disk_wrote range(struct keeping *k, struct hf_disk_out *out, const struct keeping_time *t, struct hf_range r, bool all)
{
	struct hf_copy c = {0, k->r, k->text};
	uint64_t end = r.to;
	uint32_t hash[HF_COPY_MAX];

	for (; r.from <= end; r.from = r.to + 1) {
		struct hf_writer w = hf_writer_on(k->out, sizeof k->out);
		enum hf_disk_wrote is;

		r.to = end;
		hf_engine_copy(k->rt->engine, &r, &c, t->now_ms);
		if (all && !c.n)
			continue;
		is = names(k, out, t, &c, hash);
		if (is != HF_DISK_WROTE)
			return is;
		keeping_write_span(&w, t, &r, &c, hash);
		HF_BUG_ON(w.full);
		if (!hf_disk_put(out, KEEPING_SPAN, hf_writer_view(&w)))
			return HF_DISK_REFUSED;
	}
	return HF_DISK_WROTE;
}

static enum hf_disk_wrote entries(struct keeping *k, struct hf_disk_out *out, const struct keeping_time *t, bool all)
{
	enum hf_disk_wrote is = HF_DISK_WROTE;
	struct hf_engine *e = k->rt->engine;
	struct hf_range r;
	uint64_t from = 0;

	while (is == HF_DISK_WROTE && !(from >> HF_FP_BITS) && (all ? hf_engine_whole(e, from, &r) : hf_engine_changed(e, from, &r))) {
		is = range(k, out, t, r, all);
		from = r.to + 1;
	}
	return is;
}

enum hf_disk_wrote keeping_write(void *keeping, struct hf_disk_out *out, bool all)
{
	struct keeping *k = keeping;
	const struct keeping_time t = {(uint64_t)time(NULL), hf_clock_ms()};
	int64_t offset = (int64_t)t.wall_s - (int64_t)(t.now_ms / 1000);
	enum hf_disk_wrote is;

	if (!k->has_texts) {
		revive_texts(k->rt, k->dir, k->hash_key);
		k->has_texts = true;
	}
	if (!all && (offset > k->offset_s + JUMP_S || offset < k->offset_s - JUMP_S))
		return HF_DISK_AGAIN;
	k->offset_s = offset;
	if (all)
		memset(k->known, 0, sizeof k->known);
	is = members(k, out, &t);
	if (is == HF_DISK_WROTE)
		is = entries(k, out, &t, all);
	return is == HF_DISK_WROTE ? members(k, out, &t) : is; /* again: an id that became another server's meanwhile is found here */
}
