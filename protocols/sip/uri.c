/* URIs taken apart (RFC 3261 19.1, 25.1; RFC 3966) and the canonical address of record. Must not know headers.
 * Called by the scanner and by the front. */
#include "scan_in.h"

/* Octets that no URI holds, and the brackets and quotes around one. */
static bool clean(struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] <= ' ' || b.p[i] == 127 || b.p[i] == '<' || b.p[i] == '>' || b.p[i] == '"')
			return false;
	return true;
}

static void uri_param(struct sip_uri *u, struct hf_bytes one)
{
	size_t eq = hf_bytes_find(one, '=');
	struct hf_bytes name = hf_bytes_sub(one, 0, eq);
	struct hf_bytes value = eq < one.n ? hf_bytes_sub(one, eq + 1, one.n) : hf_bytes_of(one.p + one.n, 0);

	if (name.n == 2 && hf_bytes_ieq(name, HF_LIT("lr")))
		u->lr = true;
	else if (name.n == 5 && !u->maddr.p && hf_bytes_ieq(name, HF_LIT("maddr")))
		u->maddr = value;
	else if (name.n == 9 && !u->transport.p && hf_bytes_ieq(name, HF_LIT("transport")))
		u->transport = value;
}

/* What stands behind host and port: ";a=b;c" and "?headers". */
static bool uri_tail(struct sip_uri *u, struct hf_bytes rest)
{
	size_t q = hf_bytes_find(rest, '?');
	struct hf_bytes params = hf_bytes_sub(rest, 0, q);

	if (rest.n && rest.p[0] != ';' && rest.p[0] != '?')
		return false;
	u->params = params;
	u->headers = hf_bytes_sub(rest, q, rest.n);
	while (params.n) {
		struct hf_bytes one = hf_bytes_sub(params, 1, params.n);

		one.n = hf_bytes_find(one, ';');
		uri_param(u, one);
		params = hf_bytes_sub(params, 1 + one.n, params.n);
	}
	return true;
}

/* "user[:password]@host[:port]...". The user part may hold ';' and '?' (RFC 4475 3.1.1.2), so the '@' is looked for first. */
static bool sip_tail(struct sip_uri *u, struct hf_bytes rest)
{
	size_t at = hf_bytes_find(rest, '@');
	struct sip_cur c;

	if (at < rest.n) {
		u->user = hf_bytes_sub(rest, 0, at);
		rest = hf_bytes_sub(rest, at + 1, rest.n);
		if (at == 0 || hf_bytes_find(hf_bytes_sub(rest, 0, hf_bytes_find(rest, '?')), '@') < hf_bytes_find(rest, '?'))
			return false;
	}
	c = sip_cur_of(rest);
	if (!sip_host(&c, &u->host) || !sip_port(&c, &u->port))
		return false;
	return uri_tail(u, hf_bytes_of(c.p, (size_t)(c.end - c.p)));
}

bool sip_uri_read(struct hf_bytes text, struct sip_uri *out)
{
	struct sip_cur c = sip_cur_of(text);
	struct hf_bytes rest;

	memset(out, 0, sizeof *out);
	out->text = text;
	if (text.n < 2 || !sip_is(text.p[0], C_ALPHA) || !clean(text))
		return false;
	while (c.p < c.end && (sip_is(*c.p, C_ALPHA | C_DIGIT) || *c.p == '+' || *c.p == '-' || *c.p == '.'))
		c.p++;
	out->scheme = hf_bytes_of(text.p, (size_t)(c.p - text.p));
	if (!sip_take(&c, ':') || c.p == c.end)
		return false;
	rest = hf_bytes_of(c.p, (size_t)(c.end - c.p));
	out->sip = hf_bytes_ieq(out->scheme, HF_LIT("sip"));
	out->sips = hf_bytes_ieq(out->scheme, HF_LIT("sips"));
	if (out->sip || out->sips)
		return sip_tail(out, rest);
	if (!hf_bytes_ieq(out->scheme, HF_LIT("tel")))
		return true; /* opaque: whoever serves the scheme knows its form */
	out->user = hf_bytes_sub(rest, 0, hf_bytes_find(rest, ';'));
	return out->user.n > 0 && uri_tail(out, hf_bytes_sub(rest, out->user.n, rest.n));
}

static int hex(uint8_t c)
{
	if (sip_is(c, C_DIGIT))
		return c - '0';
	c = hf_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The user without password and escapes; of a telephone number without its visual separators (RFC 3966 4). */
static void aor_user(struct hf_writer *w, const struct sip_uri *u)
{
	bool phone = !u->sip && !u->sips;
	struct hf_bytes user = phone ? u->user : hf_bytes_sub(u->user, 0, hf_bytes_find(u->user, ':'));

	for (size_t i = 0; i < user.n; i++) {
		uint8_t c = user.p[i];

		if (phone && (c == '-' || c == '.' || c == '(' || c == ')'))
			continue;
		if (c == '%' && i + 2 < user.n && hex(user.p[i + 1]) >= 0 && hex(user.p[i + 2]) >= 0) {
			c = (uint8_t)(hex(user.p[i + 1]) << 4 | hex(user.p[i + 2]));
			i += 2;
		}
		hf_w_u8(w, c);
	}
}

struct hf_bytes sip_aor(const struct sip_uri *uri, struct hf_arena *arena)
{
	uint16_t usual = uri->sips ? 5061 : 5060;
	size_t room = uri->user.n + uri->host.n + uri->text.n + sizeof "@:65535";
	struct hf_writer w;
	void *p = hf_arena_alloc(arena, room);

	if (!p)
		return HF_NONE;
	w = hf_writer_on(p, room);
	if (!uri->sip && !uri->sips && !uri->user.n)
		hf_w_bytes(&w, uri->text); /* an opaque URI is its own name */
	aor_user(&w, uri);
	if (uri->user.n && uri->host.n)
		hf_w_u8(&w, '@');
	for (size_t i = 0; i < uri->host.n; i++)
		hf_w_u8(&w, hf_lower(uri->host.p[i]));
	if (uri->port && uri->port != usual) {
		hf_w_u8(&w, ':');
		hf_w_dec(&w, uri->port);
	}
	return hf_writer_view(&w);
}
