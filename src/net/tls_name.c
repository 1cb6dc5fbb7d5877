/* See tls_name.h. */
#include "tls_name.h"

/* SCHEME:HOST alone: a user, a port or parameters mean something else than a domain (RFC 5922 7.1). */
static struct hf_bytes host_of(struct hf_bytes uri, const char *scheme)
{
	struct hf_bytes s = hf_bytes_str(scheme ? scheme : ""), host = hf_bytes_sub(uri, s.n + 1, uri.n);

	if (!s.n || uri.n <= s.n || uri.p[s.n] != ':' || !hf_bytes_ieq(hf_bytes_sub(uri, 0, s.n), s))
		return HF_NONE;
	return host;
}

bool tls_name_is(const struct tls_wanted *want, enum tls_name_kind kind, struct hf_bytes name, const char *scheme)
{
	if (kind == TLS_NAME_ADDR)
		return !want->host.n && hf_bytes_eq(name, hf_addr_ip(&want->addr));
	if (kind == TLS_NAME_URI)
		name = host_of(name, scheme);
	return want->host.n && hf_bytes_ieq(name, want->host);
}
