/* Guests (net/guests.c): when descriptors have run out, when one says nothing, and when the server ends. Their bound and what they are sent: test_http.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "holdfast/guests.h"
#include "sock.h"

static struct hf_loop *loop;
static struct hf_timer *stop;
static struct hf_guests *guests;
static struct hf_addr at;
static int door;
static unsigned accepts, came, left;
static bool none, reserved; /* descriptors have run out: all, or all but the one that is in reserve */
static int reserve;

/* The system's, in front of which this one stands. */
int accept4(int fd, struct sockaddr *addr, socklen_t *n, int flags)
{
	accepts++;
	if (none || (reserved && fcntl(reserve, F_GETFD) >= 0)) {
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_accept4, fd, addr, n, flags);
}

static void halt(void *arg) { hf_loop_stop(arg); }

static void run(unsigned ms)
{
	hf_timer_set(stop, ms);
	hf_loop_run(loop);
}

struct mine {
	struct hf_guest guest;
	unsigned heard;
};

/* "w" is to wait for ever, that is 1 ms. */
static void ready(struct hf_guest *g, unsigned what)
{
	struct mine *m = (struct mine *)(void *)g;
	char c = 0;

	assert_int_equal(what, HF_READ);
	assert_ptr_equal(g->arg, &came);
	assert_int_equal(m->heard++, 0);
	came++;
	if (recv(g->fd, &c, 1, 0) == 1 && c == 'w')
		hf_timer_set(g->timer, 1);
}

static void leave(struct hf_guest *g)
{
	(void)g;
	left++;
}

static const struct hf_guest_kind kind = {"test", 4, sizeof(struct mine), ready, leave};

static int up(void **state)
{
	(void)state;
	accepts = came = left = 0;
	none = reserved = false;
	loop = hf_loop_new();
	stop = hf_timer_new(loop, halt, loop);
	at = (struct hf_addr){.family = 4, .ip = {127, 0, 0, 1}};
	door = sock_listen(&at, true, 0);
	at = sock_local(door);
	reserve = dup(door);
	close(reserve); /* the number that comes next */
	guests = hf_guests_open(loop, door, &kind, &came);
	return guests ? 0 : -1;
}

static int down(void **state)
{
	(void)state;
	hf_guests_close(guests);
	close(door);
	hf_timer_free(stop);
	hf_loop_free(loop);
	return 0;
}

static int client(char c)
{
	int fd = sock_connect(&at, true, NULL);

	assert_true(fd >= 0);
	for (int i = 0; send(fd, &c, 1, MSG_NOSIGNAL) < 0; i++) {
		assert_true(errno == EAGAIN && i < 1000);
		run(1);
	}
	return fd;
}

/* The reserve lets one in, and the next when he has gone. Fails without the second call in accept_one, with nothing in reserve, or when it is not
 * taken back. */
static void one_more(void **state)
{
	(void)state;
	reserved = true;
	for (unsigned n = 1; n <= 2; n++) {
		int fd = client('w');

		for (int i = 0; i < 1000 && left < n; i++)
			run(1);
		assert_int_equal(came, n);
		assert_int_equal(accepts, 2 * n);
		close(fd);
	}
}

/* Who finds no descriptor waits at the door, though nobody is there whose end would give one back. Fails, spinning, without the watch that is taken
 * off in acceptable, and, waiting for ever, without resume. */
static void at_the_door(void **state)
{
	int fd;

	(void)state;
	none = true;
	fd = client('x');
	run(50);
	assert_int_equal(accepts, 2);
	none = false;
	for (int i = 0; i < 1000 && !came; i++)
		run(1);
	assert_int_equal(came, 1);
	close(fd);
}

/* Its time is over. Fails without expired. */
static void says_nothing(void **state)
{
	int fd = client('w');
	char c;

	(void)state;
	for (int i = 0; i < 100 && !left; i++)
		run(1);
	assert_int_equal(came, 1);
	assert_int_equal(left, 1);
	assert_int_equal(recv(fd, &c, 1, 0), 0);
	close(fd);
}

/* All leave with the server. Fails without the loop in hf_guests_close. */
static void closed(void **state)
{
	int fd[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		fd[i] = client('x');
	for (int i = 0; i < 100 && came < 3; i++)
		run(1);
	hf_guests_close(guests);
	guests = NULL;
	assert_int_equal(left, 3);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_more, up, down), cmocka_unit_test_setup_teardown(at_the_door, up, down),
		cmocka_unit_test_setup_teardown(says_nothing, up, down), cmocka_unit_test_setup_teardown(closed, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
