/* Programs that are run once; see program.h. A process is known by its pidfd: no signal handler, and no number that may be another's.
 * Its output is a pipe that is read once, at the end: who writes more than a pipe holds waits there until it is killed. Called by probe_program.c. */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast/writer.h"

/* A killed process is gone in microseconds, unless the kernel holds it: then its parent's end will do. */
#define LAST_WAIT_MS 200

struct program {
	struct programs *all;
	pid_t pid;
	int pidfd, out; /* out: where its output is read */
	struct hf_watch *watch;
	program_fn *done; /* NULL: nobody waits for it any more */
	void *arg;
	struct program *next;
};

struct programs {
	struct hf_loop *loop;
	void (*room)(void *arg);
	void *arg;
	struct program *list;
	unsigned n;
};

struct programs *programs_new(struct hf_loop *l, void (*room)(void *arg), void *arg)
{
	struct programs *all = calloc(1, sizeof *all);

	if (all)
		*all = (struct programs){.loop = l, .room = room, .arg = arg};
	signal(SIGCHLD, SIG_DFL); /* who started us may ignore it, and then nobody could wait for a child */
	return all;
}

bool programs_full(const struct programs *all) { return all->n >= PROGRAMS_MAX; }

/* ---- start ---- */

/* 0 or the errno. */
static int spawn_with(posix_spawn_file_actions_t *files, posix_spawnattr_t *how, int out, char *const argv[], pid_t *pid)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C.UTF-8";
	static char *const env[] = {path, locale, NULL};
	sigset_t none, all;
	int e;

	sigemptyset(&none);
	sigfillset(&all);
	if ((e = posix_spawn_file_actions_adddup2(files, out, 1)) != 0 || (e = posix_spawn_file_actions_adddup2(files, out, 2)) != 0 ||
	    (e = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0)) != 0 || (e = posix_spawn_file_actions_addclosefrom_np(files, 3)) != 0 ||
	    (e = posix_spawnattr_setsigmask(how, &none)) != 0 || (e = posix_spawnattr_setsigdefault(how, &all)) != 0 || (e = posix_spawnattr_setpgroup(how, 0)) != 0 ||
	    (e = posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP)) != 0)
		return e;
	return posix_spawn(pid, argv[0], files, how, argv, env);
}

static int spawn(int out, char *const argv[], pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	int e = posix_spawn_file_actions_init(&files);

	if (e != 0)
		return e;
	e = posix_spawnattr_init(&how);
	if (e == 0) {
		e = spawn_with(&files, &how, out, argv, pid);
		posix_spawnattr_destroy(&how);
	}
	posix_spawn_file_actions_destroy(&files);
	return e;
}

static void ended(void *arg, unsigned what);

/* Of a process that runs; -1: errno. */
static int watch(struct program *p)
{
	p->pidfd = pidfd_open(p->pid, 0);
	if (p->pidfd < 0)
		return -1;
	p->watch = hf_watch_new(p->all->loop, p->pidfd, HF_READ, ended, p);
	if (!p->watch)
		errno = ENOMEM;
	return p->watch ? 0 : -1;
}

static void discard(struct program *p)
{
	hf_watch_free(p->watch);
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->out >= 0)
		close(p->out);
	free(p);
}

struct program *program_start(struct programs *all, char *const argv[], program_fn *done, void *arg)
{
	struct program *p = calloc(1, sizeof *p);
	int pipes[2] = {-1, -1}, e = ENOMEM;

	if (!p)
		return NULL;
	*p = (struct program){.all = all, .pidfd = -1, .out = -1, .done = done, .arg = arg, .next = all->list};
	if (pipe2(pipes, O_CLOEXEC) != 0) {
		e = errno;
		goto out;
	}
	p->out = pipes[0];
	fcntl(p->out, F_SETFL, O_NONBLOCK); /* the other end is its own, and blocks */
	e = spawn(pipes[1], argv, &p->pid);
	close(pipes[1]);
	if (e != 0)
		goto out;
	if (watch(p) != 0) {
		e = errno;
		kill(-p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
		goto out;
	}
	all->list = p;
	all->n++;
	return p;
out:
	discard(p);
	errno = e;
	return NULL;
}

/* ---- end ---- */

void program_said(const struct program *p, char said[PROGRAM_SAID])
{
	uint8_t text[4 * PROGRAM_SAID];
	ssize_t n = read(p->out, text, sizeof text);
	struct hf_bytes line = hf_bytes_of(text, n > 0 ? (size_t)n : 0);
	struct hf_writer w = hf_writer_on(said, PROGRAM_SAID - 1);

	hf_w_escaped(&w, hf_bytes_trim(hf_bytes_sub(line, 0, hf_bytes_find(line, '\n'))));
	said[w.n] = 0;
}

/* Its group goes while it is not reaped yet: until then the number is nobody else's. */
static bool reap(struct program *p, int *status)
{
	kill(-p->pid, SIGKILL);
	return waitpid(p->pid, status, WNOHANG) == p->pid;
}

static void ended(void *arg, unsigned what)
{
	struct program *p = arg, **at = &p->all->list;
	struct programs *all = p->all;
	char said[PROGRAM_SAID];
	int status = 0;

	(void)what;
	if (!reap(p, &status))
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	all->n--;
	if (p->done) {
		program_said(p, said);
		p->done(p->arg, status, said);
	}
	discard(p);
	all->room(all->arg);
}

void program_leave(struct program *p)
{
	p->done = NULL;
	kill(-p->pid, SIGKILL);
}

void programs_free(struct programs *all)
{
	if (!all)
		return;
	for (struct program *p = all->list; p; p = p->next)
		program_leave(p);
	while (all->list) {
		struct program *p = all->list;
		struct pollfd end = {.fd = p->pidfd, .events = POLLIN};
		int status;

		all->list = p->next;
		if (poll(&end, 1, LAST_WAIT_MS) == 1)
			(void)reap(p, &status);
		discard(p);
	}
	free(all);
}
