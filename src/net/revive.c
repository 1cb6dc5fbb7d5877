/* A pool's members and entries, back from the disk: after a power cut into an empty engine; after a restart on kept tables, which hold no text,
 * what is shown of the entries. Nothing that a file can hold stops a start. */
#include <stdlib.h>
#include <time.h>

#include "holdfast/log.h"
#include "keeping.h"

#define CELLS (2 * (1 + HF_FORMER_MAX) * (HF_SERVERS_MAX + 1)) /* of names: that many, with their former ones, leave half of it empty */

struct reviver {
	struct hf_engine *engine;
	const char *pool;
	const struct hf_conf_pool *conf;
	const uint8_t *hash_key;
	struct keeping_time t;
	struct hf_member_record member[HF_SERVERS_MAX + 1]; /* by id; the last word about each */
	struct cell { uint32_t hash; uint16_t id; } cell[CELLS];
	struct hf_record r[HF_COPY_MAX];
	struct revived n;
};

static struct reviver *reviver_new(struct pool_rt *rt, const struct hf_conf_pool *c, const uint8_t hash_key[16])
{
	struct reviver *v = calloc(1, sizeof *v);

	if (!v)
		return NULL;
	v->engine = rt->engine;
	v->pool = rt->name;
	v->conf = c;
	v->hash_key = hash_key;
	v->t = (struct keeping_time){(uint64_t)time(NULL), hf_clock_ms()};
	return v;
}

/* ---- members ---- */

/* The cell of this name, or the empty one where it would be: whatever a file says, there are always some. */
static struct cell *cell_of(struct reviver *v, uint32_t hash)
{
	uint32_t i = hash % CELLS;

	while (v->cell[i].hash && v->cell[i].hash != hash)
		i = (i + 1) % CELLS;
	return &v->cell[i];
}

static void known_as(struct reviver *v, struct hf_bytes name, uint16_t id)
{
	uint32_t hash = name.n ? hf_server_hash(v->hash_key, hf_bytes_str(v->pool), name) : 0;
	struct cell *at = hash ? cell_of(v, hash) : NULL;

	if (at && !at->id)
		*at = (struct cell){hash, id};
}

static void hear_member(void *arg, uint16_t type, struct hf_bytes payload)
{
	struct reviver *v = arg;
	struct hf_member_record r;
	uint16_t id;

	if (type == KEEPING_MEMBER && keeping_read_member(payload, &v->t, &id, &r))
		v->member[id] = r;
}

/* Names first, then former ones: a name that somebody bears now is his. What was known of a server's health is of another time. */
static void restore_members(struct reviver *v)
{
	for (uint16_t id = 1; id <= HF_SERVERS_MAX; id++) {
		struct hf_member_record *r = &v->member[id];

		r->marks &= 1 << HF_MARK_DRAIN | 1 << HF_MARK_OFF;
		if (!r->name[0] || hf_engine_find(v->engine, hf_bytes_str(r->name)) || hf_engine_restore(v->engine, id, r, v->t.now_ms) != HF_OK)
			memset(r, 0, sizeof *r);
		known_as(v, hf_bytes_str(r->name), id);
	}
	for (unsigned i = 0; i < HF_FORMER_MAX; i++)
		for (uint16_t id = 1; id <= HF_SERVERS_MAX; id++)
			known_as(v, hf_member_former(&v->member[id], i), id);
}

/* Servers of the configuration whose record was lost. */
static void restore_listed(struct reviver *v)
{
	uint16_t id = 1;

	for (unsigned i = 0; i < v->conf->n_servers; i++) {
		const struct hf_conf_server *s = &v->conf->servers[i];
		struct hf_member_record r = {.since_ms = v->t.now_ms, .file_weight = s->weight, .run_weight = HF_WEIGHT_FILE, .max_sessions = s->max_sessions};

		if (s->targets || hf_engine_find(v->engine, hf_bytes_str(s->name)) || hf_engine_find(v->engine, hf_bytes_str(s->was)))
			continue;
		while (id < HF_SERVERS_MAX && v->member[id].name[0])
			id++;
		hf_member_rename(&r, hf_bytes_str(s->name), hf_bytes_str(s->was));
		if (hf_engine_restore(v->engine, id, &r, v->t.now_ms) != HF_OK)
			return;
		v->member[id] = r;
		known_as(v, hf_bytes_str(r.name), id);
		known_as(v, hf_member_former(&r, 0), id);
	}
}

/* ---- entries ---- */

static void restore_entry(struct reviver *v, struct hf_record *x, uint32_t hash)
{
	x->server = cell_of(v, hash)->id;
	if (!x->server)
		v->n.unknown++;
	else if (hf_engine_restore_entry(v->engine, x, v->t.now_ms) == HF_OK)
		v->n.entries++;
	else
		v->n.refused++;
}

static void hear_span(void *arg, uint16_t type, struct hf_bytes payload)
{
	struct reviver *v = arg;
	struct hf_copy c = {0, v->r, NULL};
	uint32_t hash[HF_COPY_MAX];
	struct hf_range r;

	if (type != KEEPING_SPAN || !keeping_read_span(payload, &v->t, &r, &c, hash))
		return;
	hf_engine_erase(v->engine, &r);
	for (unsigned i = 0; i < c.n; i++)
		restore_entry(v, &v->r[i], hash[i]);
}

static void say(const struct pool_rt *rt, const struct hf_disk_found *f, const struct reviver *v, enum hf_err e)
{
	struct hf_engine_counts n;

	hf_engine_counts(rt->engine, &n);
	if (f->other_key)
		hf_log(HF_LOG_WARN, "event=state-aside pool=%s reason=\"it is of another hash key\" renamed=%s%s", rt->name, f->aside ? rt->name : "no", f->aside ? ".state.aside" : "");
	else if (f->aside)
		hf_log(HF_LOG_WARN, "event=state-aside pool=%s reason=\"nothing in it can be read\" renamed=%s.state.aside", rt->name, rt->name);
	if (f->records)
		hf_log(HF_LOG_INFO, "event=state-loaded pool=%s entries=%llu unknown_servers=%llu no_room=%llu", rt->name, (unsigned long long)n.entries,
		       (unsigned long long)v->n.unknown, (unsigned long long)v->n.refused);
	if (!f->other_key && (f->damaged || e != HF_OK))
		hf_log(HF_LOG_WARN, "event=state-damaged pool=%s octets=%llu note=\"all that is whole was loaded\"", rt->name, (unsigned long long)f->lost);
}

void revive(struct pool_rt *rt, const struct hf_conf_pool *c, const char *dir, const uint8_t hash_key[16])
{
	struct reviver *v = reviver_new(rt, c, hash_key);
	struct hf_disk_found found, again;
	enum hf_err e;

	if (!v) {
		hf_log(HF_LOG_ERROR, "event=state-not-loaded pool=%s error=\"no memory\"", rt->name);
		return;
	}
	e = hf_disk_load(dir, rt->name, hash_key, hear_member, v, &found);
	if (found.records) {
		restore_members(v);
		restore_listed(v);
		e = hf_disk_load(dir, rt->name, hash_key, hear_span, v, &again);
	}
	if (e != HF_ENOENT)
		say(rt, &found, v, e);
	free(v);
}

/* ---- texts ---- */

static void hear_text(void *arg, uint16_t type, struct hf_bytes payload)
{
	struct reviver *v = arg;
	struct hf_copy c = {0, v->r, NULL};
	uint32_t hash[HF_COPY_MAX];
	struct hf_range r;

	if (type == KEEPING_SPAN && keeping_read_span(payload, &v->t, &r, &c, hash))
		for (unsigned i = 0; i < c.n; i++)
			hf_engine_describe(v->engine, &v->r[i]);
}

void revive_texts(struct pool_rt *rt, const char *dir, const uint8_t hash_key[16])
{
	struct reviver *v = reviver_new(rt, NULL, hash_key);
	struct hf_disk_found found;

	if (v && hf_disk_load(dir, rt->name, hash_key, hear_text, v, &found) != HF_ENOENT)
		hf_log(HF_LOG_DEBUG, "event=state-texts pool=%s records=%llu", rt->name, (unsigned long long)found.records);
	free(v);
}
