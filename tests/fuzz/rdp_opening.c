/* Fuzz: what may stand before or in place of a request. The first octet chooses options, the rest is a client's octets.
 * Held to: nothing is read outside; every prefix waits, for no more than what is read in the end, or comes to the same end as the whole; what is read is
 * there, and a blob is never taken for more than its own size. */
#include <stdlib.h>

#include "opening.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)

static unsigned read(const struct rdp_conf *conf, struct hf_bytes all, size_t n, struct opening *o, size_t *need)
{
	uint8_t *p = malloc(n ? n : 1); /* of its own, so that a read past its end is seen */
	unsigned end;

	MUST(p);
	if (n)
		memcpy(p, all.p, n);
	end = opening_read(conf, hf_bytes_of(p, n), o, need);
	o->r.cookie = o->r.token = o->r.correlation = HF_NONE; /* views into what is freed */
	free(p);
	return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes all = hf_bytes_of(data + 1, size ? size - 1 : 0);
	struct rdp_conf conf = {0};
	struct opening o, early;
	size_t need, whole;
	unsigned end;

	if (!size || all.n > 4 * BLOB_MAX)
		return 0;
	conf.pre_connection = data[0] & 1;
	conf.direct_tls = data[0] >> 1 & 1;
	conf.require = (data[0] >> 2) % 3;
	end = read(&conf, all, all.n, &o, &need);
	whole = end ? all.n : o.direct ? need : o.blob + o.r.len;
	MUST(end == X224_WAIT ? need > all.n && need <= BLOB_MAX + HELLO_MAX + 5 : whole <= all.n);
	MUST(o.blob == 0 || (conf.pre_connection && o.blob >= 16 && o.blob <= BLOB_MAX && o.blob <= all.n));
	MUST(!o.direct || (conf.direct_tls && all.p[o.blob] == 0x16));
	MUST(end || o.direct || all.p[o.blob] == 3);
	MUST(end || !opening_too_weak(&conf, &o) || conf.require);
	for (size_t n = 0; n < all.n; n++) {
		unsigned e = read(&conf, all, n, &early, &need);

		MUST(e == X224_WAIT ? need > n && (end || need <= whole) : e == end);
	}
	return 0;
}
