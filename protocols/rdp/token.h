/* Routing tokens (MS-RDPBCGR 2.2.1.1 routingToken, 3.2.5.3.1). Pure; any thread.
 * A token is an unauthenticated hint: an address in it is only ever compared with the members of the pool. */
#ifndef HOLDFAST_RDP_TOKEN_H
#define HOLDFAST_RDP_TOKEN_H

#include "holdfast/addr.h"

enum token_kind {
	TOKEN_ADDRESS,    /* `Cookie: msts=` address `.` port `.` ... */
	TOKEN_NUMBER,     /* `Cookie: msts=` digits: a handle that one host issued for one second leg */
	TOKEN_SIGNED,     /* `Cookie: msts=hf1.`: says that it is ours (signed.h) */
	TOKEN_TEXT,       /* `Cookie: msts=` anything else: opaque */
	TOKEN_COLLECTION, /* tsv://, mth://: names a collection or pool, the same for all its users */
	TOKEN_LINE,       /* any other line */
};

/* `line` is the token without CR LF. *addr is filled for TOKEN_ADDRESS only, else its family is 0. */
enum token_kind token_read(struct hf_bytes line, struct hf_addr *addr) HF_MUST_USE;

/* What a TOKEN_COLLECTION names: behind `tsv://MS Terminal Services Plugin.1.` or `tsv://VMResource.1.`, else all behind the two slashes; padding blanks are
 * none of it. A view, as it was written; may be empty. */
struct hf_bytes token_collection(struct hf_bytes line) HF_MUST_USE;

#endif
