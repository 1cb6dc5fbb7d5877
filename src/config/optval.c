/* Values of options; see optval.h. Must not know any option by name. Called by fill.c, print.c and reload.c. */
#include "optval.h"

#include "holdfast/config.h"
#include "holdfast/log.h"
#include "nearest.h"
#include "poolopt.h"

struct unit { const char *name; uint64_t factor; };
/* Longest first in the order of printing; "ms" before "m" and "s" does not matter, units are compared whole. */
static const struct unit times[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}, {NULL, 0}};
static const struct unit sizes[] = {{"g", 1u << 30}, {"m", 1u << 20}, {"k", 1u << 10}, {"", 1}, {NULL, 0}};

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

static size_t digits(struct hf_bytes b)
{
	size_t n = 0;

	while (n < b.n && is_digit(b.p[n]))
		n++;
	return n;
}

static enum hf_err read_units(struct hf_bytes text, const struct unit *u, uint64_t *out)
{
	size_t n = digits(text);
	struct hf_bytes unit = hf_bytes_sub(text, n, text.n);
	uint64_t v;
	enum hf_err e;

	for (; u->name; u++)
		if (hf_bytes_eq(unit, hf_bytes_str(u->name))) {
			e = hf_read_uint(hf_bytes_sub(text, 0, n), UINT64_MAX / u->factor, &v);
			if (e == HF_OK)
				*out = v * u->factor;
			return e;
		}
	return HF_EINVAL;
}

enum hf_err hf_time_read(struct hf_bytes text, uint64_t *ms) { return read_units(text, times, ms); }

static enum hf_err read_milli(struct hf_bytes text, uint64_t *out)
{
	size_t n = digits(text);
	struct hf_bytes part = hf_bytes_sub(text, n + 1, text.n);
	uint64_t whole, thousandths = 0;
	enum hf_err e = hf_read_uint(hf_bytes_sub(text, 0, n), UINT64_MAX / 1000 - 1, &whole);

	if (e != HF_OK)
		return e;
	if (n < text.n && (text.p[n] != '.' || part.n > 3 || hf_read_uint(part, 999, &thousandths) != HF_OK))
		return HF_EINVAL;
	for (size_t i = part.n; n < text.n && i < 3; i++)
		thousandths *= 10;
	*out = whole * 1000 + thousandths;
	return HF_OK;
}

static void write_units(struct hf_writer *w, uint64_t v, const struct unit *u)
{
	while (v % u->factor || (v == 0 && u[1].name))
		u++;
	hf_w_dec(w, v / u->factor);
	hf_w_str(w, u->name);
}

static void write_milli(struct hf_writer *w, uint64_t v)
{
	unsigned rest = (unsigned)(v % 1000);

	hf_w_dec(w, v / 1000);
	hf_w_printf(w, rest % 100 == 0 ? ".%01u" : rest % 10 == 0 ? ".%02u" : ".%03u", rest % 100 == 0 ? rest / 100 : rest % 10 == 0 ? rest / 10 : rest);
}

static void write_number(const struct hf_option *row, struct hf_writer *w, uint64_t v)
{
	if (row->type == HF_OPT_TIME)
		write_units(w, v, times);
	else if (row->type == HF_OPT_SIZE)
		write_units(w, v, sizes);
	else if (row->type == HF_OPT_MILLI)
		write_milli(w, v);
	else
		hf_w_dec(w, v);
}

bool optval_listed(const char *list, struct hf_bytes word)
{
	while (list && *list) {
		size_t n = strcspn(list, " ");

		if (hf_bytes_eq(word, hf_bytes_of(list, n)))
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

void optval_range(const struct hf_option *row, struct hf_writer *w)
{
	bool first = true;

	if (row->off_ok)
		hf_w_str(w, "off | ");
	switch (row->type) {
	case HF_OPT_BOOL:
		hf_w_str(w, optval_listed(row->not_built, HF_LIT("yes")) ? "no" : "yes | no");
		break;
	case HF_OPT_CHOICE:
		for (unsigned i = 0; row->words[i]; i++) {
			if (optval_listed(row->not_built, hf_bytes_str(row->words[i])))
				continue;
			hf_w_printf(w, "%s%s", first ? "" : " | ", row->words[i]);
			first = false;
		}
		break;
	case HF_OPT_TEXT:
		hf_w_printf(w, "%llu..%llu octets", (unsigned long long)row->min, (unsigned long long)row->max);
		break;
	case HF_OPT_CUSTOM:
	case HF_OPT_POOLS:
		break;
	default:
		write_number(row, w, row->min);
		hf_w_str(w, "..");
		write_number(row, w, row->max);
	}
}

/* The range in an error: a number says what it counts. */
static void say_range(const struct hf_option *row, struct hf_writer *w)
{
	optval_range(row, w);
	if (row->type == HF_OPT_UINT && row->unit && *row->unit)
		hf_w_printf(w, " %s", row->unit);
}

static enum hf_err bad_form(const struct hf_option *row, struct hf_bytes text, struct hf_writer *why)
{
	if (row->type == HF_OPT_TIME && text.n && digits(text) == text.n)
		hf_w_printf(why, "a time needs its unit: %sms, %ss, %sm, %sh or %sd; ", hf_log_text(text), hf_log_text(text), hf_log_text(text), hf_log_text(text), hf_log_text(text));
	else if (row->type == HF_OPT_TIME)
		hf_w_str(why, "not a time (digits and ms, s, m, h or d); ");
	else if (row->type == HF_OPT_SIZE)
		hf_w_str(why, "not a size (digits, and k, m or g); ");
	else if (row->type == HF_OPT_MILLI)
		hf_w_str(why, "not a number (digits, and up to three behind a point); ");
	else if (row->type == HF_OPT_UINT)
		hf_w_str(why, "not a number (digits only); ");
	say_range(row, why);
	return HF_EINVAL;
}

static enum hf_err read_number(const struct hf_option *row, struct hf_bytes text, uint64_t *field, struct hf_writer *why)
{
	uint64_t v = 0;
	enum hf_err e;

	if (row->off_ok && hf_bytes_eq(text, HF_LIT("off"))) {
		*field = 0;
		return HF_OK;
	}
	e = row->type == HF_OPT_TIME ? read_units(text, times, &v) : row->type == HF_OPT_SIZE ? read_units(text, sizes, &v)
		: row->type == HF_OPT_MILLI ? read_milli(text, &v) : hf_read_uint(text, UINT64_MAX, &v);
	if (e == HF_EINVAL)
		return bad_form(row, text, why);
	if (e != HF_OK || v < row->min || v > row->max) {
		say_range(row, why);
		return HF_ERANGE;
	}
	*field = v;
	return HF_OK;
}

static enum hf_err read_bool(const struct hf_option *row, struct hf_bytes text, bool *field, struct hf_writer *why)
{
	if (!hf_bytes_eq(text, HF_LIT("yes")) && !hf_bytes_eq(text, HF_LIT("no"))) {
		optval_range(row, why);
		return HF_EINVAL;
	}
	*field = text.n == 3;
	return HF_OK;
}

static enum hf_err read_choice(const struct hf_option *row, struct hf_bytes text, uint64_t *field, struct hf_writer *why)
{
	struct nearest near = nearest_to(text);

	for (unsigned i = 0; row->words[i]; i++) {
		if (hf_bytes_eq(text, hf_bytes_str(row->words[i]))) {
			*field = i;
			return HF_OK;
		}
		if (!optval_listed(row->not_built, hf_bytes_str(row->words[i])))
			nearest_try(&near, row->words[i]);
	}
	optval_range(row, why);
	hf_w_str(why, nearest_text(&near));
	return HF_EINVAL;
}

static bool refused(const struct hf_option *row, struct hf_bytes text)
{
	if (row->not_built && strcmp(row->not_built, "*") == 0)
		return !hf_bytes_eq(text, HF_LIT("off")) && !hf_bytes_eq(text, HF_LIT("no"));
	return optval_listed(row->not_built, text);
}

enum hf_err optval_read(const struct hf_option *row, struct hf_bytes text, void *base, struct hf_writer *why)
{
	void *field = (char *)base + row->offset;

	if (refused(row, text)) {
		hf_w_str(why, "not built yet; ");
		if (row->type == HF_OPT_CUSTOM)
			hf_w_str(why, row->unit);
		optval_range(row, why);
		return HF_EINVAL;
	}
	switch (row->type) {
	case HF_OPT_BOOL:
		return read_bool(row, text, field, why);
	case HF_OPT_CHOICE:
		return read_choice(row, text, field, why);
	case HF_OPT_TEXT:
		if (text.n < row->min || text.n > row->max) {
			optval_range(row, why);
			return HF_ERANGE;
		}
		memcpy(field, &text, sizeof text);
		return HF_OK;
	case HF_OPT_CUSTOM:
		return row->read(text, field, why);
	case HF_OPT_POOLS:
		return poolopt_read(text, field, why);
	default:
		return read_number(row, text, field, why);
	}
}

bool optval_same(const struct hf_option *row, const void *a, const void *b)
{
	const void *x = (const char *)a + row->offset, *y = (const char *)b + row->offset;

	switch (row->type) {
	case HF_OPT_BOOL:
		return *(const bool *)x == *(const bool *)y;
	case HF_OPT_TEXT:
		return hf_bytes_eq(*(const struct hf_bytes *)x, *(const struct hf_bytes *)y);
	case HF_OPT_CUSTOM:
	case HF_OPT_POOLS:
		return true;
	default:
		return *(const uint64_t *)x == *(const uint64_t *)y;
	}
}

void optval_copy(const struct hf_option *row, const void *from, void *to)
{
	size_t n = row->type == HF_OPT_BOOL ? sizeof(bool) : row->type == HF_OPT_TEXT ? sizeof(struct hf_bytes) : sizeof(uint64_t);

	HF_BUG_ON(row->type == HF_OPT_CUSTOM || row->type == HF_OPT_POOLS); /* of no size known here: no front has such a row for pools beside one of type POOLS */
	memcpy((char *)to + row->offset, (const char *)from + row->offset, n);
}

static enum hf_err add_net(struct hf_bytes word, struct hf_nets *n)
{
	size_t slash = hf_bytes_find(word, '/');
	struct hf_addr a = {0};
	uint64_t bits;

	if (n->n == HF_NETS_MAX || hf_addr_read_ip(hf_bytes_sub(word, 0, slash), &a) != HF_OK)
		return HF_EINVAL;
	bits = hf_addr_ip_len(&a) * 8;
	if (slash < word.n && hf_read_uint(hf_bytes_sub(word, slash + 1, word.n), bits, &bits) != HF_OK)
		return HF_ERANGE;
	n->net[n->n].addr = a;
	n->net[n->n++].bits = (unsigned)bits;
	return HF_OK;
}

enum hf_err optval_nets(struct hf_bytes text, char between, struct hf_nets *n)
{
	while (text.n) {
		struct hf_bytes word = hf_bytes_sub(text, 0, hf_bytes_find(text, between));
		enum hf_err e = word.n ? add_net(word, n) : HF_OK;

		if (e != HF_OK)
			return e;
		text = hf_bytes_sub(text, word.n + 1, text.n);
	}
	return HF_OK;
}
