/* From where a connection leaves (net/sock.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock.h"

static struct hf_addr addr(const char *text)
{
	struct hf_addr a = {0};

	assert_int_equal(hf_addr_read(hf_bytes_str(text), 0, &a), HF_OK);
	return a;
}

/* The address that it is dialled from, of whatever port that has; of one that is not ours (any more) the system's choice. Fails without the bind, when it takes
 * the listener's port, which another connection to the same end may have, and without the second try. */
static void dialled_from(void **state)
{
	static const struct { const char *from, *seen; } rows[] = {{"127.0.0.3:0", "127.0.0.3:0"}, {"127.0.0.3:0", "127.0.0.3:0"}, {"192.0.2.1:5060", "127.0.0.1:0"}, {NULL, "127.0.0.1:0"}};
	const struct hf_addr any = addr("127.0.0.1:0"), *from;
	int listener = sock_listen(&any, true, 0), fd[4];
	struct hf_addr at, one;

	(void)state;
	assert_true(listener >= 0);
	at = sock_local(listener);
	for (unsigned i = 0; i < 4; i++) {
		struct hf_addr seen, want = addr(rows[i].seen);

		from = NULL;
		if (rows[i].from) {
			one = addr(rows[i].from);
			one.port = at.port;
			from = &one;
		}
		fd[i] = sock_dial(&at, from);
		assert_true(fd[i] >= 0);
		seen = sock_local(fd[i]);
		assert_true(hf_addr_ip_eq(&seen, &want));
	}
	for (unsigned i = 0; i < 4; i++)
		close(fd[i]);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(dialled_from)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
