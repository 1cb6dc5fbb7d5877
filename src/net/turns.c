/* Places in a queue, in the order of their turns; see turns.h. A search tree by turn that is a heap by a mix of the turn, which nobody who waits
 * chooses: so its height is that of a random tree, whoever comes, goes from the middle or comes back. It knows nothing of gates and locks;
 * gate.c calls it. */
#include "turns.h"

#include <stdlib.h>

#include "holdfast/err.h"

#ifndef TURNS_LOOK
#define TURNS_LOOK() ((void)0) /* a place is looked at: tests count */
#endif

static bool before(uint32_t a, uint32_t b) { return (int32_t)(a - b) < 0; }

static uint32_t weight(const struct turns_place *x)
{
	uint32_t h = x->turn * 0x9E3779B1u;

	h = (h ^ h >> 15) * 0x85EBCA77u;
	return h ^ h >> 13;
}

/* What is before the turn, and the rest. */
static void split(struct turns_place *x, uint32_t turn, struct turns_place *to[2])
{
	struct turns_place **end[2] = {&to[0], &to[1]};

	while (x) {
		bool later = !before(x->turn, turn);

		TURNS_LOOK();
		*end[later] = x;
		end[later] = &x->side[!later];
		x = *end[later];
	}
	*end[0] = *end[1] = NULL;
}

/* All of a is before all of b. */
static struct turns_place *join(struct turns_place *a, struct turns_place *b)
{
	struct turns_place *root, **at = &root;

	while (a && b) {
		bool left = weight(a) > weight(b);
		struct turns_place *top = left ? a : b;

		TURNS_LOOK();
		*at = top;
		at = &top->side[left];
		*(left ? &a : &b) = *at;
	}
	*at = a ? a : b;
	return root;
}

static void count(struct turns *p, uint32_t by)
{
	atomic_store_explicit(&p->n, atomic_load_explicit(&p->n, memory_order_relaxed) + by, memory_order_relaxed);
}

bool turns_put(struct turns *p, struct hf_flow_name name, uint32_t turn)
{
	struct turns_place *x = malloc(sizeof *x), **at = &p->root;

	if (!x)
		return false;
	*x = (struct turns_place){.name = name, .turn = turn};
	while (*at && weight(*at) >= weight(x)) {
		TURNS_LOOK();
		HF_BUG_ON((*at)->turn == turn);
		at = &(*at)->side[before((*at)->turn, turn)];
	}
	split(*at, turn, x->side);
	*at = x;
	count(p, 1);
	return true;
}

void turns_take(struct turns *p, uint32_t turn)
{
	struct turns_place **at = &p->root, *x;

	while (*at && (*at)->turn != turn) {
		TURNS_LOOK();
		at = &(*at)->side[before((*at)->turn, turn)];
	}
	x = *at;
	HF_BUG_ON(!x);
	*at = join(x->side[0], x->side[1]);
	free(x);
	count(p, UINT32_MAX);
}

const struct turns_place *turns_first(const struct turns *p)
{
	const struct turns_place *x = p->root;

	while (x && x->side[0]) {
		TURNS_LOOK();
		x = x->side[0];
	}
	return x;
}

const struct turns_place *turns_after(const struct turns *p, uint32_t turn)
{
	const struct turns_place *x = p->root, *found = NULL;

	while (x) {
		bool after = before(turn, x->turn);

		TURNS_LOOK();
		found = after ? x : found;
		x = x->side[!after];
	}
	return found;
}

void turns_free(struct turns *p)
{
	while (p->root)
		turns_take(p, p->root->turn);
}
