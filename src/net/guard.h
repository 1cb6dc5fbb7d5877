/* Who may speak to a service, and how often: before anything of a message is looked at. Any worker. */
#ifndef NET_GUARD_H
#define NET_GUARD_H

#include "inside.h"

/* What the sources of a service have said of late. NULL: no memory. */
struct said *said_new(void) HF_MUST_USE;
void said_free(struct said *s);
/* May a source speak at all, by `allow` and `deny` of the service and of the listener (NULL: that is gone)? Where servers are, it may. O(networks that are listed). */
bool guard_admits(const struct snap_service *s, const struct hf_listener_info *l, const struct hf_addr *source);
/* A datagram, whose ev and ctx are filled: may it go on? False: it was counted. */
bool guard_takes(struct parcel *p);
/* Has the source of a connection said as much as it may, where `max-rate-source` is set? Servers never have. */
bool guard_over(const struct worker *w, const struct snap_service *s, const struct hf_listener_info *l, const struct hf_addr *source);
/* It has said something. */
void guard_heard(const struct worker *w, const struct snap_service *s, const struct hf_addr *source);

#endif
