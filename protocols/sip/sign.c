/* Keyed hashes of pieces, and tags under the sign keys; see sign.h. Knows no form. */
#include "sign.h"

/* ---- hashing ---- */

/* There is no room for b: from here on all goes through the hash. */
void sip_mix_spill(struct sip_mix *m, struct hf_bytes b)
{
	if (!m->spilt) {
		m->spilt = true;
		hf_sip_init(&m->s, m->key, m->c, m->d);
		hf_sip_add(&m->s, hf_bytes_of(m->buf, m->n));
	}
	hf_sip_add(&m->s, b);
}

static __attribute__((noinline)) void lp_spill(struct sip_mix *m, struct hf_bytes b)
{
	uint8_t n[2];

	hf_put16(n, (uint16_t)b.n);
	sip_mix_add(m, hf_bytes_of(n, 2));
	sip_mix_add(m, b);
}

void sip_mix_lp(struct sip_mix *m, struct hf_bytes b)
{
	if (!m->spilt && b.n + 2 <= sizeof m->buf - m->n) {
		hf_put16(m->buf + m->n, (uint16_t)b.n);
		hf_copy(m->buf + m->n + 2, b.p, b.n);
		m->n += b.n + 2;
	} else {
		lp_spill(m, b);
	}
}

uint64_t sip_mix_end(struct sip_mix *m)
{
	struct hf_bytes whole = {m->buf, m->n};

	if (m->spilt)
		return hf_sip_end(&m->s);
	return m->c == 1 ? hf_sip13(m->key, whole) : hf_sip24(m->key, whole);
}

/* ---- keys and tags ---- */

uint8_t sip_key_id(const uint8_t key[16]) { return (uint8_t)(hf_sip24(key, HF_LIT("id")) >> 56); }

static uint64_t tag_of(const uint8_t key[16], const struct sip_cover *c)
{
	struct sip_mix m;

	sip_mix_init(&m, key, 2, 4);
	sip_mix_add(&m, c->label);
	sip_mix_add(&m, c->raw);
	sip_mix_add(&m, c->plain);
	for (unsigned i = 0; i < c->n_lp; i++)
		sip_mix_lp(&m, c->lp[i]);
	return sip_mix_end(&m);
}

bool sip_tag_holds(const struct hf_site *site, uint8_t id, const uint8_t tag[SIP_TAG], const struct sip_cover *c)
{
	for (unsigned i = 0; i < site->n_sign; i++) {
		uint8_t want[SIP_TAG];

		if (site->n_sign > 1 && sip_key_id(site->sign[i]) != id) /* the tag covers the id: where there is one key it tells alone */
			continue;
		hf_put64(want, tag_of(site->sign[i], c));
		if (hf_bytes_same_secret(hf_bytes_of(want, SIP_TAG), hf_bytes_of(tag, SIP_TAG)))
			return true;
	}
	return false;
}

void sip_seal(const struct hf_site *site, struct hf_writer *raw, struct sip_cover *c, struct hf_writer *out)
{
	c->raw = hf_writer_view(raw);
	hf_w_u64(raw, tag_of(site->sign[0], c));
	HF_BUG_ON(raw->full);
	hf_w_b32(out, hf_writer_view(raw));
}
