/* The control client: sends one line to the admin socket and shows the answer, as it came or for people.
 * Exit: 0 done, 1 refused, 2 usage, 3 no gateway. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "holdfast/nearest.h"
#include "holdfast/rundir.h"
#include "message.h"
#include "show.h"

enum { DONE, REFUSED, USAGE, NO_GATEWAY };

#define LINE_MAX_OCTETS (4096 + 2 * MESSAGE_MAX)
#define ANSWER_MAX (64u << 20) /* as the gateway's own bound */
#define WAIT_S 60              /* as long as the gateway gives a simulation; a reload resolves and opens before it answers */
#define SYSTEM_SOCKET "/run/holdfast/" HF_ADMIN_NAME

/* ---- the exchange ---- */

static void default_socket(char *path, size_t n)
{
	const char *env = getenv("RUNTIME_DIRECTORY");

	if ((!env || !*env) && access(SYSTEM_SOCKET, F_OK) == 0) {
		snprintf(path, n, "%s", SYSTEM_SOCKET);
		return;
	}
	hf_run_dir(HF_NONE, HF_LIT(HF_STATE_DIR), path, n);
	snprintf(path + strlen(path), n - strlen(path), "/%s", HF_ADMIN_NAME);
}

static int no_gateway(const char *path, const char *why)
{
	fprintf(stderr, "holdfastctl: no gateway at %s: %s\n", path, why);
	return NO_GATEWAY;
}

/* Nobody was reached: what to do about it depends on why. */
static int not_reached(const char *path)
{
	int e = errno;

	no_gateway(path, strerror(e));
	fputs(e == EACCES ? "  its user, its group and root may ask it\n"
	                  : "  a gateway that runs says its socket at its start (event=ready ... admin=SOCKET): holdfastctl -s SOCKET COMMAND\n",
		stderr);
	return NO_GATEWAY;
}

static int dial(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct timeval wait = {.tv_sec = WAIT_S};
	int fd;

	if (strlen(path) >= sizeof at.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(at.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) < 0) {
		int e = errno;

		close(fd);
		errno = e;
		return -1;
	}
	return fd;
}

/* All that comes until the other side closes; false with errno. */
static bool read_all(int fd, struct hf_writer *w)
{
	for (;;) {
		ssize_t n;

		if (w->n == w->cap) {
			size_t cap = w->cap ? w->cap * 2 : 65536;
			uint8_t *p = cap > ANSWER_MAX ? NULL : realloc(w->p, cap);

			if (!p)
				return errno = ENOMEM, false;
			w->p = p;
			w->cap = cap;
		}
		n = read(fd, w->p + w->n, w->cap - w->n);
		if (n == 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
		w->n += n > 0 ? (size_t)n : 0;
	}
}

/* Sends the line; the answer into w, which the caller frees. */
static int exchange(const char *path, struct hf_bytes line, struct hf_writer *w)
{
	int fd = dial(path), code = DONE;

	if (fd < 0)
		return not_reached(path);
	if (send(fd, line.p, line.n, MSG_NOSIGNAL) != (ssize_t)line.n || !read_all(fd, w))
		code = no_gateway(path, errno == EAGAIN ? "no answer in time" : strerror(errno));
	close(fd);
	return code;
}

static int show(const struct command *c, const char *path, struct hf_bytes got, bool as_json)
{
	struct hf_json a, ok;
	bool done;

	if (hf_json_read(got, &a) != HF_OK || !show_get(&a, HF_F_OK, &ok))
		return no_gateway(path, "what answers there is no gateway");
	done = ok.kind == HF_JSON_TRUE;
	if (as_json)
		fwrite(got.p, 1, got.n, stdout);
	else if (done)
		c->show(&a);
	if (!done && !as_json) {
		fprintf(stderr, "holdfastctl: %s\n", show_text(&a, HF_F_ERROR));
		show_findings(&a, stderr);
	}
	return done ? DONE : REFUSED;
}

/* ---- the command line ---- */

static int usage(FILE *to, int code)
{
	fputs("usage: holdfastctl [-s SOCKET] [--json] COMMAND\n", to);
	for (unsigned i = 0; i < n_commands; i++)
		fprintf(to, "  %s%s%s\n      %s\n", commands[i].name, *commands[i].args ? " " : "", commands[i].args, commands[i].help);
	fputs("  -s SOCKET is admin-socket of the configuration; --json prints the answer as it came.\n", to);
	return code;
}

static const struct command *find_command(const char *name)
{
	struct hf_nearest near = {.wanted = hf_bytes_str(name)};
	char t[256];
	struct hf_writer w = hf_writer_on(t, sizeof t);

	for (unsigned i = 0; i < n_commands; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
		hf_nearest_add(&near, hf_bytes_str(commands[i].name));
	}
	hf_w_nearest(&w, &near);
	fprintf(stderr, "holdfastctl: no command '%s'; nearest: %.*s (holdfastctl --help lists all)\n", name, (int)w.n, t);
	return NULL;
}

/* The words as one line; --json may stand anywhere among them, --hex is ours too. */
static bool write_line(struct hf_writer *w, char **words, int *n, bool *as_json, bool *as_hex)
{
	int kept = 0;

	for (int i = 0; words[i]; i++) {
		bool *mine = strcmp(words[i], "--json") == 0 ? as_json : strcmp(words[i], "--hex") == 0 ? as_hex : NULL;

		if (mine) {
			*mine = true;
			continue;
		}
		for (const char *p = words[i]; *p; p++)
			if ((unsigned char)*p < 0x20)
				return false;
		if (kept++)
			hf_w_u8(w, ' ');
		hf_w_str(w, words[i]);
	}
	*n = kept;
	return !w->full;
}

/* A command that may be about a message is, when its words name no key: all of them are options then. */
static bool wants_message(const struct command *c, char **words)
{
	bool value = false;

	for (int i = 1; c->message && words[i]; i++) {
		bool own = strcmp(words[i], "--json") == 0 || strcmp(words[i], "--hex") == 0;

		if (!own && !value && strncmp(words[i], "--", 2) != 0)
			return false;
		value = !own && !value;
	}
	return c->message;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"socket", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'},
		{"version", no_argument, NULL, 'V'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	static char line[LINE_MAX_OCTETS];
	char path[PATH_MAX] = "";
	struct hf_writer w = hf_writer_on(line, sizeof line), got = {0};
	const struct command *c;
	bool as_json = false, as_hex = false;
	int o, n, code;

	while ((o = getopt_long(argc, argv, "+s:Vh", options, NULL)) != -1) {
		switch (o) {
		case 's': snprintf(path, sizeof path, "%s", optarg); break;
		case 'j': as_json = true; break;
		case 'V': return puts("holdfastctl " HF_VERSION) < 0;
		case 'h': return usage(stdout, DONE);
		default: return usage(stderr, USAGE);
		}
	}
	if (optind == argc)
		return usage(stderr, USAGE);
	c = find_command(argv[optind]);
	if (!c)
		return USAGE;
	if (!write_line(&w, argv + optind, &n, &as_json, &as_hex) || n - 1 < c->min || n - 1 > c->max || (as_hex && !wants_message(c, argv + optind))) {
		fprintf(stderr, "usage: holdfastctl %s%s%s\n", c->name, *c->args ? " " : "", c->args);
		return USAGE;
	}
	if (wants_message(c, argv + optind) && !message_read(stdin, as_hex, &w))
		return USAGE;
	hf_w_u8(&w, '\n');
	if (!path[0])
		default_socket(path, sizeof path);
	code = exchange(path, hf_writer_view(&w), &got);
	if (code == DONE)
		code = show(c, path, hf_writer_view(&got), as_json);
	free(got.p);
	return code;
}
