/* The admin socket over a real one: no waiting, the loop runs until the client's side has all it gets. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "command.h"
#include "gate.h"

static struct gateway gate;

static struct sockaddr_un socket_address(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof at.sun_path, "%s/admin.sock", gate_dir);
	return at;
}

static enum hf_err open_admin(struct admin **out, char *said, size_t n)
{
	struct hf_writer why = hf_writer_on(said, n - 1);
	enum hf_err e = admin_open(&gate, out, &why);

	said[why.n] = 0;
	return e;
}

static int dial(void)
{
	struct sockaddr_un at = socket_address();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
	return fd;
}

struct talk {
	int fd;
	char got[65536];
	size_t n;
	bool end;
};

static void talk_ready(void *arg, unsigned what)
{
	struct talk *t = arg;
	ssize_t n = recv(t->fd, t->got + t->n, sizeof t->got - 1 - t->n, 0);

	(void)what;
	if (n > 0) {
		t->n += (size_t)n;
		return;
	}
	t->end = true;
	hf_loop_stop(gate.loop);
}

/* Runs the loop until the gateway has closed this client. */
static const char *listen_to(struct talk *t, int fd)
{
	struct hf_watch *w = hf_watch_new(gate.loop, fd, HF_READ, talk_ready, t);

	*t = (struct talk){.fd = fd};
	assert_non_null(w);
	hf_loop_run(gate.loop);
	hf_watch_free(w);
	close(fd);
	t->got[t->n] = 0;
	return t->got;
}

static const char *ask(const char *octets, size_t n, bool end)
{
	static struct talk t;
	int fd = dial();

	assert_int_equal(send(fd, octets, n, 0), n);
	if (end)
		shutdown(fd, SHUT_WR);
	return listen_to(&t, fd);
}

static void one_line_one_answer(void **state)
{
	static const char good[] = "{\"ok\":true,\"servers\":[{\"pool\":\"p\",\"name\":\"s1\"";
	const char *got;

	(void)state;
	got = ask("servers\n", 8, false);
	assert_memory_equal(got, good, sizeof good - 1);
	assert_string_equal(got + strlen(got) - 3, "]}\n");
	assert_memory_equal(ask("servers\r\nstatus\n", 16, false), good, sizeof good - 1); /* what follows the line is not read */
	assert_memory_equal(ask("servers", 7, true), good, sizeof good - 1);               /* the end of what is sent ends the line */
	assert_string_equal(ask("", 0, true), "");
	assert_string_equal(ask("\n", 1, false), "{\"ok\":false,\"error\":\"no command ''; nearest: on, off, move\"}\n");
}

static void a_long_line_is_refused(void **state)
{
	static char line[COMMAND_LINE_MAX];

	(void)state;
	memset(line, 'x', sizeof line);
	assert_string_equal(ask(line, sizeof line, false), "{\"ok\":false,\"error\":\"the line is too long: a message has at most 65536 octets, a key 4095\"}\n");
	memcpy(line, "where wave:", 11);
	line[6 + COMMAND_KEY_MAX - 1] = '\n'; /* the longest key that is taken */
	assert_memory_equal(ask(line, 6 + COMMAND_KEY_MAX, false), "{\"ok\":true,", 11);
	memset(line, '0', sizeof line);
	memcpy(line, "explain --message ", 18);
	line[18 + 2 * COMMAND_MESSAGE_MAX] = '\n'; /* the longest message, and one octet more */
	assert_memory_equal(ask(line, 18 + 2 * COMMAND_MESSAGE_MAX + 1, false), "{\"ok\":true,", 11);
	line[18 + 2 * COMMAND_MESSAGE_MAX] = '0';
	line[18 + 2 * COMMAND_MESSAGE_MAX + 2] = '\n';
	assert_memory_equal(ask(line, 18 + 2 * COMMAND_MESSAGE_MAX + 3, false), "{\"ok\":false,", 12);
}

/* A listing is made on the errands' thread while the loop goes on; a client that leaves meanwhile is forgotten. Without errands_forget in
 * client_end its answer would go to memory that is free (the address sanitizer sees it). */
static void a_listing_is_an_errand(void **state)
{
	static const char good[] = "{\"ok\":true,\"pools\":[{\"name\":\"p\",\"sessions\":[";
	int left[8];

	(void)state;
	assert_memory_equal(ask("sessions\n", 9, false), good, sizeof good - 1);
	assert_memory_equal(ask("sessions", 8, true), good, sizeof good - 1);
	for (unsigned i = 0; i < 8; i++) {
		left[i] = dial();
		assert_int_equal(send(left[i], "simulate add x\n", 15, 0), 15);
		if (i % 2)
			close(left[i]);
	}
	assert_memory_equal(ask("simulate add x\n", 15, false), "{\"ok\":true,", 11);
	for (unsigned i = 0; i < 8; i += 2)
		close(left[i]);
	assert_memory_equal(ask("sessions\n", 9, false), good, sizeof good - 1);
}

struct turns {
	struct hf_timer *timer;
	unsigned left;
};

static void turn(void *arg)
{
	struct turns *t = arg;

	if (t->left-- == 0)
		hf_loop_stop(gate.loop);
	else
		hf_timer_set(t->timer, 0);
}

/* Lets the loop turn often enough to accept whoever waits, one a turn. */
static void accept_all(void)
{
	struct turns t = {.left = 200};

	t.timer = hf_timer_new(gate.loop, turn, &t);
	assert_non_null(t.timer);
	hf_timer_set(t.timer, 0);
	hf_loop_run(gate.loop);
	hf_timer_free(t.timer);
}

/* More clients than are served at once: the 33rd is answered when one has gone. Without the bound in accept_ready client_new runs past its table. */
static void clients_are_bounded(void **state)
{
	static struct talk t;
	int idle[32], last;
	char octet;

	(void)state;
	for (unsigned i = 0; i < 32; i++)
		idle[i] = dial();
	last = dial();
	assert_int_equal(send(last, "servers\n", 8, 0), 8);
	accept_all();
	assert_int_equal(recv(last, &octet, 1, 0), -1); /* it waits */
	assert_int_equal(send(idle[7], "servers\n", 8, 0), 8);
	assert_memory_equal(listen_to(&t, idle[7]), "{\"ok\":true", 10);
	assert_memory_equal(listen_to(&t, last), "{\"ok\":true", 10);
	for (unsigned i = 0; i < 32; i++)
		if (i != 7)
			close(idle[i]);
	assert_memory_equal(ask("servers\n", 8, false), "{\"ok\":true", 10);
}

static void a_live_socket_is_left_alone(void **state)
{
	struct admin *second = NULL;
	char said[512];

	(void)state;
	assert_int_equal(open_admin(&second, said, sizeof said), HF_EIO);
	assert_non_null(strstr(said, "another gateway answers at /tmp/hf-gate-"));
	assert_memory_equal(ask("servers\n", 8, false), "{\"ok\":true", 10);
}

static void files_of_others_are_left_alone(void **state)
{
	struct sockaddr_un at = socket_address();
	struct admin *a = NULL;
	char said[512];
	struct stat st;
	int fd;

	(void)state;
	admin_close(gate.admin);
	gate.admin = NULL;
	assert_int_equal(stat(at.sun_path, &st), -1); /* ours is removed */
	fclose(fopen(at.sun_path, "w"));
	assert_int_equal(open_admin(&a, said, sizeof said), HF_EIO);
	assert_non_null(strstr(said, "is no socket"));
	assert_int_equal(stat(at.sun_path, &st), 0);
	unlink(at.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0); /* of a process that died: nobody listens */
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	close(fd);
	assert_int_equal(open_admin(&gate.admin, said, sizeof said), HF_OK);
	assert_int_equal(stat(at.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_memory_equal(ask("servers\n", 8, false), "{\"ok\":true", 10);
	unlink(at.sun_path); /* and in its place stands another's: it stays when we end */
	fclose(fopen(at.sun_path, "w"));
	admin_close(gate.admin);
	gate.admin = NULL;
	assert_int_equal(stat(at.sun_path, &st), 0);
}

static int up(void **state)
{
	char said[512];

	if (gate_dir_up(state) != 0)
		return -1;
	gate_open(&gate, ONE_POOL);
	return open_admin(&gate.admin, said, sizeof said) == HF_OK ? 0 : -1;
}

static int down(void **state)
{
	gate_close(&gate);
	return gate_dir_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_line_one_answer), cmocka_unit_test(a_listing_is_an_errand), cmocka_unit_test(a_long_line_is_refused), cmocka_unit_test(clients_are_bounded),
		cmocka_unit_test(a_live_socket_is_left_alone), cmocka_unit_test(files_of_others_are_left_alone),
	};

	(void)gate_ask;
	(void)gate_write;
	return cmocka_run_group_tests(tests, up, down);
}
