/* What we write into messages and read back: branch, Via parameter, cookie, flow token, To tag of our own answers.
 * All but the branch carry a 64-bit tag under a sign key of the cluster; a reader says true only when the tag holds.
 * Texts are base32hex in lower case, read in any case (a Via parameter is a token, RFC 3261 7.3.1).
 * Pure; any thread. Called by the front's step only; knows no message. */
#ifndef SIP_FORMS_H
#define SIP_FORMS_H

#include "holdfast/front.h"

#define SIP_MAGIC "z9hG4bK" /* RFC 3261 8.1.1.7 */
#define SIP_BRANCH_LEN 20
#define SIP_HF_TEXT_MAX 122  /* IPv6, local address, hold and connection: 76 octets */
#define SIP_COOKIE_LEN 27
#define SIP_FLOW_TEXT_MAX 100 /* `hff-` and the text of 60 octets: IPv6, local address, stream */
#define SIP_TO_TAG_LEN 19

/* The Via parameter `hf`: where the response goes, and what we want to know again when it comes. */
struct sip_hf {
	bool opening;            /* the request had no To tag */
	uint32_t boot, listener, server, loop;
	struct hf_addr source;   /* the address it came from; port: where the response goes */
	struct hf_addr local;    /* wildcard listeners: where it arrived (no port); family 0: none */
	bool has_hold, has_connection;
	struct hf_flow_name hold, connection; /* boot is not written: it is the parameter's */
};

/* H(`branch:` LP(branch) LP(sent-by) server) of the top Via as received, when its branch has the magic. */
void sip_branch(const struct hf_site *site, struct hf_bytes branch, struct hf_bytes sent_by, uint32_t server, uint8_t out[SIP_BRANCH_LEN]);
/* The same for a Via of RFC 2543. */
struct sip_old_via { struct hf_bytes via, from_tag, call_id, cseq, uri; };
void sip_branch_old(const struct hf_site *site, const struct sip_old_via *v, uint32_t server, uint8_t out[SIP_BRANCH_LEN]);
/* Of the client's transaction alone, whatever the server: the branch (none: what stands in `old`) and sent-by. Never 0. */
uint64_t sip_transaction(const struct hf_site *site, struct hf_bytes branch, struct hf_bytes sent_by, const struct sip_old_via *old);
/* Does this branch come from a client of RFC 3261, with something behind the magic? Without case. */
bool sip_branch_magic(struct hf_bytes branch);

/* Appends the text of h, signed together with our branch. */
void sip_hf_write(const struct hf_site *site, const struct sip_hf *h, struct hf_bytes branch, struct hf_writer *w);
bool sip_hf_read(const struct hf_site *site, struct hf_bytes text, struct hf_bytes branch, struct sip_hf *h);

/* The cookie of our Record-Route. */
struct sip_cookie {
	bool server_opened;
	uint32_t server;
};
void sip_cookie_write(const struct hf_site *site, const struct sip_cookie *c, struct hf_bytes call_id, struct hf_bytes opener_tag, struct hf_writer *w);
/* Is this user part of the form, whatever its tag? */
bool sip_cookie_form(struct hf_bytes user);
/* True: the tag holds for this Call-ID and opener's tag. */
bool sip_cookie_read(const struct hf_site *site, struct hf_bytes user, struct hf_bytes call_id, struct hf_bytes opener_tag, struct sip_cookie *c);

/* The flow token of our Path. */
struct sip_flow {
	uint32_t listener;
	struct hf_addr remote;
	struct hf_addr local;    /* no port; family 0: none */
	bool stream;
	struct hf_flow_name connection; /* streams, with its boot */
};
void sip_flow_write(const struct hf_site *site, const struct sip_flow *f, struct hf_writer *w);
bool sip_flow_form(struct hf_bytes user);
bool sip_flow_read(const struct hf_site *site, struct hf_bytes user, struct sip_flow *f);

/* The To tag of an answer that we made without state: its ACK is known by it (RFC 3261 8.2.7). */
void sip_to_tag_write(const struct hf_site *site, struct hf_bytes call_id, struct hf_bytes from_tag, struct hf_bytes cseq, struct hf_writer *w);
bool sip_to_tag_read(const struct hf_site *site, struct hf_bytes tag, struct hf_bytes call_id, struct hf_bytes from_tag, struct hf_bytes cseq);

/* H32(`loop:` and LP of each), of the fields as received (RFC 5393 4.2.1). */
struct sip_loop { struct hf_bytes uri, routes, call_id, from_tag, to_tag, cseq; };
uint32_t sip_loop_hash(const struct hf_site *site, const struct sip_loop *l);

#endif
