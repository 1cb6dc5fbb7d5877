/* The admin socket: a UNIX stream on the control loop; a line in, a line of JSON out, the end. It knows no command (answer.c does).
 * Clients are bounded in number, octets and time, and are let in when descriptors have run out. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "command.h"
#include "errand.h"
#include "gateway.h"
#include "holdfast/guests.h"
#include "holdfast/log.h"
#include "json.h"

#define CLIENTS 32     /* at once; an operator and some scripts */
#define LINE_FIRST 4096 /* room that a line gets at first */
#define ERRAND_MS 60000 /* for an answer that takes its time: no table is so long, but others may come first */

struct client {
	struct hf_guest guest;
	uint8_t *line; /* of room octets: most lines are short, a message to be explained is not */
	size_t n, room;
	struct json out;
	size_t sent;
	struct errand *errand; /* that has its answer; NULL: none is out */
};

struct admin {
	struct gateway *g;
	int fd;
	struct hf_guests *guests;
	struct errands *errands;
	dev_t dev; /* the socket file that is ours to remove */
	ino_t ino;
};

static struct client *of(struct hf_guest *g) { return (struct client *)(void *)g; }

static void client_leave(struct hf_guest *g)
{
	struct client *c = of(g);
	struct admin *a = g->arg;

	if (c->errand)
		errands_forget(a->errands, c->errand);
	json_free(&c->out);
	free(c->line);
}

static void client_send(struct client *c)
{
	if (hf_guest_send(&c->guest, hf_writer_view(&c->out.w), &c->sent) != HF_EFULL)
		hf_guest_end(&c->guest);
}

/* c->out is whole. */
static void client_reply(struct client *c)
{
	if (!json_failed(&c->out))
		hf_w_u8(&c->out.w, '\n'); /* json_close always leaves place */
	if (json_failed(&c->out)) {
		json_free(&c->out);
		hf_log(HF_LOG_ERROR, "event=admin-answer-failed error=\"no memory\"");
	}
	client_send(c);
}

static void client_refuse(struct client *c, const char *text)
{
	c->out = json_new();
	json_open(&c->out, JSON_ITEM, '{');
	json_bool(&c->out, HF_F_OK, false);
	json_str(&c->out, HF_F_ERROR, text);
	json_close(&c->out, '}');
	hf_w_u8(&c->out.w, '\n');
	client_send(c);
}

static void errand_done(void *arg, struct json *out)
{
	struct client *c = arg;

	c->errand = NULL;
	c->out = *out;
	*out = json_new();
	client_reply(c);
}

static void client_answer(struct client *c, struct hf_bytes line)
{
	struct admin *a = c->guest.arg;
	struct errand *x;

	c->out = json_new();
	x = answer(a->g, line, &c->out);
	if (!x) {
		client_reply(c);
		return;
	}
	if (errands_send(a->errands, x, errand_done, c) != HF_OK) {
		x->free(x);
		client_refuse(c, "no memory for a thread");
		return;
	}
	c->errand = x;
	hf_timer_set(c->guest.timer, ERRAND_MS);
}

/* Whoever waits for an errand has nothing more to say, but may go. */
static void client_idle(struct client *c)
{
	ssize_t n = recv(c->guest.fd, c->line, c->room, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		hf_guest_end(&c->guest);
	else if (n == 0)
		hf_watch_set(c->guest.watch, 0); /* its side is closed: all is said; the answer goes out, or fails */
}

/* Room for more of the line, of which the longest is not there yet. */
static bool line_room(struct client *c)
{
	size_t room = c->room ? c->room * 2 : LINE_FIRST;
	uint8_t *p;

	if (c->n < c->room)
		return true;
	room = room > COMMAND_LINE_MAX ? COMMAND_LINE_MAX : room;
	p = realloc(c->line, room);
	if (!p)
		return false;
	c->line = p;
	c->room = room;
	return true;
}

/* The line is taken at its end, or at the end of what the client sends. */
static void client_read(struct client *c)
{
	size_t before = c->n, end;
	struct hf_bytes got;
	ssize_t n;

	if (!line_room(c)) {
		client_refuse(c, "no memory for the line");
		return;
	}
	n = recv(c->guest.fd, c->line + c->n, c->room - c->n, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 || (n == 0 && c->n == 0)) {
		hf_guest_end(&c->guest);
		return;
	}
	c->n += (size_t)n;
	end = before + hf_bytes_find(hf_bytes_of(c->line + before, (size_t)n), '\n');
	if (end == c->n && n > 0) {
		if (c->n == COMMAND_LINE_MAX)
			client_refuse(c, "the line is too long: a message has at most 65536 octets, a key 4095");
		return;
	}
	got = hf_bytes_of(c->line, end);
	if (got.n && got.p[got.n - 1] == '\r')
		got.n--;
	client_answer(c, got);
}

static void client_ready(struct hf_guest *g, unsigned what)
{
	struct client *c = of(g);

	(void)what;
	if (c->errand)
		client_idle(c);
	else if (c->out.w.n)
		client_send(c);
	else
		client_read(c);
}

static const struct hf_guest_kind kind = {"admin", CLIENTS, sizeof(struct client), client_ready, client_leave};

/* Does a process answer at this address? */
static bool is_live(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool live = fd >= 0 && (connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno != ECONNREFUSED);

	if (fd >= 0)
		close(fd);
	return live;
}

/* Binds; the file of a dead process is replaced, anything else is left alone. */
static enum hf_err bind_path(struct admin *a, const struct sockaddr_un *at, struct hf_writer *why)
{
	struct stat st;

	if (lstat(at->sun_path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode)) {
			hf_w_printf(why, "admin-socket: %s is there and is no socket; move it away", at->sun_path);
			return HF_EIO;
		}
		if (is_live(at)) {
			hf_w_printf(why, "admin-socket: another gateway answers at %s; stop it, or give this one a state-dir and run-dir of its own", at->sun_path);
			return HF_EIO;
		}
		unlink(at->sun_path);
	}
	if (bind(a->fd, (const struct sockaddr *)at, sizeof *at) == 0 && chmod(at->sun_path, 0660) == 0 && stat(at->sun_path, &st) == 0) {
		a->dev = st.st_dev;
		a->ino = st.st_ino;
		return HF_OK;
	}
	hf_w_printf(why, "admin-socket: cannot make %s: %s", at->sun_path, strerror(errno));
	return HF_EIO;
}

static enum hf_err open_path(struct admin *a, struct hf_writer *why)
{
	const struct places *p = &a->g->places;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	mode_t mask;
	enum hf_err e;

	memcpy(at.sun_path, p->admin, strlen(p->admin)); /* places_find has measured it */
	a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0) {
		hf_w_printf(why, "admin-socket: %s", strerror(errno));
		return HF_EIO;
	}
	mask = umask(0177); /* nobody else gets in between bind and chmod; no other thread runs yet */
	e = bind_path(a, &at, why);
	umask(mask);
	if (e != HF_OK)
		return e;
	if ((places_change_user(p) && chown(p->admin, p->uid, p->gid) < 0) || listen(a->fd, CLIENTS) < 0) {
		hf_w_printf(why, "admin-socket: %s: %s", p->admin, strerror(errno));
		return HF_EIO;
	}
	return HF_OK;
}

enum hf_err admin_open(struct gateway *g, struct admin **out, struct hf_writer *why)
{
	struct admin *a = calloc(1, sizeof *a);
	enum hf_err e = HF_ENOMEM;

	if (!a)
		return HF_ENOMEM;
	a->g = g;
	a->fd = -1;
	e = open_path(a, why);
	if (e != HF_OK)
		goto out;
	e = HF_ENOMEM;
	a->errands = errands_new(g->loop);
	a->guests = hf_guests_open(g->loop, a->fd, &kind, a);
	if (a->guests && a->errands)
		e = HF_OK;
out:
	if (e != HF_OK)
		admin_close(a);
	else
		*out = a;
	return e;
}

void admin_close(struct admin *a)
{
	struct stat st;

	if (!a)
		return;
	hf_guests_close(a->guests);
	errands_free(a->errands);
	if (a->fd >= 0)
		close(a->fd);
	if (a->ino && lstat(a->g->places.admin, &st) == 0 && st.st_dev == a->dev && st.st_ino == a->ino)
		unlink(a->g->places.admin);
	free(a);
}
