/* The heap of a worker's timers; see timer.h. A few are set at a time: a flow has one only until its relay begins. */
#include "timer.h"

#include <stdlib.h>

#include "holdfast/clock.h"

#define FIRST 16           /* places made first */
#define DAY_MS 86400000u

static void put(struct timers *ts, uint32_t i, struct timer *t)
{
	ts->heap[i] = t;
	t->place = i + 1;
}

static void up(struct timers *ts, uint32_t i, struct timer *t)
{
	for (; i && ts->heap[(i - 1) / 2]->due_ms > t->due_ms; i = (i - 1) / 2)
		put(ts, i, ts->heap[(i - 1) / 2]);
	put(ts, i, t);
}

static void down(struct timers *ts, uint32_t i, struct timer *t)
{
	for (uint32_t k; (k = 2 * i + 1) < ts->n; i = k) {
		k += k + 1 < ts->n && ts->heap[k + 1]->due_ms < ts->heap[k]->due_ms;
		if (ts->heap[k]->due_ms >= t->due_ms)
			break;
		put(ts, i, ts->heap[k]);
	}
	put(ts, i, t);
}

static void settle(struct timers *ts, uint32_t i, struct timer *t)
{
	if (i && ts->heap[(i - 1) / 2]->due_ms > t->due_ms)
		up(ts, i, t);
	else
		down(ts, i, t);
}

static bool grow(struct timers *ts)
{
	uint32_t cap = ts->cap ? ts->cap * 2 : FIRST;
	struct timer **heap = realloc(ts->heap, cap * sizeof(struct timer *));

	if (!heap)
		return false;
	ts->heap = heap;
	ts->cap = cap;
	return true;
}

void timers_fini(struct timers *ts)
{
	HF_BUG_ON(ts->made);
	free(ts->heap);
	*ts = (struct timers){0};
}

bool timer_init(struct timer *t, struct timers *ts, timer_fn *fn, void *arg)
{
	*t = (struct timer){0};
	if (ts->made == ts->cap && !grow(ts))
		return false;
	ts->made++;
	*t = (struct timer){.fn = fn, .arg = arg, .of = ts};
	return true;
}

void timer_fini(struct timer *t)
{
	if (!t->of)
		return;
	timer_stop(t);
	t->of->made--;
	t->of = NULL;
}

void timer_at(struct timer *t, uint64_t due_ms)
{
	struct timers *ts = t->of;

	t->due_ms = due_ms > ts->run_ms ? due_ms : ts->run_ms + 1;
	settle(ts, t->place ? t->place - 1 : ts->n++, t);
}

void timer_set(struct timer *t, uint64_t ms) { timer_at(t, hf_clock_ms() + ms); }

void timer_stop(struct timer *t)
{
	struct timers *ts = t->of;
	uint32_t i = t->place;

	if (!i)
		return;
	t->place = 0;
	if (i-- != ts->n--)
		settle(ts, i, ts->heap[ts->n]);
}

int timers_wait(const struct timers *ts, uint64_t now_ms)
{
	uint64_t due = ts->n ? ts->heap[0]->due_ms : 0;

	if (!ts->n)
		return -1;
	return due <= now_ms ? 0 : due - now_ms < DAY_MS ? (int)(due - now_ms) : (int)DAY_MS;
}

void timers_run(struct timers *ts, uint64_t now_ms)
{
	struct timer *t;

	ts->run_ms = now_ms;
	while (ts->n && (t = ts->heap[0])->due_ms <= now_ms) {
		timer_stop(t);
		t->fn(t->arg);
	}
	ts->run_ms = 0;
}
