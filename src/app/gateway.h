/* The one running gateway, as the files of this floor share it (inside). Control thread. */
#ifndef APP_GATEWAY_H
#define APP_GATEWAY_H

#include <limits.h>
#include <sys/types.h>

#include "holdfast/app.h"
#include "holdfast/net.h"

struct admin;
struct upkeep;
struct json;
struct errand;

/* Where things lie; found once, because the answer depends on who we are and that changes when privileges are dropped. */
struct places {
	char state[PATH_MAX], run[PATH_MAX], admin[PATH_MAX], secret[PATH_MAX];
	bool secret_ours; /* secret lies in state-dir: it is made when missing */
	char user[64];    /* empty: stay who we are */
	uid_t uid;        /* of user */
	gid_t gid;
};

struct gateway {
	const struct hf_app_args *args;
	struct places places;
	struct hf_site site;
	struct hf_loop *loop;
	struct hf_net *net;
	struct upkeep *upkeep;
	struct hf_lines *session_log;
	struct hf_http *http; /* NULL: off */
	struct admin *admin;
	struct errand *errand; /* that the command just read has left; else NULL */
	struct hf_watch *signals[3];
	uint64_t start_ms;
	struct said { char service[64]; uint32_t hash; } *said; /* listeners that the log has */
	unsigned n_said;
	struct hf_findings warned; /* of the configuration that was read last */
};

/* places.c: fills p; what cannot be is added to f. HF_EINVAL: something was. */
enum hf_err places_find(const struct hf_conf_gateway *conf, struct places *p, struct hf_findings *f) HF_MUST_USE;
/* Makes state-dir and run-dir where they are missing. HF_EIO: `why` names which. */
enum hf_err places_make(const struct places *p, struct hf_writer *why) HF_MUST_USE;
/* Shall we become another user? What we make is then theirs. */
bool places_change_user(const struct places *p);
/* For a while, if so, and root again. Before there are threads. */
void places_be_user(const struct places *p, bool user);
/* Becomes places.user for good, if so. */
enum hf_err places_drop_root(const struct places *p, struct hf_writer *why) HF_MUST_USE;

/* secret.c: reads the cluster secret and compares its check value with the one in state-dir. `write`: makes what is missing;
 * else a missing file of our own is no fault. HF_EINVAL: refused, findings added; HF_EIO: a file cannot be written. */
enum hf_err secret_open(const struct places *p, bool write, bool accept_new_hash, struct hf_site *site, struct hf_findings *f) HF_MUST_USE;
/* Is the secret file still what runs? HF_EINVAL: no, findings added. A file that we may not read any more is a warning. */
enum hf_err secret_same(const struct places *p, const struct hf_site *site, struct hf_findings *f) HF_MUST_USE;

/* reload.c: all of the file, or nothing. Findings are logged; *f has them for an answer and is the caller's to free. */
enum hf_err reload(struct gateway *g, struct hf_findings *f) HF_MUST_USE;
/* What of a configuration app itself holds: the log. */
void reload_log_options(struct gateway *g, const struct hf_conf *c);

/* listening.c: a line for every listener that has none yet. */
void listening_log(struct gateway *g);
void listening_free(struct gateway *g);

/* upkeep.c: the engines' slow work. kick: a change has just been made, go on at once. */
struct upkeep *upkeep_new(struct gateway *g) HF_MUST_USE;
void upkeep_kick(struct upkeep *u);
void upkeep_free(struct upkeep *u);

/* admin.c: the socket. HF_EIO: `why` says what to do. */
enum hf_err admin_open(struct gateway *g, struct admin **out, struct hf_writer *why) HF_MUST_USE;
void admin_close(struct admin *a);

/* answer.c: one line in, one JSON value out; or an errand (errand.h), which is the caller's and will have the answer. */
struct errand *answer(struct gateway *g, struct hf_bytes line, struct json *j);

/* notify.c: a state for the service manager, when there is one (sd_notify(3)): "READY=1". */
void notify(const char *state);

#endif
