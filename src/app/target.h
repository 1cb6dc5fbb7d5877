/* From names that an operator typed to a pool and a member of the snapshot in force (app floor, inside). Control thread. */
#ifndef APP_TARGET_H
#define APP_TARGET_H

#include "command.h"
#include "gateway.h"

struct target {
	const struct hf_conf_pool *pool;
	struct hf_engine *engine;
	uint16_t id;
	struct hf_server_view view;
};

/* HF_ENOENT: no such pool or server, `why` has the nearest names; HF_EEXIST: it stands in several pools, `why` has them. */
enum hf_err target_find(struct gateway *g, const struct command *c, struct target *out, struct hf_writer *why) HF_MUST_USE;
/* HF_ENOENT: no such pool. */
enum hf_err target_pool(struct gateway *g, struct hf_bytes name, const struct hf_conf_pool **out, struct hf_writer *why) HF_MUST_USE;

#endif
