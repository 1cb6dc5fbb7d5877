/* Fuzz: the reader of PROXY headers. Held to: no cut comes to another end than the whole, what is behind a header changes nothing,
 * a header lies within what came, and the addresses are written by a good header only. */
#include <stdlib.h>

#include "proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)

struct end { enum proxy_verdict v; size_t used; struct hf_addr source, local; };

/* In memory of its own, so that a read past its end is seen. */
static struct end take(const uint8_t *data, size_t n)
{
	struct end e = {.source = {.family = 6, .port = 7, .ip = {1}}, .local = {.family = 6, .port = 8, .ip = {2}}};
	const struct end before = e;
	uint8_t *p = malloc(n ? n : 1);

	MUST(p);
	if (n)
		memcpy(p, data, n);
	e.v = proxy_read(hf_bytes_of(p, n), &e.used, &e.source, &e.local);
	free(p);
	MUST(e.v == PROXY_GOOD || (!memcmp(&e.source, &before.source, sizeof e.source) && !memcmp(&e.local, &before.local, sizeof e.local)));
	MUST(e.v != PROXY_GOOD || (e.used && e.used <= n && e.used <= PROXY_MAX && e.source.family == e.local.family));
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct end whole = take(data, size);

	MUST(whole.v != PROXY_MORE || size < PROXY_MAX);
	for (size_t n = 0; n < size && n <= PROXY_MAX; n++) {
		struct end e = take(data, n);

		MUST(e.v == PROXY_MORE || e.v == whole.v);
		MUST(e.v != PROXY_GOOD || (n >= whole.used && !memcmp(&e.source, &whole.source, sizeof e.source) && !memcmp(&e.local, &whole.local, sizeof e.local)));
		MUST(whole.v != PROXY_GOOD || (e.v == PROXY_MORE) == (n < whole.used));
	}
	return 0;
}
