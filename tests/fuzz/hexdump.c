/* Fuzz: octets as they are pasted. Held to: never more than cap, what is read reads the same with less room or not at all, and its digits read as it. */
#include <stdlib.h>

#include "holdfast/hexdump.h"
#include "holdfast/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)
#define MOST 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[MOST], again[MOST], text[2 * MOST], *p = malloc(size ? size : 1);
	struct hf_writer w = hf_writer_on(text, sizeof text);
	size_t n = 0, m = 0;
	enum hf_err e;

	MUST(p);
	memcpy(p, data, size); /* in memory of its own, so that a read past its end is seen */
	e = hf_hexdump_read(hf_bytes_of(p, size), out, sizeof out, &n);
	if (e == HF_OK && n) {
		MUST(n <= MOST);
		MUST(hf_hexdump_read(hf_bytes_of(p, size), again, n - 1, &m) == HF_EFULL);
		hf_w_hex(&w, hf_bytes_of(out, n));
		MUST(hf_hexdump_read(hf_writer_view(&w), again, sizeof again, &m) == HF_OK && m == n && memcmp(out, again, n) == 0);
	}
	free(p);
	return 0;
}
