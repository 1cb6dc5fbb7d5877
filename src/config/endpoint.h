/* `listen` and `server` lines (config floor, inside). */
#ifndef ENDPOINT_H
#define ENDPOINT_H

#include "ini.h"

#define ENDPOINT_LISTENS_MAX 1024 /* of a file: each is a socket a worker */
#define ENDPOINT_SERVERS_MAX 4096 /* of a pool, as many as the engine numbers */
#define ENDPOINT_TARGETS_MAX 32   /* of a line: more are none's in practice, and each costs a look-up of its own */
#define ENDPOINT_SERVICE_NAME_MAX 40 /* NAME:HOST:PORT has 63 octets; a longer one ends in a number of 16 digits */

/* Reads the section's lines; front NULL: its protocol is not known, transports are not checked. */
void endpoint_listens(const struct ini_doc *doc, const struct ini_section *s, struct hf_conf_service *out, struct confmem *mem, struct finding_to *to);
void endpoint_servers(const struct ini_doc *doc, const struct ini_section *s, struct hf_conf_pool *out, struct confmem *mem, struct finding_to *to);
/* A word that is no option: behind the address of which line it stands, `listen` or `server`; NULL: of none. */
const char *endpoint_line_of(struct hf_bytes word);
/* It is an address where the service listens. */
bool endpoint_is_own(const struct hf_conf_service *v, const struct hf_conf_server *s);
/* No two listeners of the file at one place. */
void endpoint_check_listens(const struct hf_conf_service *services, unsigned n, struct finding_to *to);

#endif
