/* Inside the scanner: readers of what nearly every message has several of (host and port, parameters, comma lists). Inlined, so that what they
 * find stays in registers. Must not know which header a value belongs to. Nobody else includes this. */
#ifndef SIP_SCAN_READ_H
#define SIP_SCAN_READ_H

#include "scan_seek.h"

/* "[...]" or a name. */
static inline bool sip_host(struct sip_cur *c, struct hf_bytes *host)
{
	const uint8_t *from = c->p;

	if (from < c->end && *from == '[') {
		c->p++;
		if (sip_run(c, C_IP6).n < 2 || !sip_take(c, ']'))
			return false;
	} else {
		c->p = sip_seek_no_host(from, c->end, c->lo);
	}
	*host = hf_bytes_of(from, (size_t)(c->p - from));
	return c->p > from;
}

/* ":5060" when it stands there. False: no number, or one above 65535. */
static inline bool sip_port(struct sip_cur *c, uint16_t *port)
{
	const uint8_t *p = sip_past_blanks(c->p, c->end), *from;
	uint32_t v = 0, digit;

	if (p == c->end || *p != ':')
		return true;
	from = p = sip_past_blanks(p + 1, c->end);
	for (; p < c->end && (digit = *p - (uint32_t)'0') <= 9; p++)
		if ((v = v * 10 + digit) > 65535)
			return false;
	*port = (uint16_t)v;
	c->p = p;
	return p > from;
}

/* The value behind '=': a quoted string, or all up to what may follow a parameter. NULL: a quote is not closed. */
static inline const uint8_t *sip_past_value(const uint8_t *p, const uint8_t *end, const uint8_t *lo)
{
	if (p < end && *p == '"')
		return sip_past_quoted(p, end, lo);
	while ((p = sip_seek_no_value(p, end, lo)) < end && sip_is(*p, C_VALUE))
		p++;
	return p;
}

struct sip_one_param {
	struct hf_bytes name, value; /* value.p == NULL: no '=' */
	struct hf_bytes all;         /* from the name to the end of the value */
};

/* The next ";name[=value]". */
static inline enum sip_more sip_param_next(struct sip_cur *c, struct sip_one_param *out)
{
	const uint8_t *end = c->end, *p = sip_past_blanks(c->p, end), *name, *eq;

	if (p == end)
		return SIP_END;
	if (*p != ';')
		return SIP_BROKEN;
	name = sip_past_blanks(p + 1, end);
	p = sip_past(name, end, C_TOKEN);
	if (p == name)
		return SIP_BROKEN;
	out->name = hf_bytes_of(name, (size_t)(p - name));
	out->value = HF_NONE;
	eq = sip_past_blanks(p, end);
	if (eq < end && *eq == '=') {
		eq = sip_past_blanks(eq + 1, end);
		p = sip_past_value(eq, end, c->lo);
		if (!p)
			return SIP_BROKEN;
		out->value = hf_bytes_of(eq, (size_t)(p - eq));
	}
	out->all = hf_bytes_of(name, (size_t)(p - name));
	c->p = p;
	return SIP_ONE;
}

/* A parameter as nearly all write it: its name in small letters, '=', a value without quotes. Where the value begins; NULL: it is not so. */
#define SIP_QUICK_PARAM(c, name) sip_quick_param(c, ";" name "=", sizeof name + 1)
static inline const uint8_t *sip_quick_param(const struct sip_cur *c, const char *literal, size_t n)
{
	return (size_t)(c->end - c->p) > n && memcmp(c->p, literal, n) == 0 && sip_is(c->p[n], C_VALUE) ? c->p + n : NULL;
}
/* Takes that value. */
static inline struct hf_bytes sip_quick_value(struct sip_cur *c, const uint8_t *from)
{
	c->p = sip_past_value(from, c->end, c->lo);
	return hf_bytes_of(from, (size_t)(c->p - from));
}

/* "<...>" and what follows. */
static inline bool sip_bracketed(struct sip_cur c, struct hf_bytes *uri, struct sip_cur *params)
{
	const uint8_t *close = sip_seek_close(c.p, c.end, c.lo);

	if (close == c.end)
		return false;
	*uri = hf_bytes_of(c.p + 1, (size_t)(close - c.p - 1));
	*params = (struct sip_cur){close + 1, c.end, c.lo};
	return true;
}

/* name-addr or addr-spec: the URI without brackets, and the rest from its ';' on. False: quotes, brackets or commas are wrong. */
static inline bool sip_addr_cut(struct sip_cur c, struct hf_bytes *uri, struct sip_cur *params)
{
	const uint8_t *from = c.p;
	bool quoted = false;

	while ((c.p = sip_seek_address(c.p, c.end, c.lo)) < c.end && *c.p != ';') {
		if (*c.p == '<')
			return sip_bracketed(c, uri, params);
		if (*c.p == ',' || quoted || !(c.p = sip_past_quoted(c.p, c.end, c.lo)))
			return false;
		quoted = true;
	}
	*uri = sip_trim(hf_bytes_of(from, (size_t)(c.p - from)));
	*params = c;
	return !quoted;
}

/* The next value of a comma list; SIP_BROKEN: a quote or bracket is not closed. `more`: a comma follows it. */
struct sip_list { struct sip_cur cur; bool more; };
static inline struct sip_list sip_list_at(struct sip_cur c) { return (struct sip_list){c, true}; }
/* Moves behind the value that begins at c->p: to its comma, or to the end. False: a quote or bracket is not closed. */
bool sip_past_listed(struct sip_cur *c);

static inline enum sip_more sip_list_next(struct sip_list *l, struct hf_bytes *value)
{
	struct sip_cur c = l->cur;
	const uint8_t *from = c.p;

	if (!l->more)
		return SIP_END;
	if (sip_seek_comma(from, c.end, c.lo) == c.end) /* most stand alone; whether its quotes close is then seen by whoever takes it apart */
		c.p = c.end;
	else if (!sip_past_listed(&c))
		return SIP_BROKEN;
	*value = sip_trim(hf_bytes_of(from, (size_t)(c.p - from)));
	l->more = c.p < c.end;
	l->cur.p = c.p + l->more;
	return SIP_ONE;
}

#endif
