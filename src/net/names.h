/* Servers that are written by name: where each is, as of its last answer. Control thread. */
#ifndef NET_NAMES_H
#define NET_NAMES_H

#include "inside.h"

struct names;
struct names *names_new(struct hf_net *net) HF_MUST_USE;
void names_free(struct names *n);
/* Where it was found last; family 0: nowhere yet. The port is the server's. */
struct hf_addr names_find(const struct names *n, const struct hf_conf *conf, const struct hf_conf_pool *pool, const struct hf_conf_server *s);
/* Names follow the snapshot in force; fresh: a reload, so that all are asked anew, of whom it says. */
void names_follow(struct names *n, bool fresh);
/* The server does not answer where it is; where its name has other addresses, it may. */
void names_next(struct names *n, const struct snap_member *m);
/* Something else that a snapshot is made of was looked up: one is put in force soon, with all that changes meanwhile. */
void names_changed(struct names *n);
/* Why a name has no address, for people. */
void names_why(const struct names *n, struct hf_bytes host, char *text, size_t size);

#endif
