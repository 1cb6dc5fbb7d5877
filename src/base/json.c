/* The JSON reader; see holdfast/json.h. Every octet is looked at through at(), so nothing is read behind the end. */
#include "holdfast/json.h"

struct scan {
	struct hf_bytes b;
	size_t at;
};

static int at(const struct scan *s) { return s->at < s->b.n ? s->b.p[s->at] : -1; }

static bool take(struct scan *s, int c)
{
	if (at(s) != c)
		return false;
	s->at++;
	return true;
}

static void blanks(struct scan *s)
{
	while (at(s) == ' ' || at(s) == '\t' || at(s) == '\n' || at(s) == '\r')
		s->at++;
}

static int hex4(struct hf_bytes b, size_t from)
{
	uint8_t v[2];

	return hf_read_hex(hf_bytes_sub(b, from, 4), v, 2) == HF_OK ? v[0] << 8 | v[1] : -1;
}

static enum hf_err escape(struct scan *s)
{
	int c = at(s);

	if (c < 0 || !strchr("\"\\/bfnrtu", c) || c == 0)
		return HF_EINVAL;
	if (c == 'u' && hex4(s->b, s->at + 1) < 0)
		return HF_EINVAL;
	s->at += c == 'u' ? 5 : 1;
	return HF_OK;
}

static enum hf_err string(struct scan *s, struct hf_bytes *raw)
{
	size_t from;

	if (!take(s, '"'))
		return HF_EINVAL;
	for (from = s->at; at(s) != '"';) {
		if (at(s) < 0x20) /* the end as well */
			return HF_EINVAL;
		if (take(s, '\\')) {
			if (escape(s) != HF_OK)
				return HF_EINVAL;
		} else {
			s->at++;
		}
	}
	*raw = hf_bytes_sub(s->b, from, s->at - from);
	s->at++;
	return HF_OK;
}

static bool digits(struct scan *s)
{
	size_t from = s->at;

	while (at(s) >= '0' && at(s) <= '9')
		s->at++;
	return s->at > from;
}

static enum hf_err number(struct scan *s)
{
	(void)take(s, '-');
	if (!take(s, '0') && !digits(s))
		return HF_EINVAL;
	if (take(s, '.') && !digits(s))
		return HF_EINVAL;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '+'))
			(void)take(s, '-');
		if (!digits(s))
			return HF_EINVAL;
	}
	return HF_OK;
}

static enum hf_err word(struct scan *s, const char *w)
{
	if (!hf_bytes_starts(hf_bytes_sub(s->b, s->at, SIZE_MAX), hf_bytes_str(w)))
		return HF_EINVAL;
	s->at += strlen(w);
	return HF_OK;
}

static enum hf_err value(struct scan *s, unsigned depth, struct hf_json *out);

/* Members up to the closing bracket; the opening one has been taken. */
static enum hf_err members(struct scan *s, unsigned depth, int close)
{
	struct hf_bytes key;
	struct hf_json v;
	enum hf_err e;

	blanks(s);
	if (take(s, close))
		return HF_OK;
	do {
		blanks(s);
		if (close == '}') {
			if (string(s, &key) != HF_OK)
				return HF_EINVAL;
			blanks(s);
			if (!take(s, ':'))
				return HF_EINVAL;
		}
		e = value(s, depth, &v);
		if (e != HF_OK)
			return e;
		blanks(s);
	} while (take(s, ','));
	return take(s, close) ? HF_OK : HF_EINVAL;
}

static enum hf_err container(struct scan *s, unsigned depth, struct hf_json *out)
{
	size_t from = s->at;
	int close = at(s) == '{' ? '}' : ']';
	enum hf_err e;

	out->kind = close == '}' ? HF_JSON_OBJECT : HF_JSON_ARRAY;
	if (depth == HF_JSON_DEPTH)
		return HF_ERANGE;
	s->at++;
	e = members(s, depth + 1, close);
	out->raw = hf_bytes_sub(s->b, from, s->at - from);
	return e;
}

static enum hf_err value(struct scan *s, unsigned depth, struct hf_json *out)
{
	size_t from;
	enum hf_err e;

	blanks(s);
	from = s->at;
	switch (at(s)) {
	case '{':
	case '[': return container(s, depth, out);
	case '"': out->kind = HF_JSON_STRING; return string(s, &out->raw);
	case 'n': out->kind = HF_JSON_NULL; e = word(s, "null"); break;
	case 't': out->kind = HF_JSON_TRUE; e = word(s, "true"); break;
	case 'f': out->kind = HF_JSON_FALSE; e = word(s, "false"); break;
	default: out->kind = HF_JSON_NUMBER; e = number(s); break;
	}
	out->raw = hf_bytes_sub(s->b, from, s->at - from);
	return e;
}

enum hf_err hf_json_read(struct hf_bytes text, struct hf_json *out)
{
	struct scan s = {text, 0};
	enum hf_err e = value(&s, 0, out);

	blanks(&s);
	return e != HF_OK ? e : s.at == text.n ? HF_OK : HF_EINVAL;
}

bool hf_json_next(const struct hf_json *in, size_t *pos, struct hf_bytes *key, struct hf_json *out)
{
	struct scan s = {in->raw, *pos ? *pos : 1};
	struct hf_bytes k = HF_NONE;

	if (in->kind != HF_JSON_ARRAY && in->kind != HF_JSON_OBJECT)
		return false;
	blanks(&s);
	(void)take(&s, ',');
	blanks(&s);
	if (in->kind == HF_JSON_OBJECT && string(&s, &k) == HF_OK) {
		blanks(&s);
		(void)take(&s, ':');
	}
	if (value(&s, 0, out) != HF_OK) /* the closing bracket */
		return false;
	*pos = s.at;
	if (key)
		*key = k;
	return true;
}

bool hf_json_find(const struct hf_json *in, const char *key, struct hf_json *out)
{
	struct hf_bytes k;
	size_t pos = 0;

	if (in->kind != HF_JSON_OBJECT)
		return false;
	while (hf_json_next(in, &pos, &k, out))
		if (hf_bytes_eq(k, hf_bytes_str(key)))
			return true;
	return false;
}

static void utf8(struct hf_writer *w, unsigned c)
{
	if (c > 0x7ff) {
		hf_w_u8(w, (uint8_t)(0xe0 | c >> 12));
		hf_w_u8(w, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
	} else {
		hf_w_u8(w, (uint8_t)(0xc0 | c >> 6));
	}
	hf_w_u8(w, (uint8_t)(0x80 | (c & 0x3f)));
}

void hf_w_json_text(struct hf_writer *w, struct hf_bytes raw)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";

	for (size_t i = 0; i < raw.n; i++) {
		const char *short_form;
		int c;

		if (raw.p[i] != '\\' || i + 1 == raw.n) {
			hf_w_u8(w, raw.p[i]);
			continue;
		}
		c = raw.p[++i];
		short_form = c ? strchr(from, c) : NULL;
		if (c != 'u') {
			hf_w_u8(w, (uint8_t)(short_form ? to[short_form - from] : c));
			continue;
		}
		c = hex4(raw, i + 1);
		i += 4;
		if (c > 0xff)
			utf8(w, (unsigned)c);
		else
			hf_w_u8(w, (uint8_t)c);
	}
}
