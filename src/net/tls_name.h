/* Does a name in a certificate mean the server that we dialled (RFC 5922 7.1, 7.2)? Pure; the certificate is read by tls.c. */
#ifndef NET_TLS_NAME_H
#define NET_TLS_NAME_H

#include "holdfast/addr.h"

/* What the certificate must name: a host, or, where that is empty, an address. */
struct tls_wanted { struct hf_bytes host; struct hf_addr addr; };
enum tls_name_kind { TLS_NAME_HOST, TLS_NAME_URI, TLS_NAME_ADDR };

/* Exactly, whatever the case; a wildcard is no name. scheme: of the URIs that count; NULL: none do. */
bool tls_name_is(const struct tls_wanted *want, enum tls_name_kind kind, struct hf_bytes name, const char *scheme);

#endif
