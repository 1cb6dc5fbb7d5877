/* Whom SRV records name (RFC 2782), as of the last answer for each name of the configuration in force. Control thread. */
#ifndef NET_DISCOVER_H
#define NET_DISCOVER_H

#include "inside.h"
#include "resolve.h"

struct discover;
struct discover *discover_new(struct hf_net *net) HF_MUST_USE;
void discover_free(struct discover *d);
/* NULL: there was no answer yet. */
const struct resolved_srv *discover_find(const struct discover *d, struct hf_bytes host);
/* Names follow the snapshot in force; fresh: a reload, so that all are asked anew. */
void discover_follow(struct discover *d, bool fresh);

#endif
