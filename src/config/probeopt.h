/* How servers are probed: values of `probe` and `probe-program` (config floor, inside; rows of optrows.c). */
#ifndef PROBEOPT_H
#define PROBEOPT_H

#include "holdfast/config.h"

#define PROBEOPT_FORM "none | connect | program" /* and a front's own word */

enum hf_err probeopt_read(struct hf_bytes text, void *pool, struct hf_writer *why);
enum hf_err probeopt_read_program(struct hf_bytes text, void *field, struct hf_writer *why);

#endif
