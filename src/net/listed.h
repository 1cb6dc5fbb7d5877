/* Who stands in a pool's list: its lines, in place of those of SRV records whom these name (private to net). Control thread. */
#ifndef NET_LISTED_H
#define NET_LISTED_H

#include "discover.h"

/* The servers that one line of SRV records stands for by what was said last, in out[] and, for their hosts, texts[], both of its `targets`; returns how
 * many. said NULL: there was no answer in this run; they are those whom the engine has of the run before. */
unsigned listed_expand(const struct hf_conf_pool *pool, const struct hf_conf_server *line, const struct resolved_srv *said, struct hf_engine *e, uint64_t now_ms,
	struct hf_conf_server *out, char (*texts)[256]);

/* Where a member of the engine is, as roster.c has written it; false: it did not. */
bool place_kept(const uint8_t at[HF_MEMBER_AT], struct hf_addr *a, enum hf_transport *t);

/* Fills p->listed of a pool whose conf and rt are set; roster_free lets go of it. */
enum hf_err listed_make(const struct discover *d, struct snap_pool *p) HF_MUST_USE;
/* Would they be others now? */
bool listed_is_other(const struct discover *d, const struct snap_pool *p);

#endif
