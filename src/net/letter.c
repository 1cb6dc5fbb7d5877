/* Letter boxes: a ring of octets a worker, filled by any thread, emptied by its owner. Letters are copied, never pointed to. */
#include "inside.h"

#include <stdlib.h>
#include <sys/mman.h>

bool letter_init(struct box *b, size_t cap)
{
	/* mapped, not allocated: pages that no letter has touched cost nothing */
	void *p = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	*b = (struct box){.ring = p, .cap = cap};
	pthread_mutex_init(&b->lock, NULL);
	return true;
}

void letter_fini(struct box *b)
{
	if (!b->ring)
		return;
	munmap(b->ring, b->cap);
	pthread_mutex_destroy(&b->lock);
	b->ring = NULL;
}

static void copy_in(struct box *b, const void *p, size_t n)
{
	size_t at = (b->head + b->used) % b->cap, first = n < b->cap - at ? n : b->cap - at;

	memcpy(b->ring + at, p, first);
	if (n > first)
		memcpy(b->ring, (const uint8_t *)p + first, n - first);
	b->used += n;
}

static void copy_out(struct box *b, void *p, size_t n)
{
	size_t first = n < b->cap - b->head ? n : b->cap - b->head;

	memcpy(p, b->ring + b->head, first);
	if (n > first)
		memcpy((uint8_t *)p + first, b->ring, n - first);
	b->head = (b->head + n) % b->cap;
	b->used -= n;
	if (b->used == 0)
		b->head = 0; /* the next letters use the same pages again */
}

bool letter_post(struct worker *to, const struct letter *head, struct hf_bytes body)
{
	struct box *b = &to->box;
	struct letter l = *head;
	bool room, wake = false;

	HF_BUG_ON(body.n > LETTER_MAX);
	l.size = (uint32_t)body.n;
	pthread_mutex_lock(&b->lock);
	room = b->cap - b->used >= sizeof l + body.n;
	if (room) {
		copy_in(b, &l, sizeof l);
		if (body.n)
			copy_in(b, body.p, body.n);
		wake = !b->rung && (l.kind != LETTER_NOTE || b->used > b->cap / 2);
		b->rung |= wake;
		atomic_store_explicit(&b->any, true, memory_order_release);
	}
	pthread_mutex_unlock(&b->lock);
	if (wake)
		worker_wake(to);
	return room;
}

bool letter_take(struct box *b, struct letter *head, uint8_t *buf)
{
	bool any;

	pthread_mutex_lock(&b->lock);
	any = b->used > 0;
	if (any) {
		copy_out(b, head, sizeof *head);
		if (head->size)
			copy_out(b, buf, head->size);
	} else {
		b->rung = false;
		atomic_store_explicit(&b->any, false, memory_order_relaxed);
	}
	pthread_mutex_unlock(&b->lock);
	return any;
}
