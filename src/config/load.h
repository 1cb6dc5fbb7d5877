/* A whole configuration, with what its public part was made from (config floor, inside; used by load.c, link.c and reload.c). */
#ifndef LOAD_H
#define LOAD_H

#include "fill.h"

/* What a pool or service was read from; same index as in the public lists. */
struct load_part {
	const struct ini_section *section;
	struct hf_conf_choice *choices; /* services: theirs, to be filled */
	void *blob;         /* pools: the front's struct with defaults and the pool's rows, which every service of the pool starts from */
	unsigned *given;    /* pools: lines of the common rows that were given, in the pool or a service of it */
};

struct load {
	struct hf_conf conf; /* first: hf_conf_free finds the rest */
	struct confmem mem;
	unsigned owners;       /* beside the first */
	struct ini_doc doc;
	const struct ini_section *gateway; /* NULL: not in the file */
	struct hf_conf_pool *pools;
	struct hf_conf_service *services;
	struct load_part *pool_parts, *service_parts;
};

/* Steps of load.c, in link.c: sections become lists; services find their protocol and pool. */
void link_sections(struct load *l, struct finding_to *to);
void link_services(struct load *l, struct finding_to *to);
/* Steps in confcheck.c: what only the whole can tell. */
void confcheck_pools(struct load *l, struct finding_to *to);
void confcheck_fronts(struct load *l, struct finding_to *to);
void confcheck_tls(struct load *l, struct finding_to *to);
void confcheck_whole(struct load *l, struct finding_to *to);

#endif
