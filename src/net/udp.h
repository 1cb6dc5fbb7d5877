/* Datagrams of a worker, in and out in batches, and when its sockets are read (private to net; udp.c, gather.c, pressure.c). */
#ifndef NET_UDP_H
#define NET_UDP_H

#include "inside.h"

struct udp *udp_new(void) HF_MUST_USE;
void udp_free(struct udp *u);
void udp_readable(void *listening, unsigned what);
/* After the socket was read: decides whether it is read at once when more comes, or once a pause. more: it was not read empty. */
void gather_turn(struct listening *l, unsigned got, bool more);
void gather_free(struct listening *l);
/* After a turn of a socket; full: as much was taken as a turn may, and there is more. */
void pressure_turn(struct listening *l, bool full);
/* Puts a datagram into the batch that goes out from listener `at` of the service. from: source address on wildcard sockets, or NULL.
 * HF_EFULL: longer than a datagram. Sends that the system refuses are counted for the service. */
enum hf_err udp_send(struct worker *w, const struct snap_service *s, unsigned at, const struct hf_addr *to, const struct hf_addr *from, struct hf_bytes base,
	const struct hf_splice *splices, unsigned n_splices) HF_MUST_USE;
/* The same from a socket that is connected; at most NET_DATAGRAM octets. It must not be closed before udp_flush. */
void udp_pass(struct worker *w, struct service_rt *rt, int fd, struct hf_bytes bytes);
/* What has come to a socket: how many, or -1: errno. The views live until the next call, and not beyond the turn. Not from a step. */
#define UDP_BATCH 32 /* datagrams a call; more gains nothing measurable */
int udp_fetch(struct worker *w, int fd, struct hf_bytes got[UDP_BATCH]);
void udp_flush(struct worker *w);
/* base with its splices into out; the length, or 0 when it does not fit or the splices are not in order. */
size_t udp_compose(uint8_t *out, size_t cap, struct hf_bytes base, const struct hf_splice *splices, unsigned n);

#endif
