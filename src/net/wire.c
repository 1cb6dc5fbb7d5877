/* What all layers of a connection share; see wire.h. */
#include "wire.h"

#include <stdlib.h>

enum hf_err wire_open(struct wire *w)
{
	enum hf_err e = w->below ? wire_open(w->below) : HF_OK;

	if (e == HF_OK)
		return w->kind->open(w);
	w->reads = w->below->reads;
	return e;
}

bool wire_feed(struct wire *w, struct hf_bytes octets)
{
	while (w->below)
		w = w->below;
	HF_BUG_ON(w->ahead);
	w->ahead = octets.n ? malloc(octets.n) : NULL;
	if (octets.n && !w->ahead)
		return false;
	if (octets.n)
		memcpy(w->ahead, octets.p, octets.n);
	w->ahead_n = octets.n;
	return true;
}

void wire_shut(struct wire *w)
{
	for (; w; w = w->below)
		w->kind->shut(w);
}

void wire_free(struct wire *w)
{
	while (w) {
		struct wire *below = w->below;

		free(w->ahead);
		w->kind->free(w);
		w = below;
	}
}

unsigned wire_reason(const struct wire *w)
{
	for (; w; w = w->below)
		if (w->reason)
			return w->reason;
	return 0;
}

static ssize_t from_ahead(struct wire *w, void *p, size_t n)
{
	size_t left = w->ahead_n - w->ahead_at;

	if (n > left)
		n = left;
	memcpy(p, w->ahead + w->ahead_at, n);
	w->ahead_at += n;
	if (w->ahead_at == w->ahead_n) {
		free(w->ahead);
		w->ahead = NULL;
	}
	return (ssize_t)n;
}

ssize_t wire_recv(struct wire *w, void *p, size_t n)
{
	ssize_t got;

	if (w->ahead)
		return from_ahead(w, p, n);
	got = wire_read(w->below, w->fd, p, n);
	if (w->below)
		w->reads = w->below->reads;
	return got;
}

ssize_t wire_send(struct wire *w, const void *p, size_t n)
{
	ssize_t sent = wire_write(w->below, w->fd, p, n);

	if (w->below)
		w->writes = w->below->writes;
	return sent;
}
