/* Fuzz: a configuration's text. Whatever it is, it is taken whole or refused with a finding; and what was taken may replace itself. */
#include <stdlib.h>

#include "holdfast/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_findings f = {NULL, 0, 0, 0};
	struct hf_conf *c;
	enum hf_err e = hf_conf_parse("fuzz.ini", hf_bytes_of(data, size), &c, &f);

	if ((e == HF_OK) != (c != NULL) || (e == HF_OK) != (f.errors == 0) || (e == HF_EINVAL && f.n == 0))
		abort();
	for (unsigned i = 1; i < f.n; i++)
		if (f.list[i - 1].line > f.list[i].line)
			abort();
	hf_findings_free(&f);
	if (c && (hf_conf_may_reload(c, c, &f) != HF_OK || f.n))
		abort();
	hf_findings_free(&f);
	hf_conf_free(c);
	return 0;
}
