/* Paths: flows of datagrams (private to net). A path is the address and port of a client that has come to a listener, and a socket of ours that is
 * connected to its server, beside a relayed flow (anchors.h): datagrams are copied both ways as they are. One worker's; the system brings all datagrams of
 * an address and port to one worker. Net knows nothing of what is in them: the front says by RELAY that one may begin.
 *
 * It ends when nothing comes for as long as its front said, a little after its flow, with its listener, when its server is off or refuses datagrams, and
 * when its client has not shown in time that it receives any. Until it has shown that (a datagram of it came after the server's first had gone out),
 * at most PATH_FACTOR times the octets that it sent go to it: its address is forged perhaps (as in RFC 9000 section 8.1). */
#ifndef NET_PATH_H
#define NET_PATH_H

#include "anchors.h"

#define PATH_FACTOR 3u

struct paths;
struct paths *paths_new(void) HF_MUST_USE; /* NULL: no memory */
void paths_free(struct worker *w);         /* ends them all */
/* A new snapshot is in force: those whose listener is gone end. */
void paths_settle(struct worker *w);
void paths_end_off(struct worker *w);      /* those at servers that are off, as flows there end */
/* A flow has ended: those beside it, on all workers of whom anchors_leave told. */
void paths_flow_ended(struct flow *f, uint64_t workers);
void paths_letter(struct worker *w, const struct hf_flow_name *flow); /* the owner's side */

/* A datagram of a path: it has been dealt with. False: there is no path for it. */
bool path_take(struct listening *l, const struct snap_service *s, struct hf_bytes bytes, const struct hf_addr *source, const struct hf_addr *local) HF_MUST_USE;
/* RELAY of a datagram: its path begins, and it goes on to the server. Counts why not. */
void path_begin(struct parcel *p, uint32_t idle_ms);

#endif
