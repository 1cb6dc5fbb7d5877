/* URIs taken apart (RFC 3261 19.1, 25.1; RFC 3966) and the canonical address of record. Must not know headers.
 * Called by the scanner and by the front. */
#include "scan_read.h"

static void uri_param(struct sip_uri *u, struct hf_bytes one)
{
	size_t eq = hf_bytes_find(one, '=');
	struct hf_bytes name = hf_bytes_sub(one, 0, eq);
	struct hf_bytes value = eq < one.n ? hf_bytes_sub(one, eq + 1, one.n) : hf_bytes_of(one.p + one.n, 0);

	if (SIP_WORD(name, "lr"))
		u->lr = true;
	else if (!u->maddr.p && SIP_WORD(name, "maddr"))
		u->maddr = value;
	else if (!u->transport.p && SIP_WORD(name, "transport"))
		u->transport = value;
}

/* What stands behind host and port: ";a=b;c" and "?headers". */
static bool uri_tail(struct sip_uri *u, struct hf_bytes rest)
{
	size_t q = hf_bytes_find(rest, '?');
	struct hf_bytes params = hf_bytes_sub(rest, 0, q);

	if (rest.n && rest.p[0] != ';' && rest.p[0] != '?')
		return false;
	if (hf_bytes_find(params, '@') < params.n) /* a second one: which of two was meant is a guess */
		return false;
	u->params = params;
	u->headers = hf_bytes_sub(rest, q, rest.n);
	for (size_t from = 1, i = 1; i <= params.n; i++) {
		if (i < params.n && params.p[i] != ';')
			continue;
		uri_param(u, hf_bytes_of(params.p + from, i - from));
		from = i + 1;
	}
	return true;
}

/* "user[:password]@host[:port]...". The user part may hold ';' and '?' (RFC 4475 3.1.1.2), so the '@' is looked for first. */
static bool sip_tail(struct sip_uri *u, struct sip_cur c)
{
	const uint8_t *at = sip_seek_at(c.p, c.end, c.lo);

	if (at < c.end) {
		u->user = hf_bytes_of(c.p, (size_t)(at - c.p));
		c.p = at + 1;
		if (!u->user.n)
			return false;
	}
	if (!sip_host(&c, &u->host) || !sip_port(&c, &u->port))
		return false;
	return c.p == c.end || uri_tail(u, sip_cur_rest(&c));
}

/* The scheme and its ':'. */
static bool scheme(struct sip_cur *c, struct sip_uri *u)
{
	u->scheme.p = c->p;
	if (c->end - c->p > 4 && memcmp(c->p, "sip:", 4) == 0) { /* as nearly all of them are */
		u->scheme.n = 3;
		u->sip = true;
		c->p += 4;
		return true;
	}
	while (c->p < c->end && (sip_is(*c->p, C_ALPHA | C_DIGIT) || *c->p == '+' || *c->p == '-' || *c->p == '.'))
		c->p++;
	u->scheme.n = (size_t)(c->p - u->scheme.p);
	u->sip = SIP_WORD(u->scheme, "sip");
	u->sips = SIP_WORD(u->scheme, "sips");
	return u->scheme.n && sip_is(u->scheme.p[0], C_ALPHA) && sip_take(c, ':') && c->p < c->end;
}

bool sip_uri_read(struct hf_bytes text, struct sip_uri *out)
{
	struct sip_cur c = sip_cur_of(text);
	struct hf_bytes rest;

	memset(out, 0, sizeof *out);
	out->text = text;
	if (!scheme(&c, out))
		return false;
	if (sip_seek_no_uri(c.p, c.end, c.lo) < c.end)
		return false;
	if (out->sip || out->sips)
		return sip_tail(out, c);
	rest = sip_cur_rest(&c);
	if (!SIP_WORD(out->scheme, "tel"))
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

/* The octet at *i, an escape undone; *i then stands on the last one that was read. */
static uint8_t plain(struct hf_bytes b, size_t *i)
{
	size_t at = *i;

	if (b.p[at] != '%' || at + 2 >= b.n || hex(b.p[at + 1]) < 0 || hex(b.p[at + 2]) < 0)
		return b.p[at];
	*i = at + 2;
	return (uint8_t)(hex(b.p[at + 1]) << 4 | hex(b.p[at + 2]));
}

/* The user without password and escapes; of a telephone number without its visual separators (RFC 3966 4). */
static void aor_user(struct hf_writer *w, const struct sip_uri *u)
{
	bool phone = !u->sip && !u->sips;
	struct hf_bytes user = phone ? u->user : hf_bytes_sub(u->user, 0, hf_bytes_find(u->user, ':'));

	for (size_t i = 0; i < user.n; i++) {
		uint8_t c = user.p[i];

		if (!phone || (c != '-' && c != '.' && c != '(' && c != ')'))
			hf_w_u8(w, plain(user, &i));
	}
}

static void aor_host(struct hf_writer *w, const struct sip_uri *u)
{
	if (u->user.n && u->host.n)
		hf_w_u8(w, '@');
	for (size_t i = 0; i < u->host.n; i++)
		hf_w_u8(w, hf_lower(u->host.p[i]));
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
	aor_host(&w, uri);
	if (uri->port && uri->port != usual) {
		hf_w_u8(&w, ':');
		hf_w_dec(&w, uri->port);
	}
	return hf_writer_view(&w);
}

struct hf_bytes sip_user(const struct sip_uri *uri, bool with_host, struct hf_arena *arena)
{
	size_t room = uri->user.n + uri->host.n + 1;
	void *p = hf_arena_alloc(arena, room);
	struct hf_writer w = hf_writer_on(p, room);

	if (!p)
		return HF_NONE;
	aor_user(&w, uri);
	if (with_host && w.n)
		aor_host(&w, uri);
	return hf_writer_view(&w);
}

struct hf_bytes sip_small_text(struct hf_bytes text, struct hf_arena *arena)
{
	void *p = hf_arena_alloc(arena, text.n + 1);
	struct hf_writer w = hf_writer_on(p, text.n);

	if (!p)
		return HF_NONE;
	for (size_t i = 0; i < text.n; i++)
		hf_w_u8(&w, hf_lower(plain(text, &i)));
	return hf_writer_view(&w);
}
