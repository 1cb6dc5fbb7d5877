/* Fuzz: how long an answer of a name server holds. Held to: what is behind a whole message changes nothing, every cut of one has none, and one answer more
 * or less is never read for another. */
#include <stdlib.h>

#include "dns_ttl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)

/* In memory of its own, so that a read past its end is seen. */
static uint32_t take(const uint8_t *data, size_t n, size_t more)
{
	uint8_t *p = calloc(1, n + more ? n + more : 1);
	uint32_t ttl;

	MUST(p);
	if (n)
		memcpy(p, data, n);
	ttl = dns_ttl(hf_bytes_of(p, n + more));
	free(p);
	return ttl;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t whole = take(data, size, 0);
	bool ended = false;

	for (size_t n = size < 600 ? size : 600; n-- > 0;) { /* once a cut is too short, all shorter ones are */
		uint32_t cut = take(data, n, 0);

		ended |= !cut;
		MUST(!whole || cut == (ended ? 0 : whole));
	}
	MUST(!whole || take(data, size, 9) == whole);
	return 0;
}
