/* The admin socket's command lines: any octets in, a command or a sentence out. A sentence is there whenever a line is refused, and always fits. */
#include <stdlib.h>

#include "command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t text[2048];
	struct hf_writer why = hf_writer_on(text, sizeof text);
	struct command c;

	if (size > COMMAND_LINE_MAX)
		return 0;
	if (command_read(hf_bytes_of(data, size), &c, &why) != HF_OK) {
		if (why.n == 0 || why.full)
			abort();
		return 0;
	}
	if (c.weight > COMMAND_WEIGHT_MAX || (c.kind >= COMMAND_DRAIN && c.kind <= COMMAND_WEIGHT && c.server.n == 0) || (c.kind == COMMAND_WHERE && c.key.n == 0))
		abort();
	return 0;
}
