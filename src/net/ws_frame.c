/* Frames (RFC 6455 5): what a client may send and no more, joined to messages where they stand; and the heads of our own.
 * A frame is unmasked once it is whole, so that nothing of its inside has to be kept between reads. */
#include "ws.h"

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0f, CONTROL = 0x08, MASKED = 0x80, LENGTH = 0x7f, LENGTH_16 = 126, LENGTH_64 = 127, MASK = 4 };

struct frame {
	bool fin, cut; /* cut: it is longer than may be, and `size` is what is taken of it */
	uint8_t opcode;
	const uint8_t *mask;
	size_t head, size;
};

/* ---- in ---- */

/* The length in its shortest form only (RFC 6455 5.2). False: it is none. */
static bool length(const uint8_t *p, uint64_t *n)
{
	switch (p[1] & LENGTH) {
	case LENGTH_16:
		*n = hf_get16(p + 2);
		return *n >= LENGTH_16;
	case LENGTH_64:
		*n = hf_get64(p + 2);
		return *n > UINT16_MAX && *n >> 63 == 0;
	default:
		*n = p[1] & LENGTH;
		return true;
	}
}

static size_t head_len(const uint8_t *p)
{
	unsigned n = p[1] & LENGTH;

	return 2 + (n == LENGTH_16 ? 2u : n == LENGTH_64 ? 8u : 0u) + MASK;
}

/* May it come now, and as it is? 0, or the code. */
static uint16_t fault(const struct ws *w, const uint8_t *p, uint64_t n)
{
	uint8_t op = p[0] & OPCODE;

	if (op & CONTROL)
		return op <= WS_PONG && p[0] & FIN && n <= WS_CONTROL_MAX ? 0 : WS_PROTOCOL_ERROR;
	if (op > WS_BINARY || (op == WS_CONTINUATION) != w->begun)
		return WS_PROTOCOL_ERROR;
	return 0;
}

/* The frame at p. 0: read; else a code, and `head` 0 says that more octets are needed, `size` how many in all. */
static uint16_t frame(const struct ws *w, const uint8_t *p, size_t n, size_t max, struct frame *f)
{
	uint64_t size = 0;
	uint16_t code;
	size_t left;
	bool cut;

	*f = (struct frame){.size = n < 2 ? 2 : head_len(p)};
	if (n >= 2 && (p[0] & RESERVED || !(p[1] & MASKED)))
		return WS_PROTOCOL_ERROR;
	if (n < f->size)
		return 0;
	if (!length(p, &size))
		return WS_PROTOCOL_ERROR;
	code = fault(w, p, size);
	if (code)
		return code;
	left = w->have < max ? max - w->have : 0;
	cut = !(p[0] & CONTROL) && size > left;
	if (cut)
		size = left + 1;
	if (n - f->size < size) {
		f->size += (size_t)size;
		return 0;
	}
	*f = (struct frame){.fin = p[0] & FIN, .cut = cut, .opcode = p[0] & OPCODE, .head = f->size, .size = (size_t)size};
	f->mask = p + f->head - MASK;
	return 0;
}

/* Unmasks n octets from `from` to `to`, which is not behind it. */
static void unmask(uint8_t *to, const uint8_t *from, size_t n, const uint8_t mask[MASK])
{
	uint64_t key, v;
	uint8_t keys[8];
	size_t i = 0;

	memcpy(keys, mask, MASK);
	memcpy(keys + MASK, mask, MASK);
	memcpy(&key, keys, 8);
	for (; i + 8 <= n; i += 8) {
		memcpy(&v, from + i, 8);
		v ^= key;
		memcpy(to + i, &v, 8);
	}
	for (; i < n; i++)
		to[i] = from[i] ^ keys[i % 8];
}

/* What may stand in a close frame of a peer's (RFC 6455 7.4). */
static bool known(unsigned code) { return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999); }

static enum ws_got closing(const uint8_t *text, size_t n, struct ws_in *in)
{
	in->code = n == 0 ? WS_NORMAL : n == 1 || !known(hf_get16(text)) ? WS_PROTOCOL_ERROR : hf_get16(text);
	if (n > 2 && !ws_utf8(hf_bytes_of(text + 2, n - 2)))
		in->code = WS_BAD_TEXT;
	return WS_GOT_CLOSE;
}

/* A frame of no message. MORE: it goes on. */
static enum ws_got control(const uint8_t *p, const struct frame *f, struct ws_in *in)
{
	uint8_t text[WS_CONTROL_MAX];

	unmask(text, p + f->head, f->size, f->mask);
	if (f->opcode == WS_CLOSE)
		return closing(text, f->size, in);
	if (f->opcode == WS_PING) {
		in->ping = true;
		in->n_echo = (uint8_t)f->size;
		memcpy(in->echo, text, f->size);
	}
	return WS_GOT_MORE;
}

/* Joins a frame of a message to what there is of it. True: it is whole, or as much as is taken. */
static bool join(struct ws *w, uint8_t *p, const uint8_t *at, const struct frame *f)
{
	if (!w->begun)
		w->text = f->opcode == WS_TEXT;
	w->begun = !f->fin;
	unmask(p + w->have, at + f->head, f->size, (const uint8_t[MASK]){f->mask[0], f->mask[1], f->mask[2], f->mask[3]});
	w->have += (uint32_t)f->size;
	return f->cut || (f->fin && w->have); /* an empty one says nothing */
}

static enum ws_got message(struct ws *w, const uint8_t *p, size_t used, struct ws_in *in)
{
	in->size = w->have;
	in->used = used;
	w->have = 0;
	in->code = WS_BAD_TEXT;
	return w->text && !ws_utf8(hf_bytes_of(p, in->size)) ? WS_GOT_BAD : WS_GOT_MESSAGE;
}

/* So much that its reader knows it for too long, and can tell the client so by what it says of itself, before the connection ends (RFC 6455 7.4.1). */
static enum ws_got beginning(const struct ws *w, struct ws_in *in)
{
	in->size = w->have;
	in->code = WS_TOO_LONG;
	return WS_GOT_LONG;
}

enum ws_got ws_take(struct ws *w, uint8_t *p, size_t n, size_t max, struct ws_in *in)
{
	size_t at = w->have;
	struct frame f;

	in->ping = false;
	for (;;) {
		in->code = frame(w, p + at, n - at, max, &f);
		if (in->code)
			return WS_GOT_BAD;
		if (!f.head)
			break;
		if (f.opcode & CONTROL) {
			if (control(p + at, &f, in) != WS_GOT_MORE)
				return WS_GOT_CLOSE;
		} else if (join(w, p, p + at, &f)) {
			return f.cut ? beginning(w, in) : message(w, p, at + f.head + f.size, in);
		}
		at += f.head + f.size;
	}
	memmove(p + w->have, p + at, n - at);
	in->left = w->have + n - at;
	in->need = w->have + f.size;
	return WS_GOT_MORE;
}

/* ---- out ---- */

size_t ws_head_len(size_t n) { return n < LENGTH_16 ? 2 : n <= UINT16_MAX ? 4 : 10; }

size_t ws_head(uint8_t out[WS_HEAD_OUT], enum ws_opcode opcode, size_t n)
{
	size_t len = ws_head_len(n);

	out[0] = (uint8_t)(FIN | opcode);
	out[1] = (uint8_t)(len == 2 ? n : len == 4 ? LENGTH_16 : LENGTH_64);
	if (len == 4)
		hf_put16(out + 2, (uint16_t)n);
	else if (len == 10)
		hf_put64(out + 2, n);
	return len;
}

/* ---- UTF-8 (RFC 3629 4) ---- */

/* Octets that follow this first one; the range of the first of them into lo and hi. -1: it is no first octet. */
static int follow(uint8_t c, uint8_t *lo, uint8_t *hi)
{
	*lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	*hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	return c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
}

static size_t skip_ascii(const uint8_t *p, size_t n)
{
	size_t i = 0;
	uint64_t v;

	for (; i + 8 <= n; i += 8) {
		memcpy(&v, p + i, 8);
		if (v & 0x8080808080808080u)
			break;
	}
	return i;
}

bool ws_utf8(struct hf_bytes b)
{
	for (size_t i = 0; i < b.n;) {
		uint8_t lo, hi;
		int more;

		i += skip_ascii(b.p + i, b.n - i);
		if (i == b.n)
			break;
		more = follow(b.p[i++], &lo, &hi);
		if (more < 0 || (size_t)more > b.n - i)
			return false;
		for (; more > 0; more--, lo = 0x80, hi = 0xbf)
			if (b.p[i] < lo || b.p[i++] > hi)
				return false;
	}
	return true;
}
