/* Fuzz: the readers of the Via parameter, the cookie, the flow token and the To tag. Nothing may be believed that was not signed:
 * what a reader takes must be written back as the same text. */
#include "forms.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct hf_site site = {.hash_key = {1}, .sign = {{2}, {3}}, .n_sign = 2, .boot = 4};

static bool lower_eq(struct hf_bytes a, const struct hf_writer *w) { return hf_bytes_ieq(a, hf_writer_view(w)) && !w->full; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes text = {data, size}, id = HF_LIT("c1"), tag = HF_LIT("a1");
	uint8_t buf[SIP_HF_TEXT_MAX + 8];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct sip_cookie c;
	struct sip_flow f;
	struct sip_hf h;

	if (sip_hf_read(&site, text, HF_LIT("z9hG4bKnade5nvlg79s8"), &h)) {
		sip_hf_write(&site, &h, HF_LIT("z9hG4bKnade5nvlg79s8"), &w);
		HF_BUG_ON(!lower_eq(text, &w));
	}
	w = hf_writer_on(buf, sizeof buf);
	if (sip_cookie_read(&site, text, id, tag, &c)) {
		sip_cookie_write(&site, &c, id, tag, &w);
		HF_BUG_ON(!lower_eq(text, &w));
	}
	w = hf_writer_on(buf, sizeof buf);
	if (sip_flow_read(&site, text, &f)) {
		sip_flow_write(&site, &f, &w);
		HF_BUG_ON(!lower_eq(text, &w));
	}
	w = hf_writer_on(buf, sizeof buf);
	if (sip_to_tag_read(&site, text, id, tag, HF_LIT("1"))) {
		sip_to_tag_write(&site, id, tag, HF_LIT("1"), &w);
		HF_BUG_ON(!lower_eq(text, &w));
	}
	return 0;
}
