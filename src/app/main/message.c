/* Reading a message to be explained; see message.h. It knows no protocol: octets in, hex digits out. */
#include "message.h"

#include <unistd.h>

static bool refuse(const char *text)
{
	fprintf(stderr, "holdfastctl: %s\n", text);
	return false;
}

static int digit(int c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* The octets that the digits stand for, in place. */
static bool from_hex(uint8_t *p, size_t *n)
{
	size_t digits = 0;

	for (size_t i = 0; i < *n; i++) {
		int v = digit(p[i]);

		if (p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '\n')
			continue;
		if (v < 0)
			return false;
		p[digits / 2] = (uint8_t)(digits & 1 ? p[digits / 2] << 4 | v : v);
		digits++;
	}
	*n = digits / 2;
	return digits % 2 == 0;
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
	static uint8_t p[4 * MESSAGE_MAX + 1]; /* hex digits in pairs, and as many blanks */
	size_t n;

	if (isatty(fileno(in)))
		fprintf(stderr, "holdfastctl: reading a message%s from the terminal, to the end (Ctrl-D)\n", hex ? " in hex" : "");
	n = fread(p, 1, sizeof p, in);
	if (ferror(in))
		return refuse("standard input cannot be read");
	if (n == sizeof p)
		return refuse("the message is longer than 65536 octets");
	if (hex && !from_hex(p, &n))
		return refuse("that is not hex: two digits an octet, blanks and line ends between them");
	if (!hex)
		mend_lines(p, &n, sizeof p);
	if (n == 0 || n > MESSAGE_MAX)
		return refuse(n ? "the message is longer than 65536 octets" : "the message is empty: explain wants a key, or a message on standard input");
	hf_w_str(line, " --message ");
	hf_w_hex(line, hf_bytes_of(p, n));
	return !line->full || refuse("the line is too long");
}
