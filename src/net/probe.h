/* Probes: is a server there, and does it want new sessions? Run by the control thread; what workers saw of dials counts too. */
#ifndef NET_PROBE_H
#define NET_PROBE_H

#include "inside.h"

struct probes *probes_new(struct hf_net *net) HF_MUST_USE;
void probes_apply(struct probes *p); /* the pools have changed */
void probes_free(struct probes *p);
/* Can the pool's program be run by who we are? False: `why` says what is wrong. */
bool probe_program_fit(const struct hf_conf_pool *c, struct hf_writer *why) HF_MUST_USE;

#endif
