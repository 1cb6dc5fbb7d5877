/* The guard: who may speak to a service and to each of its listeners (allow, deny), and how often (max-rate-source); see guard.h. It looks at addresses alone, so that what it
 * stops costs next to nothing; only of a source that says too much is the front asked whether a message is in the way of what it has signed.
 * How much a source says is kept in a sketch: each counts in a place of two rows, chosen by a keyed hash, and is over its rate when it is in both.
 * So memory is bounded whoever comes, and who shares a place with a flood has another one. Knows no protocol. Called by deliver.c and accept.c. */
#include "guard.h"

#include <stdlib.h>

#include "holdfast/hash.h"

/* A source is cut off for others when both of its places are full of them: among a thousand floods one in 4,000 is. All sources together may say
 * PLACES times the rate. 1 MiB a service, of which nothing is touched as long as there is no rate. */
enum { ROWS = 2, PLACES = 65536 };

struct said {
	struct hf_rate of[ROWS][PLACES];
};

struct said *said_new(void) { return calloc(1, sizeof(struct said)); }
void said_free(struct said *s) { free(s); }

/* An IPv6 source is its /64, as in sources.c. */
static uint64_t hash_of(const uint8_t key[16], const struct hf_addr *a) { return hf_sip13(key, hf_bytes_of(a->ip, a->family == 6 ? 8 : 4)); }

static bool says_too_much(struct said *s, uint64_t h, uint32_t per_s, uint64_t now_ms)
{
	bool room = false;

	for (unsigned row = 0; row < ROWS; row++)
		room |= hf_rate_take(&s->of[row][h >> 32 * row & (PLACES - 1)], per_s, now_ms); /* both count it */
	return !room;
}

/* Looked at before a message is read, which may not be whole; counted behind it. */
bool guard_over(const struct worker *w, const struct snap_service *s, const struct hf_listener_info *l, const struct hf_addr *source)
{
	uint64_t h = hash_of(w->net->site.hash_key, source);
	bool room = !s->rt->said;

	for (unsigned row = 0; !room && row < ROWS; row++)
		room = !hf_rate_full(&s->rt->said->of[row][h >> 32 * row & (PLACES - 1)], (uint32_t)s->conf->max_rate_source, w->now_ms);
	return !room && !(l && l->inside) && !snap_in(&s->conf->servers_from, source) && !snap_has_ip(s->pool, source);
}

void guard_heard(const struct worker *w, const struct snap_service *s, const struct hf_addr *source)
{
	if (s->rt->said)
		(void)says_too_much(s->rt->said, hash_of(w->net->site.hash_key, source), (uint32_t)s->conf->max_rate_source, w->now_ms);
}

static bool passes(const struct hf_nets *allow, const struct hf_nets *deny, const struct hf_addr *source)
{
	return !snap_in(deny, source) && (!allow->n || snap_in(allow, source));
}

/* Lists of its own; NULL: none, or the listener is gone. */
static const struct hf_conf_listen *lists_of(const struct snap_service *s, const struct hf_listener_info *l)
{
	const struct hf_conf_listen *c = l ? &s->conf->listens[l - s->infos] : NULL;

	return c && (c->allow.n || c->deny.n) ? c : NULL;
}

/* Who comes to an inside listener is a server, unless that has lists, which say who is. */
static bool listed(const struct snap_service *s, const struct hf_listener_info *l, const struct hf_addr *source)
{
	const struct hf_conf_listen *c = lists_of(s, l);

	return (!c || passes(&c->allow, &c->deny, source)) && ((l && l->inside) || passes(&s->conf->allow, &s->conf->deny, source));
}

bool guard_admits(const struct snap_service *s, const struct hf_listener_info *l, const struct hf_addr *source)
{
	return listed(s, l, source) || snap_in(&s->conf->servers_from, source) || snap_has_ip(s->pool, source);
}

bool guard_takes(struct parcel *p)
{
	const struct hf_conf_service *c = p->service->conf;
	const struct hf_front *front = p->rt->front;

	if (p->ev.from_servers && !lists_of(p->service, p->ev.listener))
		return true;
	if (!guard_admits(p->service, p->ev.listener, &p->ev.source)) {
		parcel_count(p, HF_R_DENIED);
		return false;
	}
	if (p->ev.from_servers || !c->max_rate_source || !p->rt->said ||
	    !says_too_much(p->rt->said, hash_of(p->w->net->site.hash_key, &p->ev.source), (uint32_t)c->max_rate_source, p->ctx.now_ms))
		return true;
	if (front->vouches && front->vouches(&p->ctx, &p->ev)) {
		hf_arena_reset(p->ctx.arena);
		return true;
	}
	parcel_count(p, HF_R_SOURCE_RATE);
	return false;
}
