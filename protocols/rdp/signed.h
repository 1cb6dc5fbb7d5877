/* Tokens that we signed: a portal, or a .rdp file that an administrator hands out, says by one who the user is, on which host his desktop is, or both.
 *
 * Text (at most 200 octets with CR LF): `Cookie: msts=hf1.` and in base64url: key id 1, until 4 (seconds of the epoch), server 4 (hash, 0: none),
 * the user in its one form, tag 8. The tag is SipHash-2-4 under a sign key of `rdp-token:`, the pool's name, a NUL and all octets before the tag.
 * Who shows a token need not be whom it was made for: it says where a session is, and proves nothing to the host. Pure; any thread. */
#ifndef HOLDFAST_RDP_SIGNED_H
#define HOLDFAST_RDP_SIGNED_H

#include "holdfast/front.h"

#define SIGNED_HEAD "Cookie: msts=hf1."
#define SIGNED_MAX 200u  /* octets of the line with CR LF: clients of old cut or wrap longer ones */
#define SIGNED_USER 118u /* octets of a user that then have room */

struct signed_token {
	uint32_t server;
	struct hf_bytes user; /* in raw */
	uint8_t raw[SIGNED_MAX];
};

enum signed_kind { SIGNED_HOLDS, SIGNED_FORGED, SIGNED_EXPIRED };

/* `line` begins with SIGNED_HEAD, without CR LF. *t is filled when it holds. */
enum signed_kind signed_read(const struct hf_ctx *ctx, struct hf_bytes line, struct signed_token *t) HF_MUST_USE;

/* hf_front.token_write: a line of an .rdp file, without its end. */
enum hf_err signed_write(const struct hf_ctx *ctx, const struct hf_token *t, struct hf_writer *w);

#endif
