/* Places in a queue, in the order of their turns; see places.h. A search tree by turn that is a heap by a mix of the turn, which nobody who waits
 * chooses: so its height is that of a random tree, whoever comes, goes from the middle or comes back. It knows nothing of gates and locks;
 * gate.c calls it. */
#include "places.h"

#include <stdlib.h>

#include "holdfast/err.h"

#ifndef PLACES_LOOK
#define PLACES_LOOK() ((void)0) /* a place is looked at: tests count */
#endif

static bool before(uint32_t a, uint32_t b) { return (int32_t)(a - b) < 0; }

static uint32_t weight(const struct place *x)
{
	uint32_t h = x->turn * 0x9E3779B1u;

	h = (h ^ h >> 15) * 0x85EBCA77u;
	return h ^ h >> 13;
}

/* What is before the turn, and the rest. */
static void split(struct place *x, uint32_t turn, struct place *to[2])
{
	struct place **end[2] = {&to[0], &to[1]};

	while (x) {
		bool later = !before(x->turn, turn);

		PLACES_LOOK();
		*end[later] = x;
		end[later] = &x->side[!later];
		x = *end[later];
	}
	*end[0] = *end[1] = NULL;
}

/* All of a is before all of b. */
static struct place *join(struct place *a, struct place *b)
{
	struct place *root, **at = &root;

	while (a && b) {
		bool left = weight(a) > weight(b);
		struct place *top = left ? a : b;

		PLACES_LOOK();
		*at = top;
		at = &top->side[left];
		*(left ? &a : &b) = *at;
	}
	*at = a ? a : b;
	return root;
}

static void count(struct places *p, uint32_t by)
{
	atomic_store_explicit(&p->n, atomic_load_explicit(&p->n, memory_order_relaxed) + by, memory_order_relaxed);
}

bool places_put(struct places *p, struct hf_flow_name name, uint32_t turn)
{
	struct place *x = malloc(sizeof *x), **at = &p->root;

	if (!x)
		return false;
	*x = (struct place){.name = name, .turn = turn};
	while (*at && weight(*at) >= weight(x)) {
		PLACES_LOOK();
		HF_BUG_ON((*at)->turn == turn);
		at = &(*at)->side[before((*at)->turn, turn)];
	}
	split(*at, turn, x->side);
	*at = x;
	count(p, 1);
	return true;
}

void places_take(struct places *p, uint32_t turn)
{
	struct place **at = &p->root, *x;

	while (*at && (*at)->turn != turn) {
		PLACES_LOOK();
		at = &(*at)->side[before((*at)->turn, turn)];
	}
	x = *at;
	HF_BUG_ON(!x);
	*at = join(x->side[0], x->side[1]);
	free(x);
	count(p, UINT32_MAX);
}

const struct place *places_first(const struct places *p)
{
	const struct place *x = p->root;

	while (x && x->side[0]) {
		PLACES_LOOK();
		x = x->side[0];
	}
	return x;
}

const struct place *places_after(const struct places *p, uint32_t turn)
{
	const struct place *x = p->root, *found = NULL;

	while (x) {
		bool after = before(turn, x->turn);

		PLACES_LOOK();
		found = after ? x : found;
		x = x->side[!after];
	}
	return found;
}

void places_free(struct places *p)
{
	while (p->root)
		places_take(p, p->root->turn);
}
