/* Finding things in a snapshot: members by id, hash and address, services, listeners. Any thread; nothing is written but by snap_index,
 * before the snapshot is published. */
#include "inside.h"

const struct snap_member *snap_by_id(const struct snap_pool *p, uint16_t id)
{
	return id && id <= HF_SERVERS_MAX && p->by_id[id] ? &p->members[p->by_id[id] - 1] : NULL;
}

const struct snap_member *snap_by_hash(const struct snap_pool *p, uint32_t hash)
{
	for (uint32_t i = hash & p->mask; p->by_hash[i].at; i = (i + 1) & p->mask)
		if (p->by_hash[i].key == hash)
			return &p->members[p->by_hash[i].at - 1];
	return NULL;
}

static uint32_t addr_key(const struct hf_addr *a)
{
	uint32_t v[4];

	memcpy(v, a->ip, 16);
	return (v[0] ^ v[1] * 3 ^ v[2] * 5 ^ v[3] * 7 ^ a->port * 0x9e3779b1u) * 0x85ebca6bu;
}

const struct snap_member *snap_by_addr(const struct snap_pool *p, const struct hf_addr *a)
{
	uint32_t key = addr_key(a);

	for (uint32_t i = key & p->mask; p->by_addr[i].at; i = (i + 1) & p->mask)
		if (p->by_addr[i].key == key && hf_addr_eq(&p->members[p->by_addr[i].at - 1].addr, a))
			return &p->members[p->by_addr[i].at - 1];
	return NULL;
}

struct snap_pool *snap_pool(const struct hf_snapshot *s, const struct pool_rt *rt)
{
	for (unsigned i = 0; i < s->n_pools; i++)
		if (s->pools[i].rt == rt)
			return &s->pools[i];
	return NULL;
}

/* The pool as it will be when `next` is taken; NULL: nothing waits. Only this worker takes it, so it stays meanwhile. */
static const struct snap_pool *waiting(const struct worker *w, const struct snap_pool *p)
{
	const struct hf_snapshot *s = w ? atomic_load(&w->next) : NULL; /* the control thread's snapshot is the newest */

	return s ? snap_pool(s, p->rt) : NULL;
}

const struct snap_member *worker_by_hash(const struct worker *w, const struct snap_pool *p, uint32_t hash)
{
	const struct snap_member *m = hash ? snap_by_hash(p, hash) : NULL;
	const struct snap_pool *next = m || !hash ? NULL : waiting(w, p);

	return next ? snap_by_hash(next, hash) : m;
}

const struct snap_member *worker_by_id(const struct worker *w, const struct snap_pool *p, uint16_t id)
{
	const struct snap_member *m = snap_by_id(p, id);
	const struct snap_pool *next = m || !id ? NULL : waiting(w, p);

	return next ? snap_by_id(next, id) : m;
}

const struct snap_member *snap_speaker(const struct snap_pool *p, const struct hf_addr *a, bool listed)
{
	const struct snap_member *exact = snap_by_addr(p, a), *only = NULL;

	if (exact || !listed)
		return exact;
	for (unsigned i = 0; i < p->n_members; i++)
		if (hf_addr_ip_eq(&p->members[i].addr, a)) {
			if (only)
				return NULL; /* one of several: we cannot know */
			only = &p->members[i];
		}
	return only;
}

bool snap_has_ip(const struct snap_pool *p, const struct hf_addr *a)
{
	for (unsigned i = 0; i < p->n_members; i++)
		if (hf_addr_ip_eq(&p->members[i].addr, a))
			return true;
	return false;
}

bool snap_in(const struct hf_nets *n, const struct hf_addr *a)
{
	for (unsigned i = 0; i < n->n; i++)
		if (hf_addr_in(a, &n->net[i].addr, n->net[i].bits))
			return true;
	return false;
}

const struct snap_service *snap_service(const struct hf_snapshot *s, uint16_t service_id)
{
	for (unsigned i = 0; i < s->n_services; i++)
		if (s->services[i].rt->id == service_id)
			return &s->services[i];
	return NULL;
}

uint64_t snap_sessions(const struct snap_service *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < s->conf->n_choices; i++)
		n += hf_engine_sessions(s->pools[i]->rt->engine);
	return n;
}

const struct hf_listener_info *snap_listener(const struct snap_service *s, uint32_t hash, unsigned *at)
{
	for (unsigned i = 0; i < s->n_infos; i++)
		if (s->infos[i].hash == hash) {
			if (at)
				*at = i;
			return &s->infos[i];
		}
	return NULL;
}

static void put(struct snap_cell *cells, uint32_t mask, uint32_t key, unsigned at)
{
	uint32_t i = key & mask;

	while (cells[i].at)
		i = (i + 1) & mask;
	cells[i] = (struct snap_cell){key, (uint16_t)(at + 1)};
}

void snap_index(struct snap_pool *p)
{
	for (unsigned i = 0; i < p->n_members; i++) {
		const struct snap_member *m = &p->members[i];

		p->by_id[m->id] = (uint16_t)(i + 1);
		if (!snap_by_hash(p, m->hash))
			put(p->by_hash, p->mask, m->hash, i);
		if (!snap_by_addr(p, &m->addr))
			put(p->by_addr, p->mask, addr_key(&m->addr), i);
	}
	for (unsigned k = 0; k < HF_FORMER_MAX; k++)
		for (unsigned i = 0; i < p->n_members; i++) {
			uint32_t hash = p->members[i].was_hash[k];

			if (hash && !snap_by_hash(p, hash))
				put(p->by_hash, p->mask, hash, i);
		}
}
