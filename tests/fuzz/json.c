/* The JSON reader: any octets in. What is taken can be stepped through to its end, and its members lie inside it, one behind the other. */
#include <stdlib.h>

#include "holdfast/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct hf_json *in)
{
	const uint8_t *last = in->raw.p;
	struct hf_json v;
	size_t at = 0;

	while (hf_json_next(in, &at, NULL, &v)) {
		if (v.raw.p < last || v.raw.p + v.raw.n > in->raw.p + in->raw.n)
			abort();
		last = v.raw.p + v.raw.n;
		walk(&v);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t text[4096];
	struct hf_writer w = hf_writer_on(text, sizeof text);
	struct hf_json v;

	if (hf_json_read(hf_bytes_of(data, size), &v) != HF_OK)
		return 0;
	walk(&v);
	hf_w_json_text(&w, v.raw);
	return 0;
}
