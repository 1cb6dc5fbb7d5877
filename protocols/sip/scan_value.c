/* How values are read: tokens, quotes, parameters, comma lists, folds (RFC 3261 7.3.1, 25.1).
 * Must not know which header a value belongs to. Called by the scanner's other files and, for lists and folds, by the front. */
#include "scan_in.h"

#define V C_VALUE
#define T (C_TOKEN | C_CALLID | V)
#define K (C_CALLID | V)
#define Q C_CALLID
#define A (T | C_ALPHA | C_HOST)
#define X (A | C_IP6)
#define D (T | C_DIGIT | C_HOST | C_IP6)
#define N (C_NO_URI | V)
#define B (C_BLANK | C_NO_URI)
#define S C_STOP
#define V16 V, V, V, V, V, V, V, V, V, V, V, V, V, V, V, V
const uint16_t sip_class[256] = {
	/* 00 */ N, N, N, N, N, N, N, N, N, B, B, N, N, B, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
	/*  ! */ B, T, Q | S | C_NO_URI, K, K, T, K, T, K, K, T, T, S, T | C_HOST, T | C_HOST | C_IP6, K,
	/* 0 9 */ D, D, D, D, D, D, D, D, D, D, K | C_IP6, 0, Q | S | C_NO_URI, K, K | N, K,
	/* @ A */ V, X, X, X, X, X, X, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, K, K, K, K, T | C_HOST,
	/* ` a */ T, X, X, X, X, X, X, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, K, K, K, T, N,
	/* 128 */ V16, V16, V16, V16, V16, V16, V16, V16,
};
#undef T
#undef K
#undef A
#undef X
#undef D
#undef N
#undef B
#undef S
#undef V
#undef Q
#undef V16

const uint8_t *sip_past(const uint8_t *p, const uint8_t *end, unsigned kind)
{
	for (; end - p >= 4; p += 4) {
		if (!sip_is(p[0], kind))
			return p;
		if (!sip_is(p[1], kind))
			return p + 1;
		if (!sip_is(p[2], kind))
			return p + 2;
		if (!sip_is(p[3], kind))
			return p + 3;
	}
	while (p < end && sip_is(*p, kind))
		p++;
	return p;
}

const uint8_t *sip_past_value(const uint8_t *p, const uint8_t *end)
{
	while (end - p >= 8) {
		uint64_t w = sip_word_at(p), stop = sip_below(w, ',' + 1) | sip_among(w, ';', '<'); /* and a few that are none */

		if (!stop) {
			p += 8;
			continue;
		}
		p += sip_first(stop);
		if (!sip_is(*p, C_VALUE))
			return p;
		p++;
	}
	while (p < end && sip_is(*p, C_VALUE))
		p++;
	return p;
}

bool sip_quoted(struct sip_cur *c)
{
	for (c->p++; c->p < c->end; c->p++) {
		if (*c->p == '"') {
			c->p++;
			return true;
		}
		if (*c->p == '\\' && ++c->p == c->end)
			break;
	}
	return false;
}

bool sip_host(struct sip_cur *c, struct hf_bytes *host)
{
	const uint8_t *from = c->p;

	if (from == c->end || *from != '[') {
		*host = sip_run(c, C_HOST);
		return host->n > 0;
	}
	c->p++;
	if (sip_run(c, C_IP6).n < 2 || !sip_take(c, ']'))
		return false;
	*host = hf_bytes_of(from, (size_t)(c->p - from));
	return true;
}

bool sip_port(struct sip_cur *c, uint16_t *port)
{
	const uint8_t *p = sip_past_blanks(c->p, c->end), *from;
	uint32_t v = 0;

	if (p == c->end || *p != ':')
		return true;
	p = from = sip_past_blanks(p + 1, c->end);
	for (; p < c->end && sip_is(*p, C_DIGIT); p++) {
		v = v * 10 + (uint32_t)(*p - '0');
		if (v > 65535)
			return false;
	}
	if (p == from)
		return false;
	*port = (uint16_t)v;
	c->p = p;
	return true;
}

/* The value behind '=': a quoted string, or all up to what may follow a parameter. NULL: a quote is not closed. */
static const uint8_t *past_value(const uint8_t *from, const uint8_t *end)
{
	struct sip_cur c = {from, end};

	if (from == end || *from != '"')
		return sip_past_value(from, end);
	return sip_quoted(&c) ? c.p : NULL;
}

enum sip_more sip_param_next(struct sip_cur *c, struct sip_one_param *out)
{
	const uint8_t *end = c->end, *p = sip_past_blanks(c->p, end), *name, *eq;

	c->p = p;
	if (p == end)
		return SIP_END;
	if (*p != ';')
		return SIP_BROKEN;
	name = p = sip_past_blanks(p + 1, end);
	while (p < end && sip_is(*p, C_TOKEN))
		p++;
	if (p == name)
		return SIP_BROKEN;
	out->name = hf_bytes_of(name, (size_t)(p - name));
	out->value = HF_NONE;
	eq = sip_past_blanks(p, end);
	if (eq < end && *eq == '=') {
		eq = sip_past_blanks(eq + 1, end);
		p = past_value(eq, end);
		if (!p)
			return SIP_BROKEN;
		out->value = hf_bytes_of(eq, (size_t)(p - eq));
	}
	out->all = hf_bytes_of(name, (size_t)(p - name));
	c->p = p;
	return SIP_ONE;
}

struct hf_bytes sip_param(struct hf_bytes params, struct hf_bytes name)
{
	struct sip_cur c = sip_cur_of(params);
	struct sip_one_param one;

	while (sip_param_next(&c, &one) == SIP_ONE)
		if (hf_bytes_ieq(one.name, name))
			return one.value.p ? one.value : hf_bytes_of(one.name.p, 0);
	return HF_NONE;
}

enum sip_more sip_list_next(struct sip_list *l, struct hf_bytes *value)
{
	struct sip_cur *c = &l->cur;
	const uint8_t *from = c->p;

	if (!l->more)
		return SIP_END;
	l->more = false;
	if (c->p < c->end && !memchr(from, ',', (size_t)(c->end - from)))
		c->p = c->end; /* most values stand alone; whether its quotes close is then seen by whoever takes it apart */
	while (c->p < c->end) {
		if (!sip_is(*c->p, C_STOP)) {
			c->p++;
		} else if (*c->p == ',') {
			l->more = true;
			break;
		} else if (*c->p == '"') {
			if (!sip_quoted(c))
				return SIP_BROKEN;
		} else {
			const uint8_t *close = memchr(c->p, '>', (size_t)(c->end - c->p));

			if (!close)
				return SIP_BROKEN;
			c->p = close + 1;
		}
	}
	*value = sip_trim(hf_bytes_of(from, (size_t)(c->p - from)));
	if (l->more)
		c->p++;
	return SIP_ONE;
}

bool sip_value_next(struct hf_bytes *list, struct hf_bytes *value)
{
	struct sip_list l = sip_list_of(*list);

	if (!list->p || sip_list_next(&l, value) != SIP_ONE)
		return false;
	*list = l.more ? hf_bytes_of(l.cur.p, (size_t)(l.cur.end - l.cur.p)) : HF_NONE;
	return true;
}

/* "<...>" and what follows. */
static bool bracketed(struct sip_cur c, struct hf_bytes *uri, struct hf_bytes *params)
{
	const uint8_t *close = memchr(c.p, '>', (size_t)(c.end - c.p));

	if (!close)
		return false;
	*uri = hf_bytes_of(c.p + 1, (size_t)(close - c.p - 1));
	*params = hf_bytes_of(close + 1, (size_t)(c.end - close - 1));
	return true;
}

bool sip_addr_split(struct hf_bytes value, struct hf_bytes *uri, struct hf_bytes *params)
{
	struct sip_cur c = sip_cur_of(value);
	bool quoted = false;

	for (; c.p < c.end && *c.p != ';'; c.p++) {
		if (!sip_is(*c.p, C_STOP))
			continue;
		if (*c.p == '<')
			return bracketed(c, uri, params);
		if (*c.p == ',' || quoted || !sip_quoted(&c))
			return false;
		quoted = true;
		c.p--;
	}
	*uri = sip_trim(hf_bytes_of(value.p, (size_t)(c.p - value.p)));
	*params = hf_bytes_of(c.p, (size_t)(c.end - c.p));
	return !quoted;
}

struct hf_bytes sip_unfold(struct hf_bytes value, struct hf_arena *arena)
{
	uint8_t *to;
	size_t n = 0;

	if (hf_bytes_find(value, '\n') == value.n)
		return value;
	to = hf_arena_alloc(arena, value.n);
	if (!to)
		return HF_NONE;
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] != '\r' || i + 1 == value.n || value.p[i + 1] != '\n') {
			to[n++] = value.p[i];
			continue;
		}
		while (n && (to[n - 1] == ' ' || to[n - 1] == '\t'))
			n--;
		while (i + 1 < value.n && sip_is(value.p[i + 1], C_BLANK))
			i++;
		to[n++] = ' ';
	}
	return hf_bytes_of(to, n);
}
