/* A message that an operator gives on standard input, for holdfastctl explain (beside holdfastctl.c). One thread. */
#ifndef MAIN_MESSAGE_H
#define MAIN_MESSAGE_H

#include <stdio.h>

#include "holdfast/writer.h"

#define MESSAGE_MAX 65536 /* octets, as the gateway's own bound */

/* Reads to the end, octets as they are or in hex as hexdump.h has it, and adds ` --message HEX`.
 * False: it was said on stderr why not. */
bool message_read(FILE *in, bool hex, struct hf_writer *line);

#endif
