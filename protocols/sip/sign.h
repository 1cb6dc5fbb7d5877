/* What forms.c hashes and signs with: pieces under one of the cluster's keys, tags that a sign key makes and either verifies.
 * Pure; any thread. Called by forms.c only. */
#ifndef SIP_SIGN_H
#define SIP_SIGN_H

#include "holdfast/front.h"
#include "holdfast/hash.h"

enum { SIP_TAG = 8 }; /* octets of a tag */

/* Pieces to be hashed as one run of octets. They are short as a rule, and a run that lies in one place is hashed twice as fast
 * as in pieces; what is longer than the place goes through the hash in pieces. */
struct sip_mix {
	uint8_t buf[384];
	size_t n;
	bool spilt;
	const uint8_t *key;
	int c, d;
	struct hf_sip s;
};

static inline void sip_mix_init(struct sip_mix *m, const uint8_t key[16], int c, int d)
{
	m->n = 0;
	m->spilt = false;
	m->key = key;
	m->c = c;
	m->d = d;
}
void sip_mix_spill(struct sip_mix *m, struct hf_bytes b);
/* Inlined for the labels, whose sizes are constants. */
static inline void sip_mix_add(struct sip_mix *m, struct hf_bytes b)
{
	if (m->spilt || b.n > sizeof m->buf - m->n) {
		sip_mix_spill(m, b);
		return;
	}
	hf_copy(m->buf + m->n, b.p, b.n);
	m->n += b.n;
}
void sip_mix_lp(struct sip_mix *m, struct hf_bytes b);
uint64_t sip_mix_end(struct sip_mix *m);

/* The octet by which a form says under which key it was signed. */
uint8_t sip_key_id(const uint8_t key[16]);

/* What a tag covers: a label, the raw octets, and up to three fields. */
struct sip_cover {
	struct hf_bytes label, raw, plain; /* plain: added without a length */
	struct hf_bytes lp[3];
	unsigned n_lp;
};

/* Signs what stands in raw with the first key, and appends the text of it all to out. */
void sip_seal(const struct hf_site *site, struct hf_writer *raw, struct sip_cover *c, struct hf_writer *out);
/* Does `tag` hold under a key whose id is `id`? The time does not tell how far it fits. */
bool sip_tag_holds(const struct hf_site *site, uint8_t id, const uint8_t tag[SIP_TAG], const struct sip_cover *c);

#endif
