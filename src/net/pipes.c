/* Large pipes for splice, which the relay borrows while bulk moves: octets then go from socket to socket without being copied.
 * A worker keeps those it has made. Who borrows one gives it back as soon as it is empty, so an idle flow never has one. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "flow.h"

#define PIPES 32             /* of a process: two descriptors each, and an ordinary user may have 64 of this size (pipe-user-pages-soft) */

/* One that waits to be lent, or NULL. */
static struct pipe *spare(struct worker *w)
{
	struct pipe *p = w->pipes;

	if (p)
		w->pipes = p->next;
	return p;
}

static struct pipe *make(struct worker *w)
{
	struct pipe *p;
	int fd[2];

	if (w->n_pipes >= PIPES / w->net->n_workers + !(PIPES / w->net->n_workers))
		return NULL;
	if (pipe2(fd, O_NONBLOCK | O_CLOEXEC) != 0)
		return NULL;
	p = calloc(1, sizeof *p);
	if (!p || fcntl(fd[1], F_SETPIPE_SZ, PIPE_SIZE) < 0) { /* a small one is no better than a copy */
		close(fd[0]);
		close(fd[1]);
		free(p);
		return NULL;
	}
	p->out = fd[0];
	p->in = fd[1];
	w->n_pipes++;
	return p;
}

static void end(struct worker *w, struct pipe *p)
{
	close(p->out);
	close(p->in);
	free(p);
	w->n_pipes--;
}

struct pipe *pipe_borrow(struct worker *w)
{
	struct pipe *p = spare(w);

	return p ? p : make(w);
}

void pipe_return(struct worker *w, struct pipe *p)
{
	if (!p)
		return;
	if (p->n) { /* of a flow that has ended: nobody may find its octets */
		end(w, p);
		return;
	}
	p->next = w->pipes;
	w->pipes = p;
}

void pipes_free(struct worker *w)
{
	struct pipe *p;

	while ((p = spare(w)))
		end(w, p);
}
