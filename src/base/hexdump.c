/* See hexdump.h. Two forms: a dump, whose lines begin with the number of the octets before them, and mere digits. What a dump shows beside its digits is
 * text and may look like digits, so that each line is held against the next one's offset. */
#include "holdfast/hexdump.h"

#define OFFSET_DIGITS_MIN 4
#define OFFSET_DIGITS_MAX 8
#define LINE_OCTETS 16 /* of all these programs, where they leave out lines that repeat */
#define HALF 8         /* hexdump leaves two blanks in the middle of a line, as others do before its text */

struct out {
	uint8_t *p;
	size_t cap, n;
};

static int digit(uint8_t c)
{
	uint8_t low = hf_lower(c);

	return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static bool is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }

static struct hf_bytes behind(struct hf_bytes b, size_t n) { return hf_bytes_sub(b, n, b.n); }

static size_t blanks(struct hf_bytes b)
{
	size_t n = 0;

	while (n < b.n && is_blank(b.p[n]))
		n++;
	return n;
}

static size_t digits(struct hf_bytes b)
{
	size_t n = 0;

	while (n < b.n && digit(b.p[n]) >= 0)
		n++;
	return n;
}

static enum hf_err put(struct out *o, uint8_t octet)
{
	if (o->n == o->cap)
		return HF_EFULL;
	o->p[o->n++] = octet;
	return HF_OK;
}

static struct hf_bytes next_line(struct hf_bytes *text)
{
	size_t n = hf_bytes_find(*text, '\n');
	struct hf_bytes line = hf_bytes_sub(*text, 0, n);

	*text = behind(*text, n + 1);
	return line;
}

/* ---- a dump ---- */

static size_t number(struct hf_bytes b, unsigned base)
{
	size_t v = 0;

	for (size_t i = 0; i < b.n; i++)
		v = v * base + (size_t)digit(b.p[i]);
	return v;
}

/* The line's offset, which *line goes behind: digits and a colon, or digits, blanks and an octet. */
static bool take_offset(struct hf_bytes *line, struct hf_bytes *offset)
{
	struct hf_bytes rest = behind(*line, blanks(*line));
	size_t n, gap;

	if (rest.n > 2 && rest.p[0] == '0' && hf_lower(rest.p[1]) == 'x')
		rest = behind(rest, 2);
	n = digits(rest);
	if (n < OFFSET_DIGITS_MIN || n > OFFSET_DIGITS_MAX)
		return false;
	*offset = hf_bytes_sub(rest, 0, n);
	rest = behind(rest, n);
	*line = rest.n && rest.p[0] == ':' ? behind(rest, 1) : rest;
	gap = blanks(rest);
	return line->n < rest.n || gap == rest.n || (gap && digits(behind(rest, gap)) == 2);
}

/* Groups of octets up to the text beside them. */
static enum hf_err take_octets(struct hf_bytes line, struct out *o)
{
	size_t first = o->n, gap = blanks(line), n;

	for (line = behind(line, gap); (n = digits(line)) != 0 && n % 2 == 0 && (n == line.n || is_blank(line.p[n])); line = behind(line, gap)) {
		for (size_t i = 0; i < n; i += 2)
			if (put(o, (uint8_t)(digit(line.p[i]) << 4 | digit(line.p[i + 1]))) != HF_OK)
				return HF_EFULL;
		line = behind(line, n);
		gap = blanks(line);
		if (gap > 1 && !(gap == 2 && o->n - first == HALF))
			break;
	}
	return HF_OK;
}

/* Lines like the last one were left out, up to this offset. */
static enum hf_err repeat(struct out *o, size_t offset)
{
	if (o->n < LINE_OCTETS || offset < o->n || (offset - o->n) % LINE_OCTETS)
		return HF_EINVAL;
	while (o->n < offset)
		if (put(o, o->p[o->n - LINE_OCTETS]) != HF_OK)
			return HF_EFULL;
	return HF_OK;
}

static bool is_at(struct hf_bytes offset, size_t n)
{
	return number(offset, 16) == n || number(offset, 8) == n || number(offset, 10) == n; /* od counts in eights */
}

static enum hf_err read_dump(struct hf_bytes text, struct out *o)
{
	enum hf_err e = HF_OK;
	bool repeats = false;

	while (text.n && e == HF_OK) {
		struct hf_bytes line = next_line(&text), offset;

		if (hf_bytes_eq(hf_bytes_trim(line), HF_LIT("*"))) {
			repeats = true;
			continue;
		}
		if (blanks(line) == line.n)
			continue;
		if (!take_offset(&line, &offset))
			return HF_EINVAL;
		e = repeats ? repeat(o, number(offset, 16)) : is_at(offset, o->n) ? HF_OK : HF_EINVAL;
		repeats = false;
		if (e == HF_OK)
			e = take_octets(line, o);
	}
	return e;
}

static bool is_dump(struct hf_bytes text)
{
	struct hf_bytes line, offset;

	do
		line = next_line(&text);
	while (text.n && blanks(line) == line.n);
	return take_offset(&line, &offset) && number(offset, 16) == 0 && blanks(line) < line.n;
}

/* ---- digits ---- */

/* What a C array has between its braces. */
static struct hf_bytes inside(struct hf_bytes text)
{
	size_t from = hf_bytes_find(text, '{') + 1;
	struct hf_bytes in = behind(text, from);
	size_t n = hf_bytes_find(in, '}');

	return from <= text.n && n < in.n ? hf_bytes_sub(in, 0, n) : text;
}

/* Octets of a comment at the front of the text; 0: there is none. */
static size_t comment(struct hf_bytes b)
{
	size_t n = 2;

	if (b.n < 4 || b.p[0] != '/' || b.p[1] != '*')
		return 0;
	while (n + 1 < b.n && !(b.p[n] == '*' && b.p[n + 1] == '/'))
		n++;
	return n + 1 < b.n ? n + 2 : 0;
}

/* Octets that stand before one or between two; 0: this is none. */
static size_t between(struct hf_bytes b)
{
	static const char marks[] = " \t\r\n,:;-\"'";

	if (memchr(marks, b.p[0], sizeof marks - 1))
		return 1;
	if (b.n > 2 && (b.p[0] == '0' || b.p[0] == '\\') && hf_lower(b.p[1]) == 'x')
		return 2;
	return comment(b);
}

static enum hf_err read_digits(struct hf_bytes text, struct out *o)
{
	int high = -1;

	for (text = inside(text); text.n;) {
		size_t skip = high >= 0 && text.p[0] != '\n' && text.p[0] != '\r' ? 0 : between(text); /* who pastes from a terminal has lines that end anywhere */
		int v = digit(text.p[0]);

		text = behind(text, skip ? skip : 1);
		if (skip)
			continue;
		if (v < 0)
			return HF_EINVAL;
		if (high >= 0 && put(o, (uint8_t)(high << 4 | v)) != HF_OK)
			return HF_EFULL;
		high = high < 0 ? v : -1;
	}
	return high < 0 ? HF_OK : HF_EINVAL;
}

enum hf_err hf_hexdump_read(struct hf_bytes text, uint8_t *out, size_t cap, size_t *n)
{
	struct out o = {out, cap, 0};
	enum hf_err e = is_dump(text) ? read_dump(text, &o) : read_digits(text, &o);

	if (e == HF_OK)
		*n = o.n;
	return e;
}
