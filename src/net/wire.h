/* A layer between a connection's socket and its octets: TLS (tls.c), or whatever else wraps a stream. Layers stack, each over the one
 * `below` it or over the socket; a side has the topmost, or NULL when octets are plain, which then costs a look at a pointer.
 *
 * Putting a further layer on a connection takes a `struct wire` as first member of its own struct, a `struct wire_kind`, and wire_init:
 * it reads and writes what is below by wire_recv and wire_send alone, so that it works over a socket and over TLS alike. Where the sides get
 * their layers: accept.c for accepted connections, link.c for those that we dial, probe.c for probes. Two things are for the caller to know:
 *   - A read of an accepted connection drives its opening (a handshake, an upgrade) as well: until that is through it gives EAGAIN. What was
 *     dialled is driven by wire_open until that says HF_OK, before anything is written.
 *   - What a write did not take is written again, from the same octet on, once the layer can go on.
 * Knows no flow, worker or protocol. A wire belongs to one thread. */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "holdfast/bytes.h"
#include "holdfast/err.h"
#include "holdfast/loop.h"

struct wire {
	const struct wire_kind *kind;
	struct wire *below;    /* owned; NULL: the socket */
	int fd;                /* the socket under all */
	uint8_t reads, writes; /* HF_READ or HF_WRITE: what a read, a write that gave EAGAIN waits for. Set by the layer */
	bool again;            /* octets are left inside, here or below, that a read would give though the socket may never be readable again. Set by the layer */
	uint16_t reason;       /* a reason: why it failed; 0: as a socket does */
	uint8_t *ahead;        /* the lowest: octets that were read off the socket before it had this layer */
	size_t ahead_at, ahead_n;
};

struct wire_kind {
	/* HF_OK: octets may pass. HF_EFULL: not yet; `reads` says what it waits for. Else it has failed. */
	enum hf_err (*open)(struct wire *w);
	/* As recv and send on a socket that does not block: -1 and errno (EAGAIN: later), a read's 0: the peer has ended in order. */
	ssize_t (*read)(struct wire *w, void *p, size_t n);
	ssize_t (*write)(struct wire *w, const void *p, size_t n);
	void (*shut)(struct wire *w); /* tells the peer that nothing more comes, as far as what is below takes it at once; may be called twice */
	void (*free)(struct wire *w); /* what is its own, and w; not what is below */
};

/* Over `below`, or over the socket when that is NULL. */
static inline void wire_init(struct wire *w, const struct wire_kind *kind, struct wire *below, int fd)
{
	*w = (struct wire){.kind = kind, .below = below, .fd = fd, .reads = HF_READ, .writes = HF_WRITE};
}
enum hf_err wire_open(struct wire *w) HF_MUST_USE; /* this layer and all below it */
/* Octets that belong to the layers and were read before there were any; before the first read. False: no memory. */
bool wire_feed(struct wire *w, struct hf_bytes octets) HF_MUST_USE;
void wire_shut(struct wire *w);         /* all layers, from the top; not the socket */
void wire_free(struct wire *w);         /* all layers; NULL is fine; not the socket */
unsigned wire_reason(const struct wire *w); /* why one of the layers failed; 0: none of them did */

/* For layers: what is below. What that waits for after EAGAIN, this layer waits for too. */
ssize_t wire_recv(struct wire *w, void *p, size_t n);
ssize_t wire_send(struct wire *w, const void *p, size_t n);

/* For who has a connection: through its layers, if it has any. */
static inline ssize_t wire_read(struct wire *w, int fd, void *p, size_t n) { return w ? w->kind->read(w, p, n) : recv(fd, p, n, 0); }
static inline ssize_t wire_write(struct wire *w, int fd, const void *p, size_t n) { return w ? w->kind->write(w, p, n) : send(fd, p, n, MSG_NOSIGNAL); }
static inline unsigned wire_wants(const struct wire *w, bool reads, bool writes)
{
	return w ? (reads ? w->reads : 0u) | (writes ? w->writes : 0u) : (reads ? HF_READ : 0u) | (writes ? HF_WRITE : 0u);
}
static inline bool wire_again(const struct wire *w) { return w && w->again; }

#endif
