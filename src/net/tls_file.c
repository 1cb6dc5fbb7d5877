/* See tls_file.h. Called by tls.c while a configuration is built. */
#include "tls_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool tls_path(struct hf_bytes file, char out[TLS_PATH])
{
	if (!file.n || file.n >= TLS_PATH)
		return false;
	memcpy(out, file.p, file.n);
	out[file.n] = 0;
	return true;
}

bool tls_file_bad(struct hf_writer *why, const char *option, struct hf_bytes file, const char *what, const char *text)
{
	hf_w_printf(why, "%s %.*s: %s%s", option, (int)file.n, (const char *)file.p, what, text);
	return false;
}

static FILE *open_file(struct hf_bytes file)
{
	char path[TLS_PATH];

	errno = ENAMETOOLONG;
	return tls_path(file, path) ? fopen(path, "re") : NULL;
}

bool tls_file_there(const char *option, struct hf_bytes file, struct hf_writer *why)
{
	FILE *f = open_file(file);
	int e = errno, c;

	if (!f)
		return tls_file_bad(why, option, file, "", strerror(e));
	errno = 0;
	c = fgetc(f);
	e = errno;
	fclose(f);
	return c != EOF || tls_file_bad(why, option, file, "", e ? strerror(e) : "it is empty");
}

void tls_file_mix(struct hf_sip *h, struct hf_bytes file)
{
	uint8_t buf[4096];
	FILE *f = file.n ? open_file(file) : NULL;
	size_t n;

	hf_sip_u32(h, (uint32_t)file.n);
	while (f && (n = fread(buf, 1, sizeof buf, f)) > 0)
		hf_sip_add(h, hf_bytes_of(buf, n));
	if (f)
		fclose(f);
}
