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

	if (!sip_take(c, '[')) {
		*host = sip_run(c, C_HOST);
		return host->n > 0;
	}
	if (sip_run(c, C_IP6).n < 2 || !sip_take(c, ']'))
		return false;
	*host = hf_bytes_of(from, (size_t)(c->p - from));
	return true;
}

bool sip_port(struct sip_cur *c, uint16_t *port)
{
	struct sip_cur q = *c;
	uint64_t v;

	sip_blanks(&q);
	if (!sip_take(&q, ':'))
		return true;
	sip_blanks(&q);
	if (hf_read_uint(sip_run(&q, C_DIGIT), 65535, &v) != HF_OK)
		return false;
	*port = (uint16_t)v;
	*c = q;
	return true;
}

/* The value behind '=': a quoted string, or all up to what may follow a parameter. */
static bool param_value(struct sip_cur *c, struct hf_bytes *value)
{
	const uint8_t *from;

	sip_blanks(c);
	from = c->p;
	if (c->p < c->end && *c->p == '"') {
		if (!sip_quoted(c))
			return false;
	} else {
		c->p = sip_past_value(from, c->end);
	}
	*value = hf_bytes_of(from, (size_t)(c->p - from));
	return true;
}

enum sip_more sip_param_next(struct sip_cur *c, struct sip_one_param *out)
{
	struct sip_cur q;

	sip_blanks(c);
	if (c->p == c->end)
		return SIP_END;
	if (!sip_take(c, ';'))
		return SIP_BROKEN;
	sip_blanks(c);
	out->name = sip_run(c, C_TOKEN);
	out->value = HF_NONE;
	if (out->name.n == 0)
		return SIP_BROKEN;
	q = *c;
	sip_blanks(&q);
	if (sip_take(&q, '=')) {
		*c = q;
		if (!param_value(c, &out->value))
			return SIP_BROKEN;
	}
	out->all = hf_bytes_of(out->name.p, (size_t)(c->p - out->name.p));
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

bool sip_addr_split(struct hf_bytes value, struct hf_bytes *uri, struct hf_bytes *params)
{
	struct sip_cur c = sip_cur_of(value);
	bool quoted = false;
	const uint8_t *close;

	for (; c.p < c.end && *c.p != ';'; c.p++) {
		if (!sip_is(*c.p, C_STOP))
			continue;
		if (*c.p == ',')
			return false;
		if (*c.p == '<') {
			close = memchr(c.p, '>', (size_t)(c.end - c.p));
			if (!close)
				return false;
			*uri = hf_bytes_of(c.p + 1, (size_t)(close - c.p - 1));
			*params = hf_bytes_of(close + 1, (size_t)(c.end - close - 1));
			return true;
		}
		if (quoted || !sip_quoted(&c))
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
