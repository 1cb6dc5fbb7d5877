/* Octets as people paste them (base floor). Pure; any thread. */
#ifndef HOLDFAST_HEXDUMP_H
#define HOLDFAST_HEXDUMP_H

#include "bytes.h"

/* Reads what xxd, hexdump -C, od -t x1, tcpdump -X and Wireshark's copies print (an offset before each line, the text column behind it), a C array, or
 * digits with blanks, colons, commas, 0x or \x between the octets. At most cap octets are written to out, which does not overlap the text.
 * HF_EINVAL: it is none of these, or a line of it is missing; HF_EFULL: it is longer than cap. *n is written on HF_OK only. */
enum hf_err hf_hexdump_read(struct hf_bytes text, uint8_t *out, size_t cap, size_t *n) HF_MUST_USE;

#endif
