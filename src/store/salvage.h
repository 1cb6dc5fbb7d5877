/* Reading a state file through from begin to end, whatever it holds (private to the store). */
#ifndef STORE_SALVAGE_H
#define STORE_SALVAGE_H

#include "record.h"

#define SALVAGE_HEAD 1 /* the type of a file's first record; under the key of zeros, so that a file of another hash key is known as one */

struct salvage {
	/* Gives up to n octets; 0: the end; below 0: it cannot be read on. */
	long (*read)(void *arg, uint8_t *p, size_t n);
	void *arg;
	uint8_t key[16];   /* what the records are signed with (salvage_key) */
	uint64_t check;    /* what a head of this hash key says (salvage_check) */
	void (*each)(void *arg, uint16_t type, struct hf_bytes payload);
	void *each_arg;

	uint64_t records, lost; /* lost: octets passed over */
	bool other_key;         /* its head says so: nothing else was read */
	bool broken;            /* read gave up before the end */
};

/* Key of records and check value, from the cluster's hash key; neither tells it. */
void salvage_key(const uint8_t hash_key[16], uint8_t key[16]);
uint64_t salvage_check(const uint8_t hash_key[16]);
void salvage_head(struct hf_writer *w, uint64_t check);

enum hf_err salvage_run(struct salvage *s) HF_MUST_USE; /* HF_ENOMEM */

#endif
