/* How values are read: tokens, quotes, parameters, comma lists, folds (RFC 3261 7.3.1, 25.1).
 * Must not know which header a value belongs to. Called by the scanner's other files and, for lists and folds, by the front. */
#include "scan_read.h"

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

const uint8_t *sip_past_quoted(const uint8_t *p, const uint8_t *end, const uint8_t *lo)
{
	for (p++; (p = sip_seek_quote(p, end, lo)) < end; p += 2)
		if (*p == '"')
			return p + 1;
		else if (end - p < 2)
			break;
	return NULL;
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

bool sip_past_listed(struct sip_cur *c)
{
	while ((c->p = sip_seek_address(c->p, c->end, c->lo)) < c->end && *c->p != ',') {
		if (*c->p == ';') {
			c->p++;
		} else if (*c->p == '"') {
			if (!(c->p = sip_past_quoted(c->p, c->end, c->lo)))
				return false;
		} else if ((c->p = sip_seek_close(c->p, c->end, c->lo)) == c->end) {
			return false;
		} else {
			c->p++;
		}
	}
	return true;
}

bool sip_value_next(struct hf_bytes *list, struct hf_bytes *value)
{
	struct sip_list l = sip_list_at(sip_cur_of(*list));

	if (!list->p || sip_list_next(&l, value) != SIP_ONE)
		return false;
	*list = l.more ? sip_cur_rest(&l.cur) : HF_NONE;
	return true;
}

bool sip_addr_split(struct hf_bytes value, struct hf_bytes *uri, struct hf_bytes *params)
{
	struct sip_cur rest;

	if (!sip_addr_cut(sip_cur_of(value), uri, &rest))
		return false;
	*params = sip_cur_rest(&rest);
	return true;
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
