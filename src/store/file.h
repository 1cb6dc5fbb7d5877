/* One table's state file as it is written (private to the store). The store's thread, or whoever has it before that runs. */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <limits.h>

#include "holdfast/disk.h"
#include "salvage.h"

#define FILE_BUFFER (2 * (size_t)RECORD_MAX) /* what one write gives to the system */

enum file_name { FILE_STATE, FILE_NEW, FILE_ASIDE };
/* DIR/POOL.state, .state.new, .state.aside; false: too long. */
bool file_path(char *path, size_t n, const char *dir, const char *pool, enum file_name which);

struct hf_disk_out {
	const char *dir;
	char pool[64];
	uint8_t key[16];
	uint64_t check;
	struct hf_writer *buf; /* of FILE_BUFFER octets, shared: one file is written at a time */
	int fd;                /* -1: none */
	bool is_new;           /* the snapshot is not whole yet */
	uint64_t octets;       /* given to the system */
	uint64_t durable;      /* of these, on the disk */
	uint64_t snapshot;     /* octets of the snapshot */
};

/* False: the system refused, errno says what; then close and begin again. */
bool file_begin(struct hf_disk_out *f) HF_MUST_USE;  /* a new snapshot, under its other name */
bool file_commit(struct hf_disk_out *f) HF_MUST_USE; /* all that was put is on the disk, under the file's own name */
void file_close(struct hf_disk_out *f);              /* what was not committed is void */

#endif
