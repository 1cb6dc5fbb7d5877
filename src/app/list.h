/* The listings of the admin socket (app floor, inside). Control thread; they change nothing. */
#ifndef APP_LIST_H
#define APP_LIST_H

#include "command.h"
#include "gateway.h"

void list_services(struct gateway *g, struct json *j);
void list_pools(struct gateway *g, struct json *j);
void list_servers(struct gateway *g, struct json *j);
/* A whole answer. HF_ENOENT, HF_EEXIST, HF_EINVAL: nothing was written but `why`. */
enum hf_err list_where(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why) HF_MUST_USE;

#endif
