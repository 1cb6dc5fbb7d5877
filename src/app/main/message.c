/* Reading a message to be explained; see message.h. It knows no protocol: octets in, hex digits out. */
#include "message.h"

#include <unistd.h>

#include "holdfast/hexdump.h"

static bool refuse(const char *text)
{
	fprintf(stderr, "holdfastctl: %s\n", text);
	return false;
}

/* Pasted text has lost the carriage returns of its lines, and often the empty line at its end. */
static void mend_lines(uint8_t *p, size_t *n, size_t cap)
{
	size_t lines = 0, left = *n, at;

	if (memchr(p, '\r', *n) || memchr(p, 0, *n))
		return;
	for (size_t i = 0; i < *n; i++)
		lines += p[i] == '\n';
	if (!lines || *n + lines + 4 > cap)
		return;
	fputs("holdfastctl: its lines end without CR and are read as if they had it; --hex takes octets as they are\n", stderr);
	for (at = *n = left + lines; left;) { /* from the end, in place */
		p[--at] = p[--left];
		if (p[at] == '\n')
			p[--at] = '\r';
	}
	if (!memmem(p, *n, "\r\n\r\n", 4)) {
		memcpy(p + *n, "\r\n\r\n", 4);
		*n += p[*n - 1] == '\n' ? 2 : 4;
	}
}

bool message_read(FILE *in, bool hex, struct hf_writer *line)
{
	static uint8_t p[8 * MESSAGE_MAX + 1], octets[MESSAGE_MAX]; /* a dump has five characters an octet, an array six */
	struct hf_bytes message;
	enum hf_err e = HF_OK;
	size_t n;

	if (isatty(fileno(in)))
		fprintf(stderr, "holdfastctl: reading a message%s from the terminal, to the end (Ctrl-D)\n", hex ? " in hex" : "");
	n = fread(p, 1, sizeof p, in);
	if (ferror(in))
		return refuse("standard input cannot be read");
	if (n == sizeof p)
		return refuse("the message is longer than 65536 octets");
	if (hex)
		e = hf_hexdump_read(hf_bytes_of(p, n), octets, sizeof octets, &n);
	else
		mend_lines(p, &n, sizeof p);
	if (e == HF_EINVAL)
		return refuse("that is not hex: two digits an octet, with or without blanks, colons, commas or 0x between them, or a whole dump of xxd, hexdump -C, "
			      "od -t x1, tcpdump -X or Wireshark");
	message = hf_bytes_of(hex ? octets : p, n);
	if (n == 0 || n > MESSAGE_MAX || e != HF_OK)
		return refuse(n ? "the message is longer than 65536 octets" : "the message is empty: explain wants a key, or a message on standard input");
	hf_w_str(line, " --message ");
	hf_w_hex(line, message);
	return !line->full || refuse("the line is too long");
}
