/* What goes through a path, octet for octet, in the batches of udp.c; see path.h. The socket towards the server is connected, so that the system passes on
 * what comes from there alone, and tells when the server's machine says that nobody listens. Called by udp.c and the poller. */
#include "path_in.h"

#include <errno.h>

#include "holdfast/clock.h"
#include "udp.h"

#define ROUNDS 4 /* batches a socket gets before the others' turn */

void path_up(struct path *p, struct hf_bytes bytes)
{
	if (!bytes.n)
		return;
	p->last_ms = p->w->now_ms;
	p->shown |= p->answered;
	p->up += bytes.n;
	udp_pass(p->w, p->rt, p->watch.fd, bytes);
}

bool path_take(struct listening *l, const struct snap_service *s, struct hf_bytes bytes, const struct hf_addr *source, const struct hf_addr *local)
{
	struct path *p = path_find(l->w, s->infos[l->at].hash, source, local);

	if (p && p->over) { /* whatever comes now is something new */
		path_end(p, HF_R_SESSION_ENDED);
		p = NULL;
	}
	if (p)
		path_up(p, bytes);
	return p != NULL;
}

/* A datagram of the server. */
static void down(struct path *p, const struct snap_service *s, unsigned at, struct hf_bytes bytes)
{
	if (!bytes.n)
		return;
	if (!p->shown && p->down + bytes.n > PATH_FACTOR * p->up) {
		worker_count(p->w, p->rt, HF_R_UNPROVEN);
		return;
	}
	p->last_ms = p->w->now_ms;
	p->down += bytes.n;
	p->answered = true;
	if (udp_send(p->w, s, at, &p->client, &p->local, bytes, NULL, 0) != HF_OK)
		worker_count(p->w, p->rt, HF_R_TOO_BIG);
}

void path_readable(void *arg, unsigned what)
{
	struct path *p = arg;
	struct worker *w = p->w;
	const struct snap_service *s = snap_service(w->snap, p->service);
	struct hf_bytes got[UDP_BATCH];
	unsigned at;
	int n = UDP_BATCH;

	(void)what;
	HF_BUG_ON(!s || !snap_listener(s, p->listener, &at)); /* paths_settle */
	worker_clock(w);
	for (int round = 0; round < ROUNDS && n == UDP_BATCH; round++) {
		n = udp_fetch(w, p->watch.fd, got);
		for (int i = 0; i < n; i++)
			down(p, s, at, got[i]);
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		path_end(p, HF_R_SERVER_ERROR);
	udp_flush(w);
}
