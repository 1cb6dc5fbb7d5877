/* Who is next where no slot decides: the fewest sessions, turns, or a draw, each by weight. Among those that may take a session (scope.h), so
 * that who is full is passed over. Nobody locks: workers meet in one word of the server that they choose. place.c calls it. */
#include "scope.h"

#include "carp.h"

/* What a turn of a server of one part costs; a multiple of it is whole for most weights, and 2^63 of it never pass. */
#define TURN_COST ((uint64_t)1 << 29)
#define TURN_TRIES 16 /* turns that others took before us, until two may have the same one */

uint16_t balance_least(const struct hf_engine *e, const struct scope *s, uint32_t after)
{
	uint32_t n = last_id(e), best_parts = 1;
	uint64_t best_load = 0;
	uint16_t best = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint16_t id = (uint16_t)((after + i) % n + 1);
		uint64_t sessions = LOAD_COUNTED(load_word(e, id));
		uint32_t parts;

		if (!open_to(e, s->p, id, (uint32_t)sessions) || !under(e, s, id, (uint32_t)sessions))
			continue;
		parts = parts_of(e, id);
		if (!best || sessions * best_parts < best_load * parts) {
			best = id;
			best_load = sessions;
			best_parts = parts;
		}
	}
	return best;
}

struct turn { uint64_t seen, at, cost; }; /* a server's next turn: the word as read, when it is, how far the one after it */

static uint64_t cost_of(const struct hf_engine *e, uint16_t id)
{
	uint32_t parts = parts_of(e, id); /* read once: who goes down meanwhile has none */

	return TURN_COST / (parts ? parts : 1);
}

static struct turn turn_of(const struct hf_engine *e, uint16_t id, uint64_t now)
{
	uint64_t seen = atomic_load_explicit(&e->load[id].turn, memory_order_relaxed);

	return (struct turn){seen, (int64_t)(seen - now) < 0 ? now : seen, cost_of(e, id)}; /* who was full has saved up no turns */
}

void balance_join(struct hf_engine *e, uint16_t id)
{
	uint64_t now = atomic_load_explicit(&e->turn, memory_order_relaxed);

	atomic_store_explicit(&e->load[id].turn, now + cost_of(e, id) / 2, memory_order_relaxed);
}

void balance_grown(struct hf_engine *e, uint16_t id)
{
	uint64_t now = atomic_load_explicit(&e->turn, memory_order_relaxed), seen = atomic_load_explicit(&e->load[id].turn, memory_order_relaxed);
	uint64_t soon = now + cost_of(e, id);

	while ((int64_t)(seen - soon) > 0 && !atomic_compare_exchange_weak_explicit(&e->load[id].turn, &seen, soon, memory_order_relaxed, memory_order_relaxed))
		;
}

/* Smooth weighted turns: a server's turns lie evenly on a line, as densely as it weighs; the nearest is next, at equal ones the lower id. Equal
 * weights go round strictly. A turn is taken by moving its server's word on, once. */
uint16_t balance_turn(struct hf_engine *e, const struct scope *s)
{
	uint16_t best = 0;

	for (int i = 0; i < TURN_TRIES; i++) {
		uint64_t now = atomic_load_explicit(&e->turn, memory_order_relaxed);
		struct turn t = {0, 0, 0};

		best = 0;
		for (uint16_t id = 1; id <= last_id(e); id++) {
			struct turn u;

			if (!fits(e, s, id))
				continue;
			u = turn_of(e, id, now);
			if (!best || u.at - now < t.at - now) {
				best = id;
				t = u;
			}
		}
		if (!best || s->p->trace)
			break;
		if (atomic_compare_exchange_strong_explicit(&e->load[best].turn, &t.seen, t.at + t.cost, memory_order_relaxed, memory_order_relaxed)) {
			if (t.at != now) /* two workers may set it back a turn: then who was away has that much saved up */
				atomic_store_explicit(&e->turn, t.at, memory_order_relaxed);
			break;
		}
	}
	return best;
}

uint32_t balance_draw(struct hf_engine *e, const struct place *p)
{
	return p->trace ? atomic_load_explicit(&e->draws, memory_order_relaxed) : atomic_fetch_add_explicit(&e->draws, 1, memory_order_relaxed);
}

static uint64_t draw_cost(const struct hf_engine *e, uint16_t id, const struct lot *l)
{
	return place_cost_by(e, &carp_method, id, l, (parts_of(e, id) + WEIGHT_PARTS - 1) / WEIGHT_PARTS);
}

/* A weighted draw is a slot of carp with a number of its own: the same each time for the same key, names and count. */
uint16_t balance_random(struct hf_engine *e, const struct scope *s)
{
	const struct lot l = {&e->ground, balance_draw(e, s->p), 0};

	return scope_cheapest(e, s, &l, draw_cost);
}
