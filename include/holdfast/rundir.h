/* Where the gateway and its control client meet when no file says so (base floor). Reads the environment; any thread. */
#ifndef HOLDFAST_RUNDIR_H
#define HOLDFAST_RUNDIR_H

#include "bytes.h"

#define HF_STATE_DIR "/var/lib/holdfast" /* the default of state-dir */
#define HF_ADMIN_NAME "admin.sock"       /* the admin socket's name inside run-dir */

/* run-dir into buf, NUL-terminated, cut when it does not fit: `set` when not empty, else the first of $RUNTIME_DIRECTORY,
 * else /dev/shm/holdfast-UID-HASH of state_dir's path. */
void hf_run_dir(struct hf_bytes set, struct hf_bytes state_dir, char *buf, size_t n);

#endif
