/* Letter boxes (net/letter.c): whole letters in order, over the ring's end, never more than the box holds, from two threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "inside.h"

static uint8_t buf[LETTER_MAX];

static struct worker *box_of(size_t cap)
{
	static struct worker w;

	w.wake_fd = eventfd(0, EFD_NONBLOCK);
	assert_true(letter_init(&w.box, cap));
	return &w;
}

static void done(struct worker *w)
{
	letter_fini(&w->box);
	close(w->wake_fd);
}

static bool post(struct worker *w, uint32_t mark, size_t n)
{
	static uint8_t body[LETTER_MAX];
	struct letter l = {.kind = LETTER_TO_FLOW, .flow.slot = mark};

	memset(body, (int)mark, n);
	return letter_post(w, &l, hf_bytes_of(body, n));
}

static void take(struct worker *w, uint32_t mark, size_t n)
{
	struct letter l;

	assert_true(letter_take(&w->box, &l, buf));
	assert_int_equal(l.flow.slot, mark);
	assert_int_equal(l.size, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(buf[i], (uint8_t)mark);
}

/* Fails when copy_in or copy_out forgets the part behind the ring's end. */
static void around_the_end(void **state)
{
	struct worker *w = box_of(1000);
	struct letter l;

	(void)state;
	assert_true(post(w, 1, 300));
	for (uint32_t i = 2; i < 200; i++) {
		assert_true(post(w, i, i * 7 % 400));
		take(w, i - 1, i == 2 ? 300 : (i - 1) * 7 % 400);
	}
	take(w, 199, 199 * 7 % 400);
	assert_false(letter_take(&w->box, &l, buf));
	done(w);
}

/* Fails when letter_post does not look at the room that is left. */
static void full(void **state)
{
	struct worker *w = box_of(1000);
	struct letter l;

	(void)state;
	assert_true(post(w, 1, 1000 - sizeof l));
	assert_false(post(w, 2, 0));
	take(w, 1, 1000 - sizeof l);
	assert_false(post(w, 3, 1001 - sizeof l));
	assert_true(post(w, 4, 0));
	take(w, 4, 0);
	done(w);
}

#define EACH 20000

static void *poster(void *arg)
{
	struct worker *w = arg;

	for (uint32_t i = 1; i <= EACH; i++)
		while (!post(w, 5, i % 64))
			;
	return NULL;
}

/* Two threads post, one takes: no letter is lost or torn. The thread sanitizer watches. */
static void threads(void **state)
{
	struct worker *w = box_of(4096);
	pthread_t t[2];
	struct letter l;
	unsigned got = 0;

	(void)state;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, poster, w);
	while (got < 2 * EACH)
		if (letter_take(&w->box, &l, buf)) {
			assert_int_equal(l.flow.slot, 5);
			assert_true(l.size < 64);
			got++;
		}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert_false(letter_take(&w->box, &l, buf));
	done(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(around_the_end), cmocka_unit_test(full), cmocka_unit_test(threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
